"""Grade a batch: each submission in its own process, points as of ``nbgrader autograde``, a line for whatever is odd.

The order for one submission: read it, put back what was changed or deleted (``restore``), let nbgrader's preprocessors
put the hidden tests in, run it (``execution``), let nbgrader's preprocessors read the points and write them into its
gradebook. What nbgrader keeps (submitted, autograded, gradebook.db) lies where its own tools look for it, so the
written questions are graded with its formgrader.
"""

import contextlib
import copy
import csv
import functools
import hashlib
import json
import logging
import os
import queue
import secrets
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from unittest import mock

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm
from traitlets.config import Config

from bertcourse.files import make_folder, replace_files
from bertcourse_grading.cleaning import folder_for_a_batch
from bertcourse_grading.course import CONFIG, SOURCE, Assignment, grade_id, load_config, read_assignments, split_hidden
from bertcourse_grading.execution import Run, run_submission
from bertcourse_grading.judge_client import Judge
from bertcourse_grading.process import Cancelled, Limits, error_output
from bertcourse_grading.submissions import Submission, find_submissions, read_submission, unpack

REPORTS = ("report.json", "report.csv", "report.txt")
SANITIZE = ("ClearOutput", "DeduplicateIds", "OverwriteKernelspec", "OverwriteCells", "CheckCellMetadata")
SAVE = ("LimitOutput", "SaveAutoGrades", "AssignLatePenalties", "CheckCellMetadata")
DATABASE = threading.Lock()  # SQLite has one writer
log = logging.getLogger("bertcourse_grading")


