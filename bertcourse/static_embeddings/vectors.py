"""Chapter 0: word vectors and what one asks of them: which words are near, how alike two are, what completes a pair.

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
        contexts: (V, D), word2vec's second vector of each word, for when it is a neighbour; None if there are none.
            Only training makes them: files do not hold them.

    Attributes:
        words: the V words.
        matrix, contexts: (V, D), float32.
        row: from word to row.

    >>> vectors = WordVectors(["king", "queen", "horse"], [[3, 1], [3, -1], [0, 2]])
    >>> vectors.neighbours("king", k=1)
    [Neighbour(word='queen', similarity=0.8)]
    """

    def __init__(self, words: Sequence[str], matrix: NDArray | Sequence, contexts: NDArray | None = None):
        self.words = list(words)
        self.matrix = np.asarray(matrix, dtype=np.float32)
        self.contexts = None if contexts is None else np.asarray(contexts, dtype=np.float32)
        self.row = {word: i for i, word in enumerate(self.words)}
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words) or not self.words:
            raise ValueError(
                f"matrix must have a row for each of one word or more; got {len(self.words)} words and shape "
                f"{self.matrix.shape}."
            )
        if self.contexts is not None and self.contexts.shape != self.matrix.shape:
            raise ValueError(f"contexts must have the shape of matrix, {self.matrix.shape}; got {self.contexts.shape}.")
        if not np.isfinite(self.matrix).all():
            row = int(np.argmin(np.isfinite(self.matrix).all(axis=1)))
            raise ValueError(f"vectors must hold finite numbers; that of {self.words[row]!r} does not.")
        if len(self.row) != len(self.words):
            twice = next(word for i, word in enumerate(self.words) if self.row[word] != i)
            raise ValueError(f"words must differ from one another; got {twice!r} twice.")

    def __len__(self) -> int:
        return len(self.words)

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
                f"{word!r} is none of the {len(self)} words, from {self.words[0]!r} to {self.words[-1]!r}; they are "
                f"as the text was cut, most often in lower case."
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
        if k < 1:
            raise ValueError(f"k must be at least 1; got {k}.")
        length = float(np.linalg.norm(vector))
        cosines = self.unit @ (vector / (length if length > 0 else 1)).astype(np.float32)
        cosines[[self.find(word) for word in exclude]] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(self) - len(set(exclude)))]
        return [Neighbour(self.words[i], round(float(cosines[i]), 6)) for i in best]

    def neighbours(self, word: str, k: int = 10) -> list[Neighbour]:
        """The k words nearest to a word, without the word itself."""
        return self.nearest(self[word], k, exclude=[word])

    def analogy(self, a: str, b: str, c: str, k: int = 5, exclude_inputs: bool = True) -> list[Neighbour]:
        """What is to c as b is to a? The words nearest to b - a + c, with vectors at length 1.

        Args:
            a, b, c: "man", "king", "woman" for the best-known example.
            k: how many words to return.
            exclude_inputs: never return a, b or c, as all published scores do (Mikolov et al. 2013; Linzen 2016 shows
                what that hides: without it the answer is most often b or c).
        """
        a_row, b_row, c_row = (self.unit[self.find(word)] for word in (a, b, c))
        return self.nearest(b_row - a_row + c_row, k, exclude=[a, b, c] if exclude_inputs else [])

    def save(self, path: str | os.PathLike) -> None:
        """Write the vectors in word2vec's text format, in which words have no spaces and no line breaks."""
        path = Path(path)
        if cut := [word for word in self.words if not word or set(word) & set(" \n\r")]:
            raise ValueError(f"to be saved, words must have no space and no line break; got {cut[0]!r}.")
        with replace_files(path.parent, [path.name]) as draft, (draft / path.name).open("w", encoding="utf-8") as file:
            file.write(f"{len(self)} {self.matrix.shape[1]}\n")
            for word, vector in zip(self.words, self.matrix):
                file.write(f"{word} {' '.join(map(str, vector.tolist()))}\n")

    @classmethod
    def load(cls, path: str | os.PathLike) -> "WordVectors":
        """Read vectors from a file in word2vec's text format.

        Raises:
            ValueError: naming the line, if one is not a word and D numbers; if the file is not in UTF-8.
        """
        try:
            return cls.read(path)
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be a text in UTF-8 ({error}); word2vec's binary format is not.") from error

    @classmethod
    def read(cls, path: str | os.PathLike) -> "WordVectors":
        """What ``load`` returns."""
        expect_file(Path(path))
        words, rows = [], []
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            header = file.readline().split()
            if len(header) != 2 or not all(part.isdecimal() for part in header):
                raise ValueError(f"{path} must begin with a line of two numbers, words and size; got {header[:5]}.")
            count, size = map(int, header)
            for number, line in enumerate(file, 2):
                word, *numbers = line.rstrip().split(" ")
                try:
                    rows.append(np.array(numbers, dtype=np.float32))
                except ValueError:
                    numbers = []
                if len(numbers) != size:
                    raise ValueError(f"{path}, line {number}: expected a word and {size} numbers; got {line[:60]!r}.")
                words.append(word)
        if len(words) != count:
            raise ValueError(f"{path} must have {count} words, as its first line says; got {len(words)}.")
        return cls(words, np.array(rows).reshape(len(words), size))
