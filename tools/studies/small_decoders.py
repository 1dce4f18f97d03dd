"""Chapter 12's two models that are trained in a lecture: three seeds of each, beside baselines without training.

    python tools/studies/small_decoders.py      # a few minutes of one core

Dates: an encoder-decoder with the settings of ``DATE_MODEL`` learns from 20,000 written dates and is asked for 500
dates that are held out in every spelling. A date is right if all ten of its characters are. Beside it is the training
example that is written most alike, the answer of a memory: never entirely right, as no held-out date is among them.

Small world: a causal language model with the settings of ``WORLD_MODEL`` reads 12,800 documents once. The loss is per
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
    DATE_MODEL,
    WORLD_MODEL,
    CausalLanguageModel,
    CharacterVocabulary,
    EncoderDecoder,
    bigram_loss,
    date_examples,
    grammar_loss,
    mean_loss,
    pair_batches,
    teacher_forcing_loss,
    text_batches,
    train_language_model,
    translations,
    world_texts,
)
from bertcourse.decoders.tasks import character_accuracy, nearest_examples, sequence_accuracy
from bertcourse.files import write_table
from bertcourse.pretraining import SmallWorld

HELD_OUT = 200  # documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="(default: %(default)s)")
    parser.add_argument("--date-steps", type=int, default=DATE_MODEL.steps, help="(default: %(default)s)")
    parser.add_argument("--world-steps", type=int, default=WORLD_MODEL.steps, help="(default: %(default)s)")
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


def dates(seed: int, steps: int) -> dict[str, float]:
    """Train an encoder-decoder, and ask it, and a memory of its training examples, for dates that are held out."""
    train, test = date_examples(seed=seed)
    vocabulary = CharacterVocabulary([text for example in train for text in (example.written, example.iso)])
    torch.manual_seed(seed)
    model, generator = EncoderDecoder(DATE_MODEL.config(len(vocabulary))), torch.Generator().manual_seed(seed)
    batches = pair_batches(train, vocabulary, DATE_MODEL.batch_size, generator)
    start = time.process_time()
    train_language_model(model, batches, steps, DATE_MODEL.learning_rate, loss=teacher_forcing_loss)
    seconds = time.process_time() - start
    texts = [example.written for example in test]
    written = translations(model, vocabulary, texts)
    nearest = [example.iso for example in nearest_examples(texts, train)]
    return {
        "exact": sequence_accuracy(written, test),
        "characters": round(character_accuracy(written, test), 4),
        "nearest_exact": sequence_accuracy(nearest, test),
        "nearest_characters": round(character_accuracy(nearest, test), 4),
        "training_seconds": round(seconds),
    }


def small_world(seed: int, steps: int) -> dict[str, float]:
    """Train a causal language model on each document once; every seed, 0 included, has its own documents."""
    world = SmallWorld()
    vocab_size = world.tokenizer().get_vocab_size()
    texts = world_texts(world, seed, count=steps * WORLD_MODEL.batch_size)
    held_out = world_texts(world, seed=-1, count=HELD_OUT)
    torch.manual_seed(seed)
    model, generator = CausalLanguageModel(WORLD_MODEL.config(vocab_size)), torch.Generator().manual_seed(seed)
    batches = text_batches(texts, WORLD_MODEL.batch_size, generator)
    start = time.process_time()
    train_language_model(model, batches, steps, WORLD_MODEL.learning_rate)
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
