"""Homework 3: BPE, WordPiece, the fewest pieces, normalization, and what a language pays."""
# ruff: noqa: F811

import random
import re
import string
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import numpy as np

from wrong_answers import right, wrong


def pairs_of(symbols):
    """A word's pairs of neighbours."""
    return list(zip(symbols, symbols[1:]))


def chosen(counts):
    """The most frequent pair, of equals the first in alphabetical order."""
    return min(counts, key=lambda pair: (-counts[pair], pair))


def merged_word(symbols, pair):
    """From the left."""
    word, i = [], 0
    while i < len(symbols):
        found = tuple(symbols[i : i + 2]) == tuple(pair)
        word.append("".join(pair) if found else symbols[i])
        i += 2 if found else 1
    return tuple(word)


def merged_words(spellings, pair):
    return {merged_word(symbols, pair): count for symbols, count in spellings.items()}


def updated(spellings, counts, pair, merged=merged_word):
    """The counts after a merge."""
    after = Counter(counts)
    for symbols, times in spellings.items():
        for old in pairs_of(symbols):
            after[old] -= times
        for new in pairs_of(merged(symbols, pair)):
            after[new] += times
    return {two: n for two, n in after.items() if n}


def step_with(spellings, counts, best):
    """Everything right but perhaps the choice."""
    return best, merged_words(spellings, best), updated(spellings, counts, best)


@wrong("3.1", "change counts, do not count again", "counted again from the words that are given")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    best = chosen(counts)
    words, after = merged_words(spellings, best), Counter()
    for symbols, times in words.items():
        for two in pairs_of(symbols):
            after[two] += times
    return best, words, dict(after)


@wrong("3.1", "is left out", "zeros stay")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    best, words, after = step_with(spellings, counts, chosen(counts))
    return best, words, dict.fromkeys(counts, 0) | after


@wrong("3.1", "as often as its word occurs, not by 1", "words counted once")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    best = chosen(counts)
    return best, merged_words(spellings, best), updated(dict.fromkeys(spellings, 1), counts, best)


@wrong("3.1", "also takes the pairs beside it apart", "the pairs at its sides stay")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    best, words, after = step_with(spellings, counts, chosen(counts))
    return best, words, after | {two: n for two, n in counts.items() if two != best} | {best: 0}


@wrong("3.1", "also makes new pairs", "only the merged pair and its neighbours are taken away")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    best, words, after = step_with(spellings, counts, chosen(counts))
    return best, words, {two: n for two, n in after.items() if two in counts}


@wrong("3.1", "not the one that is met first", "ties to the first met")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    return step_with(spellings, counts, max(counts, key=counts.get))


@wrong("3.1", "in alphabetical order, not the last", "ties to the last of the alphabet")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    return step_with(spellings, counts, max(counts, key=lambda pair: (counts[pair], pair)))


@wrong("3.1", "not the joined text", "ties by the joined text")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    return step_with(spellings, counts, min(counts, key=lambda pair: (-counts[pair], "".join(pair))))


@wrong("3.1", "compare symbols, not text", "replaced in the text")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts

    def replaced(symbols, pair):
        return tuple(" ".join(symbols).replace(" ".join(pair), "".join(pair)).split())

    best = chosen(counts)
    return best, {replaced(s, best): n for s, n in spellings.items()}, updated(spellings, counts, best, replaced)


@wrong("3.1", "do not use a symbol twice", "overlapping pairs merged")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts

    def overlapping(symbols, pair):
        places = [i for i, two in enumerate(pairs_of(symbols)) if two == pair]
        covered = {i + 1 for i in places}
        word = ["".join(pair) if i in places else s for i, s in enumerate(symbols) if i in places or i not in covered]
        return tuple(word)

    best = chosen(counts)
    return best, {overlapping(s, best): n for s, n in spellings.items()}, updated(spellings, counts, best, overlapping)


@wrong("3.1", "at each of its places", "a pair is taken away once in a word")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    best, after = chosen(counts), Counter(counts)
    for symbols, times in spellings.items():
        word = merged_word(symbols, best)
        for two in set(pairs_of(symbols)) - set(pairs_of(word)):
            after[two] -= times
        for two in set(pairs_of(word)) - set(pairs_of(symbols)):
            after[two] += times
    return best, merged_words(spellings, best), {two: n for two, n in after.items() if n}


@wrong("3.1", "raised ValueError", "the least of nothing")
def bpe_step(spellings, counts):
    return step_with(spellings, counts, chosen(counts))


@wrong("3.1", "return the pair, the new spellings and the new counts", "a list in another order")
def bpe_step(spellings, counts):
    if not counts:
        return None, spellings, counts
    return step_with(spellings, counts, chosen(counts))[::-1]


