"""Chapter 3: learning the vocabulary of WordPiece, by two rules.

WordPiece as it was published merges the pair that makes the training text most likely (Schuster & Nakajima 2012, "Japanese
and Korean Voice Search"; Wu et al. 2016, section 4.1): the one of highest P(ij) / (P(i) P(j)), which favours symbols that
are seldom apart over those that are frequent. The other rule is that of BPE, the most frequent pair, with pieces inside a
word written with ``##``; it is what Hugging Face's WordPieceTrainer does. In both a vocabulary comes out, not merges: the
encoder looks for the longest match.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from tqdm import tqdm

from bertcourse.tokenization.bpe import PairCounts, check_sizes, check_word_counts, merge_pair, spell, train_bpe
from bertcourse.tokenization.encoding import check_choice
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, PREFIX


def train_wordpiece(
    word_counts: Mapping[str, int],
    vocab_size: int,
    rule: Literal["bpe", "score"] = "bpe",
    *,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS,
) -> list[str]:
    """Learn the vocabulary of a ``WordPieceTokenizer``.

    Args:
        word_counts: word to how often it occurs; the words as ``normalized_words`` gives them.
        vocab_size: how many tokens to have at most.
        rule: which pair is merged next. "bpe": the most frequent. "score": the one of highest P(ij) / (P(i) P(j)), which
            without a ``min_frequency`` is a pair of symbols that occur once each, and junk. Of equals the one of smallest
            ids.
        min_frequency: how often a pair must occur to be merged.
        special_tokens: the first ids are theirs.

    Returns:
        The tokens in order of id: special ones, characters by code point, characters inside a word, and what was merged,
        in that order.

    Raises:
        TypeError: if a word is not a str.
        ValueError: if there are no words, ``vocab_size`` has no room for the characters, or ``rule`` is neither.

    Source: "score", Wu et al. 2016, section 4.1, as the Hugging Face course (chapter 6) writes it; "bpe", Sennrich et al.
    2016 and Hugging Face's WordPieceTrainer.

    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, special_tokens=[])[-2:]
    ['##ug', 'hug']
    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, rule="score", special_tokens=[])[-2:]
    ['hu', 'pu']
    """
    word_counts = check_word_counts(word_counts)
    tokens, words = spell(word_counts, special_tokens, PREFIX)
    check_sizes(None, vocab_size, tokens, min_frequency)
    check_choice("rule", rule, ["bpe", "score"])
    if rule == "bpe":
        merges = train_bpe(
            word_counts, vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=special_tokens, prefix=PREFIX
        )
        return list(dict.fromkeys([*tokens, *(left + right.removeprefix(PREFIX) for left, right in merges)]))

    ids = {token: i for i, token in enumerate(tokens)}
    scores = PairScores(PairCounts(words, list(word_counts.values())), max(min_frequency, 1))
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


class PairScores:
    """The pairs of a corpus by P(ij) / (P(i) P(j)), kept up to date as pairs are merged.

    A merge makes its two symbols rarer, and that changes the score of every pair that has one of them. Each such pair is
    put into the queue once more; entries with an old score are passed over when they come up.

    Args:
        pairs: the corpus in symbols.
        min_frequency: pairs that occur less often have no score.
    """

    def __init__(self, pairs: PairCounts, min_frequency: int):
        self.pairs = pairs
        self.min_frequency = min_frequency
        self.pairs_with: dict[str, set[str]] = defaultdict(set)  # symbol: the pairs that it is in
        self.queue: list[tuple[float, str]] = []
        self.remember(pairs.counts)
        self.put(pairs.counts)

    def score(self, pair: str) -> float | None:
        """count(ij) / (count(i) count(j)), which is in proportion to P(ij) / (P(i) P(j)); None for a rare pair."""
        counts = self.pairs.symbol_counts
        count = self.pairs.counts.get(pair, 0)
        return count / (counts[pair[0]] * counts[pair[1]]) if count >= self.min_frequency else None

    def best(self) -> str | None:
        """The pair of highest score, of equals the one of smallest ids, taken out of the queue; None if there is none."""
        while self.queue:
            negative_score, pair = heapq.heappop(self.queue)
            if self.score(pair) == -negative_score:
                return pair
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


def train_wordpiece_plainly(
    word_counts: Mapping[str, int],
    vocab_size: int,
    *,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS,
) -> list[str]:
    """``train_wordpiece`` with rule "score" as it is defined: count symbols and pairs anew for each merge.

    The result is that of ``train_wordpiece``; the time grows with tokens × corpus.

    Args:
        word_counts, vocab_size, min_frequency, special_tokens: as for ``train_wordpiece``.

    Raises:
        TypeError, ValueError: as ``train_wordpiece``.

    Source: Wu et al. 2016, section 4.1, as the Hugging Face course (chapter 6) writes it.
    """
    word_counts = check_word_counts(word_counts)
    tokens, _ = spell(word_counts, special_tokens, PREFIX)
    check_sizes(None, vocab_size, tokens, min_frequency)
    words = {word: [word[0], *(PREFIX + character for character in word[1:])] for word in word_counts}
    while len(tokens) < vocab_size:
        symbol_counts, pair_counts = Counter(), Counter()
        for word, symbols in words.items():
            for symbol in symbols:
                symbol_counts[symbol] += word_counts[word]
            for pair in pairwise(symbols):
                pair_counts[pair] += word_counts[word]
        scores = {
            (left, right): count / (symbol_counts[left] * symbol_counts[right])
            for (left, right), count in pair_counts.items()
            if count >= min_frequency
        }
        if not scores:
            break
        ids = {token: i for i, token in enumerate(tokens)}
        left, right = max(scores, key=lambda pair: (scores[pair], -ids[pair[0]], -ids[pair[1]]))
        token = left + right.removeprefix(PREFIX)
        if token not in ids:
            tokens.append(token)
        words = {word: merge_pair(symbols, (left, right), token) for word, symbols in words.items()}
    return tokens
