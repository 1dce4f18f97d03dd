"""A text as token ids on disk, ready to be read piece by piece: what a training run reads, and what it is measured on.

A text is read document by document, cut into sentences, tokenized once, and kept in shards of some million tokens.
They are mapped into memory, so that a corpus may be larger than it, and the processes of one machine share it.
"""

import hashlib
import json
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pooch
from tokenizers import Tokenizer
from tqdm import tqdm

from bertcourse.datasets.data import books, paragraphs, standard_ebooks
from bertcourse.files import read_json
from bertcourse.pretraining.pairs import Documents

HELD_OUT_BOOKS = (
    "arthur-conan-doyle_the-hound-of-the-baskervilles",
    "f-scott-fitzgerald_the-great-gatsby",
    "h-g-wells_the-time-machine",
    "henry-david-thoreau_walden",
    "rudyard-kipling_the-jungle-book",
)
HELD_OUT_EVERY = 50  # of another text, one document in so many is held out
SHARD_TOKENS = 32_000_000  # rows are shuffled within a shard; shuffle the documents of a larger corpus yourself
PARTS = Documents._fields
VERSION = 1  # of how a text becomes shards; another number makes them anew

END_OF_SENTENCE = re.compile(r"""[.!?]["')\]]*(?=\s+["'(\[]*[A-Z0-9])""")
ABBREVIATIONS = frozenset(
    (
        "Mr Mrs Ms Dr St Messrs Mme Mlle Prof Rev Hon Esq Capt Col Gen Lieut Lt Sgt Gov Sen Jr Sr No Vol Chap Fig "
        "vs viz cf "
        "etc ca"
    ).split()
)


class Corpus(NamedTuple):
    """What a run trains on and is measured on.

    Attributes:
        train: shards to train on.
        held_out: shards of other documents, to measure on.
        tokenizer: that made the ids.
        probe: further measurements of a model, by name, or None.
    """

    train: list[Documents]
    held_out: list[Documents]
    tokenizer: Tokenizer
    probe: Callable | None = None


def books_corpus(tokenizer: Tokenizer, folder: Path | None = None) -> Corpus:
    """Standard Ebooks, five books of them held out; paragraphs with a slur are left out.

    Args:
        tokenizer: makes the ids.
        folder: where shards are kept; None for the user's cache.

    Raises:
        ConnectionError, ValueError: as ``standard_ebooks``.

    Source: standardebooks.org.
    """
    text = standard_ebooks()

    def documents() -> Iterator[tuple[str, bool]]:
        for book, content in books(text):
            for document in content.split("\n\n"):
                yield "\n".join(p for p in paragraphs(document) if not has_slur(p)), book.name in HELD_OUT_BOOKS

    return make_shards(documents, [text.encode()], tokenizer, folder)


