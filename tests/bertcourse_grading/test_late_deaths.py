"""A process that ends: which cell is left out, and when nobody is to blame."""

import nbformat
import pytest

pytest.importorskip("nbgrader")
from bertcourse_grading import execution  # noqa: E402
from bertcourse_grading.execution import Ended, run_submission  # noqa: E402
from bertcourse_grading.process import Limits  # noqa: E402

DIED, LATE = "ended its process (exit status 3)", "ended its process after it had run (exit status 3)"


@pytest.fixture
def run(monkeypatch):
    """Run a notebook of ten cells whose processes end so; the run, and each time the pause and who was left out."""

    def running(*ends: Ended | None, **limits):
        paces, notebook = [], nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1") for _ in range(10)])

        def run_once(notebook, folder, files, judge, hidden, limits, pace, *_):
            paces.append((pace.settle, set(pace.left_out)))
            return ends[len(paces) - 1]

        monkeypatch.setattr(execution, "run_once", run_once)
        return run_submission(notebook, None, None, [], Limits(**limits)), paces, notebook

    return running


def test_the_cell_after_which_it_ends_again_is_left_out_and_no_other(run):
    done, paces, _ = run(Ended(5, DIED, False, 2.0), Ended(3, LATE, True, 1.0), None)
    assert paces == [(0, set()), (2.5, set()), (0, {3})]
    assert done.messages == [f"cell 4 {LATE}; the notebook was run again without it"] and done.review


def test_nobody_is_blamed_for_what_does_not_happen_again(run):
    done, paces, _ = run(Ended(5, DIED, False, 1.0), None)
    assert done.messages == [f"cell 6 {DIED}, but not when the notebook was run again"] and done.review
    assert paces[-1] == (1.5, set())


def test_what_happens_once_is_said_beside_what_happens_again(run):
    ends = [Ended(5, DIED, False, 1.0), Ended(5, DIED, True, 1.0), Ended(8, DIED, False, 1.0), None]
    done, paces, _ = run(*ends)
    assert [message.split(" ")[1] for message in done.messages] == ["6", "9"] and paces[-1] == (1.5, {5})


def test_a_cell_that_nothing_stops_is_left_out_at_once(run):
    done, paces, _ = run(Ended(5, "could not be interrupted", True, 70.0), None)
    assert paces == [(0, set()), (0, {5})] and len(done.messages) == 1


def test_all_pauses_of_a_slow_run_take_a_minute_at_most(run):
    _, paces, _ = run(Ended(5, DIED, False, 500.0), None)
    assert paces[-1][0] == 6


def test_nobody_is_blamed_where_the_pauses_are_too_short_to_know(run):
    """It ended late, in another cell each time: all that is known is that something went wrong."""
    done, paces, notebook = run(Ended(5, DIED, False, 50.0), Ended(3, DIED, False, 51.0))
    assert done.messages == [f"cell 4 {DIED}, maybe for what an earlier one began; the rest was not run"]
    assert [cell.outputs[0].ename for cell in notebook.cells[3:]] == ["NotRun"] * 7 and len(paces) == 2


def test_each_run_has_its_number(monkeypatch):
    """From which the judge makes its seed."""
    numbers, ends = [], [Ended(0, DIED, True, 1.0), None]

    def run_once(notebook, folder, files, judge, hidden, limits, pace, *_):
        numbers.append(pace.runs)
        return ends.pop(0)

    monkeypatch.setattr(execution, "run_once", run_once)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    run_submission(notebook, None, None, [], Limits())
    assert numbers == [0, 1]


def test_a_cell_is_to_blame_where_all_pauses_were_long_enough_or_it_was_the_same_one_twice():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1") for _ in range(10)])
    pace = execution.Pace(deadline=0.0)
    assert not pace.makes_sure(5)
    pace.slow_down(Ended(5, DIED, False, 2.0), notebook)
    assert pace.makes_sure(5) and pace.makes_sure(3)
    pace.slow_down(Ended(5, DIED, False, 50.0), notebook)
    assert pace.makes_sure(5) and not pace.makes_sure(3)


def test_who_dies_too_often_is_not_run_to_its_end(run):
    ends = [Ended(0, DIED, False, 1.0), Ended(0, DIED, True, 1.0), Ended(1, DIED, False, 1.0)]
    done, paces, notebook = run(*ends, restarts=1)
    assert len(paces) == 3 and done.messages[-1] == f"cell 2 {DIED}; what comes after it was not run"
    assert [cell.outputs[0].ename for cell in notebook.cells[1:]] == ["NotRun"] * 9 and not notebook.cells[0].outputs
