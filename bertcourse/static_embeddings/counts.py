"""Chapter 0: words as rows of numbers: counts of their neighbours, and from these to short vectors.

A word is known by the company it keeps (Firth 1957): count its neighbours, weight the counts by how surprising they are
(PPMI, the positive part of Church & Hanks's PMI, 1990; Bullinaria & Levy 2007), and keep the main directions
(SVD; Levy & Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization"; Levy, Goldberg & Dagan 2015,
"Improving Distributional Similarity").
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

WORD = re.compile(r"[^\W\d_]+")


def words_of(text: str) -> list[str]:
    """The words of a text: runs of letters, without digits, in lower case.

    >>> words_of("The King's horse, it's said, was 7.")
    ['the', 'king', 's', 'horse', 'it', 's', 'said', 'was']
    """
    return WORD.findall(text.lower())


def cooccurrence(sentences: Sequence[Sequence[str]], words: Sequence[str], window: int = 4) -> NDArray[np.float64]:
    """How often each word has each word, itself included, as a neighbour.

    Args:
        sentences: lists of words.
        words: the V words to count; others keep their places, but are not counted.
        window: how far away a neighbour may be, in words.

    Returns:
        (V, V), symmetric; row i counts the neighbours of ``words[i]``.

    >>> cooccurrence([["the", "king", "and", "the", "queen"]], ["king", "queen", "the"], window=2)
    array([[0., 0., 2.],
           [0., 0., 1.],
           [2., 1., 0.]])
    """
    row = {word: i for i, word in enumerate(words)}
    counts = np.zeros((len(words), len(words)))
    for sentence in sentences:
        for place, word in enumerate(sentence):
            for neighbour in sentence[max(0, place - window) : place]:
                if word in row and neighbour in row:
                    counts[row[word], row[neighbour]] += 1
                    counts[row[neighbour], row[word]] += 1
    return counts


def ppmi(counts: NDArray | csr_array, smoothing: float = 0.75) -> csr_array:
    """Positive pointwise mutual information: how much more often two words meet than chance predicts.

        ppmi(w, c) = max(0, ln P(w, c) / (P(w) · P(c))),  with P(c) ∝ #(c)^smoothing

    Args:
        counts: (V, V), how often word w (row) has neighbour c (column).
        smoothing: exponent of the neighbours' counts; below 1 it tames rare words, whose few meetings all look
            surprising (Levy, Goldberg & Dagan 2015, section 3.2).

    Returns:
        (V, V), sparse: most pairs of words never meet, and count as 0.

    >>> ppmi(np.array([[0, 2], [2, 4]]), smoothing=1).toarray().round(3)  # ln (2/8) / (2/8 · 6/8) = 0.288
    array([[0.   , 0.288],
           [0.288, 0.   ]])
    """
    counts = csr_array(counts, dtype=np.float64)
    total = counts.sum()
    words, contexts = counts.sum(axis=1) / total, counts.sum(axis=0) ** smoothing
    contexts = contexts / contexts.sum()
    pairs = counts.tocoo()
    values = np.log(pairs.data / total / (words[pairs.row] * contexts[pairs.col]))
    kept = values > 0
    return csr_array((values[kept], (pairs.row[kept], pairs.col[kept])), shape=counts.shape)


def svd_vectors(matrix: NDArray | csr_array, size: int, power: float = 0.5, seed: int = 0) -> NDArray[np.float64]:
    """Short vectors from long rows, by singular values.

        M ≈ U S Vᵀ,  vectors = U S^power

    With D singular values, U S Vᵀ is as close to the matrix as a matrix of rank D can be.

    Args:
        matrix: (V, C), such as that of ``ppmi``.
        size: D, how many singular values to keep, less than V and C.
        power: exponent of the singular values: 1 keeps the distances between rows; 0.5 gives words and neighbours half
            each, and captures meaning better (Levy, Goldberg & Dagan 2015, section 3.3).
        seed: of the search for singular vectors, and nothing else.

    Returns:
        (V, D), the largest singular value first; each column's sign makes its largest entry positive.

    >>> np.linalg.norm(svd_vectors(np.diag([9.0, 4.0, 1.0]), 2), axis=0).round(3)
    array([3., 2.])
    """
    start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
    room = 3 * size if 3 * size < min(matrix.shape) else None  # more than SciPy's choice, 2 · size, takes half as long
    left, values, _ = svds(csr_array(matrix, dtype=np.float64), k=size, v0=start, ncv=room)
    order = np.argsort(-values)
    left, values = left[:, order], values[order]
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(size)])
    return left * signs * values**power
