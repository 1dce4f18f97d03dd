"""Chapter 0: what word vectors say about people. Associations with a p-value, a gender direction, and their critics.

The word embedding association test asks whether words X (flowers) are nearer to A (pleasant) than to B (unpleasant)
when compared with words Y (insects). With s(w) = mean cos(w, a) - mean cos(w, b),

    statistic = Σ_x s(x) - Σ_y s(y),    effect size = (mean_x s(x) - mean_y s(y)) / standard deviation of s over X ∪ Y

(Caliskan, Bryson & Narayanan 2017, "Semantics derived automatically from language corpora contain human-like biases").
Bolukbasi et al. 2016 ("Man is to Computer Programmer as Woman is to Homemaker?") look for one direction, he - she, and
take it out. Two criticisms: their analogies may not answer with a word of the question, so that "man is to doctor as
woman is to doctor" cannot come out (Nissim, van Noord & van der Goot 2020, "Fair Is Better than Sensational"); and a
bias that is taken out of one direction still shows in the neighbours (Gonen & Goldberg 2019, "Lipstick on a Pig").
"""

import math
import tomllib
from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bertcourse.static_embeddings.vectors import WordVectors

EXACT = 20_000  # up to this many ways of dividing the words, all are tried; beyond it, some are drawn


class AssociationTest(NamedTuple):
    """What ``weat`` finds.

    Attributes:
        effect_size: how many standard deviations lie between X and Y; between -2 and 2.
        statistic: Σ_x s(x) - Σ_y s(y).
        p_value: the share of all ways to divide X ∪ Y into two halves whose statistic is at least as large; one-sided.
        divisions: how many ways were tried.
        exact: whether those are all there are.
    """

    effect_size: float
    statistic: float
    p_value: float
    divisions: int
    exact: bool


