"""The course's own data: inside the package if it is installed, beside the package in a checkout."""

import csv
import lzma
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def read_text(path: Path) -> str:
    """The text in a UTF-8 file, which may be compressed with xz (.xz).

    Raises:
        ValueError: naming the file, if it is damaged.
    """
    with naming_damage(path):
        content = path.read_bytes()
        return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turn errors from reading a damaged text into a ValueError that names the file."""
    try:
        yield
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        packed = " packed with xz" if path.suffix == ".xz" else ""
        raise ValueError(
            f"{path} must be a UTF-8 text{packed}; it is damaged ({error}). Save or fetch it again."
        ) from error


# The course's own data: inside the package if it is installed, beside the package in a checkout.
INSTALLED_DATA = Path(__file__).parent.with_name("course_data")
COURSE_DATA = INSTALLED_DATA if INSTALLED_DATA.is_dir() else Path(__file__).parents[2] / "data"


def course_file(name: str) -> Path:
    """Where a file of the course's own data is.

    Args:
        name: its path in the repository's folder data/, such as "tickets/train.tsv".
    """
    path = COURSE_DATA / name
    if not path.is_file():
        raise FileNotFoundError(
            f"expected {path}; there is no such file. If the name is right, the installation is damaged: install the "
            f"course again (in its folder: make course; elsewhere: pip install --force-reinstall bertcourse)."
        )
    return path


def book_words() -> tuple[Counter[str], Counter[str]]:
    """How often each word and punctuation mark occurs in 92 books of Standard Ebooks, and in Moby Dick.

    Returns:
        Two maps from word to count: 17.9 million occurrences of 106,000 words, and 259,000 of 18,500. Words are cased
        and sorted by descending count.

    Source: counted by data/words/make.py.
    """
    rows = [line.split("\t") for line in read_text(course_file("words/words.tsv.xz")).split("\n") if line]
    books, moby_dick = ({word: int(counts[i]) for word, *counts in rows if counts[i] != "0"} for i in range(2))
    return Counter(dict(Counter(books).most_common())), Counter(dict(Counter(moby_dick).most_common()))


def parallel_sentences() -> dict[str, list[str]]:
    """24 sentences that say the same in six languages, written for the course.

    Returns:
        The sentences of each language (en, de, es, fi, tr, el).
    """
    with course_file("languages/sentences.tsv").open(encoding="utf-8") as file:
        languages, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return {language: list(sentences) for language, sentences in zip(languages, zip(*rows, strict=True), strict=True)}
