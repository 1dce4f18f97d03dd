"""A deck is an argument: titles that say something, no drawing code, nothing without what it belongs to."""

from pathlib import Path

import nbformat
import pytest

from bertcourse_lab import cli
from bertcourse_slides import review
from bertcourse_slides.argument import complaints, only_shows, without_drawing
from small_lectures import code, kinds, prose, slides_of

LECTURES = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9][0-9]_*.ipynb"))
ARGUMENTS = ["01", "02", "03", "09"]  # lectures whose decks are arguments, by their numbers; add yours when it is one
FIGURE = '<div class="bertcourse-figure"><p><strong>The bank <em>listens</em></strong></p><img></div>'


def picture(source: str, html: str = "", slide: str = "") -> nbformat.NotebookNode:
    data = {"text/html": html} if html else {"image/png": "iVBORw0KGgo=", "text/plain": "a curve"}
    cell = code(source, slide=slide)
    cell.outputs = [nbformat.v4.new_output("display_data", data)]
    return cell


def found(*cells: nbformat.NotebookNode) -> list[str]:
    """What is said against some slides, but for how many they are."""
    return [each for each in complaints(slides_of(*cells)) if "two classes" not in each]


@pytest.mark.parametrize("path", [path for path in LECTURES if path.stem[:2] in ARGUMENTS], ids=lambda path: path.stem)
def test_the_deck_of_a_lecture_is_an_argument(path):
    assert review(path) == []


def test_drawing_is_left_out_and_what_is_computed_stays():
    drawn = "x = f(1)\n\nfigure, (left, right) = plt.subplots(2)\nfor y in x:\n    left.plot(y)\nplots.show('A curve.')"
    assert without_drawing(drawn) == "x = f(1)"
    for kept in ("x = f(1)", "for y in x:\n    left.append(y)", "def f(ax):\n    ax.plot(1)", "not python ("):
        assert without_drawing(kept) == kept
    slides = slides_of(prose("## 1.1 Words\n\nThey are long.", "slide"), picture(drawn))
    assert [block.parts for slide in slides for block in slide.blocks if block.kind == "code"] == [("x = f(1)",)]
    assert kinds(slides[-1])[-1] == "picture" and "cell [7]" in "".join(slides[-1].notes)


@pytest.mark.parametrize(
    ("source", "shows"),
    [
        ("print(1)", True),
        ("for a in b:\n    c = a[0]\n    print(c)", True),
        ("ax = plots.heatmap(x)\nax.set(xlabel='y')", True),
        ("x = f(1)\nprint(x)", False),
        ("f(1)", False),
        ("for a in b:\n    f(a)", False),
        ("half of a (", False),
    ],
)
def test_code_that_only_shows(source, shows):
    assert only_shows(source) == shows


def test_a_slide_has_a_sentence_as_its_title():
    opening = prose("## 1.1 Words\n\nHow long are they?", "slide")
    *_, slide = slides_of(opening, prose("The longest has ten letters. It is rare.", "subslide"), code("x = 1"))
    assert slide.title == "The longest has ten letters." and slide.section == "1.1 Words"
    assert [block.html for block in slide.blocks if block.kind == "text"] == ["It is rare."]
    cells = opening, code("x = 1", slide="subslide")
    assert "no sentence as its title" in found(*cells)[0]
    cells[1].metadata["slideshow"]["title"] = "A word is a number"
    assert found(*cells) == []


def test_a_figures_headline_is_the_title_of_its_slide():
    opening = prose("## 1.1 Words\n\nThey are long.", "slide")
    *_, slide = slides_of(opening, picture("show()", FIGURE, "subslide"))
    assert slide.title == "The bank <em>listens</em>" and found(opening, picture("show()", FIGURE, "subslide")) == []
    plain = picture("show()", FIGURE.replace("strong", "b"), "subslide")
    assert "no sentence as its title" in found(opening, plain)[0]


def test_what_lacks_its_picture_or_only_draws_is_named():
    opening = prose("## 1.1 Words\n\nThey are long.", "slide")
    long = "\n".join(f"print({number})" for number in range(9))
    assert "only code that draws or prints" in found(opening, code(long, slide="subslide"))[0]
    assert "slide before it" in found(opening, code("f()", "\n".join(map(str, range(60)))))[0]


def test_a_deck_has_as_many_slides_as_there_is_time_for():
    sections = [prose(f"## 1.{number} Words\n\nThey are long.", "slide") for number in range(40)]
    assert complaints(slides_of(*sections)) == []
    assert "2 slides, where two classes have time for 35 to 45" in complaints(slides_of(*sections[:1]))


def test_the_command_says_what_is_to_be_fixed_and_writes_nothing(capsys, tmp_path):
    path = tmp_path / "77_words.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[prose("# 77 · Words", "slide"), code("x = 1")]), path)
    assert cli.main(["slides", str(path), "--check", "--output", str(tmp_path / "decks")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("77_words: ") and "1 slides, where" in out
    assert not (tmp_path / "decks").exists()
