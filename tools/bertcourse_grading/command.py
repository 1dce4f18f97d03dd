"""``bertcourse homework``: release, grade, feedback, export, exam."""

import argparse
import os
from pathlib import Path

DEFAULT_OUTPUT = Path("grading")
# For a submission: the smallest and the largest limit that the command line accepts.
LIMITS = {
    "cell_seconds": (0.1, 86_400, "seconds"),
    "total_seconds": (0.1, 86_400, "seconds"),
    "memory": (0.1, 1024, "GiB"),
}
MOST_JOBS = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The five actions and their flags.

    Args:
        parser: the one for ``bertcourse homework``.
    """
    actions = parser.add_subparsers(dest="action", required=True)
    release = actions.add_parser("release", help="the student tree and its zip, without solutions and hidden tests")
    release.add_argument("--output", type=Path, default=Path("build/release"), help="folder (default: %(default)s)")
    grade = actions.add_parser("grade", help="grade a folder or zip of submissions; goes on where it stopped")
    grade.add_argument("submissions", type=Path, help="a folder for each student, or what Canvas or Moodle gave you")
    grade.add_argument("--jobs", type=int, help="submissions at a time (default: half as many as there are cores)")
    grade.add_argument("--cell-seconds", type=float, default=60, help="time of one cell (default: %(default)s)")
    grade.add_argument("--total-seconds", type=float, default=600, help="time of one notebook (default: %(default)s)")
    grade.add_argument(
        "--memory", type=float, default=4, metavar="GIB", help="of one submission (default: %(default)s)"
    )
    grade.add_argument("--as-root", action="store_true", help="grade although this is root, as in a container")
    grade.add_argument("--again", action="store_true", help="grade everything again")
    feedback = actions.add_parser("feedback", help="a page for each submission, without hidden tests")
    feedback.add_argument("--student", action="append", help="only for this one; may be given several times")
    export = actions.add_parser("export", help="grades as CSV for Canvas or Moodle")
    export.add_argument("--format", required=True, choices=["canvas", "moodle"])
    export.add_argument(
        "--roster", type=Path, help="the CSV that the platform exported, to be filled in (default: a new table)"
    )
    export.add_argument("--assignment", help="this one alone, as for Moodle's grading worksheet (default: all)")
    export.add_argument("--to", type=Path, help="the CSV to write (default: grades-FORMAT.csv in the course folder)")
    exam = actions.add_parser("exam", help="draw an exam paper from the bank of questions")
    exam.add_argument("--chapters", required=True, help="what it is about, such as 1-4 or 1,3,5-7")
    exam.add_argument("--minutes", type=int, required=True, help="of the exam")
    exam.add_argument("--seed", type=int, default=1, help="which questions and which numbers (default: %(default)s)")
    exam.add_argument("--without", nargs="+", default=[], metavar="ID", help="questions that must not be in it")
    exam.add_argument("--title", default="Exam", help="heading of the paper (default: %(default)s)")
    exam.add_argument("--solutions", action="store_true", help="write the solutions, too, into a file of their own")
    exam.add_argument("--output", type=Path, default=Path("build/exam.md"), help="the paper (default: %(default)s)")
    for action in (grade, feedback, export):
        action.add_argument(
            "--output",
            type=Path,
            default=DEFAULT_OUTPUT,
            help="the course folder: gradebook and reports (default: %(default)s)",
        )
    for action in (release, grade, feedback, export, exam):
        action.add_argument(
            "--source", type=Path, help="folder of the assignments (default: notebooks/homework of the course)"
        )


def run(options: argparse.Namespace) -> bool:
    """Do what the command line says.

    Args:
        options: the parsed command line.

    Returns:
        Whether all went well; for grade, whether every submission could be graded.

    Raises:
        FileNotFoundError, ValueError: as raised by the functions that do the work.
        ImportError: if nbgrader is not installed.
        KeyboardInterrupt: if it was interrupted; what has been graded is kept.
    """
    if options.action == "exam":
        return run_exam(options)
    try:
        import nbgrader  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(
            f'it needs the package {error.name}. Install it: python -m pip install "bertcourse[teach]".'
        ) from None
    from bertcourse_grading.course import SOURCE

    source = options.source or SOURCE
    if options.action == "release":
        from bertcourse_grading.release import release

        archive = release(options.output, source=source)
        print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB; the same files unpacked: {archive.with_suffix('')}")
        return True
    if options.action == "grade":
        return run_grade(options, source)
    if options.action == "feedback":
        from bertcourse_grading.feedback import write_feedback

        print(f"{len(write_feedback(options.output, source, options.student))} pages in {options.output / 'feedback'}")
        return True
    from bertcourse_grading.export import export
    from bertcourse_grading.names import shown

    target = options.to or options.output / f"grades-{options.format}.csv"
    for message in export(options.output, options.format, target, options.roster, source, options.assignment):
        print(shown(message))
    print(target)
    return True


def run_grade(options: argparse.Namespace, source: Path) -> bool:
    """Grade, and print the report.

    Returns:
        Whether every submission could be graded.
    """
    from bertcourse_grading.grading import grade
    from bertcourse_grading.process import Limits
    from bertcourse_grading.reports import as_table

    for name, (least, most, unit) in LIMITS.items():
        if not least <= getattr(options, name) <= most:  # false for NaN, too
            raise ValueError(
                f"--{name.replace('_', '-')} must be from {least:g} to {most:,} {unit}; got {getattr(options, name):g}."
            )
    if options.jobs is not None and not 1 <= options.jobs <= MOST_JOBS:
        raise ValueError(f"--jobs must be from 1 to {MOST_JOBS}; got {options.jobs}.")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not options.as_root:
        raise ValueError(
            "expected an ordinary user; this is root, to whom every file belongs. Grade as yourself, or say --as-root, "
            "as in a container: submissions then have none of root's rights."
        )
    limits = Limits(options.cell_seconds, options.total_seconds, int(options.memory * 2**30))
    results = grade(options.submissions, options.output, source, options.jobs, limits, options.again)
    print(as_table(results), end="")
    print(f"The same as report.json, report.csv and report.txt in {options.output}.")
    return all(one.status != "not graded" for one in results)


def run_exam(options: argparse.Namespace) -> bool:
    """Draw an exam paper, write it, and print what is in it."""
    from bertcourse_grading import exam
    from bertcourse_grading.course import SOURCE

    bank = exam.read_bank((options.source or SOURCE) / exam.FOLDER)
    chapters = exam.chapters_of(options.chapters)
    questions = exam.draw_paper(bank, chapters, options.minutes, options.seed, options.without)
    for one in questions:
        print(f"{one.id:32} {one.section:>5}  {one.kind:8} {one.minutes:3} minutes {one.points:3} points")
    minutes, points = sum(one.minutes for one in questions), sum(one.points for one in questions)
    print(f"{len(questions)} questions, {minutes} minutes, {points} points")
    for path in exam.write_paper(questions, options.output, options.title, options.solutions):
        print(path)
    return True
