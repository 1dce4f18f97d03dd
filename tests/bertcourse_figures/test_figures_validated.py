"""A figure's HTML is not compared, its words are; the rules want both of its texts, and figures of moderate size."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from bertcourse_figures.interactive import MOST_BYTES, Figure, show_steps
from bertcourse_figures.schematic import Schematic
from bertcourse_lab.lectures import KERNEL, write_notebook
from bertcourse_lab.validation import without_figure
from notebook_rules import problems_of_figures

DRAW = """from bertcourse_figures.plots import Schematic, show_steps
figure = Schematic(100, 50, "A number.")
figure.text((50, 25), "0.123")
show_steps(figure, "a number: 0.12")"""


def figure(number: float = 0.123) -> Figure:
    schematic = Schematic(100, 50, "A number.")
    schematic.text((50, 25), str(number))
    return show_steps(schematic, f"a number: {number:.2f}")


def cell(data: dict[str, str], source: str = "draw()") -> nbformat.NotebookNode:
    output = nbformat.v4.new_output("execute_result", data=data, execution_count=1)
    return nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)


def test_the_html_of_figures_and_of_nothing_else_is_taken_for_an_image():
    assert without_figure(figure(0.123).html()) == without_figure(figure(0.1230002).html()) == "a figure"
    for other in ("0.42", '<div class="other">0.42</div><script>1</script>', f"0.42 {figure().html()}"):
        assert without_figure(other) == other


def test_a_figure_with_its_words_keeps_the_rules():
    assert problems_of_figures([cell(figure()._repr_mimebundle_())]) == []


def test_a_figure_without_words_without_alt_or_too_large_is_refused():
    html = figure().html()
    for text in ("", "<Figure>"):
        (found,) = problems_of_figures([cell({"text/html": html, "text/plain": text})])
        assert "without a text" in found
    (found,) = problems_of_figures([cell({"text/html": html.replace("A number.", ""), "text/plain": "0.12"})])
    assert "no alt" in found
    large = html.replace("<small>", "<small>" + "x" * MOST_BYTES)
    (found,) = problems_of_figures([cell({"text/html": large, "text/plain": "0.12"})])
    assert "at most 300000" in found
    many = [cell({"text/html": html.replace("<small>", "<small>" + "x" * 200_000), "text/plain": "0.12"})] * 8
    (found,) = problems_of_figures(many)
    assert "at most 1500000" in found


@pytest.mark.slow
def test_strict_validation_compares_the_words(tmp_path):
    """One notebook, a cell for each case: nbval names exactly the cells that must fail."""
    cases = {
        "as it was": (figure()._repr_mimebundle_(), True),
        "another last digit": (figure(0.1230002)._repr_mimebundle_(), True),
        "another number": (figure()._repr_mimebundle_() | {"text/plain": "a number: 0.13"}, False),
        "no figure": ({"text/plain": "a number: 0.12"}, False),
        "other html": ({"text/html": "<b>0.12</b>", "text/plain": "a number: 0.12"}, False),
    }
    cells = [cell(stored, DRAW) for stored, _ in cases.values()]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    write_notebook(notebook, tmp_path / "lecture.ipynb")
    plugins = ["-p", "nbval.plugin", "-p", "bertcourse_lab.validation", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", *plugins, "--nbval", "--nbval-current-env", "lecture.ipynb"]
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join(paths)}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    for number, (name, (_, passes)) in enumerate(cases.items()):
        line = f"{'PASSED' if passes else 'FAILED'} lecture.ipynb::Cell {number}"
        assert line in result.stdout, f"{name}: {result.stdout[-3000:]}"
