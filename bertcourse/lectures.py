"""Running the notebooks, and the rules that they keep.

``run_notebook`` executes one in a fresh kernel and measures it. ``problems`` lists where one breaks the rules that make
validation mean something: nbval compares only cells that were run, in order, and whose output is not ignored, and
never prose (``bertcourse.measured`` does).
"""

import ast
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from bertcourse.measured import misstated

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
IGNORING_TAGS = {"nbval-ignore-output", "nbval-skip"}
KNOWN_TAGS = IGNORING_TAGS | {"nbval-check-output", "nbval-raises-exception"}
MOST_LINES, MOST_COLUMNS, MOST_IGNORED = 20, 120, 0.1
NBVAL_MARK = re.compile(r"nbval|pytest[-_]validate", re.IGNORECASE)  # the second is nbval's old name
HIDERS = {"get_ipython", "capture_output", "redirect_stdout", "redirect_stderr"}
TAKES = re.compile(r"\*\*Takes\*\* (\d+) s of CPU on two cores, ([\d.]+) GB of memory")
# A thread that waits for another soon sleeps. By default it spins, and on a machine that is busy with something else a
# lecture then takes four times the CPU seconds, and a test that trains ten times as long, all of it spent waiting; if
# it slept at once, training would take twice as long. The first is for GNU's OpenMP (Linux), the second for LLVM's.
SLEEPING_THREADS = {"GOMP_SPINCOUNT": "1000", "OMP_WAIT_POLICY": "PASSIVE"}
# What a lecture's kernel runs with. No progress bars, which would be stored.
LECTURE_ENVIRONMENT = {**SLEEPING_THREADS, "TQDM_DISABLE": "1"}
YARDSTICK_SECONDS = 3.0  # CPU time of ``yardstick`` where and when the lectures' costs were measured


@dataclass(frozen=True)
class Cost:
    """What one run of a notebook costs.

    Attributes:
        cpu_seconds: user and system time of its kernel, over all cores.
        gigabytes: the most memory its kernel held.
    """

    cpu_seconds: float
    gigabytes: float


