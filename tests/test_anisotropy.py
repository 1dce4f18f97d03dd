"""The shape of the space: closed forms and all pairs, standardization and scikit-learn, people and cosine."""

import numpy as np
import pytest
from scipy import stats
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from bertcourse.anisotropy import (
    Standardizer,
    dimension_contributions,
    expected_cosine,
    frequency_effect,
    mean_vectors,
    paired_cosines,
    sampled_cosine,
    self_similarity,
)
from bertcourse_lab.datasets import judged_pairs
from bertcourse_lab.datasets.judged_pairs import JudgedPair, human_correlation, read_word_pairs


@pytest.fixture
def vectors() -> np.ndarray:
    """300 vectors in a narrow cone, one dimension of which is rogue."""
    random = np.random.default_rng(0)
    vectors = random.normal(0.3, 1, size=(300, 16))
    vectors[:, 5] += 8
    return vectors


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


def test_sampled_pairs_agree_within_their_standard_error(vectors):
    exact = expected_cosine(vectors)
    estimates = [sampled_cosine(vectors, num_pairs=2000, seed=seed) for seed in range(40)]
    within = [abs(estimate.mean - exact) < 2 * estimate.standard_error for estimate in estimates]
    assert sum(within) >= 34
    assert sampled_cosine(vectors, seed=1) == sampled_cosine(vectors, seed=1) != sampled_cosine(vectors, seed=2)


def test_a_pair_is_of_two_different_vectors():
    assert sampled_cosine(np.eye(2), num_pairs=50) == (0.0, 0.0)


def test_standardizer_equals_standard_scaler(vectors):
    vectors[:, 2] = 0.1  # has no spread
    ours, theirs = Standardizer().fit(vectors), StandardScaler().fit(vectors)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-12)
    np.testing.assert_allclose(ours.transform(vectors[:7]), theirs.transform(vectors[:7]), atol=1e-12)
    single = vectors.astype(np.float32)
    np.testing.assert_allclose(Standardizer().fit_transform(single), StandardScaler().fit_transform(single), atol=1e-5)
    assert Standardizer().fit_transform(single).dtype == np.float32
    whole = np.array([[16777216], [16777217], [16777218]])  # more digits than float32 has
    np.testing.assert_allclose(Standardizer().fit_transform(whole), StandardScaler().fit_transform(whole))


def test_a_dimension_that_is_almost_dead_is_standardized_and_a_dead_one_is_not(vectors):
    vectors = vectors.astype(np.float32)
    vectors[:, 2] *= 1e-25  # its square is 0 in float32, as in the last layer of MiniLM
    vectors[:, 3] *= 1e-40
    standardized = Standardizer().fit_transform(vectors)
    assert np.isfinite(standardized).all()
    np.testing.assert_allclose(standardized.std(axis=0)[[1, 2, 3]], [1, 1, 0], atol=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_standardizer_keeps_to_the_conventions_of_scikit_learn():
    check_estimator(Standardizer())


def test_standardization_takes_the_expected_cosine_away(vectors):
    assert expected_cosine(vectors) > 0.75
    assert abs(expected_cosine(Standardizer().fit_transform(vectors))) < 0.01


@pytest.mark.parametrize("function", [expected_cosine, dimension_contributions, sampled_cosine])
def test_refuses_vectors_without_direction(function, vectors):
    for value, message in ((0, "zero.* row 3"), (np.nan, "NaN"), (np.inf, "infinity")):
        vectors[3] = value
        with pytest.raises(ValueError, match=message):
            function(vectors)
    with pytest.raises(ValueError, match="at least two"):
        function(vectors[:1])
    with pytest.raises(ValueError):
        function(vectors[0])


def test_refuses_what_does_not_fit(vectors):
    with pytest.raises(ValueError, match="shape.*16. and .*4"):
        paired_cosines(vectors, vectors[:, :4])
    with pytest.raises(ValueError, match="names .*300 vectors; got 2"):
        self_similarity(vectors, ["a", "b"])


FILES = {
    "simlex999": "word1\tword2\tPOS\tSimLex999\tconc(w1)\r\nold\tnew\tA\t1.58\t2.72\r\n"
    "smart\tintelligent\tA\t9.2\t1.75\r\n",
    "simverb3500": "old\tnew\tV\t1.58\tSYNONYMS\nsmart\tintelligent\tV\t9.2\tNONE\n",
    "ws353-similarity": "old\tnew\t1.58\nsmart\tintelligent\t9.2\n",
    "ws353-relatedness": "old\tnew\t1.58\nsmart\tintelligent\t9.20\n",
    "rg65": "old;new;1.58  \r\nsmart;intelligent;9.2\n",
}


@pytest.mark.parametrize("name", FILES)
def test_similarity_sets_are_read(tmp_path, name):
    (tmp_path / name).write_text(
        FILES[name].replace("9.2", "3.9") if name == "rg65" else FILES[name], encoding="utf-8", newline=""
    )
    pairs = read_word_pairs(tmp_path / name, name)
    assert pairs[0] == JudgedPair("old", "new", 1.58) and pairs[1][:2] == ("smart", "intelligent") and len(pairs) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rg65", FILES["rg65"], "line 2.*field 3.* 0 to 4; got 'smart;intelligent;9.2'"),
        ("rg65", FILES["simlex999"], "line 1.*two words"),
        ("simlex999", "old\tnew\tA\tx\n", "line 1.*field 4.* 0 to 10"),
        ("simlex999", "old\t\tA\t1\n", "line 1.*two words"),
        ("simlex999", "old\tnew\tA\tnan\n", "line 1.*two words"),
        ("simlex999", "", "empty"),
    ],
)
def test_a_broken_similarity_set_is_named_with_its_line(tmp_path, name, content, message):
    (tmp_path / "pairs.txt").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=f"pairs.txt.*{message}"):
        read_word_pairs(tmp_path / "pairs.txt", name)


