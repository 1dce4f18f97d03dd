"""Chapter 3: byte-pair encoding on bytes, as in GPT-2.

The 256 bytes are the alphabet, so that any text at all can be spelled and recovered, and no token is ever unknown
(Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2). For printing, each byte is
shown as a character: visible ones as they are, the others as characters from 256 on, so that a space is "Ġ".

Words are the same as in Hugging Face's ``tokenizers`` for every character up to Unicode 18, the newest that ``regex``
knew when this was written; a newer ``regex`` may know letters that ``tokenizers`` does not.
"""

from collections.abc import Sequence
from functools import cache

import regex
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from bertcourse.datasets.unicode_tables import unicode_table
from bertcourse.tokenization.bpe import BPETokenizer, Merge
from bertcourse.tokenization.encoding import PlacedWord
from bertcourse.tokenization.input_checks import check_text

VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
HIDDEN = [byte for byte in range(256) if byte not in VISIBLE]
BYTE_CHARACTERS = {byte: chr(byte) for byte in VISIBLE} | {byte: chr(256 + i) for i, byte in enumerate(HIDDEN)}
CHARACTER_BYTES = {character: byte for byte, character in BYTE_CHARACTERS.items()}


@cache
def gpt2_word() -> regex.Pattern:
    r"""English contractions; then letters, digits, or anything else, each with the space before it; then white space.

    The published pattern, ``'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+``, except that
    letters and numbers unknown to Hugging Face count as anything else. ASCII comes first for speed; -- is set
    difference.
    """
    later = "".join(f"{chr(first)}-{chr(last)}" for first, last, _ in unicode_table("after Unicode 16"))
    letter, number = rf"[A-Za-z[\p{{L}}--[{later}]]]", rf"[0-9[\p{{N}}--[{later}]]]"
    return regex.compile(
        rf"'s|'t|'re|'ve|'m|'ll|'d| ?{letter}+| ?{number}+| ?[^\s{letter}{number}]+|\s+(?!\S)|\s+", regex.V1
    )


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
    check_text(text)
    return [show_bytes(word) for word in gpt2_word().findall(text)]


class ByteLevelBPETokenizer(BPETokenizer):
    """Byte-pair encoding on bytes: nothing is unknown, and ``decode(encode_ids(text))`` is the text.

    Args:
        merges: as ``train_bpe(Counter(byte_words(text)), …)`` returns them.
        special_tokens: they get the first ids.

    >>> tokenizer = ByteLevelBPETokenizer([("Ã", "©")])
    >>> tokenizer.encode("né").tokens, tokenizer.encode("né").offsets
    (['n', 'Ã©'], [(0, 1), (1, 2)])
    """

    gap = 0  # a space is part of a word

    def __init__(self, merges: Sequence[Merge], special_tokens: Sequence[str] = ("<|endoftext|>",)):
        super().__init__(merges, BYTE_CHARACTERS.values(), special_tokens, unknown_token=None, marker="")

    def chunks(self, text: str) -> list[str]:
        """Special tokens and GPT-2's words."""
        return [
            chunk
            for section, _ in self.sections(text)
            for chunk in ([section] if section in self.special_tokens else gpt2_word().findall(section))
        ]

    def words(self, text: str) -> list[PlacedWord]:
        """GPT-2's words in bytes, each byte with the position of the character it is part of."""
        words = []
        for found in gpt2_word().finditer(text):
            spans = [(i, i + 1) for i in range(found.start(), found.end()) for _ in text[i].encode()]
            words.append(PlacedWord(show_bytes(found.group()), spans))
        return words

    def join(self, tokens: list[str]) -> str:
        """The text that the bytes spell; an incomplete character becomes U+FFFD."""
        data = bytearray()
        for token in tokens:
            special = token in self.special_tokens
            data += token.encode() if special else bytes(CHARACTER_BYTES[character] for character in token)
        return data.decode(errors="replace")

    def to_tokenizers(self) -> tokenizers.Tokenizer:
        """The same tokenizer in ``tokenizers``, with the same ids, offsets and words."""
        twin = tokenizers.Tokenizer(models.BPE(self.token_ids, self.merges))
        twin.add_special_tokens(list(self.special_tokens))
        twin.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        twin.decoder = decoders.ByteLevel()
        return twin
