"""Chapter 3: byte-pair encoding.

Start with characters; merge the most frequent pair of neighbours into one symbol; repeat (Sennrich et al. 2016, "Neural
Machine Translation of Rare Words with Subword Units", algorithm 1). ``train_bpe_plainly`` is that sentence as a loop
that counts all pairs anew for each merge; ``train_bpe`` finds the same merges by keeping the counts up to date.
``BPETokenizer`` applies merges to text.
"""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Literal

import tokenizers
from tokenizers import decoders, models, pre_tokenizers
from tqdm import tqdm

from bertcourse.tokenization.encoding import (
    Piece,
    Tokenizer,
    Word,
    check_choice,
    check_mapping,
    check_number,
    check_text,
    check_texts,
)

MARKER = "▁"  # U+2581, in next to no text; the underscore of textbooks is in many
WORD = re.compile(r"[\S\x1c-\x1f]+")  # Python counts the four separators as white space, Unicode does not
LONG_WORD = 50

Merge = tuple[str, str]


def mark_words(text: str, marker: str = MARKER, mark_first: bool = True) -> list[str]:
    """The words between white space, each with a marker where the space was.

    Args:
        text: any text.
        marker: put before each word, so that a token knows whether it begins one. A word that begins with it in the
            text gets no second, as with Hugging Face.
        mark_first: whether the first word has one, too.

    Raises:
        TypeError: if ``text`` is not a str.
        ValueError: if it holds a lone surrogate.

    Source: Kudo & Richardson 2018, "SentencePiece", section 3.

    >>> mark_words("set new  new")
    ['▁set', '▁new', '▁new']
    >>> mark_words("set new", marker="_", mark_first=False)
    ['set', '_new']
    """
    check_text(text)
    return [mark_of(word, marker, mark_first or i > 0) + word for i, word in enumerate(WORD.findall(text))]


def mark_of(word: str, marker: str, wanted: bool) -> str:
    """The marker to put before a word, if one is wanted and the word does not begin with it: else nothing."""
    return marker if wanted and not word.startswith(marker) else ""


def place_words(text: str, marker: str = MARKER, mark_first: bool = True) -> list[Word]:
    """``mark_words`` with the place of each character; a marker has no length and stands where its word begins."""
    words = []
    for i, found in enumerate(WORD.finditer(text)):
        mark = mark_of(found.group(), marker, mark_first or i > 0)
        spans = [(found.start(), found.start())] * len(mark)
        spans += [(place, place + 1) for place in range(found.start(), found.end())]
        words.append(Word(mark + found.group(), spans))
    return words


def count_words(texts: Iterable[str], split: Callable[[str], Iterable[str]] = mark_words) -> Counter[str]:
    """How often each word occurs: what all trainers start from.

    Chunks between spaces are counted first, so that ``split`` sees each only once.

    Args:
        texts: any texts.
        split: text to words; must not look beyond spaces. ``mark_words`` for BPE and Unigram, ``normalized_words`` for
            WordPiece.

    Returns:
        Word to count, in the order in which words are met.

    Raises:
        TypeError, ValueError: as ``check_texts``.

    Source: Sennrich et al. 2016, section 3.2, where the merges are learned from the words and their frequencies.

    >>> count_words(["set new new", "renew"])
    Counter({'▁new': 2, '▁set': 1, '▁renew': 1})
    """
    chunks: Counter[str] = Counter()
    for text in check_texts(texts):
        chunks.update(text.split(" "))
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in split(chunk):
            words[word] += count
    return words


