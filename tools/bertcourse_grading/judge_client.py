"""The grader's end of the judge: starts its process and hands it one submission after the other."""

import contextlib
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from bertcourse_grading.course import Assignment

# OpenMP threads with nothing to do leave the cores to the other process: judge and submission take turns. A large
# machine starts no more threads than homework needs.
PATIENT = {"GOMP_SPINCOUNT": "1000", "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(min(4, os.cpu_count() or 1))}


class JudgeFailed(RuntimeError):
    """The judge cannot judge: the fault lies with the assignment or this machine, not with a student."""


class JudgeSilent(JudgeFailed):
    """The judge stopped answering and was ended."""


class Judge:
    """The judge's process, used for one submission after the other; started when it is needed.

    Args:
        temporary: where temporary files are made; None for this system's usual place.
    """

    submissions = itertools.count()

    def __init__(self, temporary: Path | None = None) -> None:
        self.process, self.connection, self.temporary, self.job, self.seed = None, None, temporary, {}, 0
        self.listener, self.opened = None, contextlib.ExitStack()

    def launch(self) -> None:
        """Start it, if it is not running, without waiting: the submission then starts during the seconds that it needs.
        It prepares for the assignment of the latest ``begin``."""
        if self.process is not None and self.process.poll() is None:
            return
        self.stop()
        folder = Path(self.opened.enter_context(tempfile.TemporaryDirectory(prefix="judge-", dir=self.temporary)))
        self.listener = Listener(str(folder / "judge") if hasattr(os, "fork") else None)
        argv = [sys.executable, "-P", "-m", "bertcourse_grading.judge", self.listener.address]
        environment = {**os.environ, **PATIENT, "TQDM_DISABLE": "1", "MPLBACKEND": "agg"}
        self.process = subprocess.Popen(
            argv, env=environment, stdin=subprocess.PIPE, start_new_session=hasattr(os, "setsid")
        )
        with contextlib.suppress(OSError), self.process.stdin as first:  # not in a file, which submissions could read
            first.write(json.dumps({name: self.job[name] for name in ("assignment", "setup", "solutions")}).encode())

    def start(self) -> None:
        """Start it, if it is not running, and wait until it is ready.

        Raises:
            JudgeFailed: if it does not start.
        """
        self.launch()
        if self.connection is None:
            try:
                self.connection = accept(self.listener, 120, lambda: self.process.poll() is None)
            except RuntimeError as error:
                raise JudgeFailed(f"the judge did not start: {error}") from None
            finally:
                self.opened.close()

    def begin(self, assignment: Assignment, seed: int) -> None:
        """Begin another submission.

        Args:
            assignment: the one that it answers.
            seed: for drawing the inputs of its hidden tests; seeds of further runs are derived from it.
        """
        self.job = {
            "assignment": assignment.fingerprint,
            "setup": assignment.setup,
            "solutions": assignment.solutions,
        }
        self.launch()
        self.seed = seed
        self.forget()

    def forget(self, run: int = 0) -> None:
        """Begin a new run of the submission: its earlier wrong answers do not count, and any hidden inputs that it may
        have stored somewhere are useless to it.

        Args:
            run: the run's number, starting at 0.
        """
        self.job |= {"submission": next(self.submissions), "seed": seed_of(self.seed, run)}

    def judge(self, source: str, shows: bool, later: Iterable[str] = ()) -> None:
        """Have a graded cell judged; ``receive`` then returns the judge's questions and its verdict.

        Args:
            source: of the cell, hidden tests included.
            shows: whether its last line's value counts as points and what it prints is shown.
            later: sources of the graded cells that are still to come.

        Raises:
            JudgeFailed: if it does not start.
        """
        self.start()
        job = {**self.job, "source": source, "shows": shows, "later": list(later)}
        self.send(json.dumps({"judge": job}).encode())

    def send(self, message: bytes) -> None:
        """Send a message, or pass on a submission's as it came: only the judge, whose memory is limited, parses it.

        Raises:
            JudgeFailed: if it is gone.
        """
        try:
            self.connection.send_bytes(message)
        except OSError as error:
            raise JudgeFailed(f"the judge ended: {error}") from None

    def receive(self, seconds: float) -> dict:
        """Receive a message.

        Raises:
            JudgeSilent: if none comes in time.
            JudgeFailed: if it is gone.
        """
        try:
            if self.connection.poll(seconds):
                return json.loads(self.connection.recv_bytes())
        except (OSError, EOFError) as error:
            raise JudgeFailed(f"the judge ended: {error}") from None
        self.stop()
        raise JudgeSilent(f"the judge said nothing for {seconds:g} s")

    def stop(self) -> None:
        """End the judge's process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for each in (self.connection, self.listener):
            if each is not None:
                each.close()
        self.process = self.connection = self.listener = None
        self.opened.close()


def seed_of(seed: int, run: int) -> int:
    """The seed for a run of a submission: its own for the first run, and one derived from it for each later run.

    >>> seed_of(1234, 0), seed_of(1234, 1)
    (1234, 196315069)
    """
    if run == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {run}".encode()).digest()[:4])


def accept(listener: Listener, seconds: float, is_there: Callable[[], bool]) -> Connection:
    """The first connection that is made.

    Args:
        listener: waits for it; closed at the end.
        seconds: how long to wait.
        is_there: says whether somebody may still connect.

    Raises:
        RuntimeError: if nobody connects in time.
    """
    found: list[Connection] = []

    def wait() -> None:
        with contextlib.suppress(OSError):
            found.append(listener.accept())

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    start = time.monotonic()
    while thread.is_alive() and is_there() and time.monotonic() < start + seconds:
        thread.join(0.2)
    listener.close()
    if not found:
        raise RuntimeError(f"nobody connected within {time.monotonic() - start:.3g} s")
    return found[0]
