"""The process of one submission: a watched IPython kernel that runs cells and answers the judge."""

import contextlib
import json
import math
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Listener
from pathlib import Path

import nbformat
import psutil
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session
from nbformat import NotebookNode

from bertcourse_grading import cleaning, sandbox, walls
from bertcourse_grading.channel import MOST_MESSAGE, Channel
from bertcourse_grading.cleaning import FAMILY, RUNNING, folder_size, kill_left_behind, orphans, read_start
from bertcourse_grading.course import split_hidden
from bertcourse_grading.judge import GONE, REPLY, Verdict
from bertcourse_grading.judge_client import PATIENT, Judge, JudgeFailed, JudgeSilent, accept
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
CELL_CHARACTERS, MOST_CHARACTERS = 100_000, 5_000_000  # of what a cell prints; of its figures, results and errors
MOST_REPLIES = 100  # how many are read at a time in search of the one that answers a request
START_SECONDS = 120.0  # for the kernel to start and to answer
MOST_TASKS = 1000  # threads and processes, including many that end before the watcher looks
JUDGE_SECONDS, ALL_JUDGE_SECONDS = 120.0, 300.0  # how long the judge may think about one cell; about all of them
DRAIN_SECONDS = 5.0  # for reading what a cell printed, once the cell is done


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Attributes:
        cell_seconds: wall-clock time of one cell.
        grace_seconds: how much longer an interrupted cell may go on before it is ended along with its process.
        total_seconds: wall-clock time of all cells, including restarts but not the waiting in slow runs.
        memory: bytes, beyond what Python and the packages of the setup cell take.
        processes: processes at a time.
        file_size: bytes of one file that it writes.
        folder_size: bytes of all files that it writes.
        restarts: how many cells may be left out for killing the process; each time, the notebook is run again.
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


class KernelEnded(Exception):
    """The process is gone; the text says why."""


class NotInterrupted(KernelEnded):
    """A cell could not be interrupted, so its process was ended: there is no doubt which cell it was."""


class Cancelled(Exception):
    """The batch is being cancelled by the person who started it."""


