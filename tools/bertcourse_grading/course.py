"""The assignments: where they are, what students see of them, and their configuration for nbgrader."""

import copy
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "notebooks" / "homework"
NAME = re.compile(r"hw\d\d")
CONFIG = "nbgrader_config.py"
BEGIN_HIDDEN, END_HIDDEN = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"


@dataclass(frozen=True)
class Assignment:
    """One assignment.

    Attributes:
        name: "hw01".
        folder: where its source notebook is.
        source: the notebook with solutions and hidden tests.
        released: the notebook that students get.
    """

    name: str
    folder: Path
    source: NotebookNode
    released: NotebookNode

    @property
    def setup(self) -> str:
        """The source of its setup cell; empty if it has none."""
        return next((cell.source for cell in self.source.cells if grade_id(cell) == "setup"), "")

    @property
    def solutions(self) -> list[str]:
        """The sources of the cells with its solutions."""
        code = [cell.source for cell in self.source.cells if cell.cell_type == "code"]
        return [source for source in code if "### BEGIN SOLUTION" in source]

    @property
    def solved(self) -> NotebookNode:
        """The notebook of a student who hands in all solutions, also of what a person grades."""
        notebook = copy.deepcopy(self.released)
        for cell, solution in zip(notebook.cells, self.source.cells, strict=True):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = solution.source
        return notebook

    @property
    def fingerprint(self) -> str:
        """A hash that changes with the source notebook."""
        return hashlib.sha256(nbformat.writes(self.source).encode()).hexdigest()


def grade_id(cell: NotebookNode) -> str | None:
    """nbgrader's name for a cell, or None."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def load_config(source: Path = SOURCE, root: Path | None = None) -> Config:
    """nbgrader's configuration.

    Args:
        source: the folder of the assignments, with nbgrader_config.py.
        root: where nbgrader's own folders are; None for what the file says.

    Returns:
        The settings, ready for nbgrader's classes.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    path = source / CONFIG
    if not path.is_file():
        raise FileNotFoundError(
            f"expected nbgrader's configuration in {path}; there is none. Name their folder: --source FOLDER."
        )
    before = os.environ.get("BERTCOURSE_GRADING")
    if root is not None:
        os.environ["BERTCOURSE_GRADING"] = str(root.resolve())
    try:
        return PyFileConfigLoader(str(path)).load_config()
    finally:
        if root is not None:
            os.environ.pop("BERTCOURSE_GRADING")
            if before is not None:
                os.environ["BERTCOURSE_GRADING"] = before


def read_assignments(source: Path = SOURCE, names: list[str] | None = None) -> dict[str, Assignment]:
    """The assignments of a folder, by name.

    Args:
        source: the folder with hw01/hw01.ipynb and so on, and nbgrader_config.py.
        names: only these; None for all.

    Returns:
        The assignments, in order.

    Raises:
        FileNotFoundError: if there are none, or one of ``names`` is missing.
        ValueError: if a source notebook cannot be released: a marker is not closed, or two cells have the same name.
    """
    config = load_config(source)
    found = {
        path.stem: path
        for path in sorted(source.glob("hw*/hw*.ipynb"))
        if path.stem == path.parent.name and NAME.fullmatch(path.stem)
    }
    for name in names or []:
        if name not in found:
            raise FileNotFoundError(f"no assignment {name} in {source}; there are: {', '.join(found) or 'none'}.")
    if not found:
        raise FileNotFoundError(f"no assignments in {source}; expected hw01/hw01.ipynb there.")
    assignments = {}
    for name in names or found:
        notebook = nbformat.read(found[name], as_version=4)
        try:
            assignments[name] = Assignment(name, found[name].parent, notebook, student_version(notebook, config))
        except Exception as error:  # nbgrader raises RuntimeError, ValidationError and others
            raise ValueError(f"{found[name]} cannot be released; {error}") from error
    return assignments


def student_version(notebook: NotebookNode, config: Config) -> NotebookNode:
    """A notebook without solutions, hidden tests and outputs, as ``nbgrader generate_assignment`` makes it.

    Args:
        notebook: the source.
        config: nbgrader's settings.

    Returns:
        A new notebook; always the same for the same source.

    Raises:
        RuntimeError: if a marker is not closed, or is in a cell of the wrong kind.
        ValidationError: if two cells have the same name.

    Source: nbgrader's preprocessors, without its database.
    """
    from nbgrader import preprocessors

    notebook, resources = copy.deepcopy(notebook), {"nbgrader": {}}
    for step in (
        "LockCells",
        "ClearSolutions",
        "ClearOutput",
        "CheckCellMetadata",
        "ClearHiddenTests",
        "ClearMarkScheme",
        "ComputeChecksums",
    ):
        notebook, resources = getattr(preprocessors, step)(config=config).preprocess(notebook, resources)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def split_hidden(source: str) -> tuple[str, list[str]]:
    """A cell's text without its hidden tests, and the lines of those tests."""
    kept, hidden, inside = [], [], False
    for line in source.split("\n"):
        if BEGIN_HIDDEN in line or END_HIDDEN in line:
            inside = BEGIN_HIDDEN in line
        else:
            (hidden if inside else kept).append(line)
    return "\n".join(kept), hidden