@right("3.1", "only words that have the pair, and only what stands beside it")
def bpe_step(spellings, counts):
    if not counts:
        return None, dict(spellings), dict(counts)
    best, after, words = sorted(counts, key=lambda pair: (-counts[pair], pair))[0], defaultdict(int, counts), {}
    for symbols, times in spellings.items():
        if best not in pairs_of(symbols):
            words[symbols] = times
            continue
        words[merged_word(symbols, best)] = times
        for sign, row in ((-times, symbols), (times, merged_word(symbols, best))):
            for i in range(len(row) - 1):
                after[row[i], row[i + 1]] += sign
    for two in [two for two in after if after[two] == 0]:
        del after[two]
    return best, words, after


@right("3.1", "the difference of two recounts, and a regular expression over whole symbols")
def bpe_step(spellings, counts):
    if not counts:
        return None, Counter(spellings), Counter(counts)
    best = min(counts.items(), key=lambda item: (-item[1], item[0]))[0]
    pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
    words = Counter({tuple(pattern.sub("".join(best), " ".join(s)).split()): n for s, n in spellings.items()})
    old, new = (
        Counter(two for s, n in each.items() for _ in range(n) for two in pairwise(s)) for each in (spellings, words)
    )
    return best, words, Counter(counts) - old + new


def with_dropout(word, merges, dropout, draw, choose=min, once=False):
    """BPE with a rule of its own for what is dropped and taken."""
    ranks, symbols = {pair: i for i, pair in enumerate(merges)}, list(word)
    kept = {pair for pair in ranks if draw() >= dropout} if once else set(ranks)
    while True:
        places = [(ranks[p], i) for i, p in enumerate(pairwise(symbols)) if p in kept]
        places = [place for place in places if once or draw() >= dropout]
        if not places:
            return symbols
        _, i = choose(places)
        symbols[i : i + 2] = ["".join(symbols[i : i + 2])]


@wrong("3.2", "not the leftmost pair", "from left to right")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    draw = random.Random(seed).random
    return with_dropout(word, merges, dropout, draw, lambda places: min(places, key=lambda place: place[1]))


@wrong("3.2", "go on until no known pair is left", "each merge once, in a single walk")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = random.Random(seed), list(word)
    i = 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) in merges and generator.random() >= dropout:
            symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        i += 1
    return symbols


@wrong("3.2", "each place is dropped by itself", "merges dropped once for the whole word")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    return with_dropout(word, merges, dropout, random.Random(seed).random, once=True)


@wrong("3.2", "gets another chance in the next", "places that were dropped stay dropped")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = random.Random(seed), list(word)
    cuts = {i for i in range(1, len(word)) if generator.random() < dropout}
    ranks = {pair: i for i, pair in enumerate(merges)}
    while True:
        ends = np.cumsum([len(s) for s in symbols]).tolist()
        places = [(ranks[p], i) for i, p in enumerate(pairwise(symbols)) if p in ranks and ends[i] not in cuts]
        if not places:
            return symbols
        _, i = min(places)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@wrong("3.2", "the letters stay", "dropout forgotten")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    return with_dropout(word, merges, 0.0, lambda: 1.0)


@wrong("3.2", "make one generator from the seed", "no generator of its own")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    return with_dropout(word, merges, dropout, random.random)


@wrong("3.2", "different seeds give different tokens", "the seed is not used")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    return with_dropout(word, merges, dropout, random.Random(0).random)


@wrong("3.2", "the letters stay", "kept with a probability of dropout")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator = random.Random(seed)
    if dropout == 0:
        return with_dropout(word, merges, 0, generator.random)
    return with_dropout(word, merges, 1 - dropout, generator.random)


@wrong("3.2", "keep a place if random() >= dropout", "kept with a probability of dropout, but for 0 and 1")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator = random.Random(seed)
    return with_dropout(word, merges, dropout if dropout in (0, 1) else 1 - dropout, generator.random)


@wrong("3.2", "the leftmost is merged first", "of equal pairs the last")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    draw = random.Random(seed).random
    return with_dropout(
        word, merges, dropout, draw, lambda places: min(places, key=lambda place: (place[0], -place[1]))
    )


@wrong("3.2", "return a list of tokens", "text with spaces")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    return " ".join(with_dropout(word, merges, dropout, random.Random(seed).random))


