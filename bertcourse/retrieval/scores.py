"""Chapter 10: how good is a ranking? The numbers that papers on retrieval report.

A ranking is a list of passage ids, the best first. ``relevance`` has the grades of the passages that were judged:
above 0 is relevant, and a passage that was not judged counts as 0, as in trec_eval.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

SCORES = ("MRR", "nDCG@10", "recall@10", "recall@100", "AP")


def reciprocal_rank(ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """One over the rank of the first relevant passage; 0 if there is none.

    Args:
        ranking: ids, the best first.
        relevance: grades by id.

    Source: Voorhees 1999, "The TREC-8 Question Answering Track Report".

    >>> reciprocal_rank(["c", "a", "b"], {"a": 1, "b": 1})
    0.5
    """
    check_ranking(ranking)
    return next((1 / place for place, passage in enumerate(ranking, start=1) if relevance.get(passage, 0) > 0), 0.0)


def recall_at(ranking: Sequence[str], relevance: Mapping[str, int], k: int) -> float:
    """The share of the relevant passages that are among the first k.

    Args:
        ranking: ids, the best first.
        relevance: grades by id, at least one above 0.
        k: how far to look.

    Source: Cleverdon 1967; Manning, Raghavan & Schütze 2008, section 8.4.

    >>> recall_at(["c", "a", "b"], {"a": 1, "b": 1}, k=2)
    0.5
    """
    check_ranking(ranking)
    relevant = relevant_passages(relevance, k)
    return len(relevant & set(ranking[:k])) / len(relevant)


def average_precision(ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """The precision at the rank of each relevant passage, averaged; a passage that is not found counts as 0.

    Args:
        ranking: ids, the best first.
        relevance: grades by id, at least one above 0.

    Source: Manning, Raghavan & Schütze 2008, "Introduction to Information Retrieval", equation 8.8.

    >>> round(average_precision(["a", "c", "b"], {"a": 1, "b": 1}), 3)  # (1/1 + 2/3) / 2
    0.833
    """
    check_ranking(ranking)
    relevant = relevant_passages(relevance)
    places = [place for place, passage in enumerate(ranking, start=1) if passage in relevant]
    return sum(found / place for found, place in enumerate(places, start=1)) / len(relevant)


def ndcg(ranking: Sequence[str], relevance: Mapping[str, int], k: int = 10) -> float:
    """Normalized discounted cumulative gain: Σ grade / log₂(place + 1) over the first k, divided by that of
    the best possible ranking.

    Args:
        ranking: ids, the best first.
        relevance: grades by id, at least one above 0.
        k: how far to look.

    Source: Järvelin & Kekäläinen 2002, "Cumulated Gain-Based Evaluation of IR Techniques", with the grade itself as
    gain and the discount of trec_eval.

    >>> round(ndcg(["b", "a"], {"a": 3, "b": 1}), 3)  # (1/1 + 3/log₂3) / (3/1 + 1/log₂3)
    0.797
    """
    check_ranking(ranking)
    relevant = relevant_passages(relevance, k)
    gains = [max(relevance.get(passage, 0), 0) for passage in ranking]
    best = sorted((relevance[passage] for passage in relevant), reverse=True)
    return discounted(gains[:k]) / discounted(best[:k])


def discounted(gains: Sequence[float]) -> float:
    """Σ gain / log₂(place + 1)."""
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def check_ranking(ranking: Sequence[str], of: str = "") -> None:
    """Refuse a string, whose letters would pass for ids, and a list with a repeated id; ``of`` says which ranking."""
    if isinstance(ranking, (str, bytes)) or not isinstance(ranking, (Sequence, np.ndarray)):
        raise ValueError(f"a ranking must be a list of ids, the best first; the ranking{of} is {ranking!r:.60}.")
    if len(set(ranking)) < len(ranking):
        twice, _ = Counter(ranking).most_common(1)[0]
        raise ValueError(
            f"a ranking must have each passage once; the ranking{of} has {twice!r} several times. Keep the first place "
            "of each: list(dict.fromkeys(ranking))."
        )


def relevant_passages(relevance: Mapping[str, int], k: int = 1) -> set[str]:
    """The ids with a grade above 0, to be looked for among the first k; there must be at least one, and k ≥ 1."""
    relevant = {passage for passage, grade in relevance.items() if grade > 0}
    if not relevant or k < 1:
        raise ValueError(
            f"relevance must have a grade above 0, and k be at least 1; got {len(relevant)} such grades and k={k}."
        )
    return relevant


def query_scores(
    rankings: Mapping[str, Sequence[str]], relevance: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """Each query's scores, under their names in ``SCORES``: trec_eval's recip_rank, ndcg_cut_10, recall_10, recall_100
    and map.

    Args:
        rankings: for each query, the ids of passages, the best first.
        relevance: for each query, the grades.
    """
    if not relevance or (missing := relevance.keys() - rankings.keys()):
        raise ValueError(
            f"there must be a ranking for each query that was judged, and at least one; {len(relevance)} were judged"
            + (f", and {min(missing)!r} has no ranking." if relevance else ".")
        )
    scores = {}
    for query, grades in relevance.items():
        ranking = rankings[query]
        check_ranking(ranking, f" of query {query!r}")
        scores[query] = {
            "MRR": reciprocal_rank(ranking, grades),
            "nDCG@10": ndcg(ranking, grades, 10),
            "recall@10": recall_at(ranking, grades, 10),
            "recall@100": recall_at(ranking, grades, 100),
            "AP": average_precision(ranking, grades),
        }
    return scores


def mean_scores(rankings: Mapping[str, Sequence[str]], relevance: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """The mean of ``query_scores`` over the queries.

    >>> mean_scores({"q": ["b", "a"]}, {"q": {"a": 1}})["MRR"]
    0.5
    """
    each = query_scores(rankings, relevance).values()
    return {name: sum(scores[name] for scores in each) / len(each) for name in SCORES}
