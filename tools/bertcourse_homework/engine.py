"""Homework: checks that explain what is wrong with an answer.

The check of an exercise is a function of an ``Answer``: it calls the student's function on inputs and says what must
hold for each ``Call``. The first thing that does not hold is reported in one message: function and input, what was
expected, what came, and the likely cause. A check is written in the order in which mistakes are best found: shapes
first, then properties with a name, then values.

Values are compared as Python numbers, by ``values``' own loop, so that a right answer may be a tensor, an array or
lists, in any precision. An answer need not be in this process: where a submission is graded, its function is a
``Remote``, and only plain values come back from it.
"""

import ast
import contextlib
import copy
import importlib
import io
import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from bertcourse_homework.drawing import Drawing, Line, drawing_of, is_axes
from bertcourse_homework.values import SHOWN, as_plain, described, described_beside, difference, rounded, shape_of

EXPECTED = Path(__file__).parent / "expected"
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"  # ANSI's colours, which JupyterLab shows


class CheckFailed(AssertionError):
    """An answer is not right; the message says what is wrong."""


class NotWritten(Exception):
    """The answer, or another one that it calls, is still a stub; the message is the name of the stub."""


class AnswerRaised(Exception):
    """An answer raised an exception.

    Args:
        kind, message: the exception's type, and what it said.
        place: the line of the student's own code that it came through, "12: x = y"; empty if it is not known.
    """

    def __init__(self, kind: str, message: str, place: str = ""):
        super().__init__(kind, message, place)
        self.kind, self.message, self.place = kind, message, place


class Remote(Protocol):
    """A student's function in another process."""

    def ask(self, arguments: tuple, keywords: dict) -> tuple[Any, tuple]:
        """Call the function.

        Args:
            arguments, keywords: for the call; they are not changed.

        Returns:
            What the function returned, as plain values, and its arguments after the call.

        Raises:
            AnswerRaised: if it raised an exception.
            NotWritten: if it raised ``NotImplementedError``.
        """


class Exercise(NamedTuple):
    """One exercise.

    Attributes:
        number: such as "1.2".
        name: of the function that the student writes.
        points: for the whole exercise, including the tests after handing in.
        check: calls the function and says what must hold.
    """

    number: str
    name: str
    points: int
    check: Callable[["Answer"], None]


EXERCISES: dict[str, Exercise] = {}
PASSED: dict[str, bool] = {}  # what this notebook's checks have said so far


def exercise(number: str, name: str, points: int = 0) -> Callable:
    """A decorator that makes a function the check of an exercise.

    Args:
        number: such as "1.2".
        name: of the function that the student writes.
        points: for the whole exercise.
    """

    def register(check: Callable[["Answer"], None]) -> Callable[["Answer"], None]:
        EXERCISES[number] = Exercise(number, name, points, check)
        return check

    return register


def find_exercise(number: str) -> Exercise:
    """The exercise with the given number.

    Raises:
        ValueError: if there is no such exercise.
    """
    chapter = str(number).partition(".")[0]
    if chapter.isdigit():
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(f"bertcourse_homework.hw{int(chapter):02d}")
    if number not in EXERCISES:
        known = [known for known in EXERCISES if known.partition(".")[0] == chapter] or ["1.1", "1.2", "…"]
        raise ValueError(
            f"check takes the number of an exercise, such as {', '.join(map(repr, known))}; got {number!r}."
        )
    return EXERCISES[number]


def verify(number: str, answer: Callable) -> int:
    """Check an answer, and raise an error if something is wrong with it.

    Args:
        number: of the exercise.
        answer: the student's function.

    Returns:
        How many things were checked.

    Raises:
        CheckFailed: with one message, at the first thing that does not hold.
        NotWritten: if the answer raises ``NotImplementedError``.
        ValueError: if there is no such exercise.
    """
    known = find_exercise(number)
    asked = Answer(known.name, answer, number)
    known.check(asked)
    return asked.checked


def check(number: str, answer: Callable) -> int | None:
    """Check an answer and print one report; a wrong answer never raises an error.

    Args:
        number: of the exercise, such as "1.2".
        answer: the student's function.

    Returns:
        None, except for a wrong answer under nbgrader: then 0, which nbgrader takes as the points of the cell.

    Raises:
        ValueError: if there is no such exercise.
    """
    name = find_exercise(number).name
    try:
        text = f"{number} {name}: right, in all {verify(number, answer)} checks."
        PASSED[number] = True
    except NotWritten as missing:
        called = str(missing) in {each.name for each in EXERCISES.values()} - {name}
        text = f"{number} {name}: {f'it calls {missing}, which is ' if called else ''}not written yet."
        text, PASSED[number] = broken_cell(name) or text, False
    except CheckFailed as failed:
        text, PASSED[number] = f"{number} {failed}{earlier_trouble(number)}", False
    report(number, text)
    return 0 if not PASSED[number] and os.environ.get("NBGRADER_EXECUTION") else None


