"""Chapter 0: words as vectors before attention. In reading order: ``counts``, ``word2vec``, ``vectors``, and their fast
forms, ``counts_fast`` and ``word2vec_fast``.

Word vectors from counts and from prediction, what they know, and what they cannot: one vector a word, whatever the
sentence.
"""

from bertcourse.static_embeddings.counts import cooccurrence, one_hot, ppmi, svd_vectors, words_of
from bertcourse.static_embeddings.counts_fast import count_pairs, frequent_words, word_ids
from bertcourse.static_embeddings.vectors import Neighbour, WordVectors
from bertcourse.static_embeddings.word2vec import (
    gradient_step,
    keep_probability,
    negative_sampling_loss,
    noise_distribution,
    plain_word2vec,
    window_pairs,
)
from bertcourse.static_embeddings.word2vec_fast import expected_loss, expected_pairs, train_word2vec

__all__ = [
    "Neighbour",
    "WordVectors",
    "cooccurrence",
    "count_pairs",
    "expected_loss",
    "expected_pairs",
    "frequent_words",
    "gradient_step",
    "keep_probability",
    "negative_sampling_loss",
    "noise_distribution",
    "one_hot",
    "plain_word2vec",
    "ppmi",
    "svd_vectors",
    "train_word2vec",
    "window_pairs",
    "word_ids",
    "words_of",
]
