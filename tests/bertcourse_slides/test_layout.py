"""What stands on slides: by the marks, by the rule, and nothing lost where something is divided."""

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from bertcourse_lab import cli
from bertcourse_lab.lectures import human_minutes, read_notebook, section_minutes, stated_minutes
from bertcourse_slides import find_lecture, write_deck
from bertcourse_slides.argument import only_shows, without_drawing
from bertcourse_slides.deck import deck
from bertcourse_slides.layout import SMALLEST
from bertcourse_slides.markup import first_sentence
from bertcourse_slides.outline import shown_cells
from small_lectures import code, kinds, prose, slides_of

ROOT = Path(__file__).parents[2]
LECTURES = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
NAMES = [path.stem for path in LECTURES]


def shown_text(notebook: nbformat.NotebookNode, what: str) -> str:
    """All text of a deck in elements of this kind."""
    return "\n".join(e.get_text() for e in BeautifulSoup(deck(notebook), "html.parser").select(what))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize(
    ("paragraph", "sentence"),
    [
        ("One is long enough to stand. Two.", "One is long enough to stand."),
        ("What Devlin et al. Proposed is this. Two.", "What Devlin et al. Proposed is this."),
        ("See `a. B` for what follows here. Two.", "See `a. B` for what follows here."),
        ("A formula $x. Y$ does not end one. Two.", "A formula $x. Y$ does not end one."),
        ("It has a remark (which. Is long) in it. Two.", "It has a remark (which. Is long) in it."),
        ("**Check.** Do the shares come out right? Two.", "**Check.** Do the shares come out right?"),
        ("No end in sight", "No end in sight"),
    ],
)
def test_a_paragraph_shows_its_first_sentence(paragraph, sentence):
    assert first_sentence(paragraph) == sentence


def test_marks_decide_what_is_shown():
    cells = [prose("# 1 · A lecture", "slide"), code("import this", slide="skip"), code("pip()", tags=("colab",))]
    cells += [prose("## 1.1 Words\n\nThey are long.", "slide"), code("shown()", "printed"), code("folded()")]
    cells[-1].metadata["tags"] = ["hide-input"]
    cells += [prose("Nobody sees this but you.", "notes"), prose("It appears.", "fragment")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    page = shown_text(notebook, ".body")
    assert "shown()" in page and "printed" in page and "It appears." in page
    assert not re.search(r"import this|pip\(\)|folded|Nobody", page)
    assert "Nobody sees this but you." in shown_text(notebook, "aside.notes")
    assert "It appears." in shown_text(notebook, ".fragment")


def test_a_title_beside_the_mark_stands_above_its_slide_and_small_where_that_goes_on():
    cells = [prose("## 1.1 Words\n\nThey are long.", "slide"), code(lines("x", 30), slide="subslide")]
    cells += [code("show()", slide="subslide"), prose("## 1.2 More\n\nOf it.\n\n### And more\n\nStill.", "slide")]
    cells[1].metadata["slideshow"]["title"] = "A word has *one* row"
    cells[3].metadata["slideshow"]["title"] = "More is told"
    found = [(slide.heading, slide.level) for slide in slides_of(*cells)[1:]]
    title = "A word has *one* row"
    assert found == [("1.1 Words", 2), (title, 3), (title, 4), (title, 4), ("1.2 More", 2), ("And more", 3)]


def test_without_marks_a_rule_decides():
    long = "\n".join(f"line_{number} = {number}" for number in range(30))
    drawing = code("\n".join(f"draw({number})" for number in range(7)))
    drawing.outputs = [nbformat.v4.new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "a curve"})]
    cells = [code("import this"), prose("## 1.1 Words\n\nThey are long."), code(long, "the result"), drawing]
    cells += [prose("So it goes on, says the text.\n\n## 1.2 More\n\nOf it."), prose("## Exercises\n\nTry it.")]
    slides = slides_of(*cells)
    assert [slide.heading for slide in slides if slide.level < 4] == ["1 · A lecture", "1.1 Words", "1.2 More"]
    blocks = [block for slide in slides for block in slide.blocks]
    shown = [line for block in blocks if block.kind == "code" for line in block.parts]
    assert shown == long.splitlines()  # neither the set-up nor what only draws
    assert sum("cell [7] of the notebook" in "".join(slide.notes) for slide in slides) == 1
    assert any(block.parts == ("the result",) for block in blocks) and any(b.kind == "picture" for b in blocks)
    assert not any("Try it" in block.html for block in blocks)


def test_a_question_stands_alone_and_its_answer_comes_at_a_key():
    question = (
        "<details><summary><b>Before you read on:</b> which word?</summary>\n\nThe second one of all.\n\n</details>"
    )
    *_, slide = slides_of(prose("## 1.1 Words\n\nThey are long.", "slide"), prose(question, "subslide"))
    asked, answer = slide.blocks
    assert (asked.kind, asked.html, asked.fragment) == ("question", "Which word?", 0)
    assert answer.html == "The second one of all." and answer.fragment


def test_long_output_is_divided_and_no_line_is_lost():
    lines = [f"row {number}" for number in range(70)]
    slides = slides_of(prose("## 1.1 Words\n\nThey are long.", "slide"), code("table()", "\n".join(lines)))
    pages = [block.parts for slide in slides for block in slide.blocks if block.kind == "output"]
    assert len(pages) > 1 and [line for page in pages for line in page] == lines
    assert all(slide.height(SMALLEST) <= slide.room() for slide in slides)


def lines(name: str, number: int) -> str:
    return "\n".join(f"{name}_{row} = {row}" for row in range(number))


