"""What pretraining buys, by the number of labelled examples: the study that lecture 7 reads.

    python tools/studies/few_labels.py                     # MiniLM; about an hour of CPU. --model course: half of that
    BERTCOURSE_DATA=FOLDER python tools/studies/few_labels.py --public     # majority and TF-IDF on SST-2 and RTE

Tickets (three classes) and reviews (three-way sentiment): 4, 16 or 64 labelled examples per class, drawn separately
for each seed, or all of them; NLI: all 360 pairs. Accuracy is measured on the test split.

- **TF-IDF**: logistic regression on TF-IDF of words and word pairs; for a pair of texts, their vectors side by side;
- **frozen**: logistic regression on the frozen encoder's vectors, averaged over a text's tokens; a pair of texts is
  read as one row;
- **frozen, two vectors**: for a pair, the vectors u and v of its texts, |u - v| and u * v, side by side;
- **fine-tuned**: ``SequenceClassifier`` on the pretrained encoder, with all weights trained;
- **from scratch**: the same from random weights, as before pretraining, with more epochs, which it needs.

The logistic regressions choose their C on the whole dev split, which is more data than they learn from where labels are
few. Fine-tuning gets nothing from dev: its learning rate was fixed on one draw, with a seed that is not used here, and
its last weights are measured. Its epochs, and those from scratch, were raised once for all sets because a first study
had been too short, whose test scores were known by then (NLI after 3 epochs: 33 %). Results are kept as they come, and
an interrupted command resumes where it was.
"""

import argparse
import json
import platform
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer

from bertcourse import bert
from bertcourse.bert import BertModel
from bertcourse.datasets import COURSE_DATA, course_file
from bertcourse.files import read_json, replace_files
from bertcourse.fine_tuning import LabeledText, SequenceClassifier, read_tsv
from bertcourse_lab.datasets.classification import Splits, rte, sst2
from bertcourse_lab.fine_tuning import fine_tune

SIZES = {"tickets": (4, 16, 64, 120), "reviews": (4, 16, 64, 180), "nli": (120,)}
# The fewer examples, the more often each is read; with random weights, more often still.
EPOCHS = {
    "fine-tuned": {"tickets": (20, 12, 10, 8), "reviews": (20, 12, 10, 8), "nli": (10,)},
    "from scratch": {"tickets": (60, 36, 20, 16), "reviews": (60, 36, 20, 16), "nli": (20,)},
}
SETTINGS = {"batch_size": 16, "learning_rate": 2e-4, "precision": "bfloat16", "evaluations": 1}
TWO_VECTORS = "frozen, two vectors"
PENALTIES = (0.1, 1, 10, 100, 1000)


def splits_of(name: str) -> Splits:
    """The three splits of a set of the course."""
    return Splits(*(read_tsv(course_file(f"{name}/{split}.tsv")) for split in ("train", "dev", "test")))


def draw(examples: Sequence[LabeledText], per_class: int, seed: int) -> list[LabeledText]:
    """``per_class`` examples of each class, drawn without replacement."""
    rng = random.Random(seed)
    labels = sorted({example.label for example in examples})
    return [e for label in labels for e in rng.sample([e for e in examples if e.label == label], per_class)]


def parts_of(examples: Sequence[LabeledText]) -> list[list[str]]:
    """The texts of examples in columns: one, or two for pairs."""
    texts = [(example.text,) if isinstance(example.text, str) else example.text for example in examples]
    return [list(column) for column in zip(*texts)]


def tf_idf(splits: Splits) -> list:
    """Sparse vectors of three splits, with the vocabulary of the first."""
    columns = []
    for parts in zip(*map(parts_of, splits)):
        vectorizer = TfidfVectorizer(token_pattern=r"[a-z0-9']+", ngram_range=(1, 2)).fit(parts[0])
        columns.append([vectorizer.transform(texts) for texts in parts])
    return [hstack(vectors).tocsr() for vectors in zip(*columns)]


@torch.inference_mode()
def sentence_vectors(encoder: BertModel, tokenizer: Tokenizer, texts: Sequence) -> np.ndarray:
    """(n, D), the frozen encoder's mean over the tokens of each text or pair."""
    head = SequenceClassifier(encoder, tokenizer, ["one", "two"], pooling="mean")
    head.classifier = torch.nn.Identity()
    return torch.stack(head.logits(head.encode(texts))).numpy()


