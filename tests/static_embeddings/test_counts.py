"""Counts of neighbours, PPMI and SVD: by hand, against the plain form, against numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bertcourse.datasets.pairs import WordPairs, pack_pairs, unpack_pairs
from bertcourse.static_embeddings import count_neighbours, ppmi, svd_vectors
from bertcourse_lab.counting import count_pairs, frequent_words, word_ids

TEXTS = ["The cat sat on the mat; the cat slept.", "A dog sat on the cat's mat, and the cat left.", "On the mat!"]


@pytest.fixture
def words():
    return frequent_words(TEXTS, 6)[0]


def test_neighbours_are_counted_on_both_sides_and_within_a_sentence():
    counts = count_neighbours([["a", "b", "a"], ["c"]], ["a", "b", "c"], window=2)
    assert counts.tolist() == [[2, 2, 0], [2, 0, 0], [0, 0, 0]]


def test_ppmi_is_what_its_equation_says():
    counts = np.random.default_rng(0).integers(0, 9, (6, 6)).astype(float)
    joint = counts / counts.sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(0, np.log(joint / np.outer(joint.sum(1), joint.sum(0))))
    np.testing.assert_allclose(ppmi(counts).toarray(), expected, atol=1e-12)
    np.testing.assert_allclose(ppmi(csr_array(counts)).toarray(), expected, atol=1e-12)


def test_svd_vectors_equal_numpys():
    matrix = np.random.default_rng(0).random((30, 30))
    left, values, _ = np.linalg.svd(matrix)
    ours, exact = svd_vectors(matrix, 25), left[:, :25] * values[:25] ** 0.5
    np.testing.assert_allclose(ours @ ours.T, exact @ exact.T, atol=1e-6)
    np.testing.assert_array_equal(ours, svd_vectors(matrix, 25))


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
