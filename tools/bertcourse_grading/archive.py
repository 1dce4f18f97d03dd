"""Unpack the zip that a learning platform provides: entirely or not at all, within limits, and only into its folder."""

import errno
import lzma
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path, PureWindowsPath

from bertcourse.files import make_folder
from bertcourse_grading.names import on_any_disk

MOST_MEMBERS = 100_000
MOST_UNPACKED = 4 * 2**30  # bytes
# what zipfile raises for files that are damaged or compressed in a way that it does not support
DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError, OverflowError)


def unpack(path: Path, folder: Path, most_bytes: int) -> Path:
    """Unpack a zip into a folder; a path that is a folder already is returned unchanged.

    Args:
        path: a zip or a folder.
        folder: where to unpack; what was there is replaced once everything is unpacked.
        most_bytes: a larger member is too large to be read later: a sparse file of its size takes its place.

    Returns:
        The folder with the submissions.

    Raises:
        ValueError: if it is a file but not a zip, is damaged or encrypted, holds too much, or would write elsewhere.
    """
    if not path.is_file():
        return path
    if not zipfile.is_zipfile(path):
        raise ValueError(f"expected a folder or a zip of submissions; {path} is neither.")
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpacking-") as draft:
        inside = Path(draft, "all")
        inside.mkdir()
        try:
            with zipfile.ZipFile(path) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
                check_members(path, members, most_bytes)
                for member in members:
                    extract(archive, member, inside, most_bytes)
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # an offset before the start of the file
                raise
            raise ValueError(f"{path} is damaged: {error}. Download it again; nothing was unpacked.") from None
        shutil.rmtree(folder, ignore_errors=True)
        inside.rename(folder)
    return folder


def check_members(path: Path, members: list[zipfile.ZipInfo], most_bytes: int) -> None:
    """Raise ValueError for what no platform packs: links, encrypted files, names that lead elsewhere, too much data."""
    if len(members) > MOST_MEMBERS:
        raise ValueError(f"{path} holds {len(members):,} files; at most {MOST_MEMBERS:,} are unpacked.")
    size = sum(member.file_size for member in members if member.file_size <= most_bytes)
    if size > MOST_UNPACKED:
        raise ValueError(
            f"{path} unpacks to {size / 2**30:.1f} GiB; at most {MOST_UNPACKED // 2**30} are unpacked. "
            "Unpack it yourself, and name the folder."
        )
    names: dict[str, str] = {}
    for member in members:
        name, place = member.filename, PureWindowsPath(member.filename)  # it splits at slashes of both kinds
        if place.anchor or ".." in place.parts or not place.parts:
            problem = "which leads out of its folder"
        elif stat.S_ISLNK(member.external_attr >> 16):
            problem = "which is a link"
        elif member.flag_bits & 1:
            problem = "which is encrypted"
        elif (key := on_any_disk(place.as_posix())) in names:
            problem = f"which may be the same file as {names[key]!r}"
        else:
            names[key] = name
            continue
        raise ValueError(f"{path} holds {name!r}, {problem}. Unpack it yourself, look, and name the folder.")


def extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, most_bytes: int) -> None:
    """Write one file; one of more than ``most_bytes`` becomes a sparse file of at most ``MOST_UNPACKED`` bytes."""
    target = folder.joinpath(*PureWindowsPath(member.filename).parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.file_size > most_bytes:
        with open(target, "wb") as file:
            file.truncate(min(member.file_size, MOST_UNPACKED))
        return
    with archive.open(member) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file)
