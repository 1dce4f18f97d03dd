"""Grading: every kind of submission is graded as far as it can be and reported rightly, and none stops the batch."""

import csv
import json
import os
import re
import shutil
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import nbformat
import psutil
import pytest

import homework_example as example

pytest.importorskip("nbgrader")
from bs4 import BeautifulSoup  # noqa: E402
from sqlalchemy import Engine, event  # noqa: E402

from bertcourse_grading import grading, submissions  # noqa: E402
from bertcourse_grading.course import load_config, read_assignments  # noqa: E402
from bertcourse_grading.export import export  # noqa: E402
from bertcourse_grading.feedback import hide, squeezed, write_feedback  # noqa: E402
from bertcourse_grading.process import Limits  # noqa: E402
from bertcourse_lab import cli  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")]
# Six seconds: on a busy machine it takes more than two to fill the memory that another limit is there for.
LIMITS = Limits(cell_seconds=6, total_seconds=60, memory=2**29, processes=16, grace_seconds=2)
LINUX = sys.platform == "linux"


class Batch:
    """A graded batch: its folders, its results by student."""

    def __init__(self, base: Path, kinds: list[str] | None = None, torch: bool = False, **options) -> None:
        self.outside = base / "outside.txt"
        self.outside.write_text("not yours", encoding="utf-8")
        self.course = example.make_course(base / "course", torch)
        self.submissions, self.output, self.limits = (
            base / "submissions",
            base / "grading",
            Limits(**{**vars(LIMITS), **options}),
        )
        example.write_submissions(self.submissions, self.course, self.outside, torch)
        for folder in self.submissions.iterdir():
            if kinds is not None and folder.name not in kinds or not LINUX and folder.name in example.LINUX_ONLY:
                for path in folder.iterdir():
                    path.unlink()
        self.grade()

    def grade(self) -> None:
        self.list = grading.grade(self.submissions, self.output, self.course, jobs=2, limits=self.limits)
        self.results = {one.student: one for one in self.list}

    def graded(self, student: str) -> nbformat.NotebookNode:
        return nbformat.read(self.output / "autograded" / student / "hw01" / "hw01.ipynb", as_version=4)


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    """The module that the example's assignments import, where a kernel finds it."""
    folder = str(example.make_checks(tmp_path_factory.mktemp("checks")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(example.ROOT), folder]))
        patch.syspath_prepend(folder)
        event.listen(Engine, "connect", without_waiting_for_the_disk)
        yield folder
        event.remove(Engine, "connect", without_waiting_for_the_disk)


def without_waiting_for_the_disk(connection, _) -> None:
    connection.execute("PRAGMA synchronous=OFF")


# The submissions of an ordinary batch: these are graded at every change, all other kinds weekly.
A_DOZEN = [
    "right",
    "partly",
    "wrong",
    "unsolved",
    "syntax-error",
    "endless-in-function",
    "megabytes",
    "redefines-check",
]
A_DOZEN += ["tampered-points", "missing-answer", "renamed", "empty", "changes-torch"]
KINDS = [pytest.param(kind, marks=[pytest.mark.weekly] * (kind not in A_DOZEN)) for kind in example.VERDICTS]


@pytest.fixture(scope="module")
def batch(checks, tmp_path_factory, weekly) -> Batch:
    return Batch(tmp_path_factory.mktemp("batch"), None if weekly else A_DOZEN, torch=True)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_submission_is_reported_rightly(batch, kind):
    if kind in example.LINUX_ONLY and not LINUX:
        pytest.skip("what stops it is Linux's")
    status, points, message = example.VERDICTS[kind]
    result = batch.results[kind]
    assert (result.status, result.points, result.max_points) == (status, points, 9), result.messages
    assert message in "\n".join(result.messages) and bool(message) == bool(result.messages), result.messages


