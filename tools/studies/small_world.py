"""BERT's choices, tried in the small world: masking rate, NSP, static masks, a sparse world. About two minutes per run.

``python tools/studies/small_world.py`` trains each variation with three seeds, writes the logs and ``final.jsonl`` into
data/runs/small-world and prints the table; a run that exists already is not made again. Name variations to make only
these.

``python tools/studies/small_world.py mask30 --page`` trains by lecture 4's own ``batches`` and ``train``, in float32,
writes nothing, and prints what it measures beside the stored runs: five minutes of one core per seed.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from bertcourse.bert import BertForPreTraining
from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.pretraining import (
    Documents,
    SmallWorld,
    Vocabulary,
    batches,
    evaluate,
    read_log,
    sense_accuracy,
    topic_accuracy,
    train,
)
from bertcourse.pretraining.small_world import most_frequent_sense_accuracy
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.config import PRECISIONS, PRESETS, PretrainingConfig
from bertcourse_lab.pretraining.starts import new_model
from bertcourse_lab.pretraining.trainer import find_corpus, pretrain

LOCAL_START = {"initial_positions": "sinusoidal", "local_layers": 2, "initial_outputs": "zero"}
VARIATIONS = {
    "mask30": {},
    "mask15": {"mask_rate": 0.15},
    "mask50": {"mask_rate": 0.5},
    "all-masks": {"mask_share": 1.0, "random_share": 0.0},
    "without-nsp": {"nsp": False},
    "sparse": {"corpus": "sparse-world"},
    "dynamic-masks-small-corpus": {"world_tokens": 150_000},
    "static-masks-small-corpus": {"world_tokens": 150_000, "static_copies": 1},
    # Does a start by position make the live training faster? Run these in their own folder (--folder), with mask30.
    "local-start": LOCAL_START,
    "half-as-long": {"tokens": 1_200_000},
    "local-start-half-as-long": {**LOCAL_START, "tokens": 1_200_000},
}
# The lecture's loop always has NSP and draws new masks.
PAGE_HAS = {"mask30", "mask15", "mask50", "all-masks", "sparse", "half-as-long"}
KEPT = ("event", "step", "tokens", "seconds", "mlm_loss", "nsp_loss", "learning_rate", "length")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variations", nargs="*", help=f"of {', '.join(VARIATIONS)} (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23], help="(default: %(default)s)")
    parser.add_argument("--precision", default="auto", choices=PRECISIONS, help="(default: %(default)s)")
    parser.add_argument("--page", action="store_true", help="train by lecture 4's own loop, and compare")
    parser.add_argument("--folder", type=Path, default=course_file("runs/README.md").parent / "small-world")
    options = parser.parse_args()
    if unknown := set(options.variations) - set(VARIATIONS):
        parser.error(f"a variation must be one of {', '.join(VARIATIONS)}; got {', '.join(unknown)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    final = options.folder / "final.jsonl"
    rows = [json.loads(line) for line in final.read_text().splitlines()] if final.is_file() else []
    if options.page:
        if set(options.variations) - PAGE_HAS:
            parser.error(f"--page can train {', '.join(sorted(PAGE_HAS))}")
        for name in options.variations or ["mask30"]:
            found = [measure(name, seed, page=True)[0] for seed in options.seeds]
            compare(name, found, [row for row in rows if row["run"] == name])
        return
    for seed in options.seeds:
        for name in options.variations or VARIATIONS:
            if any((row["run"], row["seed"]) == (name, seed) for row in rows):
                continue
            row, log = measure(name, seed, options.precision)
            rows = sorted([*rows, row], key=lambda row: (list(VARIATIONS).index(row["run"]), row["seed"]))
            files = {f"{name}-seed{seed}.jsonl": log, final.name: rows}
            with replace_files(options.folder, files) as draft:
                for file, lines in files.items():
                    (draft / file).write_text("".join(json.dumps(line) + "\n" for line in lines))
    columns = ("mlm_loss", "nsp_accuracy", "sense_accuracy", "topic_accuracy", "topic_accuracy_from_scratch", "seconds")
    print(f"{'run':28}{'seed':>5}", *(f"{column:>28}" for column in columns))
    for row in rows:
        print(f"{row['run']:28}{row['seed']:5}", *(f"{row.get(column, '')!s:>28}" for column in columns))


def compare(name: str, found: list[dict], stored: list[dict]) -> None:
    """Print the lowest and the highest value of each measurement, of new rows of ``final.jsonl`` and of stored ones."""
    print(f"{name:30}{'by the page':>18}{'stored':>18}")
    for key in ("mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "sense_accuracy", "topic_accuracy", "seconds"):
        bands = []
        for rows in (found, stored):
            values = [value for row in rows if key in row for value in np.ravel(row[key])]
            bands.append(f"{min(values):.3f} to {max(values):.3f}" if values else "-")
        print(f"{key:30}", *(f"{band:>17}" for band in bands))


def trained_by_page(config: PretrainingConfig) -> BertForPreTraining:
    """A model trained as lecture 4 does it: its batches, its loop and its schedule, on the corpus of the settings."""
    corpus = find_corpus(config)
    vocabulary = Vocabulary.of(corpus.tokenizer)
    torch.manual_seed(config.seed)
    model = new_model(config, vocabulary.size, corpus.train, vocabulary.pad_id)
    documents = [document for shard in corpus.train for document in shard.lists()]
    shares = {"mask_share": config.mask_share, "random_share": config.random_share}
    stream = batches(documents, vocabulary, 64, config.batch_size, config.mask_rate, config.seed, **shares)
    train(model, stream, config.tokens, lambda *_: None, config.learning_rate)
    return model.eval()


def measure(name: str, seed: int, precision: str = "auto", page: bool = False) -> tuple[dict, list[dict]]:
    """Train one model, by ``pretrain`` or by the page's loop, and measure it on more examples than its log does.

    Returns:
        A row of ``final.jsonl``, and the log with each ``train`` line reduced to what a figure needs.
    """
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"seed": seed, "output": folder, "precision": precision, **VARIATIONS[name]}
        config = PretrainingConfig(**{**PRESETS["small-world"], **settings})
        model = trained_by_page(config) if page else pretrain(config)
        log = [] if page else read_log(Path(folder) / "log.jsonl")
    row = {"run": name, "seed": seed, "seconds": time.perf_counter() - start}
    world = SmallWorld(sparse=config.corpus == "sparse-world")
    tokenizer = world.tokenizer()
    held_out = world.corpus(10_000).held_out
    rows = RowMaker(config.packing, config.short_rate)
    row |= evaluate(model, list(fixed_batches(held_out, Vocabulary.of(tokenizer), rows, 64, 2400)))
    train, test = world.sense_examples(-5, 500), world.sense_examples(-6, 400)
    row["sense_accuracy"] = sense_accuracy(model.bert, tokenizer, train, test)
    row["sense_accuracy_by_layer"] = [sense_accuracy(model.bert, tokenizer, train, test, layers=[i]) for i in range(5)]
    row["sense_accuracy_of_context"] = [
        sense_accuracy(model.bert, tokenizer, train, test, layers=[i], of_context=True) for i in range(5)
    ]
    row["visible_accuracy"] = visible_accuracy(model, held_out, Vocabulary.of(tokenizer), rows)
    row["most_frequent_sense"] = most_frequent_sense_accuracy(train, test)
    if name == "mask30":
        torch.manual_seed(seed)
        fresh = BertForPreTraining(model.config)
        row["topic_accuracy"] = [topic_accuracy(model.bert, world, 50, draw) for draw in range(3)]
        row["topic_accuracy_from_scratch"] = [topic_accuracy(fresh.bert, world, 50, draw) for draw in range(3)]
    if not config.nsp:
        row = {key: value for key, value in row.items() if not key.startswith("nsp")}
    for line in log[:1]:
        line["config"]["output"] = f"runs/{name}-seed{seed}"
    log = [{key: line[key] for key in KEPT} if line["event"] == "train" else line for line in log]
    return {key: rounded(value) for key, value in row.items()}, log


@torch.inference_mode()
def visible_accuracy(
    model: BertForPreTraining, documents: list[Documents], vocabulary: Vocabulary, rows: RowMaker
) -> float:
    """How often the MLM head names the token that it sees, with nothing hidden."""
    right = count = 0
    for _, batch in fixed_batches(documents, vocabulary, rows, 64, 600):
        logits = model(batch.input_ids, batch.attention_mask, batch.token_type_ids).mlm_logits
        is_word = ~vocabulary.is_special[batch.input_ids]
        right += int((logits.argmax(-1) == batch.input_ids)[is_word].sum())
        count += int(is_word.sum())
    return right / count


def rounded(value):
    """A structure of lists with its floats rounded to four decimals."""
    return (
        [rounded(each) for each in value]
        if isinstance(value, list)
        else round(value, 4)
        if isinstance(value, float)
        else value
    )


if __name__ == "__main__":
    main()
