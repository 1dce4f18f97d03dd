"""How fast each recipe trains, side by side: the arms take turns, in one process and on one thread.

    BERTCOURSE_DATA=FOLDER python tools/studies/recipe_speeds.py     # ten minutes of one core; let nothing else run

The result is how many tokens each arm reads in the time that ``bert`` takes for one: the median over rounds, in each of
which all arms take three steps, in a new order. A step is that of chapter 4's loop, including making its batch.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from recipes import ARMS, DATA, settings_of
from torch import nn

from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse.files import replace_files
from bertcourse.pretraining import Corpus, Vocabulary
from bertcourse_lab.pretraining.batches import Batches, RowMaker
from bertcourse_lab.pretraining.recipes import Recipe
from bertcourse_lab.pretraining.shards import books_corpus

BASELINE, STEPS, HALFWAY = "bert", 3, 0.5


def stepper(recipe: Recipe, corpus: Corpus) -> Callable[[], int]:
    """A function that trains a new model of this recipe for one step, and returns how many tokens it read."""
    config, parts = settings_of("screen", recipe, 0, Path()), recipe.parts()
    vocabulary, rows = Vocabulary.of(corpus.tokenizer), RowMaker(config.packing, config.short_rate)
    batches = Batches(
        corpus.train, vocabulary, rows, config.batch_size, 1, 0, config.static_copies, parts.mask,
        mask_share=config.mask_share, random_share=config.random_share,
    )  # fmt: skip
    model = parts.new_model(config, vocabulary.size, corpus.train).train()
    optimizer, loss_of = parts.new_optimizer(model, config), parts.loss(model)

    def step() -> int:
        ((masked, read),) = batches.next_batch(config.length_at(HALFWAY), 0, 1, config.mask_rate_at(HALFWAY))
        sum(loss_of(masked, read)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return read.num_tokens

    return step


def seconds_per_token(steps: dict[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """The seconds per token of each arm, round by round; the first round is not counted."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    order, chance = list(steps), random.Random(0)
    for number in range(rounds + 1):
        chance.shuffle(order)
        for name in order:
            start = time.perf_counter()
            tokens = sum(steps[name]() for _ in range(STEPS))
            if number:
                found[name].append((time.perf_counter() - start) / tokens)
    return found


def ratios(found: dict[str, list[float]]) -> dict[str, float]:
    """How many tokens each arm reads in the time that the baseline takes for one: the median over the rounds.

    >>> ratios({"bert": [1, 2, 3], "slow": [2, 4, 6.6]})
    {'bert': 1.0, 'slow': 0.5}
    """
    return {
        name: round(statistics.median(b / own for b, own in zip(found[BASELINE], seconds)), 3)
        for name, seconds in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25, help="(default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus = books_corpus(read_tokenizer(open_folder("course")))
    found = seconds_per_token({arm: stepper(recipe, corpus) for arm, recipe in ARMS.items()}, options.rounds)
    speed = 1 / statistics.median(found[BASELINE])
    result = {"rounds": options.rounds, f"{BASELINE}_tokens_per_second": round(speed), "speeds": ratios(found)}
    with replace_files(DATA, ["speeds.json"]) as draft:
        (draft / "speeds.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