def word_lists() -> dict[str, list]:
    """The course's own lists, of words that occur in novels: word_lists.toml."""
    text = (resources.files("bertcourse.static_embeddings") / "word_lists.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def covered(vectors: WordVectors, words: Iterable[str]) -> list[str]:
    """The words that have a vector."""
    return [word for word in words if word in vectors]


def associations(vectors: WordVectors, words: Sequence[str], a: Sequence[str], b: Sequence[str]) -> NDArray[np.float64]:
    """How much nearer words are to A than to B: mean cos(w, a) - mean cos(w, b).

    Args:
        vectors: of all these words.
        words: n words.
        a, b: the words A and B.

    Returns:
        (n,), s(w).

    >>> vectors = WordVectors(["rose", "nice", "nasty"], [[1, 0], [1, 0], [0, 1]])
    >>> associations(vectors, ["rose"], ["nice"], ["nasty"])
    array([1.])
    """
    rows, first, second = ([vectors.find(word) for word in each] for each in (words, a, b))
    unit = vectors.unit.astype(np.float64)
    return unit[rows] @ (unit[first].mean(axis=0) - unit[second].mean(axis=0))


def weat(
    vectors: WordVectors,
    x: Sequence[str],
    y: Sequence[str],
    a: Sequence[str],
    b: Sequence[str],
    draws: int = 10_000,
    seed: int = 0,
) -> AssociationTest:
    """The word embedding association test.

    Args:
        vectors: words without a vector are left out; the longer of X and Y then loses words at its end until both have
            the same length.
        x, y: the words to compare, such as flowers and insects.
        a, b: the words to compare them with, such as pleasant and unpleasant ones.
        draws: how many divisions to draw if there are more than ``EXACT``; the p-value is then
            (1 + m) / (1 + draws), m being the number of draws with a statistic at least as large.
        seed: of these draws.

    Raises:
        ValueError: if fewer than two words of X or Y, or none of A or B, have a vector.
    """
    x, y, a, b = (covered(vectors, each) for each in (x, y, a, b))
    n = min(len(x), len(y))
    if n < 2 or not a or not b:
        raise ValueError(
            f"x and y must have two words or more that have a vector, a and b one; got {len(x)}, {len(y)}, {len(a)} "
            f"and {len(b)}. Take other words, or vectors of more of them."
        )
    s = associations(vectors, [*x[:n], *y[:n]], a, b)
    statistic, effect = s[:n].sum() - s[n:].sum(), (s[:n].mean() - s[n:].mean()) / s.std(ddof=1)
    number = math.comb(2 * n, n)
    if exact := number <= EXACT:
        halves = np.array(list(combinations(range(2 * n), n)))
        as_large = (2 * s[halves].sum(axis=1) - s.sum() >= statistic - 1e-12).sum()
        p_value = as_large / number
    else:
        halves = np.random.default_rng(seed).permuted(np.tile(s, (draws, 1)), axis=1)[:, :n]
        as_large = (2 * halves.sum(axis=1) - s.sum() >= statistic - 1e-12).sum()
        p_value = (1 + as_large) / (1 + draws)
    return AssociationTest(float(effect), float(statistic), float(p_value), number if exact else draws, exact)


def gender_direction(vectors: WordVectors, pairs: Sequence[Sequence[str]] = (("he", "she"),)) -> NDArray[np.float64]:
    """The direction in which the words of a pair differ, with the first words on its positive side.

    Args:
        vectors: pairs with a word that has no vector are left out.
        pairs: of words; one pair gives the difference of its words, several give the first principal component of the
            words, each minus the mean of its pair (Bolukbasi et al. 2016, section 6).

    Returns:
        (D,), of length 1.
    """
    known = [pair for pair in pairs if pair[0] in vectors and pair[1] in vectors]
    if not known:
        raise ValueError(f"pairs must have one of which both words have a vector; got {list(pairs)!r:.80}.")
    first, second = (vectors.unit[[vectors.find(pair[side]) for pair in known]].astype(np.float64) for side in (0, 1))
    direction = np.linalg.svd(first - second, full_matrices=False)[2][0]  # a word minus its pair's mean is ± half of it
    side = (first - second).sum(axis=0) @ direction
    if np.isclose(side, 0):
        raise ValueError(
            f"pairs must differ in a common direction, the same side first in each; {known!r:.80} cancel out."
        )
    return direction * np.sign(side)


def projections(vectors: WordVectors, words: Sequence[str], direction: NDArray) -> NDArray[np.float64]:
    """The cosine of each word with a direction.

    Args:
        vectors: of all these words.
        words: n words.
        direction: (D,), of length 1.

    Returns:
        (n,).
    """
    return vectors.unit[[vectors.find(word) for word in words]].astype(np.float64) @ direction


def without_direction(vectors: WordVectors, direction: NDArray) -> WordVectors:
    """Vectors of length 1 with a direction taken out (Bolukbasi et al. 2016, "neutralize").

    Args:
        vectors: of any words.
        direction: (D,), of length 1.
    """
    unit = vectors.unit.astype(np.float64)
    rest = unit - np.outer(unit @ direction, direction)
    return WordVectors(vectors.words, rest / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12))


def neighbours_gender(
    before: WordVectors, after: WordVectors, direction: NDArray, words: Sequence[str], k: int = 100
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Does a word's old gender show among its new neighbours? Gonen & Goldberg 2019, section 4.

    Args:
        before: vectors with the direction in them.
        after: vectors of the same words with the direction taken out.
        direction: (D,), of length 1.
        words: n words to ask about.
        k: how many neighbours to look at.

    Returns:
        ``(gender, share)``, both (n,): each word's cosine with the direction before; and the share of its k nearest
        words after that were on the direction's positive side before.
    """
    is_positive = {word: side > 0 for word, side in zip(before.words, before.unit @ direction)}
    shares = [np.mean([is_positive[each.word] for each in after.neighbours(word, k)]) for word in words]
    return projections(before, words, direction), np.array(shares)
