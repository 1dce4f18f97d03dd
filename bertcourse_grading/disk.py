"""Full disks: told from what a submission did wrong, whoever met them first and however they were wrapped."""

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
    """Where a disk is full, if that is what an error came from, whoever wrapped it; else empty.

    Args:
        error: or what it was raised from.
        places: of these, the one with least room is named if the error names none.
    """
    while error is not None:
        if getattr(error, "errno", None) in FULL or says_full(str(error)):
            named = getattr(error, "filename", None)
            return str(named or min(places, key=lambda place: shutil.disk_usage(place).free))
        error = error.__cause__ or error.__context__
    return ""


@contextlib.contextmanager
def naming_full_disks(output: Path) -> Iterator[None]:
    """Turn the many errors that a full disk gives into an OSError that says what to do."""
    try:
        yield
    except Exception as error:
        if not (place := no_room(error, temporary(), output)):
            raise
        raise OSError(f"no room on {place}; free some and run the same command again.") from error


def temporary() -> Path:
    """Where submissions run."""
    return Path(tempfile.gettempdir())


def says_full(text: str) -> bool:
    """Whether a message, a system's or SQLite's, is about a full disk."""
    return "disk is full" in text or any(os.strerror(number) in text for number in FULL)


def expect_room(place: Path, num_bytes: int) -> None:
    """Refuse, as a full disk does, to begin what may need so many bytes."""
    if shutil.disk_usage(place).free < num_bytes:
        raise OSError(errno.ENOSPC, f"{num_bytes / 2**20:.0f} MiB must be free", str(place))


def met_a_full_disk(notebook: NotebookNode) -> bool:
    """Whether a cell failed for want of room."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return any(says_full(output.evalue) for output in outputs if output.output_type == "error")
