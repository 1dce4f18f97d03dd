"""Chapter 6: what a cosine is worth. Two random words are more alike than nothing: the space is anisotropic.

For n vectors u of length 1, the mean cosine of two different ones is had without going through the pairs
(Ethayarajh 2019, section 4.1, samples them), as a sum over dimensions (Timkey & van Schijndel 2021, equations 2-4):

    |Σ u|² = Σ_i Σ_j u_i · u_j = n + n(n - 1) · expected cosine
    contribution of dimension d = ((Σ u_d)² - Σ u_d²) / (n(n - 1))

A dimension with a large share of this sum is called rogue. Standardization takes that share away: z = (x - μ)/σ in
each dimension. The functions check nothing: vectors are finite, none is zero, and a mean cosine needs two of them.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from bertcourse.word_senses import unit

__all__ = [
    "Standardizer",
    "dimension_contributions",
    "expected_cosine",
    "mean_vectors",
    "paired_cosines",
    "rows_by_name",
    "self_similarity",
]


def rows_by_name(names: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """The indices of the rows that have each name.

    >>> dict(rows_by_name(["a", "b", "a"]))
    {'a': [0, 2], 'b': [1]}
    """
    rows = defaultdict(list)
    for row, name in enumerate(names):
        rows[name].append(row)
    return rows


def mean_vectors(x: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, np.ndarray]:
    """The mean of each name's vectors (n, D): a static vector (D,) for a word, made from its contextual ones.

    Source: Bommasani et al. 2020, "Interpreting Pretrained Contextualized Representations via Reductions to Static
    Embeddings", whose best aggregation is the mean.
    """
    return {name: x[rows].mean(axis=0) for name, rows in rows_by_name(names).items()}


def paired_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,), the cosine of each row of ``first`` (n, D) with the same row of ``second``.

    >>> paired_cosines(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])).round(3).tolist()
    [0.6, 1.0]
    """
    return (unit(first) * unit(second)).sum(axis=-1, dtype=np.float64)


def expected_cosine(x: np.ndarray) -> float:
    """The mean cosine of two different vectors of (n, D), over all pairs; near 0 for an isotropic space.

    Source: Ethayarajh 2019, "How Contextual are Contextualized Word Representations?", section 4.1.

    >>> expected_cosine(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))  # cosines 0, 1, 0
    0.3333333333333333
    """
    u, n = unit(x), len(x)
    total = u.sum(axis=0, dtype=np.float64)
    return float((total @ total - n) / (n * (n - 1)))


def self_similarity(x: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, float]:
    """The mean cosine of two occurrences of a name, such as a word or a sense, for names that occur at least twice.

    Args:
        x: (n, D).
        names: n names.

    Source: Ethayarajh 2019, section 3.3, definition 1.
    """
    return {name: expected_cosine(x[rows]) for name, rows in rows_by_name(names).items() if len(rows) > 1}


def dimension_contributions(x: np.ndarray) -> np.ndarray:
    """(D,), how much each dimension adds to the expected cosine of vectors (n, D).

    Source: Timkey & van Schijndel 2021, "All Bark and No Bite", equations 2-4, over all pairs.

    >>> dimension_contributions(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])).round(3).tolist()
    [0.333, 0.0]
    """
    u, n = unit(x), len(x)
    total = u.sum(axis=0, dtype=np.float64)
    own = (u**2).sum(axis=0, dtype=np.float64)
    return (total**2 - own) / (n * (n - 1))


class Standardizer:
    """z = (x - μ)/σ in each dimension, with the mean and standard deviation of the vectors it was fitted to.

    A constant dimension is only shifted. Equals scikit-learn's StandardScaler.

    Attributes:
        mean_: (D,), μ.
        scale_: (D,), σ, with the vectors as the whole population (divided by n, not n - 1); 1 where it is 0.

    Source: Timkey & van Schijndel 2021, section 4.1.

    >>> x = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> Standardizer().fit(x).transform(x).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    def fit(self, x: np.ndarray) -> "Standardizer":
        """Learn μ and σ of (n, D) vectors; in float64, as squares of what is nearly silent are 0 in float32."""
        self.mean_ = x.mean(axis=0, dtype=np.float64)
        self.scale_ = x.std(axis=0, dtype=np.float64)
        self.scale_[self.scale_ == 0] = 1
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        """(n, D), float64, with mean 0 and standard deviation 1 in each dimension, if x is what ``fit`` saw."""
        return (x - self.mean_) / self.scale_
