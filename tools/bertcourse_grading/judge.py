"""The judge: runs an assignment's checks and hidden tests in a process that no submission can reach.

    python -m bertcourse_grading.judge ADDRESS

The lines of a graded cell run here, with the names of the assignment's setup; a name that they use but do not define is
the student's. A student's function becomes a ``Student``: its arguments go to the submission's process, and plain
values come back (``wire``). So expected values, tolerances and inputs still to come are never where the student's code
runs.

Each message is a dictionary. The grader sends ``judge`` (a job); the judge sends ``ask`` (for the submission) and
``verdict``, or ``fault`` if the assignment itself does not work.
"""

import ast
import builtins
import contextlib
import io
import itertools
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Client, Connection
from typing import Any

from bertcourse_grading import sandbox, wire
from bertcourse_homework import engine
from bertcourse_homework.engine import AnswerRaised, CheckFailed, NotWritten

REPLY, GONE = b"R", b"G"  # prefix of a submission's own bytes; of the grader's reason why there are none
MOST_MEMORY, MOST_FILE = 4 * 2**30, 2**20  # bytes for the judge: an answer that makes it need more costs only itself


@dataclass(frozen=True)
class Verdict:
    """The outcome of a graded cell.

    Attributes:
        points: the number of points that the cell gave as its result; None for all or nothing.
        kind, message: the type and message of the exception that it failed with; empty if it did not fail.
        printed: what the checks printed.
    """

    points: float | None = None
    kind: str = ""
    message: str = ""
    printed: str = ""


class Gone(Exception):
    """The submission no longer answers; the text says why."""


class Desk:
    """Where the judge asks the submission.

    Args:
        exchange: sends a message and returns the reply.
        reference: returns the reference function of a given name, to stand in for a wrong answer.
    """

    def __init__(self, exchange: Callable[[dict], dict], reference: Callable[[str], Callable]) -> None:
        self.exchange, self.reference = exchange, reference
        self.numbers, self.models, self.standing = itertools.count(1), {}, []

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply with the message's number; until it comes, whatever the reference stands in for is answered.

        Raises:
            Gone: if there is none.
            CheckFailed: if what came is not a message.
        """
        number = next(self.numbers)
        try:
            reply = self.exchange({**message, "number": number})
            for _ in range(100_000):
                if "gone" in reply:
                    raise Gone(str(reply["gone"]))
                if reply.get("number") != number:  # it answers an earlier question, or none
                    reply = self.exchange({"number": 0, "wait": True})
                elif "wants" in reply:
                    reply = self.exchange({"number": number, "given": self.given(reply)})
                else:
                    return reply
        except (wire.WireError, KeyError, TypeError) as error:
            raise CheckFailed(f"what came back cannot be read: {error}") from None
        raise Gone("it answered what nobody had asked")

    def given(self, reply: dict[str, Any]) -> Any:
        """What the reference function returns, in place of a student's wrong one.

        Raises:
            CheckFailed: if the reference does not stand in for that function, which may be the very one in question.
        """
        if reply["wants"] not in self.standing:
            raise CheckFailed("the submission asked for an answer in place of giving one.")
        arguments = [wire.unpack(each) for each in reply["arguments"]]
        keywords = {str(name): wire.unpack(each) for name, each in reply["keywords"].items()}
        try:
            return wire.pack(self.reference(str(reply["wants"]))(*arguments, **keywords))
        except Exception as error:  # it was called with arguments that it does not accept
            return {"list": [f"{type(error).__name__}: {error}"]}

    def fetch(self, name: str) -> Any:
        """What a name stands for in the submission: a ``Student`` if it is a function, or else its value.

        Raises:
            CheckFailed: if it does not define the name.
        """
        reply = self.ask({"fetch": name})
        if "missing" in reply:
            raise CheckFailed(f"{name} is not defined: no cell that ran gave it a value.")
        return Student(name, self) if reply.get("function") else self.value(reply["value"])

    def stand_in(self, names: list[str]) -> None:
        """From now on, where the submission calls its own functions of these names, those of the reference run."""
        self.standing = names
        self.ask({"stand_in": names})

    def packed(self, value: Any) -> Any:
        """A value, packed to be sent; a model is known by a number from now on."""
        if isinstance(value, wire.nn.Module) and not hasattr(value, "wire_number"):
            value.wire_number = len(self.models) + 1
            self.models[value.wire_number] = value
        return wire.pack(value)

    def value(self, packed: Any) -> Any:
        """A value that was received; a model is the one that was sent."""

        def find(number: int, kind: str) -> Any:
            return self.models.get(number) if kind == "module" else wire.Held(number, kind)

        return wire.unpack(packed, find)


class Student:
    """A student's function, which runs in the submission's process.

    Args:
        name: the function's name.
        desk: where to ask.
    """

    def __init__(self, name: str, desk: Desk) -> None:
        self.__name__, self.desk = name, desk

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What it returns.

        Raises:
            CheckFailed: if it raises.
            NotImplementedError: if it is still the stub.
        """
        try:
            return self.ask(arguments, keywords)[0]
        except NotWritten as stub:
            raise NotImplementedError(f"{stub} is not written yet.") from None
        except AnswerRaised as raised:
            raise CheckFailed(f"{self.__name__} raised {raised.kind}: {raised.message}") from None

    def ask(self, arguments: tuple, keywords: dict) -> tuple[Any, tuple]:
        """What it returns, and its arguments after the call; see ``engine.Remote``."""
        sent = [self.desk.packed(each) for each in arguments]
        named = {name: self.desk.packed(each) for name, each in keywords.items()}
        reply = self.desk.ask({"call": self.__name__, "arguments": sent, "keywords": named})
        if "stub" in reply:
            raise NotWritten(str(reply["stub"])[:80])
        if "raised" in reply:
            raise AnswerRaised(*(str(each)[:2000] for each in reply["raised"][:3]))
        try:
            value = self.desk.value(reply["value"])
            after = arguments if reply["after"] is None else tuple(map(self.desk.value, reply["after"]))
        except (wire.WireError, KeyError, TypeError) as error:
            raise CheckFailed(f"{self.__name__} returned what cannot be read: {error}") from None
        return value, after


