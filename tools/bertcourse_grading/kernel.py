"""The process that runs one submission: an IPython kernel that first gives up every right that it will not need.

    python -m bertcourse_grading.kernel CONNECTION_FILE JOB_FILE

It runs the cells, except for graded ones: there it answers what the judge asks (``Answers``) by calling the student's
functions. There is nothing to gain from tampering with this process: whatever is changed, the judge only gets an
answer, right or wrong. The order matters: Landlock and seccomp bind the thread that calls them and what it starts
later, so they come before anything that starts threads.
"""

import contextlib
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import bertcourse  # noqa: F401
import bertcourse_figures  # noqa: F401 (found now: the folder that holds it cannot be listed later)
import bertcourse_homework
import bertcourse_lab  # noqa: F401
from bertcourse_grading import sandbox, wire
from bertcourse_homework import engine

MOST_TEXT = 100_000  # characters in an error's text, and in a line of its traceback
MISSING = object()  # stands for what the notebook does not define
# The code that the grader runs in place of a graded cell.
SERVE = "__import__('sys').modules['bertcourse_grading.kernel'].ANSWERS[0].serve({})"


class Answers:
    """Answers what the judge asks.

    Args:
        connection: to the grader.
        names: returns the dictionary that holds the notebook's names now.
    """

    def __init__(self, connection: Connection, names: Callable[[], dict[str, Any]]) -> None:
        self.connection, self.names = connection, names
        self.held: list[Any] = []
        self.own: dict[str, Any] = {}  # the notebook's own values, where the reference stands in
        self.asked = 0  # the number of the judge's question

    @property
    def namespace(self) -> dict[str, Any]:
        """The notebook's names."""
        return self.names()

    def serve(self, cell: int) -> None:
        """Answer until the judge has no more questions.

        Args:
            cell: the number of the graded cell; the end of an earlier cell that was cut short is skipped.
        """
        try:
            while (message := wire.loads(self.connection.recv_bytes())).get("done") != cell:
                if "number" in message and "wait" not in message:
                    self.connection.send_bytes(self.reply(message))
        finally:
            self.stand_in([])

    def reply(self, message: dict[str, Any]) -> bytes:
        """The reply to a message, or the reason why it cannot be sent."""
        number = {"number": message["number"]}
        try:
            data = wire.dumps({**self.answer(message), **number})
            if len(data) <= wire.MOST_BYTES:
                return data
            reason = f"an answer of {len(data) >> 20} MiB; at most {wire.MOST_BYTES >> 20}"
        except Exception as error:  # arguments that it changed, or an error of its own, cannot be packed
            reason = f"what cannot be sent ({type(error).__name__})"
        return wire.dumps({"raised": ["ValueError", reason, ""], **number})

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply to one message: what a name stands for, what a function returns, or that stand-ins are in place."""
        self.asked = message["number"]
        if "fetch" in message:
            return self.fetch(message["fetch"])
        if "stand_in" in message:
            self.stand_in(message["stand_in"])
            return {"done": True}
        return self.call(message["call"], message["arguments"], message["keywords"])

    def fetch(self, name: str) -> dict[str, Any]:
        """What a name stands for in the notebook."""
        if name not in self.namespace:
            return {"missing": True}
        value = self.namespace[name]
        try:
            return {"function": True} if callable(value) else {"value": wire.pack(value, self.hold)}
        except Exception as error:
            return {"value": f"{type(error).__name__}: {error}"}

    def call(self, name: str, arguments: list, keywords: dict) -> dict[str, Any]:
        """What a function returns, and its arguments after the call if it changed them."""
        given = [wire.unpack(each, self.find) for each in arguments]
        named = {key: wire.unpack(each, self.find) for key, each in keywords.items()}
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                value = self.namespace[name](*given, **named)
            reply = {"value": wire.pack(value, self.hold)}
        except NotImplementedError as error:
            return {"stub": traceback.extract_tb(error.__traceback__)[-1].name}
        except BaseException as error:  # SystemExit and KeyboardInterrupt, too: the judge must know
            return {"raised": [type(error).__name__, str(error)[:2000], engine.place_of(error)]}
        finally:
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        after = [wire.pack(each, self.hold) for each in given]
        return {**reply, "after": None if after == arguments else after}

    def hold(self, value: Any) -> int:
        """Keep a value that cannot be sent, and return its number."""
        self.held.append(value)
        return len(self.held) - 1

    def find(self, number: int, kind: str) -> Any:
        """A value that was kept; None for a model, which is rebuilt from its parameters."""
        return None if kind == "module" else self.held[number]

    def stand_in(self, names: list[str]) -> None:
        """Replace the notebook's functions of these names, defined or not, by ones that ask the reference; all others
        become its own again."""
        for name, value in self.own.items():
            if value is MISSING:
                self.namespace.pop(name, None)
            else:
                self.namespace[name] = value
        self.own = {name: self.namespace.get(name, MISSING) for name in names}
        self.namespace.update({name: self.asks_reference(name) for name in names})

    def asks_reference(self, name: str) -> Callable:
        """A function whose result comes from the reference, in the judge's process."""

        def stand_in(*arguments: Any, **keywords: Any) -> Any:
            packed = [wire.pack(each) for each in arguments]
            named = {key: wire.pack(each) for key, each in keywords.items()}
            wanted = {"wants": name, "arguments": packed, "keywords": named, "number": self.asked}
            self.connection.send_bytes(wire.dumps(wanted))
            return wire.unpack(wire.loads(self.connection.recv_bytes())["given"])

        return stand_in


