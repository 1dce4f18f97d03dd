"""Kill the grader again and again, restart it, and compare its report with that of an undisturbed run.

    python tools/studies/grading_kills.py                             # 300 submissions, 20 kills: an hour on two cores
    python tools/studies/grading_kills.py --submissions 40 --kills 4  # minutes

The submissions are of thirty kinds, under as many names as are asked for, from the tests' example course, whose checks
need no PyTorch: right and wrong, endless, quitting by themselves, hungry for memory, curious, damaged. ``kill -9``
comes at random moments, drawn from a seed. Exits with 1 if a student is missing, appears twice, or got another result,
or if a process or a file is left behind.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import homework_example as example  # noqa: E402

KINDS = [
    "right", "partly", "wrong", "unsolved", "syntax-error", "exit-in-function", "segfault", "kills-itself", "endless",
    "endless-in-function", "stubborn", "twenty-gigabytes", "network", "writes-outside", "deletes-files",
    "reads-solution", "signals-grader", "many-processes", "leaves-process", "writes-inside", "environment",
    "system-exit", "megabytes", "redefines-check", "huge-result", "tampered-check", "missing-checks", "duplicates",
    "empty", "a-pdf",
]  # fmt: skip
COMPARED = ("student", "assignment", "status", "points", "max_points", "by_hand", "messages", "cells")
SETTLE_SECONDS = 10.0  # that processes are given to notice that the grader is gone


class Scene:
    """A course, its submissions, and their grader, which may be killed.

    Args:
        base: an empty folder for everything.
        number: of submissions.
        jobs: at a time.
    """

    def __init__(self, base: Path, number: int, jobs: int) -> None:
        self.base, self.number, self.jobs, self.temporary = base, number, jobs, base / "tmp"
        self.temporary.mkdir()
        (base / "outside.txt").write_text("not yours", encoding="utf-8")
        self.course, self.checks = example.make_course(base / "course"), example.make_checks(base / "checks")
        sys.path.insert(0, str(self.checks))
        example.write_submissions(base / "kinds", self.course, base / "outside.txt", torch=False)
        for i in range(number):
            kind = KINDS[i % len(KINDS)]
            shutil.copytree(base / "kinds" / kind, base / "submissions" / f"{kind}-{i // len(KINDS)}")

    def start(self, output: str) -> subprocess.Popen:
        """Start the grader, or let it resume where it stopped."""
        command = [sys.executable, "-m", "bertcourse_lab", "homework", "grade", str(self.base / "submissions")]
        command += ["--output", str(self.base / output), "--source", str(self.course), "--jobs", str(self.jobs)]
        command += ["--cell-seconds", "3", "--total-seconds", "60", "--memory", "0.5", "--as-root"]
        path = os.pathsep.join([str(ROOT), str(self.checks)])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.temporary), "TQDM_DISABLE": "1"}
        return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)

    def graded(self, output: str) -> int:
        """How many results are stored."""
        return len(list((self.base / output / "results").rglob("*.json")))

    def report(self, output: str) -> list[dict]:
        """The results of each submission, without what differs from run to run, such as process numbers."""
        text = (self.base / output / "report.json").read_text(encoding="utf-8")
        rows = json.loads(re.sub(r"process \d+", "process …", text))
        return [{name: row[name] for name in COMPARED} for row in rows]

    def processes(self) -> list[psutil.Process]:
        """All processes of the graders that are still there, recognized by their folder for temporary files."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("TMPDIR", "").startswith(str(self.temporary)):
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def strays(self) -> list[psutil.Process]:
        """The processes that are still there after they have had time to end."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (found := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def files(self, output: str) -> set[str]:
        """The files in the grader's folder."""
        folder = self.base / output
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def kill_often(scene: Scene, kills: int, seconds: float, dice: random.Random) -> int:
    """Start the grader and kill it, ``kills`` times.

    Args:
        scene: where.
        kills: how many, spread over what is not graded yet.
        seconds: how long the whole takes without kills.
        dice: for the moments.

    Returns:
        How many stray processes there were in all.
    """
    strays = 0
    for number in range(1, kills + 1):
        grader = scene.start("killed")
        try:
            left = seconds * (1 - scene.graded("killed") / scene.number)
            grader.wait(delay := dice.uniform(0, 2 * left / (kills + 2 - number)))
        except subprocess.TimeoutExpired:
            grader.kill()
        if grader.wait() >= 0:
            print(f"all was graded before kill {number}; {number - 1} of {kills} kills")
            break
        found = len(scene.strays())
        strays += found
        print(f"kill {number:2}: after {delay:5.1f} s, with {scene.graded('killed')} graded; {found} strays")
    return strays


def differences(scene: Scene) -> list[str]:
    """How the two reports differ, and whether each student appears just once."""
    calm, killed = ({row["student"]: row for row in scene.report(output)} for output in ("calm", "killed"))
    students = [row["student"] for row in scene.report("killed")]
    handed_in = sorted(path.name for path in (scene.base / "submissions").iterdir())
    found = [] if sorted(students) == handed_in else [f"{len(students)} rows for {len(handed_in)} students"]
    for student in sorted(calm.keys() | killed.keys()):
        one, other = calm.get(student), killed.get(student)
        if one != other:
            found.append(f"{student}:\n    undisturbed {one}\n    killed      {other}")
    return found


def main() -> int:
    """Grade undisturbed, grade with kills, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=300, help="how many (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="submissions at a time (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        scene = Scene(Path(folder), options.submissions, options.jobs)
        try:
            return compare(scene, options)
        finally:
            for process in scene.processes():
                process.kill()


def compare(scene: Scene, options: argparse.Namespace) -> int:
    """Do both, and print the outcome; returns 1 if they differ or something is left behind."""
    start = time.perf_counter()
    scene.start("calm").wait()
    seconds = time.perf_counter() - start
    print(f"{options.submissions} submissions undisturbed: {seconds:.0f} s, {len(scene.strays())} strays")
    strays = kill_often(scene, options.kills, seconds, random.Random(options.seed))
    start = time.perf_counter()
    scene.start("killed").wait()
    print(f"the rest, to the end: {time.perf_counter() - start:.0f} s")
    found, left = differences(scene), scene.strays()
    extra = sorted(scene.files("killed") - scene.files("calm"))
    temporary = sorted(path.name for path in scene.temporary.iterdir())
    print(f"{strays} strays after kills, {len(left)} at the end; {len(extra)} files more in the output: {extra[:5]};")
    print(f"{len(temporary)} left among temporary files: {temporary[:5]}")
    print("\n".join(["not the same:", *found]) if found else "the two reports are the same, each student once")
    return 1 if found or strays or left or extra or temporary else 0


if __name__ == "__main__":
    sys.exit(main())
