"""Submissions that would rather have points than answers, before the real grader: they get what their answers earn."""

import os
import sys
from pathlib import Path

import homework_example as example
import hostile
import nbformat
import psutil
import pytest

pytest.importorskip("nbgrader")
from bertcourse_grading import grading  # noqa: E402
from bertcourse_grading.course import read_assignments  # noqa: E402
from bertcourse_grading.execution import Limits  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")]
LIMITS = Limits(cell_seconds=3, total_seconds=60, memory=2**29, processes=16, grace_seconds=2)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, grading.Result]:
    base = tmp_path_factory.mktemp("hostile")
    checks = str(example.make_checks(base / "checks"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(example.ROOT), checks]))
        patch.syspath_prepend(checks)
        course = example.make_course(base / "course")
        released = read_assignments(course)["hw01"].released
        for kind, code in hostile.hostile().items():
            path = base / "submissions" / kind.replace(": ", "-") / "hw01.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(example.answered(released, doubled=code, mean=example.RIGHT["mean"]), path)
        before = {process.pid for process in psutil.process_iter()}
        graded = grading.grade(base / "submissions", base / "grading", course, jobs=2, limits=LIMITS)
        left = [each for each in psutil.process_iter() if each.pid not in before and is_graders(each)]
        assert left == [] and not list(Path("/tmp").glob("hw-judge-*"))
    return {one.student: one for one in graded}


def is_graders(process: psutil.Process) -> bool:
    """Whether a process runs a submission or judges one."""
    try:
        return "bertcourse_grading" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@pytest.mark.parametrize("kind", hostile.hostile())
def test_no_trick_is_worth_a_point(results, kind):
    """The first answer is wrong, the second one right: three points, or fewer where the trick broke that one, too."""
    result = results[kind.replace(": ", "-")]
    first = [cell["points"] for name, cell in result.cells.items() if name.startswith("hw01-1")]
    assert first == [0, 0], result
    assert result.status in ("graded", "review") and result.points <= 3


OWN_FAULT = {"tampers: transformers"}  # no cell of its own runs any more


@pytest.mark.parametrize("kind", [k for k in hostile.hostile() if not k.startswith("protocol") and k not in OWN_FAULT])
def test_the_other_answer_keeps_its_points(results, kind):
    assert results[kind.replace(": ", "-")].points == 3, results[kind.replace(": ", "-")]
