"""Chapter 5: the sense whose examples BERT finds most similar.

v_s = 1/n Σ v_i                    the mean of the vectors of the occurrences that have sense s
sense of v = argmax_s cos(v, v_s)  over the senses of the word

``NearestSense`` does this for many words at once, with scikit-learn's ``fit``, ``predict`` and ``score``.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bertcourse.word_senses.keys import Word


class NearestSense(ClassifierMixin, BaseEstimator):
    """The sense whose embedding has the largest cosine with a vector, among those that its word was seen with.

    Args:
        first_senses: the senses to give to words without an example, such as WordNet's first; None for none.
        n_neighbors: None compares with the senses' embeddings. A number lets that many occurrences vote, those with the
            largest cosines; a tie goes to the sense with the larger sum of cosines.

    Attributes:
        senses_: S senses, those of each word next to each other.
        sense_vectors_: (S, D), their embeddings: the mean of their vectors.
        counts_: (S,), how many vectors each is the mean of.
        classes_: the senses, each once, for scikit-learn's scorers.
        n_features_in_: D.

    Source: Jurafsky & Martin, v_s = 1/n Σ v_i; Loureiro & Jorge 2019, section 3, without its glosses.

    >>> vectors = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0]]
    >>> model = NearestSense().fit(vectors, ["river", "river", "money"])
    >>> model.predict([[0.9, 0.3], [-0.2, 0.5]]).tolist()
    ['money', 'river']
    """

    def __init__(self, first_senses: Mapping[Word, str] | None = None, n_neighbors: int | None = None):
        self.first_senses = first_senses
        self.n_neighbors = n_neighbors

    def fit(
        self, X: np.ndarray, y: Sequence[Hashable | tuple[Hashable, ...]], words: Sequence[Word] | None = None
    ) -> "NearestSense":
        """Learn the senses' embeddings.

        Args:
            X: (n, D), a vector for each occurrence.
            y: n senses; a tuple where an occurrence has several, which makes it an example of each.
            words: n words, each (lemma, part of speech); None if all are occurrences of one word.
        """
        if self.n_neighbors is not None and (
            not isinstance(self.n_neighbors, int | np.integer) or self.n_neighbors < 1
        ):
            raise ValueError(f"n_neighbors must be None or an integer of at least 1; got {self.n_neighbors!r}.")
        vectors, golds = check_vectors(X), [gold_senses(sense) for sense in y]
        words = [None] * len(vectors) if words is None else list(words)
        check_consistent_length(vectors, golds, words)
        if () in golds:
            raise ValueError(f"y must give each occurrence a sense; that of row {golds.index(())} is empty.")

        rows_of: dict[Word | None, dict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, (word, gold) in enumerate(zip(words, golds)):
            for sense in gold:
                rows_of[word][sense].append(row)
        self.senses_, rows, self.slices_ = [], [], {}
        for word, senses in rows_of.items():
            self.slices_[word] = slice(len(self.senses_), len(self.senses_) + len(senses))
            self.senses_ += senses
            rows += senses.values()
        self.sense_vectors_ = np.stack(
            [(vectors[each] * vectors.dtype.type(1 / len(each))).sum(axis=0) for each in rows]
        )
        if not (nonzero := self.sense_vectors_.any(axis=1)).all():
            sense = self.senses_[int(np.argmin(nonzero))]
            raise ValueError(f"the vectors of a sense must not cancel out; those of {sense!r} do. Leave a row out.")
        self.counts_ = np.array([len(each) for each in rows])
        self.classes_ = np.array(list(dict.fromkeys(self.senses_)))
        self.n_features_in_ = vectors.shape[1]
        vars(self).pop("occurrences_", None)  # of an earlier fit
        if self.n_neighbors is not None:
            self.occurrences_ = {
                word: (unit(vectors[each]), [golds[row] for row in each]) for word, each in rows_by_word(words).items()
            }
        return self

    def predict(self, X: np.ndarray, words: Sequence[Word] | None = None) -> np.ndarray:
        """The sense of each vector.

        Args:
            X: (n, D).
            words: n words; None if ``fit`` was given none.

        Returns:
            (n,), senses.

        Raises:
            ValueError: if a word has neither an example nor a first sense, or a vector is zero or not finite.
        """
        check_is_fitted(self)
        vectors = unit(check_vectors(X))
        if vectors.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have vectors of {self.n_features_in_} numbers, as in fit; got {vectors.shape[1]}."
            )
        if self.n_neighbors is not None and not hasattr(self, "occurrences_"):
            raise ValueError("n_neighbors was None in fit, which then keeps no occurrences: call fit again.")
        if (words is None) != (None in self.slices_):
            raise ValueError("words must be given to predict if, and only if, they were given to fit.")
        words = [None] * len(vectors) if words is None else list(words)
        check_consistent_length(vectors, words)
        first_senses = self.first_senses or {}
        if unknown := {word: None for word in words if word not in self.slices_ and word not in first_senses}:
            raise ValueError(
                f"every word must have an example or a first sense; {len(unknown)} have neither: "
                f"{', '.join(map(str, list(unknown)[:5]))}. Leave them out, or give first_senses."
            )
        senses = np.empty(len(vectors), dtype=object)
        embeddings = unit(self.sense_vectors_)
        for word, rows in rows_by_word(words).items():
            if word not in self.slices_:
                senses[rows] = first_senses[word]
            elif self.n_neighbors is None:
                own = self.slices_[word]
                best = np.argmax(vectors[rows] @ embeddings[own].T, axis=1)
                senses[rows] = [self.senses_[own.start + i] for i in best]
            else:
                occurrences, golds = self.occurrences_[word]
                senses[rows] = [self.vote(similarities, golds) for similarities in vectors[rows] @ occurrences.T]
        return senses.astype(self.classes_.dtype) if self.classes_.dtype.kind in "iu" else senses

    def vote(self, similarities: np.ndarray, golds: Sequence[tuple[Hashable, ...]]) -> Hashable:
        """The sense that most of the nearest occurrences have.

        Args:
            similarities: (n,), cosines with the occurrences of a word.
            golds: the senses of each of them.
        """
        votes: dict[Hashable, tuple[int, float]] = {}
        for i in np.argsort(-similarities, kind="stable")[: self.n_neighbors]:
            for sense in golds[i]:
                count, total = votes.get(sense, (0, 0.0))
                votes[sense] = (count + 1, total + float(similarities[i]))
        return max(votes, key=votes.get)

    def score(
        self, X: np.ndarray, y: Sequence[Hashable | tuple[Hashable, ...]], words: Sequence[Word] | None = None
    ) -> float:
        """The share of vectors whose predicted sense is one that ``y`` accepts.

        Every occurrence gets an answer, so this is the F1 of the WSD literature.
        """
        predicted, golds = self.predict(X, words), list(y)
        check_consistent_length(predicted, golds)
        return float(np.mean(is_correct(predicted, golds)))


def rows_by_word(words: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """From word to the indices of its occurrences."""
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, word in enumerate(words):
        rows[word].append(row)
    return dict(rows)


def gold_senses(sense: Hashable | tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Several senses (a tuple, list or set) as a tuple, each once; one sense as a tuple of one.

    >>> gold_senses("bank%1:17:01::")
    ('bank%1:17:01::',)
    """
    return tuple(dict.fromkeys(sense)) if isinstance(sense, tuple | list | set | frozenset) else (sense,)