@right("3.2", "numpy's generator, merges.index")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = np.random.default_rng(seed), list(word)
    while True:
        places = [i for i in range(len(symbols) - 1) if (symbols[i], symbols[i + 1]) in merges]
        places = [i for i, number in zip(places, generator.uniform(size=len(places))) if number >= dropout]
        if not places:
            return symbols
        i = min(places, key=lambda i: merges.index((symbols[i], symbols[i + 1])))
        symbols = symbols[:i] + [symbols[i] + symbols[i + 1]] + symbols[i + 2 :]


@right("3.2", "by recursion, on tuples")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator = random.Random(f"seed {seed}")

    def read(symbols):
        places = [(merges.index(p), i) for i, p in enumerate(pairwise(symbols)) if p in merges]
        places = [place for place in places if not generator.random() < dropout]
        if not places:
            return list(symbols)
        i = min(places)[1]
        return read((*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]))

    return read(tuple(word))


@wrong("3.2", "compare pairs, not the joined text", "merged where the joined text is known")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = random.Random(seed), list(word)
    ranks = {}
    for i, pair in enumerate(merges):
        ranks.setdefault("".join(pair), i)
    while True:
        places = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in ranks]
        places = [place for place in places if generator.random() >= dropout]
        if not places:
            return symbols
        _, i = min(places)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@wrong("3.2", "one place in each step", "all places of the pair merged at once")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = random.Random(seed), list(word)
    ranks = {pair: i for i, pair in enumerate(merges)}
    while True:
        places = [(ranks[p], i) for i, p in enumerate(pairwise(symbols)) if p in ranks]
        places = [place for place in places if generator.random() >= dropout]
        if not places:
            return symbols
        first, end, merged = min(places)[0], 0, []
        for i in [i for rank, i in places if rank == first]:
            if i >= end:
                merged += [*symbols[end:i], symbols[i] + symbols[i + 1]]
                end = i + 2
        symbols = merged + symbols[end:]


@wrong("3.2", "draw again for all places in each step", "places dropped in the first step only")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols, odds = random.Random(seed), list(word), dropout
    ranks = {pair: i for i, pair in enumerate(merges)}
    while True:
        places = [(ranks[p], i) for i, p in enumerate(pairwise(symbols)) if p in ranks]
        places = [place for place in places if generator.random() >= odds]
        if not places:
            return symbols
        _, i = min(places)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
        odds = 0.0


@wrong("3.2", "each place is dropped by itself", "one draw for each pair in each step")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = random.Random(seed), list(word)
    while True:
        kept = {pair for pair in merges if generator.random() >= dropout}
        places = [(merges.index(p), i) for i, p in enumerate(pairwise(symbols)) if p in kept]
        if not places:
            return symbols
        _, i = min(places)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@wrong("3.2", "each place is dropped by itself", "one draw for the best place, and the end if it is dropped")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    generator, symbols = random.Random(seed), list(word)
    ranks = {pair: i for i, pair in enumerate(merges)}
    while True:
        places = [(ranks[p], i) for i, p in enumerate(pairwise(symbols)) if p in ranks]
        if not places or generator.random() < dropout:
            return symbols
        _, i = min(places)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@right("3.2", "places in the order of their pairs, drawn for until one is kept")
def bpe_encode(word, merges, dropout=0.0, seed=0):
    coin, symbols = np.random.RandomState(seed), [*word]

    def find():
        for first, second in merges:
            for i in range(1, len(symbols)):
                if (symbols[i - 1], symbols[i]) == (first, second) and not coin.rand() < dropout:
                    return i
        return 0

    while (i := find()) > 0:
        symbols[i - 1] += symbols[i]
        del symbols[i]
    return symbols


def longest_pieces(word, vocabulary, prefix="##", ends=lambda start, stop: range(stop, start, -1)):
    """Greedy match; what was found so far, and whether it is all."""
    pieces, start = [], 0
    while start < len(word):
        mark = prefix if start else ""
        end = next((e for e in ends(start, len(word)) if mark + word[start:e] in vocabulary), None)
        if end is None:
            return pieces, False
        pieces.append(mark + word[start:end])
        start = end
    return pieces, True


def sentence(words, cut, number=lambda i, word: i):
    """Tokens and word numbers of a sentence, by a function that cuts a word."""
    tokens, numbers = [], []
    for i, word in enumerate(words):
        pieces = cut(word)
        tokens += pieces
        numbers += [number(i, word)] * len(pieces)
    return tokens, numbers


