"""The figures of pretraining: what they say is what was hidden and computed, and the browser follows each move."""

import numpy as np
import pytest
import torch

from bertcourse_figures.blanks import (
    explore_masking_rate,
    explore_snapshots,
    hidden_at,
    show_masking,
    show_pretraining_heads,
)
from bertcourse_figures.interactive import Figure
from live_figures import WIDTHS, numbers

TOKENS = "[CLS] they pulled the can ##oe up on the shore . [SEP]".split()
SHOWN = "[CLS] they [MASK] the [MASK] ##oe up fire the shore . [SEP]".split()
CHOSEN = [2, 4, 7, 9]
TEXT = "mark came to the shore . he hates his canoe .".split()
PLACES = [6, 7, 9]
VOCABULARY = sorted({*TEXT, "she", "likes", "loan", "[MASK]"})


def test_masking_counts_what_became_of_the_chosen():
    figure = show_masking(TOKENS, SHOWN, CHOSEN)
    captions = figure.data["captions"]
    assert captions[1].startswith("4 of them are chosen: pulled, can, on, shore.")
    assert captions[2].endswith("2 here.") and "on → fire" in captions[3] and "as they are: shore." in captions[4]
    assert "none this time" in show_masking(TOKENS, TOKENS, [2]).data["captions"][3]
    with pytest.raises(ValueError, match="only chosen ones may change"):
        show_masking(TOKENS, SHOWN, CHOSEN[1:])


def heads() -> Figure:
    states = torch.randn(len(TOKENS), 16, generator=torch.Generator().manual_seed(0))
    return show_pretraining_heads(TOKENS, states, 9, {"shore": 0.5, "beach": 0.2}, ("shore", 0.5), 0.8, False)


def test_the_losses_of_both_heads_are_minus_the_logarithms():
    captions = heads().data["captions"]
    mlm, nsp = -np.log(0.5), -np.log(1 - 0.8)
    assert f"{mlm:.2f} nats" in captions[3] and f"this loss is {nsp:.2f} nats" in captions[5]
    assert numbers(captions[6])[0] == pytest.approx(mlm + nsp, abs=0.006)
    with pytest.raises(ValueError, match=r"shape \(L, D\)"):
        show_pretraining_heads(TOKENS, torch.zeros(3, 16), 9, {}, ("shore", 0.5), 0.8, True)
    for probability, follows, is_next in ((0.0, 0.5, True), (0.5, 0.0, True), (0.5, 1.0, False)):
        with pytest.raises(ValueError, match="a probability above 0"):
            show_pretraining_heads(TOKENS, torch.ones(len(TOKENS), 16), 9, {}, ("shore", probability), follows, is_next)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("figure", [heads(), show_masking(TOKENS, SHOWN, CHOSEN)], ids=["heads", "masking"])
def test_steps_of_pretraining_fit_on_any_screen(shown, figure, width):  # noqa: F811
    tab = shown(figure, width=width)
    tab.get_by_role("button", name="step 3").click()
    assert tab.locator("[data-step].later").count() == len(figure.data["captions"]) - 3
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def snapshots() -> tuple[Figure, np.ndarray, np.ndarray]:
    logits = torch.randn(4, len(PLACES), len(VOCABULARY), generator=torch.Generator().manual_seed(5))
    logits[-1, range(len(PLACES)), [VOCABULARY.index(TEXT[place]) for place in PLACES]] += 6
    probabilities, losses = logits.softmax(dim=-1).numpy(), np.array([3.0, 2.5, 1.5, 1.0])
    figure = explore_snapshots(TEXT, PLACES, probabilities, VOCABULARY, [0.0, 0.5, 1.0, 1.6], losses)
    return figure, probabilities, losses


def test_the_words_say_how_probable_the_truth_was_first_and_last():
    figure, probabilities, losses = snapshots()
    truth = [[VOCABULARY.index(TEXT[place])] for place in PLACES]
    expected = [[round(float(each), 2) for each in probabilities[[0, -1], blank, at]] for blank, at in enumerate(truth)]
    assert np.reshape(numbers(repr(figure)), (-1, 2)).tolist() == expected
    with pytest.raises(ValueError, match="a loss for each snapshot"):
        explore_snapshots(TEXT, PLACES, probabilities, VOCABULARY, [0, 1, 2, 3], losses[1:])


