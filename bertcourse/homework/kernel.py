"""The process that runs one submission: an IPython kernel that first gives up every freedom it will not need.

    python -m bertcourse.homework.kernel CONNECTION_FILE JOB_FILE

The order matters: Landlock and seccomp bind the thread that calls them and what it starts later, so they come before
anything that starts threads; the originals are kept before any of the student's code.
"""

import hashlib
import json
import sys
from pathlib import Path

import bertcourse.homework  # before the course's folder can no longer be listed  # noqa: F401
from bertcourse.homework import sandbox


def fingerprint(source: str) -> str:
    """A cell's text, in short."""
    return hashlib.sha256(source.encode()).hexdigest()


def main(connection: str, job_file: str) -> None:  # pragma: no cover (it runs in a process that is killed)
    """Lock this process in and serve a notebook.

    Args:
        connection: path of the connection file.
        job_file: JSON: own, readable, hidden (paths), setup (source), graded (fingerprints of cells), memory,
            file_size, processes, reports (path), walls (whether to use the system's).

    Source: ipykernel's launcher.
    """
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    reports, own = sandbox.Reports(Path(job["reports"])), [Path(path) for path in job["own"]]
    walls = False
    if job["walls"] and sys.platform == "linux":
        sandbox.limit_processes(job["processes"])
        walls = all([sandbox.lock_files(own, sandbox.readable_places(job["readable"])), sandbox.lock_network()])
    reports.add("walls", "system" if walls else "python")

    from ipykernel.iostream import IOPubThread
    from ipykernel.ipkernel import IPythonKernel
    from ipykernel.kernelapp import IPKernelApp

    from bertcourse.homework.integrity import Originals, reporter

    if walls:  # it opens a network socket, for what forked processes print
        IOPubThread._setup_pipe_in = lambda thread: setattr(thread, "_pipe_flag", False)
    originals, graded = Originals(job["setup"]), set(job["graded"])
    compare = reporter(originals, reports.add)

    class GradingKernel(IPythonKernel):
        """Compares with the originals before and after each graded cell."""

        async def do_execute(self, code, silent, *arguments, **options):
            of_interest = fingerprint(code) in graded
            if of_interest:
                compare(self.shell.user_ns, self.shell)
            reply = await super().do_execute(code, silent, *arguments, **options)
            if of_interest:
                compare(self.shell.user_ns, self.shell)
            return reply

    app = IPKernelApp.instance(kernel_class=GradingKernel)
    app.initialize(["-f", connection, "--HistoryManager.hist_file=:memory:", "--IPKernelApp.quiet=True"])
    shell = app.kernel.shell
    originals.keep_shell(shell)

    def leave(*arguments) -> None:
        raise SystemExit("exit() ends a cell, not the grading")

    shell.ask_exit = leave
    for name in ("exit", "quit"):
        shell.user_ns[name] = leave
    sandbox.limit_memory(job["memory"], job["file_size"])
    sys.addaudithook(sandbox.guard(own, map(Path, job["hidden"]), programs=walls, report=reports.add))
    app.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