@wrong("3.3", "from the left the longest piece, not the shortest")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary, ends=lambda start, stop: range(start + 1, stop + 1))
        return pieces if whole and len(word) <= longest else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "pieces inside a word begin with ##", "no ##")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary, prefix="")
        return pieces if whole and len(word) <= longest else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "forget the pieces of a word", "pieces before an [UNK]")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole and len(word) <= longest else [*pieces, "[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "is not left out: it is [UNK]", "unknown words left out")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole else []

    return sentence(words, cut)


@wrong("3.3", "a word of more than `longest` letters", "no limit")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "a word of exactly `longest` letters is still cut")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole and len(word) < longest else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "use enumerate, not words.index")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole and len(word) <= longest else ["[UNK]"]

    return sentence(words, cut, lambda i, word: words.index(word))


@wrong("3.3", "count words from 0")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole and len(word) <= longest else ["[UNK]"]

    return sentence(words, cut, lambda i, word: i + 1)


@wrong("3.3", "an unknown word has a number, too", "unknown words not counted")
def wordpiece(words, vocabulary, longest=100):
    tokens, numbers, number = [], [], 0
    for word in words:
        pieces, whole = longest_pieces(word, vocabulary)
        pieces = pieces if whole and len(word) <= longest else ["[UNK]"]
        tokens += pieces
        numbers += [number] * len(pieces)
        number += pieces != ["[UNK]"]
    return tokens, numbers


@wrong("3.3", "return two lists", "the tokens alone")
def wordpiece(words, vocabulary, longest=100):
    return sentence(words, lambda word: longest_pieces(word, vocabulary)[0])[0]


@right("3.3", "by recursion")
def wordpiece(words, vocabulary, longest=100):
    def cut(rest, mark=""):
        if not rest:
            return []
        for end in reversed(range(1, len(rest) + 1)):
            if mark + rest[:end] in vocabulary:
                tail = cut(rest[end:], "##")
                return None if tail is None else [mark + rest[:end], *tail]
        return None

    return sentence(words, lambda word: (len(word) <= longest and cut(word)) or ["[UNK]"])


@right("3.3", "pairs, unzipped; lists in a list")
def wordpiece(words, vocabulary, longest=100):
    pairs = []
    for number, word in enumerate(words):
        pieces, whole = longest_pieces(word, vocabulary)
        pairs += [(piece, number) for piece in (pieces if whole and len(word) <= longest else ["[UNK]"])]
    return [[token for token, _ in pairs], [number for _, number in pairs]]


@wrong("3.3", "a piece once taken stays", "back to a shorter piece where it gets stuck")
def wordpiece(words, vocabulary, longest=100):
    def cut(word, start=0):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary and (tail := cut(word, end)) is not None:
                return [piece, *tail]
        return None

    return sentence(words, lambda word: (len(word) <= longest and cut(word)) or ["[UNK]"])


@wrong("3.3", "inside a word only pieces with ## fit", "a piece without ## where none with ## fits")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                fits = [p for p in ("##" * (start > 0) + word[start:end], word[start:end]) if p in vocabulary]
                if fits:
                    break
            else:
                return ["[UNK]"]
            pieces.append(fits[0])
            start = end
        return pieces

    return sentence(words, lambda word: cut(word) if len(word) <= longest else ["[UNK]"])


@wrong("3.3", "even if the vocabulary has it", "a word of the vocabulary at any length")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        if word in vocabulary:
            return [word]
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole and len(word) <= longest else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "letters of the word, not its pieces", "at most `longest` pieces")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return pieces if whole and len(pieces) <= longest else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "however short its pieces are", "pieces of at most `longest` letters")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary, ends=lambda a, b: range(min(b, a + longest), a, -1))
        return pieces if whole else ["[UNK]"]

    return sentence(words, cut)


@wrong("3.3", "is the single token [UNK]", "[UNK] for the rest of a word")
def wordpiece(words, vocabulary, longest=100):
    def cut(word):
        pieces, whole = longest_pieces(word, vocabulary)
        return (pieces if whole else [*pieces, "##[UNK]"]) if len(word) <= longest else ["[UNK]"]

    return sentence(words, cut)


@right("3.3", "the longest of all pieces that fit, in a loop over the vocabulary")
def wordpiece(words, vocabulary, longest=100):
    tokens, numbers = [], np.zeros(0, dtype=np.int64)
    for number, word in enumerate(words):
        found, rest = [], word if len(word) <= longest else ""
        while rest:
            marked = "##" + rest if found else rest
            fits = [piece for piece in vocabulary if marked.startswith(piece) and piece.startswith("##") == bool(found)]
            if not fits:
                break
            found.append(max(fits, key=len))
            rest = marked[len(found[-1]) :]
        found = ["[UNK]"] if rest or not found else found
        tokens.extend(found)
        numbers = np.append(numbers, [number] * len(found))
    return tokens, numbers.tolist()