@dataclass
class Result:
    """How one submission was graded.

    Attributes:
        student, assignment, file: whose it is, and where it lay.
        status: "graded", "review" (graded; somebody should look), or "not graded" (no notebook; 0 points).
        points: from the checks, without what is graded by hand.
        max_points: of the whole assignment.
        by_hand: how many of them are given by hand.
        messages: what was odd, a line each.
        cells: for each graded cell its points, the most it can have, and what it said if it failed.
        seconds, gigabytes: time on the clock, and most memory.
        walls: what held the submission in; see ``execution.Run``.
        seed: from which the inputs of its hidden tests were drawn; the same when it is graded again.
        fingerprint: of all that the result depends on.
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


def grade(
    submissions: Path,
    output: Path,
    source: Path = SOURCE,
    jobs: int | None = None,
    limits: Limits = Limits(),
    again: bool = False,
) -> list[Result]:
    """Grade all submissions of a folder that were not graded before, or have changed since.

    Args:
        submissions: a folder or zip; ``submissions`` says how it may look.
        output: nbgrader's course folder: reports, submitted, autograded, gradebook.db.
        source: the folder of the assignments.
        jobs: how many at a time; None for half as many as there are cores.
        limits: what each may use.
        again: grade everything anew.

    Returns:
        A result for each submission.

    Raises:
        FileNotFoundError: if there are no submissions, or no assignments.
        ValueError: if an assignment cannot be released.
        KeyboardInterrupt: on Ctrl-C; what is graded is kept.

    Source: nbgrader's autograde, submission by submission.
    """
    assignments = read_assignments(source)
    make_folder(output)
    output = output.resolve()
    found = find_submissions(unpack(submissions.resolve(), output / "unpacked"), list(assignments))
    results: dict[tuple[str, str], Result] = {}
    workers = jobs or max(1, (os.cpu_count() or 2) // 2)
    with folder_for_a_batch(output / "running") as temporary, ThreadPoolExecutor(workers) as pool:
        gradebook = Grader(assignments, source.resolve(), output, limits, temporary)
        gradebook.hidden.append(submissions.resolve())
        futures = {pool.submit(gradebook.grade, one, again): one for one in found}
        try:
            for future in tqdm(
                as_completed(futures), total=len(found), unit="submission", desc="Grading", disable=None
            ):
                one = futures[future]
                results[one.student, one.assignment] = future.result()
                write_reports(list(results.values()), output)
        except BaseException:
            gradebook.cancel.set()
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            gradebook.stop()
    return write_reports(list(results.values()), output)


@functools.cache
def package_digest() -> str:
    """Another package, another digest: checks, what lectures and homework import, and the grader itself."""
    import bertcourse

    digest = hashlib.sha256()
    for package in (Path(bertcourse.__path__[0]), Path(__file__).parent):
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".json", ".tsv"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


class Grader:
    """Grades submissions of known assignments into one course folder.

    Args:
        assignments: by name.
        source: their folder.
        output: nbgrader's course folder.
        limits: what a submission may use.
        temporary: the folder for temporary files.
    """

    def __init__(
        self, assignments: dict[str, Assignment], source: Path, output: Path, limits: Limits, temporary: Path
    ) -> None:
        self.assignments, self.output, self.limits, self.temporary = assignments, output, limits, temporary
        self.config = load_config(source, output)
        self.database = self.config.CourseDirectory.db_url
        make_gradebook(self.database)
        self.hidden = [source, output]
        self.cancel = threading.Event()
        self.known: set[str] = set()
        self.judges: queue.SimpleQueue[Judge] = queue.SimpleQueue()
        if not (output / CONFIG).exists():
            lines = [
                "# Written by bertcourse homework grade, for nbgrader's own commands and formgrader in this folder.",
                "import os",
                "",
            ]
            lines += [
                f'os.environ["BERTCOURSE_GRADING"] = {str(output)!r}',
                f"load_subconfig({str(source / CONFIG)!r})  # noqa: F821",
                "",
            ]
            (output / CONFIG).write_text("\n".join(lines), encoding="utf-8")

    def grade(self, submission: Submission, again: bool = False) -> Result:
        """Grade one, or read the result if it is there; whatever goes wrong is in the result."""
        result = Result(
            submission.student, submission.assignment, str(submission.path), messages=list(submission.messages)
        )
        if submission.assignment not in self.assignments:
            result.status, result.messages = (
                "not graded",
                [*result.messages, "it is not clear which assignment this is: neither its name nor its cells say"],
            )
            return result
        assignment = self.assignments[submission.assignment]
        result.fingerprint = self.fingerprint(submission, assignment)
        kept = self.output / "results" / submission.student / f"{assignment.name}.json"
        result.seed = secrets.randbelow(2**32)
        if kept.exists():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                old = Result(**json.loads(kept.read_text(encoding="utf-8")))
                if old.fingerprint == result.fingerprint and not again:
                    return old
                result.seed = old.seed
        try:
            self.grade_afresh(submission, assignment, result)
        except Cancelled:
            raise
        except Exception as error:  # the batch goes on, whatever nbgrader or a file brings
            log.debug("%s %s", submission.student, assignment.name, exc_info=True)
            result.status = "not graded"
            result.messages.append(
                f"the grader itself failed: {type(error).__name__}: {error}; grade it again, or by hand"
            )
            result.fingerprint = ""
        with replace_files(kept.parent, [kept.name]) as draft:
            (draft / kept.name).write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
        return result

    @contextlib.contextmanager
    def judge(self) -> Iterator[Judge]:
        """A judge who is free; there are as many as submissions are graded at a time."""
        try:
            judge = self.judges.get_nowait()
        except queue.Empty:
            judge = Judge(self.temporary)
        try:
            yield judge
        except BaseException:
            judge.stop()  # nobody knows what it still waits for
            raise
        self.judges.put(judge)

    def stop(self) -> None:
        """End all judges."""
        while not self.judges.empty():
            self.judges.get().stop()

    def fingerprint(self, submission: Submission, assignment: Assignment) -> str:
        """What a result depends on: the file and those beside it, the assignment, the limits, the package."""
        digest = hashlib.sha256(submission.path.read_bytes())
        beside = submission.path.parent.rglob("*") if submission.has_folder else []
        for path in sorted(path for path in beside if path.is_file() and not path.is_symlink()):
            digest.update(str(path.relative_to(submission.path.parent)).encode() + path.read_bytes())
        for text in (assignment.fingerprint, repr(self.limits), package_digest()):
            digest.update(text.encode())
        return digest.hexdigest()

    def grade_afresh(self, submission: Submission, assignment: Assignment, result: Result) -> None:
        """Grade one."""
        self.prepare(assignment)
        handed_in = self.output / "submitted" / submission.student / assignment.name / f"{assignment.name}.ipynb"
        handed_in.parent.mkdir(parents=True, exist_ok=True)
        stamp = submission.path.parent / "timestamp.txt"
        for path, copied in ((submission.path, handed_in), (stamp, handed_in.parent / "timestamp.txt")):
            if path.is_file() and path.resolve() != copied.resolve():
                shutil.copyfile(path, copied)
        self.enter(submission, assignment)
        try:
            notebook, messages = read_submission(submission.path)
        except ValueError as error:
            result.messages.append(f"{error}: 0 points")
            result.status = "not graded"
            result.max_points = self.zero(submission, assignment)
            return
        result.messages += messages
        changed = restore(notebook, assignment.released)
        result.messages += changed
        resources = self.resources(submission, assignment)
        with DATABASE, quiet_nbgrader():
            notebook = self.apply(SANITIZE, notebook, resources)
        with files_beside(submission, assignment, self.temporary) as files, self.judge() as judge:
            judge.begin(assignment, result.seed)
            run = run_submission(notebook, files, judge, self.hidden, self.limits, self.cancel, self.temporary)
        note_odd_points(notebook, run)
        with DATABASE, quiet_nbgrader():
            notebook = self.apply(SAVE, notebook, resources)
            self.read_points(submission, assignment, notebook, result)
        graded = self.output / "autograded" / submission.student / assignment.name
        with replace_files(graded, [f"{assignment.name}.ipynb"]) as draft:
            nbformat.write(notebook, draft / f"{assignment.name}.ipynb")
        if (handed_in.parent / "timestamp.txt").exists():
            shutil.copyfile(handed_in.parent / "timestamp.txt", graded / "timestamp.txt")
        result.messages += run.messages
        result.status = "review" if run.review or any(is_tampering(line) for line in changed) else "graded"
        result.seconds, result.gigabytes, result.walls = round(run.seconds, 2), round(run.peak / 1e9, 2), run.walls

    def prepare(self, assignment: Assignment) -> None:
        """Write the assignment's cells into the gradebook, as ``nbgrader generate_assignment`` does.

        Raises:
            RuntimeError: if nbgrader refuses, for instance because cells were added after submissions had been graded.
        """
        from nbgrader.apps.api import NbGraderAPI

        with DATABASE, quiet_nbgrader():
            if assignment.name in self.known:
                return
            done = NbGraderAPI(config=self.config).generate_assignment(assignment.name)
            if not done["success"]:
                raise RuntimeError(
                    f"nbgrader does not take {assignment.name} into its gradebook: {done.get('error') or done['log']}"
                )
            self.known.add(assignment.name)

    def enter(self, submission: Submission, assignment: Assignment) -> None:
        """A student and a submission in the gradebook."""
        from nbgrader.api import Gradebook
        from nbgrader.utils import parse_utc

        stamp = self.output / "submitted" / submission.student / assignment.name / "timestamp.txt"
        with DATABASE, quiet_nbgrader(), Gradebook(self.database) as gradebook:
            gradebook.update_or_create_student(submission.student)
            details = {"timestamp": parse_utc(stamp.read_text(encoding="utf-8").strip())} if stamp.exists() else {}
            gradebook.update_or_create_submission(assignment.name, submission.student, **details)

    def zero(self, submission: Submission, assignment: Assignment) -> float:
        """No points for anything, as nbgrader gives for a notebook that is not there; what there was to get."""
        from nbgrader.api import Gradebook

        shutil.rmtree(self.output / "autograded" / submission.student / assignment.name, ignore_errors=True)
        with DATABASE, quiet_nbgrader(), Gradebook(self.database) as gradebook:
            notebook = gradebook.find_submission_notebook(assignment.name, assignment.name, submission.student)
            for one in notebook.grades:
                one.auto_score, one.needs_manual_grade = 0, False
            gradebook.db.commit()
            return notebook.max_score

    def resources(self, submission: Submission, assignment: Assignment) -> dict:
        """What nbgrader's preprocessors are told."""
        names = {
            "student": submission.student,
            "assignment": assignment.name,
            "notebook": assignment.name,
            "db_url": self.database,
        }
        return {"unique_key": assignment.name, "nbgrader": names}

    def apply(self, steps: tuple[str, ...], notebook: NotebookNode, resources: dict) -> NotebookNode:
        """The notebook after some of nbgrader's preprocessors."""
        from nbgrader import preprocessors

        for step in steps:
            notebook, resources = getattr(preprocessors, step)(config=self.config).preprocess(notebook, resources)
        return notebook

    def read_points(
        self, submission: Submission, assignment: Assignment, notebook: NotebookNode, result: Result
    ) -> None:
        """Fill a result in from the gradebook and the executed notebook."""
        from nbgrader.api import Gradebook

        cells = {grade_id(cell): cell for cell in notebook.cells if grade_id(cell)}
        with Gradebook(self.database) as gradebook:
            entry = gradebook.find_submission_notebook(assignment.name, assignment.name, submission.student)
            for one in entry.grades:
                points = {"points": one.auto_score, "max_points": one.max_score}
                failed = one.auto_score is not None and one.auto_score < one.max_score and one.name in cells
                result.cells[one.name] = {**points, "message": failure(cells[one.name]) if failed else ""}
            result.points = sum(one.auto_score or 0.0 for one in entry.grades)
            result.max_points = entry.max_score
            result.by_hand = sum(one.max_score for one in entry.grades if one.auto_score is None)


