"""Two systems, and whether each of their answers is right."""

import numpy as np

from bertcourse.bootstrap import Comparison, compare


def paired_bootstrap(system: np.ndarray, baseline: np.ndarray, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Compare the accuracies of two systems. An instance adds +1, 0 or -1 to their difference.

    Args:
        system, baseline: (n,), whether each answer is right.
        resamples: how many test sets to draw.
        seed: of the draws.

    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapter 16; Berg-Kirkpatrick et al. 2012.

    >>> paired_bootstrap(np.array([True, True, True, False]), np.array([True, False, True, False])).difference
    0.25
    """
    system, baseline = np.asarray(system), np.asarray(baseline)
    if system.shape != baseline.shape or system.ndim != 1 or not len(system):
        raise ValueError(
            f"system and baseline must have an answer per instance, at least one; got the shapes {system.shape} and "
            f"{baseline.shape}."
        )
    if not np.isin([system, baseline], (0, 1)).all():
        raise ValueError("answers must be right (True, 1) or wrong (False, 0); got other values.")
    system, baseline = system.astype(int), baseline.astype(int)
    return compare((system - baseline)[:, None], lambda totals: totals[:, 0] / len(system), resamples, seed)
