"""``bertcourse benchmark finetune``: how well a model does on public sets after fine-tuning on them.

    sst2    SST-2, sentiment of sentences, on the official dev split
    rte     RTE, entailment of pairs, on the official dev split
    ner     wikigold, 10 % of its articles, and WNUT 2017's test split
    squad   SQuAD 1.1, on 5 of the 48 articles of its dev split, after training on 38 of them

Each seed is a run of its own, with its own head, order and dropout. Its result is kept as soon as it exists, and an
interrupted run continues from its checkpoint, so that the command can be given again; other weights, data or settings
make another run. The weights of a run that do best on a dev split are measured on the test split. For SST-2 the
settings have been chosen already (data/results/README.md says how, and that test was not unseen); the model then
learns from the whole official train split, including dev, and the weights at the end are measured. Classifiers are
also measured as an ensemble, which averages the runs' probabilities.
"""

import hashlib
import json
import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import nn

from bertcourse.bert import BertModel, load_pretrained
from bertcourse.files import read_json, replace_files
from bertcourse.fine_tuning.classifiers import SequenceClassifier
from bertcourse.fine_tuning.heads import classification_scores
from bertcourse.fine_tuning.readers import LabeledText
from bertcourse.named_entities.tags import tag_set
from bertcourse.question_answering.readers import SpanPredictor
from bertcourse_lab.benchmarks.tables import publish, table_lines, table_name
from bertcourse_lab.datasets.classification import Splits, rte, sst2
from bertcourse_lab.datasets.entities import join_sentences, wikigold, wnut17
from bertcourse_lab.datasets.questions import squad
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.fine_tuning.trainer import CHECKPOINT, config_of, description, fine_tune
from bertcourse_lab.named_entities import Tagger
from bertcourse_lab.named_entities.taggers import entity_types
from bertcourse_lab.vector_cache import fingerprint


class Task(NamedTuple):
    """What is measured.

    Attributes:
        splits: returns its examples.
        head: returns a new head for them, given encoder, tokenizer, splits and seed.
        settings: fields of ``FineTuningConfig`` that differ from the defaults.
        most_dev: how many dev examples, at most, choose the best weights; test is always measured whole.
        learns_dev: whether dev is part of train, so that the weights at the end are taken.
    """

    splits: Callable[[], Splits]
    head: Callable[[BertModel, Tokenizer, Splits, int], nn.Module]
    settings: dict
    most_dev: int = 1000
    learns_dev: bool = False


def classifier(encoder: BertModel, tokenizer: Tokenizer, splits: Splits, seed: int) -> SequenceClassifier:
    """A head for the labels of a set, on the mean of the tokens, as MiniLM was trained; texts are cut to 128 tokens, as
    BERT's were for GLUE."""
    labels = sorted({example.label for example in splits.train})
    max_length = min(128, encoder.config.max_position_embeddings)
    return SequenceClassifier(encoder, tokenizer, labels, pooling="mean", max_length=max_length, seed=seed)


def tagger(encoder: BertModel, tokenizer: Tokenizer, splits: Splits, seed: int) -> Tagger:
    """A head for the tags of a set, which sees capitals and chooses the best sequence of tags that is allowed."""
    types = sorted(entity_types([tag for split in splits for example in split for tag in example.tags]))
    options = {"subwords": "all", "decoder": "viterbi", "capitals": encoder.config.type_vocab_size > 1}
    return Tagger(encoder, tokenizer, tag_set(types), **options, seed=seed)


def reader(encoder: BertModel, tokenizer: Tokenizer, splits: Splits, seed: int) -> SpanPredictor:
    """A head that always answers."""
    return SpanPredictor(encoder, tokenizer, seed=seed)


def wikigold_in_context() -> Splits:
    """Wikigold's articles in pieces of at most 100 words, since names recur within an article."""
    return Splits(*(join_sentences(split, 100) for split in wikigold()))