def report(number: str, text: str) -> None:
    """Print what a check found; in a notebook, with a coloured mark and the points so far."""
    shell = notebook_shell()
    if shell is None or os.environ.get("NBGRADER_EXECUTION"):
        print(text)
        return
    mark = f"{GREEN}✓{PLAIN}" if PASSED[number] else f"{RED}✗{PLAIN}"
    of_chapter = [each for each in EXERCISES.values() if each.number.partition(".")[0] == number.partition(".")[0]]
    right = [each for each in of_chapter if PASSED.get(each.number)]
    points, most = (sum(each.points for each in some) for some in (right, of_chapter))
    print(f"{mark} {text}\n  {len(right)} of {len(of_chapter)} exercises, up to {points} of {most} points so far")


def notebook_shell() -> Any:
    """IPython's shell if this runs in a notebook, otherwise None."""
    found = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return found if hasattr(found, "kernel") else None


def broken_cell(name: str) -> str:
    """What to say if the newest cell that should define a function has a syntax error, so that an older function stays
    in place; empty if it has none."""
    shell = notebook_shell()
    cells = [cell for cell in shell.user_ns.get("In", []) if f"def {name}(" in cell] if shell is not None else []
    try:
        ast.parse(cells[-1] if cells else "")
    except SyntaxError as error:
        return f"{name}: its cell has a syntax error in line {error.lineno} ({error.msg}), so it defines nothing."
    return ""


def earlier_trouble(number: str) -> str:
    """What to add to a message if earlier exercises, which this one may call, are not right."""
    if notebook_shell() is None:  # in the judge, the reference stands in for them
        return ""
    chapter = number.partition(".")[0]
    wrong = [
        each for each, passed in PASSED.items() if not passed and each.partition(".")[0] == chapter and each < number
    ]
    return f"\n  first      {', '.join(wrong)}, if this answer calls it: its check does not pass" if wrong else ""


def hidden_seed() -> int:
    """The seed for drawing the inputs of hidden tests: different for each submission, and stored with its result.

    The judge sets it (``BERTCOURSE_HIDDEN_SEED``); without a judge, as under ``nbgrader autograde``, it is 0.
    """
    return int(os.environ.get("BERTCOURSE_HIDDEN_SEED", "0"))


class Answer:
    """A student's function, to be called by a check.

    Args:
        name: of the function, for messages.
        function: the function itself.
        number: of the exercise; its stored values are found by it.

    Raises:
        CheckFailed: if it is not a function.
    """

    def __init__(self, name: str, function: Callable, number: str = ""):
        self.name, self.function, self.number, self.checked = name, function, number, 0
        if not callable(function):
            raise CheckFailed(
                f"{name}: hand over the function itself.\n  expected  a function\n  got       {described(function)}"
                f"\n  likely    check({number!r}, {name}) has no parentheses after {name}"
            )

    def __call__(self, *arguments: Any, **keywords: Any) -> "Call":
        """Call the function on copies of the arguments, hiding its warnings.

        Raises:
            CheckFailed: if it raises an exception, or changes an argument.
            NotWritten: if it raises ``NotImplementedError``.
        """
        inputs = [*map(described, arguments), *(f"{name}={described(value)}" for name, value in keywords.items())]
        text = f"{self.name}({', '.join(inputs)})"
        ask = getattr(self.function, "ask", None) or self.ask_here
        try:
            value, after = ask(arguments, keywords)
        except AnswerRaised as raised:
            first = raised.message.strip().partition("\n")[0]
            place = f"\n  in line   {raised.place}" if raised.place else ""
            raise CheckFailed(f"{self.name} raised {raised.kind}: {first}\n  input     {text}{place}") from None
        call = Call(self, text, value)
        if difference(as_plain(list(arguments)), as_plain(list(after)), 0.0):
            call.fail(
                "it changes its argument", "", "", "work on a copy: x = x.clone(), or x = x + 1 in place of x += 1"
            )
        return call

    def ask_here(self, arguments: tuple, keywords: dict) -> tuple[Any, tuple]:
        """Do what ``Remote.ask`` does, but in this process, hiding the answer's warnings."""
        given = copy.deepcopy((arguments, keywords))
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                value = self.function(*given[0], **given[1])
            return (drawing_of(value) if is_axes(value) else value), given[0]
        except NotImplementedError as error:
            raised_in = traceback.extract_tb(error.__traceback__)[-1].name
            raise NotWritten(raised_in) from None
        except Exception as error:
            raise AnswerRaised(type(error).__name__, str(error), place_of(error)) from None


