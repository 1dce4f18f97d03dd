"""Lecture 12's models of dates and of the small world: three seeds of each, beside baselines without training.

    python tools/studies/small_decoders.py      # a few minutes of one core

Dates: the lecture's encoder-decoder learns from 20,000 written dates and is asked for 500
dates that are held out in every spelling. A date is right if all ten of its characters are. Beside it is the training
example that is written most alike, the answer of a memory: never entirely right, as no held-out date is among them.

Small world: the lecture's causal language model reads each document once. The loss is per
token of 200 held-out documents, beside the bigram model of chapter 4, which counted the same documents, and the loss of
the grammar itself, which is told the scene of each document, so that no model can have a lower one.

What exists already is not made again; the result is stored when all of it is there (data/results, by default).
"""

import argparse
import json
import math
import time
from pathlib import Path

import torch

from bertcourse.datasets import course_file
from bertcourse.decoders import (
    CausalLanguageModel,
    CharacterVocabulary,
    EncoderDecoder,
    date_examples,
    mean_loss,
    pair_batches,
    small_config,
    text_batches,
    train_language_model,
    translation_loss,
    translations,
)
from bertcourse.pretraining import SmallWorld
from bertcourse_lab.benchmarks.tables import write_table
from bertcourse_lab.similar_dates import character_accuracy, nearest_examples
from bertcourse_lab.small_world_texts import bigram_loss, grammar_loss, world_texts

HELD_OUT = 200  # documents
DATE_STEPS, DATE_BATCH = 700, 64  # of the lecture
WORLD_STEPS, WORLD_BATCH = 250, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--date-steps", type=int, default=DATE_STEPS, help="(default: %(default)s)")
    parser.add_argument("--world-steps", type=int, default=WORLD_STEPS, help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--runs", type=Path, default=Path("runs/small_decoders"), help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=course_file("results/README.md").parent)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    result = run(options.seeds, {"dates": options.date_steps, "small world": options.world_steps}, options.runs)
    print(table := markdown(result))
    write_table(options.output, "small_decoders", result, table)


def run(seeds: list[int], steps: dict[str, int], folder: Path) -> dict:
    """All rows, each saved to its own file as soon as it is made."""
    folder.mkdir(parents=True, exist_ok=True)
    measures = {"dates": dates, "small world": small_world}
    rows = []
    for task, count in steps.items():
        for seed in seeds:
            path = folder / f"{task.replace(' ', '_')}-{seed}-{count}.json"
            if not path.is_file():
                start = time.process_time()
                row = {"task": task, "seed": seed, **measures[task](seed, count)}
                row["cpu_seconds"] = round(time.process_time() - start)
                path.write_text(json.dumps(row), encoding="utf-8")
            rows.append(json.loads(path.read_text(encoding="utf-8")))
            print(rows[-1], flush=True)
    return {"steps": steps, "rows": rows}


def exact(written: list[str], examples: list) -> float:
    """The share of dates that are right in every character."""
    return sum(text == example.iso for text, example in zip(written, examples, strict=True)) / len(examples)


def dates(seed: int, steps: int) -> dict[str, float]:
    """Train an encoder-decoder, and ask it, and a memory of its training examples, for dates that are held out."""
    train, test = date_examples(seed=seed)
    vocabulary = CharacterVocabulary([text for example in train for text in (example.written, example.iso)])
    torch.manual_seed(seed)
    model, generator = (
        EncoderDecoder(small_config(len(vocabulary), 64, 64, layers=1)),
        torch.Generator().manual_seed(seed),
    )
    batches = pair_batches(train, vocabulary, DATE_BATCH, generator)
    start = time.process_time()
    train_language_model(model, batches, steps, 4e-3, loss=translation_loss)
    seconds = time.process_time() - start
    texts = [example.written for example in test]
    written = translations(model, vocabulary, texts)
    nearest = [example.iso for example in nearest_examples(texts, train)]
    return {
        "exact": exact(written, test),
        "characters": round(character_accuracy(written, test), 4),
        "nearest_exact": exact(nearest, test),
        "nearest_characters": round(character_accuracy(nearest, test), 4),
        "training_seconds": round(seconds),
    }


def small_world(seed: int, steps: int) -> dict[str, float]:
    """Train a causal language model on each document once; every seed, 0 included, has its own documents."""
    world = SmallWorld()
    vocab_size = world.tokenizer().get_vocab_size()
    texts = world_texts(world, seed, count=steps * WORLD_BATCH)
    held_out = world_texts(world, seed=-1, count=HELD_OUT)
    torch.manual_seed(seed)
    model, generator = CausalLanguageModel(small_config(vocab_size, 96, 128)), torch.Generator().manual_seed(seed)
    batches = text_batches(texts, WORLD_BATCH, generator)
    start = time.process_time()
    train_language_model(model, batches, steps, 3e-3)
    seconds = time.process_time() - start
    return {
        "loss": round(mean_loss(model, held_out), 4),
        "bigram_loss": round(bigram_loss(texts, held_out, vocab_size), 4),
        "grammar_loss": round(grammar_loss(world, -1, HELD_OUT), 4),
        "training_seconds": round(seconds),
    }


def markdown(result: dict) -> str:
    """A table for each task, with the lowest and the highest of its seeds."""

    def band(task: str, name: str, digits: int, change=lambda value: value) -> str:
        values = [change(row[name]) for row in result["rows"] if row["task"] == task]
        return f"{min(values):.{digits}f} to {max(values):.{digits}f}"

    def percent(name: str) -> str:
        return band("dates", name, 1, lambda share: 100 * share)

    seeds = len({row["seed"] for row in result["rows"]})
    dates_seconds, world_seconds = (band(task, "training_seconds", 0) for task in result["steps"])
    lines = [
        f"# Two small models that write: {seeds} seeds",
        "",
        f"| dates, {result['steps']['dates']:,} steps | all ten characters right | characters right | CPU seconds |",
        "|---|---|---|---|",
        f"| encoder-decoder | {percent('exact')} | {percent('characters')} | {dates_seconds} |",
        f"| nearest training example | {percent('nearest_exact')} | {percent('nearest_characters')} | |",
        "",
        f"| small world, {result['steps']['small world']:,} steps | loss per token | perplexity | CPU seconds |",
        "|---|---|---|---|",
    ]
    for name, loss in (
        ("causal language model", "loss"),
        ("bigram counts", "bigram_loss"),
        ("grammar", "grammar_loss"),
    ):
        cells = [band("small world", loss, 3), band("small world", loss, 2, math.exp)]
        lines.append(f"| {name} | {' | '.join(cells)} | {world_seconds if loss == 'loss' else ''} |")
    end = "Shares in percent, losses in nats; the machine was shared. `python tools/studies/small_decoders.py`"
    return "\n".join([*lines, "", end, ""])


if __name__ == "__main__":
    main()
