"""Kneser-Ney: probabilities that sum to one, by hand, and "San Francisco"."""

import math

import numpy as np
import pytest

from bertcourse_lab.ngrams import KneserNey

TEXTS = [text.split() for text in ("the cat sat on the mat", "the dog sat", "a cat saw the dog on the mat")]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("context", [[], ["the"], ["on", "the"], ["never", "seen"], "the dog sat on the".split()])
def test_probabilities_sum_to_one_and_each_is_above_zero(order, context):
    model = KneserNey(order).fit(TEXTS, vocabulary=["unseen"])
    found = model.distribution(context)
    assert found.sum() == pytest.approx(1) and found.min() > 0
    np.testing.assert_allclose(found, [model.probability(word, context) for word in model.vocabulary])


def test_a_bigram_by_hand():
    model = KneserNey(2, discount=0.5).fit(TEXTS)
    after = {(a, b) for text in TEXTS for a, b in zip([None, *text], text)}
    continuation = sum(b == "mat" for _, b in after)
    v = len({word for text in TEXTS for word in text})
    empty = (continuation - 0.5) / len(after) + 0.5 * v / len(after) / v
    followers = [b for text in TEXTS for a, b in zip(text, text[1:]) if a == "the"]
    expected = (followers.count("mat") - 0.5 + 0.5 * len(set(followers)) * empty) / len(followers)
    assert model.probability("mat", ["the"]) == pytest.approx(expected)


def test_a_word_that_only_follows_one_other_is_not_expected_after_a_third():
    """Both occur four times; but "francisco" always after "san", "house" after four words."""
    texts = [["san", "francisco"]] * 4 + [[word, "house"] for word in "abcd"]
    model = KneserNey(2).fit(texts, vocabulary=["new"])
    assert model.probability("house", ["new"]) > 2 * model.probability("francisco", ["new"])
    assert model.probability("francisco", ["san"]) > 0.8


def test_longer_contexts_tell_more_of_text_that_repeats():
    text = ("a x b y " * 30 + "c x d y " * 30).split()
    losses = [KneserNey(order).fit([text]).loss([text]) for order in (1, 2, 3)]
    assert losses == sorted(losses, reverse=True) and losses[2] < 0.5 * losses[0]


def test_loss_is_the_mean_of_all_words_with_the_start_of_the_text():
    model = KneserNey(3).fit(TEXTS)
    expected = [model.probability("the", [None, None]), model.probability("dog", [None, "the"])]
    assert model.loss([["the", "dog"]]) == pytest.approx(-sum(map(math.log, expected)) / 2)


def test_an_unknown_word_and_an_impossible_discount_are_refused():
    with pytest.raises(ValueError, match="vocabulary.*'cow'"):
        KneserNey(2).fit(TEXTS).probability("cow", ["the"])
    with pytest.raises(ValueError, match="discount"):
        KneserNey(2, discount=1)
