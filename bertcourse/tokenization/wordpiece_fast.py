"""Chapter 3: training WordPiece, fast; read the rules in ``wordpiece_training`` first.

A merge makes its two symbols rarer, which changes the score of every pair that contains one of them; each such pair is
queued again. A merge also makes the corpus shorter, which lowers every pair's gain in likelihood. When an entry comes
up whose score has since become lower, it goes back into the queue; one whose score has become higher is skipped.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable

from tqdm import tqdm

from bertcourse.tokenization.bpe_fast import PairCounts
from bertcourse.tokenization.wordpiece import PREFIX

Score = Callable[[int, int, int, int], float]  # from the counts of a pair, its two symbols, and all symbols


class PairScores:
    """The pairs of a corpus by score, kept up to date as pairs are merged.

    Args:
        pairs: the corpus in symbols.
        score: computed from the counts; ``pair_score``.
        min_frequency: pairs that occur less often have no score.
    """

    def __init__(self, pairs: PairCounts, score: Score, min_frequency: int):
        self.pairs = pairs
        self.score_of_counts = score
        self.min_frequency = min_frequency
        self.pairs_with: dict[str, set[str]] = defaultdict(set)  # symbol: the pairs that it is in
        self.queue: list[tuple[float, str]] = []
        self.remember(pairs.counts)
        self.put(pairs.counts)

    def score(self, pair: str) -> float | None:
        """A pair's score by the current counts; None if it is too rare."""
        count, counts = self.pairs.counts.get(pair, 0), self.pairs.symbol_counts
        if count < self.min_frequency:
            return None
        return self.score_of_counts(count, counts[pair[0]], counts[pair[1]], self.pairs.num_symbols)

    def best(self) -> str | None:
        """Take the best-scoring pair from the queue (of equals, the one with the smallest ids); None if there is
        none."""
        while self.queue:
            negative_score, pair = heapq.heappop(self.queue)
            score = self.score(pair)
            if score == -negative_score:
                return pair
            if score is not None and score < -negative_score:
                heapq.heappush(self.queue, (-score, pair))
        return None

    def merge(self, pair: str, merged: str) -> None:
        """Replace a pair with one symbol, and queue all pairs whose score this changes."""
        self.remember(self.pairs.merge(pair, merged))
        self.put(self.pairs_with[pair[0]] | self.pairs_with[pair[1]] | self.pairs_with[merged])

    def remember(self, pairs: Iterable[str]) -> None:
        """Note which symbols the pairs are made of."""
        for pair in pairs:
            for symbol in pair:
                self.pairs_with[symbol].add(pair)

    def put(self, pairs: Iterable[str]) -> None:
        """Put pairs into the queue by their current score."""
        for pair in pairs:
            if (score := self.score(pair)) is not None:
                heapq.heappush(self.queue, (-score, pair))


def learn_tokens(tokens: list[str], pairs: PairCounts, score: Score, vocab_size: int, min_frequency: int) -> list[str]:
    """The vocabulary of ``train_wordpiece``; of pairs with equal scores, the one with the smallest ids goes first.

    Args:
        tokens: the vocabulary before the first merge, as ``spell`` returns it; merged tokens are added to it.
        pairs, score, min_frequency: as for ``PairScores``.
        vocab_size: the most tokens to have.
    """
    ids = {token: i for i, token in enumerate(tokens)}
    scores = PairScores(pairs, score, min_frequency)
    progress = tqdm(total=vocab_size - len(tokens), desc="WordPiece", unit=" tokens", disable=None)
    while len(tokens) < vocab_size and (pair := scores.best()) is not None:
        left, right = (tokens[ord(symbol)] for symbol in pair)
        token = left + right.removeprefix(PREFIX)
        if ids.setdefault(token, len(tokens)) == len(tokens):  # else two merges make the same token
            tokens.append(token)
            progress.update()
        scores.merge(pair, chr(ids[token]))
    progress.close()
    return tokens
