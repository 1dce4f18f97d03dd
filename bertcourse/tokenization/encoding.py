"""Chapter 3: what all tokenizers have in common; a text goes in, an ``Encoding`` comes out.

A tokenizer cuts a text into words and each word into pieces. Natural text repeats itself (Zipf's law), so the results
are remembered for each chunk of text between two spaces.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from bertcourse.tokenization.words import PlacedWord, check_text, decode_words, place_words

MOST_REMEMBERED, LONGEST_REMEMBERED = 1_000_000, 100  # chunks, characters


@dataclass(frozen=True)
class Encoding:
    """A tokenized text: four lists with one entry per token, named as in Hugging Face's ``tokenizers``.

    Attributes:
        ids: indices into the vocabulary.
        tokens: the tokens themselves.
        offsets: (start, end) in characters of the original text: ``text[start:end]`` is what a token stands for.
        word_ids: the index of the word that a token belongs to.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class Piece(NamedTuple):
    """A token in a word: its id, or None if it has none, and how many characters of the word it covers."""

    id: int | None
    length: int


class _Memory(dict):
    """A dictionary that computes missing values with ``answer``, and remembers those whose keys are short."""

    def __init__(self, answer: Callable[[str], object]):
        self.answer = answer

    def __missing__(self, chunk: str):
        value = self.answer(chunk)
        if len(chunk) <= LONGEST_REMEMBERED and len(self) < MOST_REMEMBERED:
            self[chunk] = value
        return value


class Tokenizer(ABC):
    """A vocabulary, and the way from a text to its ids and back, in the same steps as Hugging Face's ``tokenizers``.

    Args:
        tokens: the vocabulary, in order of id.
        special_tokens: those that stand for no text, such as [MASK]; found in a text before anything else, never cut.
        unknown_token: stands for what the vocabulary cannot spell; None if it can spell everything.
    """

    gap = 1  # characters between two chunks

    def __init__(self, tokens: Sequence[str], special_tokens: Sequence[str] = (), unknown_token: str | None = None):
        self.tokens = list(tokens)
        self.token_ids = {token: i for i, token in enumerate(self.tokens)}
        self.special_tokens = tuple(special_tokens)
        self.unknown_token = unknown_token
        self.unknown_id = None if unknown_token is None else self.token_ids[unknown_token]
        longest_first = map(re.escape, sorted(self.special_tokens, key=len, reverse=True))
        self._special_pattern = re.compile(f"({'|'.join(longest_first)})" if special_tokens else "(?!)")
        self._pieces = _Memory(self.segment)
        self._placed = _Memory(self._place_tokens)
        self._ids = _Memory(self._chunk_ids)

    @abstractmethod
    def segment(self, word: str) -> list[Piece]:
        """The pieces of a word, in order; together they cover it."""

    def words(self, text: str) -> list[PlacedWord]:
        """The words of a text without special tokens, with their places in it."""
        return place_words(text)

    def join(self, tokens: list[str]) -> str:
        """The text that tokens stand for."""
        return decode_words(tokens)

    def encode(self, text: str) -> Encoding:
        """Tokenize a text; nothing is added to it, as [CLS] and [SEP] are the model's business."""
        check_text(text)
        ids, offsets, word_ids = [], [], []
        position = num_words = 0
        for chunk in self._chunks(text):
            word = -1
            for token_id, start, end, word in self._placed[chunk]:
                ids.append(token_id)
                offsets.append((start + position, end + position))
                word_ids.append(word + num_words)
            num_words += word + 1
            position += len(chunk) + self.gap
        return Encoding(ids, [self.tokens[i] for i in ids], offsets, word_ids)

    def encode_ids(self, text: str) -> list[int]:
        """Only the ids of ``encode``, several times as fast."""
        check_text(text)
        return list(chain.from_iterable(map(self._ids.__getitem__, self._chunks(text))))

    def tokenize(self, text: str) -> list[str]:
        """Only the tokens of ``encode``."""
        return [self.tokens[i] for i in self.encode_ids(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a list of ids, as far as the tokens determine it."""
        if strange := [i for i in ids if not 0 <= i < len(self.tokens)]:
            raise ValueError(f"ids must be from 0 to {len(self.tokens) - 1}, the vocabulary's; got {strange[0]}.")
        return self.join([self.tokens[i] for i in ids])

    def _chunks(self, text: str) -> list[str]:
        """Cut a text between words, ``gap`` characters apart; a chunk has the same tokens wherever it occurs."""
        return [text] if any(" " in token for token in self.special_tokens) else text.split(" ")

    def _place_tokens(self, text: str) -> tuple[tuple[int, int, int, int], ...]:
        """The tokens of a chunk, each with its id, start, end, and the index of its word in the chunk."""
        placed, num_words, start = [], 0, 0
        for section in self._special_pattern.split(text):
            if section in self.special_tokens:
                cut = [(PlacedWord(section, [(0, len(section))]), [Piece(self.token_ids[section], 1)])]
            else:
                cut = [(word, self._pieces[word.text]) for word in self.words(section)]
            for word, pieces in cut:
                first, before = 0, len(placed)
                for token_id, length in pieces:
                    last = first + length - 1
                    if token_id is not None:
                        placed.append((token_id, start + word.spans[first][0], start + word.spans[last][1], num_words))
                    first = last + 1
                num_words += len(placed) > before
            start += len(section)
        return tuple(placed)

    def _chunk_ids(self, text: str) -> tuple[int, ...]:
        return tuple([token_id for token_id, *_ in self._place_tokens(text)])


def tokens_per_word(tokenizer: Tokenizer, word_counts: Mapping[str, int]) -> float:
    """How many tokens a word takes on average: its fertility (Rust et al. 2021, "How Good is Your Tokenizer?").

    Args:
        tokenizer: any of the chapter's.
        word_counts: how often each word occurs, the words as the tokenizer's trainer took them.
    """
    tokens = sum(len(tokenizer.segment(word)) * count for word, count in word_counts.items())
    return tokens / sum(word_counts.values())
