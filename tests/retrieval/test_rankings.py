"""Rankings: sorted, measured, fused and reranked; the measures by hand, and equal to scikit-learn's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertcourse.retrieval import (
    Collection,
    CrossEncoder,
    TrainingPair,
    fuse,
    ndcg,
    rank,
    recall_at,
    reciprocal_rank,
    rerank,
    training_pairs,
)

COLLECTION = Collection(
    {"p": "a b", "s": "c d", "t": "e f"}, {"q": "a", "r": "c"}, {"q": {"p": 1, "s": 0}, "r": {"s": 1, "t": 2}}
)


def test_best_first_and_of_equal_ones_the_earlier():
    scores = np.array([[0.1, 0.3, 0.2], [1.0, 2.0, 2.0]])
    assert rank(scores, COLLECTION) == {"q": ["s", "t", "p"], "r": ["s", "t", "p"]}
    assert rank(torch.tensor(scores), COLLECTION, k=1) == {"q": ["s"], "r": ["s"]}


def test_fusion_by_hand():
    # with k = 1: x 1/2 + 0, y 1/3 + 1/2, z 1/4 + 1/3
    assert fuse({"q": ["x", "y", "z"]}, {"q": ["y", "z"]}, k=1) == {"q": ["y", "z", "x"]}


def test_a_tie_prefers_no_search():
    first, second = {"q": ["x", "y"]}, {"q": ["y", "x"]}
    assert fuse(first, second) == fuse(second, first)


def test_fusion_of_one_search_changes_nothing():
    assert fuse({"q": ["x", "y"], "r": []}) == {"q": ["x", "y"], "r": []}


@pytest.fixture
def judge(small_model, small_tokenizer):
    return CrossEncoder(small_model, small_tokenizer)


def test_only_the_first_are_read_again(judge):
    rankings = {"q": ["s", "t", "p"], "r": ["t", "p", "s"]}
    reranked = rerank(judge, COLLECTION, rankings, depth=2)
    assert {query: set(ranking[:2]) for query, ranking in reranked.items()} == {"q": {"s", "t"}, "r": {"t", "p"}}
    assert [ranking[2] for ranking in reranked.values()] == ["p", "s"]
    for query, ranking in reranked.items():
        first, second = judge.scores([(COLLECTION.queries[query], COLLECTION.passages[each]) for each in ranking[:2]])
        assert first >= second


def test_pairs_are_what_is_relevant():
    assert training_pairs(COLLECTION) == [TrainingPair("a", "a b"), TrainingPair("c", "c d"), TrainingPair("c", "e f")]


RANKING, GRADES = ["c", "a", "d", "b"], {"a": 2, "b": 1, "e": 1, "c": 0}


def test_measures_by_hand():
    assert reciprocal_rank(RANKING, GRADES) == 1 / 2
    assert recall_at(RANKING, GRADES, 2) == 1 / 3
    assert recall_at(RANKING, GRADES, 100) == 2 / 3
    best = 2 / 1 + 1 / np.log2(3) + 1 / 2
    assert ndcg(RANKING, GRADES, 10) == pytest.approx((2 / np.log2(3) + 1 / np.log2(5)) / best)
    assert ndcg(RANKING, GRADES, 1) == 0


def test_nothing_found_is_zero_and_the_best_ranking_is_one():
    assert reciprocal_rank(["x"], GRADES) == ndcg(["x"], GRADES) == ndcg([], GRADES) == 0
    assert ndcg(["a", "e", "b"], GRADES) == 1


def test_negative_grades_are_no_gain():
    assert ndcg(["x", "a"], {"a": 1, "x": -1}) == pytest.approx(1 / np.log2(3))


@pytest.mark.parametrize("seed", range(10))
def test_ndcg_equals_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    grades, scores = rng.integers(0, 4, 30), rng.normal(size=30)
    grades[0] = 1
    ranking = [str(i) for i in np.argsort(-scores)]
    relevance = {str(i): int(grade) for i, grade in enumerate(grades)}
    assert ndcg(ranking, relevance, 10) == pytest.approx(metrics.ndcg_score([grades], [scores], k=10))


@given(st.permutations(list("abcdef")), st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 3), min_size=1))
def test_no_ranking_scores_more_than_1(ranking, relevance):
    for score in (reciprocal_rank, ndcg, lambda *given: recall_at(*given, 10)):
        assert 0 <= score(ranking, relevance) <= 1 + 1e-12