def make_gradebook(database: str) -> None:
    """Make nbgrader's gradebook if it is not there.

    nbgrader asks the program alembic for the version of its tables, which takes seconds and must be on the path; its
    library knows it, too.
    """
    import nbgrader
    from alembic.script import ScriptDirectory
    from nbgrader.api import Gradebook

    scripts = ScriptDirectory(str(Path(nbgrader.__file__).parent / "alembic"))
    with mock.patch("nbgrader.api.get_alembic_version", scripts.get_current_head), quiet_nbgrader():
        Gradebook(database).close()


def restore(notebook: NotebookNode, released: NotebookNode) -> list[str]:
    """Put back, in place, what a student changed in or deleted from an assignment, so that nbgrader can grade it.

    The student's own cells and answers stay; names, points and locks of the assignment's cells become the released
    ones. A deleted check comes back before the next cell that is still there, so after the code it may be about. Of two
    cells with one name, the last one keeps it, as in nbgrader.

    Args:
        notebook: a submission.
        released: the assignment as students got it.

    Returns:
        What was found, a line each.

    Source: nbgrader's DeduplicateIds and OverwriteCells, which stop at some of this.
    """
    messages, known, seen = [], {grade_id(cell): cell for cell in released.cells if grade_id(cell)}, {}
    for cell in reversed(notebook.cells):
        name = grade_id(cell)
        if name in known and name in seen:
            messages.append(f"cell {name} was there twice; the last one counts")
        if name not in known or name in seen:
            if name is not None and name not in known:
                messages.append(f"cell {name} is not of this assignment; not graded")
            cell.metadata.pop("nbgrader", None)
        elif name is not None:
            seen[name] = cell
    for name, cell in seen.items():
        original, own = known[name], cell.metadata["nbgrader"]
        fixed = original.metadata["nbgrader"]
        if (
            any(own.get(key) != fixed.get(key) for key in ("grade", "solution", "points"))
            or cell.cell_type != original.cell_type
        ):
            messages.append(f"the points, locks or type of cell {name} were changed; put back")
            cell.cell_type = original.cell_type
            for key in ("outputs", "execution_count"):
                if original.cell_type != "code":
                    cell.pop(key, None)
                else:
                    cell.setdefault(key, [] if key == "outputs" else None)
            cell.pop("attachments", None) if original.cell_type == "code" else None
        cell.metadata["nbgrader"] = copy.deepcopy(fixed)
        if fixed.get("locked") and not fixed.get("solution") and cell.source.split() != original.source.split():
            messages.append(f"cell {name} was changed; the original was put back")
        if fixed.get("locked") and not fixed.get("solution"):
            cell.source = original.source
    for name in reversed([name for name in known if name not in seen]):
        fixed = known[name].metadata["nbgrader"]
        if fixed["solution"] and not fixed["grade"]:
            messages.append(f"cell {name} was deleted")
            continue
        messages.append(f"cell {name} was deleted; it was put back")
        put_back(notebook, copy.deepcopy(known[name]), list(known))
        seen[name] = known[name]
    return messages[::-1]


