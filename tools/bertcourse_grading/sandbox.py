"""What a submission may do while it is graded.

There are two walls. On Linux, the operating system's: Landlock (files, signals) and seccomp (sockets, memory that no
process is charged for), which no process can take down again and which need no root, and limits on memory, files and
processes (setrlimit). Everywhere, Python's: an audit hook that refuses the same things with a readable message and
records what was tried. The second alone stops honest mistakes, not a programmer who wants to get out.
"""

import contextlib
import ctypes
import json
import os
import platform
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

# The system calls landlock_create_ruleset, landlock_add_rule, landlock_restrict_self: the same on every architecture
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REFER, TRUNCATE, IOCTL_DEV = (
    1 << 0,
    1 << 1,
    1 << 2,
    1 << 3,
    1 << 13,
    1 << 14,
    1 << 15,
)
ALL_RIGHTS = (1 << 16) - 1
READ_RIGHTS, FILE_RIGHTS = EXECUTE | READ_FILE | READ_DIR, EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE, END_WITH_PARENT, ADOPT_ORPHANS = 38, 22, 2, 1, 36
CAPABILITIES_VERSION = 0x20080522
# For each architecture its audit number, then the numbers of system calls. Refused: connect, io_uring_setup; memory and
# queues that belong to no process (memfd_create, memfd_secret, shmget, semget, msgget, mq_open); other processes'
# priority (setpriority, sched_setparam, sched_setattr, ioprio_set); keys (add_key, request_key, keyctl); files and
# pages in transit, which no process is charged for (sendmsg, sendmmsg, vmsplice).
# Passed over, as if they had succeeded: sched_setscheduler, which ZeroMQ insists on; and changes of the modes, owners,
# times and attributes of files, for which Landlock has no rules and which copying needs (chmod, fchmod, fchmodat,
# fchmodat2; chown, fchown, lchown, fchownat; utime, utimes, utimensat, futimesat; setxattr, lsetxattr, fsetxattr,
# setxattrat; removexattr, lremovexattr, fremovexattr, removexattrat; file_setattr).
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED = {
    "x86_64": (42, 425, 319, 447, 29, 64, 68, 240, 141, 142, 314, 251, 248, 249, 250, 46, 307, 278),
    "aarch64": (203, 425, 279, 447, 194, 190, 186, 180, 140, 118, 274, 30, 217, 218, 219, 211, 269, 75),
}
PASSED_OVER = {
    "x86_64": (
        *(144, 90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 280, 261),
        *(188, 189, 190, 463, 197, 198, 199, 466, 469),
    ),
    "aarch64": (119, 52, 53, 452, 54, 55, 88, 5, 6, 7, 463, 14, 15, 16, 466, 469),
}
# Which arguments are allowed, by their place among the call's 32-bit words: for socket, the family; for prlimit64 and
# sched_setaffinity, the process; for sendto, no address.
THIS = -1  # stands for the process that locks itself in; its children have other ids, which a filter cannot know
ARGUMENTS = {
    "x86_64": {41: {0: (socket.AF_UNIX,)}, 302: {0: (0, THIS)}, 203: {0: (0, THIS)}, 44: {8: (0,), 9: (0,)}},
    "aarch64": {198: {0: (socket.AF_UNIX,)}, 261: {0: (0, THIS)}, 122: {0: (0, THIS)}, 206: {8: (0,), 9: (0,)}},
}
MOST_OPEN_FILES = 1024  # the contents of pipes and sockets count as no process's memory
DEVICES = [Path(name) for name in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")]
SHARED_MEMORY = Path("/dev/shm")
SYSTEM = [
    Path(name)
    for name in ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/etc", "/proc", "/sys", "/nix")
]
# the course: what a notebook imports of it, and what grades it
PACKAGES = ("bertcourse", "bertcourse_figures", "bertcourse_grading", "bertcourse_homework", "bertcourse_lab")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.utime",
    "os.rename",
    "os.link",
    "os.symlink",
}
NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind"}
PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"}
KINDS = ("read", "write", "network", "process")  # of the report's lines; before them comes one about the walls
MOST_REPORTS, MOST_TEXT = 20, 300


