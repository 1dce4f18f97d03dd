"""The figures of a search: rankings are those of the package's BM25, matches those of its late interaction."""

import numpy as np
import pytest
import torch

from bertcourse.retrieval import BM25, late_interaction, words_of
from bertcourse_figures.interactive import Figure
from bertcourse_figures.search import explore_bm25, explore_late, show_three_ways
from live_figures import WIDTHS, numbers

TITLES = ["lock", "mill", "soap", "leaves"]
PASSAGES = [
    "the chamber of the lock fills and the force of the water opens no gate of the chamber at all",
    "the tide fills a pond and the pond turns the mill",
    "what is soap made of",
    "a force of habit makes leaves fall in the autumn of the year and in no other part of it",
]
QUERY, WORDS = "what force fills the chamber", ["what", "force", "fills", "the", "chamber"]


def idf_of(word: str) -> float:
    having = sum(word in words_of(passage) for passage in PASSAGES)
    return float(np.log(1 + (len(PASSAGES) - having + 0.5) / (having + 0.5)))


def bm25_figure() -> Figure:
    lengths = np.array([len(words_of(passage)) for passage in PASSAGES])
    counts = {word: [words_of(passage).count(word) for passage in PASSAGES] for word in WORDS}
    return explore_bm25(TITLES, lengths / lengths.mean(), {word: idf_of(word) for word in WORDS}, counts, right=0)


def test_the_words_say_what_the_package_ranks_first():
    scores = BM25(PASSAGES).scores(QUERY)
    order = np.argsort(-scores)
    said = ", ".join(f"{TITLES[i]} {scores[i]:.2f}" for i in order[:3])
    assert f"k1 1.2, b 0.75: {said}; lock at {list(order).index(0) + 1}." in repr(bm25_figure())


def test_passages_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="2 to 10 passages"):
        explore_bm25(["one"], [1.0], {"a": 1.0}, {"a": [1]}, right=0)
    with pytest.raises(ValueError, match="a length and a count for each word"):
        explore_bm25(["one", "two"], [1.0], {"a": 1.0}, {"a": [1, 2]}, right=0)


@pytest.mark.parametrize("width", WIDTHS)
def test_moving_k1_and_b_ranks_the_passages_anew(shown, width):  # noqa: F811
    tab = shown(bm25_figure(), width=width)
    sliders = tab.get_by_role("slider")
    for k1, b in ((1.2, 0.75), (0.0, 0.75), (3.0, 0.75), (0.5, 0.0), (2.0, 1.0)):
        for number, steps in enumerate((round(10 * k1), round(100 * b))):
            sliders.nth(number).evaluate(
                "(node, to) => { node.value = to; node.dispatchEvent(new Event('input')); }", steps
            )
        scores = BM25(PASSAGES, k1=k1, b=b).scores(QUERY)
        totals = [numbers(text)[0] for text in tab.locator(".passage > text:last-child").all_text_contents()]
        np.testing.assert_allclose(totals, scores, atol=0.012)
        places = tab.locator(".passage").evaluate_all("nodes => nodes.map(node => +node.dataset.place)")
        assert [TITLES[i] for i in np.argsort(places)] == [TITLES[i] for i in np.argsort(-scores, kind="stable")]
        told = tab.get_by_role("img", name="passages by their score").get_attribute("aria-label").split(": ")[1]
        assert [part.rsplit(" ", 1)[0] for part in told.split(", ")] == [TITLES[i] for i in np.argsort(places)]
        assert numbers(tab.locator(".say .place").inner_text()) == [places[0]]
        assert f"k1 = {k1:.1f}, b = {b:.2f}" in tab.locator(".say").inner_text()
    assert tab.locator(".passage").first.locator("rect title").all_text_contents() == list(WORDS)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


TOKENS, CONTEXT = ["[CLS]", "what", "force"], "[CLS] Water has a force. [SEP]"
PLACES = [(0, 5), (6, 11), (12, 15), (16, 17), (18, 23), (23, 24), (25, 30)]


def vectors() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    return tuple(
        torch.nn.functional.normalize(torch.randn(size, 16, generator=generator), dim=-1)
        for size in (len(TOKENS), len(PLACES))
    )


def test_the_sum_is_that_of_the_package():
    asked, told = vectors()
    said = repr(explore_late(TOKENS, CONTEXT, PLACES, asked @ told.T))
    assert numbers(said)[-1] == pytest.approx(float(late_interaction([asked], [told])[0, 0]), abs=0.006)
    with pytest.raises(ValueError, match=r"shape \(3, 7\)"):
        explore_late(TOKENS, CONTEXT, PLACES, (asked @ told.T)[:2])


@pytest.mark.parametrize("width", WIDTHS)
def test_choosing_a_token_shows_its_best_match(shown, width):  # noqa: F811
    asked, told = vectors()
    cosines = asked @ told.T
    tab = shown(explore_late(TOKENS, CONTEXT, PLACES, cosines, start=1), width=width)

    def agrees(chosen: int) -> None:
        best = int(cosines[chosen].argmax())
        assert tab.locator(".say .match").inner_text() == CONTEXT[slice(*PLACES[best])]
        told_numbers = numbers(tab.locator(".say").inner_text())
        assert told_numbers[0] == pytest.approx(float(cosines[chosen, best]), abs=0.006)
        assert told_numbers[-1] == pytest.approx(float(cosines.max(dim=1).values.sum()), abs=0.006)
        assert tab.locator(".found").all_text_contents() == [CONTEXT[slice(*PLACES[best])]]
        titles = tab.locator(".part[title]").evaluate_all("parts => parts.map(part => part.title)")
        np.testing.assert_allclose([numbers(title)[0] for title in titles], cosines[chosen], atol=0.006)

    agrees(1)
    tab.get_by_role("button", name="token force").click()
    agrees(2)
    tab.get_by_role("button", name="token [CLS]").focus()
    tab.keyboard.press("Enter")
    agrees(0)
    tab.get_by_role("button", name="token what").hover()
    agrees(1)
    assert "".join(tab.locator(".part").all_text_contents()) == CONTEXT
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_three_ways_have_a_caption_each_and_the_token_that_each_token_finds():
    captions = ["one vector", "a vector for each token", "one row"]
    figure = show_three_ways(["who", "douglass"], ["douglass", "an", "astronomer"], [2, 0], captions)
    assert all(caption in repr(figure) for caption in captions)
    assert figure.still.captions == figure.still.narrow.captions == captions
    with pytest.raises(ValueError, match="room for 4 and 6 tokens"):
        show_three_ways(["who"] * 5, ["an"], [0] * 5, captions)
    with pytest.raises(ValueError, match="each of the question has a best"):
        show_three_ways(["who"], ["an"], [0, 0], captions)