@pytest.mark.parametrize("width", WIDTHS)
def test_scrubbing_shows_what_the_model_put_into_the_blanks_then(shown, width):  # noqa: F811
    figure, probabilities, losses = snapshots()
    tab = shown(figure, width=width)
    slider = tab.get_by_role("slider", name="tokens read")
    for move, now in ((None, 0), ("ArrowRight", 1), ("End", 3), ("ArrowLeft", 2)):
        if move:
            slider.press(move)
        first = [VOCABULARY[place] for place in probabilities[now].argmax(axis=-1)]
        assert tab.locator(".blank").all_inner_texts() == first
        for blank, place in enumerate(PLACES):
            tab.get_by_role("button", name=f"blank {blank + 1}").click()
            best = np.argsort(-probabilities[now, blank])[:5]
            assert tab.locator(".row .name").all_text_contents() == [VOCABULARY[i] for i in best]
            drawn = [numbers(text)[0] for text in tab.locator(".row .value").all_text_contents()]
            np.testing.assert_allclose(drawn, probabilities[now, blank, best], atol=0.006)
            told = numbers(tab.locator(".say").inner_text().split("loss", 1)[1])
            truth = probabilities[now, blank, VOCABULARY.index(TEXT[place])]
            hits = sum(word == TEXT[at] for word, at in zip(first, PLACES))
            np.testing.assert_allclose(told, [losses[now], truth, hits, len(PLACES)], atol=0.006)
    assert tab.locator(".blank.right").count() == hits
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_training_is_played_to_its_end(shown):  # noqa: F811
    tab = shown(snapshots()[0])
    tab.clock.install()
    tab.get_by_role("button", name="play").click()
    tab.clock.run_for(5000)
    assert tab.get_by_role("slider").get_attribute("aria-valuetext") == "1.6 M"


def rate() -> Figure:
    order = np.random.default_rng(0).permutation(len(TEXT)).tolist()
    return explore_masking_rate(TEXT, order, {15: (1.31, 1.35), 50: (1.11, 1.16)})


def test_the_words_count_questions_and_words_left():
    assert "15 %: 2 questions, 9 words left, loss 1.31 to 1.35; 50 %: 6 questions, 5 words left" in repr(rate())
    with pytest.raises(ValueError, match="each of 2 to 60 places once"):
        explore_masking_rate(TEXT, [0, 1], {15: (1, 1)})
    with pytest.raises(ValueError, match="from 1 to 99 percent; got 100"):
        explore_masking_rate(TEXT, range(len(TEXT)), {15: (1, 1), 100: (9, 9)})


@pytest.mark.parametrize("width", WIDTHS)
def test_a_higher_rate_asks_more_and_leaves_less(shown, width):  # noqa: F811
    figure = rate()
    tab = shown(figure, width=width)
    for percent in (15, 1, 37, 50, 99):
        move = "(node, to) => { node.value = to; node.dispatchEvent(new Event('input')); }"
        tab.get_by_role("slider").evaluate(move, percent)
        count, said = hidden_at(percent, len(TEXT)), tab.locator(".say").inner_text()
        hidden = tab.locator(".token").evaluate_all("all => all.map(each => each.classList.contains('hidden'))")
        assert [place for place, is_hidden in enumerate(hidden) if is_hidden] == sorted(figure.data["order"][:count])
        left = len(TEXT) - count
        assert numbers(said)[:2] == [count, left]
        per = f"{left / count:.1f} for each question" if left >= count else f"one for every {round(count / left, 1):g}"
        assert per in said
        assert ("nats" in said) == (percent in (15, 50))
    tab.get_by_role("button", name="50 %").click()
    assert "1.11 to 1.16 nats" in tab.locator(".say").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("chosen", [[], [99], [-1]])
def test_places_that_are_not_there_are_refused(chosen):
    with pytest.raises(ValueError, match="chosen must be places"):
        show_masking(TOKENS, TOKENS, chosen)


def test_a_hidden_word_that_the_vocabulary_lacks_is_named():
    with pytest.raises(ValueError, match="every hidden word.*canoe"):
        explore_snapshots(["canoe"], [0], np.full((2, 1, 2), 0.5), ["shore", "boat"], [0.0, 1.0], [2.0, 1.0])
