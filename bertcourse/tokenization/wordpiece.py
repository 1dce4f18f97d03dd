"""Chapter 3: WordPiece, BERT's tokenizer.

A word is cut from the left, each time taking the longest piece that the vocabulary has (Wu et al. 2016, "Google's
Neural Machine Translation System", section 4.1); pieces inside a word are written with ``##`` in front (Devlin et al.
2019). That is ``WordPieceTokenizer.segment``; ``normalization`` decides what a word is.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from bertcourse.tokenization.encoding import Piece, PlacedWord, Tokenizer
from bertcourse.tokenization.normalization import normalize, normalized_words

BERT_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"


class WordPieceTokenizer(Tokenizer):
    """BERT's tokenizer: normalization, then greedy longest match in each word.

    Args:
        vocab: the tokens, in order of id; those inside a word begin with ``##``.
        lowercase: strip accents and lowercase, as uncased models do.
        unknown_token: stands for a word that the vocabulary cannot spell.
        special_tokens: found in the text first, and never cut; None for those of BERT's five that ``vocab`` has.
        max_word_length: in characters, after normalization; a longer word is unknown.

    Source: Devlin et al. 2019, FullTokenizer in the published code; ids and offsets are Hugging Face's.

    >>> tokenizer = WordPieceTokenizer(["[UNK]", "un", "##aff", "##able", "!"])
    >>> encoding = tokenizer.encode("Unaffable!")
    >>> encoding.tokens, encoding.offsets, encoding.word_ids
    (['un', '##aff', '##able', '!'], [(0, 2), (2, 5), (5, 9), (9, 10)], [0, 0, 0, 1])
    """

    def __init__(
        self,
        vocab: Sequence[str],
        lowercase: bool = True,
        unknown_token: str = "[UNK]",
        special_tokens: Sequence[str] | None = None,
        max_word_length: int = 100,
    ):
        if special_tokens is None:
            special_tokens = [token for token in BERT_SPECIAL_TOKENS if token in vocab]
        super().__init__(vocab, special_tokens, unknown_token)
        self.lowercase = lowercase
        self.max_word_length = max_word_length
        self.inside_ids = {token[len(PREFIX) :]: i for token, i in self.token_ids.items() if token.startswith(PREFIX)}
        self.longest = max(map(len, self.tokens))

    @classmethod
    def from_file(cls, path: str | os.PathLike, **settings) -> "WordPieceTokenizer":
        """The tokenizer of a vocab.txt, which has one token per line.

        Args:
            path: the file, in UTF-8, with or without a byte order mark.
            settings: as for the class.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"expected a vocabulary, one token a line, in {path}; there is no such file.")
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be UTF-8, one token a line; {error}.") from None
        try:
            return cls(lines[:-1] if lines[-1] == "" else lines, **settings)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def words(self, text: str) -> list[PlacedWord]:
        """BERT's words: ``normalize``."""
        return normalize(text, self.lowercase)

    def segment(self, word: str) -> list[Piece]:
        """The pieces of a normalized word, longest first from the left; if nothing fits somewhere, it is unknown."""
        unknown = [Piece(self.unknown_id, len(word))]
        if len(word) > self.max_word_length:
            return unknown
        pieces, start, vocabulary = [], 0, self.token_ids
        while start < len(word):
            for end in range(min(len(word), start + self.longest), start, -1):
                if (token_id := vocabulary.get(word[start:end])) is not None:
                    break
            else:
                return unknown
            pieces.append(Piece(token_id, end - start))
            start, vocabulary = end, self.inside_ids
        return pieces

    def chunk_ids(self, text: str) -> tuple[int, ...]:
        """The ids of a chunk, without the places that ``place_tokens`` keeps track of."""
        if self.special_pattern is not None and self.special_pattern.search(text):
            return super().chunk_ids(text)
        pieces = self.remembered_pieces
        return tuple([piece.id for word in normalized_words(text, self.lowercase) for piece in pieces[word]])

    def join(self, tokens: list[str]) -> str:
        """Tokens with a space between words, even where the text had none (before a comma): that is no longer known."""
        return " ".join(tokens).replace(" " + PREFIX, "")

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer in ``tokenizers``; it adds [CLS] and [SEP] if the vocabulary has them."""
        twin = tokenizers.Tokenizer(
            models.WordPiece(
                self.token_ids,
                unk_token=self.unknown_token,
                max_input_chars_per_word=self.max_word_length,
                continuing_subword_prefix=PREFIX,
            )
        )
        twin.add_special_tokens(list(self.special_tokens))
        twin.normalizer = normalizers.BertNormalizer(lowercase=self.lowercase)
        twin.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        twin.decoder = decoders.WordPiece(prefix=PREFIX, cleanup=False)
        if {"[CLS]", "[SEP]"} <= set(self.special_tokens):
            twin.post_processor = processors.BertProcessing(*((t, self.token_ids[t]) for t in ("[SEP]", "[CLS]")))
        return twin

    def config(self) -> dict:
        """What tokenizer_config.json tells ``transformers``.

        What it calls a BertTokenizer it builds anew, from vocab.txt, with all of BERT's special tokens and settings. So
        only one that has these may go by that name; any other is read from tokenizer.json as it stands.
        """
        is_berts = self.special_tokens == BERT_SPECIAL_TOKENS and self.unknown_token == "[UNK]"
        if is_berts and self.max_word_length == 100:
            return {"tokenizer_class": "BertTokenizer", "do_lower_case": self.lowercase, "unk_token": "[UNK]"}
        names = {f"{token[1:-1].lower()}_token": token for token in BERT_SPECIAL_TOKENS if token in self.special_tokens}
        return {**names, **super().config()}

    def files(self) -> dict[str, str]:
        """tokenizer.json, tokenizer_config.json, and vocab.txt with one token per line."""
        return {"vocab.txt": "".join(f"{token}\n" for token in self.tokens), **super().files()}
