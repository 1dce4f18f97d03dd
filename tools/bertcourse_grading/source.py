"""Homework: the contents of a source notebook, between nbgrader's markers."""

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from bertcourse_homework import engine

NUMBER = re.compile(r'check\("(\d+\.\d+)", (\w+)\)')
MARKER = re.compile(r"^\s*### (BEGIN|END) (SOLUTION|HIDDEN TESTS)\n?", re.MULTILINE)


class SourceExercise(NamedTuple):
    """One coding exercise of a source notebook.

    Attributes:
        number, name: such as "1.2" and "attention".
        solution: source of the cell with stub and solution, without the markers.
        hidden: source of the hidden tests, without the markers.
    """

    number: str
    name: str
    solution: str
    hidden: str


class Source(NamedTuple):
    """A source notebook.

    Attributes:
        setup: source of its first code cell.
        exercises: in order.
    """

    setup: str
    exercises: list[SourceExercise]

    def namespace(self) -> dict[str, Any]:
        """The names that are defined once the setup and all solutions have run."""
        names: dict[str, Any] = {"__name__": "__main__"}
        for code in (self.setup, *(exercise.solution for exercise in self.exercises)):
            exec(compile(code, "homework", "exec"), names)
        return names


def read_source(path: str | os.PathLike) -> Source:
    """Read a source notebook.

    Args:
        path: to notebooks/homework/hwNN/hwNN.ipynb.

    Raises:
        OSError: if it cannot be read.
        ValueError: if a check is not between a solution and its hidden test.

    Source: the course's format, which is nbgrader's: a solution, its check, its hidden test.
    """
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    exercises = []
    for before, cell, after in zip(cells, cells[1:], cells[2:]):
        if not (found := NUMBER.fullmatch(cell.source)):
            continue
        if "### BEGIN SOLUTION" not in before.source or "### BEGIN HIDDEN TESTS" not in after.source:
            raise ValueError(f"{path}: {cell.source} must stand between its solution and its hidden test.")
        exercises.append(SourceExercise(*found.groups(), *(MARKER.sub("", each.source) for each in (before, after))))
    return Source(cells[0].source, exercises)


def record_expected(path: str | os.PathLike) -> Path:
    """Store what the solutions of a source notebook return, for ``Call.equals_stored``.

    Args:
        path: to the source notebook.

    Returns:
        The file that was written, in ``engine.EXPECTED``.

    Raises:
        CheckFailed: if a solution fails a check that does not rely on stored values.

    Source: the course's homework.
    """
    source = read_source(path)
    names = source.namespace()
    with engine.recorded() as values:
        for exercise in source.exercises:
            engine.verify(exercise.number, names[exercise.name])
    target = engine.EXPECTED / f"{Path(path).stem}.json"
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    target.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return target
