"""Numbers within a tolerance pass; a number outside, a changed word and a NaN turn red, and so does a strict cell."""

import subprocess
import sys

import nbformat
import pytest

from bertcourse_lab.lectures import KERNEL, write_notebook
from bertcourse_lab.validation import accept_close, agrees, tolerance_of
from notebook_rules import problems

ABSOLUTE, RELATIVE = (0.02, 0.0), (0.0, 0.05)


@pytest.mark.parametrize(
    "stored, printed, tolerance",
    [
        ("F1 0.79", "F1 0.81", ABSOLUTE),
        ("loss -0.5, 1.20e-03", "loss −0.49, 1.3e-03", ABSOLUTE),
        ("12,345 words", "12,900 words", RELATIVE),
        ("a  10\n b 200", "a 10.4\nb 195", RELATIVE),
        ("[[0.50, .25]]", "[[0.51, .24]]", ABSOLUTE),
        ("78 %", "78.01 %", ABSOLUTE),
    ],
)
def test_close_numbers_between_the_same_words_agree(stored, printed, tolerance):
    assert agrees(stored, printed, tolerance) and agrees(printed, stored, tolerance)


@pytest.mark.parametrize(
    "stored, printed, tolerance",
    [
        ("F1 0.79", "F1 0.82", ABSOLUTE),
        ("F1 0.79", "F1 nan", ABSOLUTE),
        ("F1 0.79", "F1 inf", ABSOLUTE),
        ("F1 0.79", "accuracy 0.79", ABSOLUTE),
        ("F1 0.79", "F1", ABSOLUTE),
        ("0.5 0.5", "0.5", ABSOLUTE),
        ("layer 2", "layer 3", ABSOLUTE),
        ("model2", "model3", RELATIVE),
        ("100", "106", RELATIVE),
        ("0.0", "0.001", RELATIVE),
        ("-0.5", "0.5", RELATIVE),
    ],
)
def test_what_differs_does_not_agree(stored, printed, tolerance):
    assert not agrees(stored, printed, tolerance)


def test_only_what_agrees_is_accepted():
    stored = [{"name": "stdout", "text": "a 1.00"}, {"data": {"text/plain": "b 2.00", "text/html": "<b>2.00</b>"}}]
    printed = [{"name": "stdout", "text": "a 1.01"}, {"data": {"text/plain": "b 3.00", "text/html": "<b>2.01</b>"}}]
    accept_close(stored, printed, ABSOLUTE)
    assert printed[0]["text"] == "a 1.00"
    assert printed[1]["data"] == {"text/plain": "b 3.00", "text/html": "<b>2.01</b>"}


@pytest.mark.parametrize("tag", ["tolerance=", "tolerance=2 %", "tolerance:0.1", "Tolerance=0.1", "tolerances=0.1"])
def test_a_misspelt_tag_allows_nothing_and_is_refused(tag, tmp_path):
    assert tolerance_of([tag]) is None
    cell = nbformat.v4.new_code_cell("x = 1", execution_count=1, metadata={"tags": [tag]})
    write_notebook(nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": KERNEL}), tmp_path / "x.ipynb")
    assert any("tolerance=0.02" in problem for problem in problems(tmp_path / "x.ipynb"))


@pytest.mark.slow
def test_nbval_compares_within_the_tolerance_of_a_cell(tmp_path):
    """One notebook, a cell for each case: nbval names exactly the cells that must fail."""
    cases = [  # program, stored output, tag, passes
        ("print('accuracy 0.79')", "accuracy 0.80\n", "tolerance=0.02", True),
        ("0.5", "0.51", "tolerance=5%", True),
        ("print('accuracy 0.79')", "accuracy 0.85\n", "tolerance=0.02", False),
        ("print('precision 0.79')", "accuracy 0.79\n", "tolerance=0.02", False),
        ("print('accuracy', float('nan'))", "accuracy 0.79\n", "tolerance=0.02", False),
        ("print('accuracy 0.79')", "accuracy 0.80\n", None, False),
        ("print('accuracy 0.79')", "accuracy 0.79\n", None, True),
    ]
    cells = []
    for count, (program, output, tag, _) in enumerate(cases, start=1):
        stored = (
            nbformat.v4.new_output("stream", name="stdout", text=output)
            if output.endswith("\n")
            else nbformat.v4.new_output("execute_result", data={"text/plain": output}, execution_count=count)
        )
        tags = {"tags": [tag]} if tag else {}
        cells.append(nbformat.v4.new_code_cell(program, execution_count=count, outputs=[stored], metadata=tags))
    write_notebook(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), tmp_path / "x.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider"]
    result = subprocess.run([*command, "x.ipynb"], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    for number, (*_, passes) in enumerate(cases):
        assert f"{'PASSED' if passes else 'FAILED'} x.ipynb::Cell {number}" in result.stdout, result.stdout[-3000:]
