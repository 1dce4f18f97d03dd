"""Figures of texts show what they are given, and refuse what does not fit."""

import matplotlib
import matplotlib.pyplot as plt
import pytest

from bertcourse_figures import plots

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_tag_table_colours_types_and_leaves_no_tag_blank():
    ax = plots.tag_table(["a", "bc", "d"], {"gold": ["B-X", "O", "B-Y"], "ours": ["B-X", None, "I-X"]}, marked=[1])
    boxes, (frame,) = [p for p in ax.patches if p.get_fill()], [p for p in ax.patches if not p.get_fill()]
    tags = [text.get_text() for text in ax.texts if text.get_position()[1] >= 0]  # the words stand above
    colors = {tag: box.get_facecolor() for tag, box in zip(tags, boxes, strict=True)}
    assert colors["B-X"] == colors["I-X"] != colors["B-Y"] and colors[""][3] == 0 < colors["O"][3]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["gold", "ours"]
    assert frame.get_x() == boxes[2].get_x()
    with pytest.raises(ValueError, match="a tag for each of 2 words"):
        plots.tag_table(["a", "b"], {"gold": ["O"]})


def test_answer_map_colours_starts_above_and_ends_below_and_underlines_the_answer():
    text = "It was six, wheels."
    places = [None, (0, 2), (3, 6), (7, 10), (10, 11), (12, 18), (18, 19)]
    start, end = [0.1, 0, 0, 0.9, 0, 0, 0], [0, 0, 0, 0.4, 0, 0.6, 0]
    ax = plots.answer_map(text, places, start, end, "A title", answer=(7, 10), columns=11)
    assert "".join(letter.get_text() for letter in ax.texts) == "It was six,wheels."  # two lines
    upper = {box.get_xy() for box in ax.patches if box.get_alpha() is None and box.get_facecolor()[3] > 0.8}
    assert upper == {(7, -0.5), (8, -0.5), (9, -0.5)}  # "six", the upper half of the first line
    lower = {box.get_xy() for box in ax.patches if 0.5 < box.get_facecolor()[3] < 0.6}
    assert lower == {(column, 1.0) for column in range(6)}  # "wheels", the lower half of the second
    assert len(ax.lines) == 3 and ax.get_title("left") == "A title"
    over_the_border = plots.answer_map(text, places, start, end, answer=(7, 18), columns=11)
    assert len(over_the_border.lines) == 3 + 1 + 6  # the space where the line was broken is not drawn
    plots.answer_map("one\ttwo three", [(0, 3), (4, 7), (8, 13)], [0, 0, 1], [0, 0, 1], answer=(0, 7), columns=8)
    with pytest.raises(ValueError, match="one for each of 7 tokens; got 1 and 7"):
        plots.answer_map(text, places, [1], end)
