"""BERT made to write: the figure shows each order's text after each step, and what the model thought of it."""

import math

import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.writing import MASK, Step, explore_writing_order
from live_figures import WIDTHS, numbers

TEXT = "[CLS] it <rains> now [SEP]".split()


def written(places: list[int], chances: list[float], words: list[str] = TEXT) -> list[Step]:
    """The words, written into these places one after another; the first and the last are given."""
    tokens, steps = [words[0], MASK, MASK, MASK, words[-1]], []
    for place, chance in zip(places, chances):
        tokens = [words[i] if i == place else token for i, token in enumerate(tokens)]
        steps.append((tokens, place, chance))
    return steps


ORDERS = {
    "left to right": written([1, 2, 3], [0.5, 0.25, 0.1]),
    "most certain first": written([3, 1], [0.9, 0.8], "[CLS] it was so [SEP]".split()),
    "again and again": [
        *written([2, 1, 3], [0.3, 0.4, 0.0]),
        ("[CLS] it snows now [SEP]".split(), 2, 0.7),
        ("[CLS] it snows now [SEP]".split(), 2, 0.7),
    ],
}


def test_what_is_given_are_places_words_and_probabilities():
    data = explore_writing_order(ORDERS).data
    name, start, steps = data["orders"][2]
    assert name == "again and again" and start == ["[CLS]", MASK, MASK, MASK, "[SEP]"]
    assert steps == [[2, "<rains>", 0.3], [1, "it", 0.4], [3, "now", 0.0], [2, "snows", 0.7], [2, "snows", 0.7]]
    tensors = [(tokens, torch.tensor(place), torch.tensor(chance)) for tokens, place, chance in ORDERS["left to right"]]
    assert explore_writing_order({"left to right": tensors}).data["orders"][0] == data["orders"][0]


def test_words_say_the_texts_and_how_surprising_they_were():
    said = repr(explore_writing_order(ORDERS))
    assert said.startswith("A text of 3 masks, filled. left to right: [CLS] it <rains> now [SEP] (")
    assert f"({-math.log(0.5 * 0.25 * 0.1) / 3:.2f} nats per step)" in said
    assert f"most certain first: [CLS] it [MASK] so [SEP] ({-math.log(0.9 * 0.8) / 2:.2f} nats per step)" in said


def test_what_does_not_fit_is_refused():
    (tokens, _, _), second, third = ORDERS["left to right"]
    with pytest.raises(ValueError, match="at least one order"):
        explore_writing_order({"none": []})
    with pytest.raises(ValueError, match=r"step 1 of 'a' names 2 of 5 and changes \[2, 3\]"):
        explore_writing_order({"a": [(tokens, 1, 0.5), (third[0], 2, 0.5)]})
    with pytest.raises(ValueError, match="between 0 and 1"):
        explore_writing_order({"a": [(tokens, 1, math.nan)]})
    with pytest.raises(ValueError, match="one length"):
        explore_writing_order({"a": [second], "b": [(["x"], 0, 0.5)]})


@pytest.mark.parametrize("width", WIDTHS)
def test_steps_and_orders_are_walked(shown, width):  # noqa: F811
    tab = shown(explore_writing_order(ORDERS), width=width)
    name, step = "left to right", 0

    def agrees() -> None:
        steps = ORDERS[name][:step]
        expected = steps[-1][0] if steps else ["[CLS]", MASK, MASK, MASK, "[SEP]"]
        assert tab.locator(".chip .word").all_text_contents() == expected
        when = {place: f"{number + 1}: {chance:.2f}" for number, (_, place, chance) in enumerate(steps)}
        assert tab.locator(".chip .when").all_text_contents() == [when.get(place, "") for place in range(5)]
        new = [place for place, chip in enumerate(tab.locator(".chip").all()) if "new" in chip.get_attribute("class")]
        assert new == ([steps[-1][1]] if step and step <= len(ORDERS[name]) else [])
        said = tab.locator(".say").inner_text()
        if steps:
            is_over = step > len(ORDERS[name])
            verb = "became" if is_over else "becomes"
            assert said.startswith(f"Step {step}, {name}: ")
            assert f"place {steps[-1][1] + 1} {verb} “{steps[-1][0][steps[-1][1]]}”" in said
            assert (f"done since step {len(steps)}" in said) == is_over
        else:
            assert said == f"Before the first step, {name}: 3 masks."
        for text, cost, all_steps in zip(
            tab.locator(".row .text").all_text_contents(),
            tab.locator(".row .cost").all_text_contents(),
            ORDERS.values(),
        ):
            taken = all_steps[:step]
            assert not taken or text.split() == [word.replace(MASK, "▁▁") for word in taken[-1][0]]
            mean = sum(-math.log(max(chance, 1e-9)) for *_, chance in taken) / max(len(taken), 1)
            assert numbers(cost) == ([pytest.approx(mean, abs=0.0051)] if taken else [])
        pressed = [row.get_attribute("aria-pressed") for row in tab.locator("button.row").all()]
        assert pressed.index("true") == list(ORDERS).index(name) and pressed.count("true") == 1

    agrees()
    tab.get_by_role("button", name="next step").click()
    step = 1
    agrees()
    tab.keyboard.press("ArrowRight")
    step = 2
    agrees()
    tab.get_by_role("button", name="again and again").click()
    name = "again and again"
    agrees()
    tab.get_by_role("slider", name="step").press("End")
    step = 5
    agrees()
    tab.get_by_role("button", name="most certain first").press("Enter")
    name = "most certain first"
    agrees()
    tab.keyboard.press("ArrowLeft")
    step = 4
    agrees()


def long_text() -> Figure:
    words = ["considerably"] * 40
    steps = [([*words[: i + 1], *[MASK] * (39 - i)], i, 1 / (i + 1)) for i in range(40)]
    return explore_writing_order({"left to right, as a decoder writes": steps, "b": steps[:5]})


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_the_screen(shown, width):  # noqa: F811
    tab = shown(explore_writing_order(ORDERS), long_text(), width=width)
    tab.get_by_role("slider", name="step").last.press("End")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
        [...host.shadowRoot.querySelectorAll('button, span')].filter((node) =>
            node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.outerHTML.slice(0, 90)))"""
    assert tab.evaluate(outside) == []