class Call:
    """The result of one call of an answer.

    Args:
        answer: the answer that was called.
        text: how messages show the call.
        value: what the call returned.
    """

    def __init__(self, answer: Answer, text: str, value: Any):
        self.answer, self.text, self.value = answer, text, value

    def _ipython_display_(self) -> None:
        """Show nothing: nbgrader would take the value shown by a cell that ends with a test for points."""

    def __getitem__(self, index: int) -> "Call":
        """One of several returned values.

        Raises:
            CheckFailed: if there are too few.
        """
        if not isinstance(self.value, tuple | list) or not -len(self.value) <= index < len(self.value):
            self.fail(
                "it must return several values",
                f"a tuple of at least {index + 1}",
                described(self.value),
                "return a, b",
            )
        return Call(self.answer, f"{self.text}[{index}]", self.value[index])

    def has_shape(self, *shape: int, cause: str = "") -> "Call":
        """Check that the value is an array of the given shape.

        Returns:
            The call, with a tensor as its value.

        Raises:
            CheckFailed: if it is not.
        """
        self.answer.checked += 1
        if (found := shape_of(self.value)) is None:
            self.fail(
                "not an array",
                f"a tensor of shape {shape}",
                described(self.value),
                cause or "does it return its result?",
            )
        if found != shape:
            self.fail("wrong shape", f"shape {shape}", f"shape {found}", cause)
        value = self.value if isinstance(self.value, Tensor) else torch.as_tensor(as_plain(self.value))
        return Call(self.answer, self.text, value)

    def is_a(self, kind: type, cause: str = "", name: str = "") -> "Call":
        """Check that the value has a type.

        Args:
            kind: the type.
            cause: what is likely wrong if it does not.
            name: what students call such a value, if not by the type's name.

        Raises:
            CheckFailed: if it does not.
        """
        self.answer.checked += 1
        if not isinstance(self.value, kind):
            wanted = name or kind.__name__
            self.fail("wrong type", wanted, described(self.value), cause or "does it return its result?")
        return self

    def holds(self, what: str, condition: Callable[[Any], Any], cause: str = "") -> "Call":
        """Check that a property holds.

        Args:
            what: must hold, in words: "each row sums to 1".
            condition: takes the returned value; gives a truth value, or a tensor that must be true everywhere.
            cause: what is likely wrong if it does not hold.

        Raises:
            CheckFailed: if it does not hold, or cannot be tested on such a value.
        """
        self.answer.checked += 1
        try:
            result = condition(torch.as_tensor(self.value) if isinstance(self.value, np.ndarray) else self.value)
            is_true = bool(result.all()) if isinstance(result, Tensor) else bool(result)
        except Exception as error:
            self.fail(
                f"does not hold: {what}",
                what,
                f"{described(self.value)}, of which this cannot be asked ({error})",
                cause,
            )
        if not is_true:
            self.fail(f"does not hold: {what}", what, described(self.value), cause)
        return self

    def equals(
        self, expected: Any, cause: str = "", tolerance: float = 1e-4, mistakes: Mapping[str, Any] | None = None
    ) -> "Call":
        """Check that the value is the expected one, up to rounding.

        Args:
            expected: numbers, text, or lists, tuples and dictionaries of them; arrays count as lists.
            cause: what is likely wrong if it is not.
            tolerance: the largest difference between two numbers, absolute or relative.
            mistakes: causes, with the values that reveal them.

        Raises:
            CheckFailed: if it is not.
        """
        self.answer.checked += 1
        expected, got = as_plain(expected), as_plain(self.value)
        if not (wrong := difference(expected, got, tolerance)):
            return self
        for known, value in (mistakes or {}).items():
            if not difference(as_plain(value), got, tolerance):
                cause = known
        where, wanted, came = wrong
        if where == "shape":
            small = all(math.prod(shape_of(value)) <= SHOWN for value in (expected, got))
            texts = [f": {described(value)}" if small else "" for value in (expected, got)]
            self.fail("wrong shape", wanted + texts[0], came + texts[1], cause)
        if shape_of(expected) is not None and math.prod(shape_of(expected)) > SHOWN:
            self.fail(f"wrong value at {where}", wanted, came, cause)
        first = f", first at {where}" if where else ""
        self.fail(f"wrong value{first}", *described_beside(expected, self.value), cause)
        return None

    def equals_stored(
        self, name: str, cause: str = "", tolerance: float = 1e-4, mistakes: Mapping[str, Any] | None = None
    ) -> "Call":
        """Check that the value is the one stored for the reference solution; see ``recorded``.

        Args:
            name: of the value, within the exercise.
            cause, tolerance, mistakes: as for ``equals``.

        Raises:
            CheckFailed: if it is not.
        """
        number = self.answer.number
        if RECORD is not None:
            RECORD[f"{number} {name}"] = rounded(as_plain(self.value))
            return self
        path = EXPECTED / f"hw{int(number.partition('.')[0]):02d}.json"
        return self.equals(json.loads(path.read_text(encoding="utf-8"))[f"{number} {name}"], cause, tolerance, mistakes)

    def is_plot(self, number: int, lines: str, xs: Sequence[float], each: str, drawing: str) -> "Call":
        """Check that the value is the axes of a plot with enough lines over all the places, labels and a legend.

        Args:
            number: of lines, at least.
            lines: what the lines are, as a hint if some are missing.
            xs: where each line has its points.
            each: what one such place is.
            drawing: the plotting call, as a hint if points are missing.

        Raises:
            CheckFailed: at the first thing that does not hold.
        """
        self.is_a(Drawing, "end with: return axes", "matplotlib's axes")
        self.holds(f"there are {number} lines", lambda drawn: len(drawn.lines) >= number, lines)
        self.holds(
            f"{number} lines have a point for each {each}",
            lambda drawn: len(drawn.over(xs, number)) == number,
            drawing,
        )
        labels = "axes.set_xlabel, axes.set_ylabel, with units"
        self.holds("both axes are labelled", lambda drawn: drawn.xlabel and drawn.ylabel, labels)
        legend = "axes.plot(…, label=…), then axes.legend()"
        return self.holds("there is a legend", lambda drawn: drawn.legend, legend)

    def draws(
        self,
        what: str,
        line: Callable[[Drawing], Sequence[float]],
        expected: Sequence[float],
        within: float,
        cause: str = "",
        mistakes: Mapping[str, Sequence[float]] | None = None,
    ) -> "Call":
        """Check that a line of the plot has the expected values.

        Args:
            what: the name of the line, for messages.
            line: takes the drawing and returns the line's values.
            expected: what the values must be, up to ``within``.
            within: the tolerance, in units of the axis.
            cause: what is likely wrong if they are not.
            mistakes: causes, with the lines that reveal them; if several fit, the nearest counts.

        Raises:
            CheckFailed: if they are not.
        """
        self.answer.checked += 1
        got = list(line(self.value))

        def distance(values: Sequence[float]) -> float:
            return max(abs(a - b) for a, b in zip(got, values, strict=True))

        if distance(expected) <= within:
            return self
        distances = {known: distance(values) for known, values in (mistakes or {}).items()}
        nearest = min(distances, key=distances.__getitem__, default=None)
        likely = nearest if nearest is not None and distances[nearest] <= within else cause
        self.fail(f"wrong line: {what}", f"{described([*expected])}, up to {within}", described(got), likely)
        return None

    def has_names(self, lines: Callable[[Drawing], Sequence[Line]], words: Sequence[str]) -> "Call":
        """Check that no line of the plot has the name of another.

        Args:
            lines: takes the drawing and returns its lines.
            words: one word of each line's name, in lower case; the name may lack it if no other line's name has it.

        Raises:
            CheckFailed: if one has.
        """
        names = [line.label.lower() for line in lines(self.value)]
        for name, word in zip(names, words):
            self.holds(
                f"the line called {word!r} is the one with its values",
                lambda _, name=name, word=word: word in name or not any(word in other for other in names),
                "names in the legend are exchanged: give each line its own, axes.plot(…, label=…), in the order of the "
                "lines",
            )
        return self

    def fail(self, what: str, expected: str, got: str, cause: str) -> None:
        """Say what is wrong.

        Raises:
            CheckFailed: always.
        """
        lines = [("input", self.text), ("expected", expected), ("got", got), ("likely", cause)]
        raise CheckFailed("\n".join([f"{self.answer.name}: {what}.", *(f"  {k:<9} {v}" for k, v in lines if v)]))


RECORD: dict[str, Any] | None = None


@contextlib.contextmanager
def recorded() -> Iterator[dict[str, Any]]:
    """Inside the block, ``equals_stored`` stores values in the dictionary instead of comparing; for authors of homework
    only."""
    global RECORD
    RECORD = {}
    try:
        yield RECORD
    finally:
        RECORD = None


def random(*shape: int, seed: int) -> Tensor:
    """Normally distributed random numbers, the same each time for the same seed; float32."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def place_of(error: BaseException) -> str:
    """The last line of the student's own code that an error came through, "12: x = y"; empty if it is not known."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)[1:] if "site-packages" not in frame.filename]
    return f"{frames[-1].lineno}: {frames[-1].line}" if frames and frames[-1].line else ""
