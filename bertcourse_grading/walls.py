"""What other programs put around a submission's process, where this machine has them.

bubblewrap: it sees no other process, no network, a file system that it can only read, and a /dev/shm of its own that
goes with it. systemd-run: its memory and its processes are limited by the system (cgroup v2), whatever it does. Where
one is missing, the walls of ``sandbox`` and the watcher of ``process`` stand alone.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

SHARED_BYTES = 256 * 2**20  # of /dev/shm within bubblewrap
MORE_BYTES = 2**30  # what Python and the packages of the setup cell take, at most
BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")  # by which systemd-run finds the user's systemd
NAMESPACES = ("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


def bubblewrap(writable: Path, hidden: Iterable[Path]) -> list[str]:
    """The words that come before a command to run it in namespaces of its own; none where that cannot be done.

    Args:
        writable: the folder that it may write.
        hidden: folders that are empty for it.

    Source: bwrap(1); its ``--size`` came with version 0.8.
    """
    command = ["bwrap", *NAMESPACES, "--size", str(SHARED_BYTES), "--tmpfs", "/dev/shm"]
    if not works(*command, "true"):
        return []
    for folder in hidden:
        command += ["--tmpfs", str(folder)] if folder.is_dir() else []
    return [*command, "--bind", str(writable), str(writable)]


def control_group(memory: int, processes: int) -> list[str]:
    """The words that come before a command to run it in a cgroup; none where that cannot be done.

    They need the variables ``BUS``, and take them away from the command.

    Args:
        memory: bytes, beyond what Python and its packages take; files in memory and /dev/shm count.
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
