"""The grader's end of the judge: starts its process, hands it one submission after the other."""

import contextlib
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
        self.process, self.connection, self.temporary, self.job = None, None, temporary, {}

    def start(self) -> None:
        """Start it, if it does not run."""
        if self.process is not None and self.process.poll() is None:
            return
        with tempfile.TemporaryDirectory(prefix="judge-", dir=self.temporary) as folder:
            listener = Listener(str(Path(folder) / "judge") if hasattr(os, "fork") else None)
            argv = [sys.executable, "-P", "-m", "bertcourse_grading.judge", listener.address]
            environment = {**os.environ, **PATIENT, "TQDM_DISABLE": "1", "MPLBACKEND": "agg"}
            self.process = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, start_new_session=hasattr(os, "setsid")
            )
            self.connection = accept(listener, 120, lambda: self.process.poll() is None)

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
        }
        self.forget()

    def forget(self) -> None:
        """What follows is of a new run of the submission: what it answered wrongly before does not count."""
        self.job["submission"] = next(self.submissions)

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
            if self.connection is not None:
                self.connection.close()
            self.process, self.connection = None, None


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