def test_no_submission_reached_what_is_not_its_own(batch):
    assert batch.outside.read_text(encoding="utf-8") == "not yours"
    assert not LINUX or all(one.walls.startswith("system") for one in batch.list if one.seconds)


@pytest.mark.skipif(not LINUX, reason="processes are found by their environment")
@pytest.mark.weekly
def test_what_a_submission_leaves_running_is_ended(batch):
    commands = [one.info["cmdline"] for one in psutil.process_iter(["cmdline"])]
    assert ["sleep", "299.75"] not in commands and batch.results["leaves-process"].points == 6


def test_a_failed_check_says_what_it_said_to_the_student(batch):
    cells = batch.results["partly"].cells
    assert cells["hw01-2-hidden"] == {"points": 0.0, "max_points": 2.0, "message": "1.2 mean([10, 20, 60]) is wrong"}
    assert batch.results["wrong"].cells["hw01-1-check"]["message"] == "1.1: expected [2, 4], got [1, 2]"
    assert batch.results["unsolved"].cells["hw01-1-check"]["message"] == "1.1: not written yet."


def test_what_is_graded_by_hand_waits(batch):
    assert batch.results["right"].by_hand == 3 and batch.results["unsolved"].by_hand == 0  # no answer, no work


def test_long_output_is_cut(batch):
    outputs = example.cell_of(batch.graded("megabytes"), "1-doubled").outputs
    assert sum(len(output.text) for output in outputs) < 200_000 and "left out" in outputs[-1].text


def test_reports_hold_every_submission(batch):
    rows = list(csv.DictReader((batch.output / "report.csv").open(encoding="utf-8")))
    listed = json.loads((batch.output / "report.json").read_text(encoding="utf-8"))
    table = (batch.output / "report.txt").read_text(encoding="utf-8")
    assert len(rows) == len(listed) == len(batch.list) and all(row["student"] in table for row in rows)
    assert f"{len(rows)} submissions" in table


@pytest.mark.weekly
def test_what_is_graded_stays_until_it_changes(batch, monkeypatch):
    asked = []
    grade_afresh = grading.Grader.grade_afresh
    monkeypatch.setattr(
        grading.Grader,
        "grade_afresh",
        lambda self, one, *rest: (asked.append(one.student), grade_afresh(self, one, *rest)),
    )
    path = batch.submissions / "wrong" / "hw01.ipynb"
    before, old = path.read_bytes(), batch.results
    nbformat.write(nbformat.read(batch.submissions / "partly" / "hw01.ipynb", as_version=4), path)
    batch.grade()
    assert asked == ["wrong"] and batch.results["wrong"].points == 3
    assert batch.results["partly"] == old["partly"]
    path.write_bytes(before)
    beside = batch.submissions / "partly" / "table.csv"
    beside.write_text("1", encoding="utf-8")
    batch.grade()
    assert asked == ["wrong", "partly", "wrong"] or asked == ["wrong", "wrong", "partly"]
    beside.unlink()
    batch.grade()


def test_feedback_shows_results_and_no_hidden_test(batch):
    path = batch.submissions / "peeks" / "hw01.ipynb"
    path.parent.mkdir()
    released = read_assignments(batch.course)["hw01"].released
    notebook = example.answered(
        released,
        doubled=example.RIGHT["doubled"],
        mean="print(In)\ndef mean(values):\n    print(In)\n    raise ValueError(str(In))",
    )
    nbformat.write(notebook, path)
    batch.grade()
    pages = write_feedback(batch.output, batch.course, ["peeks", "partly", "empty", "redefines-check"])
    assert len(pages) == 4
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert (
            "BEGIN HIDDEN" not in text
            and "!= [14" not in text
            and "raise CheckFailed" not in text
            and "model answer" not in text
        ), page
    text = (batch.output / "feedback" / "partly" / "hw01" / "hw01.html").read_text(encoding="utf-8")
    assert "1.2 mean([10, 20, 60]) is wrong" in text and "1.2: expected 3, got 7" in text
    peeked = (batch.output / "feedback" / "peeks" / "hw01" / "hw01.html").read_text(encoding="utf-8")
    assert "ANSWERS" in peeked  # all that IPython knows of a hidden test
    line = "if doubled([7, -3]) != [14, -6]:"
    shown = nbformat.v4.new_output("stream", name="stdout", text=repr([f"  {line}\n"]))
    assert "left out: it showed a hidden test" in hide(shown, {squeezed(line)}).text
    assert hide(shown, {squeezed("another line of a hidden test")}) is shown
    assert "the file is empty" in (batch.output / "feedback" / "empty" / "hw01" / "hw01.html").read_text(
        encoding="utf-8"
    )


