"""Would a difference between two systems hold in another test set of the same kind? The paired bootstrap.

Instances of the test set are drawn anew, with replacement, many times over; twice the share of draws in which the
difference has the other sign is its p-value. Chapters 5 and 8 and the benchmarks use it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Comparison(NamedTuple):
    """A system beside a baseline, on the same instances.

    Attributes:
        difference: of the scores, system minus baseline.
        low, high: the middle 95 % of the differences in resampled test sets.
        p_value: how often, counting both tails, a resampled difference has the other sign or is 0.
    """

    difference: float
    low: float
    high: float
    p_value: float


def paired_bootstrap(system: np.ndarray, baseline: np.ndarray, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Compare the accuracies of two systems. An instance adds +1, 0 or -1 to their difference.

    Args:
        system, baseline: (n,), whether each answer is right.
        resamples: how many test sets to draw.
        seed: of the draws.

    Raises:
        ValueError: if there is no instance, the lengths differ, an answer is neither right nor wrong, or there is no
            draw.

    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapter 16; Berg-Kirkpatrick et al. 2012.

    >>> paired_bootstrap(np.array([True, True, True, False]), np.array([True, False, True, False])).difference
    0.25
    """
    system, baseline = np.asarray(system), np.asarray(baseline)
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1; got {resamples}.")
    if len(system) != len(baseline) or not len(system):
        raise ValueError(
            f"system and baseline must have an answer for each instance, at least one; got {len(system)} and "
            f"{len(baseline)}."
        )
    for answers in (system, baseline):
        if answers.ndim != 1 or not np.isin(answers, (0, 1)).all():
            raise ValueError(
                "system and baseline must be lists of right (True, 1) and wrong (False, 0); got other values."
            )
    system, baseline = system.astype(int), baseline.astype(int)
    return compare((system - baseline)[:, None], lambda totals: totals[:, 0] / len(system), resamples, seed)


def compare(
    counts: np.ndarray, difference: Callable[[np.ndarray], np.ndarray], resamples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two systems by a score of counts that add up over instances, such as F1.

    Instances with the same counts are alike, so that a resampled test set is one multinomial draw of how often each
    kind occurs.

    Args:
        counts: (n, C), what each instance adds.
        difference: from (R, C) totals to the R differences of the score.
        resamples: R.
        seed: of the draws.

    Raises:
        Nothing: there is an instance, as the caller has checked.

    Source: Berg-Kirkpatrick et al. 2012, "An Empirical Investigation of Statistical Significance in NLP", figure 1.
    They count draws in which the difference is more than twice the measured one, in one tail; that is the same where
    the differences of the draws lie symmetrically about the measured one. Ours is Efron & Tibshirani's percentile
    version.
    """
    kinds, numbers = np.unique(np.asarray(counts), axis=0, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(counts), numbers / len(counts), size=resamples)
    differences = difference(draws @ kinds)
    low, high = np.quantile(differences, [0.025, 0.975])
    p_value = min(1.0, 2 * min(np.mean(differences <= 0), np.mean(differences >= 0)))
    measured = difference(numbers[None] @ kinds)[0]
    return Comparison(float(measured), float(low), float(high), float(p_value))
