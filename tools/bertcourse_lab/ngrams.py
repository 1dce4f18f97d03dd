"""A language model that counts, the rival of studies: n-grams with interpolated Kneser-Ney smoothing.

After the words h, the word w has the probability

    P(w | h) = max(#(h w) - d, 0) / #(h ·) + d · N(h ·) / #(h ·) · P(w | h')

with a discount d, N(h ·) the number of different words after h, and h' = h without its first word; the last h' is
empty, and below it P is 1/V. In all orders but the highest, #(h w) is not how often h w occurs, but how many
different words it follows: "Francisco" may be frequent, but only after "San" (Kneser & Ney 1995, "Improved Backing-off
for M-gram Language Modeling"; interpolated by Chen & Goodman 1999, "An Empirical Study of Smoothing Techniques for
Language Modeling").
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

START = None  # what stands before a text


class KneserNey:
    """An interpolated n-gram model.

    Args:
        order: n; a word is predicted from the n - 1 before it.
        discount: d, between 0 and 1.

    Attributes:
        following: for each length of context, from 0 to n - 1, a dict from context h (a tuple) to a Counter of #(h w).
        vocabulary: the V words.

    >>> model = KneserNey(order=2).fit(["the cat sat on the mat".split()])
    >>> round(model.probability("cat", ["the"]), 3), round(model.probability("cat", ["on"]), 3)
    (0.25, 0.125)
    """

    def __init__(self, order: int = 3, discount: float = 0.75):
        if order < 1 or not 0 < discount < 1:
            raise ValueError(f"order must be 1 or more, and discount between 0 and 1; got {order} and {discount}.")
        self.order, self.discount = order, discount

    def fit(self, texts: Iterable[Sequence[Hashable]], vocabulary: Iterable[Hashable] = ()) -> "KneserNey":
        """Count the n-grams of texts.

        Args:
            texts: sequences of words, or of their numbers; no n-gram reaches from one into the next.
            vocabulary: further words that may occur, although none of the texts has them.
        """
        self.following = [defaultdict(Counter) for _ in range(self.order)]
        reach, words = self.order - 1, dict.fromkeys(vocabulary)
        for text in texts:
            padded = (START,) * reach + tuple(text)
            words.update(dict.fromkeys(text))
            for place in range(reach, len(padded)):
                self.following[reach][padded[place - reach : place]][padded[place]] += 1
        for length in range(reach, 0, -1):  # each different n-gram counts once for its shorter one
            for context, counts in self.following[length].items():
                self.following[length - 1][context[1:]].update(counts.keys())
        self.vocabulary = list(words)
        self.column = {word: i for i, word in enumerate(self.vocabulary)}
        return self

    def counts_after(self, context: Sequence[Hashable]) -> list[Counter]:
        """The Counters of a context's endings, from the empty one to the longest; endings never seen are left out."""
        ends = [tuple(context[len(context) - length :]) for length in range(min(self.order - 1, len(context)) + 1)]
        return [counts for each, end in zip(self.following, ends) if (counts := each.get(end))]

    def probability(self, word: Hashable, context: Sequence[Hashable]) -> float:
        """P(word | context), the equation above.

        Args:
            word: one of the vocabulary.
            context: the words before it, of which the last n - 1 matter; fewer if the words before are unknown. At the
                start of a text, ``START`` stands in their place.
        """
        if word not in self.column:
            raise ValueError(f"word must be one of the {len(self.vocabulary)} of the vocabulary; got {word!r}.")
        p = 1 / len(self.vocabulary)
        for counts in self.counts_after(context):
            p = (max(counts[word] - self.discount, 0) + self.discount * len(counts) * p) / counts.total()
        return p

    def distribution(self, context: Sequence[Hashable]) -> NDArray[np.float64]:
        """P(w | context) for all words.

        Args:
            context: as for ``probability``.

        Returns:
            (V,), in the order of ``vocabulary``.
        """
        p = np.full(len(self.vocabulary), 1 / len(self.vocabulary))
        for counts in self.counts_after(context):
            p *= self.discount * len(counts) / counts.total()
            columns = [self.column[word] for word in counts]
            p[columns] += (np.fromiter(counts.values(), dtype=float) - self.discount) / counts.total()
        return p

    def loss(self, texts: Iterable[Sequence[Hashable]]) -> float:
        """The mean of -ln P over all words of texts; its exponential is the perplexity.

        Args:
            texts: as for ``fit``.
        """
        losses = []
        for text in texts:
            padded = (START,) * (self.order - 1) + tuple(text)
            for place, word in enumerate(text):
                losses.append(-math.log(self.probability(word, padded[place : place + self.order - 1])))
        return sum(losses) / len(losses)
