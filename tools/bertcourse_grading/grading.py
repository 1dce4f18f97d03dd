"""Grade a batch: each submission in its own process, with the points of ``nbgrader autograde`` and a line for anything
odd.

The order for one submission: read it, put back what was changed or deleted (``restore``), let nbgrader's preprocessors
put the hidden tests in, run it (``execution``), let nbgrader's preprocessors read the points and write them into its
gradebook. What nbgrader keeps (submitted, autograded, gradebook.db) is where its own tools look for it, so the written
questions can be graded with its formgrader.
"""

import contextlib
import copy
import functools
import hashlib
import json
import logging
import os
import queue
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import nbformat
from filelock import FileLock, Timeout
from nbformat import NotebookNode
from tqdm import tqdm

from bertcourse.files import make_folder, replace_files, sha256
from bertcourse_grading import sandbox
from bertcourse_grading.archive import unpack
from bertcourse_grading.cleaning import folder_for_a_batch, folder_size
from bertcourse_grading.course import CONFIG, SOURCE, Assignment, grade_id, load_config, read_assignments, split_hidden
from bertcourse_grading.disk import expect_room, met_a_full_disk, naming_full_disks, no_room, temporary
from bertcourse_grading.execution import Run, run_submission
from bertcourse_grading.gradebook import DATABASE, make_gradebook, put_damaged_aside, quiet_nbgrader, say
from bertcourse_grading.judge_client import Judge
from bertcourse_grading.process import Cancelled, Limits, error_output
from bertcourse_grading.reports import Result, write_reports
from bertcourse_grading.submissions import (
    MOST_BESIDE,
    MOST_BYTES,
    MOST_FILES,
    Submission,
    files_beside,
    files_to_copy,
    find_submissions,
    read_submission,
    read_timestamp,
)

SANITIZE = ("ClearOutput", "DeduplicateIds", "OverwriteKernelspec", "OverwriteCells", "CheckCellMetadata")
SAVE = ("LimitOutput", "SaveAutoGrades", "AssignLatePenalties", "CheckCellMetadata")
ROOM = 10 * 2**20  # bytes that must be free to keep a submission and its result
log = logging.getLogger("bertcourse_grading")


def grade(
    submissions: Path,
    output: Path,
    source: Path = SOURCE,
    jobs: int | None = None,
    limits: Limits = Limits(),
    again: bool = False,
) -> list[Result]:
    """Grade all submissions in a folder that have not been graded before or have changed since.

    Args:
        submissions: a folder or zip; the module ``submissions`` shows the layouts.
        output: nbgrader's course folder: reports, submitted, autograded, gradebook.db.
        source: the folder of the assignments.
        jobs: how many submissions at a time; None for half the number of cores.
        limits: what each submission may use.
        again: grade everything again.

    Returns:
        A result for each submission.

    Raises:
        FileNotFoundError: if there are no submissions, or no assignments.
        ValueError: if an assignment cannot be released, or if one of the folders contains the course itself.
        KeyboardInterrupt: on Ctrl-C; what has been graded is kept.

    Source: nbgrader's autograde, submission by submission.
    """
    assignments = read_assignments(source)
    for folder in (submissions, output):
        refuse_folder_of_the_course(folder.resolve())
    output = make_folder(output).resolve()
    with naming_full_disks(output), alone_in(output), folder_for_a_batch(output / "running") as batch:
        folder = unpack(submissions.resolve(), output / "unpacked", MOST_BYTES)
        jobs = jobs or max(1, (os.cpu_count() or 2) // 2)
        grader = Grader(assignments, source.resolve(), output, limits, batch, jobs)
        found = find_submissions(folder, list(assignments), grader.students())
        grader.put_back_lost()
        grader.hidden.append(submissions.resolve())
        return grade_all(grader, found, jobs, again)


def refuse_folder_of_the_course(folder: Path) -> None:
    """Raise ValueError if a folder, which will be hidden from submissions, contains what is needed to run them."""
    for needed in (Path(sys.prefix), Path(__file__).parent.parent):
        if needed.resolve().is_relative_to(folder):
            raise ValueError(
                f"expected a folder with submissions or grades and nothing else; {folder} holds {needed}. Name another."
            )


def grade_all(grader: "Grader", found: list[Submission], jobs: int, again: bool) -> list[Result]:
    """Grade what was found, ``jobs`` at a time; the reports are written again after each submission."""
    results: list[Result] = []
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(grader.grade, one, again) for one in found]
        try:
            for future in tqdm(
                as_completed(futures), total=len(found), unit="submission", desc="Grading", disable=None
            ):
                results.append(future.result())
                with contextlib.suppress(OSError):  # it only matters at the end
                    write_reports(results, grader.output)
        except BaseException:
            grader.cancel.set()
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            grader.stop()
    return write_reports(results, grader.output)