HOSTILE_PAGE = """from IPython.display import display, HTML, Javascript, Markdown
display(HTML("<script>alert(1)</script><table><tr><td onclick='alert(2)'>kept</td></tr></table>"))
display(Javascript("alert(3)"), Markdown("<img src=x onerror=alert(4)>"))
display({"image/png": "aGk=", "text/plain": ""}, raw=True, metadata={"image/png": {"width": "1 onerror=alert(5)"}})
display({"image/svg+xml": "<svg onload=alert(6)></svg>", "text/plain": ""}, raw=True)
"""
HOSTILE_TEXT = """# Title

<script>alert(7)</script> <img src=x onerror=alert(8)> [link](javascript:alert(9))
<iframe src="data:text/html,x"></iframe>

| $a<b$ | ![](data:image/png;base64,aGk=) |
|---|---|
"""


def test_pages_run_nothing_that_a_notebook_brings(batch):
    """Neither what students get back nor what the formgrader shows: a lecturer's browser may do what a lecturer may."""
    from nbconvert.exporters import HTMLExporter
    from nbgrader.server_extensions.formgrader import handlers

    path = batch.submissions / "page" / "hw01.ipynb"
    path.parent.mkdir()
    released = read_assignments(batch.course)["hw01"].released
    notebook = example.answered(released, doubled=HOSTILE_PAGE + example.RIGHT["doubled"], mean=example.RIGHT["mean"])
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(HOSTILE_TEXT))
    nbformat.write(notebook, path)
    batch.grade()
    (page,) = write_feedback(batch.output, batch.course, ["page"])
    config = load_config(batch.course, batch.output)
    config.HTMLExporter.template_name, config.HTMLExporter.extra_template_basedirs = (
        "formgrade",
        [handlers.template_path],
    )
    shown = HTMLExporter(config=config).from_filename(
        str(batch.output / "autograded" / "page" / "hw01" / "hw01.ipynb"),
        resources={"index": 0, "total": 1},
    )[0]
    for text in (page.read_text(encoding="utf-8"), shown):
        found = BeautifulSoup(text, "html.parser")
        assert "alert(1)" in found.get_text() and "kept" in [cell.get_text() for cell in found.find_all("td")]
        values = [str(value) for tag in found.find_all(True) for value in tag.attrs.values()]
        scripts = [tag.get_text() for tag in found.find_all("script")]
        assert not any(re.search(r"alert\(\d", text) for text in values + scripts) and not found.find_all("iframe")
        pictures = [tag["src"] for tag in found.find_all("img") if tag.get("src")]
        assert pictures and all(place.startswith("data:image/") for place in pictures)
        assert "<td>$a&lt;b$</td>" in text.replace("<th>", "<td>").replace("</th>", "</td>")


@pytest.mark.weekly
def test_each_submission_has_a_seed_of_its_own_and_keeps_it(checks, tmp_path):
    batch = Batch(tmp_path, ["right", "partly"])
    seeds = {one.student: one.seed for one in batch.list}
    assert all(seeds.values()) and len({*seeds.values()}) == 2
    kept = batch.output / "results" / "partly" / "hw01.json"
    text = kept.read_text(encoding="utf-8")
    kept.write_text(text.replace(f'"seed": {seeds["partly"]}', '"seed": 0'), encoding="utf-8")  # of an older grader
    again = grading.grade(batch.submissions, batch.output, batch.course, limits=batch.limits, again=True)
    assert {one.student: one.seed for one in again}["right"] == seeds["right"]
    assert {one.student: one.seed for one in again}["partly"] not in (0, seeds["partly"])


