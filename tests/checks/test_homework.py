"""Homework: the checks refuse what is wrong and name it, and let through what is right, however it is written."""

import importlib
import json
import types
from collections import Counter
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from wrong_answers import VARIANTS, Variant

from bertcourse.checks import CheckFailed, check, verify
from bertcourse.checks.engine import EXERCISES, EXPECTED, NotWritten
from bertcourse.checks.values import difference
from bertcourse_grading.source import Source, SourceExercise, read_source, record_expected

HOMEWORK = sorted((Path(__file__).parents[2] / "notebooks" / "homework").glob("hw*/hw*.ipynb"))
for notebook in HOMEWORK:
    importlib.import_module(f"bertcourse.checks.{notebook.stem}")
    importlib.import_module(f"wrong_answers.{notebook.stem}")


@cache
def source_of(number: str) -> tuple[Source, SourceExercise]:
    source = read_source(next(path for path in HOMEWORK if int(path.stem[2:]) == int(number.partition(".")[0])))
    return source, next(exercise for exercise in source.exercises if exercise.number == number)


@cache
def names_of(number: str) -> dict:
    """All that the solved notebook defines; of the chapter."""
    return source_of(number)[0].namespace()


def answer_of(variant: Variant) -> tuple[types.FunctionType, dict]:
    """The variant's function among the notebook's names, and those names with it in the solution's place."""
    names = dict(names_of(f"{variant.number.partition('.')[0]}.1"))
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


def name_of(variant: Variant) -> str:
    return f"{variant.number} {variant.what}"


def cases(items: list[Variant] | list[Path]) -> list:
    """Parameters with their names; those of homework 5 to 7, in which MiniLM reads, are slow."""
    named = [(item, name_of(item) if isinstance(item, Variant) else item.stem) for item in items]
    slow = [name.removeprefix("hw0").startswith(("5", "6", "7")) for _, name in named]
    return [pytest.param(item, id=name, marks=[pytest.mark.slow] * reads) for (item, name), reads in zip(named, slow)]


@pytest.mark.parametrize("variant", cases([v for v in VARIANTS if v.says is not None]))
def test_mistake_is_refused_and_named(variant):
    visible, hidden = verdicts(variant)
    assert variant.says in visible, visible or "the visible check lets it through"


@pytest.mark.parametrize("variant", cases([v for v in VARIANTS if v.says is None]))
def test_unusual_but_right_answer_passes(variant):
    assert verdicts(variant) == ("", "")


@pytest.mark.parametrize("notebook", cases(HOMEWORK))
def test_solutions_pass_and_stubs_do_not(notebook, capsys, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")  # a failed check is worth 0 points there
    source = read_source(notebook)
    names = source.namespace()
    for exercise in source.exercises:
        assert check(exercise.number, names[exercise.name]) is None
        exec(exercise.hidden, dict(names))
        assert check(exercise.number, stub) == 0
        assert "not written yet" in capsys.readouterr().out
    plt.close("all")


def stub(*arguments, **keywords):
    raise NotImplementedError("write this")


@pytest.mark.parametrize("notebook", cases(HOMEWORK))
def test_hidden_tests_refuse_what_only_knows_the_visible_inputs(notebook):
    """A hidden test is worth something only if it fails an answer that returns nothing of use."""
    source = read_source(notebook)
    names = source.namespace()
    for exercise in source.exercises:
        with pytest.raises(CheckFailed):
            exec(exercise.hidden, {**names, exercise.name: lambda *arguments, **keywords: None})


@pytest.mark.parametrize("notebook", cases(HOMEWORK))
def test_stored_values_are_those_of_the_solutions(notebook, tmp_path, monkeypatch):
    stored = (EXPECTED / f"{notebook.stem}.json").read_text(encoding="utf-8")
    monkeypatch.setattr("bertcourse.checks.engine.EXPECTED", tmp_path)
    new = json.loads(record_expected(notebook).read_text(encoding="utf-8"))
    assert difference(json.loads(stored), new, 1e-4) is None
    plt.close("all")


def test_each_exercise_has_four_mistakes_and_two_right_answers():
    mistakes = Counter(variant.number for variant in VARIANTS if variant.says is not None)
    rights = Counter(variant.number for variant in VARIANTS if variant.says is None)
    for notebook in HOMEWORK:
        for exercise in read_source(notebook).exercises:
            assert exercise.number in EXERCISES
            assert mistakes[exercise.number] >= 4 and rights[exercise.number] >= 2, exercise.number


@pytest.mark.slow
def test_kill_table(capsys):
    """Prints, for each exercise, how many mistakes the visible check and the hidden test refuse."""
    rows = []
    for number in EXERCISES:
        found = [verdicts(variant) for variant in VARIANTS if variant.number == number and variant.says is not None]
        passed = [
            verdicts(variant) == ("", "") for variant in VARIANTS if variant.number == number and variant.says is None
        ]
        rows.append(
            (
                number,
                EXERCISES[number].name,
                len(found),
                sum(bool(v) for v, _ in found),
                sum(bool(h) for _, h in found),
                len(passed),
                sum(passed),
            )
        )
    with capsys.disabled():
        print(f"\n{'exercise':<28}{'mistakes':>9}{'visible':>9}{'hidden':>9}{'right':>9}{'passed':>9}")
        for number, name, *counts in rows:
            print(f"{number + ' ' + name:<28}{''.join(f'{count:>9}' for count in counts)}")
    assert all(row[2] == row[3] and row[5] == row[6] for row in rows)
