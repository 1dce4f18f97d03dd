"""Counts of neighbours, PPMI and SVD: by hand, against the plain form, against numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bertcourse.datasets.pairs import WordPairs, pack_pairs, unpack_pairs
from bertcourse.static_embeddings import (
    cooccurrence,
    count_pairs,
    frequent_words,
    ppmi,
    svd_vectors,
    word_ids,
    words_of,
)

TEXTS = ["The cat sat on the mat; the cat slept.", "A dog sat on the cat's mat, and the cat left.", "On the mat!"]


@pytest.fixture
def words():
    return frequent_words(TEXTS, 6)[0]


def test_words_are_counted_in_lower_case_and_the_most_frequent_come_first():
    words, counts = frequent_words(TEXTS, 4)
    assert words == ["the", "cat", "mat", "on"] and counts.tolist() == [6, 4, 3, 3]


@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("chunk", [2, 7, 4_000_000])
def test_fast_counts_equal_the_plain_ones(words, window, chunk, monkeypatch):
    monkeypatch.setattr("bertcourse.static_embeddings.counts_fast.CHUNK", chunk)
    ids = word_ids(TEXTS, words, gap=window)
    expected = cooccurrence([words_of(text) for text in TEXTS], words, window)
    np.testing.assert_array_equal(count_pairs(ids, len(words), window).toarray(), expected)
    assert expected.sum() > 20 and (expected == expected.T).all()


def test_no_window_reaches_into_the_next_text():
    ids = word_ids(["a b", "c"], ["a", "b", "c"], gap=3)
    assert count_pairs(ids, 3, 3).toarray()[2].sum() == 0
    assert count_pairs(word_ids(["a b", "c"], ["a", "b", "c"], gap=1), 3, 3).toarray()[2].sum() > 0


def test_nearer_neighbours_may_count_more():
    counts = count_pairs(np.array([0, 1, 2]), 3, 2, weights=[1, 0.5]).toarray()
    assert counts[0].tolist() == [0, 1, 0.5]


def test_ppmi_is_what_its_equation_says():
    counts = np.random.default_rng(0).integers(0, 9, (6, 6)).astype(float)
    joint = counts / counts.sum()
    context = counts.sum(0) ** 0.75 / (counts.sum(0) ** 0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(0, np.log(joint / (joint.sum(1, keepdims=True) * context)))
    np.testing.assert_allclose(ppmi(counts).toarray(), expected, atol=1e-12)
    np.testing.assert_allclose(ppmi(csr_array(counts)).toarray(), expected, atol=1e-12)


def test_smoothing_tames_rare_neighbours():
    counts = np.array([[0, 90, 1], [90, 0, 0], [1, 0, 0.0]])
    assert ppmi(counts, smoothing=0.75)[0, 2] < ppmi(counts, smoothing=1)[0, 2]


def test_svd_vectors_equal_numpys_and_their_products_come_closest():
    matrix = np.random.default_rng(0).random((8, 8))
    matrix += matrix.T
    left, values, _ = np.linalg.svd(matrix)
    ours = svd_vectors(matrix, 3, power=1)
    np.testing.assert_allclose(ours @ ours.T, (left * values**2 @ left.T) - _rest(left, values), atol=1e-8)
    assert (np.linalg.norm(ours, axis=0) == sorted(np.linalg.norm(ours, axis=0))[::-1]).all()
    assert (ours[np.abs(ours).argmax(0), range(3)] > 0).all()


def _rest(left, values):
    return left[:, 3:] * values[3:] ** 2 @ left[:, 3:].T


def test_svd_gives_the_same_vectors_again():
    matrix = csr_array(np.random.default_rng(0).random((30, 30)))
    np.testing.assert_array_equal(svd_vectors(matrix, 4), svd_vectors(matrix, 4))


def test_a_table_of_pairs_survives_packing(words):
    counts = count_pairs(word_ids(TEXTS, words, gap=4), len(words), 4)
    table = WordPairs.of(words, np.arange(6), counts, at_least=1)
    np.testing.assert_array_equal(table.matrix().toarray(), counts.toarray())
    for ours, expected in zip(unpack_pairs(pack_pairs(table), len(words)), table[2:]):
        np.testing.assert_array_equal(ours, expected)


def test_a_table_leaves_out_pairs_that_met_too_seldom(words):
    counts = count_pairs(word_ids(TEXTS, words, gap=4), len(words), 4)
    table = WordPairs.of(words, np.arange(6), counts, at_least=2)
    assert 0 < len(table.counts) < len(WordPairs.of(words, np.arange(6), counts, at_least=1).counts)
    assert table.counts.min() >= 2


def test_large_gaps_and_counts_are_packed_whole():
    table = WordPairs(
        list(map(str, range(12_000))),
        np.ones(12_000),
        np.array([0, 11_999], dtype=np.int32),
        np.array([0, 11_999], dtype=np.int32),
        np.array([3_000_000, 1], dtype=np.int32),
    )
    first, second, counts = unpack_pairs(pack_pairs(table), 12_000)
    assert first.tolist() == second.tolist() == [0, 11_999] and counts.tolist() == [3_000_000, 1]
