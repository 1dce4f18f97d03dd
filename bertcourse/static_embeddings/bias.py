"""Chapter 0: what word vectors say about people: an association with a p-value.

The word embedding association test asks whether words X (flowers) are nearer to A (pleasant) than to B (unpleasant)
when compared with words Y (insects). With s(w) = mean cos(w, a) - mean cos(w, b),

    effect size = (mean_x s(x) - mean_y s(y)) / standard deviation of s over X ∪ Y

(Caliskan, Bryson & Narayanan 2017, "Semantics derived automatically from language corpora contain human-like biases").
"""

import tomllib
from collections.abc import Sequence
from importlib import resources
from itertools import combinations

import numpy as np

from bertcourse.static_embeddings.vectors import WordVectors


def word_lists() -> dict[str, list]:
    """The course's own lists, of words that occur in novels: word_lists.toml."""
    text = (resources.files("bertcourse.static_embeddings") / "word_lists.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def weat(
    vectors: WordVectors, x: Sequence[str], y: Sequence[str], a: Sequence[str], b: Sequence[str]
) -> tuple[float, float]:
    """The word embedding association test; words without a vector are left out.

    Args:
        vectors: of words.
        x, y: the words to compare, such as flowers and insects, about eight of each.
        a, b: the words to compare them with, such as pleasant and unpleasant ones.

    Returns:
        ``(effect size, p-value)``: between -2 and 2; the share of all ways to divide X ∪ Y into two halves whose
        difference of means is at least as large, one-sided.
    """
    X, Y, A, B = (vectors.unit[[vectors.find(w) for w in words if w in vectors]] for words in (x, y, a, b))
    n = min(len(X), len(Y))  # as many words on both sides
    s = np.concatenate([X[:n], Y[:n]]) @ (A.mean(axis=0) - B.mean(axis=0))
    halves = s[np.array(list(combinations(range(2 * n), n)))]  # the first one is X
    differences = (2 * halves.sum(axis=1) - s.sum()) / n
    p_value = np.mean(differences >= differences[0] - 1e-7)
    return differences[0] / s.std(ddof=1), p_value
