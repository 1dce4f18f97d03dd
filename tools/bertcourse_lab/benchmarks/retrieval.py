"""``bertcourse benchmark retrieval``: searches by words and by vectors on one collection, side by side.

Each row is compared with BM25 by a paired bootstrap over queries. Nothing is trained and nothing is tuned: BM25 has
Lucene's k1 and b, and a model's vectors are taken as they are.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from bertcourse.anisotropy import Standardizer
from bertcourse.bert import BertModel, load_pretrained
from bertcourse.bootstrap import compare
from bertcourse.retrieval import (
    BM25,
    BiEncoder,
    Collection,
    fuse,
    late_interaction,
    ndcg,
    rank,
    reading_questions,
    recall_at,
    reciprocal_rank,
)
from bertcourse_lab.benchmarks.tables import publish, table_lines, table_name, versions, with_interval
from bertcourse_lab.datasets.collections import cranfield, read_beir, scifact

COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "reading": reading_questions,
    "cranfield": cranfield,
    "scifact": scifact,
}
BASELINE, COMPARED, LONGEST = "BM25", "nDCG@10", 256
SCORES = ("MRR", "nDCG@10", "recall@10", "recall@100", "AP")  # trec_eval's recip_rank, ndcg_cut_10, recall_10, …, map
# From a text's (L, D) vectors to a single vector of D numbers.
POOLINGS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mean": lambda hidden: hidden.mean(dim=0),
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.amax(dim=0),
}


def run_benchmark(
    collection_name: str = "reading",
    model_name: str = "minilm",
    limit: int | None = None,
    output: str | os.PathLike | None = None,
) -> dict:
    """Search, print the table, and write it to OUTPUT/retrieval_COLLECTION_MODEL.json and .md.

    Args:
        collection_name: one of ``COLLECTIONS``, or a folder in BEIR's format.
        model_name: for ``load_pretrained``.
        limit: how many queries to use, for a quick look; None for all.
        output: folder for the table; None writes none.

    Returns:
        What is in the JSON file.

    Source: Thakur et al. 2021, "BEIR", whose score, nDCG@10, is the one that is compared.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"--limit must be at least 1 query; got {limit}.")
    encoder, tokenizer = load_pretrained(model_name)
    collection = COLLECTIONS[collection_name]() if collection_name in COLLECTIONS else read_beir(collection_name)
    collection = collection.of(dict(list(collection.queries.items())[:limit]))
    result = {
        "collection": Path(collection_name).name,
        "model": model_name,
        "limit": limit,
        "passages": len(collection.passages),
        "queries": len(collection.queries),
        "versions": versions(),
        "rows": compare_searches(collection, searches(collection, encoder, tokenizer)),
    }
    name = table_name(f"retrieval_{result['collection']}", model_name, limit)
    return publish(result, search_table(result), output, name)


def searches(collection: Collection, encoder: BertModel, tokenizer) -> dict[str, dict[str, list[str]]]:
    """The rankings of each search, by its name.

    "centred" subtracts their own mean from queries and from passages; "standardized" uses the passages' mean and
    standard deviation for both. At most ``LONGEST`` tokens of a text are read.
    """
    queries, passages = list(collection.queries.values()), list(collection.passages.values())
    index = BM25(passages)
    found = {BASELINE: rank(np.stack([index.scores(query) for query in queries]), collection)}
    model = BiEncoder(encoder, tokenizer, max_length=min(LONGEST, encoder.config.max_position_embeddings))
    hidden = [model.token_vectors(texts, normalize=False) for texts in (queries, passages)]  # each text is read once
    for pooling, name in (("cls", "vectors, [CLS]"), ("max", "vectors, max"), ("mean", "vectors, mean")):
        asked, told = (torch.stack([POOLINGS[pooling](tokens) for tokens in texts]) for texts in hidden)
        found[name] = rank(F.normalize(asked, dim=1) @ F.normalize(told, dim=1).T, collection)
    centred = [F.normalize(vectors - vectors.mean(dim=0), dim=1) for vectors in (asked, told)]
    found["vectors, mean, centred"] = rank(centred[0] @ centred[1].T, collection)
    standardizer = Standardizer().fit(told.numpy())
    asked, told = (torch.from_numpy(standardizer.transform(vectors.numpy())) for vectors in (asked, told))
    found["vectors, mean, standardized"] = rank(F.normalize(asked, dim=1) @ F.normalize(told, dim=1).T, collection)
    asked, told = ([F.normalize(tokens, dim=1) for tokens in texts] for texts in hidden)
    found["late interaction"] = rank(late_interaction(asked, told), collection)
    found["BM25 and mean, fused"] = fuse(found[BASELINE], found["vectors, mean"])
    found["BM25 and late interaction, fused"] = fuse(found[BASELINE], found["late interaction"])
    return found


def average_precision(ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """The precision at the rank of each relevant passage, averaged; a passage that is not found counts as 0.

    Args:
        ranking: ids, the best first.
        relevance: grades by id, at least one above 0.

    Source: Manning, Raghavan & Schütze 2008, "Introduction to Information Retrieval", equation 8.8.

    >>> round(average_precision(["a", "c", "b"], {"a": 1, "b": 1}), 3)  # (1/1 + 2/3) / 2
    0.833
    """
    relevant = {passage for passage, grade in relevance.items() if grade > 0}
    places = [place for place, passage in enumerate(ranking, start=1) if passage in relevant]
    return sum(found / place for found, place in enumerate(places, start=1)) / len(relevant)


def query_scores(
    rankings: Mapping[str, Sequence[str]], relevance: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """Each query's scores, under their names in ``SCORES``.

    Args:
        rankings: for each query, the ids of passages, the best first.
        relevance: for each query, the grades.
    """
    return {
        query: {
            "MRR": reciprocal_rank(rankings[query], grades),
            "nDCG@10": ndcg(rankings[query], grades, 10),
            "recall@10": recall_at(rankings[query], grades, 10),
            "recall@100": recall_at(rankings[query], grades, 100),
            "AP": average_precision(rankings[query], grades),
        }
        for query, grades in relevance.items()
    }


def compare_searches(collection: Collection, found: Mapping[str, dict[str, list[str]]]) -> list[dict]:
    """For each search, including ``BASELINE``, its name, its mean scores, and its comparison with the baseline."""
    scores = {name: query_scores(rankings, collection.relevance) for name, rankings in found.items()}
    rows = []
    for name, by_query in scores.items():
        differences = [[by_query[query][COMPARED] - scores[BASELINE][query][COMPARED]] for query in by_query]
        comparison = compare(np.array(differences), lambda totals: totals[:, 0] / len(collection.queries))
        means = {score: float(np.mean([each[score] for each in by_query.values()])) for score in SCORES}
        rows.append({"search": name, "scores": means, "against_bm25": comparison._asdict()})
    return rows


def search_table(result: dict) -> str:
    """The table for people to read."""
    rows = [
        [
            row["search"],
            *(f"{row['scores'][score]:.3f}" for score in SCORES),
            "" if row["search"] == BASELINE else with_interval(row["against_bm25"], digits=3),
        ]
        for row in result["rows"]
    ]
    lines = [
        f"# Retrieval on {result['collection']}: {result['model']}",
        "",
        f"{result['passages']:,} passages, {result['queries']:,} queries. Δ: {COMPARED} above {BASELINE}, with the "
        f"95 % interval of a paired bootstrap over queries. Texts are cut to {LONGEST} tokens for the vectors, and not "
        f"for {BASELINE}.",
        "",
        *table_lines(["search", *SCORES, "Δ"], rows),
        "",
    ]
    return "\n".join(lines)
