"""Grades as the CSV files that Canvas and Moodle import.

Each matches rows to students by columns of its own. So the reliable way is to pass the file that the platform exports
(``roster``): its rows and columns stay, and the grades are filled in. Without one, a new file is written with the
minimum of columns that the platform needs.

- Canvas, *Grades > Export > Export Entire Gradebook*: Student, ID, SIS User ID, SIS Login ID, Section, then one column
  per assignment, "hw01 (98765)", and below the header a row that begins with "Points Possible". Imported by
  *Grades > Import*.
- Moodle, *Grades > Export > Plain text file*: Email address, ID number or Username, and one column per assignment,
  "Assignment: hw01 (Real)", imported by *Grades > Import > CSV file*; or the grading sheet of one assignment (*Download
  grading worksheet*): Identifier ("Participant 1234567"), Grade, imported by *Upload grading worksheet*.
"""

import csv
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from bertcourse.files import replace_files
from bertcourse_grading.course import SOURCE
from bertcourse_grading.gradebook import settings
from bertcourse_grading.names import folder_name, on_any_disk, with_hash

FORMATS = {
    "canvas": ("ID", "SIS Login ID", "SIS User ID", "Student"),
    "moodle": ("Email address", "ID number", "Username", "Identifier", "Full name"),
}
CANVAS_HEADER = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]


@dataclass(frozen=True)
class Grades:
    """The grades in the gradebook.

    Attributes:
        points: by student and assignment.
        max_points: by assignment.
        open: students and assignments with something still to be graded by hand.
    """

    points: dict[tuple[str, str], float]
    max_points: dict[str, float]
    open: list[tuple[str, str]]


def read_grades(output: Path, source: Path = SOURCE) -> Grades:
    """The grades of a course folder, with late penalties deducted.

    Args:
        output: the folder that ``grade`` made.
        source: the folder of the assignments.

    Raises:
        FileNotFoundError: if nothing was graded there.

    Source: nbgrader's gradebook.
    """
    from nbgrader.api import Gradebook

    with Gradebook(settings(output, source).CourseDirectory.db_url) as gradebook:
        points, waiting = {}, []
        for assignment in gradebook.assignments:
            for one in gradebook.assignment_submissions(assignment.name):
                points[one.student.id, assignment.name] = max(0.0, one.score - (one.late_submission_penalty or 0.0))
                if one.needs_manual_grade:
                    waiting.append((one.student.id, assignment.name))
        return Grades(points, {one.name: one.max_score for one in gradebook.assignments}, sorted(waiting))


def export(
    output: Path,
    kind: str,
    target: Path,
    roster: Path | None = None,
    source: Path = SOURCE,
    assignment: str | None = None,
) -> list[str]:
    """Write the grades for a learning platform.

    Args:
        output: the folder that ``grade`` made.
        kind: "canvas" or "moodle".
        target: the CSV to write.
        roster: the CSV that the platform exported, to be filled in.
        source: the folder of the assignments.
        assignment: the only one to write, as for Moodle's grading sheet of one assignment; None for all.

    Returns:
        A line for each thing to know: who is not in the roster, what is still to be graded by hand.

    Raises:
        FileNotFoundError: if nothing was graded there, or there is no such roster.
        ValueError: if ``kind`` is neither of the two, nothing of the assignment was graded, the roster has no column
            that names students or none for any assignment, or two of its rows belong to the same student.
        OSError: if the file cannot be written; an older one is left untouched.
    """
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {kind!r}.")
    grades = read_grades(output, source)
    if assignment is not None:
        if assignment not in grades.max_points:
            raise ValueError(f"assignment must be one of {', '.join(sorted(grades.max_points))}; got {assignment!r}.")
        grades = Grades(
            {key: points for key, points in grades.points.items() if key[1] == assignment},
            {assignment: grades.max_points[assignment]},
            [key for key in grades.open if key[1] == assignment],
        )
    rows, messages = fill_in(roster, kind, grades) if roster else (new_rows(kind, grades), [])
    with (
        replace_files(target.parent, [target.name]) as draft,
        open(draft / target.name, "w", encoding="utf-8", newline="") as file,
    ):
        csv.writer(file).writerows(rows)
    if grades.open:
        listed = ", ".join(f"{student} {name}" for student, name in grades.open[:10]) + (
            " …" if len(grades.open) > 10 else ""
        )
        messages.append(
            f"{len(grades.open)} still have something to be graded by hand, which counts 0 until then: {listed}"
        )
    return messages


