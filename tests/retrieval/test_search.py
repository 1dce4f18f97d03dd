"""Rankings: sorted, fused, reranked, and turned into what a model learns from."""

import itertools

import numpy as np
import pytest
import torch

from bertcourse.fine_tuning import SequenceClassifier
from bertcourse.retrieval import RELEVANCE, TrainingPair, fuse, labeled_pairs, rank, rerank, training_pairs
from bertcourse.retrieval.collection import Collection

COLLECTION = Collection(
    {"p": "a b", "s": "c d", "t": "e f"}, {"q": "a", "r": "c"}, {"q": {"p": 1, "s": 0}, "r": {"s": 1, "t": 2}}
)


def test_best_first_and_of_equal_ones_the_earlier():
    scores = np.array([[0.1, 0.3, 0.2], [1.0, 2.0, 2.0]])
    assert rank(scores, COLLECTION) == {"q": ["s", "t", "p"], "r": ["s", "t", "p"]}
    assert rank(torch.tensor(scores), COLLECTION, k=1) == {"q": ["s"], "r": ["s"]}
    assert rank(torch.tensor(scores, requires_grad=True), COLLECTION, k=1) == {"q": ["s"], "r": ["s"]}
    for dtype in (bool, np.uint8, np.int64):  # 0 0 0 and 1 2 2, or True three times
        assert rank(scores.astype(dtype), COLLECTION)["q"] == ["p", "s", "t"]
    assert rank(scores.astype(np.uint8), COLLECTION)["r"] == ["s", "t", "p"]


@pytest.mark.parametrize(
    ("scores", "k", "message"),
    [
        (np.zeros((2, 2)), 5, r"shape \(2, 2\)"),
        (np.full((2, 3), np.nan), 5, "6 of them nan"),
        (np.zeros((2, 3)), 0, "k must be"),
    ],
)
def test_rank_refuses(scores, k, message):
    with pytest.raises(ValueError, match=message):
        rank(scores, COLLECTION, k)


def test_fusion_by_hand():
    # with k = 1: x 1/2 + 0, y 1/3 + 1/2, z 1/4 + 1/3
    assert fuse({"q": ["x", "y", "z"]}, {"q": ["y", "z"]}, k=1) == {"q": ["y", "z", "x"]}


def test_a_tie_prefers_no_search():
    first, second = {"q": ["x", "y"]}, {"q": ["y", "x"]}
    assert fuse(first, second) == fuse(second, first)


def test_the_order_of_the_searches_does_not_matter():
    """x at places 1, 2 and 7, y at 2, 7 and 1: sums in another order differ in the last bit."""
    others = [f"o{i}" for i in range(5)]
    rankings = (["x", "y", *others], ["o0", "x", *others[1:], "y"], ["y", *others, "x"])
    found = {tuple(fuse(*({"q": each} for each in order))["q"]) for order in itertools.permutations(rankings)}
    assert len(found) == 1
    with pytest.raises(ValueError, match="k must be at least 0; got -1"):
        fuse({"q": ["x"]}, k=-1)


def test_fusion_of_one_search_changes_nothing():
    assert fuse({"q": ["x", "y"], "r": []}) == {"q": ["x", "y"], "r": []}


@pytest.mark.parametrize("searches", [(), ({"q": ["x"]}, {"r": ["x"]})])
def test_fusion_needs_the_same_queries(searches):
    with pytest.raises(ValueError, match="same queries"):
        fuse(*searches)


@pytest.mark.parametrize(("ranking", "message"), [("xy", "list of ids"), (["x", "y", "x"], "'x' several times")])
def test_fusion_refuses(ranking, message):
    with pytest.raises(ValueError, match=message):
        fuse({"q": ranking}, {"q": ["x"]})


@pytest.fixture
def judge(small_model, small_tokenizer):
    return SequenceClassifier(small_model, small_tokenizer, RELEVANCE)


def test_only_the_first_are_read_again(judge):
    rankings = {"q": ["s", "t", "p"], "r": ["t", "p", "s"]}
    reranked = rerank(judge, COLLECTION, rankings, depth=2)
    assert {query: set(ranking[:2]) for query, ranking in reranked.items()} == {"q": {"s", "t"}, "r": {"t", "p"}}
    assert [ranking[2] for ranking in reranked.values()] == ["p", "s"]
    for query, ranking in reranked.items():
        odds = judge.probabilities([(COLLECTION.queries[query], COLLECTION.passages[each]) for each in ranking[:2]])[
            :, 1
        ]
        assert odds[0] >= odds[1]


def test_rerank_refuses(judge, small_model, small_tokenizer):
    with pytest.raises(ValueError, match="depth"):
        rerank(judge, COLLECTION, {"q": ["s"]}, depth=0)
    with pytest.raises(ValueError, match="list of ids"):
        rerank(judge, COLLECTION, {"q": "st"})
    other = SequenceClassifier(small_model, small_tokenizer, RELEVANCE[::-1])
    with pytest.raises(ValueError, match="labels"):
        rerank(other, COLLECTION, {"q": ["s"]})


def test_pairs_with_what_a_search_got_wrong():
    rankings = {"q": ["s", "p", "t"], "r": ["p", "s", "t"]}
    assert training_pairs(COLLECTION, rankings, negatives=1) == [
        TrainingPair("a", "a b", ("c d",)),
        TrainingPair("c", "c d", ("a b",), ("e f",)),
        TrainingPair("c", "e f", ("a b",), ("c d",)),
    ]
    assert training_pairs(COLLECTION)[0] == TrainingPair("a", "a b")


def test_negatives_come_from_somewhere():
    with pytest.raises(ValueError, match="come from rankings"):
        training_pairs(COLLECTION, negatives=2)
    with pytest.raises(ValueError, match="negatives must be at least 0"):
        training_pairs(COLLECTION, {"q": ["s", "t"]}, negatives=-1)


def test_labels_for_a_cross_encoder():
    pairs = [TrainingPair("a", "a b", ("c d", "e f")), TrainingPair("c", "c d", ("a b",))]
    examples = labeled_pairs(pairs)
    assert sorted(examples) == sorted(
        [
            (("a", "a b"), "relevant"),
            (("a", "c d"), "irrelevant"),
            (("a", "e f"), "irrelevant"),
            (("c", "c d"), "relevant"),
            (("c", "a b"), "irrelevant"),
        ]
    )
    assert labeled_pairs(pairs) == examples != labeled_pairs(pairs, seed=1)
    with pytest.raises(ValueError, match="pairs must have negatives"):
        labeled_pairs([TrainingPair("a", "a b")])


def test_a_string_is_no_list_of_negatives():
    """It would be read as negatives of one letter each."""
    with pytest.raises(ValueError, match="pair 0 must be a TrainingPair"):
        labeled_pairs([TrainingPair("a", "a b", "wrong")])
