"""Figures that answer to the mouse carry their texts, and are a picture with its sentence where scripts do not run."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from bertcourse.figures import plots


def picture_of(figure: plots.HoverFigure) -> str:
    """The SVG that a hover figure carries."""
    return base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', figure.data)[1]).decode()


def test_hover_scatter_has_a_circle_with_its_text_for_each_point():
    figure = picture_of(
        plots.hover_scatter([[0, 0], [1, 2], [2, 1]], ["a", "b", "a"], ["one", "<two> & more", "three"], "3 points")
    )
    assert figure.count("<circle") == 3
    assert "<title>b: &lt;two&gt; &amp; more</title>" in figure
    assert figure.count(f'fill="{plots.COLORS[0]}" fill-opacity') == 2
    assert 'cx="20.0" cy="350.0"' in figure and 'cx="320.0" cy="50.0"' in figure  # low left, and the highest


def test_hover_scatter_is_a_picture_by_itself():
    figure = picture_of(plots.hover_scatter([[0, 0], [1, 1]], ["café", "b"], ["“one” & <two>", "x"], "a < b"))
    root = ElementTree.fromstring(figure)  # an image must be well-formed XML, with its namespace
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")] == ["café: “one” & <two>", "b: x"]


class Sanitized(HTMLParser):
    """What is left of HTML where scripts and SVG are not trusted: text, and images with their alt."""

    def __init__(self, page: str):
        super().__init__()
        self.text, self.images, self.in_script = "", [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.in_script = tag == "script"
        if tag == "img":
            self.images.append(dict(attributes)["alt"])

    def handle_endtag(self, tag):
        self.in_script = self.in_script and tag != "script"

    def handle_data(self, data):
        if not self.in_script:  # the tags of an <svg> would go, and the text between them stay
            self.text += data


def test_an_untrusted_hover_scatter_is_its_picture_and_no_wall_of_text():
    figure = plots.hover_scatter(
        [[0, 0], [1, 1]], ["a", "b"], ["a first sentence", "a second"], "title", "b is higher."
    )
    page = Sanitized(figure.data)
    assert page.text.strip() == ""
    assert page.images == [repr(figure)] == ["Scatter plot, title: 2 points on a plane (1 a, 1 b). b is higher."]
    assert " id=" not in figure.data and "http" not in figure.data  # two of them on a page, and no network


def test_hover_scatter_draws_points_that_coincide_and_refuses_what_does_not_fit():
    assert picture_of(plots.hover_scatter([[1, 1], [1, 1]], ["a", "a"], ["x", "y"])).count('cx="20.0"') == 2
    with pytest.raises(ValueError, match=r"got \(2, 2\), 1 and 2"):
        plots.hover_scatter([[1, 1], [1, 1]], ["a"], ["x", "y"])
    with pytest.raises(ValueError, match="at most 7 groups"):
        plots.hover_scatter([[i, i] for i in range(8)], "abcdefgh", "abcdefgh")