def put_back(notebook: NotebookNode, cell: NotebookNode, order: list[str]) -> None:
    """Insert a cell before the first one that comes after it in the assignment, else at the end."""
    later = set(order[order.index(grade_id(cell)) + 1 :])
    position = next(
        (index for index, other in enumerate(notebook.cells) if grade_id(other) in later), len(notebook.cells)
    )
    if grade_id(cell) == "setup":
        position = 0
    notebook.cells.insert(position, cell)


def is_tampering(message: str) -> bool:
    """Whether a message of ``restore`` asks for a look: accidents are common, changed tests less so."""
    return "was changed; the original" in message or "points, locks" in message


def note_odd_points(notebook: NotebookNode, run: Run) -> None:
    """Refuse a number of points that a cell cannot give: the assignment's own check is wrong."""
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        for output in cell.get("outputs", []) if about.get("grade") and not about.get("solution") else []:
            points = float(output["data"]["text/plain"]) if output.output_type == "execute_result" else 0.0
            if not 0 <= points <= float(about["points"]):
                most = about["points"]
                run.say(f"cell {about['grade_id']} gave {points:g} of {most} points; 0 were taken", review=True)
                cell.outputs = [error_output("WrongPoints", "a result that is no number of points")]
                break


def failure(cell: NotebookNode) -> str:
    """What a graded cell said when it failed: the message of its error, else what it printed, in one line.

    Of a hidden test nothing that was printed: the student's code might show the test.
    """
    _, hidden = split_hidden(cell.source)
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            kind = "" if output.ename in ("CheckFailed", "AssertionError") else f"{output.ename}: "
            message = " ".join(f"{kind}{output.evalue}".split())[:500]
            shown = any(len(line.strip()) > 20 and line.strip() in output.evalue for line in hidden)
            return f"{output.ename}" if shown else message
    if hidden:
        return "it wrote to stderr" if any(output.get("name") == "stderr" for output in cell.outputs) else ""
    printed = "".join(output.text for output in cell.get("outputs", []) if output.output_type == "stream")
    return " ".join(printed.split())[:500]


