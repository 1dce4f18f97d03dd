"""What the judge, in a process of its own, says of answers that lie in another one."""

import json
import multiprocessing
from multiprocessing.connection import Connection, wait
from typing import Any

from bertcourse_grading.course import Assignment
from bertcourse_grading.judge import REPLY, Verdict
from bertcourse_grading.judge_client import Judge
from bertcourse_grading.kernel import Answers
from wrong_answers import VARIANTS, Variant
from wrong_answers.verdicts import answer_of, source_of

SECONDS = 300.0  # that the judge may think, on a machine that is busy


def names_in(work: int | list[str]) -> dict[str, Any]:
    """The names of a notebook: the solved one with the variant of this place in ``VARIANTS``, or one of these cells."""
    if isinstance(work, int):
        return answer_of(VARIANTS[work])[1]
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in work:
        exec(compile(cell, "cell", "exec"), names)
    return names


def answer_judge(questions: Connection, works: Connection) -> None:
    """Be one submission after the other, and answer what the judge asks of it."""
    while True:
        if works in wait([questions, works]):
            names = names_in(works.recv())
            answers = Answers(questions, lambda names=names: names)
        else:
            answers.serve(0)


class Court:
    """The judge's process and that of submissions of one homework; a context.

    Args:
        assignment: the homework.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.assignment, self.judge = assignment, Judge()
        self.questions, questions = multiprocessing.Pipe()
        self.works, works = multiprocessing.Pipe()
        spawn = multiprocessing.get_context("spawn")
        self.submission = spawn.Process(target=answer_judge, args=(questions, works), daemon=True)

    def __enter__(self) -> "Court":
        self.submission.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.judge.stop()
        self.submission.kill()
        self.submission.join()

    def begin(self, work: int | list[str]) -> None:
        """What follows is of this submission; see ``names_in``."""
        self.judge.begin(self.assignment, seed=0)
        self.works.send(work)

    def verdicts(self, number: str) -> tuple[Verdict, Verdict]:
        """Of an exercise's visible check and of its hidden test."""
        exercise = source_of(number)[1]
        visible = self.verdict(f'check("{number}", {exercise.name})', shows=True)
        return visible, self.verdict(exercise.hidden, shows=False)

    def verdicts_on(self, variant: Variant) -> tuple[Verdict, Verdict]:
        """The same, of a submission that is right but for this answer."""
        self.begin(VARIANTS.index(variant))
        return self.verdicts(variant.number)

    def verdict(self, source: str, shows: bool) -> Verdict:
        """Of one graded cell."""
        self.judge.judge(source, shows)
        while "ask" in (message := self.judge.receive(SECONDS)):
            self.questions.send_bytes(json.dumps(message["ask"]).encode())
            self.judge.send(REPLY + self.questions.recv_bytes())
        self.questions.send_bytes(b'{"done": 0}')
        return Verdict(**message["verdict"])
