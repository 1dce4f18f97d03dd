"""One model that fills and writes, beside one that only fills and one that only writes, on equally many tokens.

    python tools/studies/fills_and_writes.py      # three models with three seeds, 4 or 5 minutes of one core each

All have the same architecture, the same initial weights and the same rows in the same order: whole documents of chapter
4's small world. In each batch, a share of the rows is written (causal) and the others are filled (30 % hidden, each
token guessed from the position before it). The share is 1 in "writes", 0 in "fills", and a half in "both", which
therefore sees half as many rows of each kind. Every model is measured on 300 held-out documents by loss and accuracy on
next tokens and on tokens behind [MASK] (15 %), even on what it never learned. Beside them are the loss of the grammar
itself, which is told each document's scene, and the bigram model of chapter 4.

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
    DecoderConfig,
    text_batches,
    train_language_model,
)
from bertcourse.pretraining import SmallWorld, Vocabulary
from bertcourse_lab.benchmarks.tables import write_table
from bertcourse_lab.hybrid import HybridLoss, filling_scores, writing_scores
from bertcourse_lab.small_world_texts import bigram_loss, grammar_loss, world_texts

ARMS = {"fills": 0.0, "writes": 1.0, "both": 0.5}  # the share of rows that are written
MEASURES = ("writing_loss", "writing_accuracy", "filling_loss", "filling_accuracy")
HELD_OUT = 300  # documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[31, 32, 33], help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=1_500_000, help="of each run (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--runs", type=Path, default=Path("runs/fills_and_writes"), help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=course_file("results/README.md").parent)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    result = run(options.seeds, options.tokens, options.runs)
    print(table := markdown(result))
    write_table(options.output, "fills_and_writes", result, table)


def run(seeds: list[int], tokens: int, folder: Path) -> dict:
    """All rows, each saved to its own file as soon as it is made."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for seed in seeds:
        for arm in ARMS:
            path = folder / f"{arm}-{seed}-{tokens}.json"
            if not path.is_file():
                path.write_text(json.dumps(measure(arm, seed, tokens)), encoding="utf-8")
            rows.append(json.loads(path.read_text(encoding="utf-8")))
            print(rows[-1], flush=True)
    return {"tokens": tokens, "held_out": HELD_OUT, "baselines": baselines(tokens), "rows": rows}


def measure(arm: str, seed: int, tokens: int) -> dict:
    """Train one model and ask it both ways."""
    start, world = time.process_time(), SmallWorld()
    model = new_model(world, seed)
    texts, generator = world_texts(world, seed, num_tokens=tokens), torch.Generator().manual_seed(seed)
    vocabulary, batch_size = Vocabulary.of(world.tokenizer()), 16
    loss = HybridLoss(vocabulary, ARMS[arm], rate=0.3, generator=torch.Generator().manual_seed(seed))
    batches = text_batches(texts, batch_size, generator)
    train_language_model(model, batches, len(texts) // batch_size, learning_rate=1e-3, loss=loss)
    held_out = world_texts(world, seed=-1, count=HELD_OUT)
    writing, filling = writing_scores(model, held_out), filling_scores(model, held_out, vocabulary)
    numbers = dict(zip(MEASURES, (*writing, *filling)))
    return {"arm": arm, "seed": seed, **{name: round(value, 4) for name, value in numbers.items()}} | {
        "cpu_seconds": round(time.process_time() - start)
    }


def new_model(world: SmallWorld, seed: int) -> CausalLanguageModel:
    """A new model with the sizes of chapter 4's "small-world" preset."""
    torch.manual_seed(seed)
    dropout = dict.fromkeys(("embedding_dropout_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    sizes = dict(hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512)
    vocab_size = world.tokenizer().get_vocab_size()
    return CausalLanguageModel(
        DecoderConfig(vocab_size, **sizes, **dropout, max_position_embeddings=128, initializer_range=0.04)
    )


def baselines(tokens: int) -> dict[str, float]:
    """Loss per next token of the grammar, which is told each document's scene, and of bigram counts, in nats."""
    world = SmallWorld()
    texts, held_out = world_texts(world, 31, num_tokens=tokens), world_texts(world, seed=-1, count=HELD_OUT)
    return {
        "grammar_loss": round(grammar_loss(world, -1, HELD_OUT), 4),
        "bigram_loss": round(bigram_loss(texts, held_out, world.tokenizer().get_vocab_size()), 4),
    }


def markdown(result: dict) -> str:
    """A row for each model: the lowest and the highest of its seeds."""
    head = "| model | next-token loss | perplexity | right | loss behind [MASK] | right |"
    lines = [
        f"# One model that fills and writes: {result['tokens']:,} tokens of the small world, "
        f"{len({row['seed'] for row in result['rows']})} seeds",
        "",
        head,
        "|---|---|---|---|---|---|",
    ]
    for arm in ARMS:
        rows = [row for row in result["rows"] if row["arm"] == arm]

        def band(name: str, digits: int, change=lambda value: value, rows=rows) -> str:
            low, high = (change(pick(row[name] for row in rows)) for pick in (min, max))
            return f"{low:.{digits}f} to {high:.{digits}f}"

        percent = dict(digits=1, change=lambda share: 100 * share)
        cells = [band("writing_loss", 3), band("writing_loss", 2, math.exp), band("writing_accuracy", **percent)]
        cells += [band("filling_loss", 3), band("filling_accuracy", **percent)]
        lines.append(f"| {arm} | {' | '.join(cells)} |")
    for name, loss in result["baselines"].items():
        lines.append(f"| {name.removesuffix('_loss')} | {loss:.3f} | {math.exp(loss):.2f} | | | |")
    return "\n".join(
        [*lines, "", "Losses in nats, accuracies in percent. `python tools/studies/fills_and_writes.py`", ""]
    )


if __name__ == "__main__":
    main()
