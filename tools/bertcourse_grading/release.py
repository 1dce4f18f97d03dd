"""What students get: lectures, package, data, and homework without solutions and hidden tests, as a folder and a zip.

The same sources give the same bytes. Before anything is handed out, every text in it is searched for the lines of
solutions, hidden tests and exam questions, so that a line that was copied into a lecture, a check or an output is found
here and not by a student.
"""

import json
import os
import re
import shutil
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bertcourse.files import make_folder
from bertcourse_grading import exam
from bertcourse_grading.course import ROOT, SOURCE, Assignment, read_assignments

COPIED = (
    *("LICENSE", "pyproject.toml", "constraints.txt", "environment.yml", "notebooks", "bertcourse", "data"),
    *(f"tools/bertcourse_{room}" for room in ("figures", "homework", "lab", "slides")),
)
EXTRAS = ("minilm", "lectures", "lab")  # what the students' README installs; the second includes the first
CONDA_NAMES = {"pytorch": "torch", "python-build": "build"}  # conda's name, PyPI's name
LEFT_OUT = {"notebooks/homework"}
IGNORED = {"__pycache__", ".ipynb_checkpoints", ".DS_Store", "Thumbs.db"}
SHORTEST = 20
EVERYDAY = {  # lines that lectures and package contain, too, and that give no exercise away
    "if cache is not None:",
    "generator = torch.Generator().manual_seed(0)",
    "generator = torch.Generator().manual_seed(seed)",
}
MARKERS = {"SOLUTION": "a solution", "HIDDEN TESTS": "a hidden test"}
STORED = {".safetensors", ".xz", ".gz", ".png"}  # compression makes them no smaller
README = """# bertcourse

A course in notebooks that builds BERT, runs it, and measures what it claims: lectures in `notebooks`, homework in
`notebooks/homework`, the code of the lectures in `bertcourse`.

## Install

You need Python 3.11 or newer. In this folder:

    python3 -m venv .venv
    .venv/bin/python -m pip install -c constraints.txt -e ".[lectures,lab]"
    .venv/bin/jupyter lab notebooks

On Windows `python` and `.venv\\Scripts\\` take the place of `python3` and `.venv/bin/`. On Linux without a GPU add
`--extra-index-url https://download.pytorch.org/whl/cpu` to the second line: it saves some gigabytes. With conda:
`conda env create -f environment.yml`, `conda activate bertcourse`, `jupyter lab notebooks`. If something is wrong with
your machine, `.venv/bin/bertcourse doctor` says what.

## Homework

{assignments}

1. Read the lecture first. Open the homework, and write your code where a cell says `raise NotImplementedError`.
2. Run the cell, and the check beneath it: it says at once whether the answer is right, and if not, what is wrong with
   it. Change the answer, run both again, as often as you like.
3. Leave the cells with checks as they are, and add cells of your own wherever you like. When it is graded, the checks
   run once more, and so do tests that you do not see, with the same functions on other inputs.
4. Before you hand in: *Kernel > Restart Kernel and Run All Cells*. Everything must run from top to bottom, each cell in
   less than a minute, in less than 4 GiB of memory, without the network. Save, and hand in the one file `hwNN.ipynb`
   under that name.

Points are given for what works: a cell that fails costs its own points only. The question in words is read by a person.
"""


@dataclass(frozen=True)
class Leak:
    """A line that students must not see, found in what they would get.

    Attributes:
        line: from a solution, a hidden test or an exam question.
        kind: which of the three.
        assignment: "hw01", or the file of the exam question.
        file: where it was found.
    """

    line: str
    kind: str
    assignment: str
    file: str

    def __str__(self) -> str:
        return f"{self.file}: {self.kind} of {self.assignment}: {self.line}"


def release(output: Path, root: Path = ROOT, source: Path = SOURCE) -> Path:
    """Write the student tree and its zip.

    Args:
        output: the folder to write bertcourse and bertcourse.zip into; existing ones are replaced.
        root: the repository.
        source: the folder of the assignments.

    Returns:
        The zip.

    Raises:
        FileNotFoundError: if there are no assignments.
        ValueError: if a source cannot be released, or if a solution, a hidden test or an exam question would get out;
            then nothing is written.

    Source: nbgrader's preprocessors make the student notebooks.
    """
    assignments = read_assignments(source)
    make_folder(output)
    with tempfile.TemporaryDirectory(dir=output, prefix=".release-") as draft:
        tree, archive = Path(draft, "bertcourse"), Path(draft, "bertcourse.zip")
        write_tree(tree, root, assignments)
        if found := leaks(tree, assignments, source / exam.FOLDER):
            listed = "\n".join(f"  {leak}" for leak in found[:20])
            more = f"\n  and {len(found) - 20} more" if len(found) > 20 else ""
            raise ValueError(
                "lines of solutions, hidden tests or exam questions would get out; "
                f"write them differently there:\n{listed}{more}"
            )
        write_zip(tree, archive)
        shutil.rmtree(output / "bertcourse", ignore_errors=True)
        tree.rename(output / "bertcourse")
        os.replace(archive, output / "bertcourse.zip")
    return output / "bertcourse.zip"


