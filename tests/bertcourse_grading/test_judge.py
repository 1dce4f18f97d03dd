"""The judge: what counts is what an answer gives for what the judge asks, and nothing that a submission says of it."""

import json
import sys
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Listener
from types import SimpleNamespace

import pytest
import torch

import hostile

pytest.importorskip("nbgrader")
from bertcourse_grading import judge, kernel, wire  # noqa: E402
from bertcourse_grading.course import SOURCE  # noqa: E402
from bertcourse_grading.judge_client import Judge, JudgeFailed, JudgeSilent, accept  # noqa: E402
from bertcourse_grading.source import read_source  # noqa: E402

SETUP = "import math\nimport torch\nfrom bertcourse_homework import Answer, CheckFailed, check\nbase = 10"
SOLUTIONS = [
    "def doubled(values):\n    return [2 * v for v in values]",
    "def total(values):\n    return sum(doubled(values))",
]
DOUBLED = 'if doubled([7, -3]) != [14, -6]:\n    raise CheckFailed("wrong")'
TOTAL = 'Answer("total", total)([1, 2]).equals(6, "the sum of the doubled ones")'


class Court:
    """A judge and a submission in one process, with pipes between them."""

    def __init__(self, names=None, **answers):
        self.names = {"doubled": lambda values: [2 * v for v in values], **answers} if names is None else names
        here, there = Pipe()
        self.answers, self.here = kernel.Answers(there, lambda: self.names), here
        self.session = judge.Session(judge.Bench(SETUP, SOLUTIONS), self.exchange)

    def exchange(self, message):
        self.here.send_bytes(wire.dumps(message))
        return wire.loads(self.here.recv_bytes()) if self.here.poll(5) else {"gone": "it does not answer"}

    def judge(self, source, shows=False, later=()):
        thread = threading.Thread(target=self.answers.serve, args=(0,), daemon=True)
        thread.start()
        verdict = self.session.judge(source, shows, later)
        self.here.send_bytes(wire.dumps({"done": 0}))
        thread.join(1)  # in one test it is left waiting
        return verdict


def test_a_right_answer_passes_and_a_wrong_one_is_told_why():
    assert Court().judge(DOUBLED) == judge.Verdict()
    assert Court(doubled=list).judge(DOUBLED) == judge.Verdict(kind="CheckFailed", message="wrong")
    failed = Court(total=lambda values: 7).judge(TOTAL)
    assert "expected  6\n  got       7" in failed.message and "the sum of the doubled ones" in failed.message


def test_what_an_answer_raises_is_told_with_its_line(tmp_path):
    path = tmp_path / "cell.py"
    path.write_text("def total(values):\n    return values['a']\n", encoding="utf-8")
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    message = Court(total=names["total"]).judge(TOTAL).message
    assert "total raised TypeError: list indices must be" in message and "in line   2: return values['a']" in message
    assert "doubled raised ZeroDivisionError" in Court(doubled=lambda values: 1 / 0).judge(DOUBLED).message


def test_a_stub_and_a_name_that_is_missing_are_told_apart():
    def total(values):
        raise NotImplementedError

    assert Court(total=total).judge(TOTAL) == judge.Verdict(kind="NotWritten", message="total is not written yet.")
    assert "total is not defined" in Court().judge(TOTAL).message


def test_names_of_values_come_as_values_and_arguments_that_are_changed_are_seen():
    assert (
        Court(answer=torch.tensor([1, 2])).judge("assert answer.tolist() == [1, 2] and base == 10") == judge.Verdict()
    )

    def total(values):
        values.append(3)
        return 6

    assert "it changes its argument" in Court(total=total).judge(TOTAL).message


def test_a_check_gives_points_and_shows_what_it_printed():
    verdict = Court().judge("print('half')\n0.5", shows=True)
    assert (verdict.points, verdict.printed) == (0.5, "half\n")
    assert Court().judge("print('secret')\n0.5", shows=False) == judge.Verdict()


def test_the_reference_stands_in_for_an_earlier_answer_that_is_wrong():
    def total(values):
        return sum(court.names["doubled"](values))

    court = Court(doubled=list, total=total)
    assert court.judge(DOUBLED).kind == "CheckFailed" and court.judge(TOTAL) == judge.Verdict()
    assert court.names["doubled"] is list  # its own again
    assert court.judge(DOUBLED).kind == "CheckFailed"


