"""Chapter 3, first step: BERT's text normalization, with the way back to the original text.

Before any subword is looked for, BERT (Devlin et al. 2019, the published tokenization.py) cleans the text, sets Chinese
characters apart, strips accents, lowers the case and splits off punctuation. Here a text is a list of characters, each
with the position that it came from; a step maps one list to the next, so that every word knows its place.
``normalize_by_steps`` is that pipeline as it is told; ``normalize`` is the same by a table of characters.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import groupby

from bertcourse.tokenization.encoding import Word, check_text
from bertcourse.tokenization.unicode_tables import (
    CJK_BLOCKS,
    FLOATING_MARKS,
    FORMER_CATEGORIES,
    LATER_LOWER_CASE,
    UNKNOWN,
)

MOST_CHARACTERS = 100_000  # remembered: more than texts have, fewer than the 1.1 million of Unicode
FLOATING_MARK = re.compile(f"[{''.join(sorted(FLOATING_MARKS))}]")


Placed = tuple[str, int]  # a character, and the position in the original text of the character that it was made from


def normalize(text: str, lowercase: bool = True) -> list[Word]:
    """The words that BERT sees in a text, normalized, each character with the place it has in the text.

    Args:
        text: any text.
        lowercase: strip accents and lower the case, as uncased models do; False for cased ones.

    Returns:
        The words in order. A mark of punctuation and a Chinese character are words of their own.

    Raises:
        TypeError: if ``text`` is not a str.
        ValueError: if it holds a lone surrogate.

    Source: Devlin et al. 2019, BasicTokenizer in the published code; equal to Hugging Face's BertNormalizer followed by
    BertPreTokenizer, which lower the case of single characters: Σ becomes σ. Google's code lowers whole tokens with
    Python, so that a last Σ becomes ς, another token.

    >>> [word.text for word in normalize("Déjà vu,  東京!")]
    ['deja', 'vu', ',', '東', '京', '!']
    >>> normalize("Déjà vu")[1]
    Word(text='vu', spans=[(5, 6), (6, 7)])
    """
    check_text(text)
    if has_floating_mark(text):
        return split_words(normalize_by_steps(text, lowercase))
    table = character_table(lowercase)
    return split_words([(new, i) for i, old in enumerate(text) for new in table[ord(old)]])


def normalized_words(text: str, lowercase: bool = True) -> list[str]:
    """The words of ``normalize`` without their places, which is quicker.

    Args:
        text, lowercase: as for ``normalize``.

    Raises:
        AttributeError: if ``text`` is not a str; no more is checked.

    Source: as ``normalize``.

    >>> normalized_words("Déjà vu, 東京!")
    ['deja', 'vu', ',', '東', '京', '!']
    """
    if has_floating_mark(text):
        return [word.text for word in normalize(text, lowercase)]
    return text.translate(character_table(lowercase)).split()


def has_floating_mark(text: str) -> bool:
    """Whether a mark's place depends on its neighbours, so that no table of single characters has it."""
    return not text.isascii() and FLOATING_MARK.search(text) is not None


def normalize_by_steps(text: str, lowercase: bool = True) -> list[Placed]:
    """BERT's normalization one step after the other; words come out with a space between them.

    Args:
        text: any text.
        lowercase: whether to take the two steps that uncased models take.

    Returns:
        The normalized text as placed characters.

    Source: as ``normalize``.
    """
    characters = set_apart_cjk(clean([(character, i) for i, character in enumerate(text)]))
    if lowercase:
        characters = lower(strip_accents(characters))
    return set_apart_punctuation(characters)


def clean(characters: list[Placed]) -> list[Placed]:
    """Drop control, format and private characters and U+FFFD; make every kind of white space a space."""
    cleaned = []
    for character, position in characters:
        if character.isspace() and (character in "\t\n\r" or category(character) != "Cc"):
            cleaned.append((" ", position))
        elif character != "\ufffd" and category(character) not in ("Cc", "Cf", "Co"):
            cleaned.append((character, position))
    return cleaned


