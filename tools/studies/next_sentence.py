"""What is next-sentence prediction good for? Classifiers on [CLS] in the small world, pretrained with and without it.

    python tools/studies/next_sentence.py          # two models for each of three seeds; an hour of CPU

A model without the task reads the same rows as one with it, and only the NSP loss is left out. Both then learn three
tasks from 200 labelled examples, and accuracy is measured on 1,000 others:

- **topic**: which of 14 topics a text of two sentences has;
- **same topic**: whether two texts, from two documents, have the same topic, as half of the pairs do;
- **follows**: whether one text follows the other in a document, as in half of the pairs, or they come from two
  documents: NSP itself.

Methods:

- **[CLS]**, **mean**: logistic regression on the frozen encoder's last layer, on its vector of [CLS] or the mean of all
  tokens' vectors (C is chosen on 500 dev examples);
- **two means**: the same for a pair whose texts are read separately: their means u and v, |u - v| and u * v (Conneau et
  al. 2017);
- **fine-tuned**: ``SequenceClassifier``, BERT's own way: all weights learn (dev chooses the learning rate);
- **bag of words**: logistic regression on word counts; for a pair, each text's and their product (dev chooses C).

A seed determines the pretraining and which examples are drawn; models with one seed learn from the same. "fresh" models
have random weights. The result is written after each model, and an interrupted command resumes where it was.
"""

import argparse
import platform
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tokenizers import Tokenizer

from bertcourse.bert import BertForPreTraining, BertModel, load_pretrained, save_pretrained
from bertcourse.datasets import COURSE_DATA
from bertcourse.files import read_json
from bertcourse.fine_tuning import LabeledText, SequenceClassifier
from bertcourse.pretraining import SmallWorld, Vocabulary, evaluate
from bertcourse_lab.benchmarks.tables import write_table
from bertcourse_lab.datasets.classification import Splits
from bertcourse_lab.fine_tuning import fine_tune
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.config import PRESETS, PretrainingConfig
from bertcourse_lab.pretraining.trainer import pretrain

VARIANTS = {"with NSP": {}, "without NSP": {"nsp": False}}
TASKS = ("topic", "same topic", "follows")
LABELS, DEV, TEST = 200, 500, 1000
EPOCHS, BATCH_SIZE, LEARNING_RATES = 20, 16, (2e-4, 1e-3)
PENALTIES = (0.001, 0.01, 0.1, 1, 10)
NAME = "next_sentence"


def text_of(sentences: Sequence[Sequence[str]]) -> str:
    """Sentences of words as one text."""
    return " ".join(word for sentence in sentences for word in sentence)


def draw(world: SmallWorld, task: str, count: int, rng: random.Random) -> list[LabeledText]:
    """Examples of a task; pairs are balanced between the classes as far as possible."""
    examples = []
    for number in range(count):
        document = world.document(rng, num_sentences=6)
        if task == "topic":
            examples.append(LabeledText(text_of(document.sentences[1:3]), document.topic))
        else:
            first, wanted = text_of(document.sentences[1:3]), number % 2 == 0
            if task == "follows" and wanted:
                second = document.sentences[3:5]
            else:  # two sentences from the middle of another document
                other = world.document(rng, num_sentences=6)
                while task == "same topic" and (other.topic == document.topic) != wanted:
                    other = world.document(rng, num_sentences=6)
                second = other.sentences[3:5]
            examples.append(LabeledText((first, text_of(second)), str(wanted)))
    return examples


def splits_of(world: SmallWorld, task: str, seed: int) -> Splits:
    """A draw of training examples for each seed; dev and test are always the same."""
    drawn = [(LABELS, f"train {seed}"), (DEV, "dev"), (TEST, "test")]
    return Splits(*(draw(world, task, count, random.Random(f"{task} {name}")) for count, name in drawn))