def train_bpe_plainly(
    word_counts: Mapping[str, int], num_merges: int, tie: Literal["id", "first"] = "id"
) -> list[Merge]:
    """Byte-pair encoding as it is defined: count all pairs, merge the most frequent, start again.

    The result is that of ``train_bpe``; the time grows with merges × corpus.

    Args:
        word_counts, num_merges, tie: as for ``train_bpe``.

    Raises:
        TypeError, ValueError: as ``train_bpe``.

    Source: Sennrich et al. 2016, algorithm 1.
    """
    word_counts = check_word_counts(word_counts)
    check_sizes(num_merges, None, ())
    check_choice("tie", tie, ["id", "first"])
    words = [list(word) for word, _ in Counter(word_counts).most_common()]  # a stable sort: equal counts stay in order
    frequencies = sorted(word_counts.values(), reverse=True)
    ids = {character: i for i, character in enumerate(sorted(set("".join(word_counts))))}
    merges: list[Merge] = []
    for _ in range(num_merges):
        counts: Counter[Merge] = Counter()
        for symbols, frequency in zip(words, frequencies):
            for pair in pairwise(symbols):
                counts[pair] += frequency
        if not counts:
            break
        if tie == "first":
            best = max(counts, key=counts.get)  # of equals, the first that was put in
        else:
            best = max(counts, key=lambda pair: (counts[pair], -ids[pair[0]], -ids[pair[1]]))
        merges.append(best)
        ids.setdefault("".join(best), len(ids))
        words = [merge_pair(symbols, best, "".join(best)) for symbols in words]
    return merges


def merge_pair(symbols: list[str], pair: Merge, merged: str) -> list[str]:
    """Replace each occurrence of a pair, from the left, by one symbol.

    >>> merge_pair(["a", "a", "a", "b"], ("a", "a"), "aa")
    ['aa', 'a', 'b']
    """
    result, i = [], 0
    while i < len(symbols):
        found = tuple(symbols[i : i + 2]) == pair
        result.append(merged if found else symbols[i])
        i += 2 if found else 1
    return result


def train_bpe(
    word_counts: Mapping[str, int],
    num_merges: int | None = None,
    tie: Literal["id", "first"] = "id",
    *,
    vocab_size: int | None = None,
    min_frequency: int = 1,
    special_tokens: Sequence[str] = (),
    prefix: str = "",
) -> list[Merge]:
    """Learn the merges of byte-pair encoding.

    Args:
        word_counts: word to how often it occurs; merges do not cross words.
        num_merges: how many merges to learn, if there are so many; None for as many as ``vocab_size`` allows.
        tie: which of equally frequent pairs comes first. "id": the one of smallest ids, special tokens counted
            first, then the characters by code point, then merged tokens as they come; this is Hugging Face's rule.
            "first": the one met first in the words by descending frequency; for examples worked out by hand, as it
            takes the plain loop.
        vocab_size: how many tokens to have at most, special tokens and single characters among them.
        min_frequency: how often a pair must occur to be merged.
        special_tokens: the first ids are theirs.
        prefix: what the characters inside a word begin with: "##" makes the tokens of WordPiece, "" those of BPE.

    Returns:
        The merges in order, as pairs of tokens.

    Raises:
        TypeError: if a word is not a str, or a count or size is not a whole number.
        ValueError: if there are no words, a count is below 1, neither size is given, or one is too small, or ``tie`` is
            neither.

    Source: Sennrich et al. 2016; ties as in Hugging Face's BpeTrainer.

    >>> train_bpe({"aaabdaaabac": 1}, 3)
    [('a', 'a'), ('a', 'b'), ('aa', 'ab')]
    """
    word_counts = check_word_counts(word_counts)
    tokens, words = spell(word_counts, special_tokens, prefix)
    num_merges, vocab_size = check_sizes(num_merges, vocab_size, tokens, min_frequency)
    check_choice("tie", tie, ["id", "first"])
    if tie == "first":
        if prefix or min_frequency > 1:
            raise ValueError(
                'tie="first" is the plain loop, which knows neither prefix nor min_frequency; use tie="id".'
            )
        return train_bpe_plainly(word_counts, min(num_merges, vocab_size - len(tokens)), tie)

    ids = {token: i for i, token in enumerate(tokens)}
    pairs = PairCounts(words, list(word_counts.values()))
    queue = [(-count, pair) for pair, count in pairs.counts.items()]
    heapq.heapify(queue)
    merges: list[Merge] = []
    progress = tqdm(total=min(num_merges, vocab_size - len(tokens)), desc="BPE", unit=" merges", disable=None)
    while queue and len(merges) < num_merges and len(tokens) < vocab_size:
        negative_count, pair = queue[0]
        count = pairs.counts[pair]
        if count != -negative_count:  # it has become rarer since it was put in: back into the queue
            heapq.heapreplace(queue, (-count, pair))
            continue
        if count < max(min_frequency, 1):
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


