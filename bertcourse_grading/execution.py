"""Run a notebook as a submission: every cell, in a fresh process, within limits, whatever its cells do.

A cell that raises costs what nbgrader takes for it. A cell that kills its process, or that nothing but killing ends, is
left out and the notebook is run once more, so that one bad cell costs its own points and those of nobody else. Graded
cells do not run there: the judge, in a process of its own, asks what the notebook's functions give.
"""

import contextlib
import itertools
import json
import math
import os
import queue
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from pathlib import Path

import nbformat
import psutil
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbformat import NotebookNode

from bertcourse_grading import sandbox, walls
from bertcourse_grading.course import Assignment, split_hidden
from bertcourse_grading.judge import Verdict
from bertcourse_grading.kernel import SERVE
from bertcourse_grading.wire import MOST_BYTES

KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "BERTCOURSE_DATA",
    "BERTCOURSE_MODELS",
    "HF_HOME",
    "HF_HUB_CACHE",
    "COVERAGE_PROCESS_START",
)
CELL_CHARACTERS = 100_000
MOST_DEPTH, MOST_FILES = 60, 100_000  # of a submission's folders in folders, and files
JUDGE_SECONDS = 120.0  # how long the judge may think about an answer
DRAIN_SECONDS = 5.0  # for what a cell printed, once it has answered
BATCH = re.compile(r"hw-[0-9a-f]{16}")
RUNNING: set[int] = set()  # the kernels that were started here and have not been ended
FAMILY = threading.Lock()  # of RUNNING and of whose children are looked at


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Attributes:
        cell_seconds: time on the clock of one cell.
        grace_seconds: after so many more a cell that was interrupted, and goes on, is ended with its process.
        total_seconds: time on the clock of all cells, restarts included.
        memory: bytes, beyond what Python and the packages of the setup cell take.
        processes: processes at a time.
        file_size: bytes of one file that it writes.
        folder_size: bytes of all files that it writes.
        restarts: how often the notebook is run again without a cell that killed its process.
        walls: whether to use the operating system's walls where it has them; False is for tests.
    """

    cell_seconds: float = 60.0
    total_seconds: float = 600.0
    memory: int = 4 * 2**30
    processes: int = 32
    file_size: int = 200 * 2**20
    folder_size: int = 500 * 2**20
    restarts: int = 4
    grace_seconds: float = 5.0
    walls: bool = True


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


class KernelEnded(Exception):
    """The process is gone; the text says why."""


class Cancelled(Exception):
    """Whoever started the batch wants it to end."""


class JudgeFailed(RuntimeError):
    """The judge cannot judge: the assignment or this machine is at fault, and no student."""


class Judge:
    """The judge's process, used for one submission after the other; started when it is needed.

    Args:
        temporary: where temporary files are made; None for where this system makes them.
    """

    submissions = itertools.count()

    def __init__(self, temporary: Path | None = None) -> None:
        self.process, self.connection, self.temporary = None, None, temporary

    def start(self) -> None:
        """Start it, if it does not run."""
        if self.process is not None and self.process.poll() is None:
            return
        with tempfile.TemporaryDirectory(prefix="judge-", dir=self.temporary) as folder:
            listener = Listener(str(Path(folder) / "judge") if hasattr(os, "fork") else None)
            argv = [sys.executable, "-m", "bertcourse_grading.judge", listener.address]
            environment = {**os.environ, "TQDM_DISABLE": "1", "MPLBACKEND": "agg"}
            self.process = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, start_new_session=hasattr(os, "setsid")
            )
            self.connection = accept(listener, 120)

    def begin(self, assignment: Assignment, seed: int) -> None:
        """What follows is of another submission.

        Args:
            assignment: that it answers.
            seed: from which the inputs of its hidden tests are drawn.
        """
        self.start()
        self.job = {
            "assignment": assignment.fingerprint,
            "setup": assignment.setup,
            "solutions": assignment.solutions,
            "seed": seed,
            "submission": next(self.submissions),
        }

    def send(self, message: dict) -> None:
        """Send a message.

        Raises:
            JudgeFailed: if it is gone.
        """
        try:
            self.connection.send_bytes(json.dumps(message).encode())
        except OSError as error:
            raise JudgeFailed(f"the judge ended: {error}") from None

    def receive(self, seconds: float) -> dict:
        """A message.

        Raises:
            JudgeFailed: if none comes in time.
        """
        try:
            if self.connection.poll(seconds):
                return json.loads(self.connection.recv_bytes())
        except (OSError, EOFError) as error:
            raise JudgeFailed(f"the judge ended: {error}") from None
        self.stop()
        raise JudgeFailed(f"the judge said nothing for {seconds:g} s")

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.connection.close()
            self.process.kill()
            self.process.wait()
            self.process = None


def accept(listener: Listener, seconds: float) -> Connection:
    """Who connects first.

    Raises:
        RuntimeError: if nobody does in time.
    """
    found: list[Connection] = []

    def wait() -> None:
        with contextlib.suppress(OSError):
            found.append(listener.accept())

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(seconds)
    listener.close()
    if not found:
        raise RuntimeError(f"nobody connected to {listener.address} within {seconds:g} s")
    return found[0]


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


def error_output(name: str, text: str) -> NotebookNode:
    """The output of a cell that raised."""
    return nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def give_up(notebook: NotebookNode, index: int, reason: str) -> None:
    """Mark a cell and all after it as not run."""
    for cell in notebook.cells[index:]:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [error_output("NotRun", reason)], None


class Process:
    """One kernel, watched.

    Args:
        folder: its own; everything in it may be written.
        work: the folder in it where the notebook runs.
        judge: who asks it.
        hidden: folders that it must not read.
        limits: what it may use.
        cancel: when it is set, nothing more is run.
    """

    def __init__(
        self,
        folder: Path,
        work: Path,
        judge: Judge,
        hidden: list[Path],
        limits: Limits,
        cancel: threading.Event,
    ) -> None:
        self.folder, self.judge, self.limits, self.cancel = folder, judge, limits, cancel
        self.own = folder / "own"
        self.work = work.rename(self.make(self.own) / "work")
        self.report_file, self.base, self.helpers, self.peak, self.killed = folder / "reports.jsonl", 0, 0, 0, ""
        self.fault: Exception | None = None  # of the watcher's
        has_walls = limits.walls and sys.platform == "linux"
        wrapped = walls.bubblewrap(folder, hidden) if has_walls else []
        grouped = walls.control_group(limits.memory, 8 * limits.processes) if has_walls else []
        self.before = [*grouped, *wrapped]
        self.around = ["bubblewrap"] * bool(wrapped) + ["cgroup"] * bool(grouped)
        self.job = {
            "own": [str(self.own), *[str(sandbox.SHARED_MEMORY)] * bool(wrapped)],
            "readable": readable_from_environment(),
            "hidden": list(map(str, hidden)),
            "memory": limits.memory,
            "file_size": limits.file_size,
            "processes": 8 * limits.processes,
            "reports": str(self.report_file),
            "walls": limits.walls,
        }

    @staticmethod
    def make(folder: Path) -> Path:
        """A new folder."""
        folder.mkdir(parents=True)
        return folder

    def start(self) -> None:
        """Start the kernel and its watcher.

        Raises:
            RuntimeError: if it does not answer.
        """
        run, job_file = self.make(self.own / "run"), self.folder / "job.json"
        listener = Listener(str(run / "judge") if hasattr(os, "fork") else None)
        job_file.write_text(json.dumps({**self.job, "judge": listener.address}), encoding="utf-8")
        self.manager = KernelManager(connection_file=str(run / "connection.json"))
        if sys.platform == "linux":  # sockets within this machine: the kernel can open no others
            self.manager.transport, self.manager.ip = "ipc", str(run / "s")
        self.manager._kernel_spec = KernelSpec(
            argv=[
                *self.before,
                sys.executable,
                "-P",
                "-m",
                "bertcourse_grading.kernel",
                "{connection_file}",
                str(job_file),
            ],
            display_name="grading",
            language="python",
            interrupt_mode="message" if "bubblewrap" in self.around else "signal",
        )
        self.log = open(self.folder / "kernel.log", "wb")  # noqa: SIM115, closed when the kernel ends
        with FAMILY:
            self.manager.start_kernel(
                cwd=str(self.work), env=self.environment(), stdout=subprocess.DEVNULL, stderr=self.log
            )
            self.process = psutil.Process(self.manager.provisioner.pid)
            RUNNING.add(self.process.pid)
        self.done = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        try:
            self.connection = accept(listener, 120)
            self.client.wait_for_ready(timeout=120)
        except RuntimeError as error:
            self.log.flush()
            last = read_start(self.folder / "kernel.log").strip().splitlines()[-1:]
            raise RuntimeError(f"the kernel did not start: {error} {''.join(last)}".strip()) from None
        family = self.family()
        self.base, self.helpers = sum(map(memory_of, family)), len(family) - 1

    def environment(self) -> dict[str, str]:
        """The variables that the kernel gets: none of the instructor's own but the few it needs."""
        home, temporary = self.make(self.own / "home"), self.make(self.own / "tmp")
        variables = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return {
            **variables,
            "HOME": str(home),
            "USERPROFILE": str(home),
            "TMPDIR": str(temporary),
            "TEMP": str(temporary),
            "TMP": str(temporary),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "IPYTHONDIR": str(home / ".ipython"),
            "MPLCONFIGDIR": str(with_font_list(home / "matplotlib")),
            "HF_HOME": str(home / "huggingface"),
            "HF_HUB_CACHE": os.environ.get("HF_HUB_CACHE", str(hugging_face_home() / "hub")),
            "HF_HUB_OFFLINE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
            "TQDM_DISABLE": "1",
            "NBGRADER_EXECUTION": "autograde",
            "GOMP_SPINCOUNT": "1000",
            "OMP_WAIT_POLICY": "PASSIVE",
            "BERTCOURSE_SUBMISSION": str(self.folder),
        }

    def execute(self, cell: NotebookNode, seconds: float) -> None:
        """Run a cell and store its outputs.

        Args:
            cell: a code cell.
            seconds: after so many it is interrupted.

        Raises:
            KernelEnded: if the process ended in it, or would not be interrupted.
        """
        cell.outputs, cell.execution_count, characters = [], None, 0
        request = self.client.execute(cell.source, allow_stdin=False, stop_on_error=False)
        deadline, interrupted, reply, idle = time.monotonic() + max(seconds, 0.5), False, None, False
        drained = math.inf
        while reply is None or not idle:
            message = self.message(0.2 if reply is None else 1.0)
            if reply is not None and (
                message is None or time.monotonic() > drained
            ):  # nothing more comes, or no end of it
                break
            if message is not None and parent_of(message) == request:
                content = message["content"]
                idle |= message["msg_type"] == "status" and content.get("execution_state") == "idle"
                characters = store(cell, message, characters)
            if reply is None:
                reply = self.take_reply(request)
                drained = time.monotonic() + DRAIN_SECONDS if reply is not None else drained
            if self.cancel.is_set():
                raise Cancelled
            if reply is None and not self.manager.is_alive():
                raise KernelEnded(self.killed or f"ended its process ({describe_exit(self.manager)})")
            if self.killed and reply is None and not self.process_is_there():
                raise KernelEnded(self.killed)
            if reply is None and time.monotonic() > deadline:
                if interrupted:
                    raise KernelEnded(f"ran for more than {seconds:.3g} s and could not be interrupted")
                self.manager.interrupt_kernel()
                interrupted, deadline = True, time.monotonic() + self.limits.grace_seconds
        if self.killed:
            raise KernelEnded(self.killed)
        content = reply["content"] if reply else {}
        cell.execution_count = content.get("execution_count")
        if interrupted:
            cell.outputs = [output for output in cell.outputs if output.output_type != "error"]
            cell.outputs.append(error_output("CellTimeoutError", f"it ran for more than {seconds:.3g} s"))
        elif content.get("status") == "error" and not any(output.output_type == "error" for output in cell.outputs):
            cell.outputs.append(error_output(content["ename"], content["evalue"]))

    def message(self, seconds: float) -> dict | None:
        """What the kernel shows next, if anything does that can be read: the notebook can reach what sends it."""
        try:
            message = self.client.get_iopub_msg(timeout=seconds)
        except queue.Empty:
            return None
        except Exception:
            time.sleep(0.01)  # there may be very many
            return None
        return message if isinstance(message.get("content"), dict) else None

    def judged(self, cell: NotebookNode, seconds: float) -> None:
        """Have the judge ask for what a graded cell tests, and store its verdict as the cell's outputs.

        Args:
            cell: of the assignment.
            seconds: after so many the answer is interrupted.

        Raises:
            KernelEnded: if the process ended in it, or would not be interrupted.
            JudgeFailed: if the judge fails.
        """
        shows = not split_hidden(cell.source)[1]
        self.judge.send({"judge": {**self.judge.job, "source": cell.source, "shows": shows}})
        found: list[Verdict | Exception] = []
        self.over = threading.Event()
        relay = threading.Thread(target=self.relay, args=(time.monotonic() + seconds, found), daemon=True)
        relay.start()
        asked = nbformat.v4.new_code_cell(SERVE)
        try:
            self.execute(asked, seconds + 1.0)
        finally:
            self.over.set()
            relay.join()
        if isinstance(found[0], Exception):
            raise found[0]
        if self.cancel.is_set():
            raise Cancelled
        cell.execution_count, cell.outputs = asked.execution_count, outputs_of(found[0])

    def relay(self, deadline: float, found: list) -> None:
        """Carry messages between judge and submission, until there is a verdict.

        Args:
            deadline: after it the judge is told that the submission does not answer.
            found: takes the verdict, or what went wrong.
        """
        try:
            while "ask" in (message := self.judge.receive(JUDGE_SECONDS)):
                self.judge.send(self.reply_to(message["ask"], deadline))
            if "fault" in message:
                raise JudgeFailed(message["fault"])
            found.append(Verdict(**message["verdict"]))
        except Exception as error:
            found.append(error)
        with contextlib.suppress(OSError):
            self.connection.send_bytes(b'{"done": true}')

    def reply_to(self, message: dict, deadline: float) -> dict:
        """What the submission says to a message of the judge's, or why it says nothing."""
        try:
            self.connection.send_bytes(json.dumps(message).encode())
            while time.monotonic() < deadline:
                if self.connection.poll(0.2):
                    return json.loads(self.connection.recv_bytes(MOST_BYTES))
                if self.over.is_set() or self.cancel.is_set():
                    return {"gone": self.killed or "did not answer the judge"}
        except (OSError, EOFError):
            return {"gone": self.killed or "did not answer the judge"}
        except (ValueError, RecursionError):
            return {"nonsense": True}
        return {"gone": f"ran for more than {self.limits.cell_seconds:g} s and was stopped"}

    def take_reply(self, request: str) -> dict | None:
        """The answer to a request, if it is there."""
        try:
            while True:
                message = self.client.get_shell_msg(timeout=0)
                if parent_of(message) == request:
                    return message
        except queue.Empty:
            return None
        except Exception:  # no message: the notebook can reach what sends them
            return None

    def process_is_there(self) -> bool:
        """Whether the kernel still runs."""
        return self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE

    def watch(self) -> None:
        """Ten times a second: whether it keeps its limits. A watcher that fails ends the run."""
        rounds = 0
        try:
            while not self.done.wait(0.1):
                self.look(with_files=rounds % 20 == 0)
                rounds += 1
        except Exception as error:
            self.fault = error
            self.kill("was no longer watched")

    def look(self, with_files: bool) -> None:
        """How much memory, how many processes, how large its folder; end it if that is much."""
        family = self.family()
        used = sum(map(memory_of, family))
        if len(family) > 1 and used > self.base + self.limits.memory:  # pages that a fork shares count once
            used = sum(memory_of(process, shared=False) for process in family)
        self.peak = max(self.peak, used)
        if self.base and used > self.base + self.limits.memory:
            self.kill(f"needed more than {self.limits.memory / 2**30:g} GiB of memory")
        elif len(family) - self.helpers > self.limits.processes:
            self.kill(f"started more than {self.limits.processes} processes")
        elif with_files:
            size = folder_size(self.folder)
            if size is None:
                self.kill(f"made folders in folders, more than {MOST_DEPTH} deep, or more than {MOST_FILES:,} files")
            elif size > self.limits.folder_size:
                self.kill(f"wrote more than {self.limits.folder_size / 2**20:.0f} MiB of files")

    def family(self) -> list[psutil.Process]:
        """The kernel's process and all that came from it."""
        try:
            return [self.process, *self.process.children(recursive=True)]
        except psutil.Error:
            return []

    def kill(self, reason: str) -> None:
        """End all of its processes, for this reason."""
        self.killed = self.killed or reason
        self.end()

    def end(self) -> None:
        """End the kernel's processes: its group at one stroke, then what left the group, then what left the family."""
        family = self.family()
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError, psutil.Error):
                os.killpg(self.process.pid, 9)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def stop(self) -> None:
        """End everything that the notebook started, and close the channels."""
        if not hasattr(self, "process"):
            return
        self.done.set()
        self.watcher.join()
        self.end()
        with FAMILY:
            RUNNING.discard(self.process.pid)
        kill_left_behind(self.folder)
        if hasattr(self, "client"):
            self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.log.close()

    def reports(self) -> list[dict[str, str]]:
        """What the sandbox wrote down."""
        if not self.report_file.exists():
            return []
        found = []
        for line in read_start(self.report_file).splitlines():
            try:
                found.append({"kind": str((content := json.loads(line))["kind"]), "text": str(content["text"])})
            except (ValueError, KeyError, TypeError):
                found.append({"kind": "changed", "text": "it wrote into the grader's report"})
        return found