SENTIMENT = {"epochs": 3, "batch_size": 64, "learning_rate": 1e-4, "average_last": 0.5}
TAGGING = {"learning_rate": 2e-4, "head_learning_rate": 1e-3, "layer_decay": 0.8}
TASKS = {
    "sst2": {"SST-2": Task(partial(sst2, held_out=False, shortest=4), classifier, SENTIMENT, learns_dev=True)},
    "rte": {"RTE": Task(rte, classifier, {"epochs": 8, "batch_size": 16, "learning_rate": 1e-4})},
    "ner": {
        "wikigold": Task(wikigold_in_context, tagger, {"epochs": 8, "batch_size": 4, **TAGGING}),
        "WNUT 2017": Task(wnut17, tagger, {"epochs": 3, "batch_size": 16, **TAGGING}),
    },
    "squad": {"SQuAD": Task(squad, reader, {"epochs": 3, "batch_size": 16, "learning_rate": 2e-4}, most_dev=300)},
}


def run_benchmark(
    task: str,
    model_name: str = "minilm",
    minutes: float = 0.0,
    seeds: int = 3,
    limit: int | None = None,
    output: str | os.PathLike | None = None,
    **settings,
) -> dict:
    """Fine-tune and measure, print the table, and write it to OUTPUT/finetune_TASK_MODEL.json and .md.

    Args:
        task: one of ``TASKS``.
        model_name: for ``load_pretrained``.
        minutes: the time limit for each run; 0 for none.
        seeds: how many runs.
        limit: how many examples to train on, for a quick look; None for all.
        output: folder for the table, and for runs in progress; None keeps the runs in the user's cache.
        settings: fields of ``FineTuningConfig`` that override the task's own.

    Returns:
        What is in the JSON file.

    Raises:
        Interrupted: after SIGINT or SIGTERM, once a checkpoint has been written.

    Source: Devlin et al. 2019, section 4 and appendix B.1, for tasks and protocol.
    """
    if task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}; got {task!r}.")
    if seeds < 1 or (limit is not None and limit < 2):
        raise ValueError(f"--seeds must be at least 1 and --limit at least 2 examples; got {seeds} and {limit}.")
    config_of({**settings, "minutes": float(minutes)})  # refuses what is out of range before anything is fetched
    encoder, tokenizer = load_pretrained(model_name)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    weights = fingerprint(encoder)
    name = table_name(f"finetune_{task}", model_name, limit)
    folder = Path(output or cache_folder() / "runs")
    sets = {}
    for title, each in TASKS[task].items():
        splits = cut(each.splits(), limit, each.most_dev)
        chosen = {"precision": "auto", **each.settings, "minutes": float(minutes), **settings}
        if each.learns_dev:
            chosen["evaluations"] = 1
        place = folder / name / title.replace(" ", "-").lower()
        runs = [
            run_seed(place, each, splits, encoder, tokenizer, device, {**chosen, "seed": seed}, weights)
            for seed in range(seeds)
        ]
        sets[title] = {
            "examples": [len(split) for split in splits],
            "learns_dev": each.learns_dev,
            "settings": chosen,
            "ensemble": ensemble_scores([run.pop("probabilities", None) for run in runs], splits.test),
            "runs": runs,
        }
    result = {"task": task, "model": model_name, "limit": limit, "sets": sets}
    return publish(result, run_table(result), output, name)


def cut(splits: Splits, limit: int | None, most_dev: int) -> Splits:
    """A set with limited numbers of training and dev examples, chosen at random with a fixed seed."""
    order = torch.Generator().manual_seed(0)

    def some(examples: list, most: int | None) -> list:
        if most is None or len(examples) <= most:
            return examples
        return [examples[i] for i in torch.randperm(len(examples), generator=order)[:most].tolist()]

    return Splits(some(splits.train, limit), some(splits.dev, most_dev), splits.test)