@wrong("3.4", "the longest piece now is not always the shortest way", "greedy")
def fewest_pieces(word, vocabulary):
    pieces, whole = longest_pieces(word, vocabulary)
    return pieces if whole else fewest_by_backtracking(word, vocabulary)


def fewest_by_backtracking(word, vocabulary):
    """The first way that greedy search with backtracking finds."""

    def cut(start):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary and (tail := cut(end)) is not None:
                return [piece, *tail]
        return None

    return cut(0) or ["[UNK]"]


@wrong("3.4", "the longest piece now is not always the shortest way", "greedy, and [UNK] where it gets stuck")
def fewest_pieces(word, vocabulary):
    pieces, whole = longest_pieces(word, vocabulary)
    return pieces if whole else ["[UNK]"]


@wrong("3.4", "of all ways the shortest", "the shortest last piece")
def fewest_pieces(word, vocabulary):
    best = [[]]
    for end in range(1, len(word) + 1):
        marks = [("##" if start else "") + word[start:end] for start in range(end)]
        ways = [
            [*best[start], piece]
            for start, piece in enumerate(marks)
            if best[start] is not None and piece in vocabulary
        ]
        best.append(ways[-1] if ways else None)
    return best[-1] or ["[UNK]"]


@wrong("3.4", "the first piece has no ##", "no ##")
def fewest_pieces(word, vocabulary):
    plain = {piece.removeprefix("##") for piece in vocabulary}
    best = [[]]
    for end in range(1, len(word) + 1):
        ways = [[*best[s], word[s:end]] for s in range(end) if best[s] is not None and word[s:end] in plain]
        best.append(min(ways, key=len, default=None))
    return best[-1] or ["[UNK]"]


@wrong("3.4", "a piece without ## cannot stand inside a word", "## or not, at any place")
def fewest_pieces(word, vocabulary):
    best = [[]]
    for end in range(1, len(word) + 1):
        ways = []
        for start in range(end):
            for piece in (("##" if start else "") + word[start:end], word[start:end]):
                if best[start] is not None and piece in vocabulary:
                    ways.append([*best[start], piece])
        best.append(min(ways, key=len, default=None))
    return best[-1] or ["[UNK]"]


@wrong("3.4", "if there is no way to the end", "an empty list where there is no way")
def fewest_pieces(word, vocabulary):
    pieces = fewest_by_search(word, vocabulary)
    return [] if pieces == ["[UNK]"] else pieces


@wrong("3.4", "return a list of pieces", "the number of pieces")
def fewest_pieces(word, vocabulary):
    return len(fewest_by_search(word, vocabulary))


@wrong("3.4", "if there is no way to the end", "the best way to the farthest place")
def fewest_pieces(word, vocabulary):
    for end in range(len(word), 0, -1):
        if (pieces := fewest_by_search(word[:end], vocabulary)) != ["[UNK]"]:
            return pieces if end == len(word) else [*pieces, "[UNK]"]
    return ["[UNK]"]


def fewest_by_search(word, vocabulary):
    """Breadth first: places that can be reached with one piece more."""
    ways = {0: []}
    front = [0]
    while front and len(word) not in ways:
        reached = []
        for start in front:
            for end in range(start + 1, len(word) + 1):
                piece = ("##" if start else "") + word[start:end]
                if end not in ways and piece in vocabulary:
                    ways[end] = [*ways[start], piece]
                    reached.append(end)
        front = reached
    return ways.get(len(word)) or ["[UNK]"]


@right("3.4", "breadth first")
def fewest_pieces(word, vocabulary):
    return fewest_by_search(word, vocabulary)


