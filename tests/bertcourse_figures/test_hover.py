"""A scatter plot whose points have texts is a picture with its sentence; the texts are the script's."""

import base64
from xml.etree import ElementTree

import pytest

from bertcourse_figures import plots
from bertcourse_figures.hover import MARKS

SVG = "{http://www.w3.org/2000/svg}"


def points_of(figure: plots.Figure) -> list[ElementTree.Element]:
    """What is drawn for the points."""
    return [path for path in ElementTree.fromstring(figure.still.svg()).iter(f"{SVG}path") if path.get("data-at")]


def test_each_point_has_the_mark_and_colour_of_its_group_and_its_text():
    figure = plots.hover_scatter(
        [[0, 0], [1, 2], [2, 1]], ["a", "b", "a"], ["one", "<two> & more", "three"], "3 points"
    )
    first, second, third = points_of(figure)
    assert first.get("d") == third.get("d") == MARKS[0] and second.get("d") == MARKS[1]
    assert first.get("fill") == third.get("fill") != second.get("fill")
    assert figure.data["texts"] == ["one", "<two> & more", "three"] and figure.data["groups"] == ["a", "b", "a"]


def test_points_stand_where_they_are():
    figure = plots.hover_scatter([[0, 0], [1, 2], [2, 1]], ["a"] * 3, ["x"] * 3)
    places = [[float(number) for number in point.get("data-at").split()] for point in points_of(figure)]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert (x0, x2) == (20, 720) and x1 == 370
    assert y0 > y2 > y1 and y0 - y2 == pytest.approx(y2 - y1)  # upwards, as in any plot


def test_its_sentence_counts_the_points():
    figure = plots.hover_scatter([[0, 0], [1, 1]], ["a", "b"], ["x", "y"], "title", "b is higher.")
    assert repr(figure) == figure.still.alt == "Scatter plot, title: 2 points on a plane (1 a, 1 b). b is higher."


def test_a_phone_gets_a_narrower_drawing_with_the_same_points():
    names = ["a rather long name", "another rather long name", "and a third"]
    figure = plots.hover_scatter([[0, 0], [1, 1], [2, 0]], names, ["x", "y", "z"])
    narrow = ElementTree.fromstring(base64.b64decode(figure.data["narrow"].split(",")[1]))
    assert narrow.get("width") == "360"
    assert sum(path.get("data-at") is not None for path in narrow.iter(f"{SVG}path")) == 3
    assert len({text.get("y") for text in narrow.iter(f"{SVG}text")}) > 1  # the legend has more than one line


def test_points_that_coincide_are_drawn_and_what_does_not_fit_is_refused():
    first, second = points_of(plots.hover_scatter([[1, 1], [1, 1]], ["a", "a"], ["x", "y"]))
    assert first.get("data-at") == second.get("data-at")
    with pytest.raises(ValueError, match=r"got \(2, 2\), 1 and 2"):
        plots.hover_scatter([[1, 1], [1, 1]], ["a"], ["x", "y"])
    with pytest.raises(ValueError, match="at most 7 groups"):
        plots.hover_scatter([[i, i] for i in range(8)], "abcdefgh", "abcdefgh")
