"""The nearest sense: equal to its definition, word by word, and an estimator of scikit-learn's."""

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
    senses = [f"{word}%{i}" for (word, _), i in zip(words, random.integers(4, size=n))]
    return random.normal(size=(n, dimension)).astype(np.float32), senses, words


def test_nearest_sense_compares_with_means():
    """One money example is nearest, but the mean of the money examples is not."""
    model = NearestSense().fit([[1.0, 0.1], [-0.5, 1.0], [1.0, 0.4]], [MONEY, MONEY, RIVER])
    assert model.predict([[1.0, 0.1]]).tolist() == [RIVER]


def test_equals_the_definition():
    vectors, senses, words = example()
    model = NearestSense().fit(vectors, senses, words)
    for x, word, predicted in zip(vectors + 0.5, words, model.predict(vectors + 0.5, words)):
        cosines = {}
        for sense in {sense for sense, its_word in zip(senses, words) if its_word == word}:
            mean = vectors[[each == sense for each in senses]].mean(axis=0)
            cosines[sense] = x @ mean / np.linalg.norm(x) / np.linalg.norm(mean)
        assert predicted == max(cosines, key=cosines.get)


def test_senses_compete_only_within_their_word():
    model = NearestSense().fit([[1, 0], [0, 1], [1, 0.1]], [RIVER, MONEY, CHAIR], [BANK, BANK, SEAT])
    assert model.predict([[1, 0.1], [1, 0.1]], [BANK, SEAT]).tolist() == [RIVER, CHAIR]
    assert model.score([[1, 0.1], [1, 0.1]], [MONEY, CHAIR], [BANK, SEAT]) == 0.5


def test_a_word_without_example_is_named():
    with pytest.raises(KeyError, match="seat"):
        NearestSense().fit([[1, 0]], [MONEY], [BANK]).predict([[0, 1]], [SEAT])


def test_keeps_to_the_conventions_of_scikit_learn():
    vectors = np.random.default_rng(0).normal(size=(30, 4)) + np.repeat(np.eye(4)[:2] * 5, 15, axis=0)
    for labels in (["a"] * 15 + ["b"] * 15, [0] * 15 + [1] * 15):
        assert cross_val_score(NearestSense(), vectors, labels, cv=3).min() == 1.0
        assert cross_val_score(NearestSense(), vectors, labels, cv=3, scoring="accuracy").min() == 1.0
        assert cross_val_score(make_pipeline(StandardScaler(), NearestSense()), vectors, labels, cv=3).min() == 1.0
    model = clone(NearestSense())
    assert model.fit(vectors, labels) is model and model.classes_.tolist() == [0, 1]
