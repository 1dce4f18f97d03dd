"""Words that occur near one another in 354 books: the course's own table of pairs, in data/pairs."""

import lzma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bertcourse.datasets.data import course_file, read_text


class WordPairs(NamedTuple):
    """Which words occur near one another ("meet"), and how often.

    Attributes:
        words: V words, the most frequent first.
        word_counts: (V,), how often each occurs in the text.
        first, second: (n,), pairs of words by number, each pair once, first ≤ second.
        counts: (n,), how often they met, in either order.
    """

    words: list[str]
    word_counts: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    counts: NDArray[np.int32]

    def matrix(self) -> csr_array:
        """(V, V), symmetric: how often word w (row) had word c (column) as a neighbour.

        A word that met itself once counts twice, as each of the two occurrences is the other's neighbour.
        """
        shape = (len(self.words), len(self.words))
        above = csr_array((self.counts.astype(np.float64), (self.first, self.second)), shape=shape)
        return csr_array(above + above.T)

    @classmethod
    def of(cls, words: list[str], word_counts: NDArray, matrix: csr_array, at_least: int) -> "WordPairs":
        """The table for a matrix of counts, without pairs that met fewer than ``at_least`` times."""
        pairs = csr_array(matrix).tocoo()
        counts = np.where(pairs.row == pairs.col, pairs.data / 2, pairs.data).astype(np.int32)
        kept = (pairs.row <= pairs.col) & (counts >= at_least)
        order = np.argsort(pairs.row[kept].astype(np.int64) * len(words) + pairs.col[kept])
        columns = (each[kept][order].astype(np.int32) for each in (pairs.row, pairs.col, counts))
        return cls(words, np.asarray(word_counts, dtype=np.int64), *columns)


def pack_pairs(table: WordPairs) -> bytes:
    """The pairs of a table in few bytes: the gaps between them, in reading order, and their counts, as byte planes."""
    codes = table.first.astype(np.int64) * len(table.words) + table.second
    columns = np.stack([np.diff(codes, prepend=0), table.counts]).astype("<u4")
    planes = columns.view(np.uint8).reshape(2, -1, 4).transpose(0, 2, 1)  # all the lowest bytes, then the next
    return lzma.compress(planes.tobytes(), preset=9 | lzma.PRESET_EXTREME)


def unpack_pairs(packed: bytes, num_words: int) -> tuple[NDArray, NDArray, NDArray]:
    """What ``pack_pairs`` packed: first, second, counts."""
    planes = np.frombuffer(lzma.decompress(packed), dtype=np.uint8).reshape(2, 4, -1)
    gaps, counts = np.ascontiguousarray(planes.transpose(0, 2, 1)).view("<u4")[..., 0]
    first, second = np.divmod(np.cumsum(gaps, dtype=np.int64), num_words)
    return first.astype(np.int32), second.astype(np.int32), counts.astype(np.int32)


def word_pairs() -> WordPairs:
    """How often any two of the 12,000 most frequent words in 354 books occur within five words of each other.

    Source: counted by data/pairs/make.py.
    """
    rows = [line.split("\t") for line in read_text(course_file("pairs/words.tsv")).splitlines()]
    words, word_counts = [word for word, _ in rows], np.array([int(count) for _, count in rows])
    packed = course_file("pairs/pairs.bin.xz").read_bytes()
    return WordPairs(words, word_counts, *unpack_pairs(packed, len(words)))
