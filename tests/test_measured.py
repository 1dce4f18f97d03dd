"""Prose that is marked as measured: a rounded number passes, a changed one and an idle mark do not."""

import nbformat
import pytest

from measured import measured_passages, misstated, numbers

MARK = "<!-- measured -->"


def stands(prose: str, output: str) -> bool:
    """Whether the one number of the prose stands for a number of the output."""
    (number,) = numbers(prose)
    return any(number.stands_for(other) for other in numbers(output))


def lecture(*cells: str | tuple[str, str]) -> nbformat.NotebookNode:
    """A notebook of prose (str), and of code with what it prints (tuple)."""
    made = []
    for cell in cells:
        if isinstance(cell, str):
            made.append(nbformat.v4.new_markdown_cell(cell))
        else:
            output = nbformat.v4.new_output("stream", text=cell[1])
            made.append(nbformat.v4.new_code_cell(cell[0], outputs=[output]))
    return nbformat.v4.new_notebook(cells=made)


@pytest.mark.parametrize(
    ("prose", "output"),
    [
        ("0.42", "0.4187"),
        ("0.42", "0.425"),
        (".42", "0.4187"),
        ("0.42", "41.9 %"),
        ("0.40", "0.4"),
        ("44 %", "44.2 %"),
        ("44 %", "44%"),
        ("44 %", "0.442"),
        ("44.2%", "F1 44.2"),
        ("2.9 points", "0.0290"),
        ("1,728", "(1728, 7, 384)"),
        ("1728", "1,728 sentences"),
        ("106,000", "105,991"),
        ("58", "57.8"),
        ("2.4 million", "2,432,128"),
        ("7", "7 layers"),
        ("falls by 0.18", "-0.18"),
        ("−0.18", "-0.18"),
        ("0.00001", "1e-05"),
        ("5", "['5', '6']"),
    ],
)
def test_a_number_may_be_rounded(prose, output):
    assert stands(prose, output)


@pytest.mark.parametrize(
    ("prose", "output"),
    [
        ("0.43", "0.4187"),
        ("0.42", "0.4"),
        ("0.420", "0.4187"),
        ("45 %", "44.2 %"),
        ("45 %", "0.442"),
        ("44", "0.442"),
        ("1,729", "1728"),
        ("1,700", "1728"),
        ("106,000", "106,991"),
        ("300", "299"),
        ("7", "6.9"),
        ("7", "77 layers"),
        ("7", "7.5"),
        ("−0.18", "0.18"),
        ("2.5 million", "2,432,128"),
        ("6", "MiniLM-L6 layer6 v1.6.2"),
    ],
)
def test_another_number_is_no_rounding(prose, output):
    assert not stands(prose, output)


@pytest.mark.parametrize(
    ("block", "passages"),
    [
        (f"It is 1 %. It was 2 %.{MARK} It will be 3 %.", ["It was 2 %."]),
        (f"Devlin et al. 2019 found 3, i.e. all.{MARK}", ["Devlin et al. 2019 found 3, i.e. all."]),
        (f"**It is 1.** *It is 2.*{MARK}", ["*It is 2.*"]),
        (f"- one: 1\n- two, and 2{MARK}", ["two, and 2"]),
        (f"It is 1.\nIt is 2.\n{MARK}\n", ["It is 1.\nIt is 2.\n"]),
        (f"| a | b |\n|---|---|\n| 1 | 2 |\n{MARK}", ["| a | b |\n|---|---|\n| 1 | 2 |\n"]),
        (f"It is 1.{MARK} It is 2.{MARK}", ["It is 1.", "It is 2."]),
        ("It is 1.", []),
    ],
)
def test_a_mark_speaks_of_a_sentence_or_of_all_above_it(block, passages):
    assert [passage.strip() for passage in measured_passages(block)] == [passage.strip() for passage in passages]


