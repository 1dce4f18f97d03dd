"""BM25: by hand, equal to bm25s, and what its two numbers do."""

import math

import numpy as np
import pytest

from bertcourse.retrieval import BM25, reading_questions, words_of

PASSAGES = ["bees dance", "a dance for bees that dance", "no insects here"]


def test_by_hand():
    index = BM25(PASSAGES, k1=1.2, b=0.75)
    idf, mean = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)), 11 / 3
    first, second = (
        2 * idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean)),
        idf * (1 / (1 + 1.2 * (0.25 + 0.75 * 6 / mean)) + 2 / (2 + 1.2 * (0.25 + 0.75 * 6 / mean))),
    )
    np.testing.assert_allclose(index.scores("Bees dance!"), [first, second, 0])


@pytest.mark.parametrize("tokenize", [words_of, list])
def test_equals_bm25s_on_the_courses_questions(tokenize):
    bm25s = pytest.importorskip("bm25s")
    collection = reading_questions()
    passages = list(collection.passages.values())
    for k1, b in ((1.2, 0.75), (0.9, 0.4), (0, 0.4), (2, 0), (0.9, 1)):
        ours, theirs = BM25(passages, k1, b, tokenize), bm25s.BM25(method="lucene", k1=k1, b=b)
        theirs.index([tokenize(text) for text in passages], show_progress=False)
        for query in list(collection.queries.values())[:100]:
            words = [word for word in tokenize(query) if word in ours.postings]
            np.testing.assert_allclose(ours.scores(query), theirs.get_scores(words), rtol=1e-5, atol=1e-6)


def test_k1_0_counts_a_word_once_and_b_0_forgets_length():
    index = BM25(["x", "x x x x"], k1=0)
    assert index.scores("x")[0] == index.scores("x")[1]
    index = BM25(["x", "x and a great deal more than that"], b=0)
    assert index.scores("x")[0] == index.scores("x")[1]
    index = BM25(["x", "x and a great deal more than that"])
    assert index.scores("x")[0] > index.scores("x")[1]


def test_rare_words_tell_more_and_unknown_ones_nothing():
    index = BM25(["the bee", "the ant", "the wasp"])
    assert index.scores("bee")[0] > index.scores("the")[0] > 0
    assert not index.scores("unheard of").any()
    assert not index.scores("").any()


def test_a_word_asked_twice_counts_twice():
    index = BM25(PASSAGES)
    np.testing.assert_allclose(index.scores("bees bees"), 2 * index.scores("bees"))


def test_empty_passages_score_zero():
    assert BM25(["", "bee"]).scores("bee")[0] == 0
    assert not BM25(["", ""]).scores("bee").any()


def test_words_of_other_alphabets():
    assert words_of("Über 40 Μέλισσες, été_2!") == ["über", "40", "μέλισσες", "été", "2"]


def test_another_tokenizer():
    assert BM25(["abc"], tokenize=list).scores("b")[0] > 0