def new_rows(kind: str, grades: Grades) -> list[list[str]]:
    """A table with the minimum of columns that a platform needs."""
    names = sorted(grades.max_points)
    students = sorted({student for student, _ in grades.points})
    values = {
        student: [f"{grades.points[student, name]:g}" if (student, name) in grades.points else "" for name in names]
        for student in students
    }
    if kind == "moodle":
        column = "Email address" if all("@" in student for student in students) else "ID number"
        return [[column, *names], *([student, *values[student]] for student in students)]
    rows = [
        [*CANVAS_HEADER, *names],
        ["    Points Possible", "", "", "", "", *(f"{grades.max_points[name]:g}" for name in names)],
    ]
    for student in students:
        own = [student, student, "", "", ""] if student.isdigit() else [student, "", "", student, ""]
        rows.append([*own, *values[student]])
    return rows


def fill_in(roster: Path, kind: str, grades: Grades) -> tuple[list[list[str]], list[str]]:
    """A roster's rows with the grades filled in, and messages about what did not match."""
    if not roster.is_file():
        raise FileNotFoundError(f"expected the CSV that {kind.title()} exported in {roster}; there is no such file.")
    rows = list(csv.reader(roster.read_text(encoding="utf-8-sig").splitlines()))
    header = rows[0] if rows else []
    keys = [header.index(name) for name in FORMATS[kind] if name in header]
    if not keys:
        raise ValueError(
            f"{roster} must have one of the columns {', '.join(FORMATS[kind])}; it has {', '.join(header) or 'none'}."
        )
    columns = {
        name: index
        for name in sorted(grades.max_points)
        if (index := column_of(header, name, len(grades.max_points))) is not None
    }
    if not columns:
        raise ValueError(
            f"{roster} has no column for {', '.join(sorted(grades.max_points))}. "
            "Make the assignments there under these names, and export again."
        )
    people = [row for row in rows[1:] if row and row[0].strip() != "Points Possible"]
    known = sorted({student for student, _ in grades.points})
    # the same column for all students, as one's ID may be another's login
    found_by = [match([row[index] if index < len(row) else "" for row in people], known) for index in keys]
    students = max(found_by, key=lambda found: len(set(found) - {None}))
    found = set()
    for row, student in zip(people, students):
        if student is None:
            continue
        if student in found:
            raise ValueError(f"{roster} has two rows for {student}. Give each student a row of their own.")
        found.add(student)
        for name, index in columns.items():
            if (student, name) in grades.points:
                row[index] = f"{grades.points[student, name]:g}"
    messages = [f"{name} has no column in {roster.name}" for name in sorted(set(grades.max_points) - set(columns))]
    messages += [f"{student} is not in {roster.name}" for student in sorted(set(known) - found)]
    return rows, messages


def column_of(header: list[str], name: str, how_many: int) -> int | None:
    """The column of an assignment: the first with its name as a word; in a grading sheet for a single one, "Grade"."""
    for index, title in enumerate(header):
        if re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", title, re.IGNORECASE):
            return index
    return header.index("Grade") if how_many == 1 and "Grade" in header else None


def match(texts: list[str], students: list[str]) -> list[str | None]:
    """The student that each text of a roster's column means, by folder name or else loosely; None if there is none.

    Loosely, "a b" and "a-b" are the same; that counts only for a student whom no text names exactly, and only if no
    other such student matches.

    >>> match(["Participant 17", "Anna Maria", "Anna-Maria"], ["17", "anna-maria", "Anna Maria"])
    ['17', 'Anna Maria', 'anna-maria']
    """
    texts, known = [text.strip().removeprefix("Participant ") for text in texts], set(students)
    names = [folder_name(text) for text in texts]
    found = [next((one for one in (name, with_hash(name)) if one in known), None) for name in names]
    alike: dict[str, list[str]] = {}
    for student in known.difference(found):
        alike.setdefault(loosely(student), []).append(student)
    for index, text in enumerate(texts):
        if found[index] is None and len(candidates := alike.get(loosely(text), [])) == 1:
            found[index] = candidates[0]
    return found


def loosely(name: str) -> str:
    """A name without the details that a platform may change, or that differ in the name of its folder."""
    name = on_any_disk(re.sub(r"~[0-9a-f]{8}$", "", name))
    kept = (letter if unicodedata.category(letter)[0] in "LMN" or letter in "_.@" else " " for letter in name)
    return "-".join("".join(kept).split()).strip("-.")
