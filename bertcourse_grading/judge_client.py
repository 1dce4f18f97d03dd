"""The grader's end of the judge: starts its process, hands it one submission after the other."""

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

# Threads of OpenMP that have nothing to do leave the cores to the other process: judge and submission take turns. A
# large machine starts no more of them than homework needs.
PATIENT = {"GOMP_SPINCOUNT": "1000", "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(min(4, os.cpu_count() or 1))}


class JudgeFailed(RuntimeError):
    """The judge cannot judge: the assignment or this machine is at fault, and no student."""


class JudgeSilent(JudgeFailed):
    """The judge says nothing any more, and was ended."""


class Judge:
    """The judge's process, used for one submission after the other; started when it is needed.

    Args:
        temporary: where temporary files are made; None for where this system makes them.
    """

    submissions = itertools.count()

    def __init__(self, temporary: Path | None = None) -> None:
        self.process, self.connection, self.temporary, self.job, self.seed = None, None, temporary, {}, 0
        self.listener, self.opened = None, contextlib.ExitStack()

    def launch(self) -> None:
        """Start it, if it does not run, and go on: what takes it seconds then passes while the submission starts. It
        prepares itself for the assignment that began last."""
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
        with contextlib.suppress(OSError), self.process.stdin as first:  # no file: submissions read files
            first.write(json.dumps({name: self.job[name] for name in ("assignment", "setup", "solutions")}).encode())

    def start(self) -> None:
        """Start it, if it does not run, and wait until it can be asked.

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
        """What follows is of another submission.

        Args:
            assignment: that it answers.
            seed: from which the inputs of its hidden tests are drawn, and the seeds of further runs.
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
        """What follows is of a new run of the submission: what it answered wrongly before does not count, and what it
        may have kept of the hidden inputs, in whatever place, is of no use.

        Args:
            run: its number; of the first one it is 0.
        """
        self.job |= {"submission": next(self.submissions), "seed": seed_of(self.seed, run)}

    def judge(self, source: str, shows: bool, later: Iterable[str] = ()) -> None:
        """Have a graded cell judged; its questions, and its verdict, are then received.

        Args:
            source: of the cell, hidden tests included.
            shows: whether its last line's value counts as points, and what it prints is shown.
            later: sources of the graded cells that are still to come.

        Raises:
            JudgeFailed: if it does not start.
        """
        self.start()
        job = {**self.job, "source": source, "shows": shows, "later": list(later)}
        self.send(json.dumps({"judge": job}).encode())

    def send(self, message: bytes) -> None:
        """Send a message, or pass a submission's on as it came: only the judge, whose memory is limited, reads it.

        Raises:
            JudgeFailed: if it is gone.
        """
        try:
            self.connection.send_bytes(message)
        except OSError as error:
            raise JudgeFailed(f"the judge ended: {error}") from None

    def receive(self, seconds: float) -> dict:
        """A message.

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
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for each in (self.connection, self.listener):
            if each is not None:
                each.close()
        self.process = self.connection = self.listener = None
        self.opened.close()


def seed_of(seed: int, run: int) -> int:
    """The seed of a submission's run: its own for the first one, and for each other one that is made from it.

    >>> seed_of(1234, 0), seed_of(1234, 1)
    (1234, 196315069)
    """
    if run == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {run}".encode()).digest()[:4])


def accept(listener: Listener, seconds: float, is_there: Callable[[], bool]) -> Connection:
    """Who connects first.

    Args:
        listener: closed at the end.
        seconds: to wait.
        is_there: whether somebody may still connect.

    Raises:
        RuntimeError: if nobody does in time.
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
