"""WEAT by hand and by chance, and the course's lists."""

from itertools import combinations

import numpy as np
import pytest

from bertcourse.datasets import word_pairs
from bertcourse.static_embeddings import WordVectors, weat, word_lists

X, Y, A, B = (["x1", "x2", "x3", "x4"], ["y1", "y2", "y3", "y4"], ["a1", "a2"], ["b1", "b2", "b3"])


def drawn(seed=0, pull=0.0, size=20):
    """Random vectors; those of X and A drawn to one side, those of Y and B to the other."""
    random, words = np.random.default_rng(seed), [*X, *Y, *A, *B]
    side = np.array([1 if word[0] in "xa" else -1 for word in words])
    matrix = random.normal(size=(len(words), size))
    matrix[:, 0] += pull * side
    return WordVectors(words, matrix)


def test_effect_and_p_value_are_what_the_paper_says():
    vectors = drawn(1, pull=0.7)
    to = lambda word, words: np.mean([vectors.similarity(word, each) for each in words])  # noqa: E731
    s = {word: to(word, A) - to(word, B) for word in [*X, *Y]}
    apart = lambda half: np.mean([s[w] for w in half]) - np.mean([s[w] for w in s if w not in half])  # noqa: E731
    effect, p = weat(vectors, X, Y, A, B)
    assert effect == pytest.approx(apart(X) / np.std(list(s.values()), ddof=1), rel=1e-4)
    assert p == np.mean([apart(half) >= apart(X) - 1e-7 for half in combinations([*X, *Y], 4)])


def test_where_there_is_no_association_small_p_values_are_rare():
    p_values = np.array([weat(drawn(seed), X, Y, A, B)[1] for seed in range(200)])
    assert 0.01 < (p_values <= 0.1).mean() < 0.2
    assert weat(drawn(0, pull=4), X, Y, A, B)[1] == pytest.approx(1 / 70)


def test_words_without_a_vector_are_left_out_and_both_lists_stay_as_long():
    vectors = drawn(4)
    assert weat(vectors, [*X, "unknown"], Y[:3], A, B) == weat(vectors, X[:3], Y[:3], A, B)


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
