"""The process that runs one submission: an IPython kernel that first gives up every freedom it will not need.

    python -m bertcourse_grading.kernel CONNECTION_FILE JOB_FILE

The order matters: Landlock and seccomp bind the thread that calls them and what it starts later, so they come before
anything that starts threads; the originals are kept before any of the student's code.
"""

import ast
import builtins
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import bertcourse  # before the course's folder can no longer be listed  # noqa: F401
from bertcourse_grading import sandbox


def fingerprint(source: str) -> str:
    """A cell's text, in short."""
    return hashlib.sha256(source.encode()).hexdigest()


def names_in(code: str) -> set[str]:
    """The names that a cell uses."""
    try:
        return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    except SyntaxError:  # a magic command
        return set()


def graded_cell(code: str, namespace: dict, originals: dict | None) -> Callable[[], object] | None:
    """A cell as a function that returns what its last line gives; of a hidden test None.

    Args:
        code: of the cell.
        namespace: the notebook's names.
        originals: for a hidden test, what the setup cell's imports bind. It then has names of its own: what it calls
            ``rows`` is not the student's ``rows``, and a student's ``sum = 0`` is not its ``sum``. None for a check,
            which runs as any cell.

    Returns:
        The function; None for code that only IPython understands.
    """
    try:
        lines = ast.parse(code).body
    except SyntaxError:
        return None
    shows = originals is None and lines and isinstance(lines[-1], ast.Expr)  # a hidden test shows nothing
    last = lines.pop() if shows else None
    body = compile(ast.Module(lines, []), "<graded cell>", "exec")
    value = compile(ast.Expression(last.value), "<graded cell>", "eval") if last else None

    def run() -> object:
        names = namespace
        if originals is not None:
            hiding = vars(builtins)
            names = {name: each for name, each in namespace.items() if name not in hiding} | originals
        exec(body, names)
        return eval(value, names) if value else None

    return run


def main(connection: str, job_file: str) -> None:  # pragma: no cover (it runs in a process that is killed)
    """Lock this process in and serve a notebook.

    Args:
        connection: path of the connection file.
        job_file: JSON: own, readable, hidden (paths), setup (source), graded and tests (fingerprints of graded cells,
            and of those with a hidden test), memory, file_size, processes, reports (path), walls (whether to use the
            system's).

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

    from bertcourse_grading.integrity import Originals, reporter

    if walls:  # it opens a network socket, for what forked processes print
        IOPubThread._setup_pipe_in = lambda thread: setattr(thread, "_pipe_flag", False)
    originals, graded, tests = Originals(job["setup"]), set(job["graded"]), set(job["tests"])
    compare = reporter(originals, reports.add)

    class GradingKernel(IPythonKernel):
        """Compares with the originals before and after each graded cell, and notes what came of it.

        What a cell prints and shows goes through IPython, which the student's code can reach; the notes do not.
        """

        async def do_execute(self, code, silent, *arguments, **options):
            mark = fingerprint(code)
            if mark not in graded:
                return await super().do_execute(code, silent, *arguments, **options)
            namespace = self.shell.user_ns
            used = set() if mark in tests else names_in(code)
            compare(namespace, self.shell, used)
            run, name = graded_cell(code, namespace, originals.names if mark in tests else None), f"_graded_{mark[:12]}"
            if run is not None:

                def noted():
                    try:
                        result = run()
                    except BaseException:
                        reports.note("failed", mark)
                        raise
                    if result is not None:
                        reports.note("result", f"{mark} {result}")
                    return result

                namespace[name] = noted
            reply = await super().do_execute(f"{name}()" if run else code, silent, *arguments, **options)
            namespace.pop(name, None)
            if reply.get("status") == "error":
                reports.note("failed", mark)
            reports.note("ran", mark)
            compare(namespace, self.shell, used)
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
