"""A lecture is read from top to bottom: sections are numbered in order, and none ends in the middle of a thought."""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

from bertcourse_lab.lectures import read_notebook

LECTURES = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
HEADING = re.compile(r"#+ ")
NUMBERED = re.compile(r"## (\d+)\.(\d+) ")
REFERENCE = re.compile(r"[Ss]ections? (\d+\.\d+(?:(?:, | and )\d+\.\d+)*)")  # "section 6.4", "sections 6.1 and 6.2"


class Block(NamedTuple):
    """A paragraph, a heading, or a whole code cell, and the number of its cell."""

    kind: str
    text: str
    cell: int


def blocks(notebook: nbformat.NotebookNode) -> list[Block]:
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            found.append(Block("code", cell.source, number))
            continue
        for text in filter(None, (part.strip() for part in re.split(r"\n\s*\n", cell.source))):
            found.append(Block("heading" if HEADING.match(text) else "prose", text, number))
    return found


def out_of_order(notebook: nbformat.NotebookNode, chapter: int) -> list[str]:
    """Where a lecture's parts cannot stand as they do: each a line that says what is wrong."""
    all_blocks, found = blocks(notebook), []
    sections = [
        tuple(map(int, m.groups())) for b in all_blocks if b.kind == "heading" and (m := NUMBERED.match(b.text))
    ]
    if sections != [(chapter, number) for number in range(1, len(sections) + 1)]:
        found.append(f"sections must be numbered from {chapter}.1 on; got {sections}")
    for block, after in zip(all_blocks, [*all_blocks[1:], Block("heading", "the end", len(notebook.cells))]):
        if block.kind == "prose" and block.text.endswith(":") and after.kind == "heading":
            found.append(f"cell {block.cell} announces something ({block.text[-40:]!r}) and {after.text!r} follows")
        if block.kind == "heading" and after.kind != "prose":
            found.append(f"cell {block.cell}: after {block.text!r} must come prose, not {after.kind}")
    for block in all_blocks:
        named = [number for numbers in REFERENCE.findall(block.text) for number in re.findall(r"\d+\.\d+", numbers)]
        for number in named if block.kind == "prose" else []:
            section = tuple(map(int, number.split(".")))
            if section[0] == chapter and section not in sections:  # another number is a paper's
                found.append(f"cell {block.cell} refers to section {number}, which is not there")
    return found


def notebook_of(*cells: str) -> nbformat.NotebookNode:
    """Cells of prose, and of code where they begin with >>>."""
    make = {True: nbformat.v4.new_code_cell, False: nbformat.v4.new_markdown_cell}
    return nbformat.v4.new_notebook(cells=[make[text.startswith(">>>")](text.removeprefix(">>>")) for text in cells])


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_lecture_is_in_order(lecture):
    assert out_of_order(read_notebook(lecture), chapter=int(lecture.stem[:2])) == []


def test_a_heading_before_what_was_announced_is_caught():
    """So it stood in lecture 6: the next section began between the sentence and the results that it announces."""
    notebook = notebook_of(
        "## 6.1 People\n\nThe same for the other model:\n\n## 6.2 Frequent words\n\nTry it:", ">>>people()"
    )
    (problem,) = out_of_order(notebook, chapter=6)
    assert "cell 0 announces something" in problem and "## 6.2 Frequent words" in problem


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["## 6.2 Two\n\nText.", "## 6.1 One\n\nText."], "numbered from 6.1"),
        (["## 6.1 One\n\nText.", "## 6.3 Three\n\nText."], "numbered from 6.1"),
        (["## 5.1 One\n\nText."], "numbered from 6.1"),
        (["## 6.1 One", ">>>1 + 1"], "must come prose, not code"),
        (["## 6.1 One\n\n### Part\n\nText."], "must come prose, not heading"),
        (["## 6.1 One\n\nAt last:"], "'the end' follows"),
        (["## 6.1 One\n\nAs in section 6.4."], "refers to section 6.4"),
        (["## 6.1 One\n\nSections 6.1 and 6.2 show it."], "refers to section 6.2"),
    ],
)
def test_disorder_is_caught(cells, message):
    assert [problem for problem in out_of_order(notebook_of(*cells), chapter=6) if message in problem]


def test_order_is_left_alone():
    notebook = notebook_of(
        "# 6 · Title\n\nAs section 6.1 shows, and section 3.2 of the paper:\n\n- a list",
        "## 6.1 One\n\nBuild it:",
        ">>>1 + 1",
    )
    assert out_of_order(notebook, chapter=6) == []