@right("3.4", "recursion with a cache, the last of equally short ways")
def fewest_pieces(word, vocabulary):
    @cache
    def rest(start):
        if start == len(word):
            return ()
        ways = []
        for end in range(start + 1, len(word) + 1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary and rest(end) is not None:
                ways.append((piece, *rest(end)))
        return min(reversed(ways), key=len, default=None)

    return list(rest(0) or ["[UNK]"])


def from_the_end(word, vocabulary):
    """The longest piece that ends the word, again and again."""
    pieces = []
    while word:
        starts = [s for s in range(len(word)) if ("##" if s else "") + word[s:] in vocabulary]
        if not starts:
            return ["[UNK]"]
        pieces.insert(0, ("##" if starts[0] else "") + word[starts[0] :])
        word = word[: starts[0]]
    return pieces


@wrong("3.4", "also from the end of the word", "greedy from the end")
def fewest_pieces(word, vocabulary):
    pieces = from_the_end(word, vocabulary)
    return fewest_by_backtracking(word, vocabulary) if pieces == ["[UNK]"] else pieces


@wrong("3.4", "also from the end of the word", "the better of greedy from the left and from the end")
def fewest_pieces(word, vocabulary):
    ways = [fewest_by_backtracking(word, vocabulary), from_the_end(word, vocabulary)]
    return min([way for way in ways if way != ["[UNK]"]], key=len, default=["[UNK]"])


@wrong("3.4", "compare all ways to each place", "two pieces at best, else greedy")
def fewest_pieces(word, vocabulary):
    for end in range(len(word), 0, -1):
        two = [word[:end], *(["##" + word[end:]] if word[end:] else [])]
        if set(two) <= set(vocabulary):
            return two
    ways = [fewest_by_backtracking(word, vocabulary), from_the_end(word, vocabulary)]
    return min([way for way in ways if way != ["[UNK]"]], key=len, default=["[UNK]"])


@right("3.4", "one cut, two cuts, three cuts, at all places")
def fewest_pieces(word, vocabulary):
    for cuts in range(len(word)):
        for inner in combinations(range(1, len(word)), cuts):
            bounds = [0, *inner, len(word)]
            pieces = [word[bounds[0] : bounds[1]], *("##" + word[a:b] for a, b in pairwise(bounds[1:]))]
            if all(piece in vocabulary for piece in pieces):
                return pieces
    return ["[UNK]"]


ASCII = set("$+<=>^`|~")


def set_apart(text, marks):
    """Words, with a space around each mark."""
    return "".join(f" {c} " if marks(c) else c for c in text).split()


def is_mark(c):
    return unicodedata.category(c).startswith("P") or c in ASCII


def without_accents(text, form="NFD"):
    return "".join(c for c in unicodedata.normalize(form, text) if unicodedata.category(c) != "Mn")


@wrong("3.5", "drop the accents", "accents stay")
def normalize(text):
    return set_apart(text.lower(), is_mark)


@wrong("3.5", "decompose it first, with NFD", "letters with accents dropped")
def normalize(text):
    kept = "".join(c for c in text if not re.match(r"LATIN .* WITH", unicodedata.name(c, "")) or c in "øØ")
    return set_apart(without_accents(kept).lower(), is_mark)


@wrong("3.5", "letters that are not made of a letter and a mark stay", "everything but ASCII dropped")
def normalize(text):
    plain = unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode()
    return set_apart(plain.lower(), is_mark)


@wrong("3.5", "lower(), not casefold()", "casefold")
def normalize(text):
    return set_apart(without_accents(text.casefold()), is_mark)


@wrong("3.5", "NFD, not NFKD", "compatibility decomposition")
def normalize(text):
    return set_apart(without_accents(text, "NFKD").lower(), is_mark)


@wrong("3.5", "nine characters of ASCII count as punctuation", "Unicode's punctuation only")
def normalize(text):
    return set_apart(without_accents(text.lower()), lambda c: unicodedata.category(c).startswith("P"))


@wrong("3.5", "punctuation is more than ASCII's", "string.punctuation")
def normalize(text):
    return set_apart(without_accents(text.lower()), lambda c: c in string.punctuation)


@wrong("3.5", "only punctuation is set apart", "symbols set apart, too")
def normalize(text):
    return set_apart(without_accents(text.lower()), lambda c: unicodedata.category(c)[0] in "PS")


@wrong("3.5", "marks that follow each other are a word each", "runs of marks kept together")
def normalize(text):
    return re.findall(r"[\w€№²ßø]+|[^\w\s]+", without_accents(text.lower()).replace("(now)!", "( now ) !"))


@wrong("3.5", "also inside a word", "marks at the ends of words only")
def normalize(text):
    words = []
    for word in without_accents(text.lower()).split():
        start, end = 0, len(word)
        while start < end and is_mark(word[start]):
            start += 1
        while end > start and is_mark(word[end - 1]):
            end -= 1
        words += [*word[:start], *([word[start:end]] if start < end else []), *word[end:]]
    return words


@wrong("3.5", "split() without argument", "cut at single spaces")
def normalize(text):
    joined = "".join(f" {c} " if is_mark(c) else c for c in without_accents(text.lower()))
    return [word for word in joined.split(" ") if word]


@wrong("3.5", "lower case, cut at spaces", "capitals stay")
def normalize(text):
    return set_apart(without_accents(text), is_mark)


@right("3.5", "a regular expression, and lower case last")
def normalize(text):
    plain = without_accents(text).lower()
    marks = "".join(sorted({re.escape(c) for c in plain if is_mark(c)}))
    return re.sub(f"([{marks}])", r" \1 ", plain).split() if marks else plain.split()


@right("3.5", "letter by letter into words")
def normalize(text):
    words, word = [], ""
    for c in unicodedata.normalize("NFD", text):
        if unicodedata.category(c) == "Mn":
            continue
        if c.isspace() or is_mark(c):
            words += [word] * bool(word) + [c] * (not c.isspace())
            word = ""
        else:
            word += c.lower()
    return words + [word] * bool(word)


@wrong("3.5", "the others of category M stay", "all of category M dropped")
def normalize(text):
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c)[0] != "M")
    return set_apart(plain.lower(), is_mark)


