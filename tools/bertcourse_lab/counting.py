"""Counting neighbours in millions of words, one distance at a time."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bertcourse.static_embeddings import words_of

BREAK = -1  # an unknown word, or the end of a text
CHUNK = 4_000_000


def frequent_words(texts: Iterable[str], size: int) -> tuple[list[str], NDArray[np.int64]]:
    """The most frequent words of texts, the most frequent first, ties in alphabetical order.

    Args:
        texts: such as paragraphs.
        size: V, how many words to keep.

    Returns:
        ``(words, counts)``: V words, and how often each occurs.

    >>> frequent_words(["the king and the queen", "the queen"], 2)
    (['the', 'queen'], array([3, 2]))
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words_of(text))
    best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]
    return [word for word, _ in best], np.array([count for _, count in best])


def word_ids(texts: Iterable[str], words: Sequence[str], gap: int) -> NDArray[np.int32]:
    """Texts as one row of numbers.

    Args:
        texts: such as paragraphs.
        words: the V words that have a number; any other becomes -1.
        gap: how many -1 follow each text, so that no window reaches from one into the next.

    >>> word_ids(["the king", "a king"], ["the", "king"], gap=1)
    array([ 0,  1, -1, -1,  1, -1], dtype=int32)
    """
    row, end, pieces = {word: i for i, word in enumerate(words)}, [BREAK] * gap, [np.empty(0, dtype=np.int32)]
    for text in texts:
        pieces.append(np.array([row.get(word, BREAK) for word in words_of(text)] + end, dtype=np.int32))
    return np.concatenate(pieces)


def count_pairs(ids: NDArray, num_words: int, window: int, weights: Sequence[float] | None = None) -> csr_array:
    """How often each word has each word, itself included, as a neighbour, from a text given as numbers.

    Args:
        ids: (N,), the words of a text by number; -1 takes up a place, but is not counted.
        num_words: V.
        window: how far away a neighbour may be.
        weights: how much a pair at distance 1, 2, …, window counts; None for 1 each.

    Returns:
        (V, V), symmetric, float64.

    >>> count_pairs(np.array([0, 1, 0, -1, 2]), 3, window=2).toarray()
    array([[2., 2., 1.],
           [2., 0., 0.],
           [1., 0., 0.]])
    """
    above = csr_array((num_words, num_words))
    for start in range(0, len(ids), CHUNK):
        for distance in range(1, window + 1):
            first = ids[start : start + CHUNK]
            second = ids[start + distance : start + distance + CHUNK]
            first = first[: len(second)]
            known = (first >= 0) & (second >= 0)
            value = np.full(known.sum(), 1.0 if weights is None else weights[distance - 1])
            above = above + csr_array((value, (first[known], second[known])), shape=above.shape)
    return csr_array(above + above.T)
