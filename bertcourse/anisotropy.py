"""Chapter 6: the shape of BERT's space. Two random words are more alike than they should be: the space is anisotropic.

How alike is the mean cosine of two vectors (Ethayarajh 2019), which has a closed form; how much of it each dimension
makes says which are rogue (Timkey & van Schijndel 2021, equations 2-4); standardization, z = (x - μ)/σ in each
dimension, takes it away. Whether that helps is to be measured: against what people say of pairs of words, and for
frequent words, whose cosine says less than it should (Zhou et al. 2022).
"""

import os
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bertcourse.datasets.registry import fetch
from bertcourse.word_senses.nearest import check_finite, check_vectors, unit


class Estimate(NamedTuple):
    """A mean that was estimated from a sample.

    Attributes:
        mean: of the sample.
        standard_error: its standard deviation divided by √n; the true mean is within two of them 95 times of 100.
    """

    mean: float
    standard_error: float


class WordPair(NamedTuple):
    """Two words and how similar people find them.

    Attributes:
        first, second: the words.
        score: the mean of people's answers; its scale is that of the set.
    """

    first: str
    second: str
    score: float


class Line(NamedTuple):
    """A straight line through points, by least squares.

    Attributes:
        slope, intercept: y = slope · x + intercept.
        standard_error: of the slope.
        correlation: Pearson's, of x and y.
        num_points: through how many.
    """

    slope: float
    intercept: float
    standard_error: float
    correlation: float
    num_points: int


def expected_cosine(vectors: np.ndarray) -> float:
    """The mean cosine of two different vectors, over all pairs, without going through the pairs.

    With u the vectors at length 1, |Σ u|² is the sum of all n² products u·u'; n of them are a vector's with itself, 1
    each. What remains is divided among n(n - 1) pairs.

    Args:
        vectors: (n, D).

    Returns:
        Between -1/(n - 1) and 1; near 0 for an isotropic space.

    Raises:
        ValueError: if there are fewer than two, or one is zero or not finite.

    Source: Ethayarajh 2019, "How Contextual are Contextualized Word Representations?", section 4.1, which samples
    pairs.

    >>> expected_cosine([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])  # cosines 0, 1, 0
    0.3333333333333333
    """
    return float(dimension_contributions(vectors).sum())


def dimension_contributions(vectors: np.ndarray) -> np.ndarray:
    """How much each dimension adds to the expected cosine: the mean of u_d · u'_d over all pairs of different vectors.

    Args:
        vectors: (n, D).

    Returns:
        (D,), adding up to ``expected_cosine``. A rogue dimension has a large share of it.

    Raises:
        ValueError: if there are fewer than two, or one is zero or not finite.

    Source: Timkey & van Schijndel 2021, "All Bark and No Bite", equations 2-4, over all pairs in place of sampled ones.
    """
    units = unit(check_vectors(vectors))
    if len(units) < 2:
        raise ValueError(f"vectors must be at least two, to make a pair; got {len(units)}.")
    total, of_squares = units.sum(axis=0, dtype=np.float64), (units**2).sum(axis=0, dtype=np.float64)
    return (total**2 - of_squares) / (len(units) * (len(units) - 1))


def sampled_cosine(vectors: np.ndarray, num_pairs: int = 10_000, seed: int = 0) -> Estimate:
    """The expected cosine from random pairs, as papers estimate it.

    Args:
        vectors: (n, D).
        num_pairs: how many pairs of different vectors to draw, with replacement.
        seed: of the draw.

    Returns:
        ``Estimate``.

    Raises:
        ValueError: if there are fewer than two vectors or pairs, or a vector is zero or not finite.

    Source: Ethayarajh 2019, section 4.1.
    """
    vectors = check_vectors(vectors)
    if len(vectors) < 2 or num_pairs < 2:
        raise ValueError(f"vectors and num_pairs must be at least two; got {len(vectors)} and {num_pairs}.")
    random = np.random.default_rng(seed)
    first = random.integers(len(vectors), size=num_pairs)
    second = (first + random.integers(1, len(vectors), size=num_pairs)) % len(vectors)  # never the same one
    cosines = paired_cosines(vectors[first], vectors[second])
    return Estimate(float(cosines.mean()), float(cosines.std(ddof=1) / np.sqrt(num_pairs)))