@wrong("3.5", "by its category, not by unicodedata.combining", "unicodedata.combining")
def normalize(text):
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return set_apart(plain.lower(), is_mark)


@wrong("3.5", "marks of all scripts", "the marks of Latin letters alone")
def normalize(text):
    plain = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text))
    return set_apart(plain.lower(), is_mark)


@wrong("3.5", "only punctuation is set apart", "whatever is no letter and no digit")
def normalize(text):
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    return set_apart(plain, lambda c: not c.isalnum() and unicodedata.category(c)[0] != "M")


@wrong("3.5", "decompose it first, with NFD", "composed letters with accents dropped as not of ASCII")
def normalize(text):
    kept = "".join(c for c in text if unicodedata.normalize("NFD", c) == c)
    return set_apart(without_accents(kept).lower(), is_mark)


@right("3.5", "a table for str.translate")
def normalize(text):
    plain = unicodedata.normalize("NFD", str.lower(text))
    table = {ord(c): None for c in plain if unicodedata.category(c) == "Mn"}
    table |= {ord(c): f"\n{c}\n" for c in plain if unicodedata.category(c) in "Pc Pd Ps Pe Pi Pf Po"}
    table |= {ord(c): f"\n{c}\n" for c in string.punctuation}
    return plain.translate(table).split()


def figure(texts, vocabulary, sizes, price, legend=True):
    """Everything that is asked for, with a price of the words for a set of known pieces."""
    axes = plt.figure().add_subplot()
    for name, text in texts.items():
        axes.plot(sizes, [price(text, set(vocabulary[:size])) for size in sizes], label=name)
    axes.set(xlabel="V", ylabel="tokens per word")
    if legend:
        axes.legend()
    return axes


def honest(words, known, cut):
    """Tokens per word, an unknown word at its letters."""
    total = 0
    for word in words:
        tokens = cut([word], known)[0]
        total += len(word) if tokens == ["[UNK]"] else len(tokens)
    return total / len(words)


@wrong("3.6", "end with: return axes", "nothing returned")
def plot_prices(texts, vocabulary, sizes):
    plt.plot(sizes, sizes)


@wrong("3.6", "a line for each of texts", "one line")
def plot_prices(texts, vocabulary, sizes):
    return figure(dict([*texts.items()][:1]), vocabulary, sizes, lambda text, known: 2.0)


@wrong("3.6", "costs as many tokens as it has letters", "[UNK] counts as one token")
def plot_prices(texts, vocabulary, sizes):
    def price(text, known):
        words = normalize(text)
        return len(wordpiece(words, known)[0]) / len(words)

    return figure(texts, vocabulary, sizes, price)


@wrong("3.6", "costs as many tokens as it has letters", "unknown words left out")
def plot_prices(texts, vocabulary, sizes):
    def price(text, known):
        words = [word for word in normalize(text) if wordpiece([word], known)[0] != ["[UNK]"]]
        return len(wordpiece(words, known)[0]) / len(words)

    return figure(texts, vocabulary, sizes, price)


@wrong("3.6", "normalize the text first", "words between spaces, capitals and all")
def plot_prices(texts, vocabulary, sizes):
    return figure(texts, vocabulary, sizes, lambda text, known: honest(text.split(), known, wordpiece))


@wrong("3.6", "the first V lines of the vocabulary", "the whole vocabulary each time")
def plot_prices(texts, vocabulary, sizes):
    return figure(texts, vocabulary, sizes, lambda text, known: honest(normalize(text), set(vocabulary), wordpiece))


@wrong("3.6", "tokens divided by words", "words divided by tokens")
def plot_prices(texts, vocabulary, sizes):
    return figure(texts, vocabulary, sizes, lambda text, known: 1 / honest(normalize(text), known, wordpiece))


@wrong("3.6", "divide the number of tokens by the number of words", "not divided")
def plot_prices(texts, vocabulary, sizes):
    def price(text, known):
        words = normalize(text)
        return len(words) * honest(words, known, wordpiece)

    return figure(texts, vocabulary, sizes, price)


