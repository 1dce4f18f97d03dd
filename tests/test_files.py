"""Files: whole or not there, and named when they cannot be read."""

import socket

import pytest

from bertcourse import files
from bertcourse.files import check_sha256, expect_file, read_json, replace_files, sha256
from bertcourse_lab.benchmarks.tables import write_table


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
        (b"{", "a.json"),
        (b"\xff", "a.json.*decode"),
        (b"[1]", r"a.json.*\[1\]"),
    ],
)
def test_what_is_no_json_object_is_refused_by_name(tmp_path, content, message):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_json(tmp_path / "a.json")


def test_a_missing_file_is_named_beside_what_is_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected .*a.json; .* empty .* Save it"):
        expect_file(tmp_path / "a.json", "Save it.")
    for name in "bcdefghij":
        (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match="the folder holds b, c, d, e, f, g, h, i …"):
        expect_file(tmp_path / "a.json")
    expect_file(tmp_path / "b")


def test_a_file_and_its_bytes_have_one_sha256(tmp_path):
    """The digest of "abc" is that of FIPS 180-2, appendix B.1."""
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256(tmp_path / "a") == sha256(b"abc")
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_what_is_not_the_file_we_know_is_refused_with_both_digests():
    check_sha256("a", sha256(b"abc"), sha256(b"abc"))
    with pytest.raises(ValueError, match=f"a must .*{sha256(b'abc')}; got {sha256(b'abd')}.* buy another"):
        check_sha256("a", sha256(b"abd"), sha256(b"abc"), "buy another")


def test_a_full_disk_is_told_from_a_lost_network(tmp_path):
    for error in (OSError(28, "No space left on device"), PermissionError(13, "Permission denied", str(tmp_path))):
        assert files.is_of_the_disk(error)
    unreachable, unresolved = OSError(101, "Network is unreachable"), socket.gaierror(-2, "Name not known")
    reset, late = ConnectionResetError(104, "reset", "x"), TimeoutError(110, "timed out", "x")
    for error in (unreachable, unresolved, reset, late, OSError("no route")):
        assert not files.is_of_the_disk(error)


def test_a_table_is_written_for_programs_and_for_people(tmp_path):
    write_table(tmp_path / "new", "scores", {"é": 1}, "| é |\n")
    assert read_json(tmp_path / "new" / "scores.json") == {"é": 1}
    assert (tmp_path / "new" / "scores.md").read_text(encoding="utf-8") == "| é |\n"
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_a_file_is_no_folder_to_write_to(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match="folder.* is a file"):
            with replace_files(folder, ["a"]):
                pass
