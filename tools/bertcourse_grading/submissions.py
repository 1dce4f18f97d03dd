"""Whose file is which: one folder per student, or what Canvas and Moodle hand out.

maria/hw01.ipynb                                        one folder per student
maria/hw01/hw01.ipynb                                   nbgrader's layout
maria_hw01.ipynb                                        one file per student
rossimaria_LATE_1234_5678_hw01-2.ipynb                  Canvas: name, student's number, submission's number, file
Maria Rossi_1234567_assignsubmission_file_/hw01.ipynb   Moodle: name, number in the grading sheet
"""

import codecs
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

import nbformat
from nbformat import NotebookNode

from bertcourse_grading.names import folder_name, on_any_disk, with_hash

CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<student>\d+)_\d+_(?P<file>.+)", re.DOTALL)
MOODLE = re.compile(r"(?P<name>.+)_(?P<student>\d+)_assignsubmission_(?:file|onlinetext)_(?P<file>.*)", re.DOTALL)
PLAIN = re.compile(r"(?P<student>.+?)[_ -]+(?P<file>hw\d\d.*)", re.DOTALL)
NUMBER = re.compile(r"(?<![a-z0-9])hw[ _-]?(\d{1,2})(?!\d)", re.IGNORECASE)
HIDDEN = (".", "__")  # the start of checkpoint folders, and of what a Mac adds to a zip
BESIDES = {".DS_Store", "Thumbs.db", "timestamp.txt", "desktop.ini"}
MOST_BYTES = 100 * 2**20  # of one file that is read or copied
MOST_BESIDE, MOST_FILES = 250 * 2**20, 10_000  # of all files beside a notebook together
MOST_PARTS, MOST_CELLS, MOST_CHARACTERS = 5_000_000, 5_000, 5_000_000  # of a notebook; characters in one cell
MOST_DEPTH = 20  # nested folders; anything deeper is not searched


@dataclass
class Submission:
    """One student's work on one assignment.

    Attributes:
        student: a name that can be used for a folder.
        assignment: "hw01"; empty if neither the file's name nor its cells say.
        path: the file.
        messages: what is odd about how it was handed in.
        has_folder: whether its folder is the student's own, so that the files beside it are theirs, too.
        refused: why it cannot be graded as it came, which need not be the student's fault; empty if it can.
    """

    student: str
    assignment: str
    path: Path
    messages: list[str] = field(default_factory=list)
    has_folder: bool = False
    refused: str = ""


