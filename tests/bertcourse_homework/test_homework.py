"""Homework: the checks refuse what is wrong and name it, and let through what is right, however it is written."""

import json
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from bertcourse_grading.source import read_source, record_expected
from bertcourse_homework import CheckFailed, check
from bertcourse_homework.engine import EXERCISES, EXPECTED
from bertcourse_homework.values import difference
from wrong_answers import VARIANTS, Variant
from wrong_answers.verdicts import HOMEWORK, names_of, verdicts


def name_of(variant: Variant) -> str:
    return f"{variant.number} {variant.what}"


def cases(items: list[Variant] | list[Path], most: int | None = None) -> list:
    """Parameters with their names; those of homework 5 to 7, in which MiniLM reads, are slow. Of each exercise's
    answers the first ``most`` are tried at every change, the others weekly."""
    seen, found = Counter(), []
    for item in items:
        name = name_of(item) if isinstance(item, Variant) else item.stem
        marks = [pytest.mark.slow] * name.removeprefix("hw0").startswith(("5", "6", "7"))
        if isinstance(item, Variant) and most:
            seen[item.number] += 1
            marks += [pytest.mark.weekly] * (seen[item.number] > most)
        found.append(pytest.param(item, id=name, marks=marks))
    return found


@pytest.mark.parametrize("variant", cases([v for v in VARIANTS if v.says is not None], most=3))
def test_mistake_is_refused_and_named(variant):
    visible, hidden = verdicts(variant)
    assert variant.says in visible, visible or "the visible check lets it through"
    assert hidden, "the hidden test lets it through"


@pytest.mark.parametrize("variant", cases([v for v in VARIANTS if v.says is None], most=1))
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
    source, names = read_source(notebook), names_of(str(int(notebook.stem.removeprefix("hw"))))
    for exercise in source.exercises:
        with pytest.raises(CheckFailed):
            exec(exercise.hidden, {**names, exercise.name: lambda *arguments, **keywords: None})


@pytest.mark.weekly
@pytest.mark.parametrize("notebook", cases(HOMEWORK))
def test_stored_values_are_those_of_the_solutions(notebook, tmp_path, monkeypatch):
    stored = (EXPECTED / f"{notebook.stem}.json").read_text(encoding="utf-8")
    monkeypatch.setattr("bertcourse_homework.engine.EXPECTED", tmp_path)
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
