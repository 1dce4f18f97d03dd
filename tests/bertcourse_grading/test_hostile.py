"""Submissions that would rather have points than answers, before the real grader: they get what their answers earn."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import psutil
import pytest

import homework_example as example
import hostile

pytest.importorskip("nbgrader")
from bertcourse_grading import cleaning, grading, process, walls  # noqa: E402
from bertcourse_grading.course import read_assignments  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")]
LIMITS = process.Limits(
    cell_seconds=3, total_seconds=60, memory=2**29, processes=16, folder_size=2**28, grace_seconds=2
)


SECRET = "the-lecturers-own-variable"
MARK = f"left-behind-by-{os.getpid()}"


def grade_hostile(base: Path, kinds: dict[str, str], most_files: int = 5000) -> dict[str, grading.Result]:
    """Grade submissions of these kinds, and look for what they left behind."""
    checks = str(example.make_checks(base / "checks"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(example.ROOT), checks]))
        patch.setenv("SECRET", SECRET)
        patch.syspath_prepend(checks)
        course = example.make_course(base / "course")
        released = read_assignments(course)["hw01"].released
        for kind, code in kinds.items():
            path = base / "submissions" / kind.replace(": ", "-") / "hw01.ipynb"
            path.parent.mkdir(parents=True)
            code = code.replace("left-behind", MARK)
            nbformat.write(example.answered(released, doubled=code, mean=example.RIGHT["mean"]), path)
        patch.setattr(cleaning, "MOST_FILES", most_files)
        before = {process.pid for process in psutil.process_iter()}
        graded = grading.grade(base / "submissions", base / "grading", course, jobs=2, limits=LIMITS)
        left = [each for each in psutil.process_iter() if each.pid not in before and is_left_behind(each, checks)]
        assert left == [] and not Path("/dev/shm", MARK).exists() and not (base / "grading" / "running").exists()
    return {one.student: one for one in graded}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("hostile")


# One for each way of getting at points: these are graded at every change, all others weekly.
A_DOZEN = [
    "tampers: globals-check",
    "tampers: import-hook",
    "tampers: garbage",
    "tampers: modules",
    "protocol: forged-reply",
    "protocol: verdict",
    "machine: daemon",
    "machine: environment-of-the-grader",
    "machine: memory-of-the-grader",
    "machine: checks",
    "returns: anything",
    "returns: endless-list",
]
KINDS = [pytest.param(kind, marks=[pytest.mark.weekly] * (kind not in A_DOZEN)) for kind in hostile.hostile()]


@pytest.fixture(scope="module")
def results(base, weekly) -> dict[str, grading.Result]:
    kinds = hostile.hostile()
    return grade_hostile(base, kinds if weekly else {kind: kinds[kind] for kind in A_DOZEN})


def is_left_behind(process: psutil.Process, checks: str) -> bool:
    """Whether a process runs a submission of this batch, judges one, or came from one."""
    try:
        is_ours = checks in process.environ().get("PYTHONPATH", "") or MARK in " ".join(process.cmdline())
        return is_ours and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_no_trick_is_worth_a_point(results, kind):
    """The first answer is wrong, the second one right: three points, or fewer where the trick broke that one, too."""
    result = results[kind.replace(": ", "-")]
    first = [cell["points"] for name, cell in result.cells.items() if name.startswith("hw01-1")]
    assert first == [0, 0], result
    assert result.status in ("graded", "review") and result.points <= 3


# With these no cell of the notebook's own runs any more, or the judge hears nothing more of it.
OWN_FAULT = {"tampers: transformers", "machine: descriptor-of-the-judge", "machine: reports"}


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if not k.values[0].startswith("protocol") and k.values[0] not in OWN_FAULT]
)
def test_the_other_answer_keeps_its_points(results, kind):
    assert results[kind.replace(": ", "-")].points == 3, results[kind.replace(": ", "-")]


@pytest.mark.parametrize("kind", ["garbage", "modules"])
def test_nothing_of_the_judge_is_there_to_be_found(results, base, kind):
    notebook = nbformat.read(base / "grading" / "autograded" / f"tampers-{kind}" / "hw01" / "hw01.ipynb", 4)
    assert example.cell_of(notebook, "1-doubled").outputs == []


def test_no_submission_speaks_with_the_graders_voice(results):
    said = "\n".join(message for result in results.values() for message in result.messages)
    assert "points are due" not in said and "broken by the grader" not in said


GRADE_AND_MEASURE = """import json, resource, sys
from pathlib import Path
import hostile, test_hostile
kinds = {kind: code for kind, code in hostile.hostile().items() if "parts" in kind or "shown" in kind}
results = test_hostile.grade_hostile(Path(sys.argv[1]), kinds)
found = {name: [result.points, result.messages] for name, result in results.items()}
if sys.platform == "linux":  # whose ru_maxrss begins with what the process had that started this one
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([found, peak]))
"""
# A slow machine may need longer than the cell has to make the messages, or to send them.
LATE = ("was stopped", "could not be interrupted; the notebook was run again without it")


@pytest.mark.weekly
def test_messages_of_many_parts_do_not_fill_the_graders_memory(tmp_path):
    """In a grader of its own; the parts of a message have 4.4 GiB together. What comes behind them may come too late;
    then the cell that sent them is left out, and no other."""
    path = os.pathsep.join(map(str, (example.ROOT, example.ROOT / "tests", Path(__file__).parent)))
    command, environment = [sys.executable, "-c", GRADE_AND_MEASURE, str(tmp_path)], {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    results, peak = json.loads(done.stdout.splitlines()[-1])
    assert peak * (1 if sys.platform == "darwin" else 1024) < 600 * 2**20, f"{peak:,}"
    asked = {kind: results.pop(f"protocol-many-parts-{kind}-when-asked") for kind in ("shown", "replied")}
    assert len(results) == 5 and all(points == 3 for points, _ in results.values()), results
    late = ([], *([f"cell hw01-1-doubled ran for more than 3 s and {how}"] for how in LATE))
    assert all(messages in late for _, messages in results.values()), results
    assert [points for points, _ in asked.values()] == [0, 0]  # whatever is asked, they answer so
    assert not any("hw01-1-doubled" in message for _, messages in asked.values() for message in messages), asked


SAYS = {  # what whoever grades should read
    "nested-folders": "made folders in folders, more than 60 deep",
    "daemons": "started more than 16 processes",
    "thread-without-head": "went on in a thread after its first one had ended",
    "unlinked-files": "wrote more than 256 MiB of files",
    "reports": "it wrote into the grader's report",
}


@pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")
@pytest.mark.weekly
@pytest.mark.parametrize("kind", SAYS)
def test_what_is_too_much_is_said(results, kind):
    assert SAYS[kind] in "\n".join(results[f"machine-{kind}"].messages)


@pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")
@pytest.mark.weekly
def test_too_many_files_are_said_where_the_watcher_comes_too_late(tmp_path, monkeypatch):
    look = process.Process.look_at_files
    monkeypatch.setattr(
        process.Process, "look_at_files", lambda one: threading.current_thread() is one.watcher or look(one)
    )
    kind = "machine: very-many-files"
    results = grade_hostile(tmp_path, {kind: hostile.hostile()[kind]}, most_files=500)  # however slow the disk is
    assert "more than 500 files" in "\n".join(results["machine-very-many-files"].messages)


REFUSED = (
    "memfd system-v message-queue environment-of-the-grader memory-of-the-grader holes descriptors root mount limits "
    "threads checks "
    "files-on-their-way message-to-others pages-in-pipes "
    "limits-of-the-grader limits-of-the-grader-by-program priority-of-all keys"
)


def assert_refused(base: Path) -> None:
    """What nobody may do raised an error in the student's cell, and none shows what is the lecturer's."""
    for kind in REFUSED.split():
        notebook = nbformat.read(base / "grading" / "autograded" / f"machine-{kind}" / "hw01" / "hw01.ipynb", 4)
        outputs = example.cell_of(notebook, "1-doubled").outputs
        assert outputs[-1].output_type == "error", (kind, outputs)
        assert outputs[-1].ename in ("PermissionError", "AssertionError", "OSError", "ValueError", "RuntimeError"), kind
    for path in base.glob("grading/autograded/*/*/*.ipynb"):
        assert SECRET not in path.read_text(encoding="utf-8"), path


@pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")
@pytest.mark.weekly
def test_what_nobody_may_do_is_refused(results, base):
    assert_refused(base)


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
@pytest.mark.weekly
def test_a_submission_runs_in_a_cgroup_where_systemd_makes_one(tmp_path, monkeypatch):
    """A stand-in for systemd-run: it drops its options and runs the command."""
    program = """#!/bin/sh
