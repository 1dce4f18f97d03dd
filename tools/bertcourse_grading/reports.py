"""Reports on a batch: a result for each submission, and three reports, for programs, spreadsheets and people."""

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bertcourse.files import replace_files
from bertcourse_grading.names import shown, table_cell

REPORTS = ("report.json", "report.csv", "report.txt")
COLUMNS = ("student", "assignment", "status", "points", "max_points", "by_hand", "seconds", "gigabytes", "messages")


@dataclass
class Result:
    """How one submission was graded.

    Attributes:
        student, assignment, file: whose it is, what it is, and where it was.
        status: "graded", "review" (graded; somebody should look), or "not graded": either it is not a notebook, which
            is final (0 points), or the fault lay elsewhere, and nothing is kept.
        points: from the checks, without what is graded by hand.
        max_points: for the whole assignment.
        by_hand: how many of these are given by hand.
        messages: what was odd, one line each.
        cells: for each graded cell its points, the most it can have, and what it said if it failed.
        seconds, gigabytes: wall-clock time, and the most memory used.
        walls: what confined the submission; see ``execution.Run``.
        seed: for drawing the inputs of its hidden tests; the same when it is graded again.
        fingerprint: a digest of all that the result depends on; empty if nothing was decided.
    """

    student: str
    assignment: str
    file: str
    status: str = "graded"
    points: float = 0.0
    max_points: float = 0.0
    by_hand: float = 0.0
    messages: list[str] = field(default_factory=list)
    cells: dict[str, dict] = field(default_factory=dict)
    seconds: float = 0.0
    gigabytes: float = 0.0
    walls: str = ""
    seed: int = 0
    fingerprint: str = ""


def write_reports(results: list[Result], output: Path) -> list[Result]:
    """Write report.json, report.csv and report.txt, and return the results in order."""
    results = sorted(results, key=lambda one: (one.assignment, one.student))
    with replace_files(output, REPORTS) as draft:
        (draft / "report.json").write_text(json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8")
        with open(draft / "report.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, quoting=csv.QUOTE_ALL)
            table.writerow(COLUMNS)
            for one in results:
                numbers = [one.points, one.max_points, one.by_hand, one.seconds, one.gigabytes]
                texts = [one.student, one.assignment, one.status, *(f"{value:g}" for value in numbers)]
                table.writerow(map(table_cell, [*texts, "; ".join(one.messages)]))
        (draft / "report.txt").write_text(as_table(results), encoding="utf-8")
    return results


def as_table(results: list[Result]) -> str:
    """The results for people to read: a line each, and below it whatever was odd.

    Args:
        results: in the order to print.
    """
    if not results:
        return "nothing was graded\n"
    width = max(12, *(len(shown(one.student)) for one in results))
    lines = [f"{'student':{width}}  work  {'points':>11}  by hand  seconds  status"]
    for one in results:
        points = f"{one.points:g} of {one.max_points - one.by_hand:g}"
        lines.append(
            f"{shown(one.student):{width}}  {one.assignment or '?':4}  {points:>11}  {one.by_hand:7g}  "
            f"{one.seconds:7.1f}  {one.status}"
        )
        lines += [f"{'':{width}}    {shown(message)}" for message in one.messages]
    review = sum(one.status == "review" for one in results)
    failed = sum(one.status == "not graded" for one in results)
    weak = sum(one.walls == "python" for one in results)
    lines += ["", f"{len(results)} submissions; {review} to review, {failed} not graded"]
    if weak:
        lines.append(
            f"{weak} ran without the system's walls (Landlock and seccomp, on Linux): "
            "Python alone kept them from files and network"
        )
    return "\n".join(lines) + "\n"
