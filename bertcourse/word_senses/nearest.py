"""The sense whose examples look most alike to BERT."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bertcourse.word_senses.keys import Word


class NearestSense(ClassifierMixin, BaseEstimator):
    """The sense whose embedding has the largest cosine with a vector, among those that its word was seen with.

    Args:
        first_senses: the sense of a word that has no example, such as ``first_senses(…)`` of WordNet; None for none.
        n_neighbors: None compares with the senses' embeddings. A number takes the vote of so many occurrences, those of
            largest cosine; of senses with as many votes, the one with the larger sum of cosines.

    Attributes:
        senses_: S senses, those of a word one after the other.
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
            y: n senses; a tuple where an occurrence has several, each of which it is then an example of.
            words: n words, each (lemma, part of speech); None if all are occurrences of one word.

        Returns:
            Itself.

        Raises:
            ValueError: if lengths differ, a vector is zero or not finite, an occurrence has no sense, the vectors of a
                sense cancel out, or a parameter is out of range.
        """
        if self.n_neighbors is not None and (
            not isinstance(self.n_neighbors, int | np.integer) or self.n_neighbors < 1
        ):
            raise ValueError(f"n_neighbors must be None or an integer of at least 1; got {self.n_neighbors!r}.")
        vectors = check_vectors(X)
        words = check_word_list(words, len(vectors))
        golds = [gold_senses(sense) for sense in y]
        if len(golds) != len(vectors):
            raise ValueError(f"y must have a sense for each of the {len(vectors)} vectors of X; got {len(golds)}.")
        if empty := [row for row, gold in enumerate(golds) if not gold]:
            raise ValueError(
                f"y must give each occurrence a sense; that of row {empty[0]} is empty. Leave the row out."
            )

        rows_of: dict[Word | None, dict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, (word, gold) in enumerate(zip(words, golds)):
            for sense in gold:
                rows_of[word][sense].append(row)
        self.senses_, rows, slices = [], [], {}
        for word, senses in rows_of.items():
            slices[word] = slice(len(self.senses_), len(self.senses_) + len(senses))
            self.senses_ += senses
            rows += senses.values()
        self.counts_ = np.array([len(each) for each in rows])
        average = csr_array(  # (S, n): a row holds 1/n where an occurrence has the sense
            (
                np.repeat(1 / self.counts_, self.counts_).astype(vectors.dtype),
                np.concatenate(rows),
                np.cumsum([0, *self.counts_]),
            ),
            shape=(len(rows), len(vectors)),
        )
        self.sense_vectors_ = average @ vectors
        if not (nonzero := self.sense_vectors_.any(axis=1)).all():
            raise ValueError(
                f"the vectors of a sense must not cancel out; those of {self.senses_[int(np.argmin(nonzero))]!r} have "
                f"the mean zero. Leave a row out."
            )
        self.classes_ = np.array(list(dict.fromkeys(self.senses_)))
        self.n_features_in_ = vectors.shape[1]
        self.slices_ = slices
        if self.n_neighbors is not None:
            members = defaultdict(list)
            for row, word in enumerate(words):
                members[word].append(row)
            self.occurrences_ = {
                word: (unit(vectors[each]), [golds[row] for row in each]) for word, each in members.items()
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
            ValueError: if lengths differ, a vector is zero or not finite, or a word has neither an example nor a first
                sense.
        """
        check_is_fitted(self)
        vectors = unit(check_vectors(X))
        if vectors.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have vectors of {self.n_features_in_} numbers, as in fit; got {vectors.shape[1]}."
            )
        if (words is None) != (None in self.slices_):
            raise ValueError(
                f"words must be given to predict if, and only if, they were to fit; fit got "
                f"{'none' if None in self.slices_ else 'some'}."
            )
        words = check_word_list(words, len(vectors))
        first_senses = self.first_senses or {}
        if unknown := {word: None for word in words if word not in self.slices_ and word not in first_senses}:
            raise ValueError(
                f"every word must have an example or a first sense; {len(unknown)} have neither: "
                f"{', '.join(map(str, list(unknown)[:5]))}. Leave them out, or give first_senses."
            )
        members: dict[Word | None, list[int]] = defaultdict(list)
        for row, word in enumerate(words):
            members[word].append(row)
        senses = np.empty(len(vectors), dtype=object)
        embeddings = unit(self.sense_vectors_)
        for word, rows in members.items():
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
        """The share of vectors whose predicted sense is one that ``y`` accepts; arguments and errors as for the others.

        Every occurrence gets an answer, so this is the F1 of the WSD literature.
        """
        golds = list(y)
        predicted = self.predict(X, words)
        if len(golds) != len(predicted):
            raise ValueError(f"y must have a sense for each of the {len(predicted)} vectors of X; got {len(golds)}.")
        return float(np.mean(is_correct(predicted, golds)))

    def sense_vector(self, sense: Hashable) -> np.ndarray:
        """The (D,) embedding of a sense.

        Raises:
            ValueError: if ``fit`` saw no example of it.
        """
        check_is_fitted(self)
        if sense not in self.senses_:
            raise ValueError(f"a sense must have an example to have an embedding; fit saw none of {sense!r}.")
        return self.sense_vectors_[self.senses_.index(sense)]


