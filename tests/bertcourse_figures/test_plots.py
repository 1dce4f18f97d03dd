"""Figures say in words what they draw, and refuse names that do not fit."""

import base64
from io import BytesIO

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from IPython.core.pylabtools import retina_figure
from PIL import Image

from bertcourse_figures import plots

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


@pytest.mark.parametrize(("colors", "expected"), [("viridis", ["white", "black"]), ("Blues", ["black", "white"])])
def test_numbers_in_cells_can_be_read_on_their_colour(colors, expected):
    with plt.rc_context({"image.cmap": colors}):
        ax = plots.heatmap(torch.tensor([[0.0, 1.0]]), ["a"], ["b", "c"], values=True)
    assert [text.get_color() for text in ax.texts] == expected


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


def test_a_figure_is_shown_with_its_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "display", lambda data, metadata, raw: shown.append((data, metadata)))
    plt.plot([1, 2])
    plots.show("A line that rises.")
    ((data, metadata),) = shown
    assert data["text/plain"] == metadata["image/png"]["alt"] == "A line that rises."
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert not plt.get_fignums()  # it is closed, so that the kernel does not show it once more


def test_a_picture_with_a_palette_is_smaller_and_looks_the_same():
    figure, ax = plt.subplots()
    plots.heatmap(torch.arange(12.0).reshape(3, 4), list("abc"), list("defg"), "heat", ax, values=True)
    before, _ = retina_figure(figure, bbox_inches="tight")
    after = plots.with_palette(before)
    pictures = [np.asarray(Image.open(BytesIO(png)).convert("RGB"), int) for png in (before, after)]
    assert len(after) < len(before) / 2 and pictures[0].shape == pictures[1].shape
    assert np.abs(pictures[0] - pictures[1]).max() <= 16  # of 255


def test_a_figure_without_words_is_refused():
    with pytest.raises(ValueError, match="alt"):
        plots.show(" ")
