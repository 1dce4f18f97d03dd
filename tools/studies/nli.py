"""Lecture 7's model of natural language inference: MiniLM, trained on pairs of SNLI, as a difference of 1.4 MB.

    BERTCOURSE_DATA=FOLDER python tools/studies/nli.py     # an hour of CPU on one core; --rivals: ten minutes

MiniLM learns from 8,856 pairs of SNLI's dev split (``bertcourse_lab.datasets.classification.snli``), read three times,
with three seeds; the course's own BERT with one, and so does MiniLM without the premises. Each learns W + U·V of rank
16 (Hu et al. 2022), biases, layer norms and the head. All are measured on SNLI's test split, which chooses nothing, and
on pairs of other kinds: data/nli, ConjNLI, and 2,000 each of Breaking NLI and MED. MED has no contradictions, so there
every answer but entailment counts as neutral.

Beside them stand logistic regressions on the same pairs, whose penalty dev chooses:

- on TF-IDF of words and word pairs, in both texts or in one alone;
- on **words crossed**: TF-IDF of each word of the premise with each of the hypothesis (Bowman et al. 2015 cross
  those with the same part of speech);
- on **frozen vectors** u and v of the two texts, MiniLM's as it comes, |u - v| and u * v, side by side.

Writes data/inference/inference.safetensors, the first seed's difference, and scores.json. An interrupted study resumes
after the last run that it finished. With --rivals nothing is trained but the last two regressions, whose rows replace
those in scores.json.
"""

import argparse
import dataclasses
import json
import random
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from few_labels import logistic_regression_model, splits_of, tf_idf, two_vectors
from sklearn.feature_extraction.text import TfidfVectorizer

from bertcourse.bert import BertModel, load_pretrained
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import read_json, replace_files
from bertcourse.fine_tuning import LabeledText, SequenceClassifier
from bertcourse.question_answering.low_rank import add_low_rank, load_difference, save_difference
from bertcourse_lab.benchmarks.paired import paired_bootstrap
from bertcourse_lab.datasets.classification import INFERENCES, Splits, inference_tests, snli
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.fine_tuning import fine_tune

RANK, MAX_LENGTH, DRAWN = 16, 64, 2000
SETTINGS = {"epochs": 3, "batch_size": 32, "learning_rate": 1e-3, "precision": "bfloat16"}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # halves the time on a CPU
FILE = "inference.safetensors"


def tests() -> dict[str, list[LabeledText]]:
    """What to measure on: SNLI's test split, the course's own pairs, and three collections of other kinds."""
    ours = [pair for split in splits_of("nli") for pair in split]
    others = {name: random.Random(0).sample(pairs, min(DRAWN, len(pairs))) for name, pairs in inference_tests().items()}
    return {"SNLI": snli().test, "data/nli": ours, **others}


def seen(pairs: Sequence[LabeledText], parts: Sequence[int]) -> list[LabeledText]:
    """The pairs, or one text of each."""
    texts = [tuple(pair.text[i] for i in parts) for pair in pairs]
    return [LabeledText(text if len(text) > 1 else text[0], pair.label) for text, pair in zip(texts, pairs)]


def train(name: str, seed: int, splits: Splits, path: Path, parts: Sequence[int] = (0, 1)) -> None:
    """Train a model on pairs, or on one text of each, and write its difference."""
    splits = Splits(*(seen(split, parts) for split in splits))
    encoder, tokenizer = load_pretrained(name)
    undisturbed = BertModel(dataclasses.replace(encoder.config, **NO_DROPOUT))
    undisturbed.load_state_dict(encoder.state_dict())
    model = add_low_rank(SequenceClassifier(undisturbed, tokenizer, INFERENCES, max_length=MAX_LENGTH, seed=seed), RANK)
    tuned = fine_tune(model, splits.train, splits.dev, seed=seed, trainable="blocks", **SETTINGS)
    print(name, seed, [(row["step"], round(row["loss"], 3), round(row["accuracy"], 1)) for row in tuned.history])
    save_difference(model, path)


def answers(name: str, path: Path, parts: Sequence[int] = (0, 1)) -> dict[str, list[str]]:
    """What a trained model answers to every pair of every test."""
    model = load_difference(SequenceClassifier(*load_pretrained(name), INFERENCES, max_length=MAX_LENGTH), path)
    return {test: model.predict([pair.text for pair in seen(pairs, parts)]) for test, pairs in tests().items()}


def crossed(pair: tuple[str, str]) -> list[str]:
    """Each word of a premise with each of the hypothesis.

    >>> crossed(("Two men sleep.", "They sleep."))
    ['men sleep', 'men they', 'sleep sleep', 'sleep they', 'two sleep', 'two they']
    """
    one, other = (sorted(set(re.findall(r"[a-z0-9']+", text.lower()))) for text in pair)
    return [f"{word} {with_word}" for word in one for with_word in other]


