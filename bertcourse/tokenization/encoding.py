"""Chapter 3: what all tokenizers have in common; a text goes in, an ``Encoding`` comes out.

A tokenizer cuts a text into words and each word into tokens. Only the second step, and what counts as a word, differ
between BPE, WordPiece and Unigram. Natural text repeats itself, so a tokenizer remembers its result for each chunk of
text between two spaces: Zipf's law is why that is fast.
"""

import json
import operator
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import tokenizers

from bertcourse.files import replace_files
from bertcourse.tokenization.input_checks import check_text, check_tokens

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


class PlacedWord(NamedTuple):
    """A word as a tokenizer sees it, and where it comes from.

    Attributes:
        text: its characters, normalized.
        spans: for each character, (start, end) of what it stands for in the original text; a marker that stands for
            nothing there has start = end.
    """

    text: str
    spans: list[tuple[int, int]]


class Piece(NamedTuple):
    """A token in a word.

    Attributes:
        id: its index in the vocabulary; None if it has none and there is no unknown token.
        length: how many characters of the word it covers.
    """

    id: int | None
    length: int


PlacedToken = tuple[int, int, int, int]  # id; start and end in the chunk; index of its word in the chunk


class Memory(dict):
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

    A subclass says what the words of a chunk are (``words``) and how a word is cut (``segment``).

    Args:
        tokens: the vocabulary, in order of id.
        special_tokens: those that stand for no text, such as [MASK]; found in a text before anything else, never cut.
        unknown_token: stands for what the vocabulary cannot spell; None if it can spell everything.
    """

    gap = 1  # characters between two chunks

    def __init__(self, tokens: Sequence[str], special_tokens: Sequence[str] = (), unknown_token: str | None = None):
        check_tokens(tokens, [*special_tokens, *([unknown_token] if unknown_token is not None else [])])
        self.tokens = list(tokens)
        self.token_ids = {token: i for i, token in enumerate(self.tokens)}
        self.special_tokens = tuple(special_tokens)
        self.unknown_token = unknown_token
        self.unknown_id = None if unknown_token is None else self.token_ids[unknown_token]
        self.spaces_part_words = not any(" " in token for token in self.special_tokens)
        longest_first = sorted(self.special_tokens, key=len, reverse=True)
        self.special_pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None
        self.remembered_pieces = Memory(self.segment)
        self.remembered_tokens = Memory(self.place_tokens)
        self.remembered_ids = Memory(self.chunk_ids)

    @abstractmethod
    def words(self, text: str) -> list[PlacedWord]:
        """The words of a text without special tokens, with their places in it."""

    @abstractmethod
    def segment(self, word: str) -> list[Piece]:
        """The pieces of a word, in order; together they cover it."""

    @abstractmethod
    def join(self, tokens: list[str]) -> str:
        """The text that tokens stand for."""

    @abstractmethod
    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer as an object of Hugging Face's ``tokenizers``, which the course's models work with."""

    def encode(self, text: str) -> Encoding:
        """Tokenize a text; nothing is added to it, as [CLS] and [SEP] are the model's business."""
        check_text(text)
        return self.put_together(text, self.remembered_tokens.__getitem__)

    def encode_ids(self, text: str) -> list[int]:
        """Only the ids of ``encode``, several times as fast."""
        check_text(text)
        return list(chain.from_iterable(map(self.remembered_ids.__getitem__, self.chunks(text))))

    def tokenize(self, text: str) -> list[str]:
        """Only the tokens of ``encode``."""
        return [self.tokens[i] for i in self.encode_ids(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a list of ids, as far as the tokens determine it."""
        try:
            ids = [operator.index(i) for i in ids]
        except TypeError:
            raise TypeError(f"ids must be a list of int, as encode_ids gives it; got {ids!r:.60}.") from None
        for i in ids:
            if not 0 <= i < len(self.tokens):
                raise ValueError(f"ids must be from 0 to {len(self.tokens) - 1}, the vocabulary's; got {i}.")
        return self.join([self.tokens[i] for i in ids])

    def put_together(self, text: str, place_tokens: Callable[[str], tuple[PlacedToken, ...]]) -> Encoding:
        """The encoding of a text, put together from the tokens of its chunks."""
        ids, offsets, word_ids = [], [], []
        position = num_words = 0
        for chunk in self.chunks(text):
            word = -1
            for token_id, start, end, word in place_tokens(chunk):
                ids.append(token_id)
                offsets.append((start + position, end + position))
                word_ids.append(word + num_words)
            num_words += word + 1
            position += len(chunk) + self.gap
        return Encoding(ids, [self.tokens[i] for i in ids], offsets, word_ids)

    def chunks(self, text: str) -> list[str]:
        """Cut a text between words, ``gap`` characters apart; a chunk has the same tokens wherever it occurs."""
        return text.split(" ") if self.spaces_part_words else [text]

    def place_tokens(self, text: str, segment: Callable[[str], list[Piece]] | None = None) -> tuple[PlacedToken, ...]:
        """Compute the tokens of a chunk; ``segment``, if given, replaces the tokenizer's own way of cutting words."""
        segment, placed, num_words = segment or self.remembered_pieces.__getitem__, [], 0
        for section, start in self.sections(text):
            if section in self.special_tokens:
                cut = [(PlacedWord(section, [(0, len(section))]), [Piece(self.token_ids[section], 1)])]
            else:
                cut = [(word, segment(word.text)) for word in self.words(section)]
            for word, pieces in cut:
                first, before = 0, len(placed)
                for token_id, length in pieces:
                    last = first + length - 1
                    if token_id is not None:
                        placed.append((token_id, start + word.spans[first][0], start + word.spans[last][1], num_words))
                    first = last + 1
                num_words += len(placed) > before
        return tuple(placed)

    def chunk_ids(self, text: str) -> tuple[int, ...]:
        """Compute the ids of a chunk."""
        return tuple([token_id for token_id, *_ in self.place_tokens(text)])

    def sections(self, text: str) -> list[tuple[str, int]]:
        """Split at special tokens: each special token and each text between two, with its start."""
        if self.special_pattern is None:
            return [(text, 0)]
        sections, start = [], 0
        for section in self.special_pattern.split(text):
            sections.append((section, start))
            start += len(section)
        return sections

    def save(self, folder: str | os.PathLike) -> None:
        """Write tokenizer.json and tokenizer_config.json, which ``tokenizers`` and ``transformers`` load.

        The folder is created if need be; files of these names are replaced, each as a whole.
        """
        contents = self.files()
        with replace_files(folder, contents) as draft:
            for name, content in contents.items():
                (draft / name).write_text(content, encoding="utf-8", newline="\n")

    def files(self) -> dict[str, str]:
        """Name and content of each file that ``save`` writes."""
        return {
            "tokenizer.json": self.to_tokenizers().to_str(pretty=True),
            "tokenizer_config.json": json.dumps(self.config(), indent=2, ensure_ascii=False) + "\n",
        }

    def config(self) -> dict:
        """What tokenizer_config.json tells ``transformers``."""
        special = {"unk_token": self.unknown_token} if self.unknown_token is not None else {}
        return {"tokenizer_class": "PreTrainedTokenizerFast", **special}
