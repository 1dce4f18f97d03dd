"""How many small changes to the reference solutions do the checks of a homework notice?

    pip install cosmic-ray
    python tools/studies/mutation.py hw01 hw02     # minutes of CPU per homework

Each solution is changed in one place by an operator of cosmic-ray: another arithmetic operator or comparison, another
number, ``and`` for ``or``, True for False, a ``not``, a loop that never runs. The visible check and the hidden test
then judge the mutant as they judge a student's answer. A mutant is

- viable, if its cell still runs and it is not in ``EQUIVALENT``, which lists the changes that leave a right answer
  right;
- killed, if one of the two refuses it, or it never ends;
- a survivor otherwise, which is shown.

Arithmetic is replaced by arithmetic, and comparison by comparison: ``x << 3`` in place of ``x + 3`` would be killed by
its type, and would make the table look better than it is.
"""

import argparse
import contextlib
import io
import re
import signal
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from bertcourse_grading.source import SourceExercise, read_source
from bertcourse_homework import CheckFailed, verify
from bertcourse_homework.engine import NotWritten

HOMEWORK = Path(__file__).parents[2] / "notebooks" / "homework"

GROUPS = {
    "BinaryOperator": (("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"), ("BitOr", "BitAnd", "BitXor")),
    "ComparisonOperator": (("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"), ("Is", "IsNot")),
    "UnaryOperator": (("UAdd", "USub", "Not"), ("Invert", "Not")),
}
OPERATORS = [
    *(f"Replace{kind}_{old}_{new}" for kind, groups in GROUPS.items() for group in groups
      for old, new in product(group, repeat=2) if old != new and (kind, old) != ("UnaryOperator", "Not")),
    *(f"ReplaceUnaryOperator_Delete_{name}" for name in ("USub", "Invert", "Not")),
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "RemoveDecorator", "ZeroIterationForLoop",
]  # fmt: skip

ANY_FIGURE = [
    (r"plt\.subplots\(figsize", "the size of a figure is the student's own"),
    (r"[xy]lim=", "the limits of an axis are the student's own"),
    (r"manual_seed\(", "any seed is right"),
]
EQUIVALENT: dict[str, list[tuple[str, str]]] = {
    "1.6": [(r"\( (199|201), 32\)|\(200, (31|33)\)", "a query or a key more or less in a mean over 200")],
    "2.6": [
        (r"x - torch\.relu", "f is symmetric: its random weights are as likely with the other sign"),
        (r"len\(cosines\) != depth", "the same as < for a list that grows by one"),
        (r"order <= \"post-LN\"|order >= \"pre-LN\"", "the same of two orders as =="),
        (r"order <= \"pre-LN\"", "norm of what is normalized already, but for the first layer, where x is of size 1"),
        (r"dim=\+?1\)", "the last of two axes"),
        (r"randn\( (99|101)", "one word more or less in a mean of 100"),
        (r"/ (63|65|127|129)\*\*0\.5", "a standard deviation that differs by less than 1 %"),
    ],
    "3.2": [
        (r"random\(\) > dropout", "differs from >= only if a random number is exactly the dropout"),
        (r"dropout: float = -1\.0", "a probability below 0 drops nothing, as 0 does"),
        (r"seed: int = (1|-1)", "any seed is right; without dropout it plays no part"),
    ],
    "3.3": [(r"len\(rest\), -1, -1", "an empty piece is in no vocabulary")],
    "3.4": [
        (r"start != 0", "the same as > for numbers from 0"),
        (r"len\(word\) \+ 2", "a slice ends at the end of the word: the last place is found twice"),
    ],
    "4.1": [
        (r"chance <= rate|dice <= 0", "differs from < only if a random number is exactly the limit"),
        (r"dice >=? 0\.9", "of what the 80 % left, the upper half instead of the lower"),
        (r"seed: int = (1|-1)", "any seed is right"),
    ],
    "4.2": [
        (r"labels > -100", "no label is below -100"),
        (r"logsumexp\(\+?1\)", "the last of two axes"),
        (r"squeeze\( ?0\)", "all rows against all columns: the mean of the differences is the same"),
    ],
    "4.3": [
        (r"random\(\) (<=|>|>=) 0\.5|not generator", "the other side of a fair coin"),
        (r"seed: int = (1|-1)", "any seed is right"),
    ],
    "4.4": [(r"place <= 0|len\(row\) != 1", "places are 0 or more, a row has at least [CLS]")],
    "4.5": [
        (r"step <= warmup", "at step warmup both branches give the peak"),
        (r"total - warmup, 2", "with a single step left, the rate is 0 at it"),
    ],
    "4.6": [
        (r"labels > -100", "no label is below -100"),
        (r"special", "there are no special tokens in the rows, and what is read is not looked at"),
        (r"append\( (99|101) ", "1 % of a count, less than chance makes of it"),
    ],
    "5.1": [(r"pooling (<=|>=)", "of three names, first is the smallest and sum the largest")],
    "5.2": [(r"how >=", "of two names, sum is the larger")],
    "5.4": [(r"dim= ?-1", "the last of one axis")],
    "5.5": [(r">= most", "no count is above the largest")],
    "6.3": [
        (r"cumsum\(0\) <= share", "differs from < only if the sum is exactly the share"),
        (r"cumsum\( ?-1\)", "the last of one axis"),
    ],
    "6.4": [(r"spread <= 0", "no spread is below 0")],
    "6.5": [(r"full_matrices=True", "the first directions are the same")],
    "6.6": [(r"rogue_dimensions\(states, (1\.01|-0\.99|0\.01\)\[ ?-1)", "the largest comes first, and alone at 0.01")],
    "7.3": [
        (r'tag < "O"', "no tag but O begins with a letter from O on"),
        (r"place != 0", "the same as > for numbers from 0"),
    ],
    "7.5": [(r"\^ \(length > longest", "no length is both below 1 and too long")],
    "7.6": [(r">= label", "rows are in the order of their classes, and the first n are taken")],
}
"""Exercise to pairs of a pattern, found in the changed line, and the reason why the mutant is a right answer still."""


