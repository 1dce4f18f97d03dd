"""Cells of small lectures, and the slides that are made of them."""

import nbformat

from bertcourse_slides.layout import Slide, make_slides
from bertcourse_slides.outline import shown_cells


def prose(text: str, slide: str = "") -> nbformat.NotebookNode:
    return nbformat.v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": slide}} if slide else {})


def code(source: str, printed: str = "", slide: str = "", tags: tuple = ()) -> nbformat.NotebookNode:
    outputs = [nbformat.v4.new_output("stream", text=printed)] if printed else []
    cell = nbformat.v4.new_code_cell(source, outputs=outputs, execution_count=7)
    cell.metadata.update({"slideshow": {"slide_type": slide}} if slide else {}, tags=list(tags))
    return cell


def slides_of(*cells: nbformat.NotebookNode) -> list[Slide]:
    return make_slides(shown_cells(nbformat.v4.new_notebook(cells=[prose("# 1 · A lecture\n\nIt begins."), *cells])))


def kinds(slide: Slide) -> list[str]:
    return [block.kind for block in slide.blocks]
