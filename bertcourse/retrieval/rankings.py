"""Chapter 10: from scores to rankings, what a ranking is worth, and from two rankings to one.

A ranking is a list of passage ids, the best first. ``relevance`` has the grades of the passages that were judged: above
0 is relevant, and a passage that was not judged counts as 0, as in trec_eval.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from bertcourse.retrieval.collection import Collection
from bertcourse.retrieval.encoders import CrossEncoder

Rankings = dict[str, list[str]]


def rank(scores: np.ndarray | Tensor, collection: Collection, k: int = 1000) -> Rankings:
    """For each query, the ids of the k passages with the highest scores, best first; ties keep the passages' order.

    Args:
        scores: (queries, passages), in the order of the collection.
        collection: of these queries and passages.
        k: how many to keep.
    """
    passages = list(collection.passages)
    order = np.argsort(-np.asarray(scores), axis=1, kind="stable")[:, :k]
    return {query: [passages[i] for i in row] for query, row in zip(collection.queries, order, strict=True)}


def reciprocal_rank(ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """One over the rank of the first relevant passage; 0 if there is none.

    Paper:
        Voorhees 1999, "The TREC-8 Question Answering Track Report".

    >>> reciprocal_rank(["c", "a", "b"], {"a": 1, "b": 1})
    0.5
    """
    for place, passage in enumerate(ranking, start=1):
        if relevance.get(passage, 0) > 0:
            return 1 / place
    return 0.0


def recall_at(ranking: Sequence[str], relevance: Mapping[str, int], k: int) -> float:
    """The share of the relevant passages that are among the first k.

    Paper:
        Manning, Raghavan & Schütze 2008, "Introduction to Information Retrieval", section 8.4.

    >>> recall_at(["c", "a", "b"], {"a": 1, "b": 1}, k=2)
    0.5
    """
    relevant = {passage for passage, grade in relevance.items() if grade > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant)


def ndcg(ranking: Sequence[str], relevance: Mapping[str, int], k: int = 10) -> float:
    """Normalized discounted cumulative gain: Σ grade / log₂(place + 1) over the first k, divided by that of
    the best possible ranking.

    Args:
        ranking: ids, the best first.
        relevance: grades by id, at least one above 0.
        k: how far to look.

    Paper:
        Järvelin & Kekäläinen 2002, "Cumulated Gain-Based Evaluation of IR Techniques", with the grade itself as gain
        and the discount of trec_eval.

    >>> round(ndcg(["b", "a"], {"a": 3, "b": 1}), 3)  # (1/1 + 3/log₂3) / (3/1 + 1/log₂3)
    0.797
    """
    gains = [max(relevance.get(passage, 0), 0) for passage in ranking[:k]]
    best = sorted(relevance.values(), reverse=True)[:k]
    worth = [1 / math.log2(place + 1) for place in range(1, k + 1)]
    return float(np.dot(gains, worth[: len(gains)]) / np.dot(np.maximum(best, 0), worth[: len(best)]))


def fuse(*searches: Mapping[str, Sequence[str]], k: int = 60) -> Rankings:
    """Reciprocal rank fusion: a passage's score is Σ 1 / (k + place), over the searches that found it.

    Scores of different searches have different units; places have none. Ties are frequent (first and second here,
    second and first there); they are broken by id, so that no search is preferred.

    Args:
        searches: rankings for the same queries from each search.
        k: the larger it is, the less the first places count above the next.

    Returns:
        For each query, a ranking of everything that was found, best first.

    Paper:
        Cormack, Clarke & Büttcher 2009, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
        Methods".

    >>> fuse({"q": ["a", "b", "c"]}, {"q": ["c", "a"]})
    {'q': ['a', 'c', 'b']}
    """
    fused = {}
    for query in searches[0]:
        scores = Counter()
        for search in searches:
            for place, passage in enumerate(search[query], start=1):
                scores[passage] += 1 / (k + place)
        fused[query] = sorted(scores, key=lambda passage: (-scores[passage], passage))
    return fused


def rerank(
    judge: CrossEncoder, collection: Collection, rankings: Mapping[str, Sequence[str]], depth: int = 10
) -> Rankings:
    """Sort the first passages of each ranking again, by a cross-encoder's scores; the rest follow unchanged.

    Args:
        judge: reads query and passage together.
        collection: the one that was searched.
        rankings: passage ids for each query, best first.
        depth: how many passages to read: the cost is queries × depth runs of BERT.

    Paper:
        Nogueira & Cho 2019, "Passage Re-ranking with BERT", section 3.
    """
    sorted_again = {}
    for query, ranking in rankings.items():
        first = ranking[:depth]
        pairs = [(collection.queries[query], collection.passages[passage]) for passage in first]
        scores = dict(zip(first, judge.scores(pairs).tolist()))
        sorted_again[query] = sorted(first, key=lambda passage: -scores[passage]) + list(ranking[depth:])
    return sorted_again
