"""Taggers of names, by seed: the tables that lecture 8 reads. Only scores are stored, none of the texts.

    BERTCOURSE_DATA=FOLDER python tools/studies/entity_taggers.py --data wikigold     # 20 minutes or so on two cores
    python tools/studies/entity_taggers.py --data entities                            # 5 minutes

On the course's own data/entities, the lecture's tagger is trained by the loop of lecture 7, as in the lecture. There is
one training for argmax and Viterbi, which differ only in what they do with the scores.

On wikigold (Balasuriya et al. 2009), 80/10/10 % by document:

- **features**: MiniLM is frozen, and a linear map reads its layers, in the combinations of Devlin et al.
  2019, table 7; once a BiLSTM does, like theirs. The learning rate is the better one on dev with the first seed (for
  the BiLSTM, the smaller one), the epoch is the best one on dev, and test is measured with these.
- **fine_tuned**: the whole encoder learns. There is one training for argmax and Viterbi, which differ only in what they
  do with the scores; another for the CRF; and one for Viterbi with capitals read as segment B, since MiniLM's
  vocabulary has none. These learn from all tokens of a word (``subwords`` "all"). ``invalid`` counts the test words
  whose tag may not follow the one before it.

Each row is written as soon as it is ready, and an unfinished table is continued; with another model or other settings
it is started over.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch

from bertcourse import bert, fine_tuning
from bertcourse.datasets import course_file
from bertcourse.files import read_json, replace_files
from bertcourse.named_entities import (
    TaggedSentence,
    TokenClassifier,
    entity_scores,
    invalid_steps,
    read_conll,
    tag_set,
)
from bertcourse_lab.datasets.classification import Splits
from bertcourse_lab.datasets.entities import wikigold
from bertcourse_lab.fine_tuning import fine_tune
from bertcourse_lab.named_entities import FeatureTagger, TagDecoder, Tagger, strictly
from bertcourse_lab.named_entities.taggers import entity_types

SEEDS = (0, 1, 2)
RATES = (3e-3, 1e-2)
CHOICES = {
    "embeddings": ((0,), "sum"),
    "second-to-last": ((-2,), "sum"),
    "last": ((-1,), "sum"),
    "sum of last four": ((-4, -3, -2, -1), "sum"),
    "weighted sum of last four": ((-4, -3, -2, -1), "weighted"),
    "last four side by side": ((-4, -3, -2, -1), "concat"),
    "weighted sum of all": (range(1, 7), "weighted"),
}
FEATURES = {"epochs": 12, "batch_size": 32, "evaluations": 6}
LECTURES = {"epochs": 5, "learning_rate": 3e-4}
TUNING = {"epochs": 6, "batch_size": 16, "learning_rate": 2e-4, "head_learning_rate": 1e-3, "layer_decay": 0.8}

WITH_CAPITALS = ", capitals"
TRAININGS = {
    "wikigold": [(kind, "all") for kind in ("viterbi", "crf", "viterbi" + WITH_CAPITALS)],
    "entities": [("viterbi", "all")],
}


def entities() -> Splits:
    """The course's own sentences."""
    return Splits(*(read_conll(course_file(f"entities/{split}.conll")) for split in ("train", "dev", "test")))


def measure_lectures(model, tokenizer, labels: list[str], splits: Splits, seed: int) -> list[dict]:
    """Train the lecture's tagger; returns a row for the best tag of each word, and one for Viterbi."""
    tagger = TokenClassifier(model, tokenizer, labels, seed=seed)
    fine_tuning.fine_tune(tagger, splits.train, **LECTURES, seed=seed)
    by_way = {}
    for part in (splits.dev, splits.test):
        words = [example.words for example in part]
        best = [[labels[tag] for tag in scores.argmax(dim=1)] for scores in tagger.word_scores(words)]
        for way, predicted in (("argmax", best), ("viterbi", tagger.predict(words))):
            by_way.setdefault(way, []).append(scores_of(part, predicted))
    return [
        {"decoder": way, "subwords": "all", "seed": seed, "dev": on_dev["f1"], **on_test}
        for way, (on_dev, on_test) in by_way.items()
    ]


def rounded(scores: dict[str, float]) -> dict[str, float]:
    """Percentages rounded to two decimals."""
    return {name: round(value, 2) for name, value in scores.items()}


def measure_features(
    model, tokenizer, labels: list[str], splits: Splits, choice: str, lstm_size: int, cache: str
) -> dict:
    """The dev and test scores of each seed for a choice of layers."""
    layers, pooling = CHOICES[choice]

    def train(seed: int, rate: float) -> tuple[FeatureTagger, dict]:
        tagger = FeatureTagger(
            model, tokenizer, labels, layers, pooling, lstm_size, decoder="viterbi", seed=seed, cache=cache
        )
        return tagger, fine_tune(tagger, splits.train, splits.dev, learning_rate=rate, seed=seed, **FEATURES).scores

    by_rate = {rate: train(SEEDS[0], rate) for rate in (RATES[:1] if lstm_size else RATES)}
    rate = max(by_rate, key=lambda rate: by_rate[rate][1]["f1"])
    runs = [by_rate[rate], *(train(seed, rate) for seed in SEEDS[1:])]
    return {
        "layers": choice,
        "reader": f"BiLSTM of {lstm_size}" if lstm_size else "linear",
        "learning_rate": rate,
        "dev": [round(scores["f1"], 2) for _, scores in runs],
        "test": [round(tagger.score(splits.test)["f1"], 2) for tagger, _ in runs],
        "weights": [[round(weight, 3) for weight in tagger.layer_weights.tolist()] for tagger, _ in runs],
    }


