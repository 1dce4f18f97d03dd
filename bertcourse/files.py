"""Files of every chapter: replaced whole, and named in the message if they are damaged or not the ones we know."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_files(folder: str | os.PathLike, names: Iterable[str]) -> Iterator[Path]:
    """Provide an empty folder to write into; if the block succeeds, what it wrote replaces the old files.

    A reader finds each file old or new, never half written. The files are replaced one after another, so a failure
    between two of them leaves the first ones new and the rest old. A process that is killed meanwhile leaves a folder
    ``.saving-…`` behind, which can be deleted.

    Args:
        folder: where the files belong; created if it does not exist.
        names: the files that the block writes, in the order to replace them.
    """
    folder = make_folder(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as draft:
        yield Path(draft)
        for name in names:
            os.replace(Path(draft, name), folder / name)


def make_folder(path: str | os.PathLike) -> Path:
    """The folder at this path, created if need be; a NotADirectoryError names the file that is in the way."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(f"expected a folder to write to; {error.filename} is a file. Name another.") from error
    return Path(path)


def is_of_the_disk(error: OSError) -> bool:
    """Whether a download failed because of the disk, say a full one: errors of the network are OSErrors, too."""
    if isinstance(error, ConnectionError | TimeoutError) or error.errno is None:
        return False
    of_disks = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG)  # these do not always name the file
    return bool(error.filename) or error.errno in of_disks


def expect_file(path: Path, advice: str = "Fetch or save it again.") -> None:
    """Raise a FileNotFoundError if this file is missing, saying what its folder has instead."""
    if not path.is_file():
        names = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
        there = f"the folder holds {', '.join(names[:8])}" if names else "the folder is empty or not there"
        raise FileNotFoundError(f"expected {path}; {there}{' …' if len(names) > 8 else ''}. {advice}")


def read_json(path: Path) -> dict:
    """The JSON object in a file, which must be UTF-8; a ValueError names the file and what is wrong with it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ValueError(f"{path} must be JSON; {error}. Fetch or save it again.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object, {{…}}; got {content!r:.60}. Fetch or save it again.")
    return content


def sha256(content: Path | bytes) -> str:
    """The SHA-256 of a file or of bytes, as 64 hexadecimal digits."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with open(content, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(source: str | Path, digest: str, expected: str, advice: str = "delete it and fetch it again") -> None:
    """Raise a ValueError for anything but the file we know.

    Args:
        source: the file or address, named in the message.
        digest: its SHA-256, as ``sha256`` returns it.
        expected: the one we know.
        advice: what to do.
    """
    if digest != expected:
        raise ValueError(
            f"{source} must have the SHA-256 {expected}; got {digest}. It is not the file we know: {advice}."
        )