def test_a_folder_that_the_course_lies_in_is_refused(checks, tmp_path):
    course = example.make_course(tmp_path / "course")
    with pytest.raises(ValueError, match="expected a folder with submissions or grades and nothing else"):
        grading.grade(Path(sys.prefix).parent, tmp_path / "grading", course)
    with pytest.raises(ValueError, match="Name another"):
        grading.grade(tmp_path, Path("/"), course)
    assert not (tmp_path / "grading").exists()


def test_canvas_gets_its_columns_and_keeps_a_roster(batch, tmp_path):
    messages = export(batch.output, "canvas", tmp_path / "new.csv", source=batch.course)
    rows = list(csv.reader((tmp_path / "new.csv").open(encoding="utf-8")))
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw01", "hw02"]
    assert rows[1] == ["    Points Possible", "", "", "", "", "9", "9"]
    assert ["partly", "", "", "partly", "", "3", ""] in rows
    assert "still have something to be graded by hand" in messages[0] and "right hw01" in messages[0]
    (tmp_path / "roster.csv").write_text(
        'Student,ID,SIS Login ID,Section,hw01 (98765),Notes\n"    Points Possible",,,,9,\n'
        '"Ro, Anna",17,partly,A,,kind\n"Li, Bo",18,nobody,A,,\n',
        encoding="utf-8-sig",
    )
    messages = export(batch.output, "canvas", tmp_path / "filled.csv", tmp_path / "roster.csv", batch.course)
    rows = list(csv.reader((tmp_path / "filled.csv").open(encoding="utf-8")))
    assert rows[2] == ["Ro, Anna", "17", "partly", "A", "3", "kind"] and rows[3] == [
        "Li, Bo",
        "18",
        "nobody",
        "A",
        "",
        "",
    ]
    assert "hw02 has no column in roster.csv" in messages and "wrong is not in roster.csv" in messages


def test_moodle_gets_its_columns(batch, tmp_path):
    export(batch.output, "moodle", tmp_path / "new.csv", source=batch.course)
    rows = list(csv.reader((tmp_path / "new.csv").open(encoding="utf-8")))
    assert rows[0] == ["ID number", "hw01", "hw02"] and ["partly", "3", ""] in rows
    (tmp_path / "roster.csv").write_text(
        "Identifier,Full name,Assignment: hw01 (Real)\nParticipant partly,Anna Ro,-\n", encoding="utf-8"
    )
    export(batch.output, "moodle", tmp_path / "filled.csv", tmp_path / "roster.csv", batch.course)
    assert "Participant partly,Anna Ro,3" in (tmp_path / "filled.csv").read_text(encoding="utf-8")
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("Identifier,Full name,Grade\nParticipant partly,Anna Ro,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no column for hw01, hw02"):
        export(batch.output, "moodle", tmp_path / "filled.csv", sheet, batch.course)
    export(batch.output, "moodle", tmp_path / "filled.csv", sheet, batch.course, "hw01")
    assert "Participant partly,Anna Ro,3" in (tmp_path / "filled.csv").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="assignment must be one of hw01, hw02; got 'hw09'"):
        export(batch.output, "moodle", tmp_path / "filled.csv", sheet, batch.course, "hw09")
    before = (tmp_path / "filled.csv").read_bytes()
    sheet.write_text("Identifier,Full name,Grade\nParticipant partly,A,\npartly,B,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has two rows for partly"):
        export(batch.output, "moodle", tmp_path / "filled.csv", sheet, batch.course, "hw01")
    assert (tmp_path / "filled.csv").read_bytes() == before
    # one column for all: that somebody's full name is another's ID gives nobody a grade
    sheet.write_text("Identifier,Full name,Grade\npartly,A,\nwrong,partly,\n", encoding="utf-8")
    export(batch.output, "moodle", tmp_path / "filled.csv", sheet, batch.course, "hw01")
    assert "wrong,partly,0" in (tmp_path / "filled.csv").read_text(encoding="utf-8")