def find_submissions(folder: Path, names: list[str], taken: Sequence[str] = ()) -> list[Submission]:
    """All submissions in a folder.

    Args:
        folder: see this module's examples.
        names: of the assignments; files of any other are left out.
        taken: students who already have a folder in the course folder.

    Returns:
        The submissions, by student and assignment; if there are several files for one, the one with the highest number
        in its name, or else the newest.

    Raises:
        FileNotFoundError: if there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise FileNotFoundError(
            f"expected a folder or zip of submissions in {folder}; there is none. Name what your platform gave you."
        )
    folder = without_wrapping(folder)
    files = sorted(files_in(folder, HIDDEN))
    with_notebook = {path.parent for path in files if path.suffix.lower() == ".ipynb"}
    found: dict[tuple[str, str], list[Submission]] = {}
    for path in files:
        inner = path.relative_to(folder)
        folders = [path.parents[depth] for depth in range(len(inner.parts) - 1)]  # the student's own folders
        if path.suffix.lower() != ".ipynb" and not with_notebook.isdisjoint(folders):
            continue  # a file that the notebook needs
        submission = identify(path, inner, names)
        if submission is not None:
            found.setdefault((submission.student, submission.assignment), []).append(submission)
    if not found:
        raise FileNotFoundError(
            f"nothing to grade in {folder}: expected a folder for each student, such as maria/{names[0]}.ipynb."
        )
    submissions = [choose(found[key]) for key in sorted(found)]
    keep_apart(submissions, taken)
    return submissions


def files_in(folder: Path, hidden: tuple[str, ...] = (".",)) -> Iterator[Path]:
    """All files and links that people put into a folder; not what systems add, nor names that begin like ``hidden``."""
    for place, folders, names in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [name for name in folders if not name.startswith(hidden) and depth < MOST_DEPTH]
        for name in [*names, *folders]:
            path = Path(place, name)
            if not name.startswith(hidden) and name not in BESIDES and (path.is_file() or path.is_symlink()):
                yield path


def identify(path: Path, inner: Path, names: list[str]) -> Submission | None:
    """The student and the assignment that a file belongs to; None if it is for another assignment."""
    messages, file_name, refused = [], path.name, refusal(path, inner)
    top = inner.parts[0]
    if match := MOODLE.fullmatch(top):
        student, file_name = match["student"], match["file"] or path.name
    elif len(inner.parts) > 1:
        student = top
    elif match := CANVAS.fullmatch(top) or PLAIN.fullmatch(top):
        student, file_name = match["student"], match["file"]
        if match.groupdict().get("late"):
            messages.append("late, says Canvas")
    else:
        student = path.stem
    assignment = assignment_of([file_name, *([] if refused else content_names(path)), *inner.parts[-2::-1]], names)
    if assignment is None:
        return None
    if assignment and file_name != f"{assignment}.ipynb":
        messages.append(f"the file was called {file_name}; taken as {assignment}")
    name = folder_name(student)
    if name != student:
        messages.append(f"the name {student!r} cannot be a folder's; it is called {name}")
    return Submission(name, assignment, path, messages, has_folder=len(inner.parts) > 1, refused=refused)


def refusal(path: Path, inner: Path) -> str:
    """Why a file cannot be graded as it came; empty if it can."""
    if path.is_symlink():
        return "it is a link, which is not followed; put the file itself in its place"
    try:
        str(inner).encode()
    except UnicodeEncodeError:
        return f"the name {os.fsencode(inner)!r} is not UTF-8; rename it and run the same command again"
    return ""


def keep_apart(submissions: list[Submission], taken: Sequence[str]) -> None:
    """Rename any student who would share a folder with somebody else on a disk that treats A and a as the same.

    Args:
        submissions: sorted by student; changed in place.
        taken: names that have a folder already, and keep it.
    """
    owners = {on_any_disk(name): normalize("NFC", name) for name in taken}  # a Mac may have decomposed them
    for one in submissions:
        owner = owners.setdefault(on_any_disk(one.student), one.student)
        if owner != one.student:
            name = with_hash(one.student)
            one.messages.append(f"{one.student} is on some disks the same as {owner}; called {name}")
            one.student = name


def without_wrapping(folder: Path) -> Path:
    """The folder of all submissions, if it is the only thing in the given one, as in a download that was zipped again.

    The folder of a single student is not mistaken for it: it has to be named like an assignment, or to hold what Canvas
    or Moodle hands out.
    """
    visible = [path for path in folder.iterdir() if not path.name.startswith(HIDDEN) and path.name not in BESIDES]
    if len(visible) != 1 or not visible[0].is_dir():
        return folder
    inside = [path.name for path in visible[0].iterdir()]
    holds_all = NUMBER.fullmatch(visible[0].name) or any(
        CANVAS.fullmatch(name) or MOODLE.fullmatch(name) for name in inside
    )
    return without_wrapping(visible[0]) if holds_all else folder


def assignment_of(texts: list[str], names: list[str]) -> str | None:
    """The assignment that the first text with a number names, or else the only one there is; None if that is not one of
    ours, empty if it is not clear.

    Args:
        texts: the names of the file, its cells and its folders.
        names: of the assignments.
    """
    for text in texts:
        if match := NUMBER.search(text):
            name = f"hw{int(match[1]):02}"
            return name if name in names else None
    return names[0] if len(names) == 1 else ""


def content_names(path: Path) -> list[str]:
    """The names of the graded cells in a file, if it can be read."""
    try:
        notebook, _ = read_submission(path)
    except (OSError, ValueError):
        return []
    return [
        name for cell in notebook.cells if (name := cell.metadata.get("nbgrader", {}).get("grade_id", "")) != "setup"
    ]


def choose(candidates: list[Submission]) -> Submission:
    """Choose the file that was handed in last, preferring files that can be graded, and notebooks among them."""

    def order(submission: Submission) -> tuple:
        number = re.search(r"[-( ](\d+)\)?$", submission.path.stem)
        is_notebook = submission.path.suffix.lower() == ".ipynb"
        modified = submission.path.lstat().st_mtime
        return not submission.refused, is_notebook, int(number[1]) if number else 0, modified, str(submission.path)

    chosen = max(candidates, key=order)
    if len(candidates) > 1:
        others = ", ".join(one.path.name for one in candidates if one is not chosen)
        chosen.messages.append(f"{len(candidates)} files were handed in; graded is {chosen.path.name}, not {others}")
    return chosen


def read_submission(path: Path) -> tuple[NotebookNode, list[str]]:
    """A student's file as a valid notebook without outputs, and what was odd about it.

    Args:
        path: whatever was handed in.

    Returns:
        The notebook and messages.

    Raises:
        ValueError: if it is not a notebook; the message says what it is.

    Source: nbformat 3 and 4.
    """
    try:
        return read_notebook(path)
    except (KeyError, TypeError, AttributeError, RecursionError, nbformat.ValidationError) as error:
        raise ValueError(
            f"it is a broken notebook ({type(error).__name__}: {str(error).splitlines()[0][:120]})"
        ) from None


def read_notebook(path: Path) -> tuple[NotebookNode, list[str]]:
    """As ``read_submission``, but a notebook that is broken in other ways raises other errors, too."""
    if path.stat().st_size == 0:
        raise ValueError("the file is empty")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"the file has {path.stat().st_size / 2**20:.0f} MiB; at most {MOST_BYTES // 2**20} are read")
    content, messages = path.read_bytes(), []
    if not content.strip():
        raise ValueError("the file is empty")
    parts = sum(map(content.count, (b"[", b"{", b",")))
    if parts > MOST_PARTS:
        raise ValueError(f"the file has {parts:,} brackets and commas; at most {MOST_PARTS:,} are read")
    text = None
    for encoding in encodings(content):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding not in ("utf-8", "utf-8-sig"):
            messages.append(f"it is not in UTF-8; read as {encoding}")
        break
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"it is not a notebook, but {describe(content)}") from None
    if not isinstance(data, dict) or not isinstance(data.get("cells", data.get("worksheets")), list):
        raise ValueError("it is JSON, but not a notebook: it has no list of cells")
    if data.get("nbformat") in (2, 3) or "worksheets" in data:
        try:
            data = nbformat.convert(nbformat.from_dict(data), 4)
        except Exception as error:  # nbformat raises several kinds
            raise ValueError(
                f"it is a notebook of format {data.get('nbformat')} that cannot be converted: {error}"
            ) from None
        messages.append("it was saved in an old notebook format, and converted")
    if len(data["cells"]) > MOST_CELLS:
        raise ValueError(f"the notebook has {len(data['cells']):,} cells; at most {MOST_CELLS:,} are read")
    notebook = nbformat.v4.new_notebook(cells=[cell for one in data["cells"] if (cell := rebuild(one)) is not None])
    if len(notebook.cells) < len(data["cells"]):
        messages.append(f"{len(data['cells']) - len(notebook.cells)} cells were broken, and left out")
    metadata = data.get("metadata")
    messages += kernel_messages(metadata if isinstance(metadata, dict) else {})
    return notebook, messages


def encodings(content: bytes) -> list[str]:
    """The encodings to try, in order; the last one always succeeds."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16", "latin-1"]
    return ["utf-8-sig", "cp1252", "latin-1"]