def write_tree(tree: Path, root: Path, assignments: dict[str, Assignment]) -> None:
    """Copy what students need, and write their homework and README."""
    for path in files_of(root):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, tree / path)
    for name, assignment in assignments.items():
        folder = tree / "notebooks" / "homework" / name
        folder.mkdir(parents=True)
        nbformat.write(assignment.released, folder / f"{name}.ipynb")
        for path in sorted(assignment.folder.rglob("*")):
            inside = path.relative_to(assignment.folder)
            if path.is_file() and path.suffix != ".ipynb" and not IGNORED & set(inside.parts):
                (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / inside)
    listed = "\n".join(
        f"- [{title_of(one.released, name)}](notebooks/homework/{name}/{name}.ipynb)"
        for name, one in assignments.items()
    )
    (tree / "README.md").write_text(README.format(assignments=listed), encoding="utf-8")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = (root / "environment.yml").read_text(encoding="utf-8")
    (tree / "environment.yml").write_text(student_environment(environment, project), encoding="utf-8")


def student_environment(environment: str, project: dict) -> str:
    """environment.yml without the packages that only teaching, testing and the site need.

    Args:
        environment: the text of the course's own file.
        project: the table "project" of pyproject.toml.

    >>> project = {"dependencies": ["torch"], "optional-dependencies": {"lab": ["jupyterlab"], "teach": ["nbgrader"]}}
    >>> print(student_environment("dependencies:\\n  - pytorch>=2.4\\n  - nbgrader>=0.9\\n", project))
    # The conda way to what the README installs with pip.
    dependencies:
      - pytorch>=2.4
    <BLANKLINE>
    """
    offered = project.get("optional-dependencies", {})
    everything = package_names(sum(offered.values(), []))
    wanted = package_names(project.get("dependencies", []) + sum((offered.get(extra, []) for extra in EXTRAS), []))
    lines = ["# The conda way to what the README installs with pip."]
    for line in environment.splitlines():
        entry = re.fullmatch(r"\s*- ([\w.-]+).*", line)
        name = canonicalize_name(CONDA_NAMES.get(entry[1], entry[1])) if entry else ""
        if not line.startswith("#") and name not in everything - wanted:
            lines.append(line)
    return "\n".join(lines) + "\n"


def package_names(requirements: list[str]) -> set[str]:
    """The names of packages, in PyPI's canonical form."""
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def files_of(root: Path) -> Iterator[Path]:
    """The files in a repository that students get, in order: none that is built, hidden or for instructors."""
    for name in COPIED:
        top = root / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            inside = path.relative_to(root)
            parts = set(inside.parts)
            if (
                not path.is_file()
                or parts & IGNORED
                or any(part.startswith(".") or part.endswith(".egg-info") for part in parts)
            ):
                continue
            if not any(inside.is_relative_to(place) for place in LEFT_OUT):
                yield inside


def title_of(notebook: NotebookNode, name: str) -> str:
    """A notebook's first heading."""
    found = re.search(r"^# (.+)$", notebook.cells[0].source, re.MULTILINE) if notebook.cells else None
    return found[1] if found else name


def write_zip(tree: Path, archive: Path) -> None:
    """Pack a folder so that the same files give the same bytes: in order, without dates, owners or permissions."""
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(
                    str(Path(tree.name) / path.relative_to(tree)).replace(os.sep, "/"), (1980, 1, 1, 0, 0, 0)
                )
                entry.create_system, entry.external_attr = 3, 0o644 << 16
                entry.compress_type = zipfile.ZIP_STORED if path.suffix in STORED else zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes())


def secret_lines(assignment: Assignment) -> dict[str, str]:
    """What must not get out: the lines of more than 20 characters between the markers of its source, with their kind.

    A line that also occurs outside the markers, in a stub or in the text, is known to students anyway, and so are those
    in ``EVERYDAY``.

    Args:
        assignment: with its source.

    Returns:
        Maps each line, with runs of spaces made one, to "a solution" or "a hidden test".
    """
    secret, public = {}, set(EVERYDAY)
    for cell in assignment.source.cells:
        inside = ""
        for line in cell.source.split("\n"):
            if found := re.search(r"(BEGIN|END) (SOLUTION|HIDDEN TESTS)", line):
                inside = found[2] if found[1] == "BEGIN" else ""
            elif inside and len(line.strip()) > SHORTEST:
                secret.setdefault(" ".join(line.split()), MARKERS[inside])
            elif not inside:
                public.add(" ".join(line.split()))
    return {line: kind for line, kind in secret.items() if line not in public}


def leaks(tree: Path, assignments: dict[str, Assignment], bank: Path | None = None) -> list[Leak]:
    """Find every secret line in every text of a folder: in code, prose, outputs and data.

    Args:
        tree: what students would get.
        assignments: with their sources.
        bank: the folder of the exam questions.

    Returns:
        The leaks that were found, by file.
    """
    secrets = {line: (kind, name) for name, one in assignments.items() for line, kind in secret_lines(one).items()}
    secrets |= {line: ("an exam question", name) for line, name in (exam.secret_lines(bank) if bank else ())}
    found = []
    for path in sorted(tree.rglob("*")):
        if not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # weights and archives are not text
        text = " ".join((notebook_text(text) if path.suffix == ".ipynb" else text).split())
        found += [Leak(line, *secrets[line], str(path.relative_to(tree))) for line in secrets if line in text]
    return found


def notebook_text(content: str) -> str:
    """All strings in a notebook's JSON, those that are lists of lines joined as a reader sees them."""

    def strings(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield (
                "".join(value)
                if all(isinstance(one, str) for one in value)
                else "\n".join(text for one in value for text in strings(one))
            )
        elif isinstance(value, dict):
            for one in value.values():
                yield from strings(one)

    return "\n".join(strings(json.loads(content)))