def gold_senses(sense: Hashable | tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Several senses as a tuple, each once; one as a tuple of one.

    Args:
        sense: a sense, or a tuple, list or set of senses.

    Source: the gold keys of Raganato et al. 2017, one or several an instance.

    >>> gold_senses("bank%1:17:01::")
    ('bank%1:17:01::',)
    """
    return tuple(dict.fromkeys(sense)) if isinstance(sense, tuple | list | set | frozenset) else (sense,)


def is_correct(predicted: Iterable[Hashable], gold: Iterable[Hashable | tuple[Hashable, ...]]) -> np.ndarray:
    """Whether each prediction is among the senses that annotators accept.

    Args:
        predicted: n senses.
        gold: n senses, or tuples of them.

    Returns:
        (n,), bool.

    Raises:
        ValueError: if the lengths differ.

    Source: the scorer of Raganato et al. 2017.

    >>> is_correct(["a", "b"], [("a", "c"), "d"]).tolist()
    [True, False]
    """
    return np.array(
        [sense in gold_senses(accepted) for sense, accepted in zip(predicted, gold, strict=True)], dtype=bool
    )


def check_vectors(X: np.ndarray) -> np.ndarray:
    """Vectors as (n, D) floats, in float32 or float64.

    Args:
        X: what should be that.

    Raises:
        ValueError: if it has another shape, no rows, or a row that is zero, NaN or infinite.

    Source: cosine, which has no value for a zero vector.
    """
    vectors = check_finite(X)
    if not (nonzero := vectors.any(axis=1)).all():
        raise ValueError(
            f"vectors must not be zero, as a zero vector has no direction; row {int(np.argmin(nonzero))} is. Leave it "
            f"out."
        )
    return vectors


def check_finite(X: np.ndarray) -> np.ndarray:
    """Vectors as (n, D) floats, in float32 or float64; zero ones are allowed.

    Args:
        X: what should be that.

    Raises:
        ValueError: if it has another shape, no rows, or holds NaN or infinity.
    """
    vectors = np.asarray(X)
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)
    if vectors.ndim != 2 or 0 in vectors.shape:
        raise ValueError(
            f"vectors must be of shape (n, D), at least one; got {vectors.shape}. Reshape one vector to (1, D)."
        )
    if not np.isfinite(vectors).all():
        row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise ValueError(f"vectors must be finite; row {row} holds NaN or infinity. Leave it out.")
    return vectors


def check_word_list(words: Sequence[Word] | None, count: int) -> list[Word | None]:
    """A word for each vector.

    Args:
        words: (lemma, part of speech) for each; None for one unnamed word.
        count: how many vectors there are.

    Raises:
        ValueError: if there are more or fewer.
    """
    if words is None:
        return [None] * count
    words = list(words)
    if len(words) != count:
        raise ValueError(f"words must have a word for each of the {count} vectors of X; got {len(words)}.")
    return words


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors at length 1.

    Args:
        vectors: (n, D), none of them zero.

    Source: cos(x, y) = x/|x| · y/|y|.
    """
    scale = np.maximum(vectors.max(axis=1, keepdims=True), -vectors.min(axis=1, keepdims=True))
    scaled = vectors / scale  # else the squares of very large or small numbers are infinite or 0
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
