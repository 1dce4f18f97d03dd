"""A schematic is a well-formed picture with its numbers in it, and the same bytes each time."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from bertcourse_figures.schematic import ROLES, SHADES, Box, Schematic

SVG = "{http://www.w3.org/2000/svg}"


def elements(figure: Schematic, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(figure.svg()).iter(SVG + tag))


def texts(figure: Schematic) -> list[str]:
    return ["".join(element.itertext()) for element in elements(figure, "text")]


def drawing() -> Schematic:
    """A bit of everything."""
    figure = Schematic(400, 200, "A query & its <keys>.")
    figure.step("The query.")
    query = figure.vector(10, 10, [0.5, -1.0], 30, numbers=".1f", frame="query")
    figure.step("The keys.")
    keys = figure.matrix(200, 10, torch.tensor([[1.0, 2.0], [0.0, -3.0]]), 30)
    figure.arrow(query.at(1, 0.5), keys.at(0, 0.5), curve="across", flow=True)
    figure.arrow((10, 150), (100, 150), (100, 190), color="hot")
    figure.box(10, 60, 80, 30, "softmax", fill="plus")
    figure.bracket(200, 260, 90, "2 × 2")
    figure.text((50, 150), "q_bank · k_j\n<b> & “b”", "formula")
    return figure


def test_the_same_drawing_is_the_same_bytes():
    assert drawing().svg() == drawing().svg()


def test_it_is_well_formed_without_ids_and_all_its_text_is_escaped():
    figure = drawing()
    root = ElementTree.fromstring(figure.svg())
    assert root.get("aria-label") == figure.alt == "A query & its <keys>."
    assert any("<b> & “b”" in text for text in texts(figure))
    assert not re.search(r"\bid=|https?://(?!www\.w3\.org/2000/svg)", figure.svg())


def test_steps_hold_what_was_drawn_after_them():
    figure = drawing()
    assert figure.captions == ["The query.", "The keys."]
    groups = {group.get("data-step"): group for group in elements(figure, "g") if group.get("data-step")}
    assert list(groups) == ["0", "1", "2"]
    assert len(groups["0"]) == 0
    assert ["".join(text.itertext()) for text in groups["1"].iter(SVG + "text")] == ["0.5", "−1.0"]


def test_a_number_is_written_in_its_cell():
    figure = Schematic(100, 100, "Four numbers.")
    figure.matrix(10, 20, [[0.126, -0.126], [-0.001, 3]], 20, 10, numbers=".2f")
    written = {"".join(e.itertext()): (float(e.get("x")), float(e.get("y"))) for e in elements(figure, "text")}
    assert list(written) == ["0.13", "−0.13", "0.00", "3.00"]
    assert written["0.13"][0] == 20 and written["−0.13"][0] == 40  # middles of the columns
    assert written["3.00"][1] - written["−0.13"][1] == 10


def test_sign_is_colour_and_size_is_opacity():
    figure = Schematic(100, 100, "Four numbers.")
    figure.matrix(0, 0, [[1.0, 0.5, 0.0, -1.0]], 20)
    cells = [path for path in elements(figure, "path") if path.get("opacity")]
    strokes = {path.get("d"): (path.get("stroke"), float(path.get("opacity"))) for path in cells}
    assert "M2 0h1" not in strokes  # zero is the paper
    assert "--plus" in strokes["M0 0h1"][0] and "--minus" in strokes["M3 0h1"][0]
    assert strokes["M0 0h1"][1] == strokes["M3 0h1"][1] == 1 > strokes["M1 0h1"][1]
    assert len({f"{level / SHADES:.3f}" for level in range(SHADES)}) == SHADES


def test_every_colour_is_a_role_with_a_colour_for_picture_files():
    used = set(re.findall(r"var\(--(\w+),(#\w+)\)", drawing().svg()))
    assert used and all(ROLES[role].lower() == color.lower() for role, color in used)
    assert "currentColor" not in drawing().svg()  # which a picture file does not have


def luminance(color: str) -> float:
    """WCAG 2.2's relative luminance."""
    parts = np.array([int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("role", ["ink", "soft", "plus", "minus", "hot", "query", "key", "value"])
@pytest.mark.parametrize("behind", ["paper", "panel"])
def test_text_in_any_role_can_be_read(role, behind):
    assert (luminance(ROLES[behind]) + 0.05) / (luminance(ROLES[role]) + 0.05) > 4.5  # WCAG's AA


def test_boxes_are_returned_to_hang_the_next_thing_on():
    figure = Schematic(100, 100, "A box.")
    assert figure.vector(10, 20, np.ones(3), 8, 5) == Box(10, 20, 24, 5)
    assert figure.vector(10, 20, np.ones(3), 8, 5, vertical=True) == Box(10, 20, 8, 15)
    assert Box(10, 20, 24, 5).at(1, 0, dy=-2) == (34, 18)


def test_an_arrow_ends_at_its_last_point():
    figure = Schematic(100, 100, "An arrow.")
    figure.arrow((0, 0), (50, 0), (50, 40))
    line, head = (path.get("d") for path in elements(figure, "path"))
    assert line.startswith("M0 0L") and line.endswith("L50 40")
    assert head.startswith("M50 40L")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_cannot_be_drawn_is_named(bad):
    with pytest.raises(ValueError, match=r"finite.*\(0, 1\)"):
        Schematic(100, 100, "Numbers.").matrix(0, 0, [[1.0, bad]], 10)


def test_a_schematic_without_words_is_refused():
    with pytest.raises(ValueError, match="alt"):
        Schematic(100, 100, " ")