def parent_of(message: dict) -> str | None:
    """The request that a message answers."""
    parent = message.get("parent_header")
    return parent.get("msg_id") if isinstance(parent, dict) else None


def outputs_of(verdict: Verdict) -> list[NotebookNode]:
    """A verdict as nbgrader reads it: an error for no points, a number for so many, neither for all."""
    outputs = []
    if verdict.printed:
        outputs.append(nbformat.v4.new_output("stream", name="stdout", text=verdict.printed))
    if verdict.kind:
        outputs = [error_output(verdict.kind, verdict.message)]
    elif verdict.points is not None:
        outputs.append(nbformat.v4.new_output("execute_result", {"text/plain": f"{verdict.points:g}"}))
    return outputs


def store(cell: NotebookNode, message: dict, characters: int) -> int:
    """Keep an output of a cell, up to a limit; its characters so far."""
    kind, content = message["msg_type"], message["content"]
    if kind == "clear_output":
        cell.outputs = []
        return characters
    if kind not in ("stream", "display_data", "execute_result", "error"):
        return characters
    size = len(json.dumps(content))
    if kind in ("stream", "display_data") and characters + size > CELL_CHARACTERS * (1 if kind == "stream" else 50):
        if characters <= CELL_CHARACTERS and kind == "stream":
            note = "\n… more was printed, and left out here\n"
            room = max(CELL_CHARACTERS - characters, 0)
            append_stream(cell, content["name"], content["text"][:room] + note)
        return characters + size
    if kind == "stream":
        append_stream(cell, content["name"], content["text"])
    elif size > CELL_CHARACTERS * 50:
        cell.outputs.append(error_output("TooMuchOutput", f"a result or an error of {size:,} characters"))
    else:
        cell.outputs.append(nbformat.v4.output_from_msg(message))
    return characters + size