def test_a_roster_without_the_assignment_is_refused(batch, tmp_path):
    (tmp_path / "roster.csv").write_text("Student,ID\nAnna,1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no column for hw01, hw02"):
        export(batch.output, "canvas", tmp_path / "filled.csv", tmp_path / "roster.csv", batch.course)
    with pytest.raises(FileNotFoundError, match="Grade first"):
        export(tmp_path, "canvas", tmp_path / "filled.csv", source=batch.course)


@pytest.mark.weekly
def test_points_are_those_of_nbgraders_own_autograde(batch, tmp_path):
    from nbgrader.api import Gradebook
    from nbgrader.apps.api import NbGraderAPI

    grading.make_gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}")
    for student in (students := ["right", "partly", "wrong"]):
        (tmp_path / "submitted" / student / "hw01").mkdir(parents=True)
        (tmp_path / "submitted" / student / "hw01" / "hw01.ipynb").write_bytes(
            (batch.submissions / student / "hw01.ipynb").read_bytes()
        )
    config = load_config(batch.course, tmp_path)
    with grading.quiet_nbgrader():
        nbgrader = NbGraderAPI(config=config)
        assert nbgrader.generate_assignment("hw01")["success"]
        for student in students:
            assert nbgrader.autograde("hw01", student)["success"]
    with Gradebook(config.CourseDirectory.db_url) as gradebook:
        for student in students:
            theirs = {
                one.name: one.auto_score for one in gradebook.find_submission_notebook("hw01", "hw01", student).grades
            }
            assert theirs == {name: cell["points"] for name, cell in batch.results[student].cells.items()}, student


def test_without_the_systems_walls_python_refuses_the_same(checks, tmp_path, weekly):
    kinds = ["writes-outside", "writes-by-program", *["deletes-files", "network", "reads-solution"] * weekly]
    batch = Batch(tmp_path, kinds, walls=False)
    assert batch.outside.read_text(encoding="utf-8") == "not yours"
    assert {one.walls for one in batch.list} == {"python"} and {one.status for one in batch.list} == {"review"}
    assert "it tried to start a program (os.system)" in batch.results["writes-by-program"].messages
    assert "Python alone kept them" in (batch.output / "report.txt").read_text(encoding="utf-8")


def test_the_time_of_the_whole_notebook_is_limited(checks, tmp_path):
    batch = Batch(tmp_path, ["endless"], total_seconds=2, cell_seconds=300)
    (result,) = batch.list
    assert result.status == "review" and result.points == 0 and result.seconds < 150
    assert "what comes after it was not run" in result.messages[0]


@pytest.mark.parametrize(
    "path, student, name",
    [
        ("maria/hw01.ipynb", "maria", "hw01"),
        ("maria/hw01/hw01.ipynb", "maria", "hw01"),
        ("maria_hw02.ipynb", "maria", "hw02"),
        ("rossimaria_1234_5678_hw01-2.ipynb", "1234", "hw01"),
        ("rossimaria_LATE_1234_5678_hw01.ipynb", "1234", "hw01"),
        ("Maria Rossi_1234567_assignsubmission_file_/hw02.ipynb", "1234567", "hw02"),
        ("Maria Rossi_1234567_assignsubmission_file_hw02.ipynb", "1234567", "hw02"),
        ("maria/HW 1 final.ipynb", "maria", "hw01"),
        ("maria/hw01/answers.pdf", "maria", "hw01"),
        ("Zoë O'Neil/hw01.ipynb", "Zoë O'Neil", "hw01"),
    ],
)
def test_files_are_found_as_platforms_name_them(tmp_path, path, student, name):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("{}", encoding="utf-8")
    (found,) = submissions.find_submissions(tmp_path, ["hw01", "hw02"])
    assert (found.student, found.assignment) == (student, name)
    assert ("late, says Canvas" in found.messages) == ("LATE" in path)


