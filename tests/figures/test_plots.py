"""Figures say in words what they draw, and refuse names that do not fit."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch

from bertcourse.figures import plots
from bertcourse.tokenization import Lattice

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_heatmap_draws_the_matrix_with_its_names():
    ax = plots.heatmap(torch.tensor([[0.0, 1.0], [0.25, 0.5]]), ["a", "b"], ["long name", "d"], "title", values=True)
    assert ax.images[0].get_array().tolist() == [[0.0, 1.0], [0.25, 0.5]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["long name", "d"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.texts] == ["0.00", "1.00", "0.25", "0.50"]


def test_heatmap_takes_any_tensor_and_any_array():
    matrix = torch.tensor([[0.0, 1.0]])
    for same in (matrix.bfloat16().requires_grad_(), matrix.int(), matrix.numpy()):
        assert plots.heatmap(same, ["a"], ["b", "c"]).images[0].get_array().tolist() == [[0.0, 1.0]]


def test_numbers_in_cells_can_be_read_on_their_colour():
    ax = plots.heatmap(torch.tensor([[0.0, 1.0]]), ["a"], ["b", "c"], values=True)
    assert [text.get_color() for text in ax.texts] == ["white", "black"]


def test_attention_map_says_who_attends_most_to_whom():
    weights = torch.tensor([[0.1, 0.9], [0.7, 0.3]], requires_grad=True)
    assert plots.attention_map(weights, ["it", "dog"]) == "it → dog 0.90, dog → it 0.70"


def test_seeded_lines_have_one_colour_and_one_label_a_kind():
    ax = plots.seeded_lines({"a": [[1, 2], [2, 3]], "b": [[0, 1]]})
    assert [line.get_color() for line in ax.lines] == [plots.COLORS[0], plots.COLORS[0], plots.COLORS[1]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_style_uses_the_colours_of_the_course():
    plots.use_course_style()
    assert [entry["color"] for entry in plt.rcParams["axes.prop_cycle"]] == plots.COLORS


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"a row for each of 3 names and a column for each of 2; got shape \(2, 2\)"):
        plots.heatmap(torch.zeros(2, 2), list("abc"), list("de"))
    with pytest.raises(ValueError, match="at most 7 kinds of line can be told apart; got 8"):
        plots.seeded_lines({str(i): [[0.0]] for i in range(8)})


def test_token_boxes_are_as_wide_as_their_tokens():
    ax = plots.token_boxes({"first": ["▁set", "s"], "second": ["a"]})
    assert [box.get_width() for box in ax.patches] == [5, 2, 2]
    assert [box.get_x() for box in ax.patches] == [0, 5, 0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first", "second"]
    with pytest.raises(ValueError, match="at least one row"):
        plots.token_boxes({})


def test_a_token_stands_out_in_its_row():
    ax = plots.token_boxes({"first": ["a", "b"], "second": ["a"]}, highlight={"first": "a"})
    strong, weak, other = (box.get_facecolor() for box in ax.patches)
    assert strong != weak == other


def test_lattice_draws_an_arc_for_each_token_and_the_best_path_thick():
    lattice = Lattice("ab", {"a": -1.0, "b": -1.0, "ab": -3.0})
    ax = plots.lattice("ab", lattice.edges, lattice.best_path())
    assert sorted(arc.get_linewidth() for arc in ax.patches) == [1.0, 2.5, 2.5]
    assert sorted(arc.width for arc in ax.patches) == [1, 1, 2]
    assert {text.get_text() for text in ax.texts} == {"a", "b", "a\n-1.0", "b\n-1.0", "ab\n-3.0"}


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


def test_trellis_has_a_line_for_each_allowed_step_and_a_thick_one_for_each_path():
    forbidden = torch.tensor([[False, True], [False, False]])
    ax = plots.trellis(["a", "b", "c"], ["O", "I-X"], torch.zeros(3, 2), forbidden, {"best": [0, 0, 1]})
    thick = [line for line in ax.lines if line.get_linewidth() == 3]
    assert len(ax.lines) == 2 * 3 + 1 and list(thick[0].get_ydata()) == [0, 0, 1]
    assert len(ax.texts) == 6
    with pytest.raises(ValueError, match="shape .3, 2.; got .2, 2."):
        plots.trellis(["a", "b", "c"], ["O", "I-X"], torch.zeros(2, 2), forbidden, {})


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


def test_a_figure_is_shown_with_its_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "display", lambda data, raw: shown.append(data))
    plt.plot([1, 2])
    plots.show("A line that rises.")
    assert shown[0]["text/plain"] == "A line that rises."
    assert base64.b64decode(shown[0]["image/png"]).startswith(b"\x89PNG")
    assert not plt.get_fignums()  # it is closed, so that the kernel does not show it once more


def test_a_figure_without_words_is_refused():
    with pytest.raises(ValueError, match="alt"):
        plots.show(" ")