def words_crossed(splits: Splits) -> list:
    """Sparse vectors of three splits, with the crossed words of the first."""
    vectorizer = TfidfVectorizer(analyzer=crossed).fit([pair.text for pair in splits[0]])
    return [vectorizer.transform([pair.text for pair in split]) for split in splits]


def frozen_vectors(splits: Splits) -> list[np.ndarray]:
    """What MiniLM, as it comes, makes of the two texts of each pair of three splits."""
    encoder, tokenizer = load_pretrained("minilm")
    return [two_vectors(encoder, tokenizer, [pair.text for pair in split]) for split in splits]


REGRESSIONS = {  # by name: how pairs become vectors, and which of their texts
    "words of both": (tf_idf, (0, 1)),
    "words of the hypothesis": (tf_idf, (1,)),
    "words of the premise": (tf_idf, (0,)),
    "words crossed": (words_crossed, (0, 1)),
    "frozen vectors": (frozen_vectors, (0, 1)),
}
RIVALS = "words crossed", "frozen vectors"


def regression(name: str, splits: Splits) -> dict[str, list[str]]:
    """What a logistic regression answers to every pair of every test."""
    vectors_of, parts = REGRESSIONS[name]
    of_tests = tests()
    every = [pair for pairs in of_tests.values() for pair in pairs]
    three = Splits(*(seen(pairs, parts) for pairs in (splits.train, splits.dev, every)))
    vectors = vectors_of(three)
    said = iter(logistic_regression_model(vectors, three).predict(vectors[2]).tolist())
    return {test: [next(said) for _ in pairs] for test, pairs in of_tests.items()}


def right(test: str, said: Sequence[str], pairs: Sequence[LabeledText]) -> np.ndarray:
    """Which answers are right."""
    if test == "MED":
        said = [answer if answer == "entailment" else "neutral" for answer in said]
    return np.array([answer == pair.label for answer, pair in zip(said, pairs, strict=True)])


def percent(hits: np.ndarray) -> float:
    """How many are right, of a hundred."""
    return round(100 * float(hits.mean()), 2)


def measure_rivals(folder: Path) -> None:
    """Put the rows of ``RIVALS`` into the scores in a folder."""
    scores = read_json(folder / "scores.json")
    for kind in RIVALS:
        said = regression(kind, snli())
        for test, pairs in tests().items():
            scores["tests"][test][kind] = [percent(right(test, said[test], pairs))]
            print(kind, test, scores["tests"][test][kind], flush=True)
    with replace_files(folder, ["scores.json"]) as draft:
        (draft / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "inference")
    parser.add_argument("--seeds", type=int, default=3, help="of MiniLM (default: %(default)s)")
    parser.add_argument("--course", default="course", help="the course's BERT, a name or folder; none leaves it out")
    parser.add_argument("--rivals", action="store_true", help="only the last two regressions")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.rivals:
        measure_rivals(options.output)
        return
    runs, splits = cache_folder() / "runs" / "nli", snli()
    runs.mkdir(parents=True, exist_ok=True)
    plan = [("minilm", "minilm", seed, (0, 1)) for seed in range(options.seeds)]
    plan += [("minilm, hypothesis only", "minilm", 0, (1,))]
    plan += [("course", options.course, 0, (0, 1))] * (options.course != "none")
    said: dict[str, list[dict]] = {}
    for kind, name, seed, parts in plan:
        path, answered = runs / f"{kind}-{seed}.safetensors", runs / f"{kind}-{seed}.json"
        if not path.exists():
            train(name, seed, splits, path, parts)
        if not answered.exists():
            answered.write_text(json.dumps(answers(name, path, parts)), encoding="utf-8")
        said.setdefault(kind, []).append(read_json(answered))
    for kind in REGRESSIONS:
        answered = runs / f"{kind}.json"
        if not answered.exists():
            answered.write_text(json.dumps(regression(kind, splits)), encoding="utf-8")
        said[kind] = [read_json(answered)]
    scores = {"settings": {**SETTINGS, **NO_DROPOUT, "rank": RANK, "max_length": MAX_LENGTH}, "tests": {}}
    scores["trained_on"] = {"SNLI pairs": len(splits.train), "dev": len(splits.dev)}
    for test, pairs in tests().items():
        labels = [pair.label for pair in pairs]
        hits = {kind: [right(test, run[test], pairs) for run in of_runs] for kind, of_runs in said.items()}
        row = {"pairs": len(pairs), "commonest": round(100 * labels.count(statistics.mode(labels)) / len(labels), 2)}
        row |= {kind: [percent(run) for run in of_runs] for kind, of_runs in hits.items()}
        lead = [paired_bootstrap(run, hits["words of both"][0]) for run in hits["minilm"]]
        row["minilm minus words of both"] = [[round(100 * x, 2) for x in each[:3]] for each in lead]
        scores["tests"][test] = row
    with replace_files(options.output, [FILE, "scores.json"]) as draft:
        (draft / FILE).write_bytes((runs / "minilm-0.safetensors").read_bytes())
        (draft / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(scores, indent=1))


if __name__ == "__main__":
    main()
