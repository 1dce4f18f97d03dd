"""What does a submission cost to grade, beside another version of the course?

    git worktree add ../before HEAD~1
    python tools/studies/grading_cost.py --against ../before --rounds 5

Both grade the same solved notebooks, homework by homework and in turn, so that whatever else the machine does affects
both alike. It prints the medians over the rounds of the seconds that a submission takes, as reported (its process
alone) and by the clock (the whole command, including its imports and its judge), and the medians of the rounds' own
ratios. What starts once for a whole batch is shared among the copies, of which there are fewer than in a real batch.
Exits with 1 if a homework's median ratio by the clock is above ``--most``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from bertcourse_grading.course import Assignment, read_assignments

ROOT = Path(__file__).resolve().parents[2]
GRADE = """import sys
from pathlib import Path
from bertcourse_grading.grading import grade
grade(Path(sys.argv[1]), Path(sys.argv[2]), jobs=1)"""


def grade(checkout: Path, submissions: Path, output: Path) -> tuple[float, float]:
    """Grade with a checkout's own code; returns the seconds per submission, as reported and by the clock.

    Raises:
        SystemExit: if not all points were given, as it was then not the same work.
    """
    command = [sys.executable, "-c", GRADE, str(submissions), str(output)]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "TQDM_DISABLE": "1"}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if not (output / "report.json").is_file():
        sys.exit(f"{checkout} did not grade {submissions}: {done.stderr[-2000:]}")
    rows = json.loads((output / "report.json").read_text(encoding="utf-8"))
    for row in rows:
        if row["points"] != row["max_points"] - row["by_hand"]:
            sys.exit(f"{checkout}: the solved {row['assignment']} has {row['points']} points: {row['messages']}")
    return statistics.mean(row["seconds"] for row in rows), seconds / len(rows)


def in_turn(checkouts: dict[str, Path], assignment: Assignment, rounds: int, copies: int) -> dict[str, list]:
    """What ``grade`` returns for each checkout, round by round."""
    found: dict[str, list[tuple[float, float]]] = {which: [] for which in checkouts}
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        submissions = Path(folder) / "submissions"
        for i in range(copies):
            (submissions / f"student-{i}").mkdir(parents=True)
            nbformat.write(assignment.solved, submissions / f"student-{i}" / f"{assignment.name}.ipynb")
        for number in range(rounds):
            for which in sorted(checkouts, reverse=number % 2 == 1):
                output = Path(folder) / f"{which}-{number}"
                found[which].append(grade(checkouts[which], submissions, output))
    return found


def medians(others: list[float], these: list[float]) -> tuple[float, float, float]:
    """The medians for the other checkout, for this one, and of their ratios."""
    ratios = [this / other for other, this in zip(others, these)]
    return statistics.median(others), statistics.median(these), statistics.median(ratios)


def main() -> int:
    """Grade in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, metavar="FOLDER", help="another checkout")
    parser.add_argument("--rounds", type=int, default=3, help="of both (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=10, help="of each submission (default: %(default)s)")
    parser.add_argument("--most", type=float, default=1.3, help="ratio that is allowed (default: %(default)s)")
    parser.add_argument("--homework", nargs="+", help="such as hw01 (default: all)")
    options = parser.parse_args()
    checkouts, ratios = {"other": options.against.resolve(), "this": ROOT}, []
    print(f"{'':<8}{'report: other':>15}{'this':>8}{'ratio':>8}{'clock: other':>15}{'this':>8}{'ratio':>8}")
    for name, assignment in read_assignments(names=options.homework).items():
        found = in_turn(checkouts, assignment, options.rounds, options.copies)
        both = [medians(*([pair[place] for pair in found[which]] for which in checkouts)) for place in (0, 1)]
        print(f"{name:<8}" + "".join(f"{a:>15.1f}{b:>8.1f}{ratio:>8.2f}" for a, b, ratio in both), flush=True)
        ratios.append(both[1][2])
    print(f"largest ratio by the clock: {max(ratios):.2f}; at most {options.most} is allowed")
    return int(max(ratios) > options.most)


if __name__ == "__main__":
    sys.exit(main())
