"""Chapter 6: the shape of BERT's space. Two random words are more alike than they should be: the space is anisotropic.

For n vectors u of length 1, the mean cosine of two different ones can be had without going through the pairs
(Ethayarajh 2019, section 4.1, samples them), as a sum over dimensions (Timkey & van Schijndel 2021, equations 2-4):

    |Σ u|² = Σ_i Σ_j u_i · u_j = n + n(n - 1) · expected cosine
    contribution of dimension d = ((Σ u_d)² - Σ u_d²) / (n(n - 1))

A dimension with a large share of this sum is called rogue; standardization takes that share away:

    z = (x - μ)/σ in each dimension

Whether that helps has to be measured: against human judgements of word pairs, and on frequent words, whose similarity
cosine underestimates (Zhou et al. 2022).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from bertcourse.word_senses.nearest import check_vectors, rows_by_word, unit

FLOATS = (np.float64, np.float32)  # whatever is neither becomes the first


def dimension_contributions(vectors: np.ndarray) -> np.ndarray:
    """(D,), how much each dimension adds to the expected cosine of vectors (n, D).

    Source: Timkey & van Schijndel 2021, "All Bark and No Bite", equations 2-4, over all pairs.

    >>> dimension_contributions([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]).round(3).tolist()
    [0.333, 0.0]
    """
    vectors = check_pairs(vectors)
    units, n = unit(vectors), len(vectors)
    total, of_squares = units.sum(axis=0, dtype=np.float64), (units**2).sum(axis=0, dtype=np.float64)
    return (total**2 - of_squares) / (n * (n - 1))


def expected_cosine(vectors: np.ndarray) -> float:
    """The mean cosine of two different vectors of (n, D), over all pairs; near 0 for an isotropic space.

    Source: Ethayarajh 2019, "How Contextual are Contextualized Word Representations?", section 4.1.

    >>> expected_cosine([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])  # cosines 0, 1, 0
    0.3333333333333333
    """
    return float(dimension_contributions(vectors).sum())


class Standardizer(TransformerMixin, BaseEstimator):
    """z = (x - μ)/σ in each dimension, with the mean and standard deviation of the vectors it was fitted to.

    A constant dimension is only shifted. Equals scikit-learn's StandardScaler.

    Attributes:
        mean_: (D,), μ.
        scale_: (D,), σ, with the vectors as the whole population (divided by n, not n - 1); 1 where it is 0.
        n_features_in_: D.

    Source: Timkey & van Schijndel 2021, section 4.1.

    >>> Standardizer().fit_transform([[1.0, 5.0], [3.0, 5.0]]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    def fit(self, X: np.ndarray, y: None = None) -> "Standardizer":
        """Learn μ and σ of X (n, D)."""
        X = check_array(X, dtype=FLOATS)
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        spread = X.std(axis=0, dtype=np.float64)
        rounding = len(X) * np.finfo(np.float64).eps * np.abs(self.mean_)  # scikit-learn's bound for "no spread"
        self.scale_ = np.where(spread <= np.maximum(rounding, np.finfo(X.dtype).tiny), 1.0, spread)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """(n, D), with mean 0 and standard deviation 1 in each dimension, if X (n, D) is what ``fit`` saw."""
        check_is_fitted(self)
        X = check_array(X, dtype=FLOATS)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but Standardizer is expecting {self.n_features_in_} features as input."
            )
        return (X - self.mean_.astype(X.dtype)) / self.scale_.astype(X.dtype)


