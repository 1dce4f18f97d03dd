"""Which start leaves the plateau first? Six million tokens of Standard Ebooks from each start, with two seeds.

    python tools/studies/books_start.py    # eight minutes per run

Trains the model of ``bertcourse pretrain books-cpu`` from each start, writes the logs into data/runs/books-start and
prints when the loss on held-out books first fell below that of a bigram model; a run that exists already is not made
again. Name starts to make only these. Each differs from the first in one respect: positions, word vectors, longer rows
in batches with the same number of tokens, or batches four times as large at twice the learning rate.
"""

import argparse
import json
import tempfile
from pathlib import Path

from bertcourse.datasets import course_file
from bertcourse.files import replace_files
from bertcourse.pretraining import read_log
from bertcourse_lab.pretraining.config import PRESETS, PretrainingConfig
from bertcourse_lab.pretraining.trainer import pretrain

STARTS = {
    "sinusoidal": {},
    "noise": {"initial_positions": "normal"},
    "counts": {"initial_words": "counts"},
    "long-rows": {"lengths": "128:1", "batch_size": 8},
    "large-batches": {"batch_size": 64, "learning_rate": 1e-3},
}
TOKENS = 6_000_000
SHARED = {
    **PRESETS["books-cpu"],
    "tokens": TOKENS,
    "lengths": "64:1",
    "warmup": 250_000 / TOKENS,  # as in a run of 250 million
    "decay": 0.0,
    "snapshots": "1",
    "log_every": 0.02,
    "evaluate_every": 0.02,
    "evaluation_rows": 512,
    "precision": "bfloat16",
    "threads": 1,
}
KEPT = ("event", "step", "tokens", "seconds", "mlm_loss", "nsp_loss", "learning_rate", "length")
BIGRAM_LOSS = 5.08  # in nats, on rows of 64 tokens: data/checkpoints/course/held_out.json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("starts", nargs="*", help=f"of {', '.join(STARTS)} (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1], help="(default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=course_file("runs/README.md").parent / "books-start")
    options = parser.parse_args()
    if unknown := set(options.starts) - set(STARTS):
        parser.error(f"a start must be one of {', '.join(STARTS)}; got {', '.join(unknown)}")
    for seed in options.seeds:
        for name in options.starts or STARTS:
            file = f"{name}-seed{seed}.jsonl"
            if not (options.folder / file).is_file():
                log = train(name, seed)
                with replace_files(options.folder, [file]) as draft:
                    (draft / file).write_text("".join(json.dumps(line) + "\n" for line in log))
            measured = [line for line in read_log(options.folder / file) if line["event"] == "evaluation"]
            left = next((line["tokens"] / 1e6 for line in measured if line["mlm_loss"] < BIGRAM_LOSS), None)
            below = f"below a bigram model after {left:.1f} million tokens" if left else "never below a bigram model"
            print(f"{name:14} seed {seed}: {below}; {measured[-1]['mlm_loss']:.2f} nats at the end", flush=True)


def train(name: str, seed: int) -> list[dict]:
    """The log of a run, with each ``train`` line reduced to what a figure needs."""
    with tempfile.TemporaryDirectory() as folder:
        pretrain(PretrainingConfig(**{**SHARED, "seed": seed, "output": folder, **STARTS[name]}))
        log = read_log(Path(folder) / "log.jsonl")
    log[0]["config"]["output"] = f"runs/{name}-seed{seed}"
    return [{key: line[key] for key in KEPT} if line["event"] == "train" else line for line in log]


if __name__ == "__main__":
    main()
