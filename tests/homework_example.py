"""A small course to try release and grading on: two assignments in the homework's format, checks that need no torch,
and submissions.
"""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).parent.parent
KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CHECKS = '''
class CheckFailed(Exception):
    """One message."""

KNOWN = {"1.1": ([1, 2], [2, 4]), "1.2": ([1, 2, 6], 3)}

def check(name, answer):
    given, wanted = KNOWN[name]
    try:
        got = answer(given)
    except NotImplementedError:
        print(f"{name}: not written yet.")
        return 0
    except Exception as error:
        print(f"{name}: raised {type(error).__name__}: {error}")
        return 0
    if got != wanted:
        print(f"{name}: expected {wanted}, got {got}")
        return 0
    print(f"{name}: right.")
'''
SETUP = "from example_checks import CheckFailed, check"
DOUBLED = '''def doubled(values: list) -> list:
    """Twice each value."""
    ### BEGIN SOLUTION
    twice_of_each_value = [2 * value for value in values]
    return twice_of_each_value
    ### END SOLUTION'''
MEAN = '''def mean(values: list) -> float:
    """The mean."""
    ### BEGIN SOLUTION
    sum_of_all_values = sum(values)
    return sum_of_all_values / len(values)
    ### END SOLUTION'''
HIDDEN_DOUBLED = """# 1.1 is tested once more when you hand in, on inputs that you do not see.
### BEGIN HIDDEN TESTS
if doubled([7, -3]) != [14, -6]:
    raise CheckFailed("1.1 doubled([7, -3]) is wrong")
### END HIDDEN TESTS"""
HIDDEN_MEAN = """# 1.2 is tested once more when you hand in, on inputs that you do not see.
### BEGIN HIDDEN TESTS
if mean([10, 20, 60]) != 30:
    raise CheckFailed("1.2 mean([10, 20, 60]) is wrong")
### END HIDDEN TESTS"""
WRITTEN = """### BEGIN SOLUTION
The model answer of the written question.
### END SOLUTION"""