def run_seed(
    folder: Path,
    task: Task,
    splits: Splits,
    encoder: BertModel,
    tokenizer: Tokenizer,
    device: torch.device,
    settings: dict,
    weights: str,
) -> dict:
    """One run; or the rest of it, if it was interrupted; or just its result, if there is one already.

    Args:
        folder: of all runs on these splits.
        task, splits, encoder, tokenizer, device: what to train, on what and where.
        settings: all settings of the run.
        weights: the encoder's digest.

    Returns:
        Scores on test and dev, seconds, steps and examples per second, and where it ran; for a classifier also its
        probabilities on test, a list for each class.
    """
    model = task.head(encoder, tokenizer, splits, settings["seed"]).to(device)
    made_of = hashlib.sha256(repr([weights, splits, description(model), sorted(settings.items())]).encode()).hexdigest()
    folder = folder / f"seed{settings['seed']}-{made_of[:8]}"
    if (folder / "result.json").exists():
        return read_json(folder / "result.json")
    tuned = fine_tune(model, splits.train, splits.dev, folder, resume=(folder / CHECKPOINT).exists(), **settings)
    start = time.perf_counter()
    result = {
        "seed": settings["seed"],
        "test": in_hundredths(model.score(splits.test)),
        "dev": None if task.learns_dev else in_hundredths(tuned.scores),
        "best_step": tuned.step,
        "steps": tuned.steps,
        "train_seconds": round(tuned.seconds, 1),
        "test_seconds": round(time.perf_counter() - start, 1),
        "examples_per_second": round(tuned.examples_per_second, 1),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads",
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
    }
    if isinstance(model, SequenceClassifier):
        columns = model.probabilities([example.text for example in splits.test]).T.tolist()
        result["probabilities"] = dict(zip(model.labels, columns))
    with replace_files(folder, ["result.json"]) as draft:
        (draft / "result.json").write_text(json.dumps(result), encoding="utf-8")
    (folder / CHECKPOINT).unlink()  # it is large and no longer needed, like the model
    shutil.rmtree(folder / "model")
    return result


def ensemble_scores(probabilities: list[dict[str, list[float]] | None], test: list[LabeledText]) -> dict | None:
    """The scores, in percent, of choosing the class with the highest mean probability over runs, and ``all_wrong``, the
    share of texts that every run gets wrong; None if there is only one run, or if the runs are not of classifiers.

    Source: Lakshminarayanan et al. 2017, "Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles".
    """
    if len(probabilities) < 2 or None in probabilities:
        return None
    labels = list(probabilities[0])
    given = torch.tensor([[run[label] for label in labels] for run in probabilities])  # (runs, K, n)
    gold = torch.tensor([labels.index(example.label) for example in test])
    all_wrong = 100 * (given.argmax(dim=1) != gold).all(dim=0).float().mean().item()
    return in_hundredths({**classification_scores(gold, given.mean(dim=0).argmax(dim=0)), "all_wrong": all_wrong})


def in_hundredths(scores: dict[str, float]) -> dict[str, float]:
    """Scores in percent, rounded to hundredths."""
    return {name: round(score, 2) for name, score in scores.items()}


def run_table(result: dict) -> str:
    """The table for people to read."""
    every = [run for measured in result["sets"].values() for run in measured["runs"]]
    places = dict.fromkeys(f"{run['device']}, torch {run['versions']['torch']}" for run in every)
    lines = [
        f"# Fine-tuning {result['model']}: {', '.join(result['sets'])}",
        "",
        f"In percent; mean and standard deviation over seeds, then each seed. {'; '.join(places)}.",
    ]
    for title, measured in result["sets"].items():
        lines += ["", f"## {title}", "", *set_table(measured)]
    return "\n".join([*lines, ""])


def set_table(measured: dict) -> list[str]:
    """The lines about one set."""
    runs, settings = measured["runs"], measured["settings"]
    train, dev, test = measured["examples"]
    used = f"the {dev:,} of dev among them" if measured["learns_dev"] else f"{dev:,} to choose the best weights with"
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    rows = []
    for name in runs[0]["test"]:
        scores = [run["test"][name] for run in runs]
        spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
        rows.append([name, f"{statistics.mean(scores):.1f}{spread}", *(f"{score:.1f}" for score in scores)])
    minutes, speed = [run["train_seconds"] / 60 for run in runs], [run["examples_per_second"] for run in runs]
    for unit, numbers in (("minutes of training", minutes), ("examples/s", speed)):
        rows.append([unit, f"{statistics.mean(numbers):.1f}", *(f"{number:.1f}" for number in numbers)])
    lines = [
        f"{train:,} examples to train on, {used}, {test:,} to measure. {told}.",
        "",
        *table_lines(["score, by seed", "mean ± deviation", *(str(run["seed"]) for run in runs)], rows),
    ]
    if together := measured["ensemble"]:
        scores = ", ".join(f"{name} {score:.1f}" for name, score in together.items())
        lines += ["", f"The {len(runs)} as an ensemble, probabilities averaged, and what all get wrong: {scores}."]
    return lines