def text_corpus(path: Path, tokenizer: Tokenizer, folder: Path | None = None) -> Corpus:
    """A UTF-8 text, one paragraph a line, an empty line between documents; one document in fifty is held out.

    Args:
        path: the text.
        tokenizer: makes the ids.
        folder: where shards are kept; None for the user's cache.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not UTF-8, or has no documents to train on and to hold out.

    Source: the format of the authors' create_pretraining_data.py (Devlin et al. 2019), with paragraphs for sentences.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"expected a text, one paragraph a line and an empty line between documents, in {path}; there is no "
            f"such file."
        )

    def documents() -> Iterator[tuple[str, bool]]:
        count = sum(1 for _ in read_documents(path))
        if count < 4:
            raise ValueError(
                f"{path} must have at least 4 documents, with an empty line between two, to train on some and hold out "
                f"another; got {count}."
            )
        every = min(HELD_OUT_EVERY, count // 2)
        for number, document in enumerate(read_documents(path)):
            yield document, number % every == every - 1

    with path.open("rb") as file:
        return make_shards(documents, iter(lambda: file.read(2**20), b""), tokenizer, folder)


def read_documents(path: Path) -> Iterator[str]:
    """The documents of a text, one after the other.

    Raises:
        ValueError: if it is not UTF-8.
    """
    lines: list[str] = []
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    lines.append(line)
                elif lines:
                    yield "".join(lines)
                    lines = []
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8; {error}. Save it in that encoding.") from None
    if lines:
        yield "".join(lines)


def make_shards(
    documents: Callable[[], Iterable[tuple[str, bool]]],
    text: Iterable[bytes],
    tokenizer: Tokenizer,
    folder: Path | None,
) -> Corpus:
    """The shards of a text, written if they are not there yet.

    Args:
        documents: gives each document, and whether it is held out.
        text: all of it, in pieces; with the tokenizer it names the folder.
        tokenizer: makes the ids.
        folder: where shards are kept, in a folder of their own; None for the user's cache.

    Raises:
        ValueError: if a part has no text, or shards are damaged.
        OSError: if the disk fails or is full.
    """
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
    """Tokenize documents and write them in pieces of ``SHARD_TOKENS``.

    Args:
        documents: each with whether it is held out.
        tokenizer: makes the ids.
        folder: made by this function.

    Raises:
        ValueError: if a part has no text.
    """
    folder.mkdir(parents=True)
    dtype = np.uint16 if tokenizer.get_vocab_size() <= 2**16 else np.uint32
    waiting: dict[str, list[list[array]]] = {"train": [], "held-out": []}  # arrays of 4 bytes a token
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
        encodings = tokenizer.encode_batch(
            [s for p in paragraphs(document) for s in sentences(p)], add_special_tokens=False
        )
        if ids := [array("I", encoding.ids) for encoding in encodings if encoding.ids]:
            waiting[part].append(ids)
            sizes[part] += sum(map(len, ids))
            if sizes[part] >= SHARD_TOKENS:
                flush(part)
    for part in waiting:
        if waiting[part]:
            flush(part)
        if not counts[part]:
            raise ValueError(f"the text must have words in its {part} documents; it has none. Give a longer text.")
    (folder / "corpus.json").write_text(json.dumps({"version": VERSION, **counts}) + "\n", encoding="utf-8")


def joined(first: Documents, second: Documents) -> Documents:
    """The documents of both."""
    return Documents(
        np.concatenate([first.tokens, second.tokens]),
        np.concatenate([first.sentences, first.sentences[-1] + second.sentences[1:]]),
        np.concatenate([first.documents, first.documents[-1] + second.documents[1:]]),
    )


def read_shards(folder: Path, tokenizer: Tokenizer) -> Corpus:
    """The shards in a folder, mapped into memory; of the tokens no more is read than how many they are.

    Raises:
        ValueError: if a file is missing, cut short, or does not fit the others.
    """
    try:
        counts = read_json(folder / "corpus.json")
        parts = {}
        for part in ("train", "held-out"):
            if not isinstance(counts.get(part), int) or counts[part] < 1:
                raise ValueError(f"corpus.json must have the number of {part} shards; got {counts.get(part)!r}")
            parts[part] = [read_shard(folder, f"{part}-{number:05d}") for number in range(counts[part])]
    except (EOFError, OSError, ValueError) as error:  # numpy has an EOFError for an empty file
        raise ValueError(
            f"the shards in {folder} are damaged ({error}). Delete the folder: the next run makes them again."
        ) from error
    return Corpus(parts["train"], parts["held-out"], tokenizer)


def read_shard(folder: Path, name: str) -> Documents:
    """A shard, mapped into memory.

    Args:
        folder: of the corpus.
        name: such as "train-00000".

    Raises:
        ValueError: if its arrays do not fit one another, as those of an earlier run or of a copy that was cut short.
    """
    shard = Documents(*(np.load(folder / f"{name}-{part}.npy", mmap_mode="r") for part in PARTS))
    for part, row in zip(PARTS, shard):
        if row.ndim != 1 or row.dtype.kind not in "iu":
            raise ValueError(f"{name}-{part}.npy must hold a row of integers; got {row.dtype} of shape {row.shape}")
    for part, starts, size in (
        ("sentences", shard.sentences, len(shard.tokens)),
        ("documents", shard.documents, len(shard.sentences) - 1),
    ):
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 1).any():
            raise ValueError(f"{name}-{part}.npy must rise from 0 to {size}, where what it cuts up ends; it does not")
    return shard


def sentences(paragraph: str) -> list[str]:
    """Cut a paragraph after . ! or ? and closing quotes, before a capital letter, but not after "Mr." or an initial.

    >>> sentences('"Is Mr. J. Smith in?" He was. "No."')
    ['"Is Mr. J. Smith in?"', 'He was.', '"No."']
    """
    cut, start = [], 0
    for match in END_OF_SENTENCE.finditer(paragraph):
        before = re.search(r"[A-Za-z]+$", paragraph[start : match.start()])
        is_abbreviation = (
            match[0] == "." and before and (before[0] in ABBREVIATIONS or len(before[0]) == 1 and before[0] != "I")
        )
        if not is_abbreviation:
            cut.append(paragraph[start : match.end()].strip())
            start = match.end()
    return [*cut, paragraph[start:].strip()]


def has_slur(paragraph: str) -> bool:
    """Whether a paragraph has a word whose SHA-256 is in slurs.txt, which so does not have to spell them."""
    return any(map(is_slur, re.findall(r"[^\W\d_]+", paragraph.lower())))


@cache
def is_slur(word: str) -> bool:
    """Whether a word's hash is on the list."""
    return hashlib.sha256(word.encode()).hexdigest() in slur_hashes()


@cache
def slur_hashes() -> tuple[str, ...]:
    """The list of hashes, one a line."""
    return tuple((resources.files("bertcourse.pretraining") / "slurs.txt").read_text(encoding="utf-8").split())
