"""Chapter 3: BERT's text normalization, with the way back to the original text.

Before looking for pieces, BERT (Devlin et al. 2019, the published tokenization.py) cleans the text, sets Chinese
characters apart, strips accents, lowercases and splits off punctuation. Here a text is a list of characters, each with
the position that it came from; each step maps one list to the next, so that every word knows its place.
``normalized_characters`` takes these steps one after the other; ``normalize`` looks up their result for each character.
"""

import re
from collections.abc import Callable
from functools import cache
from itertools import groupby

from bertcourse.tokenization import characters as unicode
from bertcourse.tokenization.encoding import PlacedWord

MOST_CHARACTERS = 100_000  # to remember: more than texts have, fewer than Unicode's 1.1 million

PlacedCharacter = tuple[str, int]  # a character, and the position in the original text of the one that it was made from


def normalized_characters(text: str, lowercase: bool = True) -> list[PlacedCharacter]:
    """All steps; words come out separated by spaces.

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
        category = unicode.category(character)
        if character.isspace() and (character in "\t\n\r" or category != "Cc"):
            cleaned.append((" ", position))
        elif character != "\ufffd" and category not in ("Cc", "Cf", "Co"):
            cleaned.append((character, position))
    return cleaned


def set_apart_cjk(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Put a space on each side of a Chinese character, as Chinese writes none; each becomes a word."""
    return _set_apart(characters, unicode.is_chinese)


def strip_accents(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Decompose (NFD: é becomes e and an accent), then drop the accents, that is, nonspacing marks (category Mn)."""
    return [placed for placed in _decompose(characters) if unicode.category(placed[0]) != "Mn"]


def lower(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Lowercase one character at a time: Σ becomes σ even at the end of a word, where Greek has ς."""
    return [(low, position) for character, position in characters for low in unicode.lower_case(character)]


def set_apart_punctuation(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """Put a space on each side of a punctuation mark."""
    return _set_apart(characters, unicode.is_punctuation)


def _set_apart(characters: list[PlacedCharacter], alone: Callable[[str], bool]) -> list[PlacedCharacter]:
    apart = []
    for placed in characters:
        space = (" ", placed[1])
        apart += (space, placed, space) if alone(placed[0]) else (placed,)
    return apart


def _decompose(characters: list[PlacedCharacter]) -> list[PlacedCharacter]:
    """NFD, with the marks after a letter in canonical order (Unicode Standard Annex #15)."""
    parts = [  # what each character decomposes into, and whether it is the first of these
        (part, i == 0) for character, _ in characters for i, part in enumerate(unicode.decomposition(character))
    ]
    in_order = []
    for are_marks, run in groupby(parts, key=lambda part: unicode.combining_class(part[0]) > 0):
        in_order += sorted(run, key=lambda part: unicode.combining_class(part[0])) if are_marks else run
    decomposed, source = [], -1
    for part, is_first in in_order:  # positions stay in order: a mark that changes places takes the other's
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
    """The words that BERT sees in a text, each character with its place in it; cased models do not lowercase.

    Source: Devlin et al. 2019, BasicTokenizer in the published code; equal to Hugging Face's BertNormalizer followed by
    BertPreTokenizer, which lowercase single characters. Google's code lowercases whole tokens with Python, so that a
    final Σ becomes ς, a different token.

    >>> normalize("Déjà vu")[1]
    PlacedWord(text='vu', spans=[(5, 6), (6, 7)])
    """
    if _has_floating_mark(text):
        return split_words(normalized_characters(text, lowercase))
    normalized = _character_table(lowercase)
    return split_words([(new, i) for i, old in enumerate(text) for new in normalized[ord(old)]])


def normalized_words(text: str, lowercase: bool = True) -> list[str]:
    """The words of ``normalize`` without their places, which is faster.

    >>> normalized_words("Déjà vu, 東京!")
    ['deja', 'vu', ',', '東', '京', '!']
    """
    if _has_floating_mark(text):
        return [word.text for word in normalize(text, lowercase)]
    return text.translate(_character_table(lowercase)).split()


class _CharacterTable(dict):
    """For ``str.translate``: code point to normalized text, computed by the steps when a character is first met."""

    def __init__(self, lowercase: bool):
        self.lowercase = lowercase

    def __missing__(self, code: int) -> str:
        normalized = "".join(character for character, _ in normalized_characters(chr(code), self.lowercase))
        if len(self) < MOST_CHARACTERS:
            self[code] = normalized
        return normalized


_character_table = cache(_CharacterTable)  # all tokenizers share the two


def _has_floating_mark(text: str) -> bool:
    """Whether the place of some mark depends on its neighbours: a table of single characters cannot tell it."""
    return not text.isascii() and _floating_mark().search(text) is not None


@cache
def _floating_mark() -> re.Pattern:
    return re.compile(f"[{''.join(sorted(unicode.table('reordered mark')))}]")