def spell(
    word_counts: Mapping[str, int], special_tokens: Sequence[str], prefix: str = ""
) -> tuple[list[str], list[str]]:
    """The vocabulary before the first merge, and the words in its symbols.

    A word becomes a str of symbols, and symbol number i is written as the character chr(i). So a pair of symbols is
    a str of length two, finding it is ``str.split``, merging it ``str.join``, and comparing pairs compares ids.

    Args:
        word_counts, special_tokens, prefix: as for ``train_bpe``, and checked.

    Returns:
        ``(tokens, words)``: special tokens and characters in order of id; the words, a symbol a character.

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
        words: as ``spell`` writes them, a character a symbol.
        frequencies: how often each of them occurs.
    """

    def __init__(self, words: list[str], frequencies: list[int]):
        self.words = words
        self.frequencies = frequencies
        self.counts: dict[str, int] = defaultdict(int)
        self.where: dict[str, list[int]] = defaultdict(list)  # the words a pair has been in; it may have left some
        self.symbol_counts: Counter[str] = Counter()
        self.num_symbols = sum(len(word) * frequency for word, frequency in zip(words, frequencies))
        for i, (word, frequency) in enumerate(zip(words, frequencies)):
            for pair in map(str.__add__, word, word[1:]):
                self.counts[pair] += frequency
                self.where[pair].append(i)
            for symbol in word:
                self.symbol_counts[symbol] += frequency

    def merge(self, pair: str, merged: str) -> list[str]:
        """Make one symbol of a pair, wherever it occurs.

        In x·a·b·y, merging ab takes away the pairs xa and by and brings x(ab) and (ab)y; nothing else changes.

        Args:
            pair: two symbols.
            merged: the symbol to put in their place.

        Returns:
            The pairs that have become more frequent.
        """
        left, right = pair
        before, after = defaultdict(list), defaultdict(list)  # neighbour of the pair: words where it is one
        twice = []  # words where the pair follows itself, once for each time
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


