"""Chapter 4: word vectors that begin as what counts know.

BERT starts from noise, in its positions too. Two other starts can be tried (``initial_positions`` and ``initial_words``
of a run): position vectors that begin as sines and cosines, where p + k is a rotation of p for every k, and the word
vectors of this file. On Standard Ebooks (data/runs/books-start, one seed each, six million tokens) sines were no better
than noise, and counts left the plateau of a unigram model first and were behind in the end. Longer rows, and larger
batches, were still above a bigram model then.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from bertcourse.pretraining.pairs import Documents


def count_vectors(shards: Iterable[Documents], vocab_size: int, size: int, window: int = 4) -> Tensor:
    """Word vectors from counts alone: a singular value decomposition of positive pointwise mutual information (Levy &
    Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization", section 3.3).

    Args:
        shards: documents to count in.
        vocab_size: V; a matrix of V × V is held in memory.
        size: D.
        window: how many tokens to each side are neighbours.

    Returns:
        (V, D), with mean 0 and deviation 1; zeros for tokens that do not occur.
    """
    counts = np.zeros(vocab_size * vocab_size, np.float32)
    for documents in shards:
        tokens = np.asarray(documents.tokens, np.int64)
        for distance in range(1, window + 1):
            counts += np.bincount(tokens[:-distance] * vocab_size + tokens[distance:], minlength=vocab_size**2)
    pairs = torch.from_numpy(counts).view(vocab_size, vocab_size)
    pairs = pairs + pairs.t()
    totals = pairs.sum(1, keepdim=True).clamp(min=1.0)
    information = (
        (pairs * (totals.sum() / totals) / totals.t().pow(0.75) * (totals.pow(0.75).sum() / totals.sum()))
        .log()
        .clamp_(min=0.0)
    )
    left, values, _ = torch.svd_lowrank(information, q=min(size, vocab_size), niter=4)
    vectors = torch.zeros(vocab_size, size)
    vectors[:, : left.shape[1]] = left * values.sqrt()
    occurs = pairs.sum(1) > 0
    mixed = vectors @ torch.linalg.qr(torch.randn(size, size)).Q  # every column alike
    mixed[occurs] = (mixed[occurs] - mixed[occurs].mean(0)) / mixed[occurs].std()
    return mixed.masked_fill(~occurs[:, None], 0.0)
