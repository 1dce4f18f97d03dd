"""The engine of the checks: what it compares, and what it says."""

import math

import numpy as np
import pytest
import torch

from bertcourse_homework import Answer, CheckFailed, NotWritten, check, engine
from bertcourse_homework.values import described


def message(function, *arguments):
    with pytest.raises(CheckFailed) as failed:
        function(*arguments)
    return str(failed.value)


def call(value):
    return Answer("f", lambda: value)()


@pytest.mark.parametrize(
    "value",
    [
        [1.0, 2.5],
        (1, 2.5),
        np.array([1.0, 2.5]),
        torch.tensor([1.0, 2.5]),
        torch.tensor([1.0, 2.5], dtype=torch.float64, requires_grad=True),
    ],
)
def test_right_values_may_be_any_array(value):
    call(value).equals([1.0, 2.5])


@pytest.mark.parametrize(
    "expected, value",
    [
        ([1.0], [1.001]),
        ([1.0], [math.nan]),
        ([math.inf], [1e9]),
        (True, None),
        (["a"], ["b"]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ("1", 1),
        ([], [1]),
    ],
)
def test_wrong_values_are_refused(expected, value):
    assert "expected" in message(call(value).equals, expected)


def test_whole_numbers_beyond_the_largest_float_are_compared():
    call(10**400).equals(10**400)
    assert "expected" in message(call(10**400).equals, 1)


def test_nan_and_infinity_equal_themselves():
    call([math.nan, -math.inf]).equals([math.nan, -math.inf])


def test_shape_is_reported_before_values():
    assert "shape (1, 2)" in message(call(torch.zeros(1, 2)).equals, [0.0, 0.0])
    assert "shape (2,)" in message(call(torch.zeros(2)).has_shape, 3)


def test_place_of_a_difference_in_a_large_array():
    wrong = torch.zeros(10, 10)
    wrong[3, 4] = 1
    assert "wrong value at [3][4]" in message(call(wrong).equals, torch.zeros(10, 10))


def test_known_mistake_is_named():
    assert "these are bits" in message(lambda: call(1.0).equals(0.693, "nats", mistakes={"these are bits": 1.0}))


def test_changed_argument_is_found():
    assert "work on a copy" in message(Answer("f", lambda x: x.add_(1)), torch.zeros(2))


def test_error_of_the_answer_names_its_line():
    def broken(x):
        return x.there_is_no_such_thing

    text = message(Answer("broken", broken), 3)
    assert "AttributeError" in text and "return x.there_is_no_such_thing" in text and "broken(3)" in text


def test_result_of_a_call_in_place_of_the_function_is_explained():
    assert "no parentheses" in message(Answer, "f", 3.0)


def test_stub_is_not_written():
    def stub():
        raise NotImplementedError

    with pytest.raises(NotWritten):
        Answer("f", stub)()


def test_unknown_exercise_is_refused():
    with pytest.raises(ValueError, match="number of an exercise"):
        check("77.1", print)


def test_warnings_of_an_answer_cost_nothing(capsys):
    import sys
    import warnings

    def noisy():
        warnings.warn("careful")
        print("note", file=sys.stderr)
        return 1

    Answer("noisy", noisy)().equals(1)
    assert capsys.readouterr().err == ""


def test_property_that_cannot_be_asked_fails():
    assert "cannot be asked" in message(call("text").holds, "it is positive", lambda x: x > 0)


def test_large_arrays_are_shown_by_their_shape():
    assert described(torch.zeros(9, 9)) == "Tensor of shape (9, 9)" and described(torch.zeros(2)) == "[0.0, 0.0]"


@pytest.mark.parametrize(
    "value, text",
    [
        (0.1 + 0.2, "0.3"),
        (1e-17, "0.0"),
        (-0.0 * 1.0, "0.0"),
        ([0.1 + 0.2, 1e-17], "[0.3, 0.0]"),
        ({0.1 + 0.2: 2e-17}, "{0.3: 0.0}"),
        ((torch.tensor([1e-8, 0.1]), 2), "([0.0, 0.1], 2)"),
        (1e-12, "1e-12"),
        ([2e-5, 3e-12], "[2e-05, 0.0]"),
        (1e30, "1e+30"),
    ],
)
def test_rounding_is_not_shown(value, text):
    assert described(value) == text


def test_what_is_rounding_beside_the_other_value_is_not_shown():
    text = message(call(torch.tensor(1.2e-7)).equals, 0.5)
    assert "expected  0.5" in text and "got       0.0" in text
    assert "got       2e-05" in message(call(2e-5).equals, 3e-5, "", 1e-6)


def test_axes_are_called_axes():
    text = message(call(3).is_plot, 1, "", [1], "", "")
    assert "expected  matplotlib's axes" in text and "Drawing" not in text


class Shell:
    """As much of IPython's shell as a check asks for."""

    kernel = None

    def __init__(self, *cells):
        self.user_ns = {"In": list(cells)}


def test_in_a_notebook_a_check_marks_its_report_counts_and_shows_no_value(monkeypatch, capsys):
    monkeypatch.setattr(engine, "PASSED", {})
    monkeypatch.setattr(engine, "notebook_shell", Shell)
    assert check("1.3", lambda n, radius: (torch.arange(n)[:, None] - torch.arange(n)).abs() <= radius) is None
    assert check("1.5", lambda weights: weights) is None
    right, _, wrong = capsys.readouterr().out.partition("1 of 6 exercises, up to 2 of 18 points so far\n")
    assert right.startswith("\x1b[32m✓\x1b[0m 1.3 window_mask: right") and wrong.startswith("\x1b[31m✗\x1b[0m 1.5")
    assert wrong.endswith("1 of 6 exercises, up to 2 of 18 points so far\n")


def test_where_the_newest_cell_has_a_syntax_error_the_stub_is_not_called_unwritten(monkeypatch, capsys):
    def entropy(weights):
        raise NotImplementedError

    broken = "def entropy(weights):\n    return (weights"
    monkeypatch.setattr(engine, "PASSED", {})
    for cells, says in ((("def entropy(w): ...",), "not written yet"), ((broken,), "syntax error in line 2")):
        monkeypatch.setattr(engine, "notebook_shell", lambda cells=cells: Shell(*cells))
        check("1.5", entropy)
        assert says in capsys.readouterr().out


def test_an_earlier_answer_that_is_wrong_is_named_beside_a_later_one(monkeypatch, capsys):
    monkeypatch.setattr(engine, "PASSED", {"1.1": False, "1.3": True, "2.1": False})
    monkeypatch.setattr(engine, "notebook_shell", Shell)
    check("1.2", lambda *arguments: None)
    assert "first      1.1, if this answer calls it: its check does not pass" in capsys.readouterr().out
