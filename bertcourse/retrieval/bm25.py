"""Chapter 10: BM25, the rival that counts words.

    score(q, d) = Σ_w idf(w) · tf / (tf + k1 · (1 − b + b · |d| / mean length)),  over the words w of the query
    idf(w)      = ln(1 + (N − n_w + 0.5) / (n_w + 0.5))

N passages, of which n_w have the word; tf is how often the passage at hand has it (Robertson & Zaragoza 2009, "The
Probabilistic Relevance Framework: BM25 and Beyond", equation 3.15, with the idf of Lucene, which is never negative).
The factor k1 + 1 that some versions have changes no ranking.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Letters and digits in a row, in lower case.

    >>> words_of("Bees don't sleep, do they?")
    ['bees', 'don', 't', 'sleep', 'do', 'they']
    """
    return WORD.findall(text.lower())


class BM25:
    """An inverted index: for each word the passages that have it, and what it adds to their scores.

    Args:
        passages: N texts, at least one.
        k1: how soon a word that occurs again stops counting; 0: at once.
        b: how much a long passage has to have more of a word; from 0, not at all, to 1.
        tokenize: from a text to its words, for passages and queries alike.

    Raises:
        ValueError: if there is no passage, ``passages`` is a string, or k1 or b is out of range.

    Source: Robertson & Zaragoza 2009; k1 and b as in Lucene.

    >>> index = BM25(["bees dance", "a dance for bees that dance", "no insects here"])
    >>> [round(float(score), 2) for score in index.scores("Why do bees dance?")]
    [0.52, 0.42, 0.0]
    """

    def __init__(
        self,
        passages: Sequence[str],
        k1: float = 1.2,
        b: float = 0.75,
        tokenize: Callable[[str], list[str]] = words_of,
    ):
        if isinstance(passages, str) or not len(passages):
            raise ValueError(f"passages must be a list of at least one text; got {passages!r:.60}.")
        if not 0 <= k1 < float("inf"):
            raise ValueError(f"k1 must be at least 0; got {k1}.")
        if not 0 <= b <= 1:
            raise ValueError(f"b must be from 0 to 1; got {b}.")
        self.tokenize, self.size = tokenize, len(passages)
        counts = [Counter(tokenize(passage)) for passage in passages]
        lengths = np.array([count.total() for count in counts])
        # k1 where a passage is of mean length; nothing has a length if all are empty
        saturation = k1 * (1 - b + b * lengths / max(lengths.mean(), 1e-9))
        found: dict[str, tuple[list[int], list[int]]] = {}
        for number, count in enumerate(counts):
            for word, times in count.items():
                places, frequencies = found.setdefault(word, ([], []))
                places.append(number)
                frequencies.append(times)
        self.postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for word, (places, frequencies) in found.items():
            tf = np.array(frequencies)
            self.postings[word] = np.array(places), self.idf(len(places)) * tf / (tf + saturation[places])

    def idf(self, num_passages: int) -> float:
        """How much a word tells that so many of the N passages have."""
        return math.log(1 + (self.size - num_passages + 0.5) / (num_passages + 0.5))

    def scores(self, query: str) -> np.ndarray:
        """(N,), the score of each passage; a word that no passage has adds nothing, one that is asked twice counts
        twice.

        Only the passages that have a word of the query are touched: this is what makes it fast.
        """
        scores = np.zeros(self.size)
        for word in self.tokenize(query):
            if word in self.postings:
                places, weights = self.postings[word]
                scores[places] += weights
        return scores