def named(
    cell: NotebookNode, name: str, points: float | None = None, solution: bool = False, locked: bool = False
) -> NotebookNode:
    """A cell with nbgrader's metadata."""
    about = {
        "grade": points is not None,
        "grade_id": name,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    cell.metadata["nbgrader"] = about | ({} if points is None else {"points": points})
    cell["id"] = name.replace(".", "-")
    return cell


def source_notebook(setup: str = SETUP, number: int = 1) -> NotebookNode:
    """The assignment with its solutions."""
    name = f"hw{number:02}"
    cells = [
        new_markdown_cell("# A small assignment", id="title"),
        named(new_code_cell(setup), "setup", locked=True),
        new_markdown_cell("## 1.1 Doubled", id="about-1"),
        named(new_code_cell(DOUBLED), f"{name}-1-doubled", solution=True),
        named(new_code_cell('check("1.1", doubled)'), f"{name}-1-check", 1, locked=True),
        named(new_code_cell(HIDDEN_DOUBLED), f"{name}-1-hidden", 2, locked=True),
        new_markdown_cell("## 1.2 Mean", id="about-2"),
        named(new_code_cell(MEAN), f"{name}-2-mean", solution=True),
        named(new_code_cell('check("1.2", mean)'), f"{name}-2-check", 1, locked=True),
        named(new_code_cell(HIDDEN_MEAN), f"{name}-2-hidden", 2, locked=True),
        new_markdown_cell("## 1.3 In your words", id="about-3"),
        named(new_markdown_cell(WRITTEN), f"{name}-written", 3, solution=True),
    ]
    return new_notebook(cells=cells, metadata=copy.deepcopy(KERNEL))


def make_course(folder: Path, torch: bool = False) -> Path:
    """Write the sources of a course; ``torch``: a second assignment whose setup imports it."""
    for number, setup in [(1, SETUP)] + [(2, "import torch\n" + SETUP)] * torch:
        (folder / f"hw{number:02}").mkdir(parents=True)
        nbformat.write(source_notebook(setup, number), folder / f"hw{number:02}" / f"hw{number:02}.ipynb")
    shutil.copy(ROOT / "notebooks" / "homework" / "nbgrader_config.py", folder)
    return folder


def make_checks(folder: Path) -> Path:
    """Write the module that the assignments import."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "example_checks.py").write_text(CHECKS, encoding="utf-8")
    return folder


RIGHT = {
    "doubled": "def doubled(values):\n    return [2 * v for v in values]",
    "mean": "def mean(values):\n    return sum(values) / len(values)",
}


def answered(released: NotebookNode, **answers: str) -> NotebookNode:
    """The released notebook with answers in its solution cells, by the end of their names."""
    notebook = copy.deepcopy(released)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "").rpartition("-")[2]
        if name in answers:
            cell.source = answers[name]
    return notebook


def cell_of(notebook: NotebookNode, end: str) -> NotebookNode:
    """The cell whose name ends so."""
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id", "").endswith(end))


LOOP_THAT_STAYS = """while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass"""
MANY_PROCESSES = """import os, time
for _ in range(6):
    os.fork()
time.sleep(20)"""
LEFT_BEHIND = """import os, subprocess
child = subprocess.Popen(["sleep", "299.75"], start_new_session=True)
"""
PRINTS_FOR_EVER = """import threading, time
get_ipython().kernel._publish_status_and_flush = lambda *arguments, **options: None
def for_ever():
    while True:
        print("again")
        time.sleep(0.1)
threading.Thread(target=for_ever, daemon=True).start()
"""
LOCAL_SOCKET = '''import os
program = """import socket
server = socket.socket(socket.AF_UNIX)
server.bind("here")
server.listen()
try:
    socket.socket(socket.AF_UNIX).connect("here")
except PermissionError:
    open("refused", "w")
"""
os.system(f"python3 -c '{program}'")
assert os.path.exists("refused")
'''
SHARED_MEMORY = """import mmap, time
block, zeros = mmap.mmap(-1, 2**30), bytes(2**24)
for _ in range(64):
    block.write(zeros)
time.sleep(60)  # until the watcher has seen it, or the cell's time is over"""


def write_submissions(folder: Path, course: Path, outside: Path, torch: bool = True) -> None:
    """Write the simulated submissions, a folder for each kind.

    Args:
        folder: for them.
        course: the sources.
        outside: a file that is none of a submission's business; some try to change or delete it.
        torch: whether the course has the assignment with torch.
    """
    from bertcourse_grading.course import read_assignments

    released = read_assignments(course)["hw01"].released
    right = answered(released, **RIGHT)

    def put(student: str, notebook: NotebookNode, name: str = "hw01.ipynb") -> Path:
        (folder / student).mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / student / name)
        return folder / student / name

    def put_bytes(student: str, content: bytes) -> None:
        (folder / student).mkdir(parents=True, exist_ok=True)
        (folder / student / "hw01.ipynb").write_bytes(content)

    def put_code(student: str, code: str, mean: str = RIGHT["mean"]) -> None:
        """A first answer that does something, a second one that is right."""
        put(student, answered(released, doubled=code, mean=mean))

    def changed(notebook: NotebookNode = right) -> NotebookNode:
        return copy.deepcopy(notebook)

    within = RIGHT["doubled"].replace("return", "{}\n    return")
    put("right", answered(right, written="Because it halves the work."))
    put("partly", answered(right, mean="def mean(values):\n    return 7"))
    put(
        "wrong",
        answered(right, doubled="def doubled(values):\n    return values", mean="def mean(values):\n    return 0"),
    )
    put("unsolved", released)
    put_code("syntax-error", "def doubled(values)\n    return values")
    put_code("exit-in-function", within.format("import os; os._exit(3)"))
    put_code("segfault", "import ctypes\nctypes.string_at(0)")
    put_code("kills-itself", "import os\nos.kill(os.getpid(), 9)")
    put_code("endless", "while True: pass")
    put_code("endless-in-function", within.format("while len(values) < 9: pass"))
    put_code("stubborn", LOOP_THAT_STAYS)
    put_code("twenty-gigabytes", "block = bytearray(20 * 2**30)")
    put_code("shared-memory", SHARED_MEMORY)
    put_code("network", "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/answers')")
    put_code("network-by-socket", "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)")
    put_code(
        "network-by-program",
        "import os\nos.system('python3 -c \"import socket; socket.socket()\" || touch refused')\n"
        f"assert os.path.exists('refused')\n{RIGHT['doubled']}",
    )
    put_code("local-socket-by-program", LOCAL_SOCKET + RIGHT["doubled"])
    put_code("writes-outside", f"open({str(outside)!r}, 'w').write('mine')")
    put_code("writes-by-program", f"import os\nos.system('echo mine > {outside}')\n{RIGHT['doubled']}")
    put_code("deletes-files", f"import os\nos.remove({str(outside)!r})")
    put_code("reads-solution", f"print(open({str(course / 'hw01' / 'hw01.ipynb')!r}).read())")
    put_code("signals-grader", "import os\nos.kill(os.getppid(), 15)")
    put_code("many-processes", MANY_PROCESSES)
    put_code("leaves-process", LEFT_BEHIND + RIGHT["doubled"])
    put_code(
        "writes-inside",
        f"open('notes.txt', 'w').write('mine')\nimport tempfile; tempfile.TemporaryFile()\n{RIGHT['doubled']}",
    )
    put_code("environment", f"import os\nos.environ.clear(); os.chdir('/')\n{RIGHT['doubled']}")
    put_code("system-exit", RIGHT["doubled"] + "\nraise SystemExit")
    put_code("exit", RIGHT["doubled"] + "\nexit()")
    put_code("sleeps", RIGHT["doubled"] + "\nimport time; time.sleep(0.3)")
    put_code("megabytes", RIGHT["doubled"] + "\nfor _ in range(300): print('x' * 10_000)")
    put_code("stderr", RIGHT["doubled"] + "\nimport sys; print('careful', file=sys.stderr)")
    put_code("stderr-in-function", within.format("import sys; print('careful', file=sys.stderr)"))
    put_code("redefines-check", "def check(*arguments): pass\ndef doubled(values): return values")
    put_code(
        "changes-check", "check.__code__ = (lambda name, answer: None).__code__\ndef doubled(values): return values"
    )
    put_code(
        "too-many-points",
        "from IPython import get_ipython\ndoubled = lambda values: values\n"
        "visit = lambda self, tree: __import__('ast').parse('99')\n"
        "get_ipython().ast_transformers.append(type('T', (), {'visit': visit})())",
    )
    put_code("result-of-its-own", "def doubled(values):\n    __import__('sys').displayhook('x')\n    return values")
    put_code(
        "hides-the-result",
        "def doubled(values):\n    __import__('sys').displayhook = lambda value: None\n    return values",
    )
    put_code(
        "clears-the-error",
        "def cleared(result):\n    from IPython.display import clear_output\n    clear_output()\n    "
        "result.error_in_exec = None\n"
        "def doubled(values):\n    get_ipython().events.register('post_run_cell', cleared)\n    return values",
    )
    put_code(
        "replaces-the-kernel",
        "async def fake(*arguments, **options):\n"
        "    return {'status': 'ok', 'execution_count': 1, 'payload': [], 'user_expressions': {}}\n"
        "get_ipython().kernel.do_execute = fake",
        mean="mean = None",
    )
    put_code(
        "names-of-its-own",
        "import random as CheckFailed\nsum = 0\n" + RIGHT["doubled"],
        "def mean(values):\n    return 3 if len(values) == 3 and values[0] == 1 else 30",
    )
    put_code("huge-result", RIGHT["doubled"] + "\n'x' * 10**7")
    put_code("prints-for-ever", PRINTS_FOR_EVER + RIGHT["doubled"])
    tags = json.loads(nbformat.writes(right))
    tags["cells"][2]["metadata"] |= {"tags": ["a", "a", "b,c", 3], "collapsed": "true", "name": ""}
    put_bytes("broken-metadata", json.dumps(tags).encode())
    put_bytes("no-worksheets", b'{"nbformat": 4, "worksheets": []}')

    tampered = changed()
    cell_of(tampered, "1-check").source = "1"
    cell_of(tampered, "1-doubled").source = "def doubled(values): return values"
    put("tampered-check", tampered)
    richer = changed()
    cell_of(richer, "1-check").metadata["nbgrader"]["points"] = 100
    put("tampered-points", richer)
    missing = changed()
    missing.cells = [cell for cell in missing.cells if not grade_name(cell).endswith(("check", "hidden"))]
    put("missing-checks", missing)
    no_answer = changed()
    no_answer.cells.remove(cell_of(no_answer, "1-doubled"))
    put("missing-answer", no_answer)
    bare = changed()
    bare.cells = [cell for cell in bare.cells if grade_name(cell) != "setup"]
    for cell in bare.cells:
        cell.metadata.pop("nbgrader", None)
    put("no-metadata", bare)
    twice = changed()
    twice.cells[5:5] = [copy.deepcopy(cell_of(twice, "1-doubled")), copy.deepcopy(cell_of(twice, "1-check"))]
    for number, cell in enumerate(twice.cells):
        cell["id"] = f"cell-{number}"
    put("duplicates", twice)
    put("renamed", right, "my final version (2).ipynb")
    kernel = changed()
    kernel.metadata = {
        "kernelspec": {"name": "ir", "language": "R", "display_name": "R"},
        "language_info": {"name": "R"},
    }
    put("kernel-of-r", kernel)
    old = changed()
    old.metadata["language_info"] = {"name": "python", "version": "2.7.18"}
    put("python-2", old)
    accents = answered(right, written="Où? Là.")
    put_bytes("windows-encoding", nbformat.writes(accents).encode("cp1252"))
    put_bytes("utf-16", nbformat.writes(accents).encode("utf-16"))
    put_bytes("empty", b"")
    put_bytes("a-pdf", b"%PDF-1.7\n\xff\xfe\x00 not a notebook")
    put_bytes("cut-off", nbformat.writes(right).encode()[:700])
    put_odd_files(folder, put, right)
    slow = f"import time\ntime.sleep(1.5)\n{RIGHT['mean']}"
    loop = "import asyncio, os\nasyncio.get_event_loop().call_later(1, os._exit, 3)\n"
    put_code("timer-in-loop", loop + RIGHT["doubled"], slow)
    thread = "import os, threading\nthreading.Timer(1, os._exit, [3]).start()\n"
    put_code("timer-in-thread", thread + RIGHT["doubled"], slow)
    put_code("timer-in-function", within.format("exec(" + repr(thread) + ")"), slow)
    if torch:
        with_torch = read_assignments(course)["hw02"].released
        code = "torch.allclose = lambda *arguments, **options: True\ndef doubled(values): return values"
        put("changes-torch", answered(with_torch, doubled=code, mean=RIGHT["mean"]), "hw02.ipynb")