def append_stream(cell: NotebookNode, name: str, text: str) -> None:
    """Add text to a cell's last output if that is the same stream, else as a new one."""
    if cell.outputs and cell.outputs[-1].output_type == "stream" and cell.outputs[-1].name == name:
        cell.outputs[-1].text += text
    else:
        cell.outputs.append(nbformat.v4.new_output("stream", name=name, text=text))


def describe_exit(manager: KernelManager) -> str:
    """How a process ended: with an exit status, or by a signal."""
    process = getattr(manager.provisioner, "process", None)
    status = process.poll() if process else None
    if status is None:
        return "no exit status"
    if status > 128 and status - 128 in set(signal.Signals):  # bubblewrap says it so
        status = 128 - status
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def memory_of(process: psutil.Process, shared: bool = True) -> int:
    """Bytes that a process holds; without ``shared`` each page counts in proportion to those who share it."""
    try:
        return (
            process.memory_info().rss
            if shared
            else getattr(process.memory_full_info(), "pss", process.memory_info().rss)
        )
    except psutil.Error:
        return 0


def folder_size(folder: Path) -> int | None:
    """Bytes that the files in a folder hold on disk; None where they are too many or lie too deep to count.

    A file of holes counts as what it holds.
    """
    total, files, open_folders = 0, 0, [(str(folder), 0)]
    while open_folders:
        path, depth = open_folders.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        open_folders.append((entry.path, depth + 1))
        except OSError:  # it is gone, or not to be read
            continue
        if depth > MOST_DEPTH or files > MOST_FILES:
            return None
    return total


