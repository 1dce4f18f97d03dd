"""Odd files, full disks, lost gradebooks: what is not the student's fault costs no points, and each has one clear line.

The notebooks are not run: a right answer is one that the grader's own part of the work finds nothing wrong with.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import nbformat
import pytest

import homework_example as example

pytest.importorskip("nbgrader")
from filelock import FileLock  # noqa: E402
from sqlalchemy.exc import OperationalError  # noqa: E402

from bertcourse_grading import grading, submissions  # noqa: E402
from bertcourse_grading.course import read_assignments  # noqa: E402
from bertcourse_grading.execution import Run  # noqa: E402
from bertcourse_grading.export import read_grades  # noqa: E402
from bertcourse_grading.feedback import write_feedback  # noqa: E402
from bertcourse_grading.process import Limits, error_output  # noqa: E402
from bertcourse_lab import cli  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Batch:
    """Submissions and the folder that they are graded into; ``runs`` counts the notebooks that were run."""

    def __init__(self, base: Path) -> None:
        self.course = example.make_course(base / "course")
        self.submissions, self.output, self.runs = base / "submissions", base / "grading", 0
        self.right = example.answered(read_assignments(self.course)["hw01"].released, **example.RIGHT)

    def put(self, student: str | bytes, name: str | bytes = "hw01.ipynb") -> Path:
        folder = Path(os.fsdecode(os.path.join(os.fsencode(self.submissions), os.fsencode(student))))
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(self.right, folder / os.fsdecode(name))
        return folder / os.fsdecode(name)

    def run(self, grader, submission, assignment, notebook, seed) -> Run:
        """In place of the real one; all that is graded by code is right."""
        self.runs += 1
        return Run(walls="system")

    def grade(self, **options) -> dict[str, grading.Result]:
        results = grading.grade(self.submissions, self.output, self.course, jobs=1, **options)
        return {one.student: one for one in results}

    def points(self) -> dict[str, float]:
        return {student: points for (student, _), points in read_grades(self.output, self.course).points.items()}


@pytest.fixture
def batch(tmp_path, monkeypatch) -> Batch:
    batch = Batch(tmp_path)
    monkeypatch.setattr(grading.Grader, "run", lambda *arguments: batch.run(*arguments))
    return batch


def fail(error: Exception):
    """A function that fails so."""

    def failing(*arguments, **options):
        raise error

    return failing


def test_namesakes_keep_their_own_work(batch):
    for student in ("रीता", "रोता", "Anna Maria", "Anna-Maria", "🦊", "🐼", "Ren\u00e9", "Rene\u0301"):
        batch.put(student)
    results = batch.grade()
    assert len(results) == 8 and set(batch.points()) == set(results) and set(batch.points().values()) == {6}
    pages = write_feedback(batch.output, batch.course)
    assert len(set(pages)) == 8 and all(page.exists() for page in pages)
    assert batch.grade() == results and batch.runs == 8
    shutil.rmtree(batch.submissions / "रोता")
    assert batch.grade() == {name: one for name, one in results.items() if name != "रोता"}


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_names_that_are_not_utf8_are_reported_and_the_batch_goes_on(batch, capsys):
    batch.put("maria")
    for student, name in ((b"ren\xe9", b"hw01.ipynb"), (b"rene", b"caf\xe9-hw01.ipynb"), (b"\xff\xfe", b"hw01.ipynb")):
        batch.put(student, name)
    (batch.submissions / "maria" / os.fsdecode(b"donn\xe9es.csv")).write_text("1", encoding="utf-8")
    results = batch.grade()
    assert results["maria"].points == 6
    others = [one for one in results.values() if one.student != "maria"]
    assert len(others) == 3 and {one.status for one in others} == {"not graded"}
    assert all("is not UTF-8; rename it" in one.messages[-1] for one in others)
    report = (batch.output / "report.txt").read_text(encoding="utf-8")
    assert "ren\\xe9" in report and "ren\\xe9" in (batch.output / "report.csv").read_text(encoding="utf-8")
    assert batch.points() == {"maria": 6}


def test_a_link_is_not_followed_and_not_lost(batch, tmp_path):
    batch.put("maria")
    (batch.submissions / "eve").mkdir()
    (batch.submissions / "eve" / "hw01.ipynb").symlink_to(batch.submissions / "maria" / "hw01.ipynb")
    (batch.submissions / "zoe_hw01.ipynb").symlink_to(tmp_path / "nowhere")
    (batch.submissions / "jan").symlink_to(batch.submissions / "maria")
    (batch.submissions / "maria" / "data").symlink_to(tmp_path)
    results = batch.grade()
    assert {results[name].status for name in ("eve", "zoe", "jan")} == {"not graded"} and len(results) == 4
    assert "it is a link" in results["eve"].messages[-1] and batch.points() == {"maria": 6}


FULL_DISKS = {
    "submitted": ("shutil.copyfile", FULL),
    "sanitizing": ("bertcourse_grading.grading.restore", OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))),
    "nbgrader's log": ("bertcourse_grading.grading.Grader.prepare", RuntimeError(f"[Errno 28] {FULL.strerror}")),
    "points": (
        "nbgrader.preprocessors.SaveAutoGrades.preprocess",
        OperationalError("", {}, Exception("database or disk is full")),
    ),
    "autograded": ("bertcourse_grading.grading.write_notebook", FULL),
    "result": ("bertcourse_grading.grading.Grader.keep", FULL),
}


@pytest.mark.parametrize("place", FULL_DISKS)
def test_a_full_disk_costs_nobody_a_point(batch, monkeypatch, place):
    name, error = FULL_DISKS[place]
    batch.put("maria")
    with monkeypatch.context() as patch:
        patch.setattr(name, fail(error))
        (result,) = batch.grade().values()
        assert (result.status, result.points, result.max_points) == ("not graded", 0, 0)
        (message,) = result.messages
        assert message.startswith("no room on ") and message.endswith("free some and run the same command again")
    assert batch.points() == {} and not list((batch.output / "results").glob("*/*.json"))
    assert batch.grade()["maria"].points == 6 and batch.points() == {"maria": 6}


@pytest.mark.parametrize("place", ["sanitizing", "points", "autograded", "result"])
def test_an_earlier_result_stays_when_grading_again_fails(batch, monkeypatch, place):
    batch.put("maria")
    first = batch.grade()
    with monkeypatch.context() as patch:
        patch.setattr(*[FULL_DISKS[place][0], fail(FULL_DISKS[place][1])])
        (result,) = batch.grade(again=True).values()
        assert result.status == "not graded" and result.messages[-1] == "an earlier result stays in the gradebook"
    assert batch.points() == {"maria": 6} and batch.grade() == first


def test_a_broken_notebook_does_not_replace_a_result_before_it_is_kept(batch, monkeypatch):
    path = batch.put("maria")
    batch.grade()
    path.write_bytes(b"")
    with monkeypatch.context() as patch:
        patch.setattr(grading.Grader, "keep", fail(FULL))
        batch.grade()
    assert batch.points() == {"maria": 6}
    batch.grade()
    assert batch.points() == {"maria": 0} and not list((batch.output / "autograded").rglob("*.ipynb"))


def test_any_fault_of_the_grader_is_tried_again(batch, monkeypatch):
    batch.put("maria")
    with monkeypatch.context() as patch:
        patch.setattr(batch, "run", fail(RuntimeError("the kernel did not start")))
        (result,) = batch.grade().values()
    assert result.messages == [
        "the grader itself failed: RuntimeError: the kernel did not start; grade it again, or by hand"
    ]
    assert batch.points() == {} and write_feedback(batch.output, batch.course) == []
    assert batch.grade()["maria"].points == 6


def test_a_file_that_cannot_be_read_stops_nobody_else(batch, monkeypatch):
    path, read = batch.put("eve"), submissions.read_notebook
    batch.put("maria")
    denied = fail(PermissionError(errno.EACCES, "Permission denied", str(path)))
    monkeypatch.setattr(submissions, "read_notebook", lambda one: denied() if one == path else read(one))
    results = batch.grade()
    assert "PermissionError" in results["eve"].messages[-1] and batch.points() == {"maria": 6}


def test_a_run_without_room_is_no_answer(tmp_path, monkeypatch):
    """Too little before it begins; or a cell met a full disk, and it still is when the run is over."""
    batch, asked = Batch(tmp_path), []
    assignments = read_assignments(batch.course)
    batch.put("maria")
    (submission,) = submissions.find_submissions(batch.submissions, ["hw01"])
    (tmp_path / "grading").mkdir()
    grader = grading.Grader(assignments, batch.course, tmp_path / "grading", Limits(), tmp_path)
    monkeypatch.setattr(grading.Judge, "begin", lambda *_: asked.append("judge"))

    def runs_into_a_full_disk(notebook, *_):
        notebook.cells[3].outputs = [error_output("OSError", f"[Errno 28] {FULL.strerror}: 'x'")]
        return Run()

    monkeypatch.setattr(grading, "run_submission", runs_into_a_full_disk)
    room = [10**12, 10**6]
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=room.pop(0)))
    arguments = submission, assignments["hw01"], batch.right, 0
    with pytest.raises(OSError, match="500 MiB must be free"):
        grader.run(*arguments)
    assert asked == ["judge"] and room == []
    room += [10**6]
    with pytest.raises(OSError, match="500 MiB must be free"):
        grader.run(*arguments)
    room += [10**12, 10**12]  # its own folder was full; that is its own affair
    assert grader.run(*arguments) == Run() and asked == ["judge"] * 2


def test_what_others_have_written_already_is_not_to_come_any_more(tmp_path, monkeypatch):
    """Two at a time, of which one has written 3 MiB of its 4: there must be 1 for it, and 4 for the other one."""
    batch, usage = Batch(tmp_path), shutil.disk_usage(tmp_path)
    for name in ("grading", "running/hw-1"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "running" / "hw-1" / "file").write_bytes(bytes(3 * 2**20))
    limits, running = Limits(folder_size=4 * 2**20), tmp_path / "running"
    grader = grading.Grader({}, batch.course, tmp_path / "grading", limits, running, jobs=2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5 * 2**20))
    grader.expect_room_to_run()
    (running / "hw-1" / "file").write_bytes(bytes(2 * 2**20))
    with pytest.raises(OSError, match="6 MiB must be free"):
        grader.expect_room_to_run()
    (running / "hw-1" / "file").write_bytes(bytes(9 * 2**20))  # more than it may: the other one's room is its own
    grader.expect_room_to_run()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=3 * 2**20))
    with pytest.raises(OSError, match="4 MiB must be free"):
        grader.expect_room_to_run()


def test_nothing_is_begun_where_it_could_not_be_kept(batch, monkeypatch):
    batch.put("maria")
    monkeypatch.setattr(grading, "ROOM", 2**60)
    (result,) = batch.grade().values()
    assert result.messages[0].startswith(f"no room on {batch.output}: ") and batch.runs == 0
    assert batch.points() == {}


def test_a_gradebook_is_there_whole_or_not_at_all(batch, monkeypatch):
    batch.put("maria")
    with monkeypatch.context() as patch:
        patch.setattr("nbgrader.api.Base.metadata.create_all", fail(FULL))
        with pytest.raises(OSError, match="no room on"):
            batch.grade()
    assert not list(batch.output.glob("*.db"))
    assert batch.grade()["maria"].points == 6


def test_the_batch_says_where_there_is_no_room_for_reports(batch, monkeypatch):
    batch.put("maria")
    monkeypatch.setattr(grading, "write_reports", fail(FULL))
    with pytest.raises(OSError, match="no room on .*; free some and run the same command again"):
        batch.grade()
    assert batch.points() == {"maria": 6}


def test_two_graders_on_one_folder_wait_for_each_other(batch, capfd):
    batch.put("maria")
    batch.output.mkdir()
    lock, done = FileLock(batch.output / ".grading.lock"), threading.Event()

    def grade():
        batch.grade()
        done.set()

    with lock:
        thread = threading.Thread(target=grade)
        thread.start()
        assert not done.wait(2) and batch.runs == 0
    thread.join(60)
    assert done.is_set() and batch.runs == 1
    assert f"waiting for another grader on {batch.output}" in capfd.readouterr().err


def test_the_lock_of_a_killed_grader_is_open(batch):
    batch.put("maria")
    batch.output.mkdir()
    lock = f"from filelock import FileLock; FileLock({str(batch.output / '.grading.lock')!r}).acquire()"
    code = f"{lock}; import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert batch.grade()["maria"].points == 6


@pytest.mark.parametrize("loss", ["deleted", "overwritten", "emptied", "cut off"])
def test_a_lost_gradebook_is_made_of_the_results(batch, capsys, loss):
    for student in ("maria", "jan"):
        batch.put(student).with_name("timestamp.txt").write_text("2026-01-05 10:00:00 UTC", encoding="utf-8")
    batch.put("empty").write_bytes(b"")
    first, points, database = batch.grade(), batch.points(), batch.output / "gradebook.db"
    assert points == {"maria": 6, "jan": 6, "empty": 0}
    if loss == "deleted":
        database.unlink()
    else:
        content = database.read_bytes()
        database.write_bytes(
            {"overwritten": b"x" * 10**5, "emptied": b"", "cut off": content[: len(content) // 2]}[loss]
        )
        with pytest.raises(ValueError, match="is damaged. Grade again"):
            read_grades(batch.output, batch.course)
    shutil.rmtree(batch.submissions / "jan")  # not in this batch, and not forgotten
    assert batch.grade() == {name: one for name, one in first.items() if name != "jan"}
    assert batch.points() == points and batch.runs == 2
    said = capsys.readouterr().err
    assert "had lost them: 3; points given by hand are lost" in said
    assert (
        ("is damaged; it is kept as" in said)
        == (loss != "deleted")
        == bool(list(batch.output.glob("gradebook-damaged-*.db")))
    )


def test_a_result_that_the_gradebook_does_not_take_is_graded_again(batch, capsys):
    batch.put("maria")
    batch.grade()
    (batch.output / "gradebook.db").unlink()
    (batch.output / "autograded" / "maria" / "hw01" / "hw01.ipynb").write_text("{", encoding="utf-8")
    batch.grade()
    assert "does not take the result of maria, hw01" in capsys.readouterr().err
    assert batch.runs == 2 and batch.points() == {"maria": 6}


def test_large_files_are_read_in_pieces_or_not_at_all(batch):
    notebook = batch.put("sparse")
    with open(notebook, "r+b") as file:
        file.truncate(3 * 2**30)
    beside = batch.put("beside").with_name("table.csv")
    with open(beside, "wb") as file:
        file.truncate(3 * 2**30)
    with open(beside.with_name("more.csv"), "wb") as file:
        file.truncate(90 * 2**20)
    tracemalloc.start()
    results = batch.grade()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20
    assert results["sparse"].messages == ["the file has 3072 MiB; at most 100 are read: 0 points"]
    assert results["beside"].points == 6
    with open(beside, "r+b") as file:
        file.truncate(2 * 2**30)  # another file, another result
    batch.grade()
    assert batch.runs == 2


def test_so_many_files_beside_a_notebook_are_copied(batch, monkeypatch):
    monkeypatch.setattr(submissions, "MOST_FILES", 3)
    path = batch.put("maria")
    for number in range(5):
        (path.parent / f"{number}.csv").write_text("1", encoding="utf-8")
    (path.parent / ".hidden").write_text("1", encoding="utf-8")
    (path.parent / "helpers").mkdir()
    (path.parent / "helpers" / "__init__.py").touch()
    (submission,) = submissions.find_submissions(batch.submissions, ["hw01"])
    assignment = read_assignments(batch.course)["hw01"]
    with grading.work_folder(submission, assignment, batch.submissions.parent) as (folder, message):
        assert sorted(path.name for path in folder.rglob("*")) == ["0.csv", "1.csv", "2.csv"]
    assert message.startswith("beside the notebook were left out: 3.csv, 4.csv, __init__.py; at most 100 MiB a file")


def test_many_files_are_found_in_one_walk(batch, monkeypatch):
    """Looking into each folder once a file would take minutes."""
    path, scan, looked = batch.put("maria"), os.scandir, []
    for number in range(1_000):
        (path.parent / f"{number}.csv").touch()
    monkeypatch.setattr(os, "scandir", lambda *place: (looked.append(place), scan(*place))[1])
    assert len(submissions.find_submissions(batch.submissions, ["hw01"])) == 1
    assert 0 < len(looked) < 10


@pytest.mark.parametrize(
    "content, says",
    [
        ("[" * 100_000 + "]" * 100_000, "it is not a notebook"),
        ('{"cells": [' + "[]," * 3_000_000 + "[]]}", "brackets and commas; at most 5,000,000"),
        ('{"cells": [' + '{"cell_type": "code"},' * 6_000 + "{}]}", "6,001 cells; at most 5,000"),
        ('{"cells": [{"cell_type": "code", "source": "' + "x" * 99 * 2**20 + '"}]}', "103,809,024 characters"),
    ],
)
def test_a_notebook_that_would_take_all_memory_is_not_read(tmp_path, content, says):
    (tmp_path / "hw01.ipynb").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        submissions.read_submission(tmp_path / "hw01.ipynb")


@pytest.mark.parametrize("kind", example.TIMESTAMPS)
def test_a_timestamp_of_nonsense_is_ignored_with_a_line(batch, kind):
    batch.put("maria").with_name("timestamp.txt").write_bytes(example.TIMESTAMPS[kind])
    result = batch.grade()["maria"]
    assert result.points == 6 and result.messages == ["its timestamp.txt holds no date; graded as if there were none"]
    batch.put("maria").with_name("timestamp.txt").write_text("2026-01-05 10:00:00 UTC", encoding="utf-8")
    assert batch.grade()["maria"].messages == []
    kept = batch.output / "autograded" / "maria" / "hw01" / "timestamp.txt"
    assert kept.read_text(encoding="utf-8") == "2026-01-05 10:00:00 UTC"


def test_the_command_says_in_a_line_what_is_wrong_with_a_zip(batch, tmp_path, capsys):
    (tmp_path / "all.zip").write_bytes(b"PK\x03\x04 and no more")
    arguments = ["--source", str(batch.course), "--output", str(batch.output), "--as-root"]
    assert cli.main(["homework", "grade", str(tmp_path / "all.zip"), *arguments]) == 1
    assert "expected a folder or a zip" in capsys.readouterr().err


def test_what_is_kept_is_what_was_decided(batch):
    batch.put("maria")
    (batch.submissions / "eve").mkdir()
    (batch.submissions / "eve" / "hw01.ipynb").write_bytes(b"")
    batch.grade()
    kept = {path.parent.name: json.loads(path.read_text()) for path in (batch.output / "results").glob("*/*.json")}
    assert set(kept) == {"maria", "eve"} and all(one["fingerprint"] for one in kept.values())
    assert batch.points() == {"maria": 6, "eve": 0}