def is_correct(predicted: Iterable[Hashable], gold: Iterable[Hashable | tuple[Hashable, ...]]) -> np.ndarray:
    """Whether each prediction is among the senses that annotators accept, as Raganato et al. 2017 score it.

    Args:
        predicted: n senses.
        gold: n senses, or tuples of them.

    Returns:
        (n,), bool.

    >>> is_correct(["a", "b"], [("a", "c"), "d"]).tolist()
    [True, False]
    """
    return np.array(
        [sense in gold_senses(accepted) for sense, accepted in zip(predicted, gold, strict=True)], dtype=bool
    )


def check_vectors(X: np.ndarray) -> np.ndarray:
    """Vectors as ``check_finite`` returns them; a zero vector, which has no direction, is refused."""
    vectors = check_finite(X)
    if not (nonzero := vectors.any(axis=1)).all():
        row = int(np.argmin(nonzero))
        raise ValueError(f"vectors must not be zero, as a zero vector has no direction; row {row} is. Leave it out.")
    return vectors


def check_finite(X: np.ndarray) -> np.ndarray:
    """At least one vector, as (n, D) floats in float32 or float64; a row with NaN or infinity is refused."""
    vectors = np.asarray(X)
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)
    if vectors.ndim != 2 or 0 in vectors.shape:
        raise ValueError(f"vectors must be of shape (n, D), at least one; got {vectors.shape}.")
    if not (finite := np.isfinite(vectors).all(axis=1)).all():
        raise ValueError(f"vectors must be finite; row {int(np.argmin(finite))} holds NaN or infinity. Leave it out.")
    return vectors


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, D), none of them zero, at length 1."""
    scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True)  # else squares may overflow or vanish
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
