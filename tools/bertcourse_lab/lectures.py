"""Running the notebooks: ``run_notebook`` executes one in a fresh kernel and measures it.

A lecture's opening says what it takes: minutes of a reader's time, which ``human_minutes`` counts, seconds of a
processor's, and memory.
"""

import functools
import itertools
import math
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from bertcourse.files import replace_files

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
TAKES = re.compile(
    r"\*\*Takes\*\* (?:about (\d+) minutes of (?:yours|your time), )?(\d+) s of CPU on two cores, ([\d.]+) GB of memory"
)
# A reader's pace: words per minute, and minutes for each code cell, figure and folded question. Two lecturers who
# planned lectures 1 to 3 cell by cell needed a fifth more than this; students reading in the evening, about the same.
WORDS_PER_MINUTE, CODE_CELL, FIGURE, QUESTION = 100, 1.0, 2.0, 2.0
# what comes after the lecture's spine
BEYOND = re.compile(r"^## (?:Check yourself|Exercises|Going deeper)\b", re.MULTILINE)
ASIDE = re.compile(r"<!--.*?-->|<[^>]+>|\]\([^)]*\)", re.DOTALL)  # comments, tags, and the targets of links
SECTION, SECTION_HEADING = re.compile(r"^(?=## )", re.MULTILINE), re.compile(r"## (.*)")
OPENING = "Opening"  # what comes before the first section
WORD = re.compile(r"[^\W_][\w'’.,-]*")
# Make a thread that waits for another go to sleep soon. By default it spins: on a machine that is busy with something
# else, a lecture then takes four times the CPU seconds, and a test that trains takes ten times as long, all of it spent
# waiting. If it slept at once, training would take twice as long. The first setting is for GNU's OpenMP (Linux), the
# second for LLVM's.
SLEEPING_THREADS = {"GOMP_SPINCOUNT": "1000", "OMP_WAIT_POLICY": "PASSIVE"}
# The environment of a lecture's kernel. No progress bars, as they would be stored; and one thread for NumPy, SciPy and
# scikit-learn, whose matrices here are small: OpenBLAS's second one only waits, at full speed.
LECTURE_ENVIRONMENT = {**SLEEPING_THREADS, "OPENBLAS_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
# of all lectures: two of them at a time, or one with two threads, one of which waits now and then; and kernels start
CLOCK_PER_CPU = 0.7
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
    """A notebook from its file."""
    if not path.is_file():
        raise FileNotFoundError(f"no notebook {path}. Name one, such as notebooks/01_self_attention.ipynb.")
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises several kinds, some of them its own
        raise ValueError(f"{path} must be a Jupyter notebook; {error}") from error


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook; none is ever half written."""
    with replace_files(path.parent, [path.name]) as draft:
        nbformat.write(notebook, draft / path.name)


def stated_cost(notebook: NotebookNode) -> Cost | None:
    """What a lecture says it needs from a machine; None if it says nothing.

    "**Takes** about 90 minutes of your time, 20 s of CPU on two cores, 0.6 GB of memory", with or without the minutes.
    """
    found = stated(notebook)
    return Cost(float(found[2]), float(found[3])) if found else None


def stated_minutes(notebook: NotebookNode) -> int | None:
    """The minutes of a reader's time that a lecture states; None if it states none."""
    found = stated(notebook)
    return int(found[1]) if found and found[1] else None


def stated(notebook: NotebookNode) -> re.Match | None:
    """Where a lecture says what it takes."""
    texts = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return next(filter(None, map(TAKES.search, texts)), None)


def human_minutes(notebook: NotebookNode) -> int:
    """How long it takes to read a lecture's spine, up to the questions and exercises at its end, and try what it asks.

    A minute for 100 words, one for a code cell that is not collapsed, two for a figure, and two to answer a folded
    question; rounded up to a multiple of five. Notes for the lecturer are left out.
    """
    return 5 * math.ceil(round(sum(counted_minutes(notebook).values()), 6) / 5)


def section_minutes(notebook: NotebookNode) -> dict[str, int]:
    """Whole minutes for each section of a lecture's spine; together they are the minutes that the lecture states.

    If it states none, they are those of ``human_minutes``. What comes before the first section is the opening.
    """
    counted = counted_minutes(notebook)
    scale = (stated_minutes(notebook) or human_minutes(notebook)) / (sum(counted.values()) or 1)
    ends = [round(scale * end) for end in itertools.accumulate(counted.values())]  # rounded ends: the sum stays right
    return {heading: end - start for heading, start, end in zip(counted, [0, *ends], ends)}


def counted_minutes(notebook: NotebookNode) -> dict[str, float]:
    """The minutes of each section of the spine, by its heading, at the pace given at the top of this file."""
    heading, minutes = OPENING, {OPENING: 0.0}
    for cell in notebook.cells:
        if cell.metadata.get("slideshow", {}).get("slide_type") == "notes":
            continue
        if cell.cell_type == "markdown":
            text, *beyond = BEYOND.split(cell.source, maxsplit=1)
            for part in SECTION.split(text):
                if found := SECTION_HEADING.match(part):
                    heading = found[1].strip()
                words = len(WORD.findall(ASIDE.sub(" ", part)))
                spent = words / WORDS_PER_MINUTE + QUESTION * part.count("<details>")
                minutes[heading] = minutes.get(heading, 0.0) + spent
            if beyond:
                break
        elif cell.cell_type == "code":
            minutes[heading] += CODE_CELL * ("hide-input" not in cell.metadata.get("tags", []))
            minutes[heading] += FIGURE * sum(map(is_figure, cell.outputs))
    return minutes


def is_figure(output: NotebookNode) -> bool:
    """Whether a cell's output is something to look at."""
    data = output.get("data", {})
    return any(kind.startswith("image/") for kind in data) or "bertcourse-figure" in data.get("text/html", "")


def threads(notebook: NotebookNode) -> int:
    """How many threads its torch computes with: the 2 of most lectures, or 1 where two would wait for each other."""
    found = re.search(r"torch\.set_num_threads\((\d)\)", "\n".join(cell.source for cell in notebook.cells))
    return int(found[1]) if found else 2


def yardstick() -> float:
    """CPU seconds of a fixed piece of work in this process: a small BERT's training steps, and plain Python."""
    import torch  # here, as nothing else in this module needs it

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
    """How many times as long the same work takes here and now as it did where costs were measured; at least 1.

    Another processor, or one that others use too, needs more CPU seconds for the same work. ``yardstick`` runs in its
    own process, with the settings of a lecture's kernel.
    """
    program = "from bertcourse_lab.lectures import yardstick; print(yardstick())"
    environment = {**os.environ, **LECTURE_ENVIRONMENT}
    measured = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return max(1.0, float(measured.stdout) / YARDSTICK_SECONDS)


def within_twice(cpu_seconds: float, stated: Cost) -> bool:
    """Whether a lecture took at most twice what it states, allowing for how much slower this machine is."""
    limit = 2 * stated.cpu_seconds
    return cpu_seconds <= limit or cpu_seconds <= limit * slowdown()


def run_notebook(notebook: NotebookNode, folder: Path, cell_timeout: int = 900) -> Cost:
    """Execute all cells in place, top to bottom, in a fresh kernel; again if the kernel hangs or dies.

    Args:
        notebook: its outputs and execution counts are replaced.
        folder: the working folder.
        cell_timeout: seconds that one cell may take.

    Returns:
        What the run cost.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell raises.
        nbclient.exceptions.CellTimeoutError, DeadKernelError: if the kernel hangs or dies twice.
    """
    try:
        return run_in_kernel(notebook, folder, cell_timeout)
    except (CellTimeoutError, DeadKernelError):
        return run_in_kernel(notebook, folder, cell_timeout)


def run_in_kernel(notebook: NotebookNode, folder: Path, cell_timeout: int) -> Cost:
    """``run_notebook`` without the second try."""
    client = NotebookClient(
        notebook,
        timeout=cell_timeout,
        startup_timeout=120,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # however often the kernel flushed
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
    notebook.metadata.pop("widgets", None)  # their state differs each time
    notebook.metadata |= nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    return Cost(used.user + used.system, peak[0] / 1e9)


def run_lectures(paths: list[Path], output: Path | None = None, cell_timeout: int = 900) -> bool:
    """Execute notebooks, and print what each cost next to what it states.

    Those that compute with one thread come first, two at a time; the others one after another.

    Args:
        paths: the notebooks.
        output: folder for the executed copies; None writes them back in place.
        cell_timeout: seconds that one cell may take.

    Returns:
        True if every one ran. One that took more than twice the CPU time that it states (``within_twice``) is called
        slow, and no failure: something else may be running.
    """
    if output and (twice := [name for name, count in Counter(path.name for path in paths).items() if count > 1]):
        raise ValueError(f"one folder cannot hold two notebooks called {twice[0]}: run them with an --output each.")
    notebooks = {path: read_notebook(path) for path in paths}
    seconds = {path: cost.cpu_seconds if (cost := stated_cost(each)) else 0 for path, each in notebooks.items()}
    minutes = sum(seconds.values()) / 60
    if len(paths) > 1 and minutes >= 2:
        print(
            f"{len(paths)} notebooks, which state {minutes:.0f} minutes of CPU: {CLOCK_PER_CPU * minutes:.0f} minutes "
            f"on the clock where two cores are idle, {minutes:.0f} or more where something else runs.",
            flush=True,
        )
    run = functools.partial(run_lecture, output=output, cell_timeout=cell_timeout)
    paired = [path for path in paths if threads(notebooks[path]) == 1]
    paired = sorted(paired, key=seconds.get, reverse=True) if len(paired) > 1 else []
    all_well = True
    for well, says in itertools.chain(two_at_a_time(run, paired), map(run, (p for p in paths if p not in paired))):
        print(says, flush=True)
        all_well &= well
    return all_well


def two_at_a_time(run: Callable, paths: list[Path]) -> Iterator:
    """What ``run`` returns for each path, in the order in which two processes have it."""
    if paths:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            yield from pool.imap_unordered(run, paths)


def run_lecture(path: Path, output: Path | None, cell_timeout: int) -> tuple[bool, str]:
    """Execute one notebook and store its outputs. Returns whether it ran, and a line that says what it cost."""
    notebook, start = read_notebook(path), time.perf_counter()
    stated = stated_cost(notebook)
    try:
        cost = run_notebook(notebook, path.parent, cell_timeout)
    except Exception as error:  # the cell's own, or the kernel's: report it, and go on with the next
        return False, f"FAILED  {path.name}: {error}"
    write_notebook(notebook, output / path.name if output else path)
    within = stated is None or within_twice(cost.cpu_seconds, stated)
    says = f"states {stated.cpu_seconds:.0f} s, {stated.gigabytes:.1f} GB" if stated else "states nothing"
    return True, (
        f"{'ok    ' if within else 'slow  '}  {path.name}: {cost.cpu_seconds:.0f} s of CPU, "
        f"{cost.gigabytes:.1f} GB ({says}), {time.perf_counter() - start:.0f} s on the clock"
    )