def kill_left_behind(folder: Path) -> None:
    """End what a submission left behind: what has its folder in the environment, and orphans that are locked in."""
    for _ in range(50):
        found = [*strays(folder), *orphans()]
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not found:
            return


def strays(folder: Path) -> list[psutil.Process]:
    """Processes that submissions in this folder left behind, known by a variable that they inherited."""
    found = []
    for process in psutil.process_iter():
        try:
            mark = process.environ().get("BERTCOURSE_SUBMISSION")
            if mark and Path(mark).is_relative_to(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def orphans() -> list[psutil.Process]:
    """Processes whose parents have ended, so that they are this one's now (Linux); they are behind filters."""
    with FAMILY, contextlib.suppress(psutil.Error):
        own = seccomp_filters(os.getpid())
        children = [child for child in psutil.Process().children() if child.pid not in RUNNING]
        return [
            child for child in children if seccomp_filters(child.pid) > own and child.status() != psutil.STATUS_ZOMBIE
        ]
    return []


def seccomp_filters(pid: int) -> int:
    """How many filters of system calls a process is behind; 0 if it is gone, or this is not Linux."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        return int(dict(line.split(":", 1) for line in status.splitlines())["Seccomp_filters"])
    return 0


@contextlib.contextmanager
def folder_for_a_batch(record: Path) -> Iterator[Path]:
    """A folder for all temporary files of a batch. What a batch that was killed left behind, files and processes, is
    removed first.

    Args:
        record: a file that names the folder as long as it is there.
    """
    if record.exists():
        left = Path(record.read_text(encoding="utf-8", errors="replace").strip())
        if BATCH.fullmatch(left.name) and left.parent == Path(tempfile.gettempdir()):
            kill_left_behind(left)
            remove(left)
    sandbox.keep_family_together()
    folder = Path(tempfile.gettempdir()) / f"hw-{secrets.token_hex(8)}"
    record.write_text(str(folder), encoding="utf-8")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        remove(folder)
        record.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_for_a_while(place: Path | None) -> Iterator[Path]:
    """A temporary folder in a place, whatever a submission makes of it."""
    folder = Path(tempfile.mkdtemp(prefix="hw-", dir=place))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Delete a folder, also one of very many folders in folders or without the right to look into them."""
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if folder.exists():
            subprocess.run([*command, str(folder)], capture_output=True)


def read_start(path: Path) -> str:
    """The first megabyte of a text: whoever wrote it may have written much more."""
    with open(path, "rb") as file:
        return file.read(2**20).decode("utf-8", "replace")


def hugging_face_home() -> Path:
    """Where the instructor's models lie."""
    return Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))


def readable_from_environment() -> list[str]:
    """Data and models that notebooks may read."""
    return [
        str(hugging_face_home() / "hub"),  # not the token beside it
        *(os.environ[name] for name in ("BERTCOURSE_DATA", "BERTCOURSE_MODELS", "HF_HUB_CACHE") if name in os.environ),
    ]


def with_font_list(folder: Path) -> Path:
    """A folder for matplotlib with the instructor's list of fonts, which takes seconds to make."""
    folder.mkdir(parents=True)
    import matplotlib

    for path in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copy(path, folder)
    return folder