def put_odd_files(folder: Path, put: Callable[[str, NotebookNode], Path], right: NotebookNode) -> None:
    """Files that are large, deep or nonsense: a notebook each, or what lies beside one."""
    with open(put("sparse-notebook", right), "r+b") as file:
        file.truncate(3 * 2**30)
    with open(put("sparse-beside", right).with_name("table.csv"), "wb") as file:
        file.truncate(3 * 2**30)
    nested = json.loads(nbformat.writes(right))
    nested["metadata"]["deep"] = "DEEP"
    text = json.dumps(nested).replace('"DEEP"', "[" * 100_000 + "]" * 100_000)
    put("deep-json", right).write_text(text, encoding="utf-8")
    attached = copy.deepcopy(right)
    attached.cells[0]["attachments"] = {"a.png": {"image/png": "DEEP"}}
    text = nbformat.writes(attached).replace('"DEEP"', "[" * 300 + "]" * 300)
    put("deep-attachment", right).write_text(text, encoding="utf-8")
    cell = '{"cell_type": "code", "source": "", "metadata": {}}'
    many = f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": [{", ".join([cell] * 10**5)}]}}'
    put("many-cells", right).write_text(many, encoding="utf-8")
    huge = copy.deepcopy(right)
    huge.cells[0].source = "x" * 10**7
    put("huge-cell", huge)
    for kind, stamp in TIMESTAMPS.items():
        put(f"timestamp-{kind}", right).with_name("timestamp.txt").write_bytes(stamp)