class BPETokenizer(Tokenizer):
    """Applies the merges of byte-pair encoding, in the order in which they were learned, to the words of a text.

    Args:
        merges: as ``train_bpe`` returns them.
        alphabet: characters that the vocabulary has besides those in ``merges``.
        special_tokens: the first ids are theirs; the unknown token is one of them.
        unknown_token: what a character becomes that is not in the vocabulary; None leaves it out.
        marker: stands before each word; see ``mark_words``.
        mark_first: whether before the first one, too.

    Raises:
        TypeError: if ``merges`` is not a list of pairs of str.
        ValueError: if a merge needs a token that no earlier one makes, the unknown token is not special, or a token
            is one that ``check_tokens`` refuses.

    Source: Sennrich et al. 2016; ids as Hugging Face's BpeTrainer gives them.

    >>> tokenizer = BPETokenizer([("▁", "l"), ("▁l", "o"), ("▁lo", "w")], alphabet="er")
    >>> tokenizer.encode("low lower").tokens
    ['▁low', '▁low', 'e', 'r']
    """

    def __init__(
        self,
        merges: Sequence[Merge],
        alphabet: Iterable[str] = "",
        special_tokens: Sequence[str] = ("[UNK]",),
        unknown_token: str | None = "[UNK]",
        marker: str = MARKER,
        mark_first: bool = True,
    ):
        super().__init__(bpe_vocabulary(merges, alphabet, special_tokens), special_tokens, unknown_token)
        self.merges = [tuple(pair) for pair in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.marker = marker
        self.mark_first = mark_first

    def words(self, text: str) -> list[Word]:
        """The words between white space, with their markers."""
        return place_words(text, self.marker, self.mark_first)

    def chunks(self, text: str) -> list[str]:
        """The text between spaces; all of it where the first word is another than the rest."""
        return super().chunks(text) if self.mark_first else [text]

    def segment(self, word: str) -> list[Piece]:
        """Merge the pair learned first until no pair of neighbours is a merge.

        Args:
            word: with its marker.

        Returns:
            Its pieces.
        """
        merge = merge_all_of_long if len(word) > LONG_WORD else merge_all
        symbols = merge(list(word), self.ranks)
        return [Piece(self.token_ids.get(symbol, self.unknown_id), len(symbol)) for symbol in symbols]

    def join(self, tokens: list[str]) -> str:
        """The words with a space for each marker."""
        return spaces_for_markers(tokens, self.marker).removeprefix(" " if self.mark_first else "")

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer in ``tokenizers``.

        Ids, tokens and words are the same. Offsets are the same but those of a marker that is a token by itself and is
        not in the text: it has no length here, there it has the place of the word's first character.

        Raises:
            ValueError: if the first word has no marker, or the marker is not one character: it cannot be told such.
        """
        if not self.mark_first:
            raise ValueError("tokenizers marks every word or splits otherwise; to save, train with mark_first=True.")
        twin = tokenizers.Tokenizer(models.BPE(self.token_ids, self.merges, unk_token=self.unknown_token))
        twin.add_special_tokens(list(self.special_tokens))
        use_marker(twin, self.marker)
        return twin


def spaces_for_markers(tokens: Sequence[str], marker: str) -> str:
    """The text of tokens, a space for each marker, also for one that the text had; without one, words run together."""
    return "".join(tokens).replace(marker, " ") if marker else "".join(tokens)


def use_marker(twin: tokenizers.Tokenizer, marker: str) -> None:
    """Have a tokenizer of ``tokenizers`` split at white space and mark every word, as ``place_words`` does.

    Raises:
        ValueError: if the marker is not one character.
    """
    if len(marker) != 1:
        raise ValueError(f"tokenizers marks words with one character; got marker={marker!r}. To save, train with one.")
    twin.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(marker, prepend_scheme="always", split=False)]
    )
    twin.decoder = decoders.Metaspace(marker, prepend_scheme="always")


def merge_all(symbols: list[str], ranks: Mapping[Merge, int]) -> list[str]:
    """Merge the pair learned first, the leftmost of equals, until none is left.

    Args:
        symbols: the characters of a word.
        ranks: pair to its place in the order of merges.

    Returns:
        The symbols that remain.

    Source: Sennrich et al. 2016, section 3.2.

    >>> merge_all(list("abab"), {("a", "b"): 0, ("ab", "ab"): 1})
    ['abab']
    """
    none = len(ranks)
    while len(symbols) > 1:
        rank, i = min((ranks.get(pair, none), i) for i, pair in enumerate(pairwise(symbols)))
        if rank == none:
            break
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols


def merge_all_of_long(symbols: list[str], ranks: Mapping[Merge, int]) -> list[str]:
    """``merge_all`` for words of any length: candidates wait in a queue, symbols are linked to their neighbours."""
    after = [*range(1, len(symbols) + 1)]
    before = [*range(-1, len(symbols) - 1)]
    queue = [(ranks[pair], i, pair) for i, pair in enumerate(pairwise(symbols)) if pair in ranks]
    heapq.heapify(queue)
    while queue:
        _, i, pair = heapq.heappop(queue)
        j = after[i]
        if j == len(symbols) or (symbols[i], symbols[j]) != pair:  # one of the two has been merged with another
            continue
        symbols[i], symbols[j] = "".join(pair), ""
        after[i] = k = after[j]
        if k < len(symbols):
            before[k] = i
        for first, second in ((before[i], i), (i, k)):
            if first >= 0 and second < len(symbols) and (new := (symbols[first], symbols[second])) in ranks:
                heapq.heappush(queue, (ranks[new], first, new))
    return [symbol for symbol in symbols if symbol]


def bpe_vocabulary(
    merges: Sequence[Merge], alphabet: Iterable[str] = "", special_tokens: Sequence[str] = ()
) -> list[str]:
    """The tokens in order of id: special tokens, characters by code point, merged tokens as they come.

    Args:
        merges, alphabet, special_tokens: as for ``BPETokenizer``.

    Returns:
        The vocabulary.

    Raises:
        TypeError: if ``merges`` is not a list of pairs of str.
        ValueError: if a merge needs a token that no earlier one makes.

    >>> bpe_vocabulary([("a", "b"), ("ab", "c")], special_tokens=["[UNK]"])
    ['[UNK]', 'a', 'b', 'c', 'ab', 'abc']
    """
    if not isinstance(merges, Sequence):
        raise TypeError(f"merges must be pairs of tokens, as train_bpe returns them; got {type(merges).__name__}.")
    for merge in merges:
        if (
            not isinstance(merge, (tuple, list))
            or len(merge) != 2
            or not all(isinstance(token, str) for token in merge)
        ):
            raise TypeError(f"merges must be pairs of tokens, as train_bpe returns them; got {merge!r}.")
    characters = {token for merge in merges for token in merge if len(token) == 1} | set(alphabet)
    tokens = dict.fromkeys([*special_tokens, *sorted(characters)])
    for i, (left, right) in enumerate(merges):
        if missing := [token for token in (left, right) if token not in tokens]:
            raise ValueError(f"merge {i}, {left!r} + {right!r}, needs {missing[0]!r}, which no merge before it makes.")
        tokens[left + right] = None
    return list(tokens)


def check_word_counts(word_counts: Mapping[str, int]) -> dict[str, int]:
    """Refuse a corpus that nothing can be learned from.

    Returns:
        The same words with the counts as Python's int, whose sums do not overflow as NumPy's do.

    Raises:
        TypeError: if it is not a mapping of str to whole numbers.
        ValueError: if there are no words, a word is empty or no text, or a count is below 1.
    """
    check_mapping("word_counts", word_counts, "words to counts, as count_words(texts) does")
    if not word_counts:
        raise ValueError("the corpus must have at least one word; got none. Was the file empty?")
    for word, count in word_counts.items():
        if not isinstance(word, str) or not isinstance(count, Integral):
            raise TypeError(f"word_counts must map str to int; got {word!r}: {count!r}.")
        if not word or count < 1:
            raise ValueError(f"a word must have a character and occur at least once; got {word!r} with count {count}.")
    check_text("".join(word_counts))
    return {word: int(count) for word, count in word_counts.items()}


def check_sizes(
    num_merges: int | None, vocab_size: int | None, alphabet: Sequence[str], min_frequency: int = 1
) -> tuple[int, int]:
    """Refuse sizes that cannot be; a size of None is as large as can be.

    Raises:
        TypeError: if one is not a whole number.
        ValueError: if both sizes are None, ``num_merges`` or ``min_frequency`` is negative, or ``vocab_size`` is
            below the alphabet.
    """
    if num_merges is None and vocab_size is None:
        raise ValueError("give num_merges or vocab_size: how far to go.")
    limit = 0x10FFFF  # a symbol is written as one character
    num_merges, vocab_size = (limit if size is None else size for size in (num_merges, vocab_size))
    for name, size in (("num_merges", num_merges), ("vocab_size", vocab_size), ("min_frequency", min_frequency)):
        check_number(name, size, least=0)
    if vocab_size < len(alphabet):
        raise ValueError(
            f"vocab_size must have room for the {len(alphabet)} special tokens and single characters that every "
            f"word is "
            f"spelled with; got {vocab_size}."
        )
    return num_merges, min(limit, vocab_size)