def set_apart_cjk(characters: list[Placed]) -> list[Placed]:
    """A space on each side of a Chinese character, as Chinese writes none: each becomes a word."""
    return set_apart(characters, lambda character: any(a <= ord(character) <= b for a, b in CJK_BLOCKS))


def strip_accents(characters: list[Placed]) -> list[Placed]:
    """Decompose (NFD): é becomes e and an accent. Then drop the accents, the nonspacing marks (category Mn)."""
    return [placed for placed in decompose(characters) if category(placed[0]) != "Mn"]


def lower(characters: list[Placed]) -> list[Placed]:
    """Lower case, a character at a time: Σ becomes σ even at the end of a word, where Greek has ς."""
    return [
        (low, position)
        for character, position in characters
        for low in LATER_LOWER_CASE.get(character, character.lower())
    ]


def set_apart_punctuation(characters: list[Placed]) -> list[Placed]:
    """A space on each side of a mark of punctuation."""
    return set_apart(characters, is_punctuation)


def set_apart(characters: list[Placed], alone: Callable[[str], bool]) -> list[Placed]:
    """A space on each side of the characters for which ``alone`` is true."""
    apart = []
    for placed in characters:
        space = (" ", placed[1])
        apart += (space, placed, space) if alone(placed[0]) else (placed,)
    return apart


def decompose(characters: list[Placed]) -> list[Placed]:
    """Canonical decomposition (Unicode's NFD), marks after the same letter in canonical order.

    A mark that changes places with another takes that one's position: positions stay in ascending order.

    Source: Unicode Standard Annex #15; positions as the normalized strings of ``tokenizers`` keep them.
    """
    parts = [  # what each character decomposes into, and whether it is the first of these
        (part, i == 0)
        for character, _ in characters
        for i, part in enumerate(character if character in UNKNOWN else unicodedata.normalize("NFD", character))
    ]
    in_order = []
    for are_marks, run in groupby(parts, key=lambda part: combining_class(part[0]) > 0):
        in_order += sorted(run, key=lambda part: combining_class(part[0])) if are_marks else run
    decomposed, source = [], -1
    for part, is_first in in_order:
        source += is_first
        decomposed.append((part, characters[source][1]))
    return decomposed


def is_punctuation(character: str) -> bool:
    """Unicode's punctuation (category P), and ASCII that is neither letter, digit nor space: $ + < = > ^ ` | ~."""
    return "!" <= character <= "~" and not character.isalnum() or category(character).startswith("P")


def category(character: str) -> str:
    """The character's Unicode category as the reference's tables have it."""
    if character in UNKNOWN:
        return "Cn"
    return FORMER_CATEGORIES.get(character) or unicodedata.category(character)


def combining_class(character: str) -> int:
    """Where a mark stands among marks, by the reference's tables; 0 for what stays where it is."""
    known = character in FLOATING_MARKS or category(character) == "Mn"
    return unicodedata.combining(character) if known else 0


class CharacterTable(dict):
    """For ``str.translate``: code point to normalized text, worked out by the steps when a character is first met.

    It remembers ``MOST_CHARACTERS`` of them, about 15 MB, and works out the rest anew.

    Args:
        lowercase: as for ``normalize``.
    """

    def __init__(self, lowercase: bool):
        self.lowercase = lowercase

    def __missing__(self, code: int) -> str:
        placed = normalize_by_steps(chr(code), self.lowercase)
        normalized = "".join(character for character, _ in placed)
        if len(self) < MOST_CHARACTERS:
            self[code] = normalized
        return normalized


@cache
def character_table(lowercase: bool) -> CharacterTable:
    """The one table for this setting, which all tokenizers share, as it holds nothing of theirs."""
    return CharacterTable(lowercase)


def split_words(characters: list[Placed]) -> list[Word]:
    """The words between spaces."""
    words, text, spans = [], [], []
    for character, position in [*characters, (" ", -1)]:
        if character != " ":
            text.append(character)
            spans.append((position, position + 1))
        elif text:
            words.append(Word("".join(text), spans))
            text, spans = [], []
    return words
