"""Names and lines that come from students: told apart, and made safe to store and to show."""

import hashlib
import re
import unicodedata

KEPT = set(" _.,@'()-")  # beside letters, marks, digits and emoji
JOINERS = "\u200c\u200d"  # invisible, and part of how Hindi, Persian and emoji are written
LONGEST = 60  # characters of a folder's name; four bytes each stay below what file systems take
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def folder_name(original: str) -> str:
    """What a student's folder is called: readable, and different for different originals.

    A name of letters, marks, digits, emoji and a few signs stays as it is. Of another, what cannot stay becomes a
    hyphen, and a hash of the original is added, so that no two originals share a name, whoever else is in the batch.

    >>> folder_name("Zoë O'Neil"), folder_name("Zoë / O'Neil")
    ("Zoë O'Neil", "Zoë-O'Neil~94273370")

    Args:
        original: as the platform or the folder has it.

    Source: Unicode's normalization form C (UAX 15).
    """
    composed = unicodedata.normalize("NFC", original)
    kept = "".join(letter if is_kept(letter) else "\0" for letter in composed)
    name = re.sub(" *\0[ \0]*", "-", kept).strip(" .@-")[:LONGEST].strip(" .@-") or "unnamed"
    return name if name == original else with_hash(name, original)


def is_kept(letter: str) -> bool:
    """Whether a character may stand in a folder's name."""
    kind = unicodedata.category(letter)
    return kind[0] in "LMN" or kind == "So" or letter in KEPT


def with_hash(name: str, original: str | None = None) -> str:
    """A name and, after a sign that no name has, the hash of what it was made from (of itself if not given)."""
    digest = hashlib.sha256((original or name).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name}~{digest[:8]}"


def on_any_disk(name: str) -> str:
    """The same for two names that some file system, such as a Mac's, takes for one."""
    return unicodedata.normalize("NFC", name.casefold())


def shown(text: str) -> str:
    r"""A text in one line: what would break it, move the cursor or turn the writing round is written as an escape.

    >>> shown("a\nb \x1b[31mred")
    'a\\nb \\x1b[31mred'
    """
    return "".join(
        letter if letter.isprintable() or letter in JOINERS else letter.encode("unicode_escape").decode()
        for letter in text
    )


def table_cell(text: str) -> str:
    """A text as a cell that a spreadsheet takes for text and not for a formula.

    Source: OWASP, CSV Injection.
    """
    text = shown(text)
    return f"'{text}" if text.startswith(FORMULA) else text
