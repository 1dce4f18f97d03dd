"""Counts of millions of words equal the plain ones."""

import numpy as np
import pytest

from bertcourse.static_embeddings import count_neighbours, words_of
from bertcourse_lab.counting import count_pairs, frequent_words, word_ids

TEXTS = ["The cat sat on the mat; the cat slept.", "A dog sat on the cat's mat, and the cat left.", "On the mat!"]


def test_words_are_counted_in_lower_case_and_the_most_frequent_come_first():
    words, counts = frequent_words(TEXTS, 4)
    assert words == ["the", "cat", "mat", "on"] and counts.tolist() == [6, 4, 3, 3]


@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("chunk", [2, 7, 4_000_000])
def test_fast_counts_equal_the_plain_ones(window, chunk, monkeypatch):
    monkeypatch.setattr("bertcourse_lab.counting.CHUNK", chunk)
    words, _ = frequent_words(TEXTS, 99)
    ids = word_ids(TEXTS, words, gap=window)
    expected = count_neighbours([words_of(text) for text in TEXTS], words, window)
    np.testing.assert_array_equal(count_pairs(ids, len(words), window).toarray(), expected)
    assert expected.sum() > 20 and (expected == expected.T).all()


def test_no_window_reaches_into_the_next_text():
    ids = word_ids(["a b", "c"], ["a", "b", "c"], gap=3)
    assert count_pairs(ids, 3, 3).toarray()[2].sum() == 0
    assert count_pairs(word_ids(["a b", "c"], ["a", "b", "c"], gap=1), 3, 3).toarray()[2].sum() > 0


def test_nearer_neighbours_may_count_more():
    counts = count_pairs(np.array([0, 1, 2]), 3, 2, weights=[1, 0.5]).toarray()
    assert counts[0].tolist() == [0, 1, 0.5]
