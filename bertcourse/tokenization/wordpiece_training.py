"""Chapter 3: learning the vocabulary of WordPiece, by three rules.

WordPiece as it was published merges the pair that most increases the likelihood of the training data (Schuster &
Nakajima 2012, "Japanese and Korean Voice Search"; Wu et al. 2016, section 4.1). The papers print no formula. If
symbols are drawn independently, ij in place of i and j gains about c(ij) log[P(ij) / (P(i) P(j))], c for counts:
rule "likelihood". The ratio alone, P(ij) / (P(i) P(j)), is how the Hugging Face course (chapter 6) and many slides
read the papers: rule "score", which favours symbols that are seldom apart, however rare they are. Rule "bpe" is that
of BPE, the most frequent pair, with pieces inside a word written with ``##``: the same rule as that of Hugging
Face's WordPieceTrainer, which decides ties anew in each run. In all three a vocabulary comes out, not merges: the
encoder looks for the longest match.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from tqdm import tqdm

from bertcourse.tokenization.bpe import PairCounts, check_sizes, check_word_counts, merge_pair, spell, train_bpe
from bertcourse.tokenization.encoding import check_choice
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, PREFIX

RULES = ("bpe", "score", "likelihood")


def train_wordpiece(
    word_counts: Mapping[str, int],
    vocab_size: int,
    rule: Literal["bpe", "score", "likelihood"] = "bpe",
    *,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS,
) -> list[str]:
    """Learn the vocabulary of a ``WordPieceTokenizer``.

    Args:
        word_counts: word to how often it occurs; the words as ``normalized_words`` gives them.
        vocab_size: how many tokens to have at most.
        rule: which pair is merged next, ``pair_score``. "bpe": the most frequent. "score": the one of highest
            P(ij) / (P(i) P(j)), which without a ``min_frequency`` is a pair of symbols that occur once each, and junk.
            "likelihood": the one that makes the corpus most likely. Of equals the one of smallest ids.
        min_frequency: how often a pair must occur to be merged.
        special_tokens: the first ids are theirs.

    Returns:
        The tokens in order of id: special ones, characters by code point, characters inside a word, and what was
            merged,
        in that order.

    Raises:
        TypeError: if a word is not a str, or a count or size is not a whole number.
        ValueError: if there are no words, ``vocab_size`` has no room for the characters, or ``rule`` is none of the
            three.

    Source: "likelihood", Schuster & Nakajima 2012 in words, with the gain of a model of independent symbols;
    "score", the Hugging Face course, chapter 6; "bpe", Sennrich et al. 2016, and Hugging Face's WordPieceTrainer but
    for ties.

    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, special_tokens=[])[-2:]
    ['##ug', 'hug']
    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, rule="score", special_tokens=[])[-2:]
    ['hu', 'pu']
    """
    word_counts = check_word_counts(word_counts)
    tokens, words = spell(word_counts, special_tokens, PREFIX)
    check_sizes(None, vocab_size, tokens, min_frequency)
    check_choice("rule", rule, RULES)
    if rule == "bpe":
        merges = train_bpe(
            word_counts,
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=special_tokens,
            prefix=PREFIX,
        )
        return list(dict.fromkeys([*tokens, *(left + right.removeprefix(PREFIX) for left, right in merges)]))

    ids = {token: i for i, token in enumerate(tokens)}
    scores = PairScores(PairCounts(words, list(word_counts.values())), rule, max(min_frequency, 1))
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


def pair_score(rule: str, count: int, left: int, right: int, total: int) -> float:
    """How much a rule wants a pair merged; with P(i) = left / total, P(j) = right / total, P(ij) = count / total.

    Args:
        rule: "bpe", "score" or "likelihood".
        count: how often the pair occurs.
        left, right: how often each of its symbols does.
        total: how many symbols the corpus has.

    >>> [round(pair_score(rule, 5, 20, 5, 100), 3) for rule in RULES]
    [5, 0.05, 8.047]
    """
    if rule == "bpe":
        return count
    if rule == "score":
        return count / (left * right)  # total is the same for all pairs
    return count * math.log(count * total / (left * right))


class PairScores:
    """The pairs of a corpus by ``pair_score``, kept up to date as pairs are merged.

    A merge makes its two symbols rarer, and that changes the score of every pair that has one of them. Each such
    pair is put into the queue once more. A merge also makes the corpus shorter, which lowers the likelihood's gain
    of every pair: an entry that has become lower goes back into the queue when it comes up, and one that has become
    higher is passed over.

    Args:
        pairs: the corpus in symbols.
        rule: as for ``pair_score``.
        min_frequency: pairs that occur less often have no score.
    """

    def __init__(self, pairs: PairCounts, rule: str, min_frequency: int):
        self.pairs = pairs
        self.rule = rule
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
        return pair_score(self.rule, count, counts[pair[0]], counts[pair[1]], self.pairs.num_symbols)

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


def train_wordpiece_plainly(
    word_counts: Mapping[str, int],
    vocab_size: int,
    rule: Literal["bpe", "score", "likelihood"] = "bpe",
    *,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS,
) -> list[str]:
    """``train_wordpiece`` as it is defined: count symbols and pairs anew for each merge, and take the pair of best
    score.

    The result is that of ``train_wordpiece``; the time grows with tokens × corpus.

    Args:
        word_counts, vocab_size, rule, min_frequency, special_tokens: as for ``train_wordpiece``.

    Raises:
        TypeError, ValueError: as ``train_wordpiece``.

    Source: as ``train_wordpiece``.
    """
    word_counts = check_word_counts(word_counts)
    tokens, _ = spell(word_counts, special_tokens, PREFIX)
    check_sizes(None, vocab_size, tokens, min_frequency)
    check_choice("rule", rule, RULES)
    words = {word: [word[0], *(PREFIX + character for character in word[1:])] for word in word_counts}
    while len(tokens) < vocab_size:
        symbol_counts, pair_counts = Counter(), Counter()
        for word, symbols in words.items():
            for symbol in symbols:
                symbol_counts[symbol] += word_counts[word]
            for pair in pairwise(symbols):
                pair_counts[pair] += word_counts[word]
        scores = {
            (left, right): pair_score(rule, count, symbol_counts[left], symbol_counts[right], symbol_counts.total())
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
