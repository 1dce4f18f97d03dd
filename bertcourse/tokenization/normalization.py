"""Chapter 3, first step: BERT's text normalization, with the way back to the original text.

Before looking for subwords, BERT (Devlin et al. 2019, the published tokenization.py) cleans the text, sets Chinese
characters apart, strips accents, lowercases and splits off punctuation. Here a text is a list of characters, each with
the position that it came from; each step maps one list to the next, so that every word knows its place.
``plain_normalize`` is this pipeline, and the specification; ``normalize`` does the same with a table of the steps'
result for each character, and a test checks that the two are equal.
"""

import re
from collections.abc import Callable
from functools import cache
from itertools import groupby

from bertcourse.tokenization.characters import (
    category,
    combining_class,
    decomposition,
    is_chinese,
    is_punctuation,
    lower_case,
    table,
)
from bertcourse.tokenization.encoding import PlacedWord
from bertcourse.tokenization.input_checks import check_text

MOST_CHARACTERS = 100_000  # to remember: more than texts have, fewer than Unicode's 1.1 million

PlacedCharacter = tuple[str, int]  # a character, and the position in the original text of the one that it was made from


def plain_normalize(text: str, lowercase: bool = True) -> list[PlacedWord]:
    """BERT's normalization, one step at a time; arguments and result as for ``normalize``."""
    return split_words(normalized_characters(text, lowercase))


def normalized_characters(text: str, lowercase: bool = True) -> list[PlacedCharacter]:
    """All steps but the last: words come out separated by spaces.

    >>> normalized_characters("É!")
    [('e', 0), (' ', 1), ('!', 1), (' ', 1)]
    """
    characters = set_apart_cjk(clean([(character, i) for i, character in enumerate(text)]))
    if lowercase:
        characters = lower(strip_accents(characters))
    return set_apart_punctuation(characters)


def clean(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Drop control, format and private-use characters and U+FFFD; turn every kind of white space into a space."""
    cleaned = []
    for character, position in characters:
        if character.isspace() and (character in "\t\n\r" or category(character) != "Cc"):
            cleaned.append((" ", position))
        elif character != "\ufffd" and category(character) not in ("Cc", "Cf", "Co"):
            cleaned.append((character, position))
    return cleaned


def set_apart_cjk(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Put a space on each side of a Chinese character, as Chinese writes none; each becomes a word."""
    return set_apart(characters, is_chinese)


def strip_accents(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Decompose (NFD: é becomes e and an accent), then drop the accents, that is, nonspacing marks (category Mn)."""
    return [placed for placed in decompose(characters) if category(placed[0]) != "Mn"]


def lower(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Lowercase one character at a time: Σ becomes σ even at the end of a word, where Greek has ς."""
    return [(low, position) for character, position in characters for low in lower_case(character)]


def set_apart_punctuation(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Put a space on each side of a punctuation mark."""
    return set_apart(characters, is_punctuation)


def set_apart(characters: list[PlacedCharacter], alone: Callable[[str], bool]) -> list[PlacedCharacter]:
    """Put a space on each side of the characters for which ``alone`` is true."""
    apart = []
    for placed in characters:
        space = (" ", placed[1])
        apart += (space, placed, space) if alone(placed[0]) else (placed,)
    return apart


def decompose(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Canonical decomposition (Unicode's NFD), with the marks after a letter in canonical order.

    A mark that changes places with another takes the other's position: positions stay in ascending order.

    Source: Unicode Standard Annex #15; positions as the normalized strings of ``tokenizers`` keep them.
    """
    parts = [  # what each character decomposes into, and whether it is the first of these
        (part, i == 0) for character, _ in characters for i, part in enumerate(decomposition(character))
    ]
    in_order = []
    for are_marks, run in groupby(parts, key=lambda part: combining_class(part[0]) > 0):
        in_order += sorted(run, key=lambda part: combining_class(part[0])) if are_marks else run
    decomposed, source = [], -1
    for part, is_first in in_order:
        source += is_first
        decomposed.append((part, characters[source][1]))
    return decomposed


def split_words(characters: list[PlacedCharacter]) -> list[PlacedWord]:
    """The words between spaces."""
    words, text, spans = [], [], []
    for character, position in [*characters, (" ", -1)]:
        if character != " ":
            text.append(character)
            spans.append((position, position + 1))
        elif text:
            words.append(PlacedWord("".join(text), spans))
            text, spans = [], []
    return words


def normalize(text: str, lowercase: bool = True) -> list[PlacedWord]:
    """The words that BERT sees in a text, normalized, each character with its place in the text.

    Args:
        text: any text.
        lowercase: strip accents and lowercase, as uncased models do; False for cased ones.

    Returns:
        The words in order. Punctuation marks and Chinese characters are words of their own.

    Source: Devlin et al. 2019, BasicTokenizer in the published code; equal to Hugging Face's BertNormalizer followed by
    BertPreTokenizer, which lowercase single characters: Σ becomes σ. Google's code lowercases whole tokens with Python,
    so that a final Σ becomes ς, a different token.

    >>> [word.text for word in normalize("Déjà vu,  東京!")]
    ['deja', 'vu', ',', '東', '京', '!']
    >>> normalize("Déjà vu")[1]
    PlacedWord(text='vu', spans=[(5, 6), (6, 7)])
    """
    check_text(text)
    if has_floating_mark(text):
        return plain_normalize(text, lowercase)
    normalized = character_table(lowercase)
    return split_words([(new, i) for i, old in enumerate(text) for new in normalized[ord(old)]])


def normalized_words(text: str, lowercase: bool = True) -> list[str]:
    """The words of ``normalize`` without their places, which is faster.

    >>> normalized_words("Déjà vu, 東京!")
    ['deja', 'vu', ',', '東', '京', '!']
    """
    check_text(text)
    if has_floating_mark(text):
        return [word.text for word in normalize(text, lowercase)]
    return text.translate(character_table(lowercase)).split()


class CharacterTable(dict):
    """For ``str.translate``: code point to normalized text, computed by the steps when a character is first met.

    It remembers ``MOST_CHARACTERS`` of them, about 15 MB, and computes the rest each time.
    """

    def __init__(self, lowercase: bool):
        self.lowercase = lowercase

    def __missing__(self, code: int) -> str:
        normalized = "".join(character for character, _ in normalized_characters(chr(code), self.lowercase))
        if len(self) < MOST_CHARACTERS:
            self[code] = normalized
        return normalized


@cache
def character_table(lowercase: bool) -> CharacterTable:
    """The table for this setting, which all tokenizers share."""
    return CharacterTable(lowercase)


def has_floating_mark(text: str) -> bool:
    """Whether the place of some mark depends on its neighbours, so that a table of single characters cannot tell it."""
    return not text.isascii() and floating_mark().search(text) is not None


@cache
def floating_mark() -> re.Pattern:
    """A pattern for any mark that is kept and reordered."""
    return re.compile(f"[{''.join(sorted(table('reordered mark')))}]")