class Process:
    """One kernel, watched.

    Args:
        folder: for this kernel alone; the notebook may write into its subfolder ``own``.
        work: the folder, inside ``folder``, in which the notebook runs; it is moved into ``own``.
        judge: the one that asks it.
        hidden: folders that it must not read.
        limits: what it may use.
        cancel: once it is set, nothing more is run.
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
        self.fault: Exception | None = None  # an error in the watcher
        self.opened = contextlib.ExitStack()
        self.headless: set[int] = set()  # processes whose first thread had ended when the watcher last looked
        self.served, self.deadline = 0, 0.0  # graded cells so far; deadline of the cell that is running
        self.patience = ALL_JUDGE_SECONDS
        has_walls = limits.walls and sys.platform == "linux"
        wrapped = walls.bubblewrap(folder, hidden) if has_walls else []
        grouped = walls.control_group(limits.memory, MOST_TASKS) if has_walls else []
        self.before = [*grouped, *wrapped]
        self.around = ["bubblewrap"] * bool(wrapped) + ["cgroup"] * bool(grouped)
        self.job = {
            "own": [str(self.own), *[str(sandbox.SHARED_MEMORY)] * bool(wrapped)],
            "readable": readable_from_environment(),
            "hidden": list(map(str, hidden)),
            "memory": limits.memory,
            "file_size": limits.file_size,
            "tasks": MOST_TASKS,
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
        listener = self.opened.enter_context(Listener(str(run / "judge") if hasattr(os, "fork") else None))
        job_file.write_text(json.dumps({**self.job, "judge": listener.address}), encoding="utf-8")
        key = secrets.token_hex().encode()
        connection_file = str(run / "connection.json")
        _, ports = write_connection_file(connection_file, transport="ipc", ip=str(run / "s"), key=key)
        self.session = Session(key=key)
        argv = [*self.before, sys.executable, "-P", "-m", "bertcourse_grading.kernel", connection_file, str(job_file)]
        log = self.opened.enter_context((self.folder / "kernel.log").open("wb"))
        with FAMILY:
            self.kernel = subprocess.Popen(
                argv,
                cwd=self.work,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=hasattr(os, "setsid"),
            )
            self.process = psutil.Process(self.kernel.pid)
            RUNNING.add(self.process.pid)
        self.done = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()
        try:
            self.connection = accept(listener, START_SECONDS, self.is_alive)
            self.iopub, self.shell = (
                self.opened.enter_context(
                    contextlib.closing(Channel(f"{run / 's'}-{ports[port]}", kind, START_SECONDS, self.is_alive))
                )
                for port, kind in (("iopub_port", "SUB"), ("shell_port", "DEALER"))
            )
            self.wait_until_ready()
        except RuntimeError as error:
            last = read_start(self.folder / "kernel.log").strip().splitlines()[-1:]
            raise RuntimeError(f"the kernel did not start: {error} {''.join(last)}".strip()) from None
        family = self.family()
        self.base, self.helpers = sum(map(memory_of, family)), len(family) - 1

    def environment(self) -> dict[str, str]:
        """The environment variables for the kernel: of the instructor's own, only the few that it needs."""
        home, temporary = self.make(self.own / "home"), self.make(self.own / "tmp")
        kept = [*KEPT_VARIABLES, *(walls.BUS if "cgroup" in self.around else ())]
        variables = {name: os.environ[name] for name in kept if name in os.environ}
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
            **PATIENT,
            "BERTCOURSE_SUBMISSION": str(self.folder),
            "JPY_PARENT_PID": str(os.getpid()),  # without the system's walls, this makes it end when the grader does
        }

    def wait_until_ready(self) -> None:
        """Wait until the kernel answers and its output arrives here.

        Raises:
            RuntimeError: if that does not happen.
        """
        start = time.monotonic()
        while self.is_alive() and time.monotonic() < start + START_SECONDS:
            request = self.ask("kernel_info_request", {})
            while (message := self.iopub.receive(0.5)) is not None:
                if message["request"] == request and is_idle(message):
                    return
        raise RuntimeError(f"no answer within {time.monotonic() - start:.3g} s")

    def ask(self, kind: str, content: dict) -> str:
        """Send the kernel one of Jupyter's requests, and return its id."""
        message = self.session.msg(kind, content)
        self.shell.send(self.session.serialize(message))
        return message["msg_id"]

    def is_alive(self) -> bool:
        """Whether the process that was started has not ended."""
        return self.kernel.poll() is None

    def execute(self, cell: NotebookNode, seconds: float) -> None:
        """Run a cell and store its outputs.

        Args:
            cell: a code cell.
            seconds: how long it may run before it is interrupted.

        Raises:
            KernelEnded: if the process ended during the cell, or could not be interrupted.
        """
        self.deadline = time.monotonic() + max(seconds, 0.5)
        self.finish(cell, seconds)

    def finish(self, cell: NotebookNode, seconds: float) -> None:
        """As ``execute``, but until ``deadline``, which may be moved while the cell runs."""
        cell.outputs, cell.execution_count, used = [], None, Counter()
        how = {"silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
        request = self.ask("execute_request", {"code": cell.source, "user_expressions": {}, **how})
        interrupted, reply, idle, drained = False, None, False, math.inf
        while reply is None or not idle:
            message = self.iopub.receive(0.2 if reply is None else 1.0)
            if reply is not None and (
                message is None or time.monotonic() > drained
            ):  # nothing more comes, or it never stops
                break
            if message is not None and message["request"] == request:
                idle |= is_idle(message)
                with contextlib.suppress(KeyError, TypeError, AttributeError):  # not an output, whoever sent it
                    store(cell, message, used)
            if reply is None:
                reply = self.take_reply(request)
                drained = time.monotonic() + DRAIN_SECONDS if reply is not None else drained
            if self.cancel.is_set():
                raise Cancelled
            if reply is None and not self.is_alive():
                raise KernelEnded(self.killed or f"ended its process ({describe_exit(self.kernel)})")
            if self.killed and reply is None and not self.process_is_there():
                raise KernelEnded(self.killed)
            if reply is None and time.monotonic() > self.deadline:
                if interrupted:
                    self.look_at_files()  # which say more than the time, if the watcher has not come to them yet
                    late = f"ran for more than {seconds:.3g} s and could not be interrupted"
                    raise NotInterrupted(self.killed or late)
                self.interrupt()
                interrupted, self.deadline = True, time.monotonic() + self.limits.grace_seconds
        if self.killed:
            raise KernelEnded(self.killed)
        content = reply["content"] if reply else {}
        count = content.get("execution_count")
        cell.execution_count = count if type(count) is int else None
        if interrupted:
            cell.outputs = [output for output in cell.outputs if output.output_type != "error"]
            cell.outputs.append(error_output("CellTimeoutError", f"it ran for more than {seconds:.3g} s"))
        elif content.get("status") == "error" and not any(output.output_type == "error" for output in cell.outputs):
            name, text = (str(content.get(key))[:CELL_CHARACTERS] for key in ("ename", "evalue"))
            cell.outputs.append(error_output(name, text))

    def settle(self, seconds: float) -> None:
        """Wait to see whether the process ends although no cell is running.

        Raises:
            KernelEnded: if it does.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if self.cancel.is_set():
                raise Cancelled
            if self.killed:
                raise KernelEnded(self.killed)
            if not self.is_alive():
                raise KernelEnded(self.killed or f"ended its process after it had run ({describe_exit(self.kernel)})")

    def judged(self, cell: NotebookNode, seconds: float, later: list[str]) -> None:
        """Let the judge ask what a graded cell tests, and store its verdict as the cell's outputs.

        Args:
            cell: a graded cell of the assignment.
            seconds: how long the submission may take before it is interrupted.
            later: sources of the graded cells that are still to come.

        Raises:
            KernelEnded: if the process ended during the cell, or could not be interrupted.
            JudgeFailed: if the judge fails.
        """
        self.judge.judge(cell.source, not split_hidden(cell.source)[1], later)
        found: list[Verdict | Exception] = []
        self.over, self.deadline = threading.Event(), math.inf  # no deadline while the judge thinks
        relay = threading.Thread(target=self.relay, args=(max(seconds, 0.5), found), daemon=True)
        relay.start()
        self.served += 1
        asked = nbformat.v4.new_code_cell(SERVE.format(self.served))
        try:
            self.finish(asked, seconds)
        finally:
            self.over.set()
            relay.join(DRAIN_SECONDS)
            if relay.is_alive():  # it waits for the rest of a message, or for one to be read
                self.kill("stopped in the middle of an answer to the judge")
                relay.join()
        if isinstance(found[0], Exception):
            raise found[0]
        if self.cancel.is_set():
            raise Cancelled
        cell.execution_count, cell.outputs = asked.execution_count, outputs_of(found[0])

    def relay(self, seconds: float, found: list) -> None:
        """Carry messages between the judge and the submission until there is a verdict.

        Args:
            seconds: for all answers together; after that, the judge is told that the submission does not answer.
            found: the verdict, or the exception if something went wrong, is appended to it.
        """
        answers, patience = 0, min(JUDGE_SECONDS, self.patience)
        try:
            while "ask" in (message := self.judge.receive(max(0.0, patience))):
                asked = time.monotonic()
                self.deadline = asked + seconds + 1.0
                self.judge.send(self.reply_to(message["ask"], asked + seconds))
                seconds, answers = seconds - (time.monotonic() - asked), answers + 1
                self.deadline = math.inf
            if "fault" in message:
                raise JudgeFailed(message["fault"])
            found.append(Verdict(**message["verdict"]))
        except JudgeSilent as error:
            slow = f"gave what the judge could not work through in {patience:g} s"
            found.append(Verdict(kind="JudgeSilent", message=slow) if answers else error)
        except Exception as error:
            found.append(error)
        self.deadline = time.monotonic() + 1.0
        with contextlib.suppress(OSError):
            self.connection.send_bytes(json.dumps({"done": self.served}).encode())

    def reply_to(self, message: dict, deadline: float) -> bytes:
        """The submission's reply to a message from the judge, unparsed, or why there is none; see ``judge.serve``."""
        gone = f"ran for more than {self.limits.cell_seconds:g} s and was stopped"
        try:
            self.connection.send_bytes(json.dumps(message).encode())
            while time.monotonic() < deadline:
                if self.connection.poll(0.2):
                    return REPLY + self.connection.recv_bytes(MOST_BYTES)
                if self.over.is_set() or self.cancel.is_set():
                    gone = self.killed or "did not answer the judge"
                    break
            else:
                self.look_at_files()  # as in finish
                gone = self.killed or gone
        except (OSError, EOFError):
            gone = self.killed or "did not answer the judge"
        return GONE + gone.encode()

    def take_reply(self, request: str) -> dict | None:
        """The reply to a request, if it has arrived."""
        for _ in range(MOST_REPLIES):  # messages may never stop coming
            message = self.shell.receive(0.0)
            if message is None or message["request"] == request and message["content"] is not None:
                return message
        return None

    def process_is_there(self) -> bool:
        """Whether the kernel is still running."""
        return self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE

    def watch(self) -> None:
        """Check ten times a second whether the submission keeps its limits, and every other second its files; an error
        in the watcher ends the run."""
        files_at = -math.inf
        try:
            while not self.done.wait(0.1):
                if not self.look() and time.monotonic() > files_at + 2.0:
                    self.look_at_files()
                    files_at = time.monotonic()
        except Exception as error:
            self.fault = error
            self.kill("was no longer watched")

    def look(self) -> bool:
        """Check its memory and its processes; end it if they exceed a limit, and say whether they do."""
        family = self.family()
        headless = {process.pid for process in family if lives_without_head(process)}
        if headless & self.headless:
            self.kill("went on in a thread after its first one had ended, where nobody sees its memory")
            return True
        self.headless = headless
        if len(family) - self.helpers > self.limits.processes:
            self.kill(f"started more than {self.limits.processes} processes")
            return True
        used = sum(map(memory_of, family))
        if len(family) > 1 and used > self.base + self.limits.memory:  # pages shared between forks count once
            used = sum(memory_of(process, shared=False) for process in family)
        self.peak = max(self.peak, used)
        if self.base and used > self.base + self.limits.memory:
            self.kill(f"needed more than {self.limits.memory / 2**30:g} GiB of memory")
            return True
        return False

    def look_at_files(self) -> None:
        """Check its files; end it if they exceed a limit. What earlier processes left behind is ended, too."""
        for process in orphans():
            with contextlib.suppress(psutil.Error):
                process.kill()
        size = folder_size(self.folder)
        if size is None:
            deep, many = cleaning.MOST_DEPTH, cleaning.MOST_FILES
            self.kill(f"made folders in folders, more than {deep} deep, or more than {many:,} files")
        elif size + self.unlinked(self.family()) > self.limits.folder_size:
            self.kill(f"wrote more than {self.limits.folder_size / 2**20:.0f} MiB of files")

    def unlinked(self, family: list[psutil.Process]) -> int:
        """Bytes of its files that were deleted but are still held open or mapped."""
        return cleaning.unlinked_size(self.folder, family, self.limits.file_size)

    def family(self) -> list[psutil.Process]:
        """The kernel's process and all its descendants."""
        try:
            return [self.process, *self.process.children(recursive=True)]
        except psutil.Error:
            return []

    def interrupt(self) -> None:
        """Send Ctrl-C to all of its processes except bubblewrap's, which would end."""
        for process in self.family():
            with contextlib.suppress(psutil.Error):
                if process.name() != "bwrap":
                    process.send_signal(signal.SIGINT)

    def kill(self, reason: str) -> None:
        """End all of its processes, and keep the first reason given."""
        self.killed = self.killed or reason
        self.end()

    def end(self) -> None:
        """End the kernel's processes: first its process group, all at once, then descendants that left the group."""
        family = self.family()
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError, psutil.Error):
                os.killpg(self.process.pid, 9)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def stop(self) -> None:
        """End everything that the notebook started, and close what was opened."""
        self.opened.close()
        if not hasattr(self, "process"):
            return
        self.done.set()
        self.watcher.join()
        self.end()
        with FAMILY:
            RUNNING.discard(self.process.pid)
        kill_left_behind(self.folder)
        self.kernel.wait()

    def reports(self) -> list[dict[str, str]]:
        """The sandbox's reports, starting with which walls there are; the submission can write there, too."""
        if not hasattr(self, "connection"):  # the kernel did not start
            return []
        lines = read_start(self.report_file).splitlines() if self.report_file.exists() else []
        found = []
        for number, line in enumerate(lines[: sandbox.MOST_REPORTS + 1]):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                kind, text = (json.loads(line)[key] for key in ("kind", "text"))
                if (kind == "walls" and text in ("system", "python")) if number == 0 else kind in sandbox.KINDS:
                    found.append({"kind": kind, "text": str(text)[: sandbox.MOST_TEXT]})
        if not found or len(found) != len(lines):
            found.append({"kind": "changed", "text": "it wrote into the grader's report"})
        return found


