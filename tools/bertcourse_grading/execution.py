"""Run a notebook as a submission: every cell, in a fresh process, within limits, whatever its cells do.

A cell that raises costs what nbgrader deducts for it. A cell that kills its process, or that only killing can end, is
left out and the notebook is run once more, so that one bad cell costs its own points and no others. The cell that was
running is not always the one that killed the process: a timer or a thread of an earlier cell may have done it. So when
a process ends, the notebook is run again slowly: the grader waits after each cell, and blames the one after which the
process ends. Graded cells do not run there: the judge, in a process of its own, asks what the notebook's functions
return.
"""

import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from bertcourse_grading.cleaning import folder_for_a_while
from bertcourse_grading.judge_client import Judge
from bertcourse_grading.process import KernelEnded, Limits, NotInterrupted, Process, error_output

SETTLE_SECONDS = 60.0  # the longest that one slow run waits, after all its cells together


@dataclass
class Run:
    """What happened when a submission ran.

    Attributes:
        messages: a line for each thing that graders should know.
        review: whether one of them means that somebody should look at the grade.
        seconds: wall-clock time.
        peak: the most memory that its processes used together, in bytes.
        walls: what confined it: "system" (Landlock and seccomp) or "python" alone, followed, after a +, by
            "bubblewrap" and "cgroup" where they are available.
    """

    messages: list[str] = field(default_factory=list)
    review: bool = False
    seconds: float = 0.0
    peak: int = 0
    walls: str = ""

    def say(self, message: str, review: bool = False) -> None:
        """Add a line, unless it is there already."""
        if message not in self.messages:
            self.messages.append(message)
        self.review |= review


def run_submission(
    notebook: NotebookNode,
    files: Path | None,
    judge: Judge,
    hidden: list[Path],
    limits: Limits,
    cancel: threading.Event | None = None,
    temporary: Path | None = None,
) -> Run:
    """Execute all cells in place.

    Args:
        notebook: its outputs are replaced.
        files: a folder with the files that the notebook finds beside itself; None for none.
        judge: the judge of its graded cells; it knows the assignment.
        hidden: folders that it must not read.
        limits: what it may use.
        cancel: ends the run when it is set.
        temporary: where its folder is made; None for this system's place for temporary files.

    Returns:
        What happened.

    Raises:
        Cancelled: if ``cancel`` was set.
        RuntimeError: if a kernel does not start, or the judge fails: the grader's problem, not the student's.

    Source: what ``nbgrader autograde`` does with a cell that raises; the rest is the course's own.
    """
    run, start, cancel = Run(), time.monotonic(), cancel or threading.Event()
    pace = Pace(start + limits.total_seconds)
    while True:
        with folder_for_a_while(temporary) as folder:
            ended = run_once(notebook, folder, files, judge, hidden, limits, pace, run, cancel)
        pace.runs += 1
        if ended is None:
            break
        name = cell_name(notebook.cells[ended.index], ended.index)
        if pace.is_over() or len(pace.left_out) == limits.restarts:
            give_up(notebook, ended.index, ended.reason)
            run.say(f"{name} {ended.reason}; what comes after it was not run", review=True)
            break
        if pace.settle and not ended.is_sure:
            give_up(notebook, ended.index, ended.reason)
            run.say(f"{name} {ended.reason}, maybe for what an earlier one began; the rest was not run", review=True)
            pace.unexplained = ""
            break
        if ended.is_sure:
            pace.blame(ended)
            run.say(f"{name} {ended.reason}; the notebook was run again without it", review=True)
        else:
            pace.slow_down(ended, notebook)
    if pace.unexplained:
        run.say(f"{pace.unexplained}, but not when the notebook was run again", review=True)
    run.seconds = time.monotonic() - start
    return run


@dataclass
class Ended:
    """How a process ended before its last cell was done.

    Attributes:
        index: of the cell that was running, or that had run last.
        reason: what happened, in words that follow the cell's name in a message.
        is_sure: whether it certainly was that cell, and not a timer or thread of an earlier one.
        after: seconds since the first cell started.
    """

    index: int
    reason: str
    is_sure: bool
    after: float