@torch.inference_mode()
def vectors(encoder: BertModel, tokenizer: Tokenizer, examples: Sequence[LabeledText]) -> dict[str, np.ndarray]:
    """(n, D) vectors of the last layer, of two kinds: each example's [CLS], and the mean over its tokens."""
    head = SequenceClassifier(encoder, tokenizer, ["one", "two"], pooling="cls")
    rows = head.encode([example.text for example in examples])
    found = {"[CLS]": [], "mean": []}
    for start in range(0, len(rows), 50):
        batch = head.batch(rows[start : start + 50])
        hidden = encoder(*batch).last_hidden_state
        found["[CLS]"].append(hidden[:, 0])
        mask = batch.attention_mask
        found["mean"].append((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
    return {name: torch.cat(each).numpy() for name, each in found.items()}


def two_means(encoder: BertModel, tokenizer: Tokenizer, pairs: Sequence[LabeledText]) -> np.ndarray:
    """(n, 4 D), the mean vectors u and v of the two texts, each read by itself, and how they differ."""
    apart = [[LabeledText(pair.text[i], pair.label) for pair in pairs] for i in (0, 1)]
    u, v = (vectors(encoder, tokenizer, examples)["mean"] for examples in apart)
    return np.concatenate([u, v, np.abs(u - v), u * v], axis=1)


def bags_of_words(splits: Splits) -> list[np.ndarray]:
    """Counts of the training examples' words; for a pair, those of both texts and their product."""
    parts = [[(e.text,) if isinstance(e.text, str) else e.text for e in split] for split in splits]
    counter = CountVectorizer(token_pattern=r"\S+").fit([text for texts in parts[0] for text in texts])
    counts = [[counter.transform(texts).toarray() for texts in zip(*split)] for split in parts]
    return [np.hstack([*columns, *([columns[0] * columns[1]] if len(columns) == 2 else [])]) for columns in counts]


def logistic_regression(vectors: Sequence[np.ndarray], splits: Splits) -> float:
    """Test accuracy in percent, with the C that is best on dev; if several are, the smallest."""
    train, dev, test = ([example.label for example in split] for split in splits)
    models = [
        make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=2000)).fit(vectors[0], train)
        for penalty in PENALTIES
    ]
    best = max(models, key=lambda model: model.score(vectors[1], dev))
    return 100 * best.score(vectors[2], test)


def fine_tuned(encoder: BertModel, tokenizer: Tokenizer, splits: Splits, seed: int) -> float:
    """Test accuracy in percent, with the learning rate that is best on dev."""
    labels = sorted({example.label for split in splits for example in split})
    models = []
    for learning_rate in LEARNING_RATES:
        model = SequenceClassifier(encoder, tokenizer, labels, pooling="cls", seed=seed)
        settings = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, "learning_rate": learning_rate}
        fine_tune(model, splits.train, splits.dev, evaluations=1, seed=seed, **settings)
        models.append(model)
    best = max(models, key=lambda model: model.score(splits.dev)["accuracy"])
    return best.score(splits.test)["accuracy"]


def pretrained(variant: str, seed: int, folder: Path) -> BertForPreTraining:
    """A model of the small world, read from a folder if it is there already."""
    target = folder / f"{variant.replace(' ', '-')}-seed{seed}"
    if not (target / "config.json").exists():
        with tempfile.TemporaryDirectory() as output:
            settings = {**PRESETS["small-world"], **VARIANTS[variant], "seed": seed, "output": output}
            model = pretrain(PretrainingConfig(**settings, threads=torch.get_num_threads()))
        save_pretrained(model, SmallWorld().tokenizer(), target)
    return load_pretrained(target, BertForPreTraining)[0]


def mlm_loss(model: BertForPreTraining, world: SmallWorld, tokenizer: Tokenizer) -> float:
    """The MLM loss in nats, on the held-out rows of ``tools/studies/small_world.py``."""
    rows, held_out = RowMaker("sentence-pairs", 0.0), world.corpus(10_000).held_out
    return evaluate(model, list(fixed_batches(held_out, Vocabulary.of(tokenizer), rows, 64, 2400)))["mlm_loss"]


