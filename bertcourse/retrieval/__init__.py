"""Chapter 10: finding the passage that answers. In reading order: ``collection``, ``bm25``, ``scores``, ``encoders``,
``cross_encoder``, ``search``.

By words (BM25), by one vector per text or one per token, and by reading query and passage together.
"""

from bertcourse.retrieval.bm25 import BM25, words_of
from bertcourse.retrieval.collection import Collection, reading_questions
from bertcourse.retrieval.cross_encoder import CrossEncoder
from bertcourse.retrieval.encoders import BiEncoder, TrainingPair, contrastive_loss, late_interaction
from bertcourse.retrieval.scores import (
    SCORES,
    average_precision,
    mean_scores,
    ndcg,
    query_scores,
    recall_at,
    reciprocal_rank,
)
from bertcourse.retrieval.search import RELEVANCE, fuse, labeled_pairs, rank, rerank, training_pairs

__all__ = [
    "BM25",
    "RELEVANCE",
    "SCORES",
    "BiEncoder",
    "Collection",
    "CrossEncoder",
    "TrainingPair",
    "average_precision",
    "contrastive_loss",
    "fuse",
    "labeled_pairs",
    "late_interaction",
    "mean_scores",
    "ndcg",
    "query_scores",
    "rank",
    "reading_questions",
    "recall_at",
    "reciprocal_rank",
    "rerank",
    "training_pairs",
    "words_of",
]
