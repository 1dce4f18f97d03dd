"""Run a notebook as a submission: every cell, in a fresh process, within limits, whatever its cells do.

A cell that raises costs what nbgrader takes for it. A cell that kills its process, or that nothing but killing ends, is
left out and the notebook is run once more, so that one bad cell costs its own points and those of nobody else. Graded
cells do not run there: the judge, in a process of its own, asks what the notebook's functions give.
"""

import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from bertcourse_grading.cleaning import folder_for_a_while
from bertcourse_grading.judge_client import Judge
from bertcourse_grading.process import KernelEnded, Limits, Process, error_output


@dataclass
class Run:
    """What happened.

    Attributes:
        messages: a line for each thing that whoever grades should know.
        review: whether one of them asks for a look at the grade.
        seconds: on the clock.
        peak: most memory of all its processes, in bytes.
        walls: what held it in: "system" (Landlock and seccomp) or "python" alone, and, joined to it by +,
            "bubblewrap" and "cgroup" where they are there.
    """

    messages: list[str] = field(default_factory=list)
    review: bool = False
    seconds: float = 0.0
    peak: int = 0
    walls: str = ""

    def say(self, message: str, review: bool = False) -> None:
        """Add a line, once."""
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
        files: a folder with what the notebook finds beside itself; None for nothing.
        judge: of its graded cells; it knows the assignment.
        hidden: folders that it must not read.
        limits: what it may use.
        cancel: when it is set, the run ends.
        temporary: where its folder is made; None for where this system makes temporary files.

    Returns:
        What happened.

    Raises:
        Cancelled: if ``cancel`` was set.
        RuntimeError: if a kernel does not start, or the judge fails: the grader's trouble and not the student's.

    Source: what ``nbgrader autograde`` does with a cell that raises; the rest is the course's.
    """
    run, start, left_out, cancel = Run(), time.monotonic(), {}, cancel or threading.Event()
    names = {id(cell): cell_name(cell, index) for index, cell in enumerate(notebook.cells)}
    for _ in range(limits.restarts + 1):
        with folder_for_a_while(temporary) as folder:
            ended = run_once(
                notebook,
                folder,
                files,
                judge,
                hidden,
                limits,
                start + limits.total_seconds,
                left_out,
                run,
                cancel,
            )
        if ended is None:
            break
        index, reason = ended
        left_out[index] = reason
        name = names[id(notebook.cells[index])]
        again = "the notebook was run again without it"
        if time.monotonic() > start + limits.total_seconds or len(left_out) > limits.restarts:
            again = "what comes after it was not run"
            give_up(notebook, index, reason)
        run.say(f"{name} {reason}; {again}", review=True)
        if again.startswith("what"):
            break
    run.seconds = time.monotonic() - start
    return run


def run_once(
    notebook: NotebookNode,
    folder: Path,
    files: Path | None,
    judge: Judge,
    hidden: list[Path],
    limits: Limits,
    deadline: float,
    left_out: dict[int, str],
    run: Run,
    cancel: threading.Event,
) -> tuple[int, str] | None:
    """All cells in one process; the index of the cell that ended it and why, or None if none did."""
    work = folder / "work"
    if files is None:
        work.mkdir()
    else:
        shutil.copytree(
            files, work, ignore=shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints", "__pycache__"), symlinks=True
        )
    process = Process(folder, work, judge, hidden, limits, cancel)
    try:
        process.start()
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            if index in left_out:
                cell.outputs, cell.execution_count = [error_output("KernelDied", left_out[index])], None
                continue
            act = process.judged if is_graded_code(cell) else process.execute
            try:
                act(cell, min(limits.cell_seconds, deadline - time.monotonic()))
            except KernelEnded as reason:
                return index, str(reason)
            if time.monotonic() > deadline:
                return index, f"was running when the {limits.total_seconds:g} s of the whole notebook were over"
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
    """Report a cell that ran into the limit of time or of memory."""
    for output in cell.outputs:
        if output.output_type != "error":
            continue
        if output.ename == "Gone":  # the judge's word for it
            run.say(f"{cell_name(cell, index)} {output.evalue}")
        elif output.ename == "CellTimeoutError":
            run.say(f"{cell_name(cell, index)} ran for more than {limits.cell_seconds:g} s and was stopped")
        elif (
            output.ename == "MemoryError" or "allocate memory" in output.evalue or "not enough memory" in output.evalue
        ):
            run.say(f"{cell_name(cell, index)} asked for more memory than the {limits.memory / 2**30:g} GiB there are")


def is_graded_code(cell: NotebookNode) -> bool:
    """Whether a code cell is one of the assignment's own that is worth points."""
    about = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and about.get("grade", False) and not about.get("solution", False)


def cell_name(cell: NotebookNode, index: int) -> str:
    """How a message calls a cell."""
    name = cell.metadata.get("nbgrader", {}).get("grade_id")
    return f"cell {name}" if name else f"cell {index + 1}"


def give_up(notebook: NotebookNode, index: int, reason: str) -> None:
    """Mark a cell and all after it as not run."""
    for cell in notebook.cells[index:]:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [error_output("NotRun", reason)], None
