"""Chapter 0: skip-gram with negative sampling, as word2vec trains it, pair by pair.

Each word w has two vectors, v_w where it is the centre of a window and u_w where it is a neighbour. For a centre w, its
neighbour c, and k words n drawn from the noise distribution, the loss is

    L = - ln σ(u_c · v_w) - Σ_n ln σ(-u_n · v_w),        P(n) ∝ #(n)^0.75

(Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", equation 4). With
g = σ(u · v) - 1 for the neighbour and g = σ(u · v) for noise, the gradients are Σ g u for v, and g v for each u.

``word2vec_fast`` minimizes the same loss with all draws replaced by their expectation.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def keep_probability(counts: NDArray, threshold: float) -> NDArray[np.float64]:
    """How likely each occurrence of a word is to be kept: min(1, √(t / f)), f being the word's share of the text.

    Mikolov et al. 2013, section 2.3: frequent words say little about their neighbours.

    Args:
        counts: (V,), how often each word occurs.
        threshold: t; words rarer than this share are always kept.

    >>> keep_probability(np.array([96, 4]), threshold=0.24)
    array([0.5, 1. ])
    """
    return np.minimum(1, np.sqrt(threshold * counts.sum() / np.maximum(counts, 1)))


def noise_distribution(counts: NDArray, power: float = 0.75) -> NDArray[np.float64]:
    """The distribution that negatives are drawn from: P(n) ∝ #(n)^power.

    Args:
        counts: (V,), how often each word occurs.
        power: below 1, rare words are drawn more often than they occur.

    >>> noise_distribution(np.array([81, 16]))  # 27 : 8
    array([0.77142857, 0.22857143])
    """
    weights = counts.astype(np.float64) ** power
    return weights / weights.sum()


def window_pairs(
    ids: Sequence[int], window: int, random: np.random.Generator | None = None
) -> Iterator[tuple[int, int]]:
    """The pairs (centre, neighbour) of a text.

    Args:
        ids: the words of a text, by number.
        window: how far away a neighbour may be.
        random: draws a window from 1 to ``window`` for each centre, so that near neighbours count more; None takes all.

    >>> list(window_pairs([7, 8, 9], window=1))
    [(7, 8), (8, 7), (8, 9), (9, 8)]
    """
    for place, centre in enumerate(ids):
        reach = window if random is None else int(random.integers(1, window + 1))
        for other in range(max(0, place - reach), min(len(ids), place + reach + 1)):
            if other != place:
                yield centre, ids[other]


def sigmoid(x: NDArray | float) -> NDArray | float:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


def negative_sampling_loss(v: NDArray, u: NDArray, noise: NDArray) -> float:
    """The loss of one pair.

    Args:
        v: (D,), the centre's vector.
        u: (D,), the neighbour's.
        noise: (k, D), those of the negatives.

    >>> round(negative_sampling_loss(np.zeros(3), np.ones(3), np.ones((5, 3))), 4)  # six coins: 6 ln 2
    4.1589
    """
    return float(np.logaddexp(0, -(u @ v)) + np.logaddexp(0, noise @ v).sum())  # -ln σ(x) is ln(1 + e^-x)


def gradient_step(
    centres: NDArray, contexts: NDArray, centre: int, neighbour: int, negatives: NDArray, learning_rate: float
) -> float:
    """One step of stochastic gradient descent, for one pair; the vectors change in place.

    Args:
        centres, contexts: (V, D), the vectors v and u of all words.
        centre, neighbour: the pair.
        negatives: (k,), the words drawn as noise; one may be drawn twice.
        learning_rate: how far to go.

    Returns:
        The loss before the step.
    """
    others = np.concatenate([[neighbour], negatives])
    is_neighbour = np.arange(len(others)) == 0
    v, u = centres[centre].copy(), contexts[others]
    loss = negative_sampling_loss(v, u[0], u[1:])
    g = sigmoid(u @ v) - is_neighbour
    centres[centre] -= learning_rate * (g @ u)
    np.subtract.at(contexts, others, learning_rate * np.outer(g, v))
    return loss