def lock_files(
    writable: Iterable[Path], readable: Iterable[Path], listed: Iterable[Path] = ()
) -> bool:  # pragma: no cover (it would bind the tests' own process)
    """From now on this thread, and what it starts, can write and read only below the given paths (Landlock).

    Args:
        writable: files and folders to read and write.
        readable: files and folders to read; missing ones are skipped.
        listed: folders of which only the list of file names can be read.

    Returns:
        False if this system has no Landlock.

    Raises:
        OSError: if the kernel refuses a rule.

    Source: landlock(7); Linux 5.13 and later.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    handled = ALL_RIGHTS & ~((REFER if version < 2 else 0) | (TRUNCATE if version < 3 else 0) | IOCTL_DEV)
    scopes = 3 if version >= 6 else 0  # no signals to outside processes, and none of their abstract sockets
    attributes = struct.pack("QQQ", handled, 0, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = checked(libc.syscall(CREATE_RULESET, attributes, len(attributes), 0))
    rules = [(path, handled) for path in [*writable, *DEVICES]] + [(path, READ_RIGHTS) for path in readable]
    rules += [(path, READ_DIR) for path in listed]
    for path, rights in rules:
        if path.exists():
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", rights if path.is_dir() else rights & handled & FILE_RIGHTS, folder)
            checked(libc.syscall(ADD_RULE, ruleset, 1, rule, 0))
            os.close(folder)
    checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    checked(libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
    return True


def lock_calls() -> bool:  # pragma: no cover (it would bind the tests' own process)
    """From now on this thread, and what it starts, can open only sockets within this machine, and connect none of them,
    so that no other program here (Docker's, say) does for it what it may not do itself. Nor can it make memory that
    outlives it or that belongs to no process, limit or slow down other processes, or change modes and times of files
    (seccomp).

    Returns:
        False if this is not Linux on x86-64 or ARM64.

    Raises:
        OSError: if the kernel refuses the filter.

    Source: seccomp(2), and the classic BPF of bpf(4).
    """
    machine = platform.machine()
    if machine not in AUDIT:
        return False
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06  # load a word, jump if =, jump if ≥, return
    allow, refuse, pretend = (
        (give, 0, 0, result) for result in (0x7FFF0000, 0x00050000 | 13, 0x00050000)
    )  # 13: EACCES
    # the second and third number of a jump: how many lines to skip if the test is true, and if it is false
    program = [(load, 0, 0, 4), (equal, 1, 0, AUDIT[machine]), refuse]  # another architecture's calls
    program += [(load, 0, 0, 0), (at_least, 0, 1, 0x40000000), refuse]  # x32's
    for number in REFUSED[machine]:
        program += [(equal, 0, 1, number), refuse]
    for number in PASSED_OVER[machine]:
        program += [(equal, 0, 1, number), pretend]
    for number, words in ARGUMENTS[machine].items():
        lines = [allow, refuse]
        for place, values in reversed(words.items()):
            numbers = [os.getpid() if value == THIS else value for value in values]
            tests = [(equal, left, 0, value) for left, value in zip(range(len(numbers) - 1, 0, -1), numbers)]
            lines = [(load, 0, 0, 16 + 4 * place), *tests, (equal, 0, len(lines) - 1, numbers[-1]), *lines]
        program += [(equal, 0, len(lines), number), *lines]
    program.append(allow)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    checked(libc.prctl(SET_SECCOMP, FILTER_MODE, head, 0, 0))
    return True


def drop_capabilities() -> None:  # pragma: no cover (it would bind the tests' own process)
    """Give up all rights but a file owner's, root or not; after ``lock_calls`` no program can give them back.

    Raises:
        OSError: if the kernel refuses it.

    Source: capset(2), capabilities(7).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.capset(struct.pack("Ii", CAPABILITIES_VERSION, 0), bytes(24)))


def keep_family_together() -> None:
    """Become the parent of every descendant of this process whose own parent has ended (Linux).

    Source: prctl(2), PR_SET_CHILD_SUBREAPER.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)


def end_with_parent() -> None:  # pragma: no cover (it would bind the tests' own process)
    """End when the thread that started this process ends, even by ``kill -9`` (Linux).

    Source: prctl(2), PR_SET_PDEATHSIG.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, 9, 0, 0, 0)


