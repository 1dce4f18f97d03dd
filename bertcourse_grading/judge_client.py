"""The grader's end of the judge: starts its process, hands it one submission after the other."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from bertcourse_grading.course import Assignment

# Threads of OpenMP that have nothing to do leave the cores to the other process: judge and submission take turns.
PATIENT = {"GOMP_SPINCOUNT": "1000", "OMP_WAIT_POLICY": "PASSIVE"}


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
            argv = [sys.executable, "-P", "-m", "bertcourse_grading.judge", listener.address]
            environment = {**os.environ, **PATIENT, "TQDM_DISABLE": "1", "MPLBACKEND": "agg"}
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
            self.process.kill()
            self.process.wait()
            if self.connection is not None:
                self.connection.close()
            self.process, self.connection = None, None


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
