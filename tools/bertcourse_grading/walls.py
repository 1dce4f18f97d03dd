"""The walls that other programs put around a submission's process, where this machine has these programs.

bubblewrap: the process sees no other process, no network, a read-only file system, and a /dev/shm of its own that
disappears with it. systemd-run: the system limits its memory and its number of processes (cgroup v2), whatever it does.
Where one is missing, the walls of ``sandbox`` and the watcher of ``process`` have to do without it.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

SHARED_BYTES = 256 * 2**20  # of /dev/shm within bubblewrap
MORE_BYTES = 2**30  # the most that Python and the packages of the setup cell take
BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")  # systemd-run finds the user's systemd by them
NAMESPACES = ("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


def bubblewrap(writable: Path, hidden: Iterable[Path]) -> list[str]:
    """The words to put before a command to run it in its own namespaces; none where that is not possible.

    Args:
        writable: the folder that it may write to.
        hidden: folders that it sees as empty.

    Source: bwrap(1); its ``--size`` came with version 0.8.
    """
    command = ["bwrap", *NAMESPACES, "--size", str(SHARED_BYTES), "--tmpfs", "/dev/shm"]
    if not works(*command, "true"):
        return []
    for folder in hidden:
        command += ["--tmpfs", str(folder)] if folder.is_dir() else []
    return [*command, "--bind", str(writable), str(writable)]


def control_group(memory: int, processes: int) -> list[str]:
    """The words to put before a command to run it in a cgroup; none where that is not possible.

    They need the environment variables in ``BUS``, and hide them from the command.

    Args:
        memory: bytes, beyond what Python and its packages take; files in memory and in /dev/shm count.
        processes: processes and threads at a time.

    Source: systemd-run(1), systemd.resource-control(5).
    """
    command = ["systemd-run", *(["--user"] if os.geteuid() else []), "--scope", "--quiet", "--collect"]
    limits = {"MemoryMax": memory + MORE_BYTES, "MemorySwapMax": 0, "TasksMax": processes}
    command += [f"--property={name}={value}" for name, value in limits.items()]
    command += ["env", *(word for name in BUS for word in ("-u", name))]
    return command if works(*command, "true") else []


@functools.cache
def works(*command: str) -> bool:
    """Whether a command can be run here."""
    if shutil.which(command[0]) is None:
        return False
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