def decoded(tagger: Tagger, kind: str, splits: Splits) -> dict:
    """Test scores of a trained tagger with this way of decoding, in percent, and how many of its steps are invalid."""
    kept, crf = tagger.decoder, tagger.decoder.crf
    tagger.decoder = TagDecoder(tagger.labels, kind)
    tagger.decoder.crf = crf
    predicted = tagger.predict([example.words for example in splits.test])
    tagger.decoder = kept
    return scores_of(splits.test, predicted)


def scores_of(examples: list[TaggedSentence], predicted: list[list[str]]) -> dict:
    """Scores in percent, and how many steps are invalid."""
    gold = [example.tags for example in examples]
    pairs = [pair for sentences in zip(gold, predicted) for pair in zip(*sentences)]
    scores = {
        "f1": entity_scores(gold, predicted)["all"].f1,
        "strict_f1": entity_scores(gold, [strictly(tags) for tags in predicted])["all"].f1,
        "accuracy": sum(a == b for a, b in pairs) / len(pairs),
    }
    return rounded({name: 100 * value for name, value in scores.items()}) | {
        "invalid": sum(len(invalid_steps(tags)) for tags in predicted)
    }


def measure_tuned(
    model, tokenizer, labels: list[str], splits: Splits, kind: str, subwords: str, seed: int
) -> list[dict]:
    """Train the whole encoder; returns a row for each way of decoding that this training allows."""
    decoder, capitals = kind.split(WITH_CAPITALS)[0], kind.endswith(WITH_CAPITALS)
    tagger = Tagger(model, tokenizer, labels, subwords, decoder, capitals=capitals, seed=seed)
    result = fine_tune(tagger, splits.train, splits.dev, seed=seed, precision="auto", **TUNING)
    ways = ("argmax", "viterbi") if kind == "viterbi" else (kind,)  # dev was decoded as in training
    dev = {way: round(result.scores["f1"], 2) if way == kind else None for way in ways}
    return [
        {
            "decoder": way,
            "subwords": subwords,
            "seed": seed,
            "dev": dev[way],
            **decoded(tagger, way.split(WITH_CAPITALS)[0], splits),
        }
        for way in ways
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("wikigold", "entities"), default="wikigold")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--output", type=Path, default=Path("data/results"), help="folder for the table")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    splits = wikigold() if args.data == "wikigold" else entities()
    model, tokenizer = bert.load_pretrained(args.model)
    types = entity_types([tag for split in splits for each in split for tag in each.tags])
    labels = tag_set(sorted(types) if args.data == "wikigold" else ["PER", "ORG", "LOC", "GPE"])
    path = args.output / f"entity_taggers_{args.data}.json"
    table = {
        "data": args.data,
        "model": args.model,
        "sentences": [len(split) for split in splits],
        "settings": {"features": FEATURES, "fine_tuned": TUNING, "seeds": list(SEEDS)}
        if args.data == "wikigold"
        else {"fine_tuned": LECTURES, "seeds": list(SEEDS)},
    }
    begun = read_json(path) if path.exists() else {}
    goes_on = {name: begun.get(name) for name in table} == table
    table |= {name: begun[name] if goes_on else [] for name in ("features", "fine_tuned")}

    def write() -> None:
        with replace_files(args.output, [path.name]) as draft:
            (draft / path.name).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory() as cache:
        wanted = [*((choice, 0) for choice in CHOICES), ("last four side by side", 96)]
        for choice, lstm_size in wanted if args.data == "wikigold" else []:
            reader = f"BiLSTM of {lstm_size}" if lstm_size else "linear"
            if not any((row["layers"], row["reader"]) == (choice, reader) for row in table["features"]):
                row = measure_features(model, tokenizer, labels, splits, choice, lstm_size, cache)
                table["features"].append(row)
                print(row, flush=True)
                write()
    for kind, subwords in TRAININGS[args.data]:
        for seed in SEEDS:
            wanted = (kind, subwords, seed)
            if not any((row["decoder"], row["subwords"], row["seed"]) == wanted for row in table["fine_tuned"]):
                if args.data == "entities":
                    rows = measure_lectures(model, tokenizer, labels, splits, seed)
                else:
                    rows = measure_tuned(model, tokenizer, labels, splits, kind, subwords, seed)
                table["fine_tuned"] += rows
                print(*rows, sep="\n", flush=True)
                write()


if __name__ == "__main__":
    main()
