"""Submissions made of the variants, as students hand them in."""

import ast
import copy
from pathlib import Path

from nbformat import NotebookNode

from bertcourse_grading.course import Assignment
from bertcourse_grading.source import NUMBER
from wrong_answers import VARIANTS, Variant


def as_cell(variant: Variant) -> str:
    """The variant's function, after all that its file defines for it, as one cell."""
    code = variant.function.__code__
    tree = ast.parse(Path(code.co_filename).read_text(encoding="utf-8"))
    kept = []
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        if decorators and decorators[0].lineno == code.co_firstlineno:
            node.decorator_list = []
            kept.append(node)
        elif not decorators and getattr(node, "module", "") != "wrong_answers":
            kept.append(node)
    return ast.unparse(ast.Module(kept, []))


def all_wrong(assignment: Assignment) -> NotebookNode:
    """The released notebook with the first mistake of each exercise."""
    wrong = {each.number: each for each in reversed(VARIANTS) if each.says is not None}
    notebook = copy.deepcopy(assignment.released)
    for cell, check in zip(notebook.cells, notebook.cells[1:]):
        if found := NUMBER.fullmatch(check.source):
            cell.source = as_cell(wrong[found[1]])
    return notebook