def paired_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of each vector with the one beside it.

    Args:
        first, second: (n, D).

    Returns:
        (n,).

    Raises:
        ValueError: if the shapes differ, or a vector is zero or not finite.

    Source: cos(x, y) = x·y / (|x| |y|).
    """
    first, second = check_vectors(first), check_vectors(second)
    if first.shape != second.shape:
        raise ValueError(f"first and second must have one shape; got {first.shape} and {second.shape}.")
    return np.einsum("nd,nd->n", unit(first), unit(second), dtype=np.float64)


class Standardizer(TransformerMixin, BaseEstimator):
    """z = (x - μ)/σ in each dimension, with mean and standard deviation of the vectors it was fitted to.

    A dimension that is the same everywhere is only shifted.

    Attributes:
        mean_: (D,), μ.
        scale_: (D,), σ, not of a sample but of the vectors themselves (divided by n); 1 where it is 0.
        n_features_in_: D.

    Source: Timkey & van Schijndel 2021, section 4.1; Jurafsky & Martin, z = (x - μ)/σ. Equals scikit-learn's
    StandardScaler.

    >>> Standardizer().fit_transform([[1.0, 5.0], [3.0, 5.0]]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    def fit(self, X: np.ndarray, y: None = None) -> "Standardizer":
        """Learn μ and σ.

        Args:
            X: (n, D).
            y: not used; scikit-learn's pipelines hand it over.

        Returns:
            Itself.

        Raises:
            ValueError: if there is no vector, or one is not finite.
        """
        vectors = check_finite(X)
        self.mean_ = vectors.mean(axis=0, dtype=np.float64)
        spread = vectors.std(axis=0, dtype=np.float64)
        rounding = len(vectors) * np.finfo(np.float64).eps * np.abs(self.mean_)  # scikit-learn's bound for "no spread"
        self.scale_ = np.where(spread <= np.maximum(rounding, np.finfo(vectors.dtype).tiny), 1.0, spread)
        self.n_features_in_ = vectors.shape[1]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Vectors with mean 0 and standard deviation 1 in each dimension, if they are those of ``fit``.

        Args:
            X: (n, D).

        Returns:
            (n, D).

        Raises:
            ValueError: if it is another D, or a vector is not finite.
        """
        check_is_fitted(self)
        vectors = check_finite(X)
        if vectors.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have vectors of {self.n_features_in_} numbers, as in fit; got {vectors.shape[1]}."
            )
        return (vectors - self.mean_.astype(vectors.dtype)) / self.scale_.astype(vectors.dtype)


class Layout(NamedTuple):
    """Where a line of a similarity set has what.

    Attributes:
        separator: between two fields.
        score: index of the score; the words are 0 and 1.
        lowest, highest: of the scale that people answered on.
    """

    separator: str
    score: int
    lowest: float
    highest: float


LAYOUTS = {
    "simlex999": Layout("\t", 3, 0, 10),
    "simverb3500": Layout("\t", 3, 0, 10),
    "ws353-similarity": Layout("\t", 2, 0, 10),
    "ws353-relatedness": Layout("\t", 2, 0, 10),
    "rg65": Layout(";", 2, 0, 4),
}


def word_pairs(name: str) -> list[WordPair]:
    """A public set of word pairs with people's judgements, fetched if it is not here.

    Args:
        name: one of ``LAYOUTS``.

    Raises:
        ConnectionError: if it is not here and cannot be fetched.
        ValueError: if there is no such set, or it is not the one we know.

    Source: as for ``read_word_pairs``.
    """
    if name not in LAYOUTS:
        raise ValueError(f"name must be one of {', '.join(LAYOUTS)}; got {name!r}.")
    return read_word_pairs(*fetch(name), name)


def read_word_pairs(path: str | os.PathLike, name: str) -> list[WordPair]:
    """A set of word pairs with people's judgements.

    Args:
        path: its file.
        name: which set it is, one of ``LAYOUTS``: they differ in their columns.

    Returns:
        The pairs, in order.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming file, line, and what was expected.

    Source: Hill et al. 2015 (SimLex-999), Gerz et al. 2016 (SimVerb-3500), Finkelstein et al. 2002 and Agirre et al.
    2009 (WordSim-353), Rubenstein & Goodenough 1965 (RG-65).
    """
    if name not in LAYOUTS:
        raise ValueError(f"name must be one of {', '.join(LAYOUTS)}; got {name!r}.")
    path, layout = Path(path), LAYOUTS[name]
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; there is no such file. Fetch it: bertcourse data get {name}.")
    pairs = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8; {error}.") from None
    for number, line in enumerate(lines, 1):
        fields = [field.strip() for field in line.split(layout.separator)]
        if number == 1 and fields[:2] == ["word1", "word2"]:  # a heading
            continue
        try:
            pair = WordPair(fields[0], fields[1], float(fields[layout.score]))
        except (IndexError, ValueError):
            pair = None
        if pair is None or not (pair.first and pair.second and layout.lowest <= pair.score <= layout.highest):
            raise ValueError(
                f"{path}, line {number}: expected two words and, in field {layout.score + 1}, a score from "
                f"{layout.lowest} to {layout.highest}; got {line!r:.80}."
            )
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"{path} must hold pairs of words; it is empty.")
    return pairs


def human_correlation(vectors: Mapping[str, np.ndarray], pairs: Sequence[WordPair]) -> float:
    """Spearman's correlation of cosine with people's judgement: do they put the pairs in the same order?

    Args:
        vectors: word to (D,).
        pairs: those with a word that has no vector are passed over.

    Returns:
        Between -1 and 1.

    Raises:
        ValueError: if fewer than three pairs remain, a vector is zero or not finite, or all cosines or all scores are
            the same, so that they have no order.

    Source: Hill et al. 2015, section 4.
    """
    known = [pair for pair in pairs if pair.first in vectors and pair.second in vectors]
    if len(known) < 3:
        raise ValueError(
            f"pairs must be at least three whose words both have vectors; got {len(known)} of {len(pairs)}."
        )
    first, second = (np.stack([vectors[pair[side]] for pair in known]) for side in (0, 1))
    cosines, scores = paired_cosines(first, second), [pair.score for pair in known]
    check_varied("cosines of the pairs", cosines)
    check_varied("scores of the pairs", scores)
    return float(stats.spearmanr(cosines, scores).statistic)


def check_varied(name: str, values: Sequence[float]) -> None:
    """Refuse numbers that no correlation can be computed of.

    Raises:
        ValueError: if one is not finite, or all are the same but for rounding.
    """
    if not np.isfinite(values).all():
        raise ValueError(f"the {name} must be finite; got {np.asarray(values)[~np.isfinite(values)][0]}. Leave it out.")
    if np.ptp(values) < 1e-12:
        raise ValueError(
            f"the {name} must differ, or nothing can be correlated with them; all {len(values)} are {values[0]:.4g}. "
            f"Take more, or look at where they come from."
        )


def mean_vectors(vectors: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, np.ndarray]:
    """The mean of the vectors of each name: a static vector of a word from its contextual ones.

    Args:
        vectors: (n, D).
        names: n names, such as words.

    Returns:
        Name to (D,).

    Raises:
        ValueError: if the lengths differ, or a vector is zero or not finite.

    Source: Bommasani et al. 2020, "Interpreting Pretrained Contextualized Representations via Reductions to Static
    Embeddings", whose best aggregation is the mean.
    """
    vectors, groups = check_vectors(vectors), rows_by_name(names, len(vectors))
    return {name: vectors[rows].mean(axis=0) for name, rows in groups.items()}


def rows_by_name(names: Sequence[Hashable], count: int) -> dict[Hashable, list[int]]:
    """The rows that each name has.

    Args:
        names: one for each row.
        count: how many rows there are.

    Raises:
        ValueError: if there are more or fewer names.

    >>> rows_by_name(["a", "b", "a"], 3)
    {'a': [0, 2], 'b': [1]}
    """
    if len(names) != count:
        raise ValueError(f"names must be one for each of the {count} vectors; got {len(names)}.")
    groups = defaultdict(list)
    for row, name in enumerate(names):
        groups[name].append(row)
    return dict(groups)


def self_similarity(vectors: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, float]:
    """The mean cosine of two occurrences of the same name, such as a word or a sense.

    Args:
        vectors: (n, D).
        names: n names.

    Returns:
        Name to cosine, of the names that occur at least twice.

    Raises:
        ValueError: if the lengths differ, or a vector is zero or not finite.

    Source: Ethayarajh 2019, section 3.3, definition 1.
    """
    vectors, groups = check_vectors(vectors), rows_by_name(names, len(vectors))
    return {name: expected_cosine(vectors[rows]) for name, rows in groups.items() if len(rows) > 1}


def frequency_effect(similarities: Mapping[Hashable, float], counts: Mapping[Hashable, int]) -> Line:
    """How the similarity of a sense's occurrences falls with the frequency of its word.

    Occurrences of one sense mean the same, so that a slope below zero is similarity that cosine does not see.

    Args:
        similarities: sense to the mean cosine of its occurrences, as of ``self_similarity``.
        counts: sense to how often its word occurs in a large text; those without a count are passed over.

    Returns:
        ``Line``, cosine over the logarithm of frequency to base 10: the slope is the change for ten times the
        frequency.

    Raises:
        ValueError: if fewer than three have a count, all counts or all similarities are the same, or one is not finite.

    Source: Zhou et al. 2022, "Problems with Cosine as a Measure of Embedding Similarity for High Frequency Words",
    section 3, there on pairs of WiC that have the same sense.
    """
    known = [name for name in similarities if counts.get(name, 0) > 0]
    frequencies = np.log10([counts[name] for name in known]) if known else np.zeros(0)
    if len(known) < 3 or np.ptp(frequencies) == 0:
        raise ValueError(
            f"similarities must have at least three names with different counts; got {len(known)} with a count."
        )
    cosines = [similarities[name] for name in known]
    check_varied("counts", frequencies)
    check_varied("similarities", cosines)
    line = stats.linregress(frequencies, cosines)
    return Line(float(line.slope), float(line.intercept), float(line.stderr), float(line.rvalue), len(known))