TIMESTAMPS = {
    "binary": bytes(range(256)),
    "huge": b"2026-01-01 " * 10**6,
    "nonsense": b"last Tuesday, honestly",
    "far": b"99999-01-01 00:00:00 UTC",
}


def grade_name(cell: NotebookNode) -> str:
    """nbgrader's name of a cell, or nothing."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


# Of each kind: its status, its points, and a part of the message it must have; all others have full points and no
# message.
LINUX_ONLY = {
    "twenty-gigabytes",
    "shared-memory",
    "network-by-program",
    "local-socket-by-program",
    "writes-by-program",
    "signals-grader",
    "many-processes",
    "leaves-process",
}
VERDICTS = {
    "right": ("graded", 6, ""),
    "partly": ("graded", 3, ""),
    "wrong": ("graded", 0, ""),
    "unsolved": ("graded", 0, ""),
    "syntax-error": ("graded", 3, ""),
    "exit-in-function": (
        "review",
        3,
        "cell hw01-1-check ended its process (exit status 3); the notebook was run again without it",
    ),
    "segfault": ("review", 3, "cell hw01-1-doubled ended its process (SIGSEGV)"),
    "kills-itself": ("review", 3, "cell hw01-1-doubled ended its process (SIGKILL)"),
    "endless": ("graded", 3, "cell hw01-1-doubled ran for more than 6 s and was stopped"),
    "endless-in-function": ("graded", 3, "cell hw01-1-hidden ran for more than 6 s and was stopped"),
    "stubborn": ("review", 3, "cell hw01-1-doubled ran for more than 6 s and could not be interrupted"),
    "twenty-gigabytes": ("graded", 3, "cell hw01-1-doubled asked for more memory than the 0.5 GiB there are"),
    "shared-memory": ("review", 3, "cell hw01-1-doubled needed more than 0.5 GiB of memory"),
    "network": ("review", 3, "it tried to reach the network ('192.0.2.1')"),
    "network-by-socket": ("review", 3, "it tried to reach the network ('192.0.2.1')"),
    "network-by-program": ("graded", 6, ""),
    "local-socket-by-program": ("graded", 6, ""),
    "writes-outside": ("review", 3, "it tried to write "),
    "writes-by-program": ("graded", 6, ""),
    "deletes-files": ("review", 3, "it tried to change "),
    "reads-solution": ("review", 3, "it tried to read "),
    "signals-grader": ("review", 3, "it tried to send a signal to process "),
    "many-processes": ("review", 3, "cell hw01-1-doubled started more than 16 processes"),
    "leaves-process": ("graded", 6, ""),
    "writes-inside": ("graded", 6, ""),
    "environment": ("graded", 6, ""),
    "system-exit": ("graded", 6, ""),
    "exit": ("graded", 6, ""),
    "sleeps": ("graded", 6, ""),
    "megabytes": ("graded", 6, ""),
    "stderr": ("graded", 6, ""),
    "stderr-in-function": ("graded", 6, ""),
    "redefines-check": ("graded", 3, ""),
    "changes-check": ("graded", 3, ""),
    "too-many-points": ("graded", 0, "cell hw01-1-check did not answer the judge"),
    "result-of-its-own": ("graded", 3, ""),
    "hides-the-result": ("graded", 3, ""),
    "clears-the-error": ("graded", 3, ""),
    "replaces-the-kernel": ("graded", 0, "cell hw01-1-check did not answer the judge"),
    "names-of-its-own": ("graded", 6, ""),
    "huge-result": ("graded", 6, ""),
    "prints-for-ever": ("graded", 6, ""),
    "broken-metadata": ("graded", 6, ""),
    "no-worksheets": ("not graded", 0, "it is a broken notebook"),
    "tampered-check": ("review", 3, "cell hw01-1-check was changed; the original was put back"),
    "tampered-points": ("review", 6, "the points, locks or type of cell hw01-1-check were changed; put back"),
    "missing-checks": ("graded", 6, "cell hw01-1-hidden was deleted; it was put back"),
    "missing-answer": ("graded", 3, "cell hw01-1-doubled was deleted"),
    "no-metadata": ("graded", 6, "cell setup was deleted; it was put back"),
    "duplicates": ("graded", 6, "cell hw01-1-doubled was there twice; the last one counts"),
    "renamed": ("graded", 6, "the file was called my final version (2).ipynb; taken as hw01"),
    "kernel-of-r": ("graded", 6, "it was saved with a kernel for R; graded with Python 3"),
    "python-2": ("graded", 6, "it was saved with Python 2.7.18; graded with Python 3"),
    "windows-encoding": ("graded", 6, "it is not in UTF-8; read as cp1252"),
    "utf-16": ("graded", 6, "it is not in UTF-8; read as utf-16"),
    "empty": ("not graded", 0, "the file is empty: 0 points"),
    "a-pdf": ("not graded", 0, "it is not a notebook, but a PDF: 0 points"),
    "cut-off": ("not graded", 0, "it is not a notebook, but a notebook that was cut off: 0 points"),
    "timer-in-loop": ("review", 3, "cell hw01-1-doubled ended its process after it had run (exit status 3)"),
    "timer-in-thread": ("review", 3, "cell hw01-1-doubled ended its process after it had run (exit status 3)"),
    "timer-in-function": ("review", 3, "cell hw01-1-check ended its process after it had run (exit status 3)"),
    "sparse-notebook": ("not graded", 0, "the file has 3072 MiB; at most 100 are read: 0 points"),
    "sparse-beside": ("graded", 6, "beside the notebook were left out: table.csv; at most 100 MiB a file"),
    "deep-json": ("not graded", 0, "it is not a notebook"),
    "deep-attachment": ("graded", 6, ""),
    "many-cells": ("not graded", 0, "the notebook has 100,000 cells; at most 5,000 are read: 0 points"),
    "huge-cell": ("not graded", 0, "a cell has 10,000,000 characters; at most 5,000,000 are read: 0 points"),
    **{f"timestamp-{kind}": ("graded", 6, "its timestamp.txt holds no date") for kind in TIMESTAMPS},
    "changes-torch": ("graded", 3, ""),
}
