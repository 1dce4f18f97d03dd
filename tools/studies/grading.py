"""Grade thirty simulated submissions of homework 1: is each reported correctly, and what does a submission cost?

    python tools/studies/grading.py --jobs 2

Each is the solution with one thing done to it, and runs as a student's would: in its own process, which imports PyTorch
itself. Exits with 1 if a report is not as expected. ``tests/bertcourse_grading/test_grading.py`` has more kinds, on an
assignment without PyTorch. What a submission changes in its own process costs and gains nothing: the judge is in
another process.
"""

import argparse
import copy
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bertcourse_grading.course import Assignment, grade_id, read_assignments
from bertcourse_grading.grading import grade
from bertcourse_grading.process import Limits
from bertcourse_grading.reports import as_table

LOOP = "while True:\n    try:\n        while True:\n            pass\n    except KeyboardInterrupt:\n        pass"
MANY = "import os, time\nfor _ in range(6): os.fork()\ntime.sleep(20)"
# What is put before the first answer: the code, whether to review, whether all points are kept, a part of the message.
CODE = {
    "crash": ("import os; os._exit(3)", True, False, "ended its process (exit status 3)"),
    "segfault": ("import ctypes; ctypes.string_at(0)", True, False, "ended its process (SIGSEGV)"),
    "endless": ("while True: pass", False, False, "was stopped"),
    "stubborn": (LOOP, True, False, "could not be interrupted"),
    "allocates-20-gb": ("block = torch.ones(5 * 2**30)", False, False, "asked for more memory"),
    "network": (
        "import urllib.request; urllib.request.urlopen('http://192.0.2.1')",
        True,
        False,
        "tried to reach the network",
    ),
    "writes-outside": ("open('/var/tmp/mine', 'w')", True, False, "tried to write /var/tmp/mine"),
    "deletes-files": ("import os; os.remove({source!r})", True, False, "tried to change"),
    "reads-solution": ("open({source!r}).read()", True, False, "tried to read"),
    "many-processes": (MANY, True, False, "started more than 32 processes"),
    "changes-torch": ("torch.allclose = lambda *a, **k: True", False, True, ""),
    "changes-checks": ("import bertcourse_homework.engine as e; e.Answer.__call__ = None", False, True, ""),
    "redefines-check": ("def check(*a): pass", False, True, ""),
    "megabytes": ("for _ in range(300): print('x' * 10_000)", False, True, ""),
    "stderr": ("import sys; print('careful', file=sys.stderr)", False, True, ""),
    "environment": ("import os; os.environ.clear()", False, True, ""),
    "sleeps": ("import time; time.sleep(2)", False, True, ""),
    "exit": ("def late(): exit()", False, True, ""),
    "raises": ("raise SystemExit", False, False, ""),
    "nothing-odd": ("x = 1", False, True, ""),
}
OTHERS = {  # the same for what is done to the file
    "right": (False, True, ""),
    "unsolved": (False, False, ""),
    "partly": (False, False, ""),
    "tampered-tests": (True, True, "was changed; the original was put back"),
    "missing-cells": (False, True, "was deleted; it was put back"),
    "duplicates": (False, True, "was there twice; the last one counts"),
    "renamed": (False, True, "the file was called"),
    "not-utf-8": (False, True, "not in UTF-8; read as cp1252"),
    "not-a-notebook": (None, False, "not a notebook, but a PDF"),
    "empty": (None, False, "the file is empty"),
}


def write_submissions(folder: Path, assignment: Assignment) -> None:
    """Write the thirty submissions, a folder for each."""
    name, right = assignment.name, assignment.solved
    first = next(
        index
        for index, cell in enumerate(right.cells)
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    )

    def put(student: str, notebook: NotebookNode, file_name: str = f"{name}.ipynb") -> Path:
        (folder / student).mkdir(parents=True)
        nbformat.write(notebook, folder / student / file_name)
        return folder / student / file_name

    for student, (code, *_) in CODE.items():
        notebook = copy.deepcopy(right)
        notebook.cells[
            first
        ].source = (
            f"{code.replace('{source!r}', repr(str(assignment.folder / f'{name}.ipynb')))}\n{right.cells[first].source}"
        )
        put(student, notebook)
    put("right", right)
    put("unsolved", assignment.released)
    partly, tampered, missing, twice = (copy.deepcopy(right) for _ in range(4))
    partly.cells[first].source = assignment.released.cells[first].source
    put("partly", partly)
    tampered.cells[first + 1].source = "None"
    put("tampered-tests", tampered)
    missing.cells = [cell for cell in missing.cells if not (grade_id(cell) or "").endswith("check")]
    put("missing-cells", missing)
    twice.cells.insert(first, copy.deepcopy(twice.cells[first]))
    twice.cells[first]["id"] = "again"
    put("duplicates", twice)
    put("renamed", right, "final (1).ipynb")
    accents = copy.deepcopy(right)
    accents.cells[0].source += "\n\nOù? Là."
    path = put("not-utf-8", accents)
    path.write_bytes(nbformat.writes(accents).encode("cp1252", "replace"))
    put("not-a-notebook", right).write_bytes(b"%PDF-1.7\n\xff\xfe")
    put("empty", right).write_bytes(b"")


def main() -> int:
    """Grade, compare with what is expected, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="submissions at a time (default: %(default)s)")
    parser.add_argument("--cell-seconds", type=float, default=20, help="time of one cell (default: %(default)s)")
    options = parser.parse_args()
    assignment, base = read_assignments(names=["hw01"])["hw01"], Path(tempfile.mkdtemp(prefix="grading-"))
    write_submissions(base / "submissions", assignment)
    start = time.perf_counter()
    results = grade(
        base / "submissions", base / "grading", jobs=options.jobs, limits=Limits(cell_seconds=options.cell_seconds)
    )
    seconds = time.perf_counter() - start
    print(as_table(results))
    expected, unexpected = {**{name: rest for name, (_, *rest) in CODE.items()}, **OTHERS}, []
    for one in results:
        review, all_points, message = expected[one.student]
        status = {None: "not graded", True: "review", False: "graded"}[review]
        has_all = one.points == one.max_points - one.by_hand and one.status != "not graded"
        if (
            (one.status, has_all) != (status, all_points)
            or message not in "\n".join(one.messages)
            or bool(message) != bool(one.messages)
        ):
            unexpected.append(
                f"{one.student}: expected {status}, {'all' if all_points else 'not all'} points, {message!r}"
            )
    plain = sorted(
        one.seconds
        for one in results
        if one.student in ("right", "nothing-odd", "megabytes", "stderr", "environment", "exit", "renamed")
    )
    print(
        f"{len(results)} submissions in {seconds:.0f} s, {seconds / len(results):.1f} s each, "
        f"{options.jobs} at a time, on {os.cpu_count()} cores of {platform.machine()}"
    )
    print(f"the process of one without trouble: {plain[len(plain) // 2]:.1f} s (median of {len(plain)})")
    print("\n".join(["not as expected:", *unexpected]) if unexpected else "all reported as expected")
    shutil.rmtree(base)
    return 1 if unexpected or len(results) != len(expected) else 0


if __name__ == "__main__":
    sys.exit(main())