ANSWERS: list[Answers] = []


def main(connection_file: str, job_file: str) -> None:  # pragma: no cover (it runs in a process that is killed)
    """Lock this process in and serve a notebook.

    Args:
        connection_file: path of the kernel's connection file.
        job_file: JSON: own, readable, hidden (paths), judge (address), memory, file_size, tasks, reports (path), walls
            (whether to use the system's).

    Raises:
        RuntimeError: if it runs as root and the system has no walls.

    Source: ipykernel's launcher.
    """
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    reports, own = sandbox.Reports(Path(job["reports"])), [Path(path) for path in job["own"]]
    connection = Client(job["judge"])  # while other programs here can still be reached
    walls = job["walls"] and sys.platform == "linux" and lock_in(job, own)
    if job["walls"] and hasattr(os, "geteuid") and os.geteuid() == 0 and not walls:
        raise RuntimeError("as root it needs Landlock and seccomp, and they are not there: grade as an ordinary user")
    reports.add("walls", "system" if walls else "python")

    from ipykernel.iostream import IOPubThread
    from ipykernel.kernelapp import IPKernelApp

    if walls:  # ipykernel would open a network socket for what forked processes print
        IOPubThread._setup_pipe_in = lambda thread: setattr(thread, "_pipe_flag", False)
    bertcourse_homework.check = engine.check = check_later
    sys.modules["bertcourse_grading.kernel"] = sys.modules["__main__"]  # whose name the notebook is about to take
    app = IPKernelApp.instance()
    app.initialize(["-f", connection_file, "--HistoryManager.hist_file=:memory:", "--IPKernelApp.quiet=True"])
    shell = app.kernel.shell
    keep_errors_short(app.kernel)
    ANSWERS.append(Answers(connection, lambda: shell.user_ns))

    def leave(*arguments) -> None:
        raise SystemExit("exit() ends a cell, not the grading")

    shell.ask_exit = leave
    for name in ("exit", "quit"):
        shell.user_ns[name] = leave
    sandbox.limit_memory(job["memory"], job["file_size"])
    hidden = [Path(path) for path in [*job["hidden"], *bertcourse_homework.__path__ * (not walls)]]
    sys.addaudithook(sandbox.guard(own, hidden, programs=walls, report=reports.add))
    app.start()


def lock_in(job: dict[str, Any], own: list[Path]) -> bool:  # pragma: no cover (it binds its process)
    """Give up all rights that the system can take away; returns whether it could."""
    del os.environ["JPY_PARENT_PID"]  # the system ends it when its parent ends
    sandbox.end_with_parent()
    sandbox.keep_family_together()
    sandbox.limit_tasks(job["tasks"])
    readable, listed = sandbox.readable_places(job["readable"], map(Path, job["hidden"]))
    walls = [sandbox.lock_files(own, readable, listed), sandbox.lock_calls()]
    sandbox.drop_capabilities()
    return all(walls)


def keep_errors_short(kernel: Any) -> None:
    """Shorten long error texts before they are sent: the grader drops very long messages, and a cell whose reply is
    dropped would seem never to end."""
    show, execute = kernel.shell._showtraceback, kernel.do_execute

    def show_short(kind: type, error: BaseException, lines: list[str]) -> None:
        show(kind, str(error)[:MOST_TEXT], [line[:MOST_TEXT] for line in lines])

    async def execute_short(*arguments: Any, **keywords: Any) -> dict[str, Any]:
        reply = await execute(*arguments, **keywords)
        for name in ("ename", "evalue"):
            if name in reply:
                reply[name] = str(reply[name])[:MOST_TEXT]
        return {**reply, "traceback": [str(line)[:MOST_TEXT] for line in reply.get("traceback") or []]}

    kernel.shell._showtraceback, kernel.do_execute = show_short, execute_short


def check_later(number: str, answer: Callable) -> None:
    """Replaces ``check`` in a submission's own cells while it is graded."""
    print(f"{number} is checked by the grader.")


if __name__ == "__main__":
    main(*sys.argv[1:])
