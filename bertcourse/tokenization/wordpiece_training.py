"""Chapter 3: learning the vocabulary of WordPiece, by two rules.

WordPiece as it was published merges the pair that makes the training text most likely (Schuster & Nakajima 2012, "Japanese
and Korean Voice Search"; Wu et al. 2016, section 4.1): the one of highest P(ij) / (P(i) P(j)), which favours symbols that
are seldom apart over those that are frequent. The other rule is that of BPE, the most frequent pair, with pieces inside a
word written with ``##``; it is what Hugging Face's WordPieceTrainer does. In both a vocabulary comes out, not merges: the
encoder looks for the longest match.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from tqdm import tqdm

from bertcourse.tokenization.bpe import PairCounts, check_sizes, merge_pair, spell, train_bpe
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
    if rule not in ("bpe", "score"):
        raise ValueError(f'rule must be "bpe" or "score"; got {rule!r}.')
    tokens, words = spell(word_counts, special_tokens, PREFIX)
    check_sizes(None, vocab_size, tokens)
    if rule == "bpe":
        merges = train_bpe(
            word_counts, vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=special_tokens, prefix=PREFIX
        )
        return list(dict.fromkeys([*tokens, *(left + right.removeprefix(PREFIX) for left, right in merges)]))

    ids = {token: i for i, token in enumerate(tokens)}
    pairs = PairCounts(words, list(word_counts.values()))
    pairs_with: dict[str, set[str]] = defaultdict(set)  # symbol: the pairs that it is in
    queue: list[tuple[float, str]] = []

    def score(pair: str) -> float:
        count = pairs.counts[pair]
        return count / (pairs.symbol_counts[pair[0]] * pairs.symbol_counts[pair[1]]) if count >= max(min_frequency, 1) else 0.0

    def put(some: set[str]) -> None:
        for pair in some:
            if value := score(pair):
                heapq.heappush(queue, (-value, pair))

    def remember(some: Sequence[str]) -> None:
        for pair in some:
            pairs_with[pair[0]].add(pair)
            pairs_with[pair[1]].add(pair)

    remember(pairs.counts)
    put(pairs.counts)
    progress = tqdm(total=vocab_size - len(tokens), desc="WordPiece", unit=" tokens", disable=None)
    while queue and len(tokens) < vocab_size:
        negative_score, pair = heapq.heappop(queue)
        if score(pair) != -negative_score:  # put in again, if it still counts, when its score changed
            continue
        left, right = pair
        token = tokens[ord(left)] + tokens[ord(right)].removeprefix(PREFIX)
        if ids.setdefault(token, len(tokens)) == len(tokens):
            tokens.append(token)
            progress.update()
        remember(pairs.merge(pair, chr(ids[token])))
        put(pairs_with[left] | pairs_with[right] | pairs_with[chr(ids[token])])  # all whose score has changed
    progress.close()
    return tokens


def train_wordpiece_plainly(
    word_counts: Mapping[str, int], vocab_size: int, *, min_frequency: int = 1, special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS
) -> list[str]:
    """``train_wordpiece`` with rule "score" as it is defined: count symbols and pairs anew for each merge.

    Arguments, result and errors are those of ``train_wordpiece``. The time grows with tokens × corpus.

    Source: Wu et al. 2016, section 4.1, as the Hugging Face course (chapter 6) writes it.
    """
    tokens, _ = spell(word_counts, special_tokens, PREFIX)
    check_sizes(None, vocab_size, tokens)
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
