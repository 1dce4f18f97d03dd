"""A headline above a figure, the state in which it opens, and text that a room and a phone can read."""

import re

import numpy as np
import pytest
import torch
from test_in_browser import everything, steps

from bertcourse_figures.blanks import explore_snapshots
from bertcourse_figures.bpe import explore_bpe
from bertcourse_figures.decoders import show_cross_attention
from bertcourse_figures.generation import explore_cache
from bertcourse_figures.hover import hover_scatter
from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.layers import explore_layers
from bertcourse_figures.reading import explore_question
from bertcourse_figures.schematic import Schematic
from bertcourse_figures.writing import explore_writing_order
from live_figures import NARROW, SMALLEST

HEADLINE = "*bank* listens to <tied> by the river"
PROJECTOR = {"width": 1280, "height": 720}


def small_print() -> Figure:
    """A drawing whose text is too small for anybody."""
    figure = Schematic(740, 400, "Small print.")
    figure.text((100, 100), "small print", size=6)
    return show_steps(figure)


def test_a_headline_stands_above_the_picture_and_in_what_is_compared():
    figure = steps().with_headline(HEADLINE)
    assert repr(figure).splitlines() == [HEADLINE, figure.words]
    shown = re.search(r"<p><strong>(.*?)</strong></p><img ", figure.html())[1]
    assert shown == "<em>bank</em> listens to &lt;tied&gt; by the river"
    assert "<strong>" not in steps().html()


def test_a_headline_is_drawn_once_for_readers_and_screen_readers(shown):
    tab = shown(steps().with_headline(HEADLINE), steps())
    heard = tab.locator(".headline")
    assert heard.count() == 1 and heard.inner_text() == "bank listens to <tied> by the river"
    assert heard.locator("em").inner_text() == "bank" and not tab.locator("p strong").is_visible()
    assert heard.bounding_box()["y"] < tab.locator(".stage > svg").first.bounding_box()["y"]
    tab.get_by_role("button", name="full screen").first.click()
    assert heard.is_visible()


def test_a_schematic_opens_at_the_step_that_is_asked_for(shown):
    tab = shown(steps().at_step(2))
    assert "2/3 Box two." in tab.locator(".say").inner_text()
    for figure, step in ((steps(), 4), (steps(), 0), (hover_scatter(np.zeros((1, 2)), ["a"], ["b"]), 1)):
        with pytest.raises(ValueError, match=f"got {step}"):
            figure.at_step(step)


MERGES = [("l", "o"), ("lo", "w")]
WRITTEN = {"any": [(["it", "[MASK]"], 0, 0.5), (["it", "rains"], 1, 0.25)]}
STATES = np.random.default_rng(0).normal(size=(4, 2, 8))
READINGS = {0: ["l", "o", "w"], 1: ["lo", "w"], 2: ["low"]}
MERGE_STEPS = [
    ({"low": READINGS[0]}, {("l", "o"): 2, ("o", "w"): 2}),
    ({"low": READINGS[1]}, {("lo", "w"): 2}),
    ({"low": READINGS[2]}, {}),
]
OPENINGS = [  # a figure that opens elsewhere than usual, and what it then says
    (
        lambda start: explore_bpe(MERGES, "low", READINGS, {"low": 2}, MERGE_STEPS, start=start),
        2,
        "Merge 2: lo + w",
        3,
    ),
    (
        lambda start: explore_cache(list("abc"), np.tril(np.ones((3, 3))) / [[1], [2], [3]], 8, start=start),
        2,
        "Step 2",
        3,
    ),
    (lambda start: show_cross_attention(["a", "b"], ["c", "d"], np.full((2, 2), 0.5), start), 2, "Writing “d”", 0),
    (
        lambda start: explore_layers(["a bank", "no bank"], STATES, "bank", ["x", "y"], layer=start),
        1,
        "layer 1 of 3",
        4,
    ),
    (lambda start: explore_writing_order(WRITTEN, start=start), 1, "Step 1", 3),
    (lambda start: hover_scatter(np.eye(2), ["a", "b"], ["one", "two"], start=start), 1, "b: two", None),
    (
        lambda start: explore_question(["Who", "won?"], "Ann", [(0, 3)], np.ones((3, 2, 1)), (0, 3), start=start),
        1,
        "Without “won?”",
        2,
    ),
    (
        lambda start: explore_snapshots(
            ["a", "b"], [0, 1], np.full((2, 2, 6), 1 / 6), list("abcdef"), [0, 1], [2, 1], start=start
        ),
        (1, 1),
        "“b” was hidden",
        (2, 0),
    ),
]


@pytest.mark.parametrize(("make", "start", "says", "impossible"), OPENINGS)
def test_a_figure_opens_where_its_author_wants(shown, make, start, says, impossible):
    tab = shown(make(start))
    assert says in tab.locator(".say").inner_text()
    if impossible is not None:
        with pytest.raises(ValueError, match="must be one of"):
            make(impossible)


def test_no_text_is_too_small_for_a_phone(shown):
    torch.manual_seed(0)
    tab = shown(*everything(), small_print(), width=NARROW)
    sizes = [host.evaluate(SMALLEST) for host in tab.locator("[data-live]").all()]
    assert min(sizes) >= 10.9
    assert sizes[-1] == pytest.approx(11, abs=0.1)  # not more than is needed


@pytest.mark.parametrize("width", [NARROW, 740])
def test_the_button_for_full_screen_takes_no_row_of_its_own(shown, width):
    words = "Who was the farmer that sold the rope to the painter of doors?".split()
    chances = np.ones((len(words) + 1, 2, 1))
    tab = shown(explore_question(words, "Ann", [(0, 3)], chances, (0, 3)), width=width)
    bar, full = tab.locator(".bar").bounding_box(), tab.locator(".full").bounding_box()
    last = tab.locator(".bar > button:not(.full)").last.bounding_box()
    assert last["y"] + last["height"] == pytest.approx(bar["y"] + bar["height"], abs=1)  # the last row has another
    assert bar["y"] <= full["y"] and full["y"] + full["height"] <= bar["y"] + bar["height"] + 1


def test_in_full_screen_a_room_can_read_all_of_it_and_no_text_becomes_smaller(shown):
    torch.manual_seed(0)
    tab = shown(*everything(), small_print())
    tab.set_viewport_size(PROJECTOR)
    for number, host in enumerate(tab.locator("[data-live]").all()):
        before = host.evaluate(SMALLEST)
        tab.get_by_role("button", name="full screen").nth(number).click()
        tab.wait_for_function("document.fullscreenElement !== null")
        tab.wait_for_timeout(50)
        assert host.evaluate(SMALLEST) >= max(17.9, before)
        assert host.evaluate("(host) => host.scrollHeight <= host.clientHeight + 1"), "all is seen at once"
        tab.evaluate("document.exitFullscreen()")
        tab.wait_for_function("document.fullscreenElement === null")
        tab.wait_for_timeout(50)
        assert host.evaluate(SMALLEST) == pytest.approx(before, abs=0.05)  # the page is as it was
