"""Chapter 3: what Unicode says about a character, as Hugging Face's tokenizer of BERT knows it.

Python's own answers, except where that tokenizer uses other tables: ``bertcourse.datasets.unicode_tables``.
"""

import unicodedata
from functools import cache

from bertcourse.datasets.unicode_tables import unicode_table


@cache
def table(name: str) -> dict[str, str]:
    """The table of this name, from character to value."""
    return {chr(code): value for first, last, value in unicode_table(name) for code in range(first, last + 1)}


@cache
def _later_lower_case() -> dict[str, str]:
    return {
        chr(code): chr(int(lower, 16) + code - first)
        for first, last, lower in unicode_table("later lower case")
        for code in range(first, last + 1)
    }


def category(character: str) -> str:
    """The Unicode category: "Ll" is a lower-case letter, "Mn" a nonspacing mark, "P…" punctuation, "Cn" unassigned."""
    if character in table("unassigned"):
        return "Cn"
    return table("former category").get(character) or unicodedata.category(character)


def is_punctuation(character: str) -> bool:
    """Unicode's punctuation, plus the ASCII that is neither letter, digit nor space: $ + < = > ^ ` | ~."""
    return "!" <= character <= "~" and not character.isalnum() or category(character).startswith("P")


def is_chinese(character: str) -> bool:
    """Whether the character lies in one of the blocks that BERT calls Chinese; Japanese kana and Korean do not."""
    return any(first <= ord(character) <= last for first, last, _ in unicode_table("Chinese"))


def lower_case(character: str) -> str:
    """The lower case of one character, which may be two characters: İ becomes i and a dot."""
    return _later_lower_case().get(character) or character.lower()


def decomposition(character: str) -> str:
    """Canonical decomposition (Unicode's NFD) of one character: é becomes e and an accent."""
    return character if character in table("unassigned") else unicodedata.normalize("NFD", character)


def combining_class(character: str) -> int:
    """Where a mark stands among the marks of a letter; 0 for characters that stay where they are."""
    moves = character in table("reordered mark") or category(character) == "Mn"
    return unicodedata.combining(character) if moves else 0