@contextlib.contextmanager
def alone_in(output: Path) -> Iterator[None]:
    """Wait until no other grader works on a course folder; the system releases the lock of a process that ends."""
    lock = FileLock(output / ".grading.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"waiting for another grader on {output}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@functools.cache
def package_digest() -> str:
    """A digest that changes with the package: the checks, what lectures and homework import, and the grader itself."""
    digest = hashlib.sha256()
    for package in (Path(find_spec(name).origin).parent for name in sandbox.PACKAGES):
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".json", ".tsv"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


class Grader:
    """Grades submissions of known assignments into one course folder.

    Args:
        assignments: by name.
        source: the folder of the assignments.
        output: nbgrader's course folder.
        limits: what a submission may use.
        temporary: the folder for temporary files.
        jobs: how many submissions are graded at a time.
    """

    def __init__(
        self,
        assignments: dict[str, Assignment],
        source: Path,
        output: Path,
        limits: Limits,
        temporary: Path,
        jobs: int = 1,
    ) -> None:
        self.assignments, self.output, self.limits, self.temporary = assignments, output, limits, temporary
        self.room = jobs * limits.folder_size  # for what all of them together may write
        self.config = load_config(source, output)
        self.database = self.config.CourseDirectory.db_url
        put_damaged_aside(output)
        if not (output / "gradebook.db").exists():
            with replace_files(output, ["gradebook.db"]) as draft:  # whole or not at all
                make_gradebook(f"sqlite:///{draft / 'gradebook.db'}")
        self.hidden = [source, output, temporary]
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
        """Grade one submission, or read its result if there is one; whatever goes wrong is noted in the result."""
        result = Result(
            submission.student, submission.assignment, str(submission.path), messages=list(submission.messages)
        )
        if submission.refused:
            return self.undecided(result, submission.refused)
        if submission.assignment not in self.assignments:
            return self.undecided(
                result, "it is not clear which assignment this is: neither its name nor its cells say"
            )
        assignment, old = self.assignments[submission.assignment], self.read_result(result)
        try:
            result.fingerprint = self.fingerprint(submission, assignment)
            if old is not None and old.fingerprint == result.fingerprint and not again:
                return old
            result.seed = old.seed if old is not None and old.seed else 1 + secrets.randbelow(2**32 - 1)
            self.grade_afresh(submission, assignment, result)
        except Cancelled:
            raise
        except Exception as error:  # the batch goes on, whatever nbgrader or a file may raise
            log.debug("%s %s", submission.student, assignment.name, exc_info=True)
            reason = f"the grader itself failed: {type(error).__name__}: {error}; grade it again, or by hand"
            if place := no_room(error, temporary(), self.output):
                detail = getattr(error, "strerror", None) or str(error).splitlines()[0]
                reason = f"no room on {place}: {detail}; free some and run the same command again"
            return self.undecided(result, reason)
        return result

    def undecided(self, result: Result, reason: str) -> Result:
        """The result, reported but not kept, of a submission that could not be graded through no fault of its own."""
        messages = [*result.messages, reason]
        if result.assignment and self.read_result(result) is not None:
            messages.append("an earlier result stays in the gradebook")
        return Result(result.student, result.assignment, result.file, "not graded", messages=messages)

    def read_result(self, result: Result) -> Result | None:
        """The earlier result for a student's assignment, or None."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Result(**json.loads(self.kept(result).read_text(encoding="utf-8")))
        return None

    def kept(self, result: Result) -> Path:
        """Where a result is kept."""
        return self.output / "results" / result.student / f"{result.assignment}.json"

    def students(self) -> list[str]:
        """The students who have a folder here."""
        return sorted(path.name for path in (self.output / "submitted").glob("*"))

    @contextlib.contextmanager
    def judge(self) -> Iterator[Judge]:
        """A judge that is free; there are as many as submissions graded at a time."""
        try:
            judge = self.judges.get_nowait()
        except queue.Empty:
            judge = Judge(self.temporary)
        try:
            yield judge
        except BaseException:
            judge.stop()  # it may still be waiting for something
            raise
        self.judges.put(judge)

    def stop(self) -> None:
        """End all judges."""
        while not self.judges.empty():
            self.judges.get().stop()

    def fingerprint(self, submission: Submission, assignment: Assignment) -> str:
        """A digest of what a result depends on: the file and those beside it, the assignment, limits and package."""
        copied, left_out = files_beside(submission)
        digest = hashlib.sha256(content_of(submission.path).encode())
        for path in [*copied, *left_out]:
            digest.update(os.fsencode(path.relative_to(submission.path.parent)) + content_of(path).encode())
        for text in (*read_timestamp(submission)[:1], assignment.fingerprint, repr(self.limits), package_digest()):
            digest.update(text.encode())
        return digest.hexdigest()

    def grade_afresh(self, submission: Submission, assignment: Assignment, result: Result) -> None:
        """Grade one submission and keep the result."""
        expect_room(self.output, ROOM)
        self.prepare(assignment)
        handed_in = self.output / "submitted" / submission.student / assignment.name / f"{assignment.name}.ipynb"
        stamp, messages = read_timestamp(submission)
        result.messages += messages
        handed_in.parent.mkdir(parents=True, exist_ok=True)
        if submission.path.resolve() != handed_in.resolve() and submission.path.stat().st_size <= MOST_BYTES:
            shutil.copyfile(submission.path, handed_in)
        replace_text(handed_in.parent / "timestamp.txt", stamp)
        try:
            notebook, messages = read_submission(submission.path)
        except ValueError as error:
            result.messages.append(f"{error}: 0 points")
            result.status = "not graded"
            with self.entry(result):
                result.max_points = self.zero(result)
                self.keep(result)
            shutil.rmtree(self.autograded(result).parent, ignore_errors=True)  # left from an earlier notebook
            return
        changed = restore(notebook, assignment.released)
        result.messages += [*messages, *changed]
        with DATABASE, quiet_nbgrader():
            notebook = self.apply(SANITIZE, notebook, result)
        run = self.run(submission, assignment, notebook, result.seed)
        note_odd_points(notebook, run)
        result.messages += run.messages
        result.status = "review" if run.review or any(is_tampering(line) for line in changed) else "graded"
        result.seconds, result.gigabytes, result.walls = round(run.seconds, 2), round(run.peak / 1e9, 2), run.walls
        with self.entry(result):
            notebook = self.apply(SAVE, notebook, result)
            self.read_points(notebook, result)
            graded = self.autograded(result)
            write_notebook(notebook, graded)
            replace_text(graded.parent / "timestamp.txt", stamp)
            self.keep(result)

    def run(self, submission: Submission, assignment: Assignment, notebook: NotebookNode, seed: int) -> Run:
        """Run a notebook in place, and have it judged.

        Raises:
            OSError: if there is no room for what it may write, which is not the submission's fault.
        """
        self.expect_room_to_run()
        with work_folder(submission, assignment, self.temporary) as (files, left_out), self.judge() as judge:
            judge.begin(assignment, seed)
            run = run_submission(notebook, files, judge, self.hidden, self.limits, self.cancel, self.temporary)
        if left_out:
            run.say(left_out)
        if met_a_full_disk(notebook):
            self.expect_room_to_run()
        return run

    def expect_room_to_run(self) -> None:
        """Raise the error of a full disk if all submissions that run at a time could together fill the disk. What the
        running ones have written already is no longer free, but need not be reserved either."""
        written = [folder_size(folder) or 0 for folder in self.temporary.glob("hw-*")]
        expect_room(temporary(), self.room - sum(min(size, self.limits.folder_size) for size in written))

    def autograded(self, result: Result) -> Path:
        """The file of the graded notebook."""
        return self.output / "autograded" / result.student / result.assignment / f"{result.assignment}.ipynb"

    def keep(self, result: Result) -> None:
        """Store a result."""
        kept = self.kept(result)
        with replace_files(kept.parent, [kept.name]) as draft:
            (draft / kept.name).write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")

    def prepare(self, assignment: Assignment) -> None:
        """Write the assignment's cells into the gradebook, as ``nbgrader generate_assignment`` does.

        Raises:
            RuntimeError: if nbgrader refuses, for instance because cells were added after submissions were graded.
        """
        from nbgrader.apps.api import NbGraderAPI

        with DATABASE, quiet_nbgrader():
            if assignment.name in self.known:
                return
            done = NbGraderAPI(config=self.config).generate_assignment(assignment.name)
            if not done["success"]:
                reason = (done.get("error") or done["log"]).strip().splitlines()[-1]
                raise RuntimeError(f"nbgrader does not take {assignment.name} into its gradebook: {reason}")
            self.known.add(assignment.name)

    @contextlib.contextmanager
    def entry(self, result: Result) -> Iterator[None]:
        """A student's entry for an assignment, for the block to fill in; if that fails, the old entry comes back."""
        from nbgrader.api import Gradebook

        stamp = self.output / "submitted" / result.student / result.assignment / "timestamp.txt"
        details = {"timestamp": stamp.read_text(encoding="utf-8")} if stamp.exists() else {}
        with DATABASE, quiet_nbgrader():
            try:
                with Gradebook(self.database) as gradebook:
                    gradebook.update_or_create_student(result.student)
                    gradebook.update_or_create_submission(result.assignment, result.student, **details)
                yield
            except Exception:
                with contextlib.suppress(Exception):  # the first error counts
                    if old := self.read_result(result):
                        self.fill_in(old)
                    else:
                        with Gradebook(self.database) as gradebook:
                            gradebook.remove_submission(result.assignment, result.student)
                raise

    def fill_in(self, result: Result) -> None:
        """Write a result into an entry of the gradebook, from the graded notebook.

        Raises:
            ValueError: if the points in the gradebook come out different.
        """
        if result.status == "not graded":
            self.zero(result)
            return
        self.apply(SAVE, nbformat.read(self.autograded(result), as_version=4), result)
        again = Result(result.student, result.assignment, "")
        self.read_points(nbformat.v4.new_notebook(), again)
        if again.points != result.points:
            raise ValueError(f"its graded notebook has {again.points:g} points, its result {result.points:g}")

    def put_back_lost(self) -> None:
        """Enter the results that the gradebook lacks, as after it was lost."""
        from nbgrader.api import Gradebook

        with Gradebook(self.database) as gradebook:
            known = {
                (one.student_id, assignment.name)
                for assignment in gradebook.assignments
                for one in gradebook.assignment_submissions(assignment.name)
            }
        found = 0
        for path in sorted((self.output / "results").glob("*/*.json")):
            student, name = path.parent.name, path.stem
            result = self.read_result(Result(student, name, ""))
            if (student, name) in known or result is None or name not in self.assignments:
                continue
            try:
                self.prepare(self.assignments[name])
                with self.entry(result):
                    self.fill_in(result)
                found += 1
            except Exception as error:  # of several kinds, if the assignment has changed since
                if no_room(error, self.output):
                    raise
                result.fingerprint = ""  # so that it is graded again
                self.keep(result)
                say(f"the gradebook does not take the result of {student}, {name}: {error}; grade it again")
        if found:
            say(f"results put back into the gradebook, which had lost them: {found}; points given by hand are lost")

    def zero(self, result: Result) -> float:
        """Give no points for anything, as nbgrader does for a missing notebook; returns the maximum."""
        from nbgrader.api import Gradebook

        with Gradebook(self.database) as gradebook:
            notebook = gradebook.find_submission_notebook(result.assignment, result.assignment, result.student)
            for one in notebook.grades:
                one.auto_score, one.needs_manual_grade = 0, False
            gradebook.db.commit()
            return notebook.max_score

    def apply(self, steps: tuple[str, ...], notebook: NotebookNode, result: Result) -> NotebookNode:
        """The notebook after some of nbgrader's preprocessors."""
        from nbgrader import preprocessors

        names = {
            "student": result.student,
            "assignment": result.assignment,
            "notebook": result.assignment,
            "db_url": self.database,
        }
        resources = {"unique_key": result.assignment, "nbgrader": names}
        for step in steps:
            notebook, resources = getattr(preprocessors, step)(config=self.config).preprocess(notebook, resources)
        return notebook

    def read_points(self, notebook: NotebookNode, result: Result) -> None:
        """Fill a result in from the gradebook and the executed notebook."""
        from nbgrader.api import Gradebook

        cells = {grade_id(cell): cell for cell in notebook.cells if grade_id(cell)}
        with Gradebook(self.database) as gradebook:
            entry = gradebook.find_submission_notebook(result.assignment, result.assignment, result.student)
            for one in entry.grades:
                points = {"points": one.auto_score, "max_points": one.max_score}
                failed = one.auto_score is not None and one.auto_score < one.max_score and one.name in cells
                result.cells[one.name] = {**points, "message": failure(cells[one.name]) if failed else ""}
            result.points = sum(one.auto_score or 0.0 for one in entry.grades)
            result.max_points = entry.max_score
            result.by_hand = sum(one.max_score for one in entry.grades if one.auto_score is None)


def content_of(path: Path) -> str:
    """A text that changes with a file: its SHA-256, or the size of one that is too large to be read."""
    size = path.stat().st_size
    return sha256(path) if size <= MOST_BYTES else str(size)


def replace_text(path: Path, text: str) -> None:
    """Write a text into a file; delete the file if the text is empty."""
    if text:
        path.write_text(text, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def restore(notebook: NotebookNode, released: NotebookNode) -> list[str]:
    """Restore, in place, what a student changed in or deleted from an assignment, so that nbgrader can grade it.

    The student's own cells and answers stay; names, points and locks of the assignment's cells become the released
    ones. A deleted check is put back before the next cell that is still there, and so after the code that it probably
    tests. If two cells have the same name, the last one keeps it, as in nbgrader.

    Args:
        notebook: a submission.
        released: the assignment as students got it.

    Returns:
        What was found, one line each.

    Source: nbgrader's DeduplicateIds and OverwriteCells, which fail on some of this.
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
    """Insert a cell before the first one that follows it in the assignment, or else at the end; setup goes first."""
    later = set(order[order.index(grade_id(cell)) + 1 :])
    position = next(
        (index for index, other in enumerate(notebook.cells) if grade_id(other) in later), len(notebook.cells)
    )
    if grade_id(cell) == "setup":
        position = 0
    notebook.cells.insert(position, cell)


def is_tampering(message: str) -> bool:
    """Whether somebody should look at what a message of ``restore`` reports: accidents are common, changed tests less
    so."""
    return "was changed; the original" in message or "points, locks" in message


def note_odd_points(notebook: NotebookNode, run: Run) -> None:
    """Reject more or fewer points than a cell can give: there, the assignment's own check is wrong."""
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
    """What a graded cell said when it failed: its error message, or else what it printed, in one line.

    What a hidden test printed is left out: the student's code might show the test.
    """
    _, hidden = split_hidden(cell.source)
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            kind = "" if output.ename in ("CheckFailed", "AssertionError") else f"{output.ename}: "
            message = " ".join(f"{kind}{output.evalue}".split())[:500]
            shown = any(len(line.strip()) > 20 and line.strip() in output.evalue for line in hidden)
            return f"{output.ename}" if shown else message
    if hidden:
        return ""
    printed = "".join(output.text for output in cell.get("outputs", []) if output.output_type == "stream")
    return " ".join(printed.split())[:500]


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook, entirely or not at all; lone surrogates, which UTF-8 cannot encode, become question marks."""
    with replace_files(path.parent, [path.name]) as draft:
        (draft / path.name).write_text(nbformat.writes(notebook), encoding="utf-8", errors="replace")


@contextlib.contextmanager
def work_folder(submission: Submission, assignment: Assignment, temporary: Path) -> Iterator[tuple[Path, str]]:
    """A folder with the files handed in with the notebook, where those of the assignment replace any of the same name.

    With it comes a line about what was left out, empty if nothing was.
    """
    own, left_out = files_beside(submission)
    with tempfile.TemporaryDirectory(prefix="files-", dir=temporary) as folder:
        work = Path(folder) / "work"
        work.mkdir()
        for place, files in ((submission.path.parent, own), (assignment.folder, files_to_copy(assignment.folder)[0])):
            for path in files:
                copied = work / path.relative_to(place)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copied)
        yield work, too_much(left_out)


def too_much(left_out: list[Path]) -> str:
    """A line about files beside a notebook that were not copied; empty if there are none."""
    if not left_out:
        return ""
    names = ", ".join(path.name for path in left_out[:3]) + (f" and {len(left_out) - 3} more" * (len(left_out) > 3))
    return (
        f"beside the notebook were left out: {names}; at most {MOST_BYTES >> 20} MiB a file, "
        f"{MOST_BESIDE >> 20} MiB and {MOST_FILES:,} files are taken"
    )
