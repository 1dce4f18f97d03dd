"""Chapter 3: byte-pair encoding, fast; read the plain form in ``bpe`` first.

Merging ab in x·a·b·y removes the pairs xa and by and adds x(ab) and (ab)y; nothing else changes. So the counts of pairs
are kept up to date, and a merge touches only the words that contain its pair.

A word is a str of symbols, with symbol number i written as the character chr(i). So a pair of symbols is a str of
length two: ``str.split`` finds it, ``str.join`` merges it, and comparing two pairs compares their ids.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tqdm import tqdm


def spell(
    word_counts: Mapping[str, int], special_tokens: Sequence[str], prefix: str = ""
) -> tuple[list[str], list[str]]:
    """The vocabulary before the first merge, and the words written in its symbols.

    Args:
        word_counts, special_tokens, prefix: as for ``train_bpe``.

    Returns:
        ``(tokens, words)``: special tokens and characters in order of id; the words, one character per symbol.

    >>> spell({"ab": 1, "ba": 1}, ["[UNK]"])
    (['[UNK]', 'a', 'b'], ['\\x01\\x02', '\\x02\\x01'])
    """
    characters = sorted(set("".join(word_counts)))
    insides = sorted(set("".join(word[1:] for word in word_counts)))
    tokens = list(dict.fromkeys([*special_tokens, *characters, *(prefix + character for character in insides)]))
    symbols = {token: chr(i) for i, token in enumerate(tokens)}
    first = {ord(character): symbols[character] for character in characters}
    inside = {ord(character): symbols[prefix + character] for character in insides}
    return tokens, [word[0].translate(first) + word[1:].translate(inside) for word in word_counts]


class PairCounts:
    """Words in symbols, with the counts of symbols and of pairs of neighbours, kept up to date as pairs are merged.

    Args:
        words: as ``spell`` writes them.
        frequencies: how often each of them occurs.
    """

    def __init__(self, words: list[str], frequencies: list[int]):
        self.words = words
        self.frequencies = frequencies
        self.counts: dict[str, int] = defaultdict(int)
        self.where: dict[str, list[int]] = defaultdict(list)  # the words a pair has been in; some may no longer have it
        self.symbol_counts: Counter[str] = Counter()
        self.num_symbols = sum(len(word) * frequency for word, frequency in zip(words, frequencies))
        for i, (word, frequency) in enumerate(zip(words, frequencies)):
            for pair in map(str.__add__, word, word[1:]):
                self.counts[pair] += frequency
                self.where[pair].append(i)
            for symbol in word:
                self.symbol_counts[symbol] += frequency

    def merge(self, pair: str, merged: str) -> list[str]:
        """Replace a pair with one symbol, ``merged``, wherever it occurs.

        Returns:
            The pairs that have become more frequent.
        """
        left, right = pair
        before, after = defaultdict(list), defaultdict(list)  # neighbour of the pair: the words where it is one
        twice = []  # the words where the pair follows itself, once per occurrence
        times = 0
        words, frequencies = self.words, self.frequencies
        for i in self.where.pop(pair):
            parts = words[i].split(pair)
            if len(parts) == 1:
                continue
            words[i] = merged.join(parts)
            times += (len(parts) - 1) * frequencies[i]
            for head, tail in pairwise(parts):  # what stood on either side of one occurrence
                if head:
                    before[head[-1]].append(i)
                if tail:
                    after[tail[0]].append(i)
            if len(parts) > 2:
                twice += [i for part in parts[1:-1] if not part]
        changes = [(x + left, x + merged, at) for x, at in before.items()]
        changes += [(right + y, merged + y, at) for y, at in after.items()]
        changes += [(right + left, merged + merged, twice)] if twice else []
        for old, new, at in changes:
            frequency = sum(map(frequencies.__getitem__, at))
            self.counts[old] -= frequency
            self.counts[new] += frequency
            self.where[new] += at
        del self.counts[pair]
        self.symbol_counts[left] -= times
        self.symbol_counts[right] -= times
        self.symbol_counts[merged] += times
        self.num_symbols -= times
        return [new for _, new, _ in changes]


def learn_merges(
    tokens: list[str], pairs: PairCounts, num_merges: int, vocab_size: int, min_frequency: int, prefix: str
) -> list[tuple[str, str]]:
    """The merges of ``train_bpe``, with its arguments; of equally frequent pairs, the smallest ids go first.

    Args:
        tokens: the vocabulary before the first merge, as ``spell`` returns it; merged tokens are added to it.
        pairs: the words in symbols.
    """
    ids = {token: i for i, token in enumerate(tokens)}
    queue = [(-count, pair) for pair, count in pairs.counts.items()]
    heapq.heapify(queue)
    merges: list[tuple[str, str]] = []
    progress = tqdm(total=min(num_merges, vocab_size - len(tokens)), desc="BPE", unit=" merges", disable=None)
    while queue and len(merges) < num_merges and len(tokens) < vocab_size:
        negative_count, pair = queue[0]
        count = pairs.counts[pair]
        if count != -negative_count:  # it has become rarer since it was queued: put it back
            heapq.heapreplace(queue, (-count, pair))
            continue
        if count < min_frequency:
            break
        heapq.heappop(queue)
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