def read_notebook(path: Path) -> NotebookNode:
    """A notebook from its file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not a notebook.

    Source: nbformat 4.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no notebook {path}. Name one, such as notebooks/01_self_attention.ipynb.")
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises several kinds, some of them its own
        raise ValueError(f"{path} must be a Jupyter notebook; {error}") from error


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook under another name and then rename it, so that none is ever half written.

    Source: nbformat 4.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    nbformat.write(notebook, draft)
    draft.replace(path)


def stated_cost(notebook: NotebookNode) -> Cost | None:
    """What a lecture says it takes: "**Takes** 20 s of CPU on two cores, 0.6 GB of memory"; None if it does not.

    Source: the opening that every lecture has.
    """
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := TAKES.search(cell.source)):
            return Cost(float(found[1]), float(found[2]))
    return None


def yardstick() -> float:
    """CPU seconds that a fixed piece of work takes in this process: a small BERT's training steps, and plain Python.

    Source: the two things that the lectures spend their time on.
    """
    import torch  # here, because everything else in this module does without

    from bertcourse.bert import BertConfig, BertModel

    torch.set_num_threads(2)
    config = BertConfig(
        vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024
    )
    model, ids = BertModel(config), torch.arange(16 * 64).view(16, 64) % 1000
    model(ids)  # the first call sets things up
    start = time.process_time()
    for _ in range(5):
        model(ids).last_hidden_state.square().mean().backward()
    counts = {}
    for number in range(4_000_000):
        counts[number % 5003] = counts.get(number % 5003, 0) + 1
    return time.process_time() - start


def slowdown() -> float:
    """How many times as long as on the machine where the costs were measured work takes here and now; at least 1.

    Another processor, or one that others use too, needs more CPU seconds for the same work.

    Raises:
        subprocess.CalledProcessError: if the other process fails.

    Source: ``yardstick``, in a process of its own with the settings that a lecture's kernel has.
    """
    program = "from bertcourse.lectures import yardstick; print(yardstick())"
    environment = {**os.environ, **LECTURE_ENVIRONMENT}
    measured = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return max(1.0, float(measured.stdout) / YARDSTICK_SECONDS)


def within_twice(cpu_seconds: float, stated: Cost) -> bool:
    """Whether a lecture took at most twice what it states, or as much longer as this machine is slower.

    Args:
        cpu_seconds: what it took, just now.
        stated: what it says it takes.

    Source: the rule that every lecture keeps.
    """
    limit = 2 * stated.cpu_seconds
    return cpu_seconds <= limit or cpu_seconds <= limit * slowdown()


def run_notebook(notebook: NotebookNode, folder: Path, cell_timeout: int = 900) -> Cost:
    """Execute all cells in place, top to bottom, in a fresh kernel; once more if the kernel hangs or dies.

    Args:
        notebook: its outputs and execution counts are replaced.
        folder: the working folder.
        cell_timeout: seconds that one cell may take.

    Returns:
        What the run cost.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell raises.
        nbclient.exceptions.CellTimeoutError, DeadKernelError: if the kernel hangs or dies twice.

    Source: nbclient.
    """
    try:
        return run_once(notebook, folder, cell_timeout)
    except (CellTimeoutError, DeadKernelError):
        return run_once(notebook, folder, cell_timeout)


def run_once(notebook: NotebookNode, folder: Path, cell_timeout: int) -> Cost:
    """``run_notebook`` without the second try."""
    client = NotebookClient(
        notebook,
        timeout=cell_timeout,
        startup_timeout=120,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    # stderr is the kernel's log, not the cells' output
    with client.setup_kernel(stderr=subprocess.DEVNULL, env={**os.environ, **LECTURE_ENVIRONMENT}):
        kernel = psutil.Process(client.km.provisioner.pid)
        peak, done = [kernel.memory_info().rss], threading.Event()

        def watch() -> None:
            while not done.wait(0.1):
                peak[0] = max(peak[0], kernel.memory_info().rss)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
        finally:
            done.set()
            watcher.join()
        used = kernel.cpu_times()
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    return Cost(used.user + used.system, peak[0] / 1e9)


def run_lectures(paths: list[Path], output: Path | None = None, cell_timeout: int = 900) -> bool:
    """Execute notebooks one after the other and print what each cost beside what it states.

    Args:
        paths: the notebooks.
        output: folder for the executed copies; None writes them back in place.
        cell_timeout: seconds that one cell may take.

    Returns:
        True if every one ran, within twice the CPU time that it states (``within_twice``).

    Raises:
        FileNotFoundError, ValueError: if one is not there or not a notebook.
    """
    all_well = True
    for path in paths:
        notebook, start = read_notebook(path), time.perf_counter()
        stated = stated_cost(notebook)
        try:
            cost = run_notebook(notebook, path.parent, cell_timeout)
        except Exception as error:  # the cell's own, or the kernel's: report it, and go on with the next
            print(f"FAILED  {path.name}: {error}", flush=True)
            all_well = False
            continue
        write_notebook(notebook, output / path.name if output else path)
        within = stated is None or within_twice(cost.cpu_seconds, stated)
        all_well &= within
        says = f"states {stated.cpu_seconds:.0f} s, {stated.gigabytes:.1f} GB" if stated else "states nothing"
        print(
            f"{'ok    ' if within else 'SLOW  '}  {path.name}: {cost.cpu_seconds:.0f} s of CPU, "
            f"{cost.gigabytes:.1f} GB "
            f"({says}), {time.perf_counter() - start:.0f} s on the clock",
            flush=True,
        )
    return all_well


def problems(path: Path) -> list[str]:
    """Where a notebook breaks the rules: each a line that says what is wrong; empty if nothing is.

    Args:
        path: the notebook; homework, which nbgrader's marks betray, may have longer cells.

    Returns:
        The problems found.

    Raises:
        FileNotFoundError, ValueError: if it is not there or not a notebook.

    Source: the rules are the course's; nbval passes a cell without an execution count silently, hence the first.
    """
    notebook, found = read_notebook(path), []
    is_homework = any("nbgrader" in cell.metadata for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    if counts != list(range(1, len(code) + 1)):
        found.append(
            f"execution counts must be 1 to {len(code)}, in order; got {counts}. Run it: bertcourse run {path}"
        )
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        found.append(f'the kernelspec must be "python3"; got {kernel!r}')
    for number, cell in enumerate(code, start=1):
        tags = set(cell.metadata.get("tags", []))
        for output in cell.outputs:
            if output.output_type == "error" and not tags & {"nbval-raises-exception", "raises-exception"}:
                found.append(f"code cell {number} stores an error: {output.ename}: {output.evalue}")
        for tag in tags:
            if NBVAL_MARK.search(tag) and tag not in KNOWN_TAGS:
                found.append(f"code cell {number} has the tag {tag!r}, which nbval does not know: {sorted(KNOWN_TAGS)}")
        if re.search(rf"#.*({NBVAL_MARK.pattern})", cell.source, re.IGNORECASE):
            found.append(
                f"code cell {number} has an nbval mark in a comment, where a misspelling goes unseen: use a tag"
            )
        if (lines := sum(map(bool, cell.source.splitlines()))) > MOST_LINES and not is_homework:
            found.append(f"code cell {number} has {lines} lines; at most {MOST_LINES}")
        if (columns := max(map(len, cell.source.splitlines()), default=0)) > MOST_COLUMNS:
            found.append(f"code cell {number} has a line of {columns} characters; at most {MOST_COLUMNS}")
    ignored = sum(bool(set(cell.metadata.get("tags", [])) & IGNORING_TAGS) for cell in code)
    if ignored > MOST_IGNORED * len(code):
        found.append(f"{ignored} of {len(code)} code cells ignore their output; at most {MOST_IGNORED:.0%}")
    found += problems_of_kind(notebook) + misstated(notebook)
    for number, cell in enumerate(code, start=1):
        found += [f"code cell {number} {problem}" for problem in problems_of_code(cell.source)]
    return found if is_homework else found + problems_of_figures(code) + problems_of_opening(notebook)


def problems_of_kind(notebook: NotebookNode) -> list[str]:
    """Cells that no validation runs although they look like code, or may have been."""
    found = []
    for place, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "raw":
            found.append(f"cell {place} is raw, which nothing runs and no site shows: make it code or markdown")
        elif cell.cell_type == "markdown" and is_code(cell.source):
            found.append(f"cell {place} is markdown but holds nothing but code, which nothing runs: make it code")
    return found


def is_code(markdown: str) -> bool:
    """Whether markdown is Python from end to end, be it in a fence.

    >>> is_code("```python\\nmodel.train()\\n```"), is_code("# Summary"), is_code("Train it: `model.train()`")
    (True, False, False)
    """
    fenced = re.fullmatch(r"\s*```\w*\n(.*?)```\s*", markdown, re.DOTALL)
    try:
        statements = ast.parse(fenced[1] if fenced else markdown).body
    except (SyntaxError, ValueError):  # the second where it holds a null character
        return False
    return any(not isinstance(s, ast.Expr) or isinstance(s.value, ast.Call | ast.Await) for s in statements)


def problems_of_code(source: str) -> list[str]:
    """Where a cell may hide what it prints, or asserts what cannot fail.

    >>> problems_of_code("assert True")
    ['has an assertion that cannot fail: assert True']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"is not plain Python; a magic such as %%capture hides what a cell prints: {error}"]
    found = []
    if re.search(r";\s*(?:#.*)?\Z", source):
        found.append("ends in a semicolon, which hides its output")
    for node in ast.walk(tree):
        if names := {getattr(node, part, None) for part in ("id", "attr", "name")} & HIDERS:
            found.append(f"uses {names.pop()}, which may hide an output")
        if isinstance(node, ast.Assert) and is_settled(node.test):
            found.append(f"has an assertion that cannot fail: {ast.unparse(node)}")
        constant = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None
        if constant and not isinstance(constant.value, str | type(...)):  # docstrings, and what students fill in
            found.append(f"has a statement that does nothing: {ast.unparse(node)}")
    return found


def is_settled(test: ast.expr) -> bool:
    """Whether a condition is known before anything runs: no name in it, a tuple, or something settled by *or*."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(is_settled, test.values))
    return isinstance(test, ast.Tuple) or not any(isinstance(node, ast.Name) for node in ast.walk(test))


def problems_of_figures(code: list[NotebookNode]) -> list[str]:
    """Images without a text: nobody who cannot see them knows what they show, and nothing compares them."""
    found = []
    for number, cell in enumerate(code, start=1):
        for output in cell.outputs:
            data = output.get("data", {})
            text = data.get("text/plain", "").strip()
            if any(kind.startswith("image/") for kind in data) and (not text or text.startswith("<")):
                found.append(f"code cell {number} has a figure without a text: end it with plots.show(alt)")
    return found


def problems_of_opening(notebook: nbformat.NotebookNode) -> list[str]:
    """What a lecture's opening must say and homework's need not."""
    if stated_cost(notebook) is not None:
        return []
    return ['its opening must state what it takes: "**Takes** 20 s of CPU on two cores, 0.6 GB of memory"']
