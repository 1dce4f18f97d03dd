"""Chapter 0: word vectors and what one asks of them: which words are near, and how alike two are.

Similarity is the cosine of the angle between two vectors. Files are in word2vec's text format, which gensim and others
read and write: a line with V and D, then a line for each word with its numbers.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bertcourse.files import expect_file, replace_files


class Neighbour(NamedTuple):
    """A word and its cosine with what was asked for, rounded to six decimals."""

    word: str
    similarity: float


class WordVectors:
    """Words, each with a vector.

    Args:
        words: V words, all different.
        matrix: (V, D), the vector of ``words[i]`` in row i.

    Attributes:
        words: the V words.
        matrix: (V, D), float32.
        row: from word to row.

    >>> vectors = WordVectors(["king", "queen", "horse"], [[3, 1], [3, -1], [0, 2]])
    >>> vectors.neighbours("king", k=1)
    [Neighbour(word='queen', similarity=0.8)]
    """

    def __init__(self, words: Sequence[str], matrix: NDArray | Sequence):
        self.words = list(words)
        self.matrix = np.asarray(matrix, dtype=np.float32)
        self.row = {word: i for i, word in enumerate(self.words)}
        if self.matrix.ndim != 2 or not len(self.matrix) == len(self.words) == len(self.row):
            raise ValueError(
                f"matrix must have a row for each word, and no word may come twice; got {len(self.words)} words, "
                f"{len(self.row)} of them different, and shape {self.matrix.shape}."
            )

    def __contains__(self, word: str) -> bool:
        return word in self.row

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return self.matrix[self.find(word)]

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """(V, D), the vectors at length 1; a zero vector stays zero."""
        lengths = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        return self.matrix / np.where(lengths > 0, lengths, 1)

    def find(self, word: str) -> int:
        """The row of a word; a KeyError if it has none."""
        if word not in self.row:
            raise KeyError(
                f"{word!r} is none of the {len(self.words)} words, from {self.words[0]!r} to {self.words[-1]!r}; they "
                f"are as the text was cut, most often in lower case."
            )
        return self.row[word]

    def similarity(self, first: str, second: str) -> float:
        """The cosine of two words' vectors."""
        return float(self.unit[self.find(first)] @ self.unit[self.find(second)])

    def nearest(self, vector: NDArray, k: int = 10, exclude: Sequence[str] = ()) -> list[Neighbour]:
        """The words nearest to a vector (D,).

        Args:
            vector: where to look.
            k: how many words to return, the nearest first.
            exclude: words that may not be returned.
        """
        length = float(np.linalg.norm(vector))
        cosines = self.unit @ (vector / (length if length > 0 else 1)).astype(np.float32)
        cosines[[self.find(word) for word in exclude]] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(self.words) - len(set(exclude)))]
        return [Neighbour(self.words[i], round(float(cosines[i]), 6)) for i in best]

    def neighbours(self, word: str, k: int = 10) -> list[Neighbour]:
        """The k words nearest to a word, without the word itself."""
        return self.nearest(self[word], k, exclude=[word])

    def save(self, path: str | os.PathLike) -> None:
        """Write the vectors in word2vec's text format, in which words have no spaces and no line breaks."""
        path = Path(path)
        if cut := [word for word in self.words if not word or set(word) & set(" \n\r")]:
            raise ValueError(f"to be saved, words must have no space and no line break; got {cut[0]!r}.")
        with replace_files(path.parent, [path.name]) as draft, (draft / path.name).open("w", encoding="utf-8") as file:
            file.write(f"{len(self.words)} {self.matrix.shape[1]}\n")
            for word, vector in zip(self.words, self.matrix):
                file.write(f"{word} {' '.join(map(str, vector.tolist()))}\n")

    @classmethod
    def load(cls, path: str | os.PathLike) -> "WordVectors":
        """Read vectors from a file in word2vec's text format."""
        expect_file(Path(path))
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            try:
                count, size = map(int, file.readline().split())
                lines = [line.rstrip().split(" ") for line in file]
                matrix = np.array([line[1:] for line in lines], dtype=np.float32).reshape(count, size)
            except ValueError as error:
                raise ValueError(
                    f"{path} must be word2vec's text format: a line with the number of words and the size, then a "
                    f"line for each word with its numbers; {error}"
                ) from error
        return cls([line[0] for line in lines], matrix)
