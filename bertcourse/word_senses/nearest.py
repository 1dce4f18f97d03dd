"""Chapter 5: the sense whose examples BERT finds most similar.

v_s = 1/n Σ v_i                    the mean of the vectors of the occurrences that have sense s
sense of v = argmax_s cos(v, v_s)  over the senses of the word

``NearestSense`` does this for many words at once, with scikit-learn's ``fit``, ``predict`` and ``score``.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


def unit(x: np.ndarray) -> np.ndarray:
    """Vectors (…, D), none of them zero, at length 1."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


class NearestSense(ClassifierMixin, BaseEstimator):
    """The sense whose embedding has the largest cosine with a vector, among those that its word was seen with.

    An embedding is the mean of the vectors of a sense's examples. A word without an example has none: ``predict``
    raises KeyError, and who asks gives it WordNet's first sense.

    Attributes:
        means_: word to sense to the sense's embedding, (D,), at length 1; the word is None where none was given.
        classes_: the senses, each once, for scikit-learn's scorers.

    Source: Jurafsky & Martin, v_s = 1/n Σ v_i; Loureiro & Jorge 2019, section 3, without its glosses.

    >>> vectors = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0]]
    >>> model = NearestSense().fit(vectors, ["river", "river", "money"])
    >>> model.predict([[0.9, 0.3], [-0.2, 0.5]]).tolist()
    ['money', 'river']
    """

    def fit(self, X: np.ndarray, y: Sequence[Hashable], words: Sequence[Hashable] | None = None) -> "NearestSense":
        """Learn the senses' embeddings.

        Args:
            X: (n, D), a vector for each occurrence.
            y: n senses.
            words: n words, such as (lemma, part of speech); None if all are occurrences of one word.
        """
        X, rows = np.asarray(X), defaultdict(list)
        words = [None] * len(X) if words is None else words
        for row, (word, sense) in enumerate(zip(words, y)):
            rows[word, sense].append(row)
        self.means_ = {}
        for (word, sense), own in rows.items():
            self.means_.setdefault(word, {})[sense] = unit(X[own].mean(axis=0))
        self.classes_ = np.unique(y)
        return self

    def nearest(self, x: np.ndarray, word: Hashable) -> Hashable:
        """The nearest sense of an occurrence of a word, (D,)."""
        means = self.means_[word]
        return max(means, key=lambda sense: x @ means[sense])

    def predict(self, X: np.ndarray, words: Sequence[Hashable] | None = None) -> np.ndarray:
        """The senses of n vectors (n, D) of n words; None if ``fit`` was given no words."""
        words = [None] * len(X) if words is None else words
        return np.array([self.nearest(x, word) for x, word in zip(X, words)])

    def score(self, X: np.ndarray, y: Sequence[Hashable], words: Sequence[Hashable] | None = None) -> float:
        """The share of vectors whose predicted sense is right."""
        return np.mean(self.predict(X, words) == np.asarray(y))
