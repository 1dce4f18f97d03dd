"""What 192 questions teach a search, and how far word2vec gets: the study that lecture 10 reads.

    python tools/studies/retrievers.py    # eight minutes; it resumes where it was interrupted

Bi-encoders are trained on the 192 answerable questions of data/reading's train split by the loop of lecture 10, in
which their last two blocks learn, and measured on the 128 of dev and test, which are about other paragraphs, among all
80 paragraphs: by the mean of the last vectors, and by late interaction, for which they were not trained. Dev chooses
nothing: the last weights are measured, and the settings were fixed beforehand.

A row without a seed is the untrained model.

word2vec is lecture 0's, trained on the words of 354 books, and never saw a question; so it is measured on all 320. A
text is the mean of its words' vectors, the mean with each word weighed by its idf among the paragraphs, or all of them
(late interaction).
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from bertcourse import bert
from bertcourse.datasets import COURSE_DATA, word_pairs
from bertcourse.files import read_json, replace_files
from bertcourse.retrieval import (
    BM25,
    BiEncoder,
    Collection,
    TrainingPair,
    late_interaction,
    rank,
    reading_questions,
    reciprocal_rank,
    training_pairs,
    words_of,
)
from bertcourse.static_embeddings import thinned, train_word2vec

FILE = "retrievers.json"
SETTINGS = {"epochs": 2, "batch_size": 32, "learning_rate": 1e-4}
WORD2VEC_EPOCHS = 20
Rankings = dict[str, list[str]]


def plan(seeds: int) -> list[dict]:
    """The rows, in the order in which they are computed."""
    trained = [{"model": model, "seed": seed} for model in ("minilm", "course") for seed in (None, *range(seeds))]
    return trained + [{"model": "word2vec", "seed": seed} for seed in range(seeds)]


def searches(encoder: BiEncoder, collection: Collection) -> dict[str, Rankings]:
    """The rankings by the mean, and by late interaction."""
    queries, passages = list(collection.queries.values()), list(collection.passages.values())
    tokens = encoder.token_vectors(queries), encoder.token_vectors(passages)
    return {
        "mean": rank(encoder.vectors(queries) @ encoder.vectors(passages).T, collection),
        "late": rank(late_interaction(*tokens), collection),
    }


def searches_by_words(seed: int, collection: Collection) -> dict[str, Rankings]:
    """The rankings by word2vec's vectors: by their mean, by their mean weighed by idf, and by late interaction."""
    table = word_pairs()
    left = thinned(table.matrix(), table.word_counts)
    vectors, _ = train_word2vec(left, table.word_counts, epochs=WORD2VEC_EPOCHS, seed=seed)
    number = {word: i for i, word in enumerate(table.words)}
    queries, passages = list(collection.queries.values()), list(collection.passages.values())
    index, found = BM25(passages), {"mean": [], "idf": [], "late": []}
    for texts in (queries, passages):
        for each in found.values():
            each.append([])
        for text in texts:
            words = [word for word in words_of(text) if word in number]
            rows = torch.tensor(vectors[[number[word] for word in words]])
            having = [len(index.postings[word][0]) if word in index.postings else 0 for word in words]
            idf = torch.tensor([index.idf(count) for count in having])
            found["mean"][-1].append(rows.mean(dim=0))
            found["idf"][-1].append(idf @ rows)
            found["late"][-1].append(F.normalize(rows, dim=1))
    scores = {"late": late_interaction(*found.pop("late"))}
    for name, (asked, told) in found.items():
        scores[name] = (F.normalize(torch.stack(asked), dim=1) @ F.normalize(torch.stack(told), dim=1).T).numpy()
    return {name: rank(scores[name], collection) for name in ("mean", "idf", "late")}


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
    start = time.perf_counter()
    if row["model"] == "word2vec":
        exam = reading_questions()
        ranked = searches_by_words(row["seed"], exam)
        seconds = time.perf_counter() - start
    else:
        exam = reading_questions("dev", "test")
        model = BiEncoder(*bert.load_pretrained(row["model"]))
        if row["seed"] is not None:
            train(model, training_pairs(reading_questions("train")), **SETTINGS, seed=row["seed"])
        seconds = time.perf_counter() - start
        ranked = searches(model, exam)
    found = {
        name: np.mean([reciprocal_rank(ranking, exam.relevance[query]) for query, ranking in rankings.items()])
        for name, rankings in ranked.items()
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