def test_the_reference_stands_in_for_an_earlier_answer_that_is_not_there():
    """As where its cell raised an error: a mistake costs its own points."""

    def total(values):
        return sum(court.names["doubled"](values))

    court = Court({"total": total})
    assert "doubled is not defined" in court.judge(DOUBLED).message and court.judge(TOTAL) == judge.Verdict()
    assert "doubled" not in court.names


def test_no_reference_is_given_for_a_later_exercise():
    """Not even where a submission has moved that one to the front, and answered it wrongly."""
    court = Court(total=lambda values: 7, doubled=lambda values: [court.names["total"]([value]) for value in values])
    assert court.judge(TOTAL).kind == "CheckFailed" and court.judge(DOUBLED).message == "wrong"


def test_no_reference_is_given_for_what_will_be_asked_again():
    """A submission that has moved a hidden test to the end could learn from the reference what it will ask."""

    def total(values):
        return sum(court.names["doubled"](values))

    court = Court(doubled=list, total=total)
    assert court.judge(DOUBLED, later=[TOTAL, DOUBLED]).kind == "CheckFailed"
    assert court.judge(TOTAL, later=[DOUBLED]).kind == "CheckFailed"
    assert court.judge(TOTAL, later=[TOTAL]) == judge.Verdict()


def test_only_the_grader_says_that_a_submission_is_gone(process):
    process.judge(DOUBLED, shows=False)
    assert "ask" in process.receive(60)
    process.send(judge.REPLY + b'{"gone": "all points are due", "number": 1}')
    while "ask" in (message := process.receive(60)):
        process.send(judge.GONE + b"its process ended")
    assert message["verdict"]["message"] == "its process ended"


@pytest.mark.slow
def test_no_reference_is_given_for_what_is_being_asked():
    def asking(values):
        return court.answers.asks_reference("doubled")(values)

    court = Court(doubled=asking)
    assert "asked for an answer in place of giving one" in court.judge(DOUBLED).message


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"value": {"verdict": {}}},
        {"value": None},
        {"value": {"list": [14, -6]}, "after": 3},
        {"value": {"tensor": ["float32", [9], "", False]}, "after": None},
        {"raised": []},
        {"raised": 3},
        {"done": True},
        {"verdict": {"points": 1}},
    ],
    ids=json.dumps,
)
def test_replies_that_are_none_fail_the_answer(reply):
    court = Court()
    court.answers.call = lambda *arguments: reply
    verdict = court.judge(DOUBLED)
    assert verdict.kind in ("CheckFailed", "TypeError") and verdict.points is None


def test_what_nobody_asked_for_is_not_taken_for_a_reply():
    court = Court(doubled=list)
    for _ in range(3):
        court.answers.connection.send_bytes(wire.dumps({"value": {"list": [14, -6]}, "after": None, "number": 3}))
    assert court.judge(DOUBLED).kind == "CheckFailed"


def test_a_submission_that_says_nothing_is_gone(monkeypatch):
    court = Court()
    court.exchange = lambda message: {"gone": "its process ended"}
    court.session.desk.exchange = court.exchange
    assert court.session.judge(DOUBLED, False) == judge.Verdict(kind="Gone", message="its process ended")


@pytest.mark.parametrize("kind", hostile.VALUES)
def test_values_that_behave_are_worth_no_points(kind):
    names = {}
    exec(f"{hostile.VALUES[kind]}\ndef doubled(values):\n    return V(values)", names) if "example_checks" not in (
        hostile.VALUES[kind]
    ) else names.update(doubled=lambda values: 0)
    assert Court(names).judge(DOUBLED).kind


def test_a_held_thing_goes_back_to_where_it_is():
    def stream(seed):
        return (number for number in range(seed, 9))

    source = "held = stream(3)\nassert following(held) == 3 and following(held) == 4"
    assert Court(stream=stream, following=lambda held: next(held)).judge(source) == judge.Verdict()


EVERY_CHANGE = ("hw04", "hw05", "hw10")  # the others weekly
HOMEWORK = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.weekly] * (path.stem not in EVERY_CHANGE))
    for path in sorted(SOURCE.glob("hw*/hw*.ipynb"))
]


