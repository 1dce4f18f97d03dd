"""Chapter 3: byte-pair encoding.

Start with characters; merge the most frequent pair of neighbours into one symbol; repeat (Sennrich et al. 2016, "Neural
Machine Translation of Rare Words with Subword Units", algorithm 1). Each merge is

    argmax over pairs (a, b) of  Σ_w  frequency(w) · times that b follows a in w
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from bertcourse.tokenization import bpe_fast
from bertcourse.tokenization.encoding import Piece, Tokenizer

LONG_WORD = 50  # in characters; up to this length the definition is the faster form

Merge = tuple[str, str]


def count_pairs(splits: Mapping[str, list[str]], word_counts: Mapping[str, int]) -> Counter[Merge]:
    """How often each pair of neighbours occurs, counting each word as often as it occurs.

    >>> count_pairs({"abab": ["a", "b", "a", "b"]}, {"abab": 2})
    Counter({('a', 'b'): 4, ('b', 'a'): 2})
    """
    counts = Counter()
    for word, frequency in word_counts.items():
        for pair in pairwise(splits[word]):
            counts[pair] += frequency
    return counts


def merge(symbols: list[str], pair: Merge) -> list[str]:
    """Make one symbol of each occurrence of a pair, from left to right.

    >>> merge(["a", "a", "a", "b"], ("a", "a"))
    ['aa', 'a', 'b']
    """
    merged, i = [], 0
    while i < len(symbols):
        fits = tuple(symbols[i : i + 2]) == pair
        merged.append("".join(pair) if fits else symbols[i])
        i += 2 if fits else 1
    return merged


def learn_merges(word_counts: Mapping[str, int], num_merges: int) -> list[Merge]:
    """Count all pairs, merge the most frequent one, start over; merges do not cross words.

    Of equally frequent pairs the one whose symbols have the smallest ids comes first: the vocabulary has the characters
    by code point, then the merged symbols as they are made. This is the rule of Hugging Face's BpeTrainer.

    >>> learn_merges({"aaabdaaabac": 1}, 3)
    [('a', 'a'), ('a', 'b'), ('aa', 'ab')]
    """
    splits = {word: list(word) for word in word_counts}
    ids = {letter: i for i, letter in enumerate(sorted(set("".join(word_counts))))}
    merges = []
    while len(merges) < num_merges and (counts := count_pairs(splits, word_counts)):
        most = max(counts.values())
        tied = [pair for pair in counts if counts[pair] == most]
        pair = min(tied, key=lambda pair: [ids[symbol] for symbol in pair])
        merges.append(pair)
        ids.setdefault("".join(pair), len(ids))
        splits = {word: merge(splits[word], pair) for word in splits}
    return merges


def apply_merges(symbols: list[str], ranks: Mapping[Merge, int]) -> list[str]:
    """Merge the pair learned first, at its leftmost place, until none is left (Sennrich et al. 2016, section 3.2).

    >>> apply_merges(list("abab"), {("a", "b"): 0, ("ab", "ab"): 1})
    ['abab']
    """
    while learned := [(ranks[pair], i) for i, pair in enumerate(pairwise(symbols)) if pair in ranks]:
        _, i = min(learned)
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]
    return symbols


class BPETokenizer(Tokenizer):
    """Applies merges, in the order in which they were learned, to the words of a text.

    Args:
        merges: as ``train_bpe`` returns them.
        alphabet: characters that the vocabulary has besides those in ``merges``.
        special_tokens: they get the first ids; the unknown token is one of them.
        unknown_token: stands for a character that is not in the vocabulary; None leaves such characters out.

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
    ):
        self.merges = [tuple(pair) for pair in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        letters = {token for pair in self.merges for token in pair if len(token) == 1} | set(alphabet)
        tokens = dict.fromkeys([*special_tokens, *sorted(letters), *map("".join, self.merges)])
        super().__init__(list(tokens), special_tokens, unknown_token)

    def segment(self, word: str) -> list[Piece]:
        """The pieces of a word that is given with its marker."""
        read = apply_merges if len(word) <= LONG_WORD else bpe_fast.apply_merges_to_long_word
        return [Piece(self.token_ids.get(token, self.unknown_id), len(token)) for token in read([*word], self.ranks)]
