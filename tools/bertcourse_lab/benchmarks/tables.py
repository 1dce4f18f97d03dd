"""What the benchmarks share: results as tables for people and as JSON for programs."""

import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from bertcourse.files import replace_files


def table_name(benchmark: str, model_name: str, limit: int | None) -> str:
    """The name of a result's files.

    >>> table_name("wsd", "models/small", limit=6)
    'wsd_small_limit6'
    """
    return f"{benchmark}_{Path(model_name).name}" + (f"_limit{limit}" if limit else "")


def write_table(folder: str | os.PathLike, name: str, result: dict, table: str) -> None:
    """A benchmark's result for programs and for people: FOLDER/NAME.json and FOLDER/NAME.md.

    Args:
        folder: created if it does not exist.
        name: of both files.
        result: anything that JSON can express.
        table: Markdown.
    """
    with replace_files(folder, [f"{name}.json", f"{name}.md"]) as draft:
        (draft / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (draft / f"{name}.md").write_text(table, encoding="utf-8")


def publish(result: dict, table: str, output: str | os.PathLike | None, name: str) -> dict:
    """Write OUTPUT/NAME.json and .md unless ``output`` is None, print the table, and return the result."""
    if output is not None:
        write_table(output, name, result, table)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # a pipe on Windows may have no Δ
    print(table.encode(encoding, errors="replace").decode(encoding))
    return result


def versions() -> dict[str, str]:
    """The versions of what a result depends on."""
    return {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, line by line.

    >>> table_lines(["search", "MRR"], [["BM25", "0.5"]])
    ['| search | MRR |', '|---|---|', '| BM25 | 0.5 |']
    """
    return ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *(f"| {' | '.join(row)} |" for row in rows)]


def band(values: Iterable[float], form: str) -> str:
    """The lowest and the highest of some runs' values, or just one if they look the same.

    >>> band([0.5, 0.25, 0.3], ".1%"), band([5.341, 5.339], ".2f")
    ('25.0% to 50.0%', '5.34')
    """
    values = sorted(values)
    return " to ".join(dict.fromkeys((f"{values[0]:{form}}", f"{values[-1]:{form}}")))


def with_interval(comparison: dict[str, float], digits: int, times: float = 1) -> str:
    """A difference and its bootstrap interval.

    >>> with_interval({"difference": 0.0123, "low": -0.004, "high": 0.03}, digits=1, times=100)
    '+1.2 [-0.4, +3.0]'
    """
    difference, low, high = (f"{times * comparison[name]:+.{digits}f}" for name in ("difference", "low", "high"))
    return f"{difference} [{low}, {high}]"
