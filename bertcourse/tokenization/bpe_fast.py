"""Chapter 3: byte-pair encoding for a whole corpus; the definitions are in ``bpe``.

Merging ab in x·a·b·y removes the pairs xa and by and adds x(ab) and (ab)y; nothing else changes. So the counts of pairs
are kept up to date, and a merge touches only the words that contain its pair.

A word is a str of symbols, with symbol number i written as the character chr(i). So a pair of symbols is a str of
length two: ``str.split`` finds it, ``str.join`` merges it, and comparing two pairs compares their ids.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

from tqdm import tqdm


def train_bpe(
    word_counts: Mapping[str, int], num_merges: int | None = None, *, vocab_size: int | None = None, prefix: str = ""
) -> list[tuple[str, str]]:
    """The merges of ``bpe.learn_merges``, in seconds for a library of books.

    Args:
        word_counts: how often each word occurs.
        num_merges: the most merges to learn; None for as many as ``vocab_size`` allows.
        vocab_size: the most tokens to have, including single characters.
        prefix: put before the characters inside a word: "##" makes the tokens of WordPiece, "" those of BPE.

    >>> train_bpe({"aaabdaaabac": 1}, 3)
    [('a', 'a'), ('a', 'b'), ('aa', 'ab')]
    """
    tokens, words = _spell(word_counts, prefix)
    most_merges, most_tokens = (math.inf if most is None else most for most in (num_merges, vocab_size))
    ids = {token: i for i, token in enumerate(tokens)}
    pairs = PairCounts(words, list(word_counts.values()))
    queue = [(-count, pair) for pair, count in pairs.counts.items()]
    heapq.heapify(queue)
    merges: list[tuple[str, str]] = []
    progress = tqdm(desc="BPE", unit=" merges", disable=None)
    while queue and len(merges) < most_merges and len(tokens) < most_tokens:
        negative_count, pair = queue[0]
        count = pairs.counts[pair]
        if count != -negative_count:  # it has become rarer since it was queued: put it back
            heapq.heapreplace(queue, (-count, pair))
            continue
        heapq.heappop(queue)
        if not count:
            break
        left, right = (tokens[ord(symbol)] for symbol in pair)
        token = left + right.removeprefix(prefix)
        if ids.setdefault(token, len(tokens)) == len(tokens):  # else two merges make the same token
            tokens.append(token)
        merges.append((left, right))
        for grown in pairs.merge(pair, chr(ids[token])):
            heapq.heappush(queue, (-pairs.counts[grown], grown))
        progress.update()
    progress.close()
    return merges


def _spell(word_counts: Mapping[str, int], prefix: str) -> tuple[list[str], list[str]]:
    """The vocabulary before the first merge, in order of id, and the words, one character per symbol."""
    letters = sorted(set("".join(word_counts)))
    insides = sorted(set("".join(word[1:] for word in word_counts)))
    tokens = list(dict.fromkeys([*letters, *(prefix + letter for letter in insides)]))
    symbols = {token: chr(i) for i, token in enumerate(tokens)}
    first = {ord(letter): symbols[letter] for letter in letters}
    inside = {ord(letter): symbols[prefix + letter] for letter in insides}
    return tokens, [word[0].translate(first) + word[1:].translate(inside) for word in word_counts]


class PairCounts:
    """Words in symbols, as ``_spell`` writes them, with the counts of pairs, kept up to date as pairs are merged."""

    def __init__(self, words: list[str], frequencies: list[int]):
        self.words = words
        self.frequencies = frequencies
        self.counts: dict[str, int] = defaultdict(int)
        self.where: dict[str, list[int]] = defaultdict(list)  # the words a pair has been in; some may no longer have it
        for i, (word, frequency) in enumerate(zip(words, frequencies)):
            for pair in map(str.__add__, word, word[1:]):
                self.counts[pair] += frequency
                self.where[pair].append(i)

    def merge(self, pair: str, merged: str) -> list[str]:
        """Replace a pair with one symbol wherever it occurs; returns the pairs that have become more frequent."""
        left, right = pair
        before, after = defaultdict(list), defaultdict(list)  # neighbour of the pair: the words where it is one
        twice = []  # the words where the pair follows itself, once per occurrence
        for i in self.where.pop(pair):
            parts = self.words[i].split(pair)
            if len(parts) == 1:
                continue
            self.words[i] = merged.join(parts)
            for head, tail in pairwise(parts):  # what stood on either side of one occurrence
                if head:
                    before[head[-1]].append(i)
                if tail:
                    after[tail[0]].append(i)
            twice += [i for part in parts[1:-1] if not part]
        changes = [(x + left, x + merged, at) for x, at in before.items()]
        changes += [(right + y, merged + y, at) for y, at in after.items()]
        changes += [(right + left, merged + merged, twice)] if twice else []
        for old, new, at in changes:
            frequency = sum(map(self.frequencies.__getitem__, at))
            self.counts[old] -= frequency
            self.counts[new] += frequency
            self.where[new] += at
        del self.counts[pair]
        return [new for _, new, _ in changes]


def apply_merges_to_long_word(symbols: list[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """``bpe.apply_merges`` for any length: candidates wait in a queue, symbols are linked to their neighbours."""
    after = [*range(1, len(symbols) + 1)]
    before = [*range(-1, len(symbols) - 1)]
    queue = [(ranks[pair], i, pair) for i, pair in enumerate(pairwise(symbols)) if pair in ranks]
    heapq.heapify(queue)
    while queue:
        _, i, pair = heapq.heappop(queue)
        j = after[i]
        if j == len(symbols) or (symbols[i], symbols[j]) != pair:  # one of the two has since been merged
            continue
        symbols[i], symbols[j] = "".join(pair), ""
        after[i] = k = after[j]
        if k < len(symbols):
            before[k] = i
        for first, second in ((before[i], i), (i, k)):
            if first >= 0 and second < len(symbols) and (new := (symbols[first], symbols[second])) in ranks:
                heapq.heappush(queue, (ranks[new], first, new))
    return [symbol for symbol in symbols if symbol]
