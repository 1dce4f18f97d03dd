"""The paired bootstrap: equal to resampling one by one, and right where the answer is known."""

import numpy as np
import pytest

from bertcourse.bootstrap import compare, paired_bootstrap


def test_the_bootstrap_equals_resampling_instance_by_instance():
    random = np.random.default_rng(0)
    baseline = random.random(400) < 0.6
    system = np.where(random.random(400) < 0.8, baseline, random.random(400) < 0.8)
    result = paired_bootstrap(system, baseline)
    rows = random.integers(400, size=(4000, 400))
    differences = system[rows].mean(1) - baseline[rows].mean(1)
    assert result.difference == pytest.approx(system.mean() - baseline.mean())
    np.testing.assert_allclose([result.low, result.high], np.quantile(differences, [0.025, 0.975]), atol=0.004)


def test_equal_systems_do_not_differ_and_a_better_one_does():
    answers = np.arange(100) % 2 == 0
    assert paired_bootstrap(answers, answers) == (0.0, 0.0, 0.0, 1.0)
    better = paired_bootstrap(answers | (np.arange(100) < 30), answers)
    assert (
        better.low > 0
        and better.p_value == 0.0
        and better == paired_bootstrap(answers | (np.arange(100) < 30), answers)
    )
    with pytest.raises(ValueError, match="at least one; got 2 and 1"):
        paired_bootstrap(answers[:2], answers[:1])


def test_any_score_of_counts_is_compared_as_resampling_row_by_row_would():
    random = np.random.default_rng(3)
    counts = random.integers(0, 4, size=(80, 3))

    def ratio(totals):
        return (totals[:, 0] - totals[:, 1]) / (totals[:, 2] + 1)

    result = compare(counts, ratio, resamples=20_000)
    drawn = ratio(counts[random.integers(80, size=(20_000, 80))].sum(axis=1))
    assert result.difference == pytest.approx(ratio(counts.sum(axis=0)[None])[0])
    np.testing.assert_allclose([result.low, result.high], np.quantile(drawn, [0.025, 0.975]), atol=0.02)
    expected = 2 * min(np.mean(drawn <= 0), np.mean(drawn >= 0))
    assert result.p_value == pytest.approx(expected, abs=0.03)
