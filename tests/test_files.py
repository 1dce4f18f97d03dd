"""Files: whole or not there, and named when they cannot be read."""

import pytest

from bertcourse import files
from bertcourse.files import read_json, replace_files, write_table


def test_files_take_the_places_of_the_old_and_nothing_else_stays(tmp_path):
    (tmp_path / "a").write_text("old")
    with replace_files(tmp_path, ["a", "b"]) as draft:
        for name in ("a", "b", "scratch"):
            (draft / name).write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


def test_a_failure_while_drafting_leaves_the_old_files(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(RuntimeError), replace_files(tmp_path, ["a"]) as draft:
        (draft / "a").write_text("ne")
        raise RuntimeError
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "a.json must be JSON; .*Fetch or save it again"),
        (b"\xff", "a.json must be JSON; .*decode"),
        (b"[1]", r"a.json must hold a JSON object, {…}; got \[1\]"),
    ],
)
def test_what_is_no_json_object_is_refused_by_name(tmp_path, content, message):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_json(tmp_path / "a.json")


def test_a_full_disk_is_told_from_a_lost_network(tmp_path):
    assert files.is_of_the_disk(OSError(28, "No space left on device", str(tmp_path)))
    for error in (ConnectionResetError(104, "reset", "x"), TimeoutError(110, "timed out", "x"), OSError("no route")):
        assert not files.is_of_the_disk(error)


def test_a_table_is_written_for_programs_and_for_people(tmp_path):
    write_table(tmp_path / "new", "scores", {"é": 1}, "| é |\n")
    assert read_json(tmp_path / "new" / "scores.json") == {"é": 1}
    assert (tmp_path / "new" / "scores.md").read_text(encoding="utf-8") == "| é |\n"
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_a_file_is_no_folder_to_write_to(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match="expected a folder to write to; .*file.* is a file. Name another"):
            with replace_files(folder, ["a"]):
                pass
