"""The shape of the space: closed forms and all pairs, standardization and scikit-learn, people and cosine."""

import numpy as np
import pytest
from scipy import stats
from sklearn.preprocessing import StandardScaler

from bertcourse.anisotropy import (
    Standardizer,
    dimension_contributions,
    expected_cosine,
    mean_vectors,
    paired_cosines,
    self_similarity,
)
from bertcourse_lab.datasets import judged_pairs
from bertcourse_lab.datasets.judged_pairs import JudgedPair, human_correlation


@pytest.fixture
def vectors() -> np.ndarray:
    """300 vectors in a narrow cone, one dimension of which is rogue."""
    random = np.random.default_rng(0)
    vectors = random.normal(0.3, 1, size=(300, 16))
    vectors[:, 5] += 8
    return vectors


def standardized(vectors: np.ndarray) -> np.ndarray:
    return Standardizer().fit(vectors).transform(vectors)


def products_of_all_pairs(vectors: np.ndarray) -> np.ndarray:
    """(pairs, D): u_d · u'_d for every pair of different vectors."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.triu_indices(len(units), k=1)
    return units[first] * units[second]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_closed_form_equals_all_pairs(vectors, dtype):
    products = products_of_all_pairs(vectors)
    assert expected_cosine(vectors.astype(dtype)) == pytest.approx(products.sum(1).mean(), abs=1e-6)
    np.testing.assert_allclose(dimension_contributions(vectors.astype(dtype)), products.mean(0), atol=1e-6)


def test_contributions_add_up_and_name_the_rogue_dimension(vectors):
    contributions = dimension_contributions(vectors)
    assert contributions.sum() == pytest.approx(expected_cosine(vectors))
    assert contributions.argmax() == 5 and contributions[5] / contributions.sum() > 0.9


def test_isotropic_and_equal_vectors_have_the_values_they_must():
    assert expected_cosine(np.vstack([np.eye(4), -np.eye(4)])) == pytest.approx(-1 / 7)
    assert expected_cosine(np.ones((5, 3)) * [[1], [2], [3], [4], [5]]) == pytest.approx(1)


def test_standardizer_equals_standard_scaler(vectors):
    vectors[:, 2] = 0.5  # has no spread
    ours, theirs = Standardizer().fit(vectors), StandardScaler().fit(vectors)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-12)
    np.testing.assert_allclose(ours.transform(vectors[:7]), theirs.transform(vectors[:7]), atol=1e-12)
    single = vectors.astype(np.float32)
    np.testing.assert_allclose(standardized(single), StandardScaler().fit_transform(single), atol=1e-5)


def test_a_dimension_that_is_almost_dead_is_standardized_and_a_dead_one_is_not(vectors):
    vectors = vectors.astype(np.float32)
    vectors[:, 2] *= 1e-25  # its square is 0 in float32, as in the last layer of MiniLM
    vectors[:, 3] = 0
    np.testing.assert_allclose(standardized(vectors).std(axis=0)[[1, 2, 3]], [1, 1, 0], atol=1e-5)


def test_standardization_takes_the_expected_cosine_away(vectors):
    assert expected_cosine(vectors) > 0.75
    assert abs(expected_cosine(standardized(vectors))) < 0.01


FILES = {
    "men": "word1 word2 score\nold new 1.58\nsmart intelligent 9.2\n",
    "simlex999": "old\tnew\tA\t1.58\t2.72\r\nsmart\tintelligent\tA\t9.2\t1.75\r\n",
    "ws353-similarity": "old\tnew\t1.58\nsmart\tintelligent\t9.2\n",
    "rg65": "old;new;1.58  \r\nsmart;intelligent;9.2\n",
}


@pytest.mark.parametrize("name", FILES)
def test_similarity_sets_are_read(tmp_path, name, monkeypatch):
    (tmp_path / name).write_text(FILES[name], encoding="utf-8", newline="")
    monkeypatch.setattr(judged_pairs, "fetch", lambda name: [tmp_path / name])
    assert judged_pairs.word_pairs(name) == [("old", "new", 1.58), ("smart", "intelligent", 9.2)]


def test_human_correlation_is_spearmans(vectors):
    words = dict(zip("abcdefgh", vectors))
    pairs = [JudgedPair(x, y, score) for score, (x, y) in enumerate(["ab", "cd", "ef", "gh", "ag"])]
    cosines = [float(paired_cosines(words[p.first][None], words[p.second][None])[0]) for p in pairs]
    expected = stats.spearmanr(cosines, range(5)).statistic
    assert human_correlation(words, [*pairs, JudgedPair("a", "unknown", 5.0)]) == pytest.approx(expected)


def test_names_are_averaged_and_compared_with_themselves(vectors):
    names = ["x", "y", "x", "z", "y", "x"]
    means, alike = mean_vectors(vectors[:6], names), self_similarity(vectors[:6], names)
    np.testing.assert_allclose(means["x"], vectors[[0, 2, 5]].mean(0))
    assert set(alike) == {"x", "y"}
    assert alike["x"] == pytest.approx(products_of_all_pairs(vectors[[0, 2, 5]]).sum(1).mean())