@pytest.mark.slow
@pytest.mark.parametrize("path", HOMEWORK)
def test_the_courses_solutions_pass_before_the_judge(path):
    source = read_source(path)
    here, there = Pipe()
    names = source.namespace()
    answers = kernel.Answers(there, lambda: names)

    def exchange(message):
        here.send_bytes(wire.dumps(message))
        return wire.loads(here.recv_bytes())

    session = judge.Session(judge.Bench(source.setup, [each.solution for each in source.exercises]), exchange)
    for exercise in source.exercises:
        for test in (f'check("{exercise.number}", {exercise.name})', exercise.hidden):
            thread = threading.Thread(target=answers.serve, args=(0,))
            thread.start()
            verdict = session.judge(test, shows=False)
            here.send_bytes(wire.dumps({"done": 0}))
            thread.join()
            assert verdict == judge.Verdict(), exercise.number


@pytest.fixture(scope="module")
def process():
    """The judge's own process, and a submission whose seed is 1234."""
    judge = Judge()
    setup = f"{SETUP}\nfrom bertcourse_homework.engine import hidden_seed"
    judge.begin(SimpleNamespace(fingerprint="x", setup=setup, solutions=SOLUTIONS), seed=1234)
    yield judge
    judge.stop()


def verdict_of(process, source, reply=b"{}"):
    """What the process finds, if whatever it asks is answered so."""
    process.judge(source, shows=False)
    while "ask" in (message := process.receive(60)):
        done = json.dumps({"done": 1, "number": message["ask"]["number"]}).encode()
        process.send(judge.REPLY + (done if reply is None else reply))
    return judge.Verdict(**message["verdict"])


def test_hidden_inputs_are_drawn_from_the_submissions_seed(process):
    assert verdict_of(process, "assert hidden_seed() == 1234", None) == judge.Verdict()
    process.job["seed"] = 7
    assert verdict_of(process, "assert hidden_seed() == 1234", None).kind == "AssertionError"


def test_each_run_of_a_submission_has_a_seed_of_its_own_and_keeps_it(process):
    """What it kept of the inputs of an earlier run is of no use; grading it again asks the same."""
    seeds = []
    for run in (0, 1, 2, 0, 1, 2):
        process.forget(run)
        seeds.append(process.job["seed"])
    assert seeds[:3] == seeds[3:] and len({*seeds}) == 3 and seeds[0] == 1234


@pytest.mark.parametrize("reply", [b"", b"\xff", b"[" * 10**6, b"[]", b'{"gone": 3}', b'{"number": []}' + b" " * 2**20])
def test_bytes_that_are_no_reply_cost_the_answer_and_not_the_judge(process, reply):
    replies = iter([judge.REPLY + reply, judge.GONE + b"it says no more"])
    process.judge(DOUBLED, shows=False)
    while "ask" in (message := process.receive(60)):
        process.send(next(replies))
    assert message["verdict"]["kind"] in ("CheckFailed", "Gone") and process.process.poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_the_judges_memory_is_limited(process):
    too_much = f"numbers = bytearray({2 * judge.MOST_MEMORY})"
    assert verdict_of(process, too_much, None).kind == "MemoryError" and verdict_of(process, "1", None).kind == ""


def test_a_judge_that_ends_or_says_nothing_is_noticed(process):
    process.judge("import time; time.sleep(60)", shows=False)
    while "ask" in (message := process.receive(60)):
        process.send(judge.REPLY + json.dumps({"done": 1, "number": message["ask"]["number"]}).encode())
        with pytest.raises(JudgeSilent, match="the judge said nothing for 0.5 s"):
            process.receive(0.5)
        break
    assert verdict_of(process, "1", None).kind == ""  # another one
    process.process.kill()
    with pytest.raises(JudgeFailed, match="the judge ended"):
        process.receive(60)


def test_nobody_waits_for_who_has_ended(tmp_path):
    listener = Listener(str(tmp_path / "nobody"))
    with pytest.raises(RuntimeError, match="nobody connected within"):
        accept(listener, 100, lambda: False)


def test_no_part_of_the_judge_is_in_the_kernels_process():
    import subprocess

    code = (
        "import bertcourse_grading.kernel, sys; print([m for m in sys.modules if m.startswith('bertcourse_grading')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "judge" not in found and "grading.grading" not in found and "bertcourse_grading.wire" in found