def test_similarity_sets_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.txt"):
        read_word_pairs(tmp_path / "absent.txt", "rg65")
    with pytest.raises(ValueError, match="simlex999, .*; got 'men'"):
        read_word_pairs(tmp_path / "absent.txt", "men")
    with pytest.raises(ValueError, match="simlex999"):
        judged_pairs.word_pairs("men")
    (tmp_path / "bytes.txt").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="bytes.txt .*UTF-8"):
        read_word_pairs(tmp_path / "bytes.txt", "rg65")


def test_human_correlation_is_spearmans(vectors):
    words = dict(zip("abcdefgh", vectors))
    pairs = [JudgedPair(x, y, score) for score, (x, y) in enumerate(["ab", "cd", "ef", "gh", "ag"])]
    cosines = [float(paired_cosines(words[p.first][None], words[p.second][None])[0]) for p in pairs]
    expected = stats.spearmanr(cosines, range(5)).statistic
    assert human_correlation(words, [*pairs, JudgedPair("a", "unknown", 5.0)]) == pytest.approx(expected)
    with pytest.raises(ValueError, match="scores .*three"):
        human_correlation({word: words[word] for word in "abcd"}, pairs)


def test_what_has_no_order_is_not_correlated(vectors):
    words = dict(zip("abcdefgh", vectors))
    pairs = [JudgedPair(x, y, 5.0) for x, y in ("ab", "cd", "ef")]
    with pytest.raises(ValueError, match="scores .*not all the same.* got 3: 5, 5, 5"):
        human_correlation(words, pairs)
    with pytest.raises(ValueError, match="scores .*finite.*nan"):
        human_correlation(words, [*pairs, JudgedPair("a", "c", float("nan"))])
    pairs = [pair._replace(score=score) for score, pair in enumerate(pairs)]
    with pytest.raises(ValueError, match="cosines .*the same"):  # 1 but for rounding
        human_correlation({word: vectors[0] * (1 + 0.1 * i) for i, word in enumerate(words)}, pairs)


def test_names_are_averaged_and_compared_with_themselves(vectors):
    names = ["x", "y", "x", "z", "y", "x"]
    means, alike = mean_vectors(vectors[:6], names), self_similarity(vectors[:6], names)
    np.testing.assert_allclose(means["x"], vectors[[0, 2, 5]].mean(0))
    assert set(alike) == {"x", "y"}
    assert alike["x"] == pytest.approx(products_of_all_pairs(vectors[[0, 2, 5]]).sum(1).mean())


def test_frequency_effect_finds_the_slope_that_is_there():
    counts = {i: 10 ** (1 + i % 5) for i in range(500)}
    noise = np.random.default_rng(0).normal(0, 0.02, size=500)
    line = frequency_effect({i: 0.9 - 0.05 * np.log10(counts[i]) + noise[i] for i in counts}, {**counts, 0: 0})
    assert abs(line.slope + 0.05) < 3 * line.standard_error < 0.005
    assert line.num_points == 499 and line.correlation < -0.9 and abs(line.intercept - 0.9) < 0.01


@pytest.mark.parametrize(
    ("similarities", "counts", "message"),
    [
        ((0.5,), (0,), "counts .*three.* got 0"),
        ((0.5, 0.4, 0.3), (7, 7, 7), "counts .*not all the same"),
        ((0.5, 0.4, 0.3), (7, 70, float("inf")), "counts .*finite.*inf"),
        ((0.5, 0.5, 0.5), (7, 70, 700), "similarities .*not all the same"),
        ((0.5, float("nan"), 0.3), (7, 70, 700), "similarities .*finite.*nan"),
    ],
)
def test_no_line_goes_through_points_without_spread(similarities, counts, message):
    with pytest.raises(ValueError, match=message):
        frequency_effect(dict(enumerate(similarities)), dict(enumerate(counts)))
