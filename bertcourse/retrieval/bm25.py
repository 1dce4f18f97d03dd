"""Chapter 10: BM25, the rival that counts words.

    score(q, d) = Σ_w idf(w) · tf / (tf + k1 · (1 − b + b · |d| / mean length)),  over the words w of the query
    idf(w)      = ln(1 + (N − n_w + 0.5) / (n_w + 0.5))

N passages, n_w of which contain the word; tf is how often this passage contains it (Robertson & Zaragoza 2009, "The
Probabilistic Relevance Framework: BM25 and Beyond", equation 3.15, with the idf of Lucene, which is never negative).
The factor k1 + 1 that some versions have changes no ranking.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np


def words_of(text: str) -> list[str]:
    """The runs of letters and digits in a text, in lower case; ``static_embeddings.words_of`` leaves out digits.

    >>> words_of("Bees don't sleep, do they?")
    ['bees', 'don', 't', 'sleep', 'do', 'they']
    """
    return re.findall(r"[^\W_]+", text.lower())


def inverted_index(
    passages: Sequence[str], tokenize: Callable[[str], list[str]] = words_of
) -> tuple[dict[str, list[tuple[int, int]]], np.ndarray]:
    """For each word the passages that have it, with how often; and each passage's length, divided by the mean."""
    lists, lengths = defaultdict(list), []
    for place, passage in enumerate(passages):
        counts = Counter(tokenize(passage))
        lengths.append(counts.total())
        for word, times in counts.items():
            lists[word].append((place, times))
    return lists, np.array(lengths) / max(np.mean(lengths), 1e-9)


class BM25:
    """Search by words, with an inverted index that has what each word adds to the scores of its passages.

    Args:
        passages: N texts, at least one.
        k1: how soon further occurrences of a word stop counting, at least 0; 0: at once.
        b: how strongly a passage is discounted for its length, from 0, not at all, to 1.
        tokenize: splits a text into words, for passages and queries alike.

    Paper:
        Robertson & Zaragoza 2009; k1 and b as in Lucene.

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
        self.tokenize, self.size, self.postings = tokenize, len(passages), {}
        lists, relative = inverted_index(passages, tokenize)
        for word, entries in lists.items():
            places, times = np.array(entries).T
            saturated = times / (times + k1 * (1 - b + b * relative[places]))
            self.postings[word] = places, self.idf(len(places)) * saturated

    def idf(self, having: int) -> float:
        """The weight of a word that ``having`` of the N passages contain."""
        return math.log(1 + (self.size - having + 0.5) / (having + 0.5))

    def scores(self, query: str) -> np.ndarray:
        """(N,), the score of each passage; a word that no passage has adds nothing, one asked twice counts twice.

        Only passages that share a word with the query are touched, which is what makes it fast.
        """
        scores = np.zeros(self.size)
        for word in self.tokenize(query):
            if word in self.postings:
                places, weights = self.postings[word]
                scores[places] += weights
        return scores