def test_a_changed_digit_is_refused():
    cells = ["## 5.1 A question", ("print(share)", "share: 0.4187 of 576\n"), f"It is 42 % of 576 sentences.{MARK}"]
    assert misstated(lecture(*cells)) == []
    cells[-1] = cells[-1].replace("42", "43")
    (problem,) = misstated(lecture(*cells))
    assert "'It is 43 % of 576 sentences.', but no output before it in its section has 43 %" in problem


def test_unmarked_prose_is_free():
    assert misstated(lecture("## 5.1 A question", "Gale et al. found 98 %.")) == []


def test_each_sentence_has_its_own_mark():
    cells = [
        "## 5.1 A question",
        ("", "0.74"),
        f"Gale et al. found 98 %. Here it is 74 %.{MARK} A third would be 33 %.",
    ]
    assert misstated(lecture(*cells)) == []


def test_only_outputs_before_it_in_its_section_count():
    before, number, heading = ("", "0.42"), f"It is 0.42.{MARK}", "## 5.2 Another question"
    assert misstated(lecture("## 5.1 A question", before, number)) == []
    assert len(misstated(lecture("## 5.1 A question", number, before))) == 1
    assert len(misstated(lecture("## 5.1 A question", before, heading, number))) == 1
    assert len(misstated(lecture("## 5.1 A question", before, f"{heading}\n\n{number}"))) == 1
    assert misstated(lecture("## 5.1 A question", before, f"{number}\n\n{heading}")) == []
    assert misstated(lecture("## 5.1 A question", before, f"### A part of it\n\n{number}")) == []


def test_opening_and_summary_speak_of_the_whole_notebook():
    cells = [
        f"# 5 · Senses\n\nIt is 0.42.{MARK}",
        "## 5.1 A question",
        ("", "0.42"),
        f"## Summary\n\n- It is 0.42.{MARK}",
    ]
    assert misstated(lecture(*cells)) == []
    assert len(misstated(lecture(cells[0], cells[1], ("", "0.43"), cells[3]))) == 2


def test_texts_of_figures_count():
    notebook = lecture("## 5.1 A question", ("", ""), f"It is 0.42.{MARK}")
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", data={"text/plain": "Bars: 0.42"})]
    assert misstated(notebook) == []


@pytest.mark.parametrize(
    "prose",
    [
        "It is two thirds.",
        "See section 5.4, lectures 2 and 3, exercise 7 (2019).",
        "`k = 12` and $x_{10} = 3$, in [a paper](https://example.org/12).",
        "It is 0.42.\n\n",  # the mark then stands alone
    ],
)
def test_a_mark_that_checks_nothing_is_refused(prose):
    (problem,) = misstated(lecture("## 5.1 A question", ("", "0.42"), prose + MARK))
    assert "states no number" in problem


@pytest.mark.parametrize("comment", ["<!--measured-->", "<!-- Measured -->", "<!-- meassured -->"])
def test_a_misspelt_mark_is_refused(comment):
    (problem,) = misstated(lecture("## 5.1 A question", ("", "0.42"), f"It is 0.42.{comment}"))
    assert f"the comment {comment}" in problem


@pytest.mark.parametrize(
    ("prose", "output", "tag", "is_refused"),
    [
        ("It is 0.79.", "0.791", "tolerance=0.02", True),
        ("It is 0.8.", "0.791", "tolerance=0.02", False),
        ("It is 79 %.", "0.791", "tolerance=0.02", True),
        ("It is 79 %.", "0.791", "tolerance=0.01", False),
        ("It is 1,234.", "1234", "tolerance=5%", True),
        ("It is 1,200.", "1234", "tolerance=5%", False),
    ],
)
def test_prose_has_no_digit_that_another_machine_may_change(prose, output, tag, is_refused):
    notebook = lecture(("measure()", output), prose + MARK)
    notebook.cells[0].metadata["tags"] = [tag]
    assert bool(misstated(notebook)) == is_refused


def test_code_in_fences_is_no_prose():
    assert misstated(lecture("## 5.1 A question", f"```html\nIt is 0.42.{MARK}\n```")) == []
