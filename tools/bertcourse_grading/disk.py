"""Full disks: telling them from a submission's own errors, whatever code met them first and however it wrapped them."""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

FULL = (errno.ENOSPC, errno.EDQUOT)


def no_room(error: BaseException | None, *places: Path) -> str:
    """The place where a disk is full, if that is what caused an error, however it was wrapped; otherwise empty.

    Args:
        error: the error; those that it was raised from are searched, too.
        places: if the error names no place, the one of these with the least room is returned.
    """
    while error is not None:
        if getattr(error, "errno", None) in FULL or says_full(str(error)):
            named = getattr(error, "filename", None)
            return str(named or min(places, key=lambda place: shutil.disk_usage(place).free))
        error = error.__cause__ or error.__context__
    return ""


@contextlib.contextmanager
def naming_full_disks(output: Path) -> Iterator[None]:
    """Turn the many kinds of error that a full disk causes into an OSError that says what to do."""
    try:
        yield
    except Exception as error:
        if not (place := no_room(error, temporary(), output)):
            raise
        raise OSError(f"no room on {place}; free some and run the same command again.") from error


def temporary() -> Path:
    """The folder in which submissions run."""
    return Path(tempfile.gettempdir())


def says_full(text: str) -> bool:
    """Whether a message, from the system or from SQLite, is about a full disk."""
    return "disk is full" in text or any(os.strerror(number) in text for number in FULL)


def expect_room(place: Path, num_bytes: int) -> None:
    """Raise the error of a full disk unless this many bytes are free."""
    if shutil.disk_usage(place).free < num_bytes:
        raise OSError(errno.ENOSPC, f"{num_bytes / 2**20:.0f} MiB must be free", str(place))


def met_a_full_disk(notebook: NotebookNode) -> bool:
    """Whether a cell failed because the disk was full."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return any(says_full(output.evalue) for output in outputs if output.output_type == "error")
