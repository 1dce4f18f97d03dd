"""Chapter 3: WordPiece's training, fast. ``wordpiece_training`` has the plain form: read that first.

A merge makes its two symbols rarer, and that changes the score of every pair that has one of them. Each such pair is
put into the queue once more. A merge also makes the corpus shorter, which lowers the likelihood's gain of every pair:
an entry that has become lower goes back into the queue when it comes up, and one that has become higher is passed over.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable

from tqdm import tqdm

from bertcourse.tokenization.bpe_fast import PairCounts
from bertcourse.tokenization.wordpiece import PREFIX

Score = Callable[[int, int, int, int], float]  # of the counts of a pair, of its two symbols, and of all symbols


class PairScores:
    """The pairs of a corpus by their score, kept up to date as pairs are merged.

    Args:
        pairs: the corpus in symbols.
        score: of the counts; ``pair_score``.
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
        """The score by the present counts; None for a rare pair."""
        count, counts = self.pairs.counts.get(pair, 0), self.pairs.symbol_counts
        if count < self.min_frequency:
            return None
        return self.score_of_counts(count, counts[pair[0]], counts[pair[1]], self.pairs.num_symbols)

    def best(self) -> str | None:
        """The pair of highest score, of equals the one of smallest ids, taken from the queue; None if there is none."""
        while self.queue:
            negative_score, pair = heapq.heappop(self.queue)
            score = self.score(pair)
            if score == -negative_score:
                return pair
            if score is not None and score < -negative_score:
                heapq.heappush(self.queue, (-score, pair))
        return None

    def merge(self, pair: str, merged: str) -> None:
        """Make one symbol of a pair, and put in all pairs whose score that changes."""
        self.remember(self.pairs.merge(pair, merged))
        self.put(self.pairs_with[pair[0]] | self.pairs_with[pair[1]] | self.pairs_with[merged])

    def remember(self, pairs: Iterable[str]) -> None:
        """Note which symbols the pairs are made of."""
        for pair in pairs:
            for symbol in pair:
                self.pairs_with[symbol].add(pair)

    def put(self, pairs: Iterable[str]) -> None:
        """Put pairs into the queue by their present score."""
        for pair in pairs:
            if (score := self.score(pair)) is not None:
                heapq.heappush(self.queue, (-score, pair))


def learn_tokens(tokens: list[str], pairs: PairCounts, score: Score, vocab_size: int, min_frequency: int) -> list[str]:
    """The vocabulary of ``train_wordpiece``; of pairs of equal score the one of smallest ids.

    Args:
        tokens: the vocabulary before the first merge, as ``spell`` gives it; merged tokens are added to it.
        pairs, score, min_frequency: as for ``PairScores``.
        vocab_size: how many tokens to have at most.
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
