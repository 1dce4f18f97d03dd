"""Chapter 10: from scores to rankings, and from two rankings to one.

``rank`` sorts, ``fuse`` merges the rankings of several searches, and ``rerank`` has the first few judged again, slowly
and well, by a cross-encoder, which reads query and passage together (Nogueira & Cho 2019, "Passage Re-ranking with
BERT").
"""

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from bertcourse.fine_tuning.classifiers import SequenceClassifier
from bertcourse.fine_tuning.readers import LabeledText
from bertcourse.retrieval.collection import Collection
from bertcourse.retrieval.encoders import TrainingPair, check_pairs
from bertcourse.retrieval.scores import check_ranking

RELEVANCE = ("irrelevant", "relevant")  # the classes of a cross-encoder


def rank(scores: np.ndarray | Tensor, collection: Collection, k: int = 1000) -> dict[str, list[str]]:
    """For each query, the ids of the k passages with the highest scores, best first; ties keep the passages' order.

    Args:
        scores: (queries, passages), in the order of the collection.
        collection: of these queries and passages.
        k: how many to keep.
    """
    scores = np.asarray(scores.detach().cpu().double() if isinstance(scores, Tensor) else scores, dtype=float)
    passages = list(collection.passages)
    if scores.shape != (len(collection.queries), len(passages)) or np.isnan(scores).any():
        raise ValueError(
            f"scores must be numbers, a row for each of {len(collection.queries)} queries and a column for each of "
            f"{len(passages)} passages; got shape {scores.shape}, {np.isnan(scores).sum()} of them nan."
        )
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return {query: [passages[i] for i in row] for query, row in zip(collection.queries, order)}


def fuse(*searches: Mapping[str, Sequence[str]], k: int = 60) -> dict[str, list[str]]:
    """Reciprocal rank fusion: a passage's score is Σ 1 / (k + place), over the searches that found it.

    Scores of different searches have different units; places have none. Ties are frequent (first and second here,
    second and first there); they are broken by id, so that no search is preferred.

    Args:
        searches: rankings for the same queries from each search.
        k: the larger it is, the less the first places count above the next.

    Returns:
        For each query, a ranking of everything that was found, best first.

    Source: Cormack, Clarke & Büttcher 2009, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
    Methods".

    >>> fuse({"q": ["a", "b", "c"]}, {"q": ["c", "a"]})
    {'q': ['a', 'c', 'b']}
    """
    if not searches or any(search.keys() != searches[0].keys() for search in searches):
        raise ValueError("searches must be at least one, and have the same queries.")
    if k < 0:
        raise ValueError(f"k must be at least 0; got {k}.")
    fused = {}
    for query in searches[0]:
        parts: dict[str, list[float]] = {}
        for search in searches:
            check_ranking(search[query], f" of query {query!r}")
            for place, passage in enumerate(search[query], start=1):
                parts.setdefault(passage, []).append(1 / (k + place))
        scores = {passage: math.fsum(each) for passage, each in parts.items()}  # the same in whichever order
        fused[query] = sorted(scores, key=lambda passage: (-scores[passage], passage))
    return fused


def rerank(
    classifier: SequenceClassifier, collection: Collection, rankings: Mapping[str, Sequence[str]], depth: int = 10
) -> dict[str, list[str]]:
    """Sort the first passages of each ranking again, by the log-odds that a classifier gives "relevant"; the rest
    follow unchanged.

    Args:
        classifier: of pairs (query, passage), with the labels of ``RELEVANCE``: a cross-encoder.
        collection: the one that was searched.
        rankings: passage ids for each query, best first.
        depth: how many passages to read: the cost is queries × depth runs of BERT.

    Source: Nogueira & Cho 2019, section 3.
    """
    if tuple(classifier.labels) != RELEVANCE:
        raise ValueError(f"the classifier must have the labels {RELEVANCE}; got {tuple(classifier.labels)}.")
    if depth < 1:
        raise ValueError(f"depth must be at least 1; got {depth}.")
    for query, ranking in rankings.items():
        check_ranking(ranking, f" of query {query!r}")
        if query not in collection.queries or (strangers := set(ranking[:depth]) - collection.passages.keys()):
            what = f"passage {min(strangers)!r}" if query in collection.queries else f"query {query!r}"
            raise ValueError(f"rankings must be of the collection's queries and passages; it has no {what}.")
    pairs = [
        (collection.queries[query], collection.passages[passage])
        for query, ranking in rankings.items()
        for passage in ranking[:depth]
    ]
    odds = iter((logits[1] - logits[0]).item() for logits in classifier.logits(classifier.encode(pairs)))
    reranked = {}
    for query, ranking in rankings.items():
        first = {passage: next(odds) for passage in ranking[:depth]}
        reranked[query] = [*sorted(first, key=lambda passage: -first[passage]), *ranking[depth:]]
    return reranked


def training_pairs(
    collection: Collection, rankings: Mapping[str, Sequence[str]] | None = None, negatives: int = 0
) -> list[TrainingPair]:
    """Each query with each of its relevant passages, and with the irrelevant ones that a search ranks highest.

    Args:
        collection: queries and judgements.
        rankings: from the search whose mistakes to learn from; None for no negatives but those of the batch.
        negatives: how many of these mistakes to take.

    Source: the hard negatives of Karpukhin et al. 2020, section 3.2, which were found by BM25.
    """
    if negatives < 0 or (negatives and rankings is None):
        raise ValueError(f"negatives must be at least 0, and come from rankings; got {negatives} and {rankings!r:.20}.")
    pairs = []
    for query, grades in collection.relevance.items():
        right = [passage for passage, grade in grades.items() if grade > 0]
        wrong = [passage for passage in (rankings or {}).get(query, ()) if grades.get(passage, 0) <= 0][:negatives]
        pairs += [
            TrainingPair(
                collection.queries[query],
                collection.passages[passage],
                tuple(collection.passages[other] for other in wrong),
                tuple(collection.passages[other] for other in right if other != passage),
            )
            for passage in right
        ]
    return pairs


def labeled_pairs(pairs: Sequence[TrainingPair], seed: int = 0) -> list[LabeledText]:
    """What a cross-encoder learns from: the right passage of each pair as relevant, its negatives as irrelevant.

    Args:
        pairs: with negatives.
        seed: for the order.

    Source: Nogueira & Cho 2019, section 3.
    """
    check_pairs(pairs)
    if not any(pair.negatives for pair in pairs):
        raise ValueError(
            "pairs must have negatives, or there is nothing to tell apart; see training_pairs(negatives=3)."
        )
    examples = [
        LabeledText((pair.query, text), RELEVANCE[number == 0])
        for pair in pairs
        for number, text in enumerate((pair.passage, *pair.negatives))
    ]
    random.Random(seed).shuffle(examples)
    return examples