echo "$@" >> {}
test -n "$XDG_RUNTIME_DIR" || exit 1
while case "$1" in -*) true;; *) false;; esac; do shift; done
exec "$@"
"""
    (tmp_path / "systemd-run").write_text(program.format(tmp_path / "words"), encoding="utf-8")
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    walls.works.cache_clear()
    (result,) = grade_hostile(tmp_path, {"machine: root": hostile.hostile()["machine: root"]}).values()
    walls.works.cache_clear()
    assert result.walls.endswith("+cgroup") and result.points == 3
    started = (tmp_path / "words").read_text(encoding="utf-8").splitlines()[-1]
    assert (
        f"--property=MemoryMax={LIMITS.memory + walls.MORE_BYTES}" in started and "bertcourse_grading.kernel" in started
    )


@pytest.mark.skipif(not walls.works("bwrap", "--version"), reason="the same as above where there is no bubblewrap")
@pytest.mark.weekly
def test_our_own_walls_hold_where_there_are_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(walls, "bubblewrap", lambda writable, hidden: [])
    monkeypatch.setattr(walls, "control_group", lambda memory, processes: [])
    kinds = {kind: code for kind, code in hostile.hostile().items() if kind.startswith("machine")}
    for student, result in grade_hostile(tmp_path, kinds).items():
        assert result.walls == "system"
        own_fault = student.replace("-", ": ", 1) in OWN_FAULT
        assert result.points == 3 or own_fault, result
    assert_refused(tmp_path)
