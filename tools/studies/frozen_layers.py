"""How many layers need to learn: the study behind a figure of lecture 7.

    python tools/studies/frozen_layers.py                  # MiniLM; about a quarter of an hour of CPU

48 tickets, 16 of each class, drawn as in ``few_labels.py``; three draws. The head alone learns, or the head and the
last 1, 2, 3, 4 or 6 of six blocks, or everything. All else is the same for each: the class is read from the mean of the
tokens' vectors, 12 epochs of batches of 16, and two learning rates to choose from, the head's always 25 times the
encoder's. The rate is chosen on the whole dev split, by its mean over the three draws. Only what was trained at the
chosen rate is scored on the test split. Results are kept as they come, and an interrupted command resumes where it was.
"""

import argparse
import platform
import statistics
from pathlib import Path

import torch
from few_labels import draw, splits_of, write
from tokenizers import Tokenizer

from bertcourse import bert
from bertcourse.bert import BertModel
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import read_json
from bertcourse.fine_tuning import SequenceClassifier
from bertcourse_lab.fine_tuning import fine_tune

SET, PER_CLASS, SEEDS = "tickets", 16, (0, 1, 2)
RATES, HEAD_FACTOR = (2e-4, 6e-4), 25
SETTINGS = {"epochs": 12, "batch_size": 16, "precision": "float32", "evaluations": 1}
TRAINABLE = ("head", "all", 2, "blocks", 4, 1, 3)  # in this order: an interrupted study has seen both ends


def train(encoder: BertModel, tokenizer: Tokenizer, trainable: str | int, rate: float, seed: int) -> dict:
    """Dev accuracy in percent, and what is predicted for the test texts, which nobody has scored yet."""
    splits = splits_of(SET)
    examples = draw(splits.train, PER_CLASS, seed)
    labels = sorted({example.label for example in examples})
    model = SequenceClassifier(encoder, tokenizer, labels, pooling="mean", seed=seed)
    rates = {"learning_rate": rate, "head_learning_rate": HEAD_FACTOR * rate}
    fine_tune(model, examples, splits.dev[:8], trainable=trainable, seed=seed, **rates, **SETTINGS)
    predicted = model.predict([example.text for example in splits.test])
    return {"dev": model.score(splits.dev)["accuracy"], "predicted": predicted}


def measure(encoder: BertModel, tokenizer: Tokenizer, trainable: str | int) -> dict:
    """Train with each rate and seed; score the test split at the rate that is best on dev."""
    runs = {rate: [train(encoder, tokenizer, trainable, rate, seed) for seed in SEEDS] for rate in RATES}
    best = max(RATES, key=lambda rate: statistics.mean(run["dev"] for run in runs[rate]))
    gold = [example.label for example in splits_of(SET).test]
    return {
        "trainable": trainable,
        "learning_rate": best,
        "dev": {f"{rate:g}": [round(run["dev"], 2) for run in runs[rate]] for rate in RATES},
        "test": [round(100 * statistics.mean(map(str.__eq__, run["predicted"], gold)), 2) for run in runs[best]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=COURSE_DATA / "results", help="folder for the table (data/results)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder, file = Path(options.output), "frozen_layers_minilm.json"
    encoder, tokenizer = bert.load_pretrained("minilm")
    settings = {**SETTINGS, "set": SET, "per_class": PER_CLASS, "seeds": list(SEEDS), "rates": list(RATES)}
    settings["head_factor"] = HEAD_FACTOR
    result = {"model": "minilm", "settings": settings, "versions": {}, "rows": []}
    if (folder / file).exists() and (known := read_json(folder / file))["settings"] == settings:
        result = known
    result["versions"] = {"python": platform.python_version(), "torch": torch.__version__}
    for trainable in TRAINABLE:
        if trainable in [row["trainable"] for row in result["rows"]]:
            continue
        result["rows"].append(measure(encoder, tokenizer, trainable))
        print(result["rows"][-1], flush=True)
        write(folder, file, result)


if __name__ == "__main__":
    main()