def describe(content: bytes) -> str:
    """What kind of file it is, if it is not a notebook."""
    kinds = {
        b"%PDF": "a PDF",
        b"PK\x03\x04": "a zip or an office document",
        b"\x89PNG": "a picture",
        b"\xff\xd8\xff": "a picture",
    }
    for start, kind in kinds.items():
        if content.startswith(start):
            return kind
    head = content[:300].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html")):
        return "an HTML page"
    return "a notebook that was cut off" if head.startswith(b"{") else "something else"


def rebuild(cell: object) -> NotebookNode | None:
    """A valid cell with the source and metadata of a student's cell; None if that is not possible."""
    if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        return None
    source, metadata = cell.get("source", ""), cell.get("metadata")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    if len(source) > MOST_CHARACTERS:
        raise ValueError(f"a cell has {len(source):,} characters; at most {MOST_CHARACTERS:,} are read")
    metadata = nbformat.from_dict(metadata if isinstance(metadata, dict) else {})
    if not isinstance(metadata.get("nbgrader", {}), dict):
        del metadata["nbgrader"]
    if not isinstance(metadata.get("nbgrader", {}).get("grade_id", ""), str):
        del metadata["nbgrader"]
    metadata = NotebookNode({name: value for name, value in metadata.items() if name in ("nbgrader", "tags")})
    tags = metadata.pop("tags", None)
    if isinstance(tags, list):  # only those that nbformat allows
        metadata["tags"] = [tag for tag in dict.fromkeys(map(str, tags)) if tag and "," not in tag]
    new = getattr(nbformat.v4, f"new_{cell['cell_type']}_cell")(
        source.encode("utf-8", "replace").decode(), metadata=metadata
    )
    if cell["cell_type"] != "code" and is_attachments(cell.get("attachments")):
        new["attachments"] = cell["attachments"]
    return new


