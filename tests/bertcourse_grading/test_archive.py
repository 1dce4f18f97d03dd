"""A zip is unpacked whole or not at all, within limits, and nowhere else."""

import os
import stat
import zipfile

import pytest

from bertcourse_grading import archive
from bertcourse_grading.archive import unpack

MOST = 2**20


@pytest.fixture
def pack(tmp_path):
    """Write a zip of members and their contents."""

    def packed(*members, compression=zipfile.ZIP_DEFLATED):
        path = tmp_path / "all.zip"
        with zipfile.ZipFile(path, "w", compression) as file:
            for name, content in members:
                file.writestr(name, content)
        return path

    return packed


def refused(path, tmp_path, says):
    """Unpacking fails with this, and leaves what was unpacked before, and nothing else."""
    (tmp_path / "out" / "unpacked").mkdir(parents=True)
    (tmp_path / "out" / "unpacked" / "old").touch()
    with pytest.raises(ValueError, match=says):
        unpack(path, tmp_path / "out" / "unpacked", MOST)
    assert sorted(os.listdir(tmp_path / "out")) == ["unpacked"]
    assert os.listdir(tmp_path / "out" / "unpacked") == ["old"]


def test_a_zip_replaces_what_was_unpacked_before(pack, tmp_path):
    for content in ("1", "2"):
        folder = unpack(pack(("maria/", ""), ("maria/hw01.ipynb", content)), tmp_path / "out" / "unpacked", MOST)
        assert (folder / "maria" / "hw01.ipynb").read_text() == content
    assert os.listdir(tmp_path / "out") == ["unpacked"]
    assert unpack(folder, tmp_path / "other", MOST) == folder


@pytest.mark.parametrize("name", ["../evil.ipynb", "maria/../../evil.ipynb", "/etc/evil", "..\\evil", "C:\\evil", "."])
def test_no_member_leads_elsewhere(pack, tmp_path, name):
    refused(pack(("maria/hw01.ipynb", "{}"), (name, "{}")), tmp_path, "leads out of its folder")
    assert not list(tmp_path.rglob("evil*"))


def test_a_link_is_refused(pack, tmp_path):
    link = zipfile.ZipInfo("maria/hw01.ipynb")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    refused(pack((link, "/etc/passwd")), tmp_path, "is a link")


@pytest.mark.parametrize("names", [("Anna/a", "anna/a"), ("Ren\u00e9/a", "Rene\u0301/a"), ("a/b", "a\\b")])
def test_two_members_that_are_one_file_are_refused(pack, tmp_path, names):
    refused(pack(*((name, "{}") for name in names)), tmp_path, "may be the same file as")


def test_an_encrypted_zip_is_refused(pack, tmp_path):
    path = pack(("maria/hw01.ipynb", "{}"))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    refused(path, tmp_path, "is encrypted")


@pytest.mark.parametrize("harm", ["cut off", "bad checksum", "bad stream"])
def test_a_damaged_zip_is_refused_whole(pack, tmp_path, harm):
    path = pack(("anna/hw01.ipynb", "{}"), ("maria/hw01.ipynb", os.urandom(1000)))
    content = bytearray(path.read_bytes())
    if harm == "cut off":
        del content[300:700]
    elif harm == "bad checksum":
        content[500] ^= 255
    else:
        content[40:60] = b"\xff" * 20
    path.write_bytes(content)
    refused(path, tmp_path, "is damaged|is neither")


def test_too_many_members_and_too_much_are_refused(pack, tmp_path, monkeypatch):
    many = pack(*((f"maria/{number}", "") for number in range(100_001)), compression=zipfile.ZIP_STORED)
    refused(many, tmp_path, "holds 100,001 files; at most 100,000")
    monkeypatch.setattr(archive, "MOST_UNPACKED", 2**20)
    with pytest.raises(ValueError, match="at most 0 are unpacked. Unpack it yourself"):
        unpack(pack(("a", bytes(2**19)), ("b", bytes(2**19)), ("c", b"1")), tmp_path / "elsewhere", MOST)


def test_a_member_that_is_too_large_to_be_read_is_not_unpacked(pack, tmp_path):
    path = pack(("eve/hw01.ipynb", bytes(2**28)), ("maria/hw01.ipynb", "{}"))
    folder = unpack(path, tmp_path / "unpacked", MOST)
    bomb = (folder / "eve" / "hw01.ipynb").stat()
    assert bomb.st_size == 2**28 and (not hasattr(bomb, "st_blocks") or bomb.st_blocks * 512 < MOST)
    assert (folder / "maria" / "hw01.ipynb").read_text() == "{}"


def test_what_is_no_zip_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("no zip", encoding="utf-8")
    with pytest.raises(ValueError, match="neither"):
        unpack(tmp_path / "a.txt", tmp_path / "unpacked", MOST)


def test_a_zip_in_a_zip_is_not_opened(pack, tmp_path):
    inner = pack(("hw01.ipynb", "{}")).read_bytes()
    folder = unpack(pack(("maria/hw01.zip", inner)), tmp_path / "unpacked", MOST)
    assert [path.name for path in folder.rglob("*")] == ["maria", "hw01.zip"]
