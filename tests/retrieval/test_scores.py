"""The scores of rankings: by hand, and equal to scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcourse.retrieval.scores import (
    SCORES,
    average_precision,
    mean_scores,
    ndcg,
    query_scores,
    recall_at,
    reciprocal_rank,
)

RANKING, GRADES = ["c", "a", "d", "b"], {"a": 2, "b": 1, "e": 1, "c": 0}


def test_by_hand():
    assert reciprocal_rank(RANKING, GRADES) == 1 / 2
    assert recall_at(RANKING, GRADES, 2) == 1 / 3
    assert recall_at(RANKING, GRADES, 100) == 2 / 3
    assert average_precision(RANKING, GRADES) == pytest.approx((1 / 2 + 2 / 4 + 0) / 3)
    best = 2 / 1 + 1 / np.log2(3) + 1 / 2
    assert ndcg(RANKING, GRADES, 10) == pytest.approx((2 / np.log2(3) + 1 / np.log2(5)) / best)
    assert ndcg(RANKING, GRADES, 1) == 0


def test_nothing_found_is_zero_and_the_best_ranking_is_one():
    assert reciprocal_rank(["x"], GRADES) == ndcg(["x"], GRADES) == average_precision(["x"], GRADES) == 0
    assert ndcg(["a", "e", "b"], GRADES) == average_precision(["a", "b", "e"], GRADES) == 1


def test_negative_grades_are_no_gain():
    assert ndcg(["x", "a"], {"a": 1, "x": -1}) == pytest.approx(1 / np.log2(3))


@pytest.mark.parametrize("seed", range(10))
def test_equals_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    grades, scores = rng.integers(0, 4, 30), rng.normal(size=30)
    grades[0] = 1
    ranking = [str(i) for i in np.argsort(-scores)]
    relevance = {str(i): int(grade) for i, grade in enumerate(grades)}
    assert ndcg(ranking, relevance, 10) == pytest.approx(metrics.ndcg_score([grades], [scores], k=10))
    assert average_precision(ranking, relevance) == pytest.approx(metrics.average_precision_score(grades > 0, scores))


def test_mean_over_queries():
    relevance = {"q": {"a": 1}, "r": {"a": 1}}
    rankings = {"q": ["a"], "r": ["b", "a"], "not judged": ["b"]}
    each = query_scores(rankings, relevance)
    assert list(each["q"]) == list(SCORES) and each["q"]["MRR"] == 1
    assert mean_scores(rankings, relevance) == pytest.approx(
        {"MRR": 0.75, "nDCG@10": (1 + 1 / np.log2(3)) / 2, "recall@10": 1, "recall@100": 1, "AP": 0.75}
    )


@pytest.mark.parametrize(
    ("rankings", "relevance", "message"),
    [
        ({}, {}, "at least one"),
        ({"q": ["a"]}, {"q": {"a": 1}, "r": {"a": 1}}, "'r' has no ranking"),
        ({"q": ["b", "a", "a"]}, {"q": {"a": 1}}, "query 'q' has 'a' several times"),
        ({"q": "ab"}, {"q": {"a": 1}}, "list of ids"),
        ({"q": ["a"]}, {"q": {"a": 0}}, "grade above 0"),
    ],
)
def test_refuses(rankings, relevance, message):
    with pytest.raises(ValueError, match=message):
        query_scores(rankings, relevance)


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_a_place(k):
    for score in (recall_at, ndcg):
        with pytest.raises(ValueError, match="k be at least 1"):
            score(["a"], {"a": 1}, k)


SCORE = [reciprocal_rank, average_precision, ndcg, lambda ranking, relevance: recall_at(ranking, relevance, 10)]


@pytest.mark.parametrize("score", SCORE)
def test_a_repeated_passage_is_refused_and_not_counted_twice(score):
    with pytest.raises(ValueError, match="several times"):
        score(["a", "b", "a"], {"a": 1})
    assert score(["a", "b"], {"a": 1}) == 1


@pytest.mark.parametrize("score", SCORE)
@pytest.mark.parametrize("ranking", ["abc", b"abc", None, 3])
def test_a_ranking_is_a_list_of_ids(score, ranking):
    with pytest.raises(ValueError, match="list of ids"):
        score(ranking, {"a": 1})


@given(st.permutations(list("abcdef")), st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 3), min_size=1))
def test_no_ranking_scores_more_than_1(ranking, relevance):
    assert all(0 <= score(ranking, relevance) <= 1 + 1e-12 for score in SCORE)
    assert ndcg(np.array(ranking), relevance) == ndcg(ranking, relevance)
