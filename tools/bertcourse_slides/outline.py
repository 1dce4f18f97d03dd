"""Which cells of a lecture are shown, and where a slide begins.

Lectures that are marked up say so themselves, with nbconvert's ``slide_type``, and beside it the ``title`` of the slide
(CONTRIBUTING.md). For the others there is a rule: a heading begins a slide, and so does prose; everything beyond the
spine is left out.
"""

import re
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

HEADING = re.compile(r"^(?=#{1,3} )", re.MULTILINE)
# Sections after the spine.
BEYOND = {"What can go wrong", "Check yourself", "Exercises", "Going deeper", "Further reading"}


@dataclass(frozen=True)
class Cell:
    """A cell that is shown.

    Attributes:
        cell: from the notebook, or the part of it under one heading.
        kind: "slide" begins a section, "subslide" a slide, "fragment" appears at a key press, "notes" are for the
            speaker only, "-" continues the slide.
        number: its place in the notebook, from 1.
        may_shorten: whether long code may be left out, because nobody has marked that it belongs on a slide.
        title: of the slide that it begins, as Markdown; empty if its heading says it, or that of the slide before.
    """

    cell: NotebookNode
    kind: str
    number: int
    may_shorten: bool
    title: str = ""


def shown_cells(notebook: NotebookNode) -> list[Cell]:
    """The cells of a lecture's spine, each with its slide type."""
    marks = [cell.metadata.get("slideshow", {}) for cell in notebook.cells]
    is_marked = any(mark.get("slide_type") for mark in marks)
    return marked_cells(notebook, marks) if is_marked else unmarked_cells(notebook)


def marked_cells(notebook: NotebookNode, marks: list[dict[str, str]]) -> list[Cell]:
    """The cells as they are marked; a heading in the middle of a cell begins a slide, too."""
    shown = []
    for number, (cell, mark) in enumerate(zip(notebook.cells, marks), start=1):
        kind, title = mark.get("slide_type") or "-", mark.get("title", "")
        if kind == "skip" or "colab" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "code":
            shown.append(Cell(cell, kind, number, may_shorten=False, title=title))
            continue
        for text in parts(cell.source):
            if shown and shown[-1].number == number:
                kind, title = "subslide" if text.startswith("#") else "-", ""
            shown.append(Cell(new_markdown_cell(text), kind, number, may_shorten=False, title=title))
    return shown


def unmarked_cells(notebook: NotebookNode) -> list[Cell]:
    """The same by the rule; nothing is shown between the opening and section 1."""
    shown, in_sections, in_spine = [], False, True
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "code":
            if in_sections and in_spine:
                shown.append(Cell(cell, "-", number, may_shorten=True))
            continue
        for text in parts(cell.source):
            level, heading = re.match(r"(#*)[ ]*(.*)", text).groups()
            if level in ("#", "##"):
                in_sections, in_spine = level == "##", heading.strip() not in BEYOND
            if in_spine and (in_sections or level == "#"):
                kind = "slide" if level in ("#", "##") else "subslide"  # also for prose without a heading
                shown.append(Cell(new_markdown_cell(text), kind, number, may_shorten=True))
    return shown


def parts(source: str) -> list[str]:
    """A Markdown text, divided at its headings.

    >>> parts("So far.\\n\\n### The rest\\n\\nIt is short.")
    ['So far.', '### The rest\\n\\nIt is short.']
    """
    return [text.strip() for text in HEADING.split(source) if text.strip()]
