"""The figures of chapter 0 together, as readers meet them: on any screen, without scripts, light and dark."""

import numpy as np
import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.plots import (
    explore_analogies,
    explore_recurrence,
    explore_window,
    show_axis,
    show_lookup,
    show_recurrence,
)
from browsers import serious_findings
from live_figures import PAGES, WIDTHS

LONG = ["antidisestablishmentarianism", "incomprehensibilities", *(f"word{number}" for number in range(46))]
INSIDE = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
    [...host.shadowRoot.querySelectorAll('text, button, .say, rect, svg, .row, .pair')].filter((node) => {
        const box = node.getBoundingClientRect();
        return box.width && (box.left < -1 || box.right > innerWidth + 1);
    }).map((node) => node.outerHTML.slice(0, 90)))"""


def everything() -> list[Figure]:
    """All of them, with as much as there is room for, and long words."""
    vectors, decay = torch.randn(48, 20), np.exp(-0.7 * np.arange(48))
    gradients = {"RNN": decay, "LSTM": decay**0.1, "attention": np.stack([decay**0.01] * 3)}
    negatives = np.array(LONG)[torch.randint(48, (24, 10, 6)).numpy()]
    tables = {"after an epoch": (vectors, vectors), "after ten epochs": (4 * vectors, vectors)}
    states = torch.cat([torch.zeros(1, 64), torch.randn(4, 64).tanh()])
    guesses = [[(LONG[0], 0.5), (LONG[1], 0.25), ("the", 0.004)]] * 4
    asked = [tuple(LONG[i : i + 4]) for i in range(10)]
    return [
        show_lookup(LONG, vectors, LONG[0]),
        show_lookup(LONG, vectors, "word4"),
        explore_window(LONG[:24], negatives, tables, LONG, start=(1, 5)),
        explore_window(["a", "b"], [[["c"], ["d"]], [["e"], ["f"]]], start=(0, 1)),
        show_recurrence(LONG[:4], vectors[:4], states, guesses),
        explore_recurrence(LONG, gradients, start=40),
        explore_recurrence(list("abcd"), {"RNN": np.ones(4)}),
        explore_analogies(LONG, vectors, asked, count=8),
        show_axis(LONG[:40], vectors[:40, 0], ("far to this end", "far to that")),
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen_nor_cut_off(shown, width):  # noqa: F811
    figures = everything()
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(INSIDE) == []
    tab.get_by_role("button", name="attention").click()
    for slider in tab.get_by_role("slider").all():
        slider.press("End")
    assert tab.evaluate(INSIDE) == []


def test_what_is_written_in_a_still_picture_stays_inside():
    for figure in everything():
        assert "id=" not in figure.still.svg()
        for x, y in (text.split('"')[1:4:2] for text in figure.still.svg().split("<text")[1:]):
            assert 0 <= float(x) <= 740 and 0 <= float(y) <= figure.still.height


@pytest.mark.parametrize("page, ink", PAGES)
def test_text_takes_the_colour_of_the_page_and_can_be_read(shown, page, ink):  # noqa: F811
    tab = shown(*everything(), style=f"body {{ background: {page}; color: {ink} }}")
    fills = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
        [...host.shadowRoot.querySelectorAll('svg text')].map((text) => getComputedStyle(text).fill))"""
    assert [color for color in tab.evaluate(fills) if color != ink and not color.startswith("oklab")] == []
    say = "(node) => getComputedStyle(node).color"
    assert {node.evaluate(say) for node in tab.locator(".say").all()} == {ink}
    found = serious_findings(tab)
    assert [each for each in found if each[0] not in ("document-title", "html-has-lang")] == []