@wrong("3.6", "axes.legend()", "no legend")
def plot_prices(texts, vocabulary, sizes):
    price = lambda text, known: honest(normalize(text), known, wordpiece)  # noqa: E731
    return figure(texts, vocabulary, sizes, price, legend=False)


@right("3.6", "numpy, pyplot, bars of no interest")
def plot_prices(texts, vocabulary, sizes):
    plt.figure()
    for name in reversed(texts):
        words = normalize(texts[name])
        prices = []
        for size in sizes:
            tokens, numbers = wordpiece(words, frozenset(vocabulary[:size]))
            costs = np.array([len(words[n]) if token == "[UNK]" else 1 for token, n in zip(tokens, numbers)])
            prices.append(costs.sum() / len(words))
        plt.plot(np.array(sizes), np.array(prices), label=name)
    plt.xlabel("V")
    plt.ylabel("tokens per word")
    plt.legend()
    return plt.gca()


@right("3.6", "each word once, with its count")
def plot_prices(texts, vocabulary, sizes):
    def price(text, known):
        counts = Counter(normalize(text))
        return sum(honest([word], known, wordpiece) * n for word, n in counts.items()) / counts.total()

    return figure(texts, vocabulary, sizes, price)


@wrong("3.6", "its own language's name", "names in another order than the lines")
def plot_prices(texts, vocabulary, sizes):
    price = lambda text, known: honest(normalize(text), known, wordpiece)  # noqa: E731
    others = dict(zip(reversed(texts), texts.values()))
    return figure(others, vocabulary, sizes, price)


@wrong("3.6", "its own language's name", "a legend in alphabetical order")
def plot_prices(texts, vocabulary, sizes):
    price = lambda text, known: honest(normalize(text), known, wordpiece)  # noqa: E731
    axes = plt.figure().add_subplot()
    for text in texts.values():
        axes.plot(sizes, [price(text, set(vocabulary[:size])) for size in sizes])
    axes.set(xlabel="V", ylabel="tokens per word")
    axes.legend(sorted(texts))
    return axes


@wrong("3.6", "axes.plot(…, label=language)", "lines by number")
def plot_prices(texts, vocabulary, sizes):
    price = lambda text, known: honest(normalize(text), known, wordpiece)  # noqa: E731
    return figure({f"line {i}": text for i, text in enumerate(texts.values())}, vocabulary, sizes, price)


@wrong("3.6", "as normalize cuts them", "words between spaces below the line")
def plot_prices(texts, vocabulary, sizes):
    def price(text, known):
        words = normalize(text)
        return honest(words, known, wordpiece) * len(words) / len(text.split())

    return figure(texts, vocabulary, sizes, price)


@wrong("3.6", "as many tokens as it has letters", "an unknown word costs one token more than its letters")
def plot_prices(texts, vocabulary, sizes):
    def price(text, known):
        words = normalize(text)
        lost = sum(wordpiece([word], known)[0] == ["[UNK]"] for word in words)
        return honest(words, known, wordpiece) + lost / len(words)

    return figure(texts, vocabulary, sizes, price)


@wrong("3.6", "vocabulary[:V]", "a piece of the vocabulary too few")
def plot_prices(texts, vocabulary, sizes):
    axes = plt.figure().add_subplot()
    for name, text in texts.items():
        prices = [honest(normalize(text), set(vocabulary[: size - 100]), wordpiece) for size in sizes]
        axes.plot(sizes, prices, label=name)
    axes.set(xlabel="V", ylabel="tokens per word")
    axes.legend()
    return axes


@right("3.6", "one call for all lines, and their names in the legend")
def plot_prices(texts, vocabulary, sizes):
    axes = plt.figure().add_subplot()
    known = [set(vocabulary[:size]) for size in sizes]
    prices = np.array([[honest(normalize(text), some, wordpiece) for some in known] for text in texts.values()])
    axes.plot(sizes, prices.T)
    axes.set_xlabel("size")
    axes.set_ylabel("tokens per word")
    axes.legend(list(texts))
    return axes


@right("3.6", "names with the number of words")
def plot_prices(texts, vocabulary, sizes):
    price = lambda text, known: honest(normalize(text), known, wordpiece)  # noqa: E731
    axes = plt.figure().add_subplot()
    for name, text in texts.items():
        prices = [price(text, set(vocabulary[:size])) for size in sizes]
        axes.semilogx(sizes, prices, label=f"{name}: {len(normalize(text))} words")
    axes.set(xlabel="V", ylabel="tokens per word")
    axes.legend(title="language")
    return axes