def measure(encoder: BertModel, world: SmallWorld, tokenizer: Tokenizer, seed: int) -> dict[str, dict[str, float]]:
    """Accuracies in percent, by task and method."""
    result = {}
    for task in TASKS:
        splits = splits_of(world, task, seed)
        found = [vectors(encoder, tokenizer, split) for split in splits]
        scores = {name: logistic_regression([each[name] for each in found], splits) for name in ("[CLS]", "mean")}
        if isinstance(splits.test[0].text, tuple):
            scores["two means"] = logistic_regression([two_means(encoder, tokenizer, each) for each in splits], splits)
        scores["fine-tuned"] = fine_tuned(encoder, tokenizer, splits, seed)
        result[task] = {name: round(score, 1) for name, score in scores.items()}
    return result


def baselines(world: SmallWorld, seed: int) -> dict[str, dict[str, float]]:
    """Baselines that need no encoder: the commonest class in training, and a bag of words."""
    result = {}
    for task in TASKS:
        splits = splits_of(world, task, seed)
        labels = [example.label for example in splits.train]
        commonest = max(sorted(set(labels)), key=labels.count)
        majority = sum(example.label == commonest for example in splits.test) / len(splits.test)
        words = logistic_regression(bags_of_words(splits), splits)
        result[task] = {"majority": round(100 * majority, 1), "bag of words": round(words, 1)}
    return result


def table_of(rows: Sequence[dict]) -> str:
    """Markdown: for each task, the lowest and highest accuracy of the seeds."""
    lines = [
        "# What next-sentence prediction is good for",
        "",
        "| task | model | method | accuracy, % |",
        "|---|---|---|---|",
    ]
    for task in rows[0]["accuracy"] if rows else ():
        for model in dict.fromkeys(row["model"] for row in rows):
            for method in next(row for row in rows if row["model"] == model)["accuracy"][task]:
                scores = [row["accuracy"][task][method] for row in rows if row["model"] == model]
                lines.append(f"| {task} | {model} | {method} | {min(scores):.1f} to {max(scores):.1f} |")
    return "\n".join(lines) + "\n"


def run(seeds: Sequence[int], folder: Path, models: Path) -> dict:
    """Measure what is not in the file yet; write it after each model."""
    world = SmallWorld()
    tokenizer = world.tokenizer()
    result = {"versions": {"python": platform.python_version(), "torch": torch.__version__}, "rows": []}
    if (folder / f"{NAME}.json").exists():
        result = read_json(folder / f"{NAME}.json")
    done = {(row["model"], row["seed"]) for row in result["rows"]}
    for seed in seeds:
        for name in ("no model", "fresh", *VARIANTS):
            if (name, seed) in done:
                continue
            row = {"model": name, "seed": seed}
            if name == "no model":
                row["accuracy"] = baselines(world, seed)
            else:
                model = fresh(world, seed) if name == "fresh" else pretrained(name, seed, models)
                row["mlm_loss"] = round(float(mlm_loss(model, world, tokenizer)), 3)
                row["accuracy"] = measure(model.bert.eval(), world, tokenizer, seed)
            print(row, flush=True)
            order = ("no model", "fresh", *VARIANTS)
            result["rows"] = sorted([*result["rows"], row], key=lambda row: (order.index(row["model"]), row["seed"]))
            write_table(folder, NAME, result, table_of(result["rows"]))
    return result


def fresh(world: SmallWorld, seed: int) -> BertForPreTraining:
    """A model with random weights, as before pretraining."""
    config = PretrainingConfig(**PRESETS["small-world"])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return BertForPreTraining(config.bert_config(world.tokenizer().get_vocab_size())).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23], help="(default: %(default)s)")
    parser.add_argument("--models", type=Path, default="runs/next-sentence", help="where to keep the pretrained models")
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="(default: data/results)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    result = run(options.seeds, options.output, options.models)
    print(table_of(result["rows"]))


if __name__ == "__main__":
    main()
