"""Chapter 10: BM25, the rival that counts words.

    score(q, d) = Σ_w idf(w) · tf / (tf + k1 · (1 − b + b · |d| / mean length)),  over the words w of the query
    idf(w)      = ln(1 + (N − n_w + 0.5) / (n_w + 0.5))

N passages, n_w of which contain the word; tf is how often this passage contains it (Robertson & Zaragoza 2009, "The
Probabilistic Relevance Framework: BM25 and Beyond", equation 3.15, with the idf of Lucene, which is never negative).
The factor k1 + 1 that some versions have changes no ranking.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """The runs of letters and digits in a text, in lower case; ``static_embeddings.words_of`` leaves out digits.

    >>> words_of("Bees don't sleep, do they?")
    ['bees', 'don', 't', 'sleep', 'do', 'they']
    """
    return WORD.findall(text.lower())


def check_texts(texts: Iterable[str], name: str = "text") -> list[str]:
    """Texts as a list; a single string, or an item that is not a string, is refused. Messages call an item ``name``."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise ValueError(f"{name}s must be a list of strings; got {type(texts).__name__} {texts!r:.60}. Write [text].")
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{name} {number} must be a string; got {type(text).__name__} {text!r:.60}. Leave it out.")
    return texts


class BM25:
    """An inverted index: for each word, the passages that contain it and what it adds to their scores.

    Args:
        passages: N texts, at least one.
        k1: how soon further occurrences of a word stop counting; 0: at once.
        b: how strongly a passage is discounted for its length, from 0, not at all, to 1.
        tokenize: splits a text into words, for passages and queries alike.

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
        passages = check_texts(passages, "passage")
        if not passages:
            raise ValueError("passages must hold at least one text; got none.")
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise ValueError(f"k1 must be a number of at least 0, and b one from 0 to 1; got {k1} and {b}.")
        self.tokenize, self.size = tokenize, len(passages)
        counts = [Counter(tokenize(passage)) for passage in passages]
        lengths = np.array([count.total() for count in counts])
        # k1 for a passage of mean length; the mean is 0 if all are empty
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
        """The weight of a word that ``num_passages`` of the N passages contain."""
        return math.log(1 + (self.size - num_passages + 0.5) / (num_passages + 0.5))

    def scores(self, query: str) -> np.ndarray:
        """(N,), the score of each passage; a word that no passage has adds nothing, one asked twice counts twice.

        Only passages that share a word with the query are touched, which is what makes it fast.
        """
        if not isinstance(query, str):
            raise ValueError(f"query must be a string; got {type(query).__name__} {query!r:.60}. Ask them one by one.")
        scores = np.zeros(self.size)
        for word in self.tokenize(query):
            if word in self.postings:
                places, weights = self.postings[word]
                scores[places] += weights
        return scores
