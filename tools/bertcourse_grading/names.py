"""Names and lines that come from students: kept distinct, and made safe to store and to show."""

import hashlib
import re
import unicodedata

KEPT = set(" _.,@'()-")  # besides letters, marks, digits and emoji
JOINERS = "\u200c\u200d"  # invisible, but needed to write Hindi, Persian and emoji
LONGEST = 60  # characters in a folder's name; even at four bytes each they fit every file system
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def folder_name(original: str) -> str:
    """The name of a student's folder: readable, and different for different originals.

    A name of letters, marks, digits, emoji and a few signs stays as it is. In any other name, what cannot stay becomes
    a hyphen, and a hash of the original is added, so that no two originals share a name, whoever else is in the batch.

    >>> folder_name("Zoë O'Neil"), folder_name("Zoë / O'Neil")
    ("Zoë O'Neil", "Zoë-O'Neil~94273370")

    Args:
        original: the name as the platform or the folder gives it.

    Source: Unicode's normalization form C (UAX 15).
    """
    composed = unicodedata.normalize("NFC", original)
    kept = "".join(letter if is_kept(letter) else "\0" for letter in composed)
    name = re.sub(" *\0[ \0]*", "-", kept).strip(" .@-")[:LONGEST].strip(" .@-") or "unnamed"
    return name if name == original else with_hash(name, original)


def is_kept(letter: str) -> bool:
    """Whether a character is allowed in a folder's name."""
    kind = unicodedata.category(letter)
    return kind[0] in "LMN" or kind == "So" or letter in KEPT


def with_hash(name: str, original: str | None = None) -> str:
    """A name followed by "~", which no name contains, and a hash of the original (of the name itself if not given)."""
    digest = hashlib.sha256((original or name).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name}~{digest[:8]}"


def on_any_disk(name: str) -> str:
    """A form that is the same for two names if some file system, such as a Mac's, treats them as the same."""
    return unicodedata.normalize("NFC", name.casefold())


def shown(text: str) -> str:
    r"""A text in one line: what would break it, move the cursor or reverse the writing direction becomes an escape.

    >>> shown("a\nb \x1b[31mred")
    'a\\nb \\x1b[31mred'
    """
    return "".join(
        letter if letter.isprintable() or letter in JOINERS else letter.encode("unicode_escape").decode()
        for letter in text
    )


def table_cell(text: str) -> str:
    """A text as a cell that a spreadsheet reads as text and not as a formula.

    Source: OWASP, CSV Injection.
    """
    text = shown(text)
    return f"'{text}" if text.startswith(FORMULA) else text