def test_of_several_files_the_last_counts(tmp_path):
    for name in ("ro_1_7_hw01.ipynb", "ro_1_8_hw01-2.ipynb", "ro_1_9_hw01-1.ipynb"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    (found,) = submissions.find_submissions(tmp_path, ["hw01"])
    assert found.path.name == "ro_1_8_hw01-2.ipynb" and "3 files were handed in" in found.messages[-1]


def test_files_beside_a_notebook_are_not_submissions(tmp_path):
    for name in (
        "maria/hw01/hw01.ipynb",
        "maria/hw01/table.csv",
        "maria/hw01/figures/a.png",
        "maria/hw01/.ipynb_checkpoints/hw01.ipynb",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert len(submissions.find_submissions(tmp_path, ["hw01"])) == 1


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing to grade"):
        submissions.find_submissions(tmp_path, ["hw01"])
    with pytest.raises(FileNotFoundError, match="expected a folder or zip of submissions"):
        submissions.find_submissions(tmp_path / "absent", ["hw01"])


@pytest.mark.parametrize(
    "content, says",
    [
        (b"[1, 2]", "no list of cells"),
        (b'{"cells": 5}', "no list of cells"),
        (b"PK\x03\x04....", "a zip"),
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"   \n", "empty"),
        (b"[" * 100_000, "not a notebook"),
    ],
)
def test_what_is_no_notebook_is_called_by_its_name(tmp_path, content, says):
    (tmp_path / "hw01.ipynb").write_bytes(content)
    with pytest.raises(ValueError, match=says):
        submissions.read_submission(tmp_path / "hw01.ipynb")


def test_broken_cells_are_left_out_and_old_notebooks_converted(tmp_path):
    path = tmp_path / "hw01.ipynb"
    path.write_text(
        json.dumps(
            {
                "nbformat": 4,
                "cells": [{"cell_type": "code", "source": ["x = 1\n", "x"], "metadata": 3}, {"cell_type": "pie"}, 7],
            }
        )
    )
    notebook, messages = submissions.read_submission(path)
    assert [cell.source for cell in notebook.cells] == ["x = 1\nx"] and messages == [
        "2 cells were broken, and left out"
    ]
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "input": "y = 2",
                        "language": "python",
                        "outputs": [],
                        "metadata": {},
                        "collapsed": False,
                        "prompt_number": 1,
                    }
                ]
            }
        ],
    }
    path.write_text(json.dumps(old))
    notebook, messages = submissions.read_submission(path)
    assert [cell.source for cell in notebook.cells] == ["y = 2"] and "old notebook format" in messages[0]


def test_the_command_grades_reports_and_says_what_is_missing(checks, tmp_path, capsys, monkeypatch):
    course, folder = example.make_course(tmp_path / "course"), tmp_path / "submissions"
    (folder / "maria").mkdir(parents=True)
    (folder / "maria" / "hw01.ipynb").write_bytes(b"")
    shared = ["--source", str(course), "--output", str(tmp_path / "grading")]
    assert cli.main(["homework", "feedback", *shared]) == 1 and "Grade first" in capsys.readouterr().err
    assert cli.main(["homework", "grade", str(folder), "--jobs", "0", *shared]) == 1
    assert "--jobs must be from 1 to 256; got 0" in capsys.readouterr().err
    assert cli.main(["homework", "grade", str(folder), "--memory", "-1", *shared]) == 1
    assert "--memory must be from 0.1 to 1,024 GiB; got -1" in capsys.readouterr().err
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert cli.main(["homework", "grade", str(folder), *shared]) == 1
    assert "expected an ordinary user; this is root" in capsys.readouterr().err
    assert cli.main(["homework", "grade", str(folder), "--as-root", *shared]) == 1  # it could not be graded
    assert "the file is empty: 0 points" in capsys.readouterr().out
    assert cli.main(["homework", "feedback", *shared]) == 0 and "1 pages" in capsys.readouterr().out
    assert cli.main(["homework", "export", "--format", "moodle", *shared]) == 0
    assert (tmp_path / "grading" / "grades-moodle.csv").read_text(encoding="utf-8").split() == [
        "ID",
        "number,hw01",
        "maria,0",
    ]