@dataclass
class Pace:
    """How a notebook is run the next time.

    Attributes:
        deadline: for all its cells, on ``time.monotonic``'s clock.
        settle: seconds to wait after each cell to see whether its process ends.
        is_slow_enough: whether that is longer than it took the process to end.
        suspect: index of the cell that was running when the process ended.
        left_out: indices of the cells that are to blame, with the reasons.
        runs: how many runs there have been.
        unexplained: what a cell seemed to do before the slow run; empty once it is known which cell did it.
    """

    deadline: float
    settle: float = 0.0
    is_slow_enough: bool = False
    suspect: int = -1
    left_out: dict[int, str] = field(default_factory=dict)
    runs: int = 0
    unexplained: str = ""

    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self.deadline

    def makes_sure(self, index: int) -> bool:
        """Whether a process that ended in or after this cell ended because of it: no timer of an earlier cell would
        have taken so long, or have hit the same cell again in a run with different timing."""
        return self.is_slow_enough or self.settle > 0 and index == self.suspect

    def blame(self, ended: Ended) -> None:
        """Leave a cell out from now on, and run the others without waiting after each."""
        self.left_out[ended.index] = ended.reason
        self.settle, self.is_slow_enough, self.unexplained = 0.0, False, ""

    def slow_down(self, ended: Ended, notebook: NotebookNode) -> None:
        """From now on wait after each cell: longer than it took the process to end, and so longer than any timer that
        did it, unless all the waiting together would take too long."""
        cells = sum(cell.cell_type == "code" for cell in notebook.cells)
        self.settle = min(ended.after + 0.5, SETTLE_SECONDS / cells)
        self.is_slow_enough, self.suspect = self.settle > ended.after, ended.index
        self.unexplained = f"{cell_name(notebook.cells[ended.index], ended.index)} {ended.reason}"


def run_once(
    notebook: NotebookNode,
    folder: Path,
    files: Path | None,
    judge: Judge,
    hidden: list[Path],
    limits: Limits,
    pace: Pace,
    run: Run,
    cancel: threading.Event,
) -> Ended | None:
    """Run all cells in one process; returns how it ended before the last one was done, or None if it did not."""
    work = folder / "work"
    if files is None:
        work.mkdir()
    else:
        shutil.copytree(
            files, work, ignore=shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints", "__pycache__"), symlinks=True
        )
    process = Process(folder, work, judge, hidden, limits, cancel)
    judge.forget(pace.runs)
    try:
        process.start()
        start = time.monotonic()
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            if index in pace.left_out:
                cell.outputs, cell.execution_count = [error_output("KernelDied", pace.left_out[index])], None
                continue
            seconds = min(limits.cell_seconds, pace.deadline - time.monotonic())
            try:
                if is_graded_code(cell):
                    process.judged(
                        cell, seconds, [each.source for each in notebook.cells[index + 1 :] if is_graded_code(each)]
                    )
                else:
                    process.execute(cell, seconds)
                if pace.is_over():
                    reason = f"was running when the {limits.total_seconds:g} s of the whole notebook were over"
                    return Ended(index, reason, True, 0.0)
                process.settle(pace.settle)
                pace.deadline += pace.settle
            except KernelEnded as reason:
                is_sure = isinstance(reason, NotInterrupted) or pace.makes_sure(index)
                return Ended(index, str(reason), is_sure, time.monotonic() - start)
            note_limits(cell, index, limits, run)
        return None
    finally:
        process.stop()
        if process.fault is not None:
            raise RuntimeError(f"the watcher of its limits failed: {process.fault}")
        run.peak = max(run.peak, process.peak)
        for line in process.reports():
            if line["kind"] == "walls":
                run.walls = "+".join([line["text"], *process.around])
            else:
                run.say(line["text"], review=line["kind"] in ("changed", "read", "process", "write", "network"))


def note_limits(cell: NotebookNode, index: int, limits: Limits, run: Run) -> None:
    """Report a cell that hit the time limit or the memory limit."""
    for output in cell.outputs:
        if output.output_type != "error":
            continue
        if output.ename in ("Gone", "JudgeSilent") and is_graded_code(cell):  # the judge says so
            run.say(f"{cell_name(cell, index)} {output.evalue}", review=output.ename == "JudgeSilent")
        elif output.ename == "CellTimeoutError":
            run.say(f"{cell_name(cell, index)} {output.evalue.removeprefix('it ')} and was stopped")
        elif (
            output.ename == "MemoryError" or "allocate memory" in output.evalue or "not enough memory" in output.evalue
        ):
            run.say(f"{cell_name(cell, index)} asked for more memory than the {limits.memory / 2**30:g} GiB there are")


def is_graded_code(cell: NotebookNode) -> bool:
    """Whether a cell is one of the assignment's own code cells that are worth points."""
    about = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and about.get("grade", False) and not about.get("solution", False)


def cell_name(cell: NotebookNode, index: int) -> str:
    """What messages call a cell."""
    name = cell.metadata.get("nbgrader", {}).get("grade_id")
    return f"cell {name}" if name else f"cell {index + 1}"


def give_up(notebook: NotebookNode, index: int, reason: str) -> None:
    """Mark a cell and all that follow as not run."""
    for cell in notebook.cells[index:]:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [error_output("NotRun", reason)], None