class TimeUp(BaseException):
    """A mutant runs too long; not an ``Exception``, which a check would take for the student's error."""


class Mutant(NamedTuple):
    """One change.

    Attributes:
        operator: of cosmic-ray.
        source: the whole cell, changed.
        old, new: the changed line, before and after.
    """

    operator: str
    source: str
    old: str
    new: str


def mutants(source: str) -> Iterator[Mutant]:
    """All changes to a cell, each once."""
    tree, seen = get_ast(source), {source}
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        places = sum(len(list(operator.mutation_positions(node))) for node in ast_nodes(tree))
        for occurrence in range(places):
            changed = mutate_code(source, operator, occurrence)
            if changed is None or changed in seen:
                continue
            seen.add(changed)
            old, new = next(two for two in zip(source.splitlines(), changed.splitlines()) if two[0] != two[1])
            yield Mutant(name, changed, old.strip(), new.strip())


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Stop whatever takes more than this many seconds of CPU.

    Raises:
        TimeUp: when time is up.
    """

    def stop(*_: Any) -> None:
        raise TimeUp

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def refused(exercise: SourceExercise, names: dict[str, Any], seconds: float) -> str:
    """What the visible check, or else the hidden test, says about an answer; empty if both let it pass."""
    for test in (
        lambda: verify(exercise.number, names[exercise.name]),
        lambda: exec(exercise.hidden, names),
    ):
        try:
            with (
                cpu_limit(seconds),
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                test()
        except (CheckFailed, NotWritten) as failed:
            return str(failed)
        except TimeUp:
            return "it does not come to an end"
        except Exception as error:
            return f"BADLY: a test raised {type(error).__name__}: {error}"
        finally:
            plt.close("all")
    return ""


def reason_to_exclude(number: str, mutant: Mutant) -> str:
    """Why a mutant is still a right answer; empty if it is not listed."""
    return next((why for pattern, why in ANY_FIGURE + EQUIVALENT.get(number, []) if re.search(pattern, mutant.new)), "")


def judge(notebook: Path, only: str) -> list[tuple[str, int, int, int, int]]:
    """Judge all mutants of a homework, and print those that survive.

    Returns:
        For each exercise, its number and name, and how many mutants there are, how many run, how many are left out as
        equivalent, and how many are killed.
    """
    source, rows = read_source(notebook), []
    solved = source.namespace()
    for exercise in source.exercises:
        if only and exercise.number != only:
            continue
        start = time.process_time()
        if said := refused(exercise, dict(solved), 600):
            sys.exit(f"{exercise.number}: the solution itself is refused: {said}")
        limit = max(3.0, 5 * (time.process_time() - start))
        total = run = excluded = killed = 0
        for mutant in mutants(exercise.solution):
            total += 1
            names = dict(solved)
            try:
                exec(compile(mutant.source, "mutant", "exec"), names)
            except Exception:
                continue  # not viable: the cell itself does not run
            if reason_to_exclude(exercise.number, mutant):
                excluded += 1
                continue
            run += 1
            said = refused(exercise, names, limit)
            killed += bool(said)
            if not said or said.startswith("BADLY"):
                print(
                    f"{exercise.number} {mutant.operator}: {said or 'SURVIVES'}\n    - {mutant.old}\n    + "
                    f"{mutant.new}",
                    flush=True,
                )
        rows.append((f"{exercise.number} {exercise.name}", total, run, excluded, killed))
    return rows


def main() -> None:
    """Judge the named homework, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homework", nargs="+", help="such as hw01")
    parser.add_argument("--only", default="", help="one exercise, such as 1.2")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.homework:
        rows = judge(HOMEWORK / name / f"{name}.ipynb", arguments.only)
        rows.append((f"{name} in all", *map(sum, zip(*(row[1:] for row in rows)))))
        print(f"\n{'':<28}{'mutants':>9}{'equal':>9}{'viable':>9}{'killed':>9}{'share':>9}")
        for title, total, run, excluded, killed in rows:
            print(f"{title:<28}{total:>9}{excluded:>9}{run:>9}{killed:>9}{killed / max(1, run):>9.0%}", flush=True)


if __name__ == "__main__":
    main()