def test_a_grader_that_fails_says_so_and_goes_on(checks, tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "restore", lambda *_: 1 / 0)
    (result,) = Batch(tmp_path, ["right"]).list
    assert result.status == "not graded" and "the grader itself failed: ZeroDivisionError" in result.messages[0]


@pytest.mark.parametrize("names", [["rossimaria_1_2_hw01.ipynb", "lijan_3_4_hw01.ipynb"], ["1", "3"]])
def test_a_download_that_was_packed_anew_is_unwrapped(tmp_path, names):
    for name in names:
        path = tmp_path / "all" / "hw01" / (name if name.endswith(".ipynb") else f"{name}/hw01.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    found = submissions.find_submissions(tmp_path / "all", ["hw01", "hw02"])
    assert [one.student for one in found] == ["1", "3"] and [one.has_folder for one in found] == [
        "." not in names[0]
    ] * 2


def test_a_lone_student_is_not_taken_for_a_wrapping(tmp_path):
    (tmp_path / "maria" / "hw01").mkdir(parents=True)
    (tmp_path / "maria" / "hw01" / "hw01.ipynb").write_text("{}", encoding="utf-8")
    (found,) = submissions.find_submissions(tmp_path, ["hw01"])
    assert found.student == "maria"


def test_moodles_files_beside_the_notebook_are_there(tmp_path):
    folder = tmp_path / "Zoë O'Neil_123_assignsubmission_file_"
    folder.mkdir()
    (folder / "hw01.ipynb").write_text("{}", encoding="utf-8")
    (folder / "mine.csv").write_text("1", encoding="utf-8")
    (tmp_path / "Jan Li_7_assignsubmission_file_").mkdir()
    (tmp_path / "Jan Li_7_assignsubmission_file_" / "hw01.ipynb").write_text("{}", encoding="utf-8")
    found = {one.student: one for one in submissions.find_submissions(tmp_path, ["hw01"])}
    assignment = next(iter(read_assignments(example.make_course(tmp_path / "course")).values()))
    with grading.work_folder(found["123"], assignment, tmp_path) as (files, _):
        assert (files / "mine.csv").read_text() == "1"
    with grading.work_folder(found["7"], assignment, tmp_path) as (files, _):
        assert not (files / "mine.csv").exists()


def test_a_changed_grader_grades_again(tmp_path, monkeypatch):
    """Its own files are in the digest that results are kept under, as are the course's."""
    before = grading.package_digest.__wrapped__()
    for name in ("bertcourse_grading", "bertcourse_homework", "bertcourse"):
        home = Path(grading.find_spec(name).origin).parent
        other = shutil.copytree(home, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "course_data"))
        assert grading.package_digest.__wrapped__() == before
        with monkeypatch.context() as patch:
            moved = {name: types.SimpleNamespace(origin=str(other / "__init__.py"))}
            patch.setattr(grading, "find_spec", lambda each: moved.get(each) or find_spec(each))  # noqa: B023
            assert grading.package_digest.__wrapped__() == before
            (other / "other.tsv").write_text("changed", encoding="utf-8")
            assert grading.package_digest.__wrapped__() != before
