"""Clean up after submissions: temporary folders, however deep, and processes, whatever their parent."""

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from bertcourse_grading import sandbox

MOST_DEPTH, MOST_FILES = 60, 100_000  # how deep a submission's folders may be nested, and how many files it may have
MOST_PATH = 70  # bytes in the path of a batch's folder: a socket's path may have 104 on macOS, 108 on Linux
BATCH = re.compile(r"hw-[0-9a-f]{16}")
RUNNING: set[int] = set()  # the kernels that were started here and have not been ended
FAMILY = threading.Lock()  # held while RUNNING changes, and while this process's children are inspected


def kill_left_behind(folder: Path) -> None:
    """End the processes that a submission left behind: those with its folder in their environment, and locked-in
    orphans."""
    for _ in range(50):
        found = [*strays(folder), *orphans()]
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not found:
            return


def strays(folder: Path) -> list[psutil.Process]:
    """Processes that submissions in this folder left behind, recognized by a variable that they inherited."""
    found = []
    for process in psutil.process_iter():
        try:
            mark = process.environ().get("BERTCOURSE_SUBMISSION")
            if mark and Path(mark).is_relative_to(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def orphans() -> list[psutil.Process]:
    """Processes behind seccomp filters whose parents have ended, so that this one is their parent now (Linux)."""
    with FAMILY, contextlib.suppress(psutil.Error):
        own = seccomp_filters(os.getpid())
        children = [child for child in psutil.Process().children() if child.pid not in RUNNING]
        return [
            child for child in children if seccomp_filters(child.pid) > own and child.status() != psutil.STATUS_ZOMBIE
        ]
    return []


def seccomp_filters(pid: int) -> int:
    """How many system-call filters a process is behind; 0 if it is gone, or if this is not Linux."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        return int(dict(line.split(":", 1) for line in status.splitlines())["Seccomp_filters"])
    return 0


@contextlib.contextmanager
def folder_for_a_batch(record: Path) -> Iterator[Path]:
    """A folder for all temporary files of a batch. Files and processes left behind by a batch that was killed are
    removed first.

    Args:
        record: a file that names the folder for as long as the folder exists.

    Raises:
        ValueError: if its path would be too long for the sockets in it.
    """
    if record.exists():
        left = Path(record.read_text(encoding="utf-8", errors="replace").strip())
        if BATCH.fullmatch(left.name):
            kill_left_behind(left)
            remove(left)
        for draft in drafts(record.parent):
            shutil.rmtree(draft, ignore_errors=True)
    sandbox.keep_family_together()
    folder = Path(tempfile.gettempdir()) / f"hw-{secrets.token_hex(8)}"
    if len(os.fsencode(folder)) > MOST_PATH:
        raise ValueError(
            f"temporary files lie in {folder.parent}, which is too long a path for sockets: "
            f"{len(os.fsencode(folder.parent))} bytes, at most {MOST_PATH - len(folder.name) - 1}. "
            "Set TMPDIR to a shorter one."
        )
    record.write_text(str(folder), encoding="utf-8")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        remove(folder)
        record.unlink(missing_ok=True)


def drafts(output: Path) -> Iterator[Path]:
    """What was still being written or unpacked in a course folder."""
    for pattern in (".unpacking-*", ".saving-*", "results/*/.saving-*", "autograded/*/*/.saving-*"):
        yield from output.glob(pattern)


@contextlib.contextmanager
def folder_for_a_while(place: Path | None) -> Iterator[Path]:
    """A temporary folder in a given place, removed at the end whatever a submission does to it."""
    folder = Path(tempfile.mkdtemp(prefix="hw-", dir=place))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Delete a folder, even one that is nested very deep or that may not be read."""
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if folder.exists():
            subprocess.run([*command, str(folder)], capture_output=True)


def folder_size(folder: Path) -> int | None:
    """Bytes that the files in a folder take on disk; None if they are too many or too deep to count.

    A sparse file counts as what it really occupies.
    """
    total, files, open_folders = 0, 0, [(str(folder), 0)]
    while open_folders:
        path, depth = open_folders.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        open_folders.append((entry.path, depth + 1))
        except OSError:  # it is gone, or may not be read
            continue
        if depth > MOST_DEPTH or files > MOST_FILES:
            return None
    return total


def unlinked_size(folder: Path, processes: Iterable[psutil.Process], file_size: int) -> int:
    """Bytes of deleted files on a folder's disk that processes still hold open or mapped (Linux).

    Args:
        folder: where the files were.
        processes: those that may hold them.
        file_size: the size to assume for a file that is only mapped, where the system does not say.
    """
    found: dict[int, int] = {}
    disk = folder.stat().st_dev
    for pid in (process.pid for process in processes):
        for kind in ("fd", "map_files"):
            with contextlib.suppress(OSError):
                for name in os.listdir(f"/proc/{pid}/{kind}"):
                    with contextlib.suppress(OSError):
                        status = os.stat(f"/proc/{pid}/{kind}/{name}")
                        if status.st_nlink == 0 and status.st_dev == disk:
                            found[status.st_ino] = status.st_blocks * 512
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.endswith("(deleted)") and str(folder) in line:
                    found.setdefault(int(line.split()[4]), file_size)
    return sum(found.values())


def read_start(path: Path) -> str:
    """The first megabyte of a text file, which may be far longer."""
    with open(path, "rb") as file:
        return file.read(2**20).decode("utf-8", "replace")