def test_a_sentence_stands_above_the_code_that_it_introduces():
    opening = [prose("## 1.1 Words\n\nThey are long, all of them.", "slide"), code("first()", "one")]
    *_, before, slide = slides_of(*opening, prose("Now for the second of the two."), code("second()"))
    assert kinds(before) == ["text", "code", "output"] and kinds(slide) == ["code"]
    assert slide.title == "Now for the second of the two." and "second of the two" in "".join(slide.notes)


def test_an_output_without_room_takes_its_code_along():
    opening = prose(
        "## 1.1 Words\n\n" + "\n\n".join(f"Sentence {number} is not short." for number in range(4)), "slide"
    )
    *_, before, slide = slides_of(opening, code(lines("x", 10), lines("out", 4)))
    assert kinds(before) == ["text"] * 3 and slide.title and kinds(slide) == ["code", "output"]


def test_long_code_is_divided_at_the_blank_line_nearest_its_middle():
    source = f"import this\n\n{lines('x', 8)}\n\n{lines('y', 9)}"
    *_, before, slide = slides_of(prose("## 1.1 Words\n\nThey are long.", "slide"), code(source, "printed"))
    assert before.blocks[-1].parts[-1] == "x_7 = 7"
    assert slide.blocks[0].parts[0] == "y_0 = 0" and kinds(slide) == ["code", "output"]


def test_what_is_said_of_a_figure_is_in_the_notes():
    cell = code("show()")
    figure = {"text/html": '<div class="bertcourse-figure"></div>', "text/plain": "a box"}
    cell.outputs = [nbformat.v4.new_output("display_data", data=figure)]
    *_, slide = slides_of(prose("## 1.1 Words\n\nThey are long.", "slide"), cell, prose("Look at the third one."))
    assert kinds(slide) == ["text", "figure"] and "Look at the third one." in "".join(slide.notes)


@pytest.mark.parametrize("path", LECTURES, ids=NAMES)
def test_no_output_is_lost_and_all_prose_is_shown_or_said(path):
    notebook = read_notebook(path)
    bodies = squeezed(shown_text(notebook, ".body"))
    all_text = squeezed(shown_text(notebook, "h1, h2, .body, aside.notes")).lower()
    for each in shown_cells(notebook):
        cell = each.cell
        if cell.cell_type == "code":
            for output in cell.outputs:
                assert squeezed(output.get("text", "").expandtabs()) in bodies, each.number
            is_call = len(cell.source.splitlines()) <= 5  # of a figure
            is_folded = is_call or "hide-input" in cell.metadata.get("tags", [])
            if not (each.may_shorten or is_folded or only_shows(cell.source)):
                code = squeezed(cell.source)
                assert code in bodies or squeezed(without_drawing(cell.source)) in bodies, each.number
            continue
        without_marks = re.sub(r"(?s)<.*?>|`.*?`|\$.*?\$|^#+ *[\d.]*", "#", cell.source)
        for words in re.findall(r"(?:[\w,;]+ ){4,}[\w,;]+", without_marks):
            assert squeezed(words).lower() in all_text, each.number


def test_a_lecture_that_is_not_there_is_named(capsys, tmp_path):
    for name in ("77", "notebooks/77_nothing.ipynb"):
        assert cli.main(["slides", name, "--output", str(tmp_path)]) == 1
        message = capsys.readouterr().err
        assert name in message and "01, 02" in message
    assert not list(tmp_path.iterdir())


def test_a_notebook_that_is_no_lecture_is_refused(tmp_path):
    path = tmp_path / "01_notes.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[code("1 + 1")]), path)
    with pytest.raises(ValueError, match="title"):
        write_deck(path, tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_lectures_are_found_by_number_name_and_path():
    assert find_lecture("1") == find_lecture("01") == find_lecture(LECTURES[1].stem) == LECTURES[1]
    assert find_lecture(str(LECTURES[2])) == LECTURES[2]
    assert find_lecture("0") == find_lecture("00") == LECTURES[0]


def test_the_command_writes_a_deck_and_says_how_long_it_takes(capsys, tmp_path):
    assert cli.main(["slides", "01", "--output", str(tmp_path)]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert Path(first).is_file() and Path(first).parent == tmp_path
    assert sum(int(line.split()[0]) for line in rest) == stated_minutes(read_notebook(LECTURES[1]))


@pytest.mark.parametrize("path", LECTURES, ids=NAMES)
def test_minutes_of_sections_are_those_of_the_lecture(path):
    notebook = read_notebook(path)
    minutes = section_minutes(notebook)
    assert sum(minutes.values()) == (stated_minutes(notebook) or human_minutes(notebook))
    assert min(minutes.values()) >= 1


def test_the_guide_has_the_minutes_of_today():
    rows = re.findall(
        r"^\| (.*) \| \**(\d+)\** \|$", (ROOT / "tools" / "site" / "guide" / "lecturing.md").read_text("utf-8"), re.M
    )
    wanted = []
    for path in LECTURES:
        minutes = section_minutes(read_notebook(path))
        wanted += [sum(minutes.values()), *minutes.values()]
    assert [int(number) for _, number in rows] == wanted, "after a change to a lecture: make minutes"


def test_a_short_paragraph_is_shown_whole_and_of_a_long_one_its_first_sentence():
    short, long = (
        "The query is what you look for. The key is what is found.",
        "It begins with a sentence like this. " + "It goes on and on. " * 20,
    )
    *_, first, second = slides_of(prose(f"## 1.1 Words\n\n{short}"), prose(long))
    assert first.blocks[0].html == short and second.blocks[0].html == "It begins with a sentence like this."
    assert long.strip() in second.notes[0]
