"""Chapter 3: WordPiece, BERT's tokenizer.

A word is cut from the left, each time taking the longest piece that the vocabulary has (Wu et al. 2016, "Google's
Neural Machine Translation System", section 4.1); pieces inside a word are written with ``##`` in front (Devlin et al.
2019). ``normalization`` decides what a word is.
"""

import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from bertcourse.tokenization.bpe_fast import train_bpe
from bertcourse.tokenization.encoding import Piece, Tokenizer
from bertcourse.tokenization.normalization import normalize, normalized_words
from bertcourse.tokenization.words import PlacedWord

BERT_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"
LONGEST_WORD = 100  # in characters, after normalization; a longer word is unknown


def longest_match(word: str, vocabulary: Container[str], inside: str = "##") -> list[str]:
    """The pieces of a normalized word, longest first from the left; if nothing fits somewhere, the word is unknown.

    >>> longest_match("unaffable", {"un", "##aff", "##able", "##a"})
    ['un', '##aff', '##able']
    """
    pieces, start = [], 0
    while start < len(word):
        prefix = inside if start else ""
        end = len(word)
        while end > start and prefix + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def decode_pieces(tokens: Sequence[str]) -> str:
    """Tokens with a space between words, even where the text had none (before a comma): that is no longer known.

    >>> decode_pieces(["un", "##aff", "##able", "!"])
    'unaffable !'
    """
    return " ".join(tokens).replace(" ##", "")


def train_wordpiece(
    word_counts: Mapping[str, int], vocab_size: int, special_tokens: Sequence[str] = BERT_SPECIAL_TOKENS
) -> list[str]:
    """A vocabulary by the rule of BPE, as Hugging Face's WordPieceTrainer learns it, which breaks ties at random.

    Its order is that of the ids: special tokens, characters by code point, characters inside a word, merged ones. The
    words are those of ``normalized_words``.

    >>> train_wordpiece({"hug": 10, "pug": 5, "hugs": 5}, 10, special_tokens=[])[-2:]
    ['##ug', 'hug']
    """
    merges = train_bpe(word_counts, vocab_size=vocab_size - len(special_tokens), prefix=PREFIX)
    letters = sorted(set("".join(word_counts)))
    insides = sorted({PREFIX + letter for word in word_counts for letter in word[1:]})
    merged = (left + right.removeprefix(PREFIX) for left, right in merges)
    return list(dict.fromkeys([*special_tokens, *letters, *insides, *merged]))


class WordPieceTokenizer(Tokenizer):
    """BERT's tokenizer: normalization, then greedy longest match in each word.

    Args:
        vocab: the tokens, in order of id; those inside a word begin with ``##``; [UNK] is among them.
        lowercase: strip accents and lowercase, as uncased models do.

    Source: Devlin et al. 2019, FullTokenizer in the published code; ids and offsets are Hugging Face's.

    >>> tokenizer = WordPieceTokenizer(["[UNK]", "un", "##aff", "##able", "!"])
    >>> encoding = tokenizer.encode("Unaffable!")
    >>> encoding.tokens, encoding.offsets, encoding.word_ids
    (['un', '##aff', '##able', '!'], [(0, 2), (2, 5), (5, 9), (9, 10)], [0, 0, 0, 1])
    """

    def __init__(self, vocab: Sequence[str], lowercase: bool = True):
        super().__init__(vocab, [token for token in BERT_SPECIAL_TOKENS if token in vocab], "[UNK]")
        self.lowercase = lowercase

    @classmethod
    def from_file(cls, path: str | os.PathLike, lowercase: bool = True) -> "WordPieceTokenizer":
        """The tokenizer of a vocab.txt: UTF-8, one token per line, with or without a byte order mark."""
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"expected a vocabulary, one token a line, in {path}; there is no such file.")
        try:
            tokens = path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be UTF-8, one token a line; {error}.") from None
        first_lines: dict[str, int] = {}
        for line, token in enumerate(tokens):
            if not token:
                raise ValueError(f"{path}: a token must be a line of at least one character; token {line} is empty.")
            if first_lines.setdefault(token, line) != line:
                raise ValueError(f"{path}: a token must have one id; {token!r} has {first_lines[token]} and {line}.")
        if "[UNK]" not in first_lines:
            raise ValueError(f"{path}: the vocabulary must have [UNK], which stands for what it cannot spell.")
        return cls(tokens, lowercase)

    def words(self, text: str) -> list[PlacedWord]:
        """BERT's words: ``normalize``."""
        return normalize(text, self.lowercase)

    def segment(self, word: str) -> list[Piece]:
        """The pieces of a normalized word, by ``longest_match``."""
        found = longest_match(word, self.token_ids) if len(word) <= LONGEST_WORD else ["[UNK]"]
        if found == ["[UNK]"]:
            return [Piece(self.unknown_id, len(word))]
        return [Piece(self.token_ids[piece], len(piece) - len(PREFIX) * (i > 0)) for i, piece in enumerate(found)]

    def _chunk_ids(self, text: str) -> tuple[int, ...]:
        if self._special_pattern.search(text):
            return super()._chunk_ids(text)
        return tuple([piece.id for word in normalized_words(text, self.lowercase) for piece in self._pieces[word]])

    def join(self, tokens: list[str]) -> str:
        """Tokens with a space between words."""
        return decode_pieces(tokens)

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer in ``tokenizers``, which models work with; it adds [CLS] and [SEP] if there are such."""
        twin = tokenizers.Tokenizer(models.WordPiece(self.token_ids, unk_token="[UNK]"))
        twin.add_special_tokens(list(self.special_tokens))
        twin.normalizer = normalizers.BertNormalizer(lowercase=self.lowercase)
        twin.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        twin.decoder = decoders.WordPiece(prefix=PREFIX, cleanup=False)
        if {"[CLS]", "[SEP]"} <= set(self.special_tokens):
            twin.post_processor = processors.BertProcessing(*((t, self.token_ids[t]) for t in ("[SEP]", "[CLS]")))
        return twin
