"""WEAT by hand and by chance, the direction of gender, and what is left when it is gone."""

from itertools import combinations

import numpy as np
import pytest

from bertcourse.datasets import word_pairs
from bertcourse.static_embeddings import (
    WordVectors,
    associations,
    gender_direction,
    neighbours_gender,
    projections,
    weat,
    without_direction,
    word_lists,
)

X, Y, A, B = (["x1", "x2", "x3", "x4"], ["y1", "y2", "y3", "y4"], ["a1", "a2"], ["b1", "b2", "b3"])


def drawn(seed=0, pull=0.0, size=20):
    """Random vectors; those of X and A drawn to one side, those of Y and B to the other."""
    random, words = np.random.default_rng(seed), [*X, *Y, *A, *B]
    side = np.array([1 if word[0] in "xa" else -1 for word in words])
    matrix = random.normal(size=(len(words), size))
    matrix[:, 0] += pull * side
    return WordVectors(words, matrix)


def test_association_is_a_difference_of_mean_cosines():
    vectors = drawn()
    for word, found in zip(X, associations(vectors, X, A, B)):
        to_a, to_b = (np.mean([vectors.similarity(word, each) for each in words]) for words in (A, B))
        assert found == pytest.approx(to_a - to_b, abs=1e-6)


def test_effect_and_p_value_are_what_the_paper_says():
    vectors = drawn(1, pull=0.7)
    s = dict(zip([*X, *Y], associations(vectors, [*X, *Y], A, B)))
    statistic = sum(s[w] for w in X) - sum(s[w] for w in Y)
    divisions = list(combinations([*X, *Y], 4))
    as_large = [
        sum(s[w] for w in half) - sum(s[w] for w in s if w not in half) >= statistic - 1e-9 for half in divisions
    ]
    found = weat(vectors, X, Y, A, B)
    assert found.exact and found.divisions == 70
    assert found.statistic == pytest.approx(statistic) and found.p_value == pytest.approx(np.mean(as_large))
    assert found.effect_size == pytest.approx(statistic / 4 / np.std(list(s.values()), ddof=1))


def test_a_drawn_p_value_comes_close_to_the_exact_one(monkeypatch):
    vectors = drawn(2, pull=0.3)
    exact = weat(vectors, X, Y, A, B)
    monkeypatch.setattr("bertcourse.static_embeddings.bias.EXACT", 0)
    sampled = weat(vectors, X, Y, A, B, draws=5000)
    assert not sampled.exact and sampled.p_value == pytest.approx(exact.p_value, abs=0.03)
    assert sampled == weat(vectors, X, Y, A, B, draws=5000) != weat(vectors, X, Y, A, B, draws=5000, seed=1)


def test_where_there_is_no_association_small_p_values_are_rare():
    p_values = np.array([weat(drawn(seed), X, Y, A, B).p_value for seed in range(200)])
    assert 0.01 < (p_values <= 0.1).mean() < 0.2
    assert weat(drawn(0, pull=4), X, Y, A, B).p_value == pytest.approx(1 / 70)


def test_sides_change_the_sign():
    vectors = drawn(3, pull=0.5)
    assert weat(vectors, X, Y, A, B).effect_size == pytest.approx(-weat(vectors, Y, X, A, B).effect_size)
    assert weat(vectors, X, Y, A, B).effect_size == pytest.approx(-weat(vectors, X, Y, B, A).effect_size)


def test_words_without_a_vector_are_left_out_and_both_lists_stay_as_long():
    vectors = drawn(4)
    found = weat(vectors, [*X, "unknown"], Y[:3], A, B)
    assert found == weat(vectors, X[:3], Y[:3], A, B) and found.divisions == 20
    with pytest.raises(ValueError, match="x and y"):
        weat(vectors, ["unknown", "x1"], Y, A, B)


def gendered(seed=0):
    """Forty words, the first four in pairs; the second dimension is gender, the third goes with it."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(40, 8))
    matrix[:, 1] = np.where(np.arange(40) % 2, -1, 1) * random.uniform(0.5, 2, 40)
    matrix[:, 2] = 3 * matrix[:, 1]
    matrix[1], matrix[3] = matrix[0], matrix[2]
    matrix[1, 1], matrix[3, 1] = -matrix[0, 1], -matrix[2, 1]
    return WordVectors([f"w{i}" for i in range(40)], matrix)


def test_the_direction_of_one_pair_is_its_difference():
    vectors = gendered()
    difference = vectors.unit[0] - vectors.unit[1]
    found = gender_direction(vectors, [("w0", "w1")])
    np.testing.assert_allclose(found, difference / np.linalg.norm(difference), atol=1e-6)
    np.testing.assert_allclose(gender_direction(vectors, [("w1", "w0")]), -found, atol=1e-6)


def test_the_direction_of_several_pairs_has_the_first_words_on_its_positive_side():
    vectors = gendered()
    pairs = [("w0", "w1"), ("w2", "w3"), ("w4", "unknown")]
    direction = gender_direction(vectors, pairs)
    assert np.linalg.norm(direction) == pytest.approx(1) and abs(direction[1]) > 0.99
    first, second = projections(vectors, ["w0", "w2"], direction), projections(vectors, ["w1", "w3"], direction)
    assert (first > second).all()
    with pytest.raises(ValueError, match="pairs"):
        gender_direction(vectors, pairs[2:])


def test_nothing_of_the_direction_is_left_but_neighbours_still_tell():
    vectors = gendered()
    direction = gender_direction(vectors, [("w0", "w1")])
    after = without_direction(vectors, direction)
    np.testing.assert_allclose(projections(after, vectors.words, direction), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(after.matrix, axis=1), 1, atol=1e-6)
    gender, share = neighbours_gender(vectors, after, direction, vectors.words[4:], k=5)
    assert np.corrcoef(gender, share)[0, 1] > 0.7


def test_the_courses_lists_name_no_word_twice_and_balance():
    lists = word_lists()
    for name, words in lists.items():
        flat = [word for each in words for word in (each if name == "gender_pairs" else [each])]
        assert len(flat) == len(set(flat)), name
    for one, other in (("work", "home"), ("science", "arts"), ("strong", "weak"), ("flowers", "insects")):
        assert len(lists[one]) == len(lists[other]) == 8 and not set(lists[one]) & set(lists[other])
    assert len(lists["female"]) == len(lists["male"])


def test_the_table_of_pairs_has_all_words_of_the_courses_lists():
    known = set(word_pairs().words)
    for name, words in word_lists().items():
        flat = {word for each in words for word in (each if name == "gender_pairs" else [each])}
        assert flat <= known, (name, flat - known)


@pytest.mark.parametrize("pairs", [[("a", "a")], [("a", "b"), ("d", "c")]])
def test_pairs_that_cancel_out_have_no_direction(pairs):
    vectors = WordVectors(["a", "b", "c", "d"], [[1, 0], [0, 1], [1, 0], [0, 1]])
    with pytest.raises(ValueError, match="common direction"):
        gender_direction(vectors, pairs)
