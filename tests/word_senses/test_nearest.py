"""The nearest sense: equal to its definition; what it cannot learn from is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bertcourse.word_senses import NearestSense

BANK, SEAT = ("bank", "NOUN"), ("seat", "NOUN")
RIVER, MONEY, CHAIR = "bank%1:17:01::", "bank%1:14:00::", "seat%1:06:00::"


def example(n: int = 200, dimension: int = 8, num_words: int = 6):
    random = np.random.default_rng(0)
    words = [(f"w{i}", "NOUN") for i in random.integers(num_words, size=n)]
    gold = [tuple({f"{word[0]}%{i}" for i in random.integers(4, size=random.integers(1, 3))}) for word in words]
    return random.normal(size=(n, dimension)).astype(np.float32), gold, words


def plain_nearest_sense(vector: np.ndarray, examples: list[tuple[np.ndarray, str]]) -> str:
    """The mean vector of each sense, and the largest cosine."""
    cosines = {}
    for sense in dict.fromkeys(sense for _, sense in examples):
        mean = np.mean([each for each, its_sense in examples if its_sense == sense], axis=0)
        cosines[sense] = vector @ mean / np.linalg.norm(vector) / np.linalg.norm(mean)
    return max(cosines, key=cosines.get)


def test_nearest_sense_compares_with_means():
    """One money example is nearest, but the mean of the money examples is not."""
    model = NearestSense().fit([[1.0, 0.1], [-0.5, 1.0], [1.0, 0.4]], [MONEY, MONEY, RIVER])
    assert model.predict([[1.0, 0.1]]).tolist() == [RIVER]


def test_equals_the_definition():
    vectors, gold, words = example()
    model = NearestSense().fit(vectors, gold, words)
    predicted = model.predict(vectors + 0.5, words)
    for vector, word, sense in zip(vectors + 0.5, words, predicted):
        examples = [(v, each) for v, w, g in zip(vectors, words, gold) if w == word for each in g]
        assert sense == plain_nearest_sense(vector, examples)


def test_embeddings_are_means_of_all_examples():
    vectors, gold, words = example()
    model = NearestSense().fit(vectors, gold, words)
    for sense, vector, count in zip(model.senses_, model.sense_vectors_, model.counts_):
        rows = [row for row, g in enumerate(gold) if sense in g]
        assert count == len(rows)
        np.testing.assert_allclose(vector, vectors[rows].mean(0), atol=1e-6)


def test_one_neighbour_is_the_nearest_occurrence_and_many_vote():
    vectors = [[1.0, 0.0], [0.8, 0.3], [0.75, 0.4], [0.0, 1.0]]
    y = ["a", "b", "b", "c"]
    assert NearestSense(n_neighbors=1).fit(vectors, y).predict([[1.0, 0.1]]).tolist() == ["a"]
    assert NearestSense(n_neighbors=3).fit(vectors, y).predict([[1.0, 0.1]]).tolist() == ["b"]
    assert NearestSense(n_neighbors=99).fit(vectors, y).predict([[1.0, 0.1]]).tolist() == ["b"]
    tie = NearestSense(n_neighbors=2).fit(vectors, y).predict([[1.0, 0.1], [0.7, 0.5]])
    assert tie.tolist() == ["a", "b"]  # one vote each: the nearer; two votes


@pytest.mark.parametrize("scale", [1e-30, 1e-40, 1e25])
def test_the_length_of_a_vector_does_not_matter_however_small_or_large(scale):
    vectors = np.eye(2, dtype=np.float32) * np.float32(scale)
    for n_neighbors in (None, 1):
        model = NearestSense(n_neighbors=n_neighbors).fit(vectors, ["a", "b"])
        assert model.predict(np.eye(2)).tolist() == model.predict(vectors).tolist() == ["a", "b"]


def test_a_sense_that_is_named_twice_for_an_occurrence_counts_once():
    model = NearestSense().fit([[1, 0], [0, 1]], [("a", "a", "a"), "a"])
    assert model.counts_.tolist() == [2] and model.sense_vectors_.tolist() == [[0.5, 0.5]]


def test_senses_compete_only_within_their_word():
    model = NearestSense().fit([[1, 0], [0, 1], [1, 0.1]], [RIVER, MONEY, CHAIR], [BANK, BANK, SEAT])
    assert model.predict([[1, 0.1], [1, 0.1]], [BANK, SEAT]).tolist() == [RIVER, CHAIR]


def test_any_gold_key_is_right():
    model = NearestSense().fit([[1, 0], [0, 1]], [RIVER, (MONEY,)], [BANK, BANK])
    assert model.score([[1, 0], [0, 1]], [(MONEY, RIVER), RIVER], [BANK, BANK]) == 0.5


def test_a_word_without_example_takes_its_first_sense():
    model = NearestSense(first_senses={SEAT: CHAIR, BANK: RIVER}).fit([[1, 0]], [MONEY], [BANK])
    assert model.predict([[0, 1], [0, 1]], [SEAT, BANK]).tolist() == [CHAIR, MONEY]


def test_an_unknown_lemma_is_named():
    model = NearestSense().fit([[1, 0]], [MONEY], [BANK])
    with pytest.raises(ValueError, match=r"1 have neither: \('seat', 'NOUN'\)"):
        model.predict([[0, 1], [1, 0], [1, 1]], [SEAT, BANK, SEAT])


def test_an_empty_sense_is_named():
    with pytest.raises(ValueError, match="row 1 is empty"):
        NearestSense().fit([[1, 0], [0, 1]], [MONEY, ()], [BANK, BANK])


@pytest.mark.parametrize(
    ("X", "y", "words", "noun"),
    [
        ([[1, 0], [0, 0]], [MONEY] * 2, None, "row 1"),
        ([[np.nan, 0], [1, 0]], [MONEY] * 2, None, "NaN"),
        ([[1, 0], [np.inf, 0]], [MONEY] * 2, None, "infinity"),
        ([[1, 0], [0, 1]], [MONEY], None, "inconsistent"),
        ([[1, 0], [0, 1]], [MONEY] * 2, [BANK], "inconsistent"),
        ([1, 0], [MONEY] * 2, None, "shape"),
        (np.zeros((0, 4)), [], None, "shape"),
        ([[1, 0], [-1, 0]], [MONEY] * 2, None, f"cancel out; those of '{MONEY}'"),
    ],
)
def test_fit_refuses_what_it_cannot_learn_from(X, y, words, noun):
    with pytest.raises(ValueError, match=noun):
        NearestSense().fit(X, y, words)


def test_predict_refuses_what_does_not_fit():
    model = NearestSense().fit([[1, 0]], [MONEY], [BANK])
    with pytest.raises(ValueError, match="vectors of 2 numbers"):
        model.predict([[1, 0, 0]], [BANK])
    with pytest.raises(ValueError, match="words"):
        model.predict([[1, 0]])
    with pytest.raises(ValueError, match="row 0"):
        model.predict([[0, 0]], [BANK])
    with pytest.raises(ValueError, match="inconsistent"):
        model.score([[1, 0]], [MONEY, MONEY], [BANK])
    with pytest.raises(ValueError, match="n_neighbors"):
        NearestSense(n_neighbors=0).fit([[1, 0]], [MONEY])
    again = NearestSense(n_neighbors=1).fit([[1, 0]], [MONEY], [BANK])
    again.set_params(n_neighbors=None).fit([[0, 1]], [MONEY], [BANK])
    with pytest.raises(ValueError, match="call fit again"):  # rather than vote by the occurrences of the first fit
        again.set_params(n_neighbors=1).predict([[1, 0]], [BANK])


def test_keeps_to_the_conventions_of_scikit_learn():
    from sklearn.exceptions import NotFittedError

    model = NearestSense({BANK: RIVER}, n_neighbors=3)
    assert clone(model).get_params() == {"first_senses": {BANK: RIVER}, "n_neighbors": 3}
    assert model.set_params(n_neighbors=None).n_neighbors is None
    vectors = np.random.default_rng(0).normal(size=(30, 4)) + np.repeat(np.eye(4)[:2] * 5, 15, axis=0)
    labels = ["a"] * 15 + ["b"] * 15
    assert cross_val_score(make_pipeline(StandardScaler(), NearestSense()), vectors, labels, cv=3).min() == 1.0
    for y in (labels, [0] * 15 + [1] * 15):
        assert cross_val_score(NearestSense(), vectors, y, cv=3, scoring="accuracy").min() == 1.0
    assert model.fit(vectors, labels) is model and model.classes_.tolist() == ["a", "b"]
    with pytest.raises(NotFittedError):
        NearestSense().predict(vectors)
