"""What checks and hidden tests say of each variant, asked in this process, as in a notebook."""

import importlib
import types
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt

from bertcourse_grading.source import Source, SourceExercise, read_source
from bertcourse_homework import CheckFailed, verify
from bertcourse_homework.engine import NotWritten
from wrong_answers import Variant

HOMEWORK = sorted((Path(__file__).parents[2] / "notebooks" / "homework").glob("hw*/hw*.ipynb"))
for notebook in HOMEWORK:
    importlib.import_module(f"bertcourse_homework.{notebook.stem}")
    importlib.import_module(f"wrong_answers.{notebook.stem}")


@cache
def source_of(number: str) -> tuple[Source, SourceExercise]:
    """The homework that an exercise is in, and the exercise."""
    source = read_source(next(path for path in HOMEWORK if int(path.stem[2:]) == int(number.partition(".")[0])))
    return source, next(exercise for exercise in source.exercises if exercise.number == number)


@cache
def names_of(chapter: str) -> dict:
    """All that a chapter's solved notebook defines."""
    return source_of(f"{chapter}.1")[0].namespace()


def answer_of(variant: Variant) -> tuple[types.FunctionType, dict]:
    """The variant's function among the notebook's names, and those names with it in the solution's place."""
    names = dict(names_of(variant.number.partition(".")[0]))
    function = variant.function
    extra = {name: value for name, value in function.__globals__.items() if name not in names}
    mine = types.FunctionType(
        function.__code__, {**extra, **names}, function.__name__, function.__defaults__, function.__closure__
    )
    mine.__kwdefaults__ = function.__kwdefaults__
    names[source_of(variant.number)[1].name] = mine
    return mine, names


@cache
def verdicts(variant: Variant) -> tuple[str, str]:
    """The messages of the visible check and of the hidden test; empty where the answer passes."""
    answer, names = answer_of(variant)
    messages = []
    for test in (lambda: verify(variant.number, answer), lambda: exec(source_of(variant.number)[1].hidden, names)):
        try:
            test()
        except CheckFailed as failed:
            messages.append(str(failed))
        except NotWritten:
            messages.append("not written")
        else:
            messages.append("")
    plt.close("all")
    return messages[0], messages[1]
