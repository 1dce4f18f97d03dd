"""Text as token ids on disk, read piece by piece: what a run is trained on, and what it is measured on.

A text is read document by document, cut into sentences, tokenized once, and stored in shards of 32 million tokens.
Shards are memory-mapped, so that a corpus can be larger than memory, and the processes of one machine share it.
"""

import hashlib
import itertools
import json
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import pooch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tqdm import tqdm

from bertcourse.bert.batching import whole_texts
from bertcourse.files import read_json
from bertcourse.pretraining.corpus import Corpus, Documents
from bertcourse_lab.datasets.books import book_texts, paragraphs, read_books, read_documents, standard_ebooks

HELD_OUT_BOOKS = (
    "arthur-conan-doyle_the-hound-of-the-baskervilles",
    "f-scott-fitzgerald_the-great-gatsby",
    "h-g-wells_the-time-machine",
    "henry-david-thoreau_walden",
    "rudyard-kipling_the-jungle-book",
)
HELD_OUT_EVERY = 50  # in other texts, one document in this many is held out
SHARD_TOKENS = 32_000_000  # rows are only shuffled within a shard; shuffle a larger corpus's documents yourself
PARTS = Documents._fields
VERSION = 1  # of how a text becomes shards; a new number means that they are made again

END_OF_SENTENCE = re.compile(r"""[.!?]["')\]]*(?=\s+["'(\[]*[A-Z0-9])""")
ABBREVIATIONS = set(
    "Mr Mrs Ms Dr St Messrs Mme Mlle Prof Rev Hon Esq Capt Col Gen Lieut Lt Sgt Gov Sen Jr Sr No Vol Chap Fig "
    "vs viz cf etc ca".split()
)


def books_corpus(tokenizer: Tokenizer, folder: Path | None = None, more: bool = False) -> Corpus:
    """Standard Ebooks, with five books held out; paragraphs that contain a slur are dropped.

    Args:
        tokenizer: makes the ids.
        folder: where shards are kept; None for the user's cache.
        more: True for 359 books, 58 million words, with the same five held out; False for 93 books, 15 million.
    """
    sets = ("books", "more-books") if more else ("books",)

    def documents() -> Iterator[tuple[str, bool]]:
        for book, text in itertools.chain.from_iterable(map(book_texts, sets)):
            for document in text.split("\n\n"):
                yield without_slurs(document), book.name in HELD_OUT_BOOKS

    if more:  # hashes stand for the texts, which need not be read again if their shards exist
        text = [book.sha256.encode() for name in sets for book in read_books(name)]
    else:
        text = [standard_ebooks().encode()]
    return make_shards(documents, text, tokenizer, folder)


def measuring_books(tokenizer: Tokenizer) -> dict[str, Documents]:
    """Eight books that are in neither corpus, 2.8 million words: to measure on, never to train on.

    Args:
        tokenizer: makes the ids.

    Returns:
        The documents of each book, by its name; paragraphs that contain a slur are dropped.
    """
    tokenizer = whole_texts(tokenizer)
    return {
        book.name: Documents.of([token_ids(without_slurs(document), tokenizer) for document in text.split("\n\n")])
        for book, text in book_texts("measuring-books")
    }


