"""The reranker of lecture 10: MiniLM reads query and passage together, stored as a difference of 1.4 MB.

    BERTCOURSE_DATA=FOLDER python tools/studies/reranker.py     # an hour or so on one core for each seed

It learns from the questions of 38 articles of SQuAD 1.1's dev split (``squad().train``, those that lecture 9's reader
has read): each with its paragraph, and with three wrong ones drawn from the first ten that BM25 and MiniLM's mean find
for it among these articles' paragraphs. It is read once. The other ten articles choose nothing but MAX_LENGTH, which
was 192 before an earlier judge's errors on them were looked at: 500 of their questions are asked among all their
paragraphs, BM25 and the mean find ten, and the reranker sorts them again. The
same on data/reading, Cranfield and SciFact. The score is named beforehand: MRR@10 for SQuAD and data/reading, which
have one right passage each, nDCG@10 for the two others.

Weights are W + U·V of rank 16 (Hu et al. 2022). Writes data/reranker/reranker.safetensors, the first seed's difference,
and scores.json. An interrupted run resumes where it was.
"""

import argparse
import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bertcourse.bert import BertModel, load_pretrained
from bertcourse.bootstrap import compare
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import replace_files
from bertcourse.question_answering import Question
from bertcourse.question_answering.low_rank import add_low_rank, load_difference, save_difference
from bertcourse.retrieval import (
    BM25,
    BiEncoder,
    Collection,
    CrossEncoder,
    TrainingPair,
    ndcg,
    rank,
    reading_questions,
    reciprocal_rank,
    rerank,
)
from bertcourse_lab.datasets.collections import cranfield, scifact
from bertcourse_lab.datasets.questions import squad
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.fine_tuning import fine_tune
from bertcourse_lab.fine_tuning.trainer import CHECKPOINT

RANK, MAX_LENGTH, CUT, NEGATIVES, DEPTH, ASKED = 16, 512, 192, 3, 10, 500  # hardly a paragraph has 512 tokens
SETTINGS = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, "evaluations": 1}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # halves the time on a CPU
FILE = "reranker.safetensors"
Rankings = dict[str, list[str]]


class LowRankReranker(CrossEncoder):
    """A cross-encoder that learns and saves only a difference."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """The same scores, from eight rows of like length at a time: a long paragraph pads seven others, not thirty."""
        lengths = attention_mask.sum(1)
        order, scores = lengths.argsort(), []
        for rows in order.split(8):
            parts = (input_ids, attention_mask, token_type_ids)
            scores.append(super().forward(*(part[rows, : lengths[rows[-1]]] for part in parts)))
        return torch.cat(scores)[order.argsort()]

    def save(self, folder: Path) -> None:
        save_difference(self, folder / FILE)


def collection_of(questions: Sequence[Question]) -> Collection:
    """Questions that are asked among all their paragraphs; a paragraph's id is its number, in order of appearance."""
    numbers: dict[str, str] = {}
    for question in questions:
        numbers.setdefault(question.context, str(len(numbers)))
    return Collection(
        {number: context for context, number in numbers.items()},
        {question.id: question.question for question in questions},
        {question.id: {numbers[question.context]: 1} for question in questions},
    )


def searches(collection: Collection) -> dict[str, Rankings]:
    """The first ten by BM25, and by the mean of MiniLM's vectors."""
    queries, passages = list(collection.queries.values()), list(collection.passages.values())
    index, mean = BM25(passages), BiEncoder(*load_pretrained("minilm"), max_length=MAX_LENGTH)
    scores = {
        "BM25": np.stack([index.scores(query) for query in queries]),
        "mean": mean.vectors(queries) @ mean.vectors(passages).T,
    }
    return {name: rank(each, collection, DEPTH) for name, each in scores.items()}


def training_pairs(collection: Collection, found: dict[str, Rankings], seed: int) -> list[TrainingPair]:
    """Each question with its paragraph and with wrong ones that look right to a search."""
    rng, pairs = random.Random(seed), []
    for query, (right,) in collection.relevance.items():
        wrong = sorted({passage for rankings in found.values() for passage in rankings[query]} - {right})
        negatives = tuple(collection.passages[passage] for passage in rng.sample(wrong, NEGATIVES))
        pairs.append(TrainingPair(collection.queries[query], collection.passages[right], negatives))
    return pairs


def new_reranker(seed: int) -> LowRankReranker:
    """MiniLM without dropout, with a head of noise, of which only a difference learns."""
    encoder, tokenizer = load_pretrained("minilm")
    undisturbed = BertModel(dataclasses.replace(encoder.config, **NO_DROPOUT))
    undisturbed.load_state_dict(encoder.state_dict())
    return add_low_rank(LowRankReranker(undisturbed, tokenizer, MAX_LENGTH, seed), RANK)


def train(seed: int, collection: Collection, found: dict[str, Rankings], questions: int, run: Path) -> None:
    """Teach a seed's reranker, unless an earlier run has."""
    pairs = training_pairs(collection, found, seed)
    random.Random(seed).shuffle(pairs)
    if not (run / "model" / FILE).exists():
        settings = {**SETTINGS, "seed": seed, "trainable": "blocks"}
        model, resume = new_reranker(seed), (run / CHECKPOINT).exists()
        tuned = fine_tune(model, pairs[:questions], pairs[-64:], run, resume, **settings)
        print(f"seed {seed}: {tuned.steps} steps in {tuned.seconds / 60:.0f} minutes", flush=True)


