"""Chapter 10: finding the passage that answers. In reading order: ``collection``, ``bm25``, ``encoders``, ``heads``,
``rankings``.

By words (BM25), by one vector per text or one per token, and by reading query and passage together.
"""

from bertcourse.retrieval.bm25 import BM25, words_of
from bertcourse.retrieval.collection import Collection, TrainingPair, reading_questions, training_pairs
from bertcourse.retrieval.encoders import BiEncoder, CrossEncoder, contrastive_loss, late_interaction
from bertcourse.retrieval.rankings import fuse, ndcg, rank, recall_at, reciprocal_rank, rerank

__all__ = [
    "BM25",
    "BiEncoder",
    "Collection",
    "CrossEncoder",
    "TrainingPair",
    "contrastive_loss",
    "fuse",
    "late_interaction",
    "ndcg",
    "rank",
    "reading_questions",
    "recall_at",
    "reciprocal_rank",
    "rerank",
    "training_pairs",
    "words_of",
]
