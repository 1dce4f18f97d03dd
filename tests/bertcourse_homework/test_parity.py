"""An answer gets the same points in a notebook, before the judge in another process, and from nbgrader itself."""

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from wrong_answers import VARIANTS
from wrong_answers.verdicts import HOMEWORK, source_of, verdicts

pytest.importorskip("nbgrader")
from nbgrader.api import Gradebook  # noqa: E402
from nbgrader.apps.api import NbGraderAPI  # noqa: E402

from bertcourse_grading import grading  # noqa: E402
from bertcourse_grading.course import Assignment, load_config, read_assignments  # noqa: E402
from bertcourse_grading.judge import Verdict  # noqa: E402
from bertcourse_grading.process import Limits  # noqa: E402
from wrong_answers.judged import Court  # noqa: E402
from wrong_answers.notebooks import all_wrong, as_cell  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.weekly]
LIKELY = re.compile(r"^  likely +(.*)", re.MULTILINE)
NAMES = [path.stem for path in HOMEWORK]
LIMITS = Limits(cell_seconds=300, total_seconds=1200)


def causes(message: str) -> list[str]:
    """What a message says is likely wrong."""
    return LIKELY.findall(message)


@pytest.mark.parametrize("name", NAMES)
def test_all_answers_get_the_same_before_the_judge_as_in_the_notebook(name):
    different = []
    with Court(read_assignments(names=[name])[name]) as court:
        for variant in (each for each in VARIANTS if each.number.startswith(f"{int(name[2:])}.")):
            here, (visible, hidden) = verdicts(variant), court.verdicts_on(variant)
            there = visible.printed, hidden.message
            passes = [visible.points is None and not visible.kind, not hidden.kind]
            if passes != [not message for message in here] or [*map(causes, here)] != [*map(causes, there)]:
                different.append((variant.number, variant.what, here, there))
            assert variant.says is None or variant.says in visible.printed
    assert different == []


@pytest.mark.parametrize(
    "what, later",
    [
        ("3.3 from the left the longest piece, not the shortest", "3.6"),
        ("3.5 capitals stay", "3.6"),
        ("4.1 15 %, whatever is asked for", "4.6"),
    ],
)
def test_an_answer_is_not_refused_for_an_earlier_one_that_it_calls(what, later):
    variant = next(each for each in VARIANTS if f"{each.number} {each.what}" == what)
    wrong, name, source = variant.number, f"hw{int(later[0]):02}", source_of(later)[0]
    cells = [as_cell(variant) if each.number == wrong else each.solution for each in source.exercises]
    with Court(read_assignments(names=[name])[name]) as court:
        court.begin([source.setup, *cells])
        assert court.verdicts(later)[0].points == 0  # nobody knows yet that an earlier answer is wrong
        court.begin([source.setup, *cells])
        assert variant.says in court.verdicts(wrong)[0].printed
        visible, hidden = court.verdicts(later)
        assert visible.points is None and hidden == Verdict()


@pytest.fixture(scope="module")
def batch(tmp_path_factory) -> dict[str, dict[str, grading.Result]]:
    """For each homework, what three students get from the course's grader: with all solutions, with none, all wrong."""
    folder = tmp_path_factory.mktemp("batch")
    for assignment in read_assignments().values():
        hand_in(assignment, lambda student: folder / "submissions" / student)
    results = {name: {} for name in NAMES}
    for one in grading.grade(folder / "submissions", folder / "grading", jobs=2, limits=LIMITS):
        results[one.assignment][one.student] = one
    return results


def hand_in(assignment: Assignment, folder_of: Callable[[str], Path]) -> list[str]:
    """Write a submission of each kind into its student's folder; returns the students."""
    kinds = {"solved": assignment.solved, "released": assignment.released, "wrong": all_wrong(assignment)}
    for student, notebook in kinds.items():
        folder_of(student).mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder_of(student) / f"{assignment.name}.ipynb")
    return [*kinds]


@pytest.mark.parametrize("name", NAMES)
def test_solutions_have_all_points_and_what_is_not_solved_has_none(batch, name):
    cells = read_assignments(names=[name])[name].source.cells
    most = sum(cell.metadata.nbgrader.points for cell in cells if is_tested(cell))
    for student, one in batch[name].items():
        assert one.status == "graded" and one.points == most * (student == "solved"), (student, one.messages)
    solved, released = batch[name]["solved"], batch[name]["released"]
    assert released.by_hand == 0 < solved.by_hand == solved.max_points - most  # a person grades what was answered


@pytest.mark.parametrize("name", ["hw01", "hw04", "hw12"])
def test_honest_submissions_get_the_points_of_nbgraders_own_autograde(batch, name, tmp_path):
    assignment = read_assignments(names=[name])[name]
    students = hand_in(assignment, lambda student: tmp_path / "submitted" / student / name)
    ours = {
        student: {cell: about["points"] for cell, about in one.cells.items()} for student, one in batch[name].items()
    }
    assert autograde(name, students, tmp_path) == ours


def is_tested(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is worth points that no person gives."""
    about = cell.metadata.get("nbgrader", {})
    return about.get("grade", False) and not about["solution"]


def autograde(name: str, students: list[str], folder: Path) -> dict[str, dict[str, float]]:
    """Each student's points of each cell, by ``nbgrader autograde`` in a course folder."""
    grading.make_gradebook(f"sqlite:///{folder / 'gradebook.db'}")
    config = load_config(root=folder)
    config.ExecutePreprocessor.timeout = 300
    with grading.quiet_nbgrader():
        nbgrader = NbGraderAPI(config=config)
        assert nbgrader.generate_assignment(name)["success"]
        for student in students:
            done = nbgrader.autograde(name, student)
            assert done["success"], done
    with Gradebook(config.CourseDirectory.db_url) as gradebook:
        found = {student: gradebook.find_submission_notebook(name, name, student) for student in students}
        return {student: {one.name: one.auto_score for one in each.grades} for student, each in found.items()}