def is_idle(message: dict) -> bool:
    """Whether the kernel says that it is done."""
    return message["msg_type"] == "status" and (message["content"] or {}).get("execution_state") == "idle"


def outputs_of(verdict: Verdict) -> list[NotebookNode]:
    """A verdict as nbgrader reads it: an error for no points, a number for that many, neither for all."""
    outputs = []
    if verdict.printed:
        outputs.append(nbformat.v4.new_output("stream", name="stdout", text=verdict.printed))
    if verdict.kind:
        outputs = [error_output(verdict.kind, verdict.message)]
    elif verdict.points is not None:
        outputs.append(nbformat.v4.new_output("execute_result", {"text/plain": f"{verdict.points:g}"}))
    return outputs


def error_output(name: str, text: str) -> NotebookNode:
    """The output of a cell that raised."""
    return nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def store(cell: NotebookNode, message: dict, used: Counter) -> None:
    """Keep an output of a cell, up to a limit.

    Args:
        cell: the cell that shows it.
        message: from the kernel.
        used: the number of characters so far, in printed text ("stream") and in everything else ("rest").
    """
    kind, content = message["msg_type"], message["content"]
    if kind == "clear_output":
        cell.outputs, used["rest"] = [], 0
    if kind not in ("stream", "display_data", "execute_result", "error"):
        return
    size = MOST_MESSAGE if content is None else len(json.dumps(content))  # None: it was too large to be read
    content, place = content or {}, "stream" if kind == "stream" else "rest"
    before, most = used[place], CELL_CHARACTERS if kind == "stream" else MOST_CHARACTERS
    used[place] += size
    if used[place] > most:
        if before <= most and kind == "stream":
            note = "\n… more was printed, and left out here\n"
            append_stream(cell, content.get("name", "stdout"), content.get("text", "")[: most - before] + note)
        elif before <= most:
            text = f"figures, results and errors of more than {MOST_CHARACTERS:,} characters"
            cell.outputs.append(error_output("TooMuchOutput", text))
    elif kind == "stream":
        append_stream(cell, content["name"], content["text"])
    else:
        output = nbformat.v4.output_from_msg(message)
        if "metadata" in output:
            output.metadata = {}  # a width that is not a number could inject HTML
        cell.outputs.append(output)


