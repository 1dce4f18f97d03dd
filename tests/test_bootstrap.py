"""The paired bootstrap: equal to resampling one by one, and right where the answer is known."""

import math

import numpy as np
import pytest

from bertcourse.bootstrap import compare
from bertcourse_lab.benchmarks.paired import paired_bootstrap


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
        and better.p_value < 0.001
        and better == paired_bootstrap(answers | (np.arange(100) < 30), answers)
    )
    with pytest.raises(ValueError, match="answer per instance"):
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
    expected = np.mean(np.abs(drawn - result.difference) >= abs(result.difference))
    assert result.p_value == pytest.approx(expected, abs=0.03)


def test_the_draws_are_shifted_to_where_systems_are_equal():
    """Few instances, one of them large: the draws are lopsided, and the share of the other sign is another number."""
    counts = np.array([[8], [-1], [-1], [-1], [-1], [0]])
    result = compare(counts, lambda totals: totals[:, 0] / 6, resamples=50_000)
    drawn = np.random.default_rng(1).choice(counts[:, 0], size=(50_000, 6)).mean(axis=1)
    shifted = np.mean(drawn >= 2 * result.difference - 1e-12) + np.mean(drawn <= 1e-12)
    other_sign = 2 * min(np.mean(drawn <= 0), np.mean(drawn >= 0))
    assert result.p_value == pytest.approx(shifted, abs=0.01)
    assert abs(shifted - other_sign) > 0.05


def test_the_p_value_is_that_of_a_normal_distribution_where_there_are_many_instances():
    random = np.random.default_rng(5)
    differences = random.normal(0.05, 1, size=2000)
    result = compare(differences[:, None], lambda totals: totals[:, 0] / 2000)
    z = abs(differences.mean()) / (differences.std() / np.sqrt(2000))
    assert result.p_value == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.01)


def test_the_p_value_does_not_depend_on_which_system_comes_first():
    counts = np.array([[3, 5], [2, 0], [1, 4], [0, 0], [6, 2]])
    one, other = (compare(counts, lambda totals, s=s: s * (totals[:, 0] - totals[:, 1])) for s in (1, -1))
    assert one.p_value == other.p_value and one.difference == -other.difference


def test_equal_systems_are_significant_at_5_percent_about_once_in_twenty():
    """What a p-value promises: where there is no difference, it is below 0.05 in 5 % of all test sets."""
    random = np.random.default_rng(6)
    sets = random.normal(size=(400, 100))
    found = [compare(each[:, None], lambda totals: totals[:, 0], 1000).p_value for each in sets]
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09