def checked(result: int) -> int:
    """A system call's result, once checked for an error.

    Raises:
        OSError: if it is negative.
    """
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def readable_places(more: Iterable[str], hidden: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The places that Python and its packages need to read, without the homework's sources and the checks.

    Args:
        more: further files and folders.
        hidden: files and folders that must not be read, wherever they are.

    Returns:
        Files and folders to read, and folders that need only be listed, since something in them is hidden.
    """
    homes = {name: Path(find_spec(name).origin).resolve().parent for name in PACKAGES}
    roots = {home.parent for home in homes.values()}
    places = [*SYSTEM, Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent]
    on_path = [Path(name).resolve() for name in sys.path if name]
    elsewhere = [
        place
        for place in on_path
        if not any(map(place.is_relative_to, roots)) and not any(r.is_relative_to(place) for r in roots)
    ]
    places += [*homes.values(), homes["bertcourse"].parent / "data", *elsewhere, *map(Path, more)]
    secret = [path.resolve() for path in [*hidden, homes["bertcourse_homework"]]]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        secret += [path for path in Path("/etc").rglob("*") if path.exists() and not path.stat().st_mode & 0o004]
    readable, listed = [], []
    while places:
        place = places.pop().resolve()
        if not place.exists() or any(place.is_relative_to(path) for path in secret):
            continue
        if any(path.is_relative_to(place) for path in secret):
            listed.append(place)
            with contextlib.suppress(OSError):  # nobody of this user can look into it
                places += [each for each in place.iterdir() if not each.is_symlink()]  # a link may lead elsewhere
        else:
            readable.append(place)
    return readable, listed


def limit_memory(num_bytes: int, file_bytes: int) -> None:  # pragma: no cover (it would bind the tests' own process)
    """Refuse memory beyond what this process holds now plus ``num_bytes``, and files larger than ``file_bytes``.

    Args:
        num_bytes: data that may be added.
        file_bytes: the size of one file.

    Source: setrlimit(2); RLIMIT_DATA counts private memory on Linux only.
    """
    if sys.platform == "win32":
        return
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = MOST_OPEN_FILES if most == resource.RLIM_INFINITY else min(MOST_OPEN_FILES, most)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        limit = int(fields["VmData"].split()[0]) * 1024 + num_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def limit_tasks(number: int) -> None:  # pragma: no cover (it would bind the tests' own process)
    """Refuse this user more than ``number`` threads and processes beyond those that run now; root is not bound by it.

    Source: setrlimit(2), RLIMIT_NPROC.
    """
    if sys.platform != "linux" or os.getuid() == 0:
        return
    import resource

    tasks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            tasks += len(list((process / "task").iterdir())) if process.stat().st_uid == os.getuid() else 0
        except OSError:  # it has ended
            continue
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks + number, tasks + number))


class Reports:
    """What a submission tried, one line each, in a file that is opened before the walls go up.

    Args:
        path: the file; the grader reads it afterwards.
    """

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.known: set[str] = set()

    def add(self, kind: str, text: str) -> None:
        """Write a line, but each line only once, and at most ``MOST_REPORTS`` of them."""
        line = json.dumps({"kind": kind, "text": text[:MOST_TEXT]})
        if line not in self.known and len(self.known) < MOST_REPORTS:
            self.known.add(line)
            os.write(self.file, line.encode() + b"\n")


def guard(
    writable: Iterable[Path], hidden: Iterable[Path], programs: bool, report: Callable[[str, str], None]
) -> Callable[[str, tuple], None]:
    """An audit hook that refuses, and reports, what a submission may not do, as far as Python sees it.

    Args:
        writable: files and folders that may be written.
        hidden: folders that may not be read: solutions, other people's work.
        programs: whether other programs may be started, which is safe only within the system's walls.
        report: called with a kind and a line.

    Returns:
        The hook, for ``sys.addaudithook``; it raises PermissionError.

    Source: PEP 578.
    """
    own = tuple(os.path.realpath(path) for path in [*writable, *DEVICES])
    secret = tuple(os.path.realpath(path) for path in hidden)

    def within(path: str, folders: tuple[str, ...]) -> bool:
        return any(path == folder or path.startswith(folder + os.sep) for folder in folders)

    def refuse(kind: str, text: str) -> None:
        report(kind, text)
        raise PermissionError(f"{text}: not while a submission is graded.")

    def hook(event: str, arguments: tuple) -> None:
        if event == "open":
            path, _, flags = arguments
            if not isinstance(path, str | bytes | os.PathLike):
                return
            place = os.path.realpath(os.fsdecode(path))
            if flags and flags & WRITING and not within(place, own):
                refuse("write", f"it tried to write {place}")
            if within(place, secret) and not within(place, own):
                refuse("read", f"it tried to read {place}")
        elif event == "sqlite3.connect" and arguments[0] not in ("", b"", ":memory:", b":memory:"):
            place = os.path.realpath(os.fsdecode(arguments[0]))
            if not within(place, own):
                refuse("write", f"it tried to open the database {place}")
        elif event in CHANGES:
            for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
                if isinstance(path, str | bytes | os.PathLike):
                    place = os.path.join(
                        os.path.realpath(os.path.dirname(os.fsdecode(path)) or "."), os.path.basename(os.fsdecode(path))
                    )
                    if event != "os.symlink" and not within(place, own):
                        refuse("write", f"it tried to change {place} ({event.removeprefix('os.')})")
        elif event in NETWORK:
            looks_up = event.startswith("socket.get")
            target = arguments[0] if looks_up else arguments[1]
            if looks_up or not isinstance(target, str | bytes):
                refuse("network", f"it tried to reach the network ({target!r:.80})")
            if event != "socket.bind":  # a path means a socket within this machine
                refuse("network", f"it tried to reach another program ({target!r:.80})")
        elif event == "socket.__new__" and arguments[1] == socket.AF_INET:
            report("network", "it opened a network socket")
        elif event == "os.kill" and arguments[0] not in (os.getpid(), 0) and not is_child(arguments[0]):
            refuse("process", f"it tried to send a signal to process {arguments[0]}")
        elif event == "resource.prlimit" and arguments[0] not in (0, os.getpid()):
            refuse("process", f"it tried to set limits for process {arguments[0]}")
        elif event in PROGRAMS and not programs:
            refuse("process", f"it tried to start a program ({event})")

    return hook


def is_child(pid: int) -> bool:
    """Whether a process is a descendant of this one."""
    import psutil

    return any(child.pid == pid for child in psutil.Process().children(recursive=True))
