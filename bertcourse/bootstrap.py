"""Would a difference between two systems hold up on another test set of the same kind? The paired bootstrap.

Instances of the test set are drawn again, with replacement, many times over:

    interval   the middle 95 % of the differences δ* of these draws
    p-value    the share of draws with |δ* − δ| ≥ |δ|, where δ is the measured difference

The draws scatter around δ. Shifted by −δ they scatter around 0, as they would if the two systems were equally good; the
p-value is how often chance alone then gives as large a difference as was measured. Chapters 8, 9 and 10 and the
benchmarks use it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

BLOCK = 1000  # resamples drawn at a time, so that a large test set fits into memory


class Comparison(NamedTuple):
    """A system compared with a baseline, on the same instances.

    Attributes:
        difference: of the scores, system minus baseline.
        low, high: the middle 95 % of the differences in resampled test sets.
        p_value: the share of resampled differences that are as far from the measured one as that is from 0.
    """

    difference: float
    low: float
    high: float
    p_value: float


def compare(
    counts: np.ndarray, difference: Callable[[np.ndarray], np.ndarray], resamples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two systems by a score computed from counts that add up over instances, such as F1.

    Instances with the same counts are alike, so that a resampled test set is one multinomial draw of how often each
    kind occurs.

    Args:
        counts: (n, C), what each instance adds.
        difference: from (R, C) totals to the R differences of the score.
        resamples: R.
        seed: of the draws.

    Source: Berg-Kirkpatrick et al. 2012, "An Empirical Investigation of Statistical Significance in NLP", figure 1.
    They ask whether one system is better and count the draws with δ* > 2δ, one tail of ours.
    """
    kinds, numbers = np.unique(np.asarray(counts), axis=0, return_counts=True)
    rng, shares = np.random.default_rng(seed), numbers / len(counts)
    blocks = [min(BLOCK, resamples - start) for start in range(0, resamples, BLOCK)]
    totals = (rng.multinomial(len(counts), shares, size=block) @ kinds for block in blocks)
    differences = np.concatenate([difference(each) for each in totals])
    low, high = np.quantile(differences, [0.025, 0.975])
    measured = difference(numbers[None] @ kinds)[0]
    p_value = np.mean(np.abs(differences - measured) >= abs(measured) * (1 - 1e-9))  # 2δ counts, despite rounding
    return Comparison(float(measured), float(low), float(high), float(p_value))
