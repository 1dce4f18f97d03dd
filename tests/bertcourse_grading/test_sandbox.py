"""What keeps a submission in: what Python refuses."""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from collections import Counter

import nbformat
import psutil
import pytest

pytest.importorskip("nbgrader")
from bertcourse_grading import cleaning, execution, process, sandbox, walls  # noqa: E402
from bertcourse_grading.judge_client import Judge  # noqa: E402
from homework_example import LOOP_THAT_STAYS  # noqa: E402

WRITE = os.O_WRONLY | os.O_CREAT


@pytest.fixture
def guarded(tmp_path):
    """The hook, for a folder of one's own beside one that is hidden; and what it reported."""
    for name in ("own", "hidden", "other"):
        (tmp_path / name).mkdir()
    found = []
    hook = sandbox.guard(
        [tmp_path / "own"], [tmp_path / "hidden"], False, lambda kind, text: found.append((kind, text))
    )
    return hook, tmp_path, found


@pytest.mark.parametrize(
    "event, arguments",
    [
        ("open", ("own/a.txt", "w", WRITE)),
        ("open", ("other/a.txt", "r", os.O_RDONLY)),
        ("open", (3, "w", WRITE)),
        ("os.remove", ("own/a.txt", -1)),
        ("os.rename", ("own/a.txt", "own/b.txt", -1, -1)),
        ("os.symlink", ("other/a.txt", "own/link", -1)),
        ("os.kill", (os.getpid(), 15)),
        ("socket.bind", (None, "a path")),
        ("sqlite3.connect", (":memory:",)),
        ("sqlite3.connect", ("own/a.db",)),
        ("import", ("torch", None, None, None, None)),
    ],
)
def test_what_a_submission_needs_is_let_through(guarded, event, arguments):
    hook, folder, found = guarded
    hook(event, tuple(str(folder / value) if isinstance(value, str) and "/" in value else value for value in arguments))
    assert found == []