def text_corpus(path: Path, tokenizer: Tokenizer, folder: Path | None = None) -> Corpus:
    """A UTF-8 text, one paragraph per line, an empty line between documents; one document in fifty is held
    out, and at least two.

    Args:
        path: the text.
        tokenizer: makes the ids.
        folder: where shards are kept; None for the user's cache.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not UTF-8, or has too few documents to train on some and hold out others.

    Source: the format of the authors' create_pretraining_data.py (Devlin et al. 2019), with paragraphs, not sentences.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} must be a text, one paragraph a line and an empty line between documents; there is no such file."
        )

    def documents() -> Iterator[tuple[str, bool]]:
        count = sum(1 for _ in read_documents(path))
        if count < 4:
            raise ValueError(f"{path} must have at least 4 documents, an empty line between two; got {count}.")
        every = min(HELD_OUT_EVERY, count // 2)
        for number, document in enumerate(read_documents(path)):
            yield document, number % every == every - 1

    with path.open("rb") as file:
        return make_shards(documents, iter(lambda: file.read(2**20), b""), tokenizer, folder)


def make_shards(
    documents: Callable[[], Iterable[tuple[str, bool]]],
    text: Iterable[bytes],
    tokenizer: Tokenizer,
    folder: Path | None,
) -> Corpus:
    """The shards of a text, which are written first if they do not exist.

    Args:
        documents: yields each document, and whether it is held out.
        text: the whole text, in pieces; the folder is named by a hash of this and the tokenizer.
        tokenizer: makes the ids.
        folder: where shards are kept, each text's in a folder of their own; None for the user's cache.
    """
    tokenizer = whole_texts(tokenizer)
    named = hashlib.sha256(f"{VERSION}\n{tokenizer.to_str()}\n{slur_hashes()}\n".encode())
    for piece in text:
        named.update(piece)
    digest = named.hexdigest()[:16]
    folder = Path(folder or pooch.os_cache("bertcourse") / "shards")
    if not (folder / digest).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".tokenizing-") as draft:
            write_shards(documents(), tokenizer, Path(draft, digest))
            try:
                Path(draft, digest).rename(folder / digest)
            except OSError:
                if not (folder / digest).is_dir():  # another process was first
                    raise
    return read_shards(folder / digest, tokenizer)


def write_shards(documents: Iterable[tuple[str, bool]], tokenizer: Tokenizer, folder: Path) -> None:
    """Tokenize documents, each given with whether it is held out, and write them in shards of ``SHARD_TOKENS``."""
    folder.mkdir(parents=True)
    dtype = np.uint16 if max(tokenizer.get_vocab().values()) < 2**16 else np.uint32
    waiting: dict[str, list[list[array]]] = {"train": [], "held-out": []}  # arrays with 4 bytes per token
    sizes, counts = dict.fromkeys(waiting, 0), dict.fromkeys(waiting, 0)

    def flush(part: str) -> None:
        shard, number = Documents.of(waiting[part]), counts[part]
        if number and sizes[part] < SHARD_TOKENS / 2:  # a remainder, too short for a shard of its own
            number -= 1
            shard = joined(Documents(*(np.load(folder / f"{part}-{number:05d}-{name}.npy") for name in PARTS)), shard)
        for name, numbers in zip(PARTS, shard):
            np.save(folder / f"{part}-{number:05d}-{name}.npy", numbers.astype(dtype) if name == "tokens" else numbers)
        waiting[part], sizes[part], counts[part] = [], 0, number + 1

    for document, is_held_out in tqdm(documents, desc="tokenizing", unit=" documents", disable=None):
        part = "held-out" if is_held_out else "train"
        if ids := token_ids(document, tokenizer):
            waiting[part].append(ids)
            sizes[part] += sum(map(len, ids))
            if sizes[part] >= SHARD_TOKENS:
                flush(part)
    for part in waiting:
        if waiting[part]:
            flush(part)
        if not counts[part]:
            raise ValueError(f"the {part} documents of the text have no words. Give a longer text.")
    (folder / "corpus.json").write_text(json.dumps({"version": VERSION, **counts}) + "\n", encoding="utf-8")


def token_ids(document: str, tokenizer: Tokenizer) -> list[array]:
    """The ids of each sentence that has any, from a tokenizer that cuts nothing."""
    texts = [sentence for paragraph in paragraphs(document) for sentence in sentences(paragraph)]
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [array("I", encoding.ids) for encoding in encodings if encoding.ids]


def joined(first: Documents, second: Documents) -> Documents:
    """The documents of both, as one shard."""
    return Documents(
        np.concatenate([first.tokens, second.tokens]),
        np.concatenate([first.sentences, first.sentences[-1] + second.sentences[1:]]),
        np.concatenate([first.documents, first.documents[-1] + second.documents[1:]]),
    )


def read_shards(folder: Path, tokenizer: Tokenizer) -> Corpus:
    """The shards in a folder, memory-mapped: no tokens are read yet."""
    try:
        counts = read_json(folder / "corpus.json")
        train, held_out = (
            [read_shard(folder, f"{part}-{number:05d}") for number in range(counts[part])]
            for part in ("train", "held-out")
        )
        if not train or not held_out:
            raise ValueError(f"corpus.json must count a shard or more of each part; got {counts}")
    except (EOFError, KeyError, OSError, TypeError, ValueError) as error:  # numpy raises EOFError for an empty file
        raise ValueError(
            f"the shards in {folder} are damaged ({error}). Delete the folder: the next run makes them again."
        ) from error
    return Corpus(train, held_out, tokenizer)


def read_shard(folder: Path, name: str) -> Documents:
    """A shard such as "train-00000", memory-mapped."""
    shard = Documents(*(np.load(folder / f"{name}-{part}.npy", mmap_mode="r") for part in PARTS))

    def cuts_up(starts: NDArray, size: int) -> bool:
        return len(starts) > 1 and starts[0] == 0 and starts[-1] == size and bool((np.diff(starts) > 0).all())

    if (
        any(array.ndim != 1 or array.dtype.kind not in "iu" for array in shard)
        or not cuts_up(shard.sentences, len(shard.tokens))
        or not cuts_up(shard.documents, len(shard.sentences) - 1)
    ):
        raise ValueError(f"the arrays of {name} do not fit one another")  # left by an earlier run, or cut short
    return shard


def sentences(paragraph: str) -> list[str]:
    """Cut a paragraph after . ! or ? and closing quotes if a capital or digit follows; not after "Mr." or an initial.

    >>> sentences('"Is Mr. J. Smith in?" He was. "No."')
    ['"Is Mr. J. Smith in?"', 'He was.', '"No."']
    """
    cut, start = [], 0
    for match in END_OF_SENTENCE.finditer(paragraph):
        word = re.search(r"[A-Za-z]*$", paragraph[start : match.start()])[0]
        is_abbreviation = word in ABBREVIATIONS or len(word) == 1 and word != "I"
        if match[0] != "." or not is_abbreviation:
            cut.append(paragraph[start : match.end()].strip())
            start = match.end()
    return [*cut, paragraph[start:].strip()]


def without_slurs(document: str) -> str:
    """The paragraphs of a document that contain no slur."""
    return "\n".join(paragraph for paragraph in paragraphs(document) if not has_slur(paragraph))


def has_slur(paragraph: str) -> bool:
    """Whether a paragraph contains a word of slurs.txt, which lists SHA-256 hashes so as not to spell out the words."""
    return any(map(is_slur, re.findall(r"[^\W\d_]+", paragraph.lower())))


@cache
def is_slur(word: str) -> bool:
    """Whether a word is on the list."""
    return hashlib.sha256(word.encode()).hexdigest() in slur_hashes()


@cache
def slur_hashes() -> tuple[str, ...]:
    """The list of slurs, as hashes."""
    return tuple((resources.files("bertcourse_lab.pretraining") / "slurs.txt").read_text(encoding="utf-8").split())