def append_stream(cell: NotebookNode, name: str, text: str) -> None:
    """Add text to a cell's last output if that is the same stream, or else as a new output."""
    if cell.outputs and cell.outputs[-1].output_type == "stream" and cell.outputs[-1].name == name:
        cell.outputs[-1].text += text
    else:
        cell.outputs.append(nbformat.v4.new_output("stream", name=name, text=text))


def describe_exit(process: subprocess.Popen) -> str:
    """How a process ended: with an exit status, or by a signal."""
    status = process.poll()
    if status is None:
        return "no exit status"
    if status > 128 and status - 128 in set(signal.Signals):  # how bubblewrap reports a signal
        status = 128 - status
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def memory_of(process: psutil.Process, shared: bool = True) -> int:
    """Bytes that a process holds, on Linux including its page tables; with ``shared=False``, a page is divided among
    the processes that share it, where the system says so."""
    tables = 0
    with contextlib.suppress(OSError, KeyError, ValueError):
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8", errors="replace")
        tables = 1024 * int(dict(line.split(":", 1) for line in status.splitlines())["VmPTE"].split()[0])
    with contextlib.suppress(psutil.Error, AttributeError):  # the process hides it, or this is not Linux
        if not shared:
            return tables + process.memory_full_info().pss
    with contextlib.suppress(psutil.Error):
        return tables + process.memory_info().rss
    return 0


def lives_without_head(process: psutil.Process) -> bool:
    """Whether a process's first thread has ended while others go on; the system then shows none of its memory."""
    with contextlib.suppress(psutil.Error, OSError):
        return process.status() == psutil.STATUS_ZOMBIE and len(os.listdir(f"/proc/{process.pid}/task")) > 1
    return False


def hugging_face_home() -> Path:
    """The folder of the instructor's models."""
    return Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))


def readable_from_environment() -> list[str]:
    """Data and models that notebooks may read."""
    return [
        str(hugging_face_home() / "hub"),  # not the token beside it
        *(os.environ[name] for name in ("BERTCOURSE_DATA", "BERTCOURSE_MODELS", "HF_HUB_CACHE") if name in os.environ),
    ]


def with_font_list(folder: Path) -> Path:
    """A new folder for matplotlib with a copy of the instructor's font list, which would take seconds to build."""
    folder.mkdir(parents=True)
    import matplotlib

    for path in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copy(path, folder)
    return folder