@pytest.mark.parametrize(
    "event, arguments, kind, says",
    [
        ("open", ("other/a.txt", "w", WRITE), "write", "tried to write"),
        ("open", ("own/../other/a.txt", "w", WRITE), "write", "tried to write"),
        ("open", (b"hidden/hw01.ipynb", "r", os.O_RDONLY), "read", "tried to read"),
        ("open", ("own/link", "r", os.O_RDONLY), "read", "tried to read"),
        ("os.remove", ("other/a.txt", -1), "write", "(remove)"),
        ("os.rename", ("own/a.txt", "other/a.txt", -1, -1), "write", "(rename)"),
        ("os.mkdir", ("other/new", 0o777, -1), "write", "(mkdir)"),
        ("sqlite3.connect", ("other/gradebook.db",), "write", "tried to open the database"),
        ("os.kill", (1, 9), "process", "signal to process 1"),
        ("os.system", ("ls",), "process", "start a program"),
        ("subprocess.Popen", ("ls", [], None, None), "process", "start a program"),
        ("socket.connect", (None, ("192.0.2.1", 80)), "network", "192.0.2.1"),
        ("socket.connect", (None, "/run/docker.sock"), "network", "it tried to reach another program"),
        ("socket.getaddrinfo", ("example.org", 80, 0, 0, 0), "network", "example.org"),
        ("socket.sendto", (None, ("192.0.2.1", 53)), "network", "192.0.2.1"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths and links as on POSIX")
def test_what_it_may_not_do_is_refused_and_reported(guarded, event, arguments, kind, says):
    hook, folder, found = guarded
    (folder / "own" / "link").symlink_to(folder / "hidden" / "hw01.ipynb")

    def place(value):
        if isinstance(value, bytes):
            return os.fsencode(folder) + b"/" + value
        return f"{folder}/{value}" if isinstance(value, str) and "/" in value else value

    with pytest.raises(PermissionError, match="not while a submission is graded"):
        hook(event, tuple(map(place, arguments)))
    assert found[0][0] == kind and says in found[0][1]


def test_an_internet_socket_is_reported_where_none_can_be_opened(guarded):
    guarded[0]("socket.__new__", (None, socket.AF_INET, 1, 0))
    assert guarded[2] == [("network", "it opened a network socket")]


def test_a_report_is_written_once_and_not_without_end(tmp_path):
    reports = sandbox.Reports(tmp_path / "reports.jsonl")
    for number in [0, 0, *range(100)]:
        reports.add("write", f"line {number}")
    lines = (tmp_path / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == sandbox.MOST_REPORTS and json.loads(lines[1]) == {"kind": "write", "text": "line 1"}


def test_sources_of_the_homework_are_not_among_the_readable_places():
    places, listed = sandbox.readable_places([], [])
    root = process.Path(sandbox.__file__).resolve().parents[2]
    for secret in (root / "notebooks" / "homework", root / "tests" / "wrong_answers", root / "grading"):
        assert not any(secret.is_relative_to(place) for place in places)
    assert any((root / "bertcourse" / "bert").is_relative_to(place) for place in places)
    assert not any((root / "tools" / "bertcourse_homework").is_relative_to(place) for place in places)
    assert any((root / "tools" / "bertcourse_figures").is_relative_to(place) for place in places)
    assert root not in listed and root / "tools" not in listed


def test_what_is_hidden_cannot_be_read_wherever_it_lies(tmp_path):
    """A course in /opt, say, which is readable otherwise."""
    for name in ("course/homework/hw01", "course/data", "tools"):
        (tmp_path / "opt" / name).mkdir(parents=True)
    (tmp_path / "opt" / "course" / "homework" / "hw01" / "hw01.ipynb").touch()
    (tmp_path / "home").mkdir()
    (tmp_path / "opt" / "link").symlink_to(tmp_path / "home")
    hidden = [tmp_path / "opt" / "course" / "homework"]
    places, listed = sandbox.readable_places([str(tmp_path / "opt"), str(hidden[0] / "hw01")], hidden)
    assert [place for place in sorted(places) if place.is_relative_to(tmp_path)] == [
        tmp_path / "opt" / "course" / "data",
        tmp_path / "opt" / "tools",
    ]
    assert {tmp_path / "opt", tmp_path / "opt" / "course"} < {*listed}


@pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")
def test_what_only_root_may_read_stays_so(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    places, listed = sandbox.readable_places([], [])
    secret = [path for path in sandbox.Path("/etc").iterdir() if not path.stat().st_mode & 0o004]
    assert secret and not any(path.is_relative_to(place) for place in places for path in secret)
    assert sandbox.Path("/etc") in listed and sandbox.Path("/etc/passwd") in places


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")
def test_a_batch_that_is_interrupted_ends_its_kernels(tmp_path):
    notebook, cancel = (
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import time; time.sleep(60)")]),
        threading.Event(),
    )
    threading.Timer(4, cancel.set).start()
    with pytest.raises(process.Cancelled):
        execution.run_submission(notebook, None, Judge(), [], process.Limits(), cancel, tmp_path)
    assert cleaning.strays(tmp_path) == [] and not cleaning.RUNNING and [*tmp_path.iterdir()] == []


KEEPS = """import contextlib, os, tempfile
folders = [".", "..", os.path.expanduser("~"), tempfile.gettempdir(), "/dev/shm"]
places = [os.path.join(folder, "kept") for folder in folders]
print([place for place in places if os.path.exists(place)])
for place in places:
    with contextlib.suppress(OSError):
        open(place, "w").close()"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")
def test_no_file_is_kept_from_one_run_of_a_notebook_to_the_next(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "table.csv").touch()
    cells = [nbformat.v4.new_code_cell(source) for source in (KEEPS, LOOP_THAT_STAYS, "open('table.csv', 'x')")]
    limits = process.Limits(cell_seconds=2, grace_seconds=1)
    run = execution.run_submission(
        nbformat.v4.new_notebook(cells=cells), tmp_path / "files", Judge(), [], limits, None, tmp_path
    )
    # without bubblewrap, /dev/shm is refused
    messages = [each for each in run.messages if each != "it tried to write /dev/shm/kept"]
    assert len(messages) == 1 and "the notebook was run again without it" in messages[0]
    assert cells[0].outputs[0].text == "[]\n" and cells[2].outputs[0].ename == "FileExistsError"


def test_folders_are_measured_by_what_they_hold_and_not_followed_for_ever(tmp_path):
    assert cleaning.folder_size(tmp_path) == 0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 50_000)
    with open(tmp_path / "holes", "wb") as file:
        file.truncate(3 * 2**30)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 50_000 <= cleaning.folder_size(tmp_path) < 200_000
    deep = tmp_path
    for _ in range(cleaning.MOST_DEPTH + 2):
        deep = deep / "d"
        deep.mkdir()
    assert cleaning.folder_size(tmp_path) is None


def test_very_many_files_are_not_counted_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(cleaning, "MOST_FILES", 10)
    for number in range(12):
        (tmp_path / str(number)).touch()
    assert cleaning.folder_size(tmp_path) is None


def test_a_watcher_that_fails_ends_the_run(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    watched = process.Process(tmp_path, tmp_path / "work", Judge(), [], process.Limits(), threading.Event())
    watched.done = threading.Event()
    monkeypatch.setattr(watched, "look", lambda: 1 / 0)
    monkeypatch.setattr(watched, "end", watched.done.set)
    watched.watch()
    assert watched.killed == "was no longer watched" and isinstance(watched.fault, ZeroDivisionError)


@pytest.fixture
def asked(tmp_path):
    """A submission before a judge who asks once and then says nothing; the submission's end of the connection."""

    class Silent(Judge):
        def receive(self, seconds):
            self.send = received.append
            if received:
                raise process.JudgeSilent("the judge said nothing")
            return {"ask": {"fetch": "doubled"}}

    (tmp_path / "work").mkdir()
    received: list[bytes] = []
    watched = process.Process(tmp_path, tmp_path / "work", Silent(), [], process.Limits(), threading.Event())
    watched.over = threading.Event()
    watched.family = list  # no process was started
    watched.connection, there = multiprocessing.Pipe()
    return watched, there, received


def test_a_judge_that_an_answer_silences_costs_that_answer(asked):
    watched, there, received = asked
    there.send_bytes(b"whatever")
    found = []
    watched.relay(60.0, found)
    assert received == [b"Rwhatever"]  # as it came
    assert found[0].kind == "JudgeSilent" and "could not work through in 120 s" in found[0].message


def test_who_does_not_answer_is_told_of_and_the_judges_thinking_is_not_counted(asked):
    watched, there, received = asked
    found = []
    watched.relay(0.3, found)
    assert received[0] == b"Gran for more than 60 s and was stopped"
    there.close()
    received.clear()
    watched.relay(60.0, found)
    assert received[0] == b"Gdid not answer the judge"


def reports_of(folder, *lines):
    """What is made of lines in a submission's report."""
    (folder / "work").mkdir(exist_ok=True)
    watched = process.Process(folder, folder / "work", Judge(), [], process.Limits(), threading.Event())
    watched.connection = None
    watched.report_file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [line["text"] for line in watched.reports()]


WALLS, LINE = '{"kind": "walls", "text": "system"}', '{"kind": "read", "text": "it tried to read x"}'
FORGED = "it wrote into the grader's report"


@pytest.mark.parametrize(
    "lines, says",
    [
        ([WALLS, LINE], ["system", "it tried to read x"]),
        ([LINE], [FORGED]),
        ([], [FORGED]),
        ([WALLS, '{"kind": "walls", "text": "moon"}'], ["system", FORGED]),
        (['{"kind": "walls", "text": "moon"}'], [FORGED]),
        ([WALLS, '{"kind": "points", "text": "9"}'], ["system", FORGED]),
        ([WALLS, "9"], ["system", FORGED]),
        ([WALLS, *[LINE] * 30], ["system", *["it tried to read x"] * 20, FORGED]),
    ],
)
def test_lines_that_the_sandbox_did_not_write_are_noticed(tmp_path, lines, says):
    assert reports_of(tmp_path, *lines) == says


def test_files_without_a_name_are_counted(tmp_path):
    this = psutil.Process()
    with open(tmp_path / "file", "wb", 0) as file:
        file.write(bytes(2**20))
        assert cleaning.unlinked_size(tmp_path, [this], 0) < 2**20
        (tmp_path / "file").unlink()
        if sys.platform == "linux":
            assert 2**20 <= cleaning.unlinked_size(tmp_path, [this, this], 0) < 2**21
            assert cleaning.unlinked_size(sandbox.SHARED_MEMORY, [this], 0) < 2**20


def message_of(kind, **content):
    return {"header": {"msg_type": kind}, "msg_type": kind, "content": content}


def test_what_is_printed_and_what_is_shown_have_limits_of_their_own():
    cell, used = nbformat.v4.new_code_cell(), Counter()
    figure = message_of(
        "display_data", data={"image/png": "x" * 150_000}, metadata={"image/png": {"width": "1 onload=x"}}
    )
    process.store(cell, figure, used)
    process.store(cell, message_of("stream", name="stdout", text="perplexity 7"), used)
    assert [output.output_type for output in cell.outputs] == ["display_data", "stream"] and cell.outputs[
        0
    ].metadata == {}
    for _ in range(100):  # a plot that is drawn again and again
        process.store(cell, message_of("clear_output", wait=True), used)
        process.store(cell, figure, used)
    assert len(cell.outputs) == 1
    for _ in range(100):
        process.store(cell, figure, used)
    assert cell.outputs[-1].ename == "TooMuchOutput" and len(cell.outputs) < 40


def test_memory_that_a_process_hides_counts_all_the_same(monkeypatch):
    class Hiding(psutil.Process):
        def memory_full_info(self):
            raise psutil.AccessDenied

    assert process.memory_of(Hiding(), shared=False) == pytest.approx(process.memory_of(psutil.Process()), rel=0.1)


def test_drafts_of_a_killed_batch_are_removed(tmp_path):
    for name in (".unpacking-a", "results/anna/.saving-b", "results/anna/kept"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "running").write_text("/tmp/hw-0123456789abcdef", encoding="utf-8")
    with cleaning.folder_for_a_batch(tmp_path / "running"):
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["anna", "kept", "results", "running"]


def test_a_place_for_temporary_files_that_sockets_cannot_be_in_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(cleaning.tempfile, "gettempdir", lambda: f"/{'long' * 20}")
    with (
        pytest.raises(ValueError, match="81 bytes, at most 50. Set TMPDIR"),
        cleaning.folder_for_a_batch(tmp_path / "x"),
    ):
        pass


def test_a_folder_is_removed_however_deep_and_locked(tmp_path):
    deep = tmp_path / "folder"
    deep.mkdir()
    here = os.getcwd()
    try:
        os.chdir(deep)
        for _ in range(1500):  # beyond what Python's recursion allows
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    (deep / "locked").mkdir()
    (deep / "locked" / "file").touch()
    (deep / "locked").chmod(0)
    cleaning.remove(deep)
    assert not deep.exists()


def test_what_a_killed_batch_left_behind_is_removed_by_the_next(tmp_path):
    """Its folder and its processes, and nothing else that the record might name."""
    record = tmp_path / "running"
    with cleaning.folder_for_a_batch(record) as first:
        (first / "file").touch()
        kept = record.read_text(encoding="utf-8")
        assert kept == str(first)
    assert not first.exists() and not record.exists()
    first.mkdir()
    mark = {**os.environ, "BERTCOURSE_SUBMISSION": str(first / "hw-1")}
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=mark)
    record.write_text(kept, encoding="utf-8")
    with cleaning.folder_for_a_batch(record) as second:
        assert not first.exists() and second != first
    assert sleeper.wait(timeout=10) == -9
    (tmp_path / "mine").mkdir()
    record.write_text(str(tmp_path / "mine"), encoding="utf-8")
    with cleaning.folder_for_a_batch(record):
        assert (tmp_path / "mine").exists()


ORPHANS = """
import subprocess, sys
from bertcourse_grading import cleaning, sandbox
sandbox.keep_family_together()
child = "import time; from bertcourse_grading import sandbox; {}; print(1, flush=True); time.sleep(60)"
started = [
    subprocess.Popen([sys.executable, "-c", child.format(what)], stdout=subprocess.PIPE)
    for what in ("sandbox.lock_calls()", "0")
]
for one in started:
    one.stdout.readline()
print([each.pid == started[0].pid for each in cleaning.orphans()])
cleaning.RUNNING.add(started[0].pid)
print(cleaning.orphans())
for one in started:
    one.kill()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux")
def test_processes_behind_our_filters_are_found_and_others_left_alone():
    """In a process of its own: a child that locks itself in and one that does not."""
    done = subprocess.run([sys.executable, "-c", ORPHANS], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["[True]", "[]"], done.stderr


OWN_LIMITS = """
import os, resource, socket
from bertcourse_grading import sandbox
assert sandbox.lock_calls()

def is_refused(call, *arguments):
    try:
        call(*arguments)
    except PermissionError:
        return True
    return False

cores = os.sched_getaffinity(0)
for pid in (0, os.getpid(), os.getppid(), 1):
    print(is_refused(resource.prlimit, pid, resource.RLIMIT_NOFILE), is_refused(os.sched_setaffinity, pid, cores))
print(is_refused(socket.socket, socket.AF_UNIX), is_refused(socket.socket, socket.AF_INET))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")
def test_a_process_behind_our_filters_may_limit_itself_and_no_other():
    done = subprocess.run([sys.executable, "-c", OWN_LIMITS], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:4] == ["False False"] * 2 + ["True True"] * 2, done.stderr
    assert done.stdout.split("\n")[4] == "False True"


OTHERS_FILES = """
import ctypes, os, shutil, sys
from bertcourse_grading import sandbox
assert sandbox.lock_calls()
libc, name = ctypes.CDLL(None), os.fsencode(sys.argv[1])
os.chmod(name, 0)
os.utime(name, (0, 0))
libc.chmod(name, 0o777)
libc.utimes(name, None)
libc.setxattr(name, b"user.read", b"yes", 3, 0)
with open(name) as file:
    os.fchmod(file.fileno(), 0)
shutil.copy2(name, name + b".copy")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")
def test_modes_times_and_attributes_of_files_stay_and_files_can_be_copied(tmp_path):
    file = tmp_path / "grades.csv"
    file.write_text("Ada,18")
    file.chmod(0o640)
    os.utime(file, (1e9, 1e9))
    done = subprocess.run([sys.executable, "-c", OTHERS_FILES, file], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime) == (0o640, 1e9)
    assert os.listxattr(file) == []
    assert (tmp_path / "grades.csv.copy").read_text() == "Ada,18"


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of a shell")
def test_words_before_the_command_are_there_only_where_they_work(tmp_path, monkeypatch):
    """A stand-in for systemd-run that works, and for bubblewrap that does not."""
    for name, code in (("systemd-run", 0), ("bwrap", 1)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    walls.works.cache_clear()
    words = walls.control_group(memory=2**30, processes=256)
    assert words[0] == "systemd-run"
    assert {"--scope", f"--property=MemoryMax={2**31}", "--property=TasksMax=256"} < {*words}
    assert walls.bubblewrap(tmp_path, []) == []
    monkeypatch.setenv("PATH", "")
    walls.works.cache_clear()
    assert walls.control_group(memory=2**30, processes=256) == []
    walls.works.cache_clear()
