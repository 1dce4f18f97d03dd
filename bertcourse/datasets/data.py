"""Public data: fetched once, checked against a known SHA-256, kept.

A file is looked for in the folder that the environment variable ``BERTCOURSE_DATA`` names, then in the user's cache,
and only then on the network.
"""

import csv
import hashlib
import lzma
import os
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pooch
from tqdm import tqdm

from bertcourse.datasets.ebooks import book_text
from bertcourse.files import check_sha256, is_of_the_disk, replace_files, sha256

BOOKS_URL = "https://codeload.github.com/standardebooks"
BOOKS_FILE = "standardebooks/standardebooks.txt.xz"  # in BERTCOURSE_DATA: all books, an empty line between two
BOOKS_SHA256 = "ae6dfb996c0eec05527cae335c6b3ab4b2f6f98f12b885b94f2924a2bb64cbde"  # of the text, not of the archive


class Book(NamedTuple):
    """A book of Standard Ebooks at one commit.

    Attributes:
        name: its repository.
        commit: the commit that the text is made from.
        sha256: of the text.
        parts: the stems of the files to take; empty for all.
    """

    name: str
    commit: str
    sha256: str
    parts: frozenset[str]


def standard_ebooks(url: str = BOOKS_URL, folder: str | os.PathLike | None = None) -> str:
    """93 public-domain books, 14.9 million words: one paragraph a line, an empty line between documents (chapters).

    The first call without a copy at hand fetches the books from their repositories, some minutes and 0.5 GB; each is
    kept as soon as it is there, so that an interrupted call goes on where it was.

    Args:
        url: where the repositories' archives are.
        folder: where to keep the books; None for the user's cache.

    Returns:
        The text; ``text.split("\\n\\n")`` are the documents.

    Source: standardebooks.org; texts in the public domain, edited under CC0.
    """
    if (data := os.environ.get("BERTCOURSE_DATA")) and (path := Path(data).expanduser() / BOOKS_FILE).is_file():
        text = read_text(path)
        check_sha256(path, sha256(text.encode()), BOOKS_SHA256)
        return text
    folder = Path(folder or pooch.os_cache("bertcourse") / "standardebooks")
    books = read_books()
    return "\n".join(fetch_book(book, url, folder) for book in tqdm(books, desc="books", unit=" books", disable=None))


def books(text: str) -> Iterator[tuple[Book, str]]:
    """Cut the text of ``standard_ebooks`` into its books, at the places that their hashes tell.

    Args:
        text: as ``standard_ebooks`` returns it.
    """
    documents = iter(text.removesuffix("\n").split("\n\n"))
    for book in read_books():
        digest, contents = hashlib.sha256(), []
        for document in documents:
            digest.update(f"\n\n{document}".encode() if contents else document.encode())
            contents.append(document)
            ended = digest.copy()
            ended.update(b"\n")
            if ended.hexdigest() == book.sha256:
                break
        else:
            raise ValueError(f"the text must be that of standard_ebooks(), book after book; {book.name} is not in it.")
        yield book, "\n\n".join(contents) + "\n"


def paragraphs(text: str) -> Iterator[str]:
    """The lines of a text that are not empty.

    >>> list(paragraphs("One.\\nTwo.\\n\\nAnother document.\\n"))
    ['One.', 'Two.', 'Another document.']
    """
    return (line for line in text.split("\n") if line)


def read_books() -> list[Book]:
    """The registry of books, in the order in which they stand in the text."""
    with (resources.files("bertcourse.datasets") / "standard_ebooks.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [Book(row["book"], row["commit"], row["sha256"], frozenset(row["parts"].split())) for row in rows]


def fetch_book(book: Book, url: str, folder: Path) -> str:
    """The text of one book, from ``folder`` or else from its repository.

    Args:
        book: which.
        url: where the repositories' archives are; the archive of a commit is at url/name/tar.gz/commit.
        folder: where texts are kept.

    Raises:
        ConnectionError: if it cannot be fetched.
        ValueError: if its text is not the one we know; nothing is kept then.
    """
    kept = folder / f"{book.name}.txt"
    if kept.is_file():
        text = kept.read_bytes().decode("utf-8", errors="replace")
        if sha256(text.encode()) == book.sha256:
            return text
    address = f"{url}/{book.name}/tar.gz/{book.commit}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as draft:
        archive = Path(draft, "archive.tar.gz")
        try:
            pooch.HTTPDownloader(timeout=60)(address, str(archive), None)
        except OSError as error:  # requests' errors are OSErrors
            if is_of_the_disk(error):
                raise
            raise ConnectionError(
                f"cannot fetch {address} ({error}). Try again, which goes on after the books that are there; or set "
                f"BERTCOURSE_DATA to a folder that has {BOOKS_FILE}."
            ) from error
        try:
            text = book_text(read_archive(archive), book.parts)
        # A missing part is a KeyError or ValueError, invalid XML a SyntaxError.
        except (tarfile.TarError, zlib.error, EOFError, OSError, LookupError, ValueError, SyntaxError) as error:
            raise ValueError(f"{address} must be the archive of a book; it is damaged ({error}). Try again.") from error
    check_sha256(address, sha256(text.encode()), book.sha256)
    with replace_files(folder, [kept.name]) as draft:
        (draft / kept.name).write_bytes(text.encode())
    return text


def read_archive(archive: Path) -> dict[str, bytes]:
    """What an archived repository has under src/epub: path from there to content, without pictures."""
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, path = member.name.partition("/src/epub/")
            if member.isfile() and path.endswith((".opf", ".xhtml")):
                files[path] = tar.extractfile(member).read()
    return files


def read_text(path: Path) -> str:
    """The text in a UTF-8 file, which may be packed with xz (.xz).

    Raises:
        ValueError: naming the file, if it is damaged.
    """
    try:
        content = path.read_bytes()
        return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        packed = " packed with xz" if path.suffix == ".xz" else ""
        raise ValueError(f"{path} must be a UTF-8 text{packed}; it is damaged ({error}). Fetch it again.") from error


# What the course wrote itself: inside an installed package, beside the package in a checkout.
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


def damaged_course_files() -> list[str]:
    """The course's own data that are not there or not as they were: each a line that says which."""
    damaged = []
    for line in course_file("SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split(maxsplit=1)
        path = COURSE_DATA / name
        if not path.is_file():
            damaged.append(f"{name} is missing")
        elif sha256(path) != digest:
            damaged.append(f"{name} is altered")
    return damaged


def book_words() -> tuple[Counter[str], Counter[str]]:
    """How often each word and mark of punctuation occurs in 92 books of Standard Ebooks, and in Moby Dick.

    Returns:
        Word to count, twice: 17.9 million occurrences of 106,000 words; 259,000 of 18,500. Cased, by descending count.

    Source: counted by data/words/make.py.
    """
    rows = [line.split("\t") for line in read_text(course_file("words/words.tsv.xz")).split("\n") if line]
    books, moby_dick = ({word: int(counts[i]) for word, *counts in rows if counts[i] != "0"} for i in range(2))
    return Counter(dict(Counter(books).most_common())), Counter(dict(Counter(moby_dick).most_common()))


def parallel_sentences() -> dict[str, list[str]]:
    """24 sentences that say the same in six languages, written for the course.

    Returns:
        Language (en, de, es, fi, tr, el) to sentences.
    """
    with course_file("languages/sentences.tsv").open(encoding="utf-8") as file:
        languages, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return {language: list(sentences) for language, sentences in zip(languages, zip(*rows, strict=True), strict=True)}