def exams() -> dict[str, Collection]:
    """What is measured: questions on articles that nothing was trained on, the course's own, Cranfield and SciFact."""
    splits = squad()
    unseen = collection_of(splits.dev + splits.test)
    asked = random.Random(0).sample(sorted(unseen.queries), ASKED)
    return {
        "SQuAD": unseen.of({query: unseen.queries[query] for query in asked}),
        "reading": reading_questions(),
        "Cranfield": cranfield(),
        "SciFact": scifact(),
    }


def by_query(exam: str, collection: Collection, rankings: Rankings) -> np.ndarray:
    """The score of each query: MRR@10, or nDCG@10 where passages have grades."""
    score = ndcg if exam in ("Cranfield", "SciFact") else reciprocal_rank
    return np.array([score(rankings[query][:DEPTH], collection.relevance[query]) for query in collection.queries])


def judged(
    seed: int, exam: str, collection: Collection, first: dict[str, Rankings], run: Path, longest: int = MAX_LENGTH
) -> Rankings:
    """All that the searches found, sorted by a seed's reranker; what an earlier run sorted is read."""
    kept = run / f"{exam}-{longest}.json"
    if not kept.exists():
        searched = first.values()
        found = {query: list(dict.fromkeys(sum((each[query] for each in searched), []))) for query in first["mean"]}
        judge = CrossEncoder(*load_pretrained("minilm"), longest)
        load_difference(judge, run / "model" / FILE)
        with replace_files(run, [kept.name]) as draft:
            (draft / kept.name).write_text(json.dumps(rerank(judge, collection, found, 2 * DEPTH)), encoding="utf-8")
        print(f"seed {seed}: {exam} is sorted", flush=True)
    return json.loads(kept.read_text(encoding="utf-8"))


def sorted_again(rankings: Rankings, order: Rankings) -> Rankings:
    """Each ranking's passages in a judge's order."""
    return {query: [passage for passage in order[query] if passage in set(ten)] for query, ten in rankings.items()}


def gain(before: np.ndarray, after: np.ndarray) -> list[float]:
    """The mean of a paired difference, and its 95 % interval over queries."""
    found = compare((after - before)[:, None], lambda totals: totals[:, 0] / len(before))
    return [round(value, 4) for value in found[:3]]


def measure(seeds: Sequence[int], runs: Path) -> dict:
    """Each exam's scores, by first search: before, and after, with the difference, by seed and of the seeds' mean."""
    scores = {}
    for exam, collection in exams().items():
        first = searches(collection)
        orders = [judged(seed, exam, collection, first, runs / str(seed)) for seed in seeds]
        for name, rankings in first.items():
            before = by_query(exam, collection, rankings)
            after = [by_query(exam, collection, sorted_again(rankings, order)) for order in orders]
            scores[f"{exam}, {name}"] = {
                "queries": len(before),
                "before": round(float(before.mean()), 4),
                "after": [round(float(each.mean()), 4) for each in after],
                "difference": [gain(before, each) for each in after],
                "difference_of_the_mean": gain(before, np.mean(after, axis=0)),
            }
            print(f"{exam}, {name}: {scores[f'{exam}, {name}']}", flush=True)
    return scores


def price_of_a_cut(runs: Path) -> dict:
    """SQuAD's questions whose paragraph does not fit into CUT tokens: BM25's score, the first judge's, and that of the
    same judge if it reads CUT tokens of each pair."""
    collection = exams()["SQuAD"]
    first, (_, tokenizer) = searches(collection), load_pretrained("minilm")
    tokenizer.no_truncation()
    right = {query: collection.passages[passage] for query, (passage,) in collection.relevance.items()}
    is_long = [len(tokenizer.encode(question, right[query])) > CUT for query, question in collection.queries.items()]
    scores = {"BM25": by_query("SQuAD", collection, first["BM25"])}
    for name, longest in (("reranked", MAX_LENGTH), ("cut", CUT)):
        order = judged(0, "SQuAD", collection, first, runs / "0", longest)
        scores[name] = by_query("SQuAD", collection, sorted_again(first["BM25"], order))
    means = {name: round(float(each[is_long].mean()), 4) for name, each in scores.items()}
    return {"tokens": CUT, "queries": sum(is_long), **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "reranker")
    parser.add_argument("--run", type=Path, default=cache_folder() / "runs" / "reranker", help="while it goes on")
    parser.add_argument("--seeds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--questions", type=int, default=4000, help="to learn from (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    asked = collection_of(squad().train)
    found = searches(asked)
    for seed in range(options.seeds):
        train(seed, asked, found, options.questions, options.run / str(seed))
    scores = {
        "trained_on": {"questions": options.questions, "wrong paragraphs of each": NEGATIVES},
        "settings": {**SETTINGS, **NO_DROPOUT, "rank": RANK, "max_length": MAX_LENGTH, "depth": DEPTH},
        "exams": measure(range(options.seeds), options.run),
        "cut": price_of_a_cut(options.run),
    }
    with replace_files(options.output, [FILE, "scores.json"]) as draft:
        (draft / FILE).write_bytes((options.run / "0" / "model" / FILE).read_bytes())
        (draft / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