class Bench:
    """The names of an assignment: those of its setup, and those of its solutions where these have to stand in.

    Args:
        setup: source of its setup cell.
        solutions: sources of its solution cells.
    """

    def __init__(self, setup: str, solutions: list[str]) -> None:
        self.setup: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(setup, "<setup>", "exec"), self.setup)
        self.solutions, self.solved = solutions, {}
        functions = [node for text in solutions for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        self.order = {node.name: place for place, node in enumerate(functions)}

    def reference(self, name: str) -> Callable:
        """The reference function of a given name."""
        if not self.solved:
            self.solved = dict(self.setup)
            for source in self.solutions:
                exec(compile(source, "<solution>", "exec"), self.solved)
        return self.solved[name]


class Session:
    """One submission before the judge.

    Args:
        bench: its assignment.
        exchange: sends a message to the submission and returns the reply.
    """

    def __init__(self, bench: Bench, exchange: Callable[[dict], dict]) -> None:
        self.bench, self.desk, self.wrong = bench, Desk(exchange, bench.reference), []
        engine.PASSED.clear()

    def judge(self, source: str, shows: bool, later: Iterable[str] = ()) -> Verdict:
        """Run a graded cell.

        Args:
            source: of the cell, hidden tests included.
            shows: whether its last line's value counts as points and what it prints is shown.
            later: sources of the graded cells to come: the reference must not reveal what they will ask.
        """
        lines, printed, names = ast.parse(source).body, io.StringIO(), students_names(source, self.bench.setup)
        last = lines.pop() if shows and lines and isinstance(lines[-1], ast.Expr) else None
        order, asked = self.bench.order, self.asked_by(names)
        to_come = {self.asked_by(students_names(text, self.bench.setup)) for text in later}
        earlier = [name for name in self.wrong if name not in names and order[name] < asked]
        earlier = [name for name in earlier if order[name] not in to_come]
        result, kind, message = None, "", ""
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                self.desk.stand_in(earlier)
                namespace = {**self.bench.setup, **{name: self.desk.fetch(name) for name in names}}
                exec(compile(ast.Module(lines, []), "<graded cell>", "exec"), namespace)
                if last is not None:
                    result = eval(compile(ast.Expression(last.value), "<graded cell>", "eval"), namespace)
        except Gone as gone:
            kind, message = "Gone", str(gone)
        except NotWritten as stub:
            kind, message = "NotWritten", f"{stub} is not written yet."
        except NotImplementedError as stub:
            kind, message = "NotWritten", str(stub)
        except Exception as error:  # from a test that did not expect such a value
            kind, message = type(error).__name__, str(error)
        if kind or result is not None:
            self.wrong += [name for name in names if name in order and name not in self.wrong]
        points = float(result) if isinstance(result, int | float) else None
        return Verdict(points, kind, message[:4000], printed.getvalue()[:20_000] if shows else "")

    def asked_by(self, names: list[str]) -> int:
        """The place in the assignment of the exercise that a cell tests: the last one among the names that it uses."""
        order = self.bench.order
        return max((order[name] for name in names if name in order), default=len(order))


def students_names(source: str, setup: dict[str, Any]) -> list[str]:
    """The names that a graded cell uses and that neither the cell, the setup nor Python defines.

    >>> students_names("answer = Answer(f)\\nanswer(torch.ones(2)).holds(lambda x: x > y)", {"Answer": 1, "torch": 2})
    ['f', 'y']
    """
    names = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return sorted(used - defined_in(source) - set(setup) - set(vars(builtins)))


def defined_in(source: str) -> set[str]:
    """The names that a piece of source code binds anywhere."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def prepared(text: str) -> dict[str, Bench]:
    """The assignment that the first job will name, prepared while the submission is still starting; nothing if it does
    not work, which its job will report.

    Args:
        text: JSON with the assignment's fingerprint, setup and solutions; may be empty.
    """
    with contextlib.suppress(Exception):
        first = wire.loads(text.encode())
        return {first["assignment"]: Bench(first["setup"], first["solutions"])}
    return {}


def serve(connection: Connection, benches: dict[str, Bench]) -> None:
    """Judge one job after the other, until the grader hangs up.

    The names of a job's assignment are kept for the next job, and so are the wrong answers of its submission.
    """
    session, of = None, None

    def exchange(message: dict) -> dict:
        connection.send_bytes(wire.dumps({"ask": message}))
        reply = connection.recv_bytes()
        if reply[:1] == GONE:
            return {"gone": reply[1:].decode()}
        return {name: value for name, value in wire.loads(reply[1:]).items() if name != "gone"}

    while True:
        try:
            job = wire.loads(connection.recv_bytes())["judge"]
        except EOFError:
            return
        try:
            os.environ["BERTCOURSE_HIDDEN_SEED"] = str(job["seed"])
            if job["assignment"] not in benches:
                benches = {job["assignment"]: Bench(job["setup"], job["solutions"])}
            if of != job["submission"]:
                session, of = Session(benches[job["assignment"]], exchange), job["submission"]
            done = {"verdict": asdict(session.judge(job["source"], job["shows"], job["later"]))}
        except Exception:  # the assignment's own setup or test does not work
            done = {"fault": traceback.format_exc(limit=-2)[-1000:]}
        connection.send_bytes(wire.dumps(done))


if __name__ == "__main__":
    sandbox.limit_memory(MOST_MEMORY, MOST_FILE)
    os.environ["NBGRADER_EXECUTION"] = "autograde"  # a failed check then returns 0 points, and none prints in colour
    with contextlib.suppress(OSError):  # the grader was killed
        serve(Client(sys.argv[1]), prepared(sys.stdin.read()))
