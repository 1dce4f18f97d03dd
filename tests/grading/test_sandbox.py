"""What keeps a submission in: what Python refuses."""

import json
import os
import socket
import sys
import threading

import nbformat
import pytest

pytest.importorskip("nbgrader")
from bertcourse_grading import execution, sandbox  # noqa: E402

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
    places = [place.resolve() for place in sandbox.readable_places([])]
    root = execution.Path(sandbox.__file__).resolve().parents[1]
    for secret in (root / "notebooks" / "homework", root / "tests" / "wrong_answers", root / "grading"):
        assert not any(secret.is_relative_to(place) for place in places)
    assert any((root / "bertcourse").is_relative_to(place) for place in places)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")
def test_a_batch_that_is_interrupted_ends_its_kernels():
    notebook, cancel = (
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import time; time.sleep(60)")]),
        threading.Event(),
    )
    cancel.set()
    with pytest.raises(execution.Cancelled):
        execution.run_submission(notebook, None, execution.Judge(), [], execution.Limits(), cancel)


def test_folders_are_measured_by_what_they_hold_and_not_followed_for_ever(tmp_path):
    assert execution.folder_size(tmp_path) == 0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 50_000)
    with open(tmp_path / "holes", "wb") as file:
        file.truncate(3 * 2**30)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 50_000 <= execution.folder_size(tmp_path) < 200_000
    deep = tmp_path
    for _ in range(execution.MOST_DEPTH + 2):
        deep = deep / "d"
        deep.mkdir()
    assert execution.folder_size(tmp_path) is None


def test_very_many_files_are_not_counted_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "MOST_FILES", 10)
    for number in range(12):
        (tmp_path / str(number)).touch()
    assert execution.folder_size(tmp_path) is None


def test_a_watcher_that_fails_ends_the_run(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    process = execution.Process(
        tmp_path, tmp_path / "work", execution.Judge(), [], execution.Limits(), threading.Event()
    )
    process.done = threading.Event()
    monkeypatch.setattr(process, "look", lambda with_files: 1 / 0)
    monkeypatch.setattr(process, "end", process.done.set)
    process.watch()
    assert process.killed == "was no longer watched" and isinstance(process.fault, ZeroDivisionError)
