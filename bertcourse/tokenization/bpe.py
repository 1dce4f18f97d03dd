"""Chapter 3: byte-pair encoding.

Start with characters; merge the most frequent pair of neighbours into one symbol; repeat (Sennrich et al. 2016, "Neural
Machine Translation of Rare Words with Subword Units", algorithm 1). Each merge is

    argmax over pairs (a, b) of  Σ_w  frequency(w) · times that b follows a in w

``count_pairs``, ``merge_pair`` and the loop ``plain_train_bpe`` are the specification of training, ``apply_merges`` is
that of encoding. ``train_bpe`` and ``BPETokenizer`` do the same with the fast forms in ``bpe_fast``; tests check that
the results are equal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import tokenizers
from tokenizers import models

from bertcourse.tokenization import bpe_fast
from bertcourse.tokenization.encoding import Piece, PlacedWord, Tokenizer
from bertcourse.tokenization.input_checks import check_choice, check_merges, check_sizes, check_word_counts
from bertcourse.tokenization.words import MARKER, join_words, place_words, use_marker

LONG_WORD = 50  # in characters; up to this length the plain form is faster

Merge = tuple[str, str]


def count_pairs(spelling: Mapping[str, list[str]], word_counts: Mapping[str, int]) -> Counter[Merge]:
    """How often each pair of neighbours occurs, counting each word as often as it occurs.

    >>> count_pairs({"abab": ["a", "b", "a", "b"]}, {"abab": 2})
    Counter({('a', 'b'): 4, ('b', 'a'): 2})
    """
    counts: Counter[Merge] = Counter()
    for word, frequency in word_counts.items():
        for pair in pairwise(spelling[word]):
            counts[pair] += frequency
    return counts


def merge_pair(symbols: list[str], pair: Merge, merged: str) -> list[str]:
    """Replace each occurrence of a pair, from left to right, with one symbol.

    >>> merge_pair(["a", "a", "a", "b"], ("a", "a"), "aa")
    ['aa', 'a', 'b']
    """
    result, i = [], 0
    while i < len(symbols):
        found = tuple(symbols[i : i + 2]) == pair
        result.append(merged if found else symbols[i])
        i += 2 if found else 1
    return result


def plain_train_bpe(word_counts: Mapping[str, int], num_merges: int, tie: Literal["id", "first"] = "id") -> list[Merge]:
    """Byte-pair encoding as it is defined: count all pairs, merge the most frequent one, start over.

    The result is the same as that of ``train_bpe``, but the time grows with merges × corpus.

    Args:
        word_counts, num_merges, tie: as for ``train_bpe``.
    """
    check_choice("tie", tie, ["id", "first"])
    word_counts = dict(Counter(check_word_counts(word_counts)).most_common())  # equal counts keep their order
    spelling = {word: list(word) for word in word_counts}
    ids = {character: i for i, character in enumerate(sorted(set("".join(word_counts))))}
    merges: list[Merge] = []
    for _ in range(num_merges):
        counts = count_pairs(spelling, word_counts)
        if not counts:
            break
        if tie == "first":
            pair = max(counts, key=counts.get)  # among equals, the first to be inserted
        else:
            pair = max(counts, key=lambda pair: (counts[pair], -ids[pair[0]], -ids[pair[1]]))
        merges.append(pair)
        ids.setdefault("".join(pair), len(ids))
        spelling = {word: merge_pair(symbols, pair, "".join(pair)) for word, symbols in spelling.items()}
    return merges


def apply_merges(symbols: list[str], ranks: Mapping[Merge, int]) -> list[str]:
    """Merge the pair learned first, at its leftmost place, until none is left (Sennrich et al. 2016, section 3.2).

    Args:
        symbols: the characters of a word.
        ranks: the place of each pair in the order of merges.

    >>> apply_merges(list("abab"), {("a", "b"): 0, ("ab", "ab"): 1})
    ['abab']
    """
    symbols, none = list(symbols), len(ranks)
    while len(symbols) > 1:
        rank, i = min((ranks.get(pair, none), i) for i, pair in enumerate(pairwise(symbols)))
        if rank == none:
            break
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols


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
    """Learn the merges of byte-pair encoding, with ``bpe_fast`` or, if tie="first", with ``plain_train_bpe``.

    Args:
        word_counts: how often each word occurs; merges do not cross words.
        num_merges: how many merges to learn, if the corpus has that many; None for as many as ``vocab_size`` allows.
        tie: which of equally frequent pairs comes first. "id": the one with the smallest ids, where special tokens come
            first, then characters by code point, then merged tokens in the order learned; this is the rule of Hugging
            Face's BpeTrainer. "first": the one met first when words are read by descending frequency; this runs the
            plain loop, for examples worked out by hand.
        vocab_size: the most tokens to have, including special tokens and single characters.
        min_frequency: how often a pair must occur to be merged.
        special_tokens: they get the first ids.
        prefix: put before the characters inside a word: "##" makes the tokens of WordPiece, "" those of BPE.

    Returns:
        The merges in order, as pairs of tokens.

    >>> train_bpe({"aaabdaaabac": 1}, 3)
    [('a', 'a'), ('a', 'b'), ('aa', 'ab')]
    """
    word_counts = check_word_counts(word_counts)
    tokens, words = bpe_fast.spell(word_counts, special_tokens, prefix)
    vocab_size, num_merges = check_sizes(vocab_size, tokens, num_merges, min_frequency)
    check_choice("tie", tie, ["id", "first"])
    if tie == "first":
        if prefix or min_frequency > 1:
            raise ValueError('tie="first" is the plain loop, without prefix and min_frequency; use tie="id".')
        return plain_train_bpe(word_counts, min(num_merges, vocab_size - len(tokens)), tie)
    pairs = bpe_fast.PairCounts(words, list(word_counts.values()))
    return bpe_fast.learn_merges(tokens, pairs, num_merges, vocab_size, max(min_frequency, 1), prefix)


class BPETokenizer(Tokenizer):
    """Applies the merges of byte-pair encoding, in the order in which they were learned, to the words of a text.

    Args:
        merges: as ``train_bpe`` returns them.
        alphabet: characters that the vocabulary has besides those in ``merges``.
        special_tokens: they get the first ids; the unknown token is one of them.
        unknown_token: stands for a character that is not in the vocabulary; None leaves such characters out.
        marker: put before each word; see ``mark_words``.
        mark_first: whether the first word gets one, too.

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

    def words(self, text: str) -> list[PlacedWord]:
        """The words between white space, with their markers."""
        return place_words(text, self.marker, self.mark_first)

    def chunks(self, text: str) -> list[str]:
        """The text cut at spaces; left whole if the first word, unlike the others, gets no marker."""
        return super().chunks(text) if self.mark_first else [text]

    def segment(self, word: str) -> list[Piece]:
        """The pieces of a word that is given with its marker, by ``apply_merges``."""
        read = apply_merges if len(word) <= LONG_WORD else bpe_fast.apply_merges_to_long_word
        symbols = read(list(word), self.ranks)
        return [Piece(self.token_ids.get(symbol, self.unknown_id), len(symbol)) for symbol in symbols]

    def join(self, tokens: list[str]) -> str:
        """The words, with a space for each marker."""
        return join_words(tokens, self.marker).removeprefix(" " if self.mark_first else "")

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer in ``tokenizers``, with the same ids, tokens and words.

        Offsets are the same too, except for a marker that is a token by itself and not in the text: here it has no
        length, there it has the offsets of the word's first character.
        """
        if not self.mark_first:
            raise ValueError("tokenizers marks every word; to save, train with mark_first=True.")
        twin = tokenizers.Tokenizer(models.BPE(self.token_ids, self.merges, unk_token=self.unknown_token))
        twin.add_special_tokens(list(self.special_tokens))
        use_marker(twin, self.marker)
        return twin


def bpe_vocabulary(
    merges: Sequence[Merge], alphabet: Iterable[str] = "", special_tokens: Sequence[str] = ()
) -> list[str]:
    """The tokens in order of id: special tokens, characters by code point, merged tokens in the order learned.

    >>> bpe_vocabulary([("a", "b"), ("ab", "c")], special_tokens=["[UNK]"])
    ['[UNK]', 'a', 'b', 'c', 'ab', 'abc']
    """
    check_merges(merges)
    characters = {token for merge in merges for token in merge if len(token) == 1} | set(alphabet)
    tokens = dict.fromkeys([*special_tokens, *sorted(characters)])
    for i, (left, right) in enumerate(merges):
        if missing := [token for token in (left, right) if token not in tokens]:
            raise ValueError(f"merge {i}, {left!r} + {right!r}, needs {missing[0]!r}, which no merge before it makes.")
        tokens[left + right] = None
    return list(tokens)