def is_attachments(value: object) -> bool:
    """Whether it is what nbformat keeps pictures in: for each file, a text by media type."""
    return isinstance(value, dict) and all(
        isinstance(kinds, dict) and all(isinstance(text, str) for text in kinds.values()) for kinds in value.values()
    )


def kernel_messages(metadata: dict) -> list[str]:
    """A line if the notebook was written for a kernel or a Python other than ours."""
    kernel, language = metadata.get("kernelspec"), metadata.get("language_info")
    kernel, language = kernel if isinstance(kernel, dict) else {}, language if isinstance(language, dict) else {}
    name, version = kernel.get("name", "python3"), str(language.get("version", "3"))
    other = kernel.get("language", language.get("name", "python"))
    if other != "python":
        return [f"it was saved with a kernel for {other}; graded with Python 3"]
    if version.split(".")[0] != "3":
        return [f"it was saved with Python {version}; graded with Python 3"]
    return [] if name == "python3" else [f"it was saved with the kernel {name}; graded with python3"]


def files_beside(submission: Submission) -> tuple[list[Path], list[Path]]:
    """The files handed in with a notebook: those to copy, and those that are too large or too many."""
    return files_to_copy(submission.path.parent) if submission.has_folder else ([], [])


def files_to_copy(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files in its folder that a notebook may need: those to copy, and those that are too large or too many."""
    copied, left_out, total = [], [], 0
    for path in sorted(files_in(folder)):
        if path.is_symlink() or path.suffix == ".ipynb":
            continue
        size = path.stat().st_size
        if size > MOST_BYTES or total + size > MOST_BESIDE or len(copied) >= MOST_FILES:
            left_out.append(path)
        else:
            copied.append(path)
            total += size
    return copied, left_out


def read_timestamp(submission: Submission) -> tuple[str, list[str]]:
    """When it was handed in, from nbgrader's timestamp.txt beside it; empty, with a message, if that is not a date."""
    from nbgrader.utils import parse_utc

    path = submission.path.parent / "timestamp.txt"
    if path.is_symlink() or not path.is_file():
        return "", []
    try:
        if path.stat().st_size > 200:
            raise ValueError("too long")
        text = path.read_text(encoding="utf-8").strip()
        parse_utc(text)
    except Exception:  # dateutil raises several kinds
        return "", ["its timestamp.txt holds no date; graded as if there were none"]
    return text, []