def check_pairs(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, D), if there are at least two and none is zero."""
    vectors = check_vectors(vectors)
    if len(vectors) < 2:
        raise ValueError(f"vectors must be at least two, to make a pair; got {len(vectors)}.")
    return vectors


class Estimate(NamedTuple):
    """A mean estimated from a sample; the true one lies within two standard errors of it 95 times out of 100."""

    mean: float
    standard_error: float


def sampled_cosine(vectors: np.ndarray, num_pairs: int = 10_000, seed: int = 0) -> Estimate:
    """The expected cosine from random pairs of different vectors, as papers estimate it.

    Args:
        vectors: (n, D).
        num_pairs: how many to draw, with replacement.
        seed: of the draw.

    Source: Ethayarajh 2019, section 4.1.
    """
    vectors = check_pairs(vectors)
    if num_pairs < 2:
        raise ValueError(f"num_pairs must be at least 2; got {num_pairs}.")
    random = np.random.default_rng(seed)
    first = random.integers(len(vectors), size=num_pairs)
    second = (first + random.integers(1, len(vectors), size=num_pairs)) % len(vectors)  # never paired with itself
    cosines = paired_cosines(vectors[first], vectors[second])
    return Estimate(float(cosines.mean()), float(cosines.std(ddof=1) / np.sqrt(num_pairs)))


def paired_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,), the cosine of each row of ``first`` (n, D) with the same row of ``second``.

    >>> paired_cosines([[1.0, 0.0], [0.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]]).round(3).tolist()
    [0.6, 1.0]
    """
    first, second = check_vectors(first), check_vectors(second)
    if first.shape != second.shape:
        raise ValueError(f"first and second must have one shape; got {first.shape} and {second.shape}.")
    return np.einsum("nd,nd->n", unit(first), unit(second), dtype=np.float64)


def rows_by_name(names: Sequence[Hashable], count: int) -> dict[Hashable, list[int]]:
    """The indices of the rows that have each name, for ``count`` rows with one name each.

    >>> rows_by_name(["a", "b", "a"], 3)
    {'a': [0, 2], 'b': [1]}
    """
    if len(names) != count:
        raise ValueError(f"names must be one for each of the {count} vectors; got {len(names)}.")
    return rows_by_word(names)


def mean_vectors(vectors: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, np.ndarray]:
    """The mean of each name's vectors (n, D): a static vector (D,) for a word, made from its contextual ones.

    Source: Bommasani et al. 2020, "Interpreting Pretrained Contextualized Representations via Reductions to Static
    Embeddings", whose best aggregation is the mean.

    >>> mean_vectors([[1.0, 0.0], [5.0, 1.0], [3.0, 0.0]], ["bank", "river", "bank"])["bank"].tolist()
    [2.0, 0.0]
    """
    vectors, groups = check_vectors(vectors), rows_by_name(names, len(vectors))
    return {name: vectors[rows].mean(axis=0) for name, rows in groups.items()}


def self_similarity(vectors: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, float]:
    """The mean cosine of two occurrences of a name, such as a word or a sense, for names that occur at least twice.

    Args:
        vectors: (n, D).
        names: n names.

    Source: Ethayarajh 2019, section 3.3, definition 1.
    """
    vectors, groups = check_vectors(vectors), rows_by_name(names, len(vectors))
    return {name: expected_cosine(vectors[rows]) for name, rows in groups.items() if len(rows) > 1}


class Line(NamedTuple):
    """y = slope · x + intercept by least squares, with the slope's standard error and Pearson's correlation."""

    slope: float
    intercept: float
    standard_error: float
    correlation: float
    num_points: int


def frequency_effect(similarities: Mapping[Hashable, float], counts: Mapping[Hashable, int]) -> Line:
    """How the similarity of a sense's occurrences falls with the frequency of its word.

    All occurrences of a sense mean the same, so a slope below zero is similarity that cosine misses.

    Args:
        similarities: from sense to the mean cosine of its occurrences, as ``self_similarity`` gives it.
        counts: from sense to how often its word occurs in a large text; senses without a count are skipped.

    Returns:
        ``Line``, cosine against log10 frequency: the slope is the change when the frequency grows tenfold.

    Source: Zhou et al. 2022, "Problems with Cosine as a Measure of Embedding Similarity for High Frequency Words",
    section 3, which uses pairs from WiC that have the same sense.
    """
    known = [name for name in similarities if counts.get(name, 0) > 0]
    frequencies, cosines = np.log10([counts[name] for name in known]), [similarities[name] for name in known]
    check_varied("counts", frequencies)
    check_varied("similarities", cosines)
    line = stats.linregress(frequencies, cosines)
    return Line(float(line.slope), float(line.intercept), float(line.stderr), float(line.rvalue), len(known))


def check_varied(name: str, values: Sequence[float]) -> None:
    """Refuse numbers that cannot be correlated with anything; those that differ only by rounding count as equal."""
    if len(values) < 3 or not np.isfinite(values).all() or np.ptp(values) < 1e-12:
        raise ValueError(
            f"the {name} must be at least three finite numbers, not all the same, to be correlated; got "
            f"{len(values)}: {', '.join(f'{value:.4g}' for value in values[:10])}."
        )
