"""Chapter 0: words as rows of numbers: counts of their neighbours, and from these to short vectors.

A word is known by the company it keeps (Firth 1957): count its neighbours, weight the counts by how surprising they are
(PPMI, the positive part of Church & Hanks's PMI, 1990; Bullinaria & Levy 2007), and keep the main directions
(SVD; Levy & Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization").
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd

WORD = re.compile(r"[^\W\d_]+")


def words_of(text: str) -> list[str]:
    """The words of a text: runs of letters, without digits, in lower case.

    >>> words_of("The King's horse, it's said, was 7.")
    ['the', 'king', 's', 'horse', 'it', 's', 'said', 'was']
    """
    return WORD.findall(text.lower())


def count_neighbours(sentences: Sequence[Sequence[str]], words: Sequence[str], window: int = 4) -> NDArray[np.float64]:
    """How often each word has each word, itself included, as a neighbour.

    Args:
        sentences: lists of words.
        words: the V words that occur in them.
        window: how far away a neighbour may be, in words.

    Returns:
        (V, V), symmetric; row i counts the neighbours of ``words[i]``.

    >>> count_neighbours([["the", "king", "the", "queen"]], ["king", "queen", "the"], window=2)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 2.]])
    """
    row = {word: i for i, word in enumerate(words)}
    counts = np.zeros((len(words), len(words)))
    for sentence in sentences:
        for place, word in enumerate(sentence):
            for neighbour in sentence[max(0, place - window) : place]:
                counts[row[word], row[neighbour]] += 1
                counts[row[neighbour], row[word]] += 1
    return counts


def ppmi(counts: NDArray | csr_array) -> csr_array:
    """Positive pointwise mutual information: how much more often two words meet than chance predicts.

        ppmi(w, c) = max(0, ln P(w, c) / (P(w) · P(c)))

    Args:
        counts: (V, V), how often word w (row) has neighbour c (column).

    Returns:
        (V, V), sparse: most pairs of words never meet, and count as 0.

    >>> ppmi(np.array([[0, 2], [2, 4]])).toarray().round(3)  # ln (2/8) / (2/8 · 6/8) = 0.288
    array([[0.   , 0.288],
           [0.288, 0.   ]])
    """
    counts = csr_array(counts)  # only pairs that met
    of_row, of_column, met = counts.sum(axis=1), counts.sum(axis=0), counts.tocoo()
    by_chance = of_row[met.row] * of_column[met.col] / counts.sum()
    surprise = np.maximum(0, np.log(met.data / by_chance))
    return csr_array((surprise, (met.row, met.col)), shape=counts.shape)


def svd_vectors(matrix: NDArray | csr_array, size: int) -> NDArray[np.float64]:
    """Short vectors from long rows: M ≈ U S Vᵀ with the D largest singular values, and the vectors U √S.

    The singular vectors are found by random projection (Halko, Martinsson & Tropp 2011), five times as fast as exactly.

    Args:
        matrix: (V, C), such as that of ``ppmi``.
        size: D, less than V and C.

    Returns:
        (V, D), the largest singular value first.

    >>> np.linalg.norm(svd_vectors(np.diag([9.0, 4.0, 1.0]), 2), axis=0).round(3)
    array([3., 2.])
    """
    U, S, _ = randomized_svd(matrix, size, n_iter=4, random_state=0)
    return U * np.sqrt(S)
