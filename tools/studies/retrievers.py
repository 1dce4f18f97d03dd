"""What 192 questions teach a search: the study that lecture 10 reads.

    python tools/studies/retrievers.py    # five minutes; it resumes where it was interrupted

Bi-encoders are trained on the 192 answerable questions of data/reading's train split by the loop of lecture 10, in
which their last two blocks learn, and measured on the 128 of dev and test, which are about other paragraphs, among all
80 paragraphs: by the mean of the last vectors, and by late interaction, for which they were not trained. Dev chooses
nothing: the last weights are measured, and the settings were fixed beforehand.

A row without a seed is the untrained model.
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch

from bertcourse import bert
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import read_json, replace_files
from bertcourse.retrieval import (
    BiEncoder,
    Collection,
    TrainingPair,
    late_interaction,
    rank,
    reading_questions,
    reciprocal_rank,
    training_pairs,
)

FILE = "retrievers.json"
SETTINGS = {"epochs": 2, "batch_size": 32, "learning_rate": 1e-4}
Rankings = dict[str, list[str]]


def plan(seeds: int) -> list[dict]:
    """The rows, in the order in which they are computed."""
    return [{"model": model, "seed": seed} for model in ("minilm", "course") for seed in (None, *range(seeds))]


def searches(encoder: BiEncoder, collection: Collection) -> dict[str, Rankings]:
    """The rankings by the mean, and by late interaction."""
    queries, passages = list(collection.queries.values()), list(collection.passages.values())
    tokens = encoder.token_vectors(queries), encoder.token_vectors(passages)
    return {
        "mean": rank(encoder.vectors(queries) @ encoder.vectors(passages).T, collection),
        "late": rank(late_interaction(*tokens), collection),
    }


def train(model: BiEncoder, pairs: list[TrainingPair], epochs: int, batch_size: int, learning_rate: float, seed: int):
    """Lecture 10's loop."""
    model.requires_grad_(False)
    last = model.bert.encoder.blocks[-2:].requires_grad_(True)
    optimizer = torch.optim.AdamW(last.parameters(), lr=learning_rate)
    torch.manual_seed(seed)
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(pairs)).split(batch_size):
            loss = model.loss([pairs[i] for i in batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()


def measure(row: dict) -> dict:
    """The MRR of a row by each search, and the seconds that training took."""
    exam, start = reading_questions("dev", "test"), time.perf_counter()
    model = BiEncoder(*bert.load_pretrained(row["model"]))
    if row["seed"] is not None:
        train(model, training_pairs(reading_questions("train")), **SETTINGS, seed=row["seed"])
    seconds = time.perf_counter() - start
    found = {
        name: np.mean([reciprocal_rank(ranking, exam.relevance[query]) for query, ranking in rankings.items()])
        for name, rankings in searches(model, exam).items()
    }
    return {"MRR": {name: round(float(mrr), 4) for name, mrr in found.items()}, "seconds": round(seconds, 1)}


def run(seeds: int, folder: Path) -> dict:
    """Measure what is not in the file yet; write it after each row."""
    result = {
        "settings": SETTINGS,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "rows": [],
    }
    if (folder / FILE).exists():
        known = read_json(folder / FILE)
        if known["settings"] != result["settings"]:
            raise SystemExit(f"{folder / FILE} has rows of other settings. Delete it, or name another --output.")
        result["rows"] = known["rows"]
    done = {(row["model"], row["seed"]) for row in result["rows"]}
    for row in plan(seeds):
        if (row["model"], row["seed"]) in done:
            continue
        row |= measure(row)
        print(row, flush=True)
        result["rows"].append(row)
        with replace_files(folder, [FILE]) as draft:
            (draft / FILE).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--output", default=COURSE_DATA / "results", help="folder for the table (default: data/results)"
    )
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    run(options.seeds, Path(options.output))


if __name__ == "__main__":
    main()