@contextlib.contextmanager
def files_beside(submission: Submission, assignment: Assignment, temporary: Path) -> Iterator[Path]:
    """A folder with the files that a student handed in with the notebook, and over them the assignment's own."""
    with tempfile.TemporaryDirectory(prefix="files-", dir=temporary) as folder:
        own = Path(folder) / "work"
        own.mkdir()
        for place in [submission.path.parent] * submission.has_folder + [assignment.folder]:
            for path in place.rglob("*"):
                inside = path.relative_to(place)
                if (
                    path.is_symlink()
                    or not path.is_file()
                    or path.suffix == ".ipynb"
                    or any(part.startswith(".") for part in inside.parts)
                ):
                    continue
                if path.stat().st_size <= 100 * 2**20:
                    (own / inside).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, own / inside)
        yield own


@contextlib.contextmanager
def quiet_nbgrader() -> Iterator[None]:
    """Without nbgrader's log: what it would warn of is in the report."""
    from sqlalchemy.exc import SAWarning

    loggers = [logging.getLogger("traitlets"), logging.getLogger("alembic"), logging.getLogger("tornado.application")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)
            yield
    finally:
        for one, level in zip(loggers, levels):
            one.setLevel(level)


def write_reports(results: list[Result], output: Path) -> list[Result]:
    """Write report.json, report.csv and report.txt; the results in order."""
    results = sorted(results, key=lambda one: (one.assignment, one.student))
    with replace_files(output, REPORTS) as draft:
        (draft / "report.json").write_text(json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8")
        with open(draft / "report.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(
                [
                    "student",
                    "assignment",
                    "status",
                    "points",
                    "max_points",
                    "by_hand",
                    "seconds",
                    "gigabytes",
                    "messages",
                ]
            )
            for one in results:
                numbers = [one.points, one.max_points, one.by_hand, one.seconds, one.gigabytes]
                table.writerow(
                    [
                        one.student,
                        one.assignment,
                        one.status,
                        *(f"{value:g}" for value in numbers),
                        "; ".join(one.messages),
                    ]
                )
        (draft / "report.txt").write_text(as_table(results), encoding="utf-8")
    return results


def as_table(results: list[Result]) -> str:
    """The results for a reader: a line each, and beneath it what was odd.

    Args:
        results: in the order to print.
    """
    if not results:
        return "nothing was graded\n"
    width = max(12, *(len(one.student) for one in results))
    lines = [f"{'student':{width}}  work  {'points':>11}  by hand  seconds  status"]
    for one in results:
        points = f"{one.points:g} of {one.max_points - one.by_hand:g}"
        lines.append(
            f"{one.student:{width}}  {one.assignment or '?':4}  {points:>11}  {one.by_hand:7g}  {one.seconds:7.1f}  "
            f"{one.status}"
        )
        lines += [f"{'':{width}}    {message}" for message in one.messages]
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


def settings(output: Path, source: Path = SOURCE) -> Config:
    """nbgrader's configuration for a course folder that ``grade`` made.

    Args:
        output: that folder.
        source: the folder of the assignments.

    Raises:
        FileNotFoundError: if nothing was graded there.
    """
    if not (output / "gradebook.db").is_file():
        raise FileNotFoundError(
            f"expected a gradebook in {output}; there is none. "
            f"Grade first: bertcourse homework grade SUBMISSIONS --output {output}."
        )
    return load_config(source, output)
