"""What 192 questions teach a search: the study that lecture 10 reads.

    python tools/studies/retrievers.py    # about 50 minutes of CPU time; it resumes where it was interrupted

Models are trained on the 192 answerable questions of data/reading's train split and measured on the 128 of dev and
test, which are about other paragraphs, among all 80 paragraphs. Dev chooses nothing: the last weights are measured, and
the settings were fixed beforehand, except for one early run of MiniLM's bi-encoder with seed 0, from which they are
copied.

- **bi-encoder**: the mean of the last vectors, trained with the other passages of the batch as negatives; measured
  by that mean, and by late interaction, for which it was not trained;
- **cross-encoder**: a classifier of pairs, trained on each question with its paragraph and with the three wrong ones,
  among the 48 paragraphs of the training questions, that MiniLM's untrained mean ranks highest; it sorts the first ten
  of that search, and of late interaction, again. (The mean of the tokens in place of [CLS] did no better on held-out
  training questions, with one seed.)
- **reader**: lecture 9's reader as the judge: its best span's score minus that of [CLS], "no answer here".

A row without a seed is the untrained model.
"""

import argparse
import json
import math
import platform
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer

from bertcourse import bert
from bertcourse.bert import BertModel
from bertcourse.datasets import COURSE_DATA, course_file
from bertcourse.files import read_json, replace_files
from bertcourse.fine_tuning import SequenceClassifier
from bertcourse.question_answering import SpanPredictor, best_span, load_difference
from bertcourse.retrieval import (
    RELEVANCE,
    BiEncoder,
    Collection,
    labeled_pairs,
    late_interaction,
    mean_scores,
    rank,
    reading_questions,
    rerank,
    training_pairs,
)
from bertcourse_lab.fine_tuning import fine_tune

FILE = "retrievers.json"
SETTINGS = {
    "bi-encoder": {"epochs": 4, "batch_size": 32, "learning_rate": 5e-5, "evaluations": 1},
    "cross-encoder": {"epochs": 3, "batch_size": 16, "learning_rate": 1e-4, "evaluations": 1, "precision": "auto"},
}
NEGATIVES, DEPTH = 3, 10
Rankings = dict[str, list[str]]


def plan(seeds: int) -> list[dict]:
    """The rows, in the order in which they are computed."""
    chosen = [("minilm", "bi-encoder"), ("course", "bi-encoder"), ("minilm", "cross-encoder")]
    untrained = [{"model": model, "method": "bi-encoder", "seed": None} for model in ("minilm", "course")]
    reader = {"model": "minilm", "method": "reader", "seed": None}
    return [*untrained, reader] + [
        {"model": m, "method": method, "seed": s} for m, method in chosen for s in range(seeds)
    ]


def searches(encoder: BiEncoder, collection: Collection) -> dict[str, Rankings]:
    """The rankings by the mean, and by late interaction."""
    queries, passages = list(collection.queries.values()), list(collection.passages.values())
    tokens = encoder.token_vectors(queries), encoder.token_vectors(passages)
    return {
        "mean": rank(encoder.vectors(queries) @ encoder.vectors(passages).T, collection),
        "late": rank(late_interaction(*tokens), collection),
    }


def trained_bi_encoder(encoder: BertModel, tokenizer: Tokenizer, seed: int) -> BiEncoder:
    """A bi-encoder that has learned from the 192 questions."""
    model = BiEncoder(encoder, tokenizer)
    train, dev = (training_pairs(reading_questions(split)) for split in ("train", "dev"))
    fine_tune(model, train, dev, seed=seed, **SETTINGS["bi-encoder"])
    return model


def trained_cross_encoder(encoder: BertModel, tokenizer: Tokenizer, seed: int) -> SequenceClassifier:
    """A cross-encoder that has learned from the 192 questions, and from what the untrained mean got wrong on them."""
    model = SequenceClassifier(encoder, tokenizer, RELEVANCE, pooling="cls", seed=seed)
    untrained = BiEncoder(encoder, tokenizer)
    train, dev = (
        labeled_pairs(training_pairs(part, searches(untrained, part)["mean"], NEGATIVES), seed)
        for part in (reading_questions("train").own_passages(), reading_questions("dev").own_passages())
    )
    fine_tune(model, train, dev, seed=seed, **SETTINGS["cross-encoder"])
    return model


def reranked_by_reader(reader: SpanPredictor, collection: Collection, rankings: Rankings) -> Rankings:
    """The rankings with their first passages sorted by how sure the reader is to have found an answer."""
    reranked = {}
    for query, ranking in rankings.items():
        rows = reader.encode([(collection.queries[query], collection.passages[passage]) for passage in ranking[:DEPTH]])
        margins = dict.fromkeys(ranking[:DEPTH], -math.inf)
        for row, logits in zip(rows, reader.logits(rows)):  # a long passage has several rows
            score, _, _ = best_span(logits, [place is not None for place in row.offsets])
            passage = ranking[row.source]
            margins[passage] = max(margins[passage], score - logits[0].sum().item())
        reranked[query] = [*sorted(margins, key=lambda passage: -margins[passage]), *ranking[DEPTH:]]
    return reranked


def measure(row: dict, encoder: BertModel, tokenizer: Tokenizer) -> dict:
    """The scores of a row, for each search, and the seconds that training took."""
    exam, start = reading_questions("dev", "test"), time.perf_counter()
    if row["method"] == "bi-encoder":
        untrained = row["seed"] is None
        model = BiEncoder(encoder, tokenizer) if untrained else trained_bi_encoder(encoder, tokenizer, row["seed"])
        seconds, found = time.perf_counter() - start, searches(model, exam)
    elif row["method"] == "reader":
        reader = SpanPredictor(encoder, tokenizer, max_length=256, overlap=64)
        load_difference(reader, course_file("reader/reader.safetensors"))
        seconds, first = 0.0, searches(BiEncoder(encoder, tokenizer), exam)
        found = {name: reranked_by_reader(reader, exam, rankings) for name, rankings in first.items()}
    else:
        judge = trained_cross_encoder(encoder, tokenizer, row["seed"])
        seconds, first = time.perf_counter() - start, searches(BiEncoder(encoder, tokenizer), exam)
        found = {name: rerank(judge, exam, rankings, DEPTH) for name, rankings in first.items()}
    scores = {name: mean_scores(rankings, exam.relevance) for name, rankings in found.items()}
    rounded = {name: {score: round(value, 4) for score, value in each.items()} for name, each in scores.items()}
    return {"scores": rounded, "seconds": round(seconds, 1)}


def run(seeds: int, folder: Path) -> dict:
    """Measure what is not in the file yet; write it after each row."""
    result = {
        "settings": {**SETTINGS, "negatives": NEGATIVES, "depth": DEPTH},
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "rows": [],
    }
    if (folder / FILE).exists():
        known = read_json(folder / FILE)
        if known["settings"] != result["settings"]:
            raise SystemExit(f"{folder / FILE} has rows of other settings. Delete it, or name another --output.")
        result["rows"] = known["rows"]
    done = {(row["model"], row["method"], row["seed"]) for row in result["rows"]}
    for row in plan(seeds):
        if (row["model"], row["method"], row["seed"]) in done:
            continue
        row |= measure(row, *bert.load_pretrained(row["model"]))
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
