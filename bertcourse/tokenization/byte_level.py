"""Chapter 3: byte-pair encoding on bytes, as in GPT-2.

The 256 bytes are the alphabet, so that any text at all can be spelled and recovered, and no token is ever unknown
(Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2). For printing, each byte is
shown as a character: visible ones as they are, the others as characters from 256 on, so that a space is "Ġ". Words are
Hugging Face's for every character up to Unicode 18; a newer ``regex`` may know letters that ``tokenizers`` does not.
"""

from collections.abc import Sequence
from functools import cache

import regex

from bertcourse.datasets.unicode_tables import unicode_table
from bertcourse.tokenization.bpe import BPETokenizer, Merge
from bertcourse.tokenization.words import PlacedWord

GPT2_WORD = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
HIDDEN = [byte for byte in range(256) if byte not in VISIBLE]
BYTE_CHARACTERS = {byte: chr(byte) for byte in VISIBLE} | {byte: chr(256 + i) for i, byte in enumerate(HIDDEN)}
CHARACTER_BYTES = {character: byte for byte, character in BYTE_CHARACTERS.items()}


@cache
def gpt2_word() -> regex.Pattern:
    """The published pattern, except that letters and numbers unknown to Hugging Face count as neither."""
    later = "".join(f"{chr(first)}-{chr(last)}" for first, last, _ in unicode_table("after Unicode 16"))
    letter, number = rf"[A-Za-z[\p{{L}}--[{later}]]]", rf"[0-9[\p{{N}}--[{later}]]]"
    return regex.compile(GPT2_WORD.replace(r"\p{L}", letter).replace(r"\p{N}", number), regex.V1)


def show_bytes(text: str) -> str:
    """The UTF-8 bytes of a text, one character each: bytes_to_unicode in GPT-2's published code.

    >>> show_bytes(" né")
    'ĠnÃ©'
    """
    return "".join(BYTE_CHARACTERS[byte] for byte in text.encode())


def byte_words(text: str) -> list[str]:
    """GPT-2's words, in bytes; the space before a word belongs to it.

    >>> byte_words("I've got 20 euros")
    ['I', "'ve", 'Ġgot', 'Ġ20', 'Ġeuros']
    """
    return [show_bytes(word) for word in gpt2_word().findall(text)]


def decode_bytes(tokens: Sequence[str]) -> str:
    """The text that tokens of bytes spell; an incomplete character becomes U+FFFD.

    >>> decode_bytes(["na", "Ã", "¯", "ve"])
    'naïve'
    """
    return bytes(CHARACTER_BYTES[character] for token in tokens for character in token).decode(errors="replace")


class ByteLevelBPETokenizer(BPETokenizer):
    """Byte-pair encoding on bytes, with merges from ``train_bpe(Counter(byte_words(text)), …)``.

    Nothing is unknown, and ``decode(encode_ids(text))`` is the text.

    >>> tokenizer = ByteLevelBPETokenizer([("Ã", "©")])
    >>> tokenizer.encode("né").tokens, tokenizer.encode("né").offsets
    (['n', 'Ã©'], [(0, 1), (1, 2)])
    """

    gap = 0  # a space is part of a word

    def __init__(self, merges: Sequence[Merge], special_tokens: Sequence[str] = ("<|endoftext|>",)):
        super().__init__(merges, BYTE_CHARACTERS.values(), special_tokens, unknown_token=None)

    def _chunks(self, text: str) -> list[str]:
        sections, find = self._special_pattern.split(text), gpt2_word().findall
        return [chunk for s in sections for chunk in ([s] if s in self.special_tokens else find(s))]

    def words(self, text: str) -> list[PlacedWord]:
        """GPT-2's words in bytes, each byte with the position of the character it is part of."""
        words = []
        for found in gpt2_word().finditer(text):
            spans = [(i, i + 1) for i in range(found.start(), found.end()) for _ in text[i].encode()]
            words.append(PlacedWord(show_bytes(found.group()), spans))
        return words

    def join(self, tokens: list[str]) -> str:
        """The text that the bytes spell, with special tokens as they are."""
        return decode_bytes([show_bytes(token) if token in self.special_tokens else token for token in tokens])
