"""Books of Standard Ebooks: fetched once, checked against a known SHA-256, kept.

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
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pooch
from tqdm import tqdm

from bertcourse.datasets.data import naming_damage
from bertcourse.files import check_sha256, is_of_the_disk, replace_files, sha256
from bertcourse_lab.datasets.ebooks import book_text

BOOKS_URL = "https://codeload.github.com/standardebooks"
# Where each set of books may be in BERTCOURSE_DATA: all of its books in one file, separated by empty lines.
BOOK_SETS = {
    "books": "standardebooks/standardebooks.txt.xz",
    "more-books": "standardebooks-more/standardebooks-more.txt.xz",
    "measuring-books": "standardebooks-measuring/standardebooks-measuring.txt.xz",  # never to be trained on
}


class Book(NamedTuple):
    """A book of Standard Ebooks at one commit.

    Attributes:
        name: its repository.
        commit: the commit that the text is made from.
        sha256: of the text.
        parts: the stems of the files to take; empty for all.
        set: which of ``BOOK_SETS`` it belongs to.
    """

    name: str
    commit: str
    sha256: str
    parts: frozenset[str]
    set: str = "books"


def standard_ebooks(url: str = BOOKS_URL, folder: str | os.PathLike | None = None) -> str:
    """93 public-domain books, 14.9 million words: one paragraph per line, an empty line between documents (chapters).

    Without a copy at hand, the first call fetches the books from their repositories: a few minutes and 0.5 GB. Each
    book is kept as soon as it arrives, so that an interrupted call resumes where it stopped.

    Args:
        url: where the repositories' archives are.
        folder: where to keep the books; None for the user's cache.

    Returns:
        The text; ``text.split("\\n\\n")`` gives the documents.

    Source: standardebooks.org; texts in the public domain, edited under CC0.
    """
    return "\n".join(text for _, text in book_texts("books", url, folder))


def book_texts(
    name: str = "books", url: str = BOOKS_URL, folder: str | os.PathLike | None = None
) -> Iterator[tuple[Book, str]]:
    """The books of a set with their texts, one after another, so that no more than one is in memory.

    Args:
        name: "books", the 93 of ``standard_ebooks``; "more-books", 266 others, 43.3 million words; or
            "measuring-books", eight that no model of the course is trained on, 2.8 million words.
        url, folder: as for ``standard_ebooks``.
    """
    known = read_books(name)
    if copy := find_books(name):
        return cut_into_books(read_documents(copy), known, str(copy))
    folder = Path(folder or books_folder())
    return ((book, fetch_book(book, url, folder)) for book in tqdm(known, desc=name, unit=" books", disable=None))


def books(text: str) -> Iterator[tuple[Book, str]]:
    """Cut the text of ``standard_ebooks`` into its books, whose hashes tell where each ends.

    Args:
        text: as ``standard_ebooks`` returns it.
    """
    documents = (f"{document}\n" for document in text.removesuffix("\n").split("\n\n"))
    return cut_into_books(documents, read_books(), "the text")


def cut_into_books(documents: Iterable[str], known: list[Book], source: str) -> Iterator[tuple[Book, str]]:
    """Put documents together into the books that we know, in order; ``source`` says where they come from."""
    documents = iter(documents)
    for book in known:
        digest, contents = hashlib.sha256(), []
        for document in documents:
            digest.update(f"\n{document}".encode() if contents else document.encode())
            contents.append(document)
            if digest.hexdigest() == book.sha256:
                break
        else:
            raise ValueError(
                f"{source} must have the texts of standard_ebooks(), or of another known set, book after book; "
                f"{book.name} is not there, or is damaged."
            )
        yield book, "\n".join(contents)
    if next(documents, ""):
        raise ValueError(f"{source} must end with {known[-1].name}; there is more.")


def paragraphs(text: str) -> Iterator[str]:
    """The lines of a text that are not empty.

    >>> list(paragraphs("One.\\nTwo.\\n\\nAnother document.\\n"))
    ['One.', 'Two.', 'Another document.']
    """
    return (line for line in text.split("\n") if line)


def read_books(name: str = "books") -> list[Book]:
    """The registry of a set of books, in the order in which its text has them; ValueError if there is no such set."""
    if name not in BOOK_SETS:
        raise ValueError(f"a set of books must be one of {', '.join(BOOK_SETS)}; got {name!r}.")
    with (resources.files("bertcourse_lab.datasets") / "standard_ebooks.tsv").open(encoding="utf-8") as file:
        return [
            Book(row["book"], row["commit"], row["sha256"], frozenset(row["parts"].split()), name)
            for row in csv.DictReader(file, delimiter="\t")
            if row["set"] == name
        ]


def find_books(name: str) -> Path | None:
    """The copy of a set of books in BERTCOURSE_DATA, if there is one."""
    if (data := os.environ.get("BERTCOURSE_DATA")) and (path := Path(data).expanduser() / BOOK_SETS[name]).is_file():
        return path
    return None


def books_folder() -> Path:
    """Where fetched books are kept, each in a file of its own."""
    return Path(pooch.os_cache("bertcourse")) / "standardebooks"


def fetch_books(name: str, url: str = BOOKS_URL) -> list[Path]:
    """The files of a set of books, from this disk or else from the network: one with all books, or one per book."""
    known = [book for book, _ in book_texts(name, url)]
    copy = find_books(name)
    return [copy] if copy else [books_folder() / f"{book.name}.txt" for book in known]


def has_books(name: str) -> bool:
    """Whether a set of books is on this disk; a ValueError says what is wrong with it."""
    if find_books(name):
        return all(text for _, text in book_texts(name))  # texts are checked as they are read
    kept = [(book, books_folder() / f"{book.name}.txt") for book in read_books(name)]
    for book, path in kept:
        if path.is_file():
            check_sha256(path, sha256(path), book.sha256, f"fetch it again with: bertcourse data get {name}")
    return all(path.is_file() for _, path in kept)


def fetch_book(book: Book, url: str, folder: Path) -> str:
    """The text of one book, from ``folder`` or else from its repository.

    Args:
        book: which book.
        url: where the repositories' archives are; the archive of a commit is at url/name/tar.gz/commit.
        folder: where texts are kept.

    Raises:
        ConnectionError: if it cannot be fetched.
        ValueError: if its text is not the one we know; nothing is then kept.
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
                f"cannot fetch {address} ({error}). Try again, the books that have come are kept; or set "
                f"BERTCOURSE_DATA to a folder that has {BOOK_SETS[book.set]}."
            ) from error
        try:
            text = book_text(read_archive(archive), book.parts)
        # A missing part is a KeyError or ValueError, invalid XML a SyntaxError.
        except (tarfile.TarError, zlib.error, EOFError, OSError, LookupError, ValueError, SyntaxError) as error:
            raise ValueError(f"{address} must be the archive of a book; it is damaged ({error}). Try again.") from error
    advice = "nothing was kept; fetch it again, and report it if that does not help"
    check_sha256(f"the text of {address}", sha256(text.encode()), book.sha256, advice)
    with replace_files(folder, [kept.name]) as draft:
        (draft / kept.name).write_bytes(text.encode())
    return text


def read_archive(archive: Path) -> dict[str, bytes]:
    """The files that an archived repository has under src/epub, without pictures: path from there to content."""
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, path = member.name.partition("/src/epub/")
            if member.isfile() and path.endswith((".opf", ".xhtml")):
                files[path] = tar.extractfile(member).read()
    return files


def read_documents(path: Path) -> Iterator[str]:
    """The documents of such a text, which empty lines separate, one after another."""
    lines: list[str] = []
    with naming_damage(path), (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip():
                lines.append(line)
            elif lines:
                yield "".join(lines)
                lines = []
    if lines:
        yield "".join(lines)
