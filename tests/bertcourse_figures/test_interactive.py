"""A figure is one piece of HTML: picture, note and script; its repr has the numbers; the data are what was given."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import bertcourse_figures
from bertcourse_figures.interactive import MOST_BYTES, Figure, rounded, show_steps, significant
from bertcourse_figures.schematic import Schematic

SCRIPTS = sorted((Path(bertcourse_figures.__file__).parent / "js").glob("*.js"))


def schematic(alt: str = "A box.", captions: tuple[str, ...] = ("one", "two"), width: int = 100) -> Schematic:
    figure = Schematic(width, 50, alt)
    for caption in captions:
        figure.step(caption)
        figure.box(10, 10, 50, 20, caption)
    return figure


class Untrusted(HTMLParser):
    """What is left of HTML where scripts and SVG are not trusted: text, and images with their attributes."""

    def __init__(self, page: str):
        super().__init__()
        self.text, self.images, self.in_script = "", [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.in_script = tag == "script"
        if tag == "img":
            self.images.append(dict(attributes))

    def handle_endtag(self, tag):
        self.in_script = self.in_script and tag != "script"

    def handle_data(self, data):
        if not self.in_script:  # the tags of an <svg> would go, and the text between them stay
            self.text += data


def given(figure: Figure) -> dict:
    """The data in the script of a figure."""
    return json.loads(re.search(r'bringToLife\("\w+", (.*), scene\);', figure.html())[1])


def test_where_scripts_do_not_run_picture_and_note_remain():
    figure = show_steps(schematic("A box with <angles> & “quotes” \"'"))
    page = Untrusted(figure.html())
    assert page.text.strip() == figure.note
    (image,) = page.images
    assert image["alt"] == "A box with <angles> & “quotes” \"'"
    assert base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode() == figure.still.svg()


def test_the_same_numbers_are_the_same_bytes_and_others_another_key():
    keys = [re.findall(r'data-figure="(\w+)"', show_steps(schematic(alt)).html()) for alt in ("A box.", "A box.", "B")]
    assert keys[0] == keys[1] != keys[2]
    assert show_steps(schematic()).html() == show_steps(schematic()).html()


def test_data_are_what_was_given_and_no_text_ends_the_script():
    data = {"words": ["</script><b>", "<!--", "„&“"], "numbers": [0.1, -2, 1e-9]}
    figure = Figure(schematic(), "a box", "steps", data)
    assert given(figure) == data
    assert figure.html().count("</script>") == 1 and "<!--" not in figure.html()


def test_what_a_notebook_stores_is_the_html_and_the_words():
    figure = show_steps(schematic(), "numbers 0.12 and 0.34")
    assert repr(figure) == "numbers 0.12 and 0.34"
    assert figure._repr_mimebundle_() == {"text/html": figure.html(), "text/plain": repr(figure)}


def test_a_figure_needs_no_network_and_has_no_ids():
    html = show_steps(schematic()).html()
    assert not re.search(r"\sid=|\.id\b|fetch\(|import\(|XMLHttpRequest", html)
    assert set(re.findall(r"https?://[\w./]+", html)) == {"http://www.w3.org/2000/svg"}  # the name of SVG


def test_steps_carry_their_captions_and_the_form_for_a_phone():
    wide = schematic(width=700)
    wide.narrow = schematic(width=300)
    data = given(show_steps(wide))
    assert data["captions"] == ["one", "two"]
    assert base64.b64decode(data["narrow"].split(",")[1]).decode() == wide.narrow.svg()
    wide.narrow = schematic(captions=("one", "another"))
    with pytest.raises(ValueError, match="same steps"):
        show_steps(wide)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_data_must_be_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        Figure(schematic(), "a box", "steps", {"numbers": [1.0, bad]})
    with pytest.raises(ValueError, match=r"weights must hold finite.*\(1,\)"):
        rounded([1.0, bad], name="weights")


def test_a_figure_that_is_too_large_or_says_nothing_is_refused():
    with pytest.raises(ValueError, match="300 KB"):
        Figure(schematic(), "a box", "steps", {"text": "x" * MOST_BYTES})
    with pytest.raises(ValueError, match="words"):
        Figure(schematic(), " ", "steps", {})


def test_numbers_are_rounded_and_keep_their_shape():
    assert rounded([[1 / 3, -0.00001], [2, 5.55555]]) == [[0.3333, 0.0], [2.0, 5.5556]]
    assert significant([[0.000123456], [98765.4]]) == [[0.0001235], [98770.0]]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_can_be_read(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("// ") and len(lines) < 400 and max(map(len, lines)) <= 120
