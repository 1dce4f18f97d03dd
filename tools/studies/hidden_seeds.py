"""Is any right answer refused because of the numbers that a hidden test draws?

    python tools/studies/hidden_seeds.py 2.5 4.1 --seeds 200
    python tools/studies/hidden_seeds.py                      # all exercises: an hour of CPU

Every submission has its own seed, from which its hidden tests draw their inputs. Here, the hidden test of each exercise
runs with many seeds on the solution and on every right answer in ``tests/wrong_answers``. Prints a line for each answer
that is refused, and how many were tried; exits with 1 if any was refused.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from bertcourse_homework import CheckFailed  # noqa: E402
from bertcourse_homework.engine import EXERCISES  # noqa: E402
from wrong_answers import VARIANTS  # noqa: E402
from wrong_answers.verdicts import answer_of, names_of, source_of  # noqa: E402


def right_answers(number: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each right answer to an exercise: what it is, and a notebook's names with it; the solution comes first."""
    yield "the solution", names_of(number.partition(".")[0])
    for variant in VARIANTS:
        if variant.number == number and variant.says is None:
            yield variant.what, answer_of(variant)[1]


def refusals(number: str, names: dict[str, Any], seeds: range) -> dict[int, str]:
    """The seeds with which the hidden test refuses an answer, and what it says."""
    test, found = compile(source_of(number)[1].hidden, f"hidden test {number}", "exec"), {}
    for seed in seeds:
        os.environ["BERTCOURSE_HIDDEN_SEED"] = str(seed)
        try:
            exec(test, dict(names))
        except CheckFailed as failed:
            found[seed] = str(failed)
        finally:
            plt.close("all")
    return found


def main() -> int:
    """Try all answers to the exercises with all seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exercises", nargs="*", help="such as 2.5 (default: all)")
    parser.add_argument("--seeds", type=int, default=200, help="how many, from 0 (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    answers = refused = 0
    for number in options.exercises or EXERCISES:
        start = time.process_time()
        for what, names in right_answers(number):
            found = refusals(number, names, range(options.seeds))
            answers, refused = answers + 1, refused + bool(found)
            for seed, message in list(found.items())[:1]:
                print(f"{number} {what}: refused with {len(found)} of {options.seeds} seeds, first {seed}: {message}")
        print(f"{number}: {time.process_time() - start:.0f} s of CPU", flush=True)
    print(f"{answers} right answers, {options.seeds} seeds each: {refused} are refused with one of them or more")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