def two_vectors(encoder: BertModel, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """(n, 4 D), the vectors of a pair's two texts, read separately, and how they differ.

    Source: Conneau et al. 2017, section 3.1; Reimers & Gurevych 2019.
    """
    u, v = (sentence_vectors(encoder, tokenizer, texts) for texts in zip(*pairs))
    return np.concatenate([u, v, np.abs(u - v), u * v], axis=1)


def logistic_regression_model(vectors: Sequence, splits: Splits) -> LogisticRegression:
    """The regression with the C that is best on dev; if several are, the smallest."""
    train, dev = ([example.label for example in split] for split in splits[:2])
    models = [LogisticRegression(C=penalty, max_iter=2000).fit(vectors[0], train) for penalty in PENALTIES]
    return max(models, key=lambda model: model.score(vectors[1], dev))


def logistic_regression(vectors: Sequence, splits: Splits) -> float:
    """Test accuracy in percent of the regression that is best on dev."""
    test = [example.label for example in splits.test]
    return 100 * logistic_regression_model(vectors, splits).score(vectors[2], test)


def fine_tuned(
    encoder: BertModel, tokenizer: Tokenizer, splits: Splits, epochs: int, seed: int, pooling: str = "cls", **settings
) -> float:
    """Test accuracy in percent after so many epochs; dev is not used (what is measured on it changes nothing).

    ``settings`` override those in ``SETTINGS``.
    """
    labels = sorted({example.label for example in splits.train})
    model = SequenceClassifier(encoder, tokenizer, labels, pooling=pooling, seed=seed)
    fine_tune(model, splits.train, splits.dev[:8], epochs=epochs, seed=seed, **SETTINGS | settings)
    return model.score(splits.test)["accuracy"]


def random_encoder(encoder: BertModel, seed: int) -> BertModel:
    """An encoder of the same kind and sizes that has learned nothing."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return type(encoder)(encoder.config).eval()


def plan(seeds: int) -> list[dict]:
    """What to measure: first what is cheap, and tickets before the rest."""
    quick = ("TF-IDF", "frozen", "fine-tuned")
    stages = [("tickets", quick), ("tickets", ("from scratch",)), ("nli", (*quick, TWO_VECTORS)), ("reviews", quick)]
    stages += [("reviews", ("from scratch",)), ("nli", ("from scratch",))]
    rows = [
        dict(set=name, method=method, per_class=size, seed=seed)
        for name, methods in stages
        for seed in range(seeds)
        for method in methods
        for size in SIZES[name]
    ]
    # From all examples, a logistic regression is the same for each seed; from scratch, 4 per class are too few to learn
    # from.
    return [
        row
        for row in rows
        if (row["seed"] == 0 or row["method"] in EPOCHS or not is_all(row))
        and (row["method"] != "from scratch" or row["per_class"] > 4)
    ]


def is_all(row: dict) -> bool:
    """Whether a row has all of its set's training examples."""
    return row["per_class"] == SIZES[row["set"]][-1]


def measure(row: dict, encoder: BertModel, tokenizer: Tokenizer) -> float:
    """The accuracy of one row of the plan, in percent."""
    method, size, seed = row["method"], row["per_class"], row["seed"]
    splits = splits_of(row["set"])
    splits = splits._replace(train=splits.train if is_all(row) else draw(splits.train, size, seed))
    if method == "TF-IDF":
        return logistic_regression(tf_idf(splits), splits)
    if method.startswith("frozen"):
        vectors = two_vectors if method == TWO_VECTORS else sentence_vectors
        return logistic_regression([vectors(encoder, tokenizer, [e.text for e in s]) for s in splits], splits)
    if method == "from scratch":
        encoder = random_encoder(encoder, seed)
    epochs = EPOCHS[method][row["set"]][SIZES[row["set"]].index(size)]
    return fine_tuned(encoder, tokenizer, splits, epochs, seed)


def public_baselines() -> dict:
    """Majority and TF-IDF on SST-2 and RTE, as ``bertcourse benchmark finetune`` splits them: accuracy in percent."""
    result = {}
    for name, splits in {"SST-2": sst2(), "RTE": rte()}.items():
        train = [example.label for example in splits.train]
        commonest = statistics.mode(train)
        result[name] = {
            "majority": 100 * statistics.mean(example.label == commonest for example in splits.test),
            "TF-IDF": logistic_regression(tf_idf(splits), splits),
        }
    return {name: {method: round(score, 2) for method, score in scores.items()} for name, scores in result.items()}


def write(folder: Path, name: str, result: dict) -> None:
    """Write a result as JSON."""
    with replace_files(folder, [name]) as draft:
        (draft / name).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def run(model_name: str, seeds: int, folder: Path) -> dict:
    """Measure what is not in the file yet; write it after each row."""
    encoder, tokenizer = bert.load_pretrained(model_name)
    file = f"few_labels_{Path(model_name).name}.json"
    result = {
        "model": model_name,
        "weights": round(
            encoder.embeddings.word_embeddings.weight.double().sum().item(), 3
        ),  # another model, another sum
        "settings": {**SETTINGS, "examples_per_class": SIZES, "epochs": EPOCHS},
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "rows": [],
    }
    if (folder / file).exists():
        known = read_json(folder / file)
        if known["weights"] == result["weights"] and known["settings"] == json.loads(json.dumps(result["settings"])):
            result["rows"] = known["rows"]
    done = {tuple(row[key] for key in ("set", "method", "per_class", "seed")) for row in result["rows"]}
    for row in plan(seeds):
        if tuple(row.values()) in done:
            continue
        row["accuracy"] = round(measure(row, encoder, tokenizer), 2)
        print(row, flush=True)
        result["rows"].append(row)
        write(folder, file, result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a name for load_pretrained (default: minilm)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--public", action="store_true", help="majority and TF-IDF on SST-2 and RTE instead")
    parser.add_argument(
        "--output", default=COURSE_DATA / "results", help="folder for the table (default: data/results)"
    )
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.public:
        baselines = public_baselines()
        print(baselines)
        write(Path(options.output), "classification_baselines.json", baselines)
    else:
        run(options.model, options.seeds, Path(options.output))


if __name__ == "__main__":
    main()
