"""Text to shards on disk: cut into sentences, split by book, slurs left out, read without being loaded."""

import hashlib

import numpy as np
import pytest

from bertcourse_lab.datasets import books
from bertcourse_lab.datasets.books import paragraphs
from bertcourse_lab.pretraining import shards
from bertcourse_lab.pretraining.shards import books_corpus, has_slur, sentences, text_corpus

TEXT = "\n\n".join(f"a b c. {letter} d.\nb c." for letter in "defghijklmnopqrstu")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('"Is it?" she said. "No."', ['"Is it?" she said.', '"No."']),
        ("It is. (He knew.) Then", ["It is.", "(He knew.)", "Then"]),
        (
            "Mr. Darcy and Dr. J. H. Watson met St. Clare. They left.",
            ["Mr. Darcy and Dr. J. H. Watson met St. Clare.", "They left."],
        ),
        ("So did I. We left at 3.15 p.m. in 1854.", ["So did I.", "We left at 3.15 p.m. in 1854."]),
        ("no end", ["no end"]),
    ],
)
def test_sentences(paragraph, expected):
    assert sentences(paragraph) == expected


def test_a_text_becomes_shards_and_is_tokenized_once(text, small_tokenizer, tmp_path, monkeypatch):
    made = text_corpus(text, small_tokenizer, tmp_path / "shards")
    assert [len(made.train), len(made.held_out)] == [1, 1]
    assert len(made.train[0].documents) - 1 == 16 and len(made.held_out[0].documents) - 1 == 2
    first = made.train[0].tokens[: made.train[0].sentences[made.train[0].documents[1]]].tolist()
    assert small_tokenizer.decode(first) == "a b c . d d . b c ."
    assert isinstance(made.train[0].tokens, np.memmap) and made.train[0].tokens.dtype == np.uint16
    monkeypatch.setattr(shards, "write_shards", None)
    assert (
        text_corpus(text, small_tokenizer, tmp_path / "shards").train[0].tokens.tolist()
        == made.train[0].tokens.tolist()
    )


def test_a_tokenizer_that_truncates_or_pads_shortens_nothing(text, small_tokenizer, tmp_path):
    whole = text_corpus(text, small_tokenizer, tmp_path / "shards")
    cutting = type(small_tokenizer).from_str(small_tokenizer.to_str())
    cutting.enable_truncation(3)
    cutting.enable_padding(length=9)
    assert text_corpus(text, cutting, tmp_path / "shards").train[0].tokens.tolist() == whole.train[0].tokens.tolist()


def test_a_long_text_has_several_shards(text, small_tokenizer, tmp_path, monkeypatch):
    whole = text_corpus(text, small_tokenizer, tmp_path / "one")
    monkeypatch.setattr(shards, "SHARD_TOKENS", 40)
    made = text_corpus(text, small_tokenizer, tmp_path / "many")
    assert len(made.train) > 2 and all(
        len(shard.tokens) >= 20 for shard in made.train
    )  # the remainder has joined the last
    assert all(
        np.array_equal(shard.sentences[shard.documents[[0, -1]]], [0, len(shard.tokens)]) for shard in made.train
    )
    assert np.concatenate([shard.tokens for shard in made.train]).tolist() == whole.train[0].tokens.tolist()


def test_a_text_is_never_read_as_a_whole(text, small_tokenizer, tmp_path, monkeypatch):
    whole = type(text).read_text
    monkeypatch.setattr(type(text), "read_text", lambda path, **how: whole(path, **how) if path != text else 1 / 0)
    made = text_corpus(text, small_tokenizer, tmp_path / "shards")
    assert len(made.train[0].documents) - 1 == 16
    assert list(shards.read_documents(text))[:2] == ["a b c. d d.\nb c.\n", "a b c. e d.\nb c.\n"]


@pytest.fixture
def library(monkeypatch):
    """One small text a set of books, and for "books" a held-out one; "bad" is a slur."""
    contents = {
        "books": {"kept": "a b c.\nBad b.\n\nc a. b b.\n", shards.HELD_OUT_BOOKS[0]: "d e f.\n"},
        "more-books": {"more": "e e. bad.\nf f f.\n"},
        "measuring-books": {"measured": "g g.\nbad.\n\nh.\n"},
    }

    def read_books(name):
        texts = contents[name].items()
        return [books.Book(book, "", hashlib.sha256(text.encode()).hexdigest(), frozenset()) for book, text in texts]

    monkeypatch.setattr(shards, "read_books", read_books)
    monkeypatch.setattr(shards, "book_texts", lambda name: zip(read_books(name), contents[name].values()))
    monkeypatch.setattr(shards, "standard_ebooks", lambda: "\n".join(contents["books"].values()))
    monkeypatch.setattr(shards, "slur_hashes", lambda: (hashlib.sha256(b"bad").hexdigest(),))
    shards.is_slur.cache_clear()
    yield contents
    shards.is_slur.cache_clear()


def test_books_are_split_by_book_and_lose_paragraphs_with_a_slur(library, small_tokenizer, tmp_path):
    made = books_corpus(small_tokenizer, tmp_path)
    assert small_tokenizer.decode(made.train[0].tokens.tolist()) == "a b c . c a . b b ."
    assert len(made.train[0].documents) == 3
    assert small_tokenizer.decode(made.held_out[0].tokens.tolist()) == "d e f ."


def test_more_books_hold_out_the_same_and_are_read_once(library, small_tokenizer, tmp_path, monkeypatch):
    made = books_corpus(small_tokenizer, tmp_path, more=True)
    assert small_tokenizer.decode(made.train[0].tokens.tolist()) == "a b c . c a . b b . f f f ."
    assert small_tokenizer.decode(made.held_out[0].tokens.tolist()) == "d e f ."
    monkeypatch.setattr(shards, "book_texts", None)
    assert len(books_corpus(small_tokenizer, tmp_path, more=True).train[0].documents) == 4


def test_shards_of_the_books_lie_where_they_did(library, small_tokenizer, tmp_path):
    books_corpus(small_tokenizer, tmp_path)
    known = f"1\n{small_tokenizer.to_str()}\n{shards.slur_hashes()}\n" + "\n".join(library["books"].values())
    assert [path.name for path in tmp_path.iterdir()] == [hashlib.sha256(known.encode()).hexdigest()[:16]]


def test_books_to_measure_on_are_read_one_by_one(library, small_tokenizer):
    made = shards.measuring_books(small_tokenizer)
    assert list(made) == ["measured"] and len(made["measured"].documents) == 3
    assert small_tokenizer.decode(made["measured"].tokens.tolist()) == "g g . h ."


@pytest.mark.parametrize("name", ["books", "more-books"])
def test_no_book_to_measure_on_is_trained_on(name):
    measured, trained = (
        {book.name.split("_")[1] for book in books.read_books(each)} - {"short-fiction"}  # there is one of each author
        for each in ("measuring-books", name)
    )
    assert len(measured) == 7 and not measured & trained
    assert "h-p-lovecraft_short-fiction" not in {book.name for book in books.read_books(name)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["books", "more-books"])
def test_no_paragraph_to_measure_on_is_trained_on(name):
    """A sample of those with 80 characters or more, where the texts are on this disk."""
    if not (books.has_books("measuring-books") and books.has_books(name)):
        pytest.skip(f"bertcourse data get measuring-books {name}")
    sample = {p for _, text in books.book_texts("measuring-books") for p in paragraphs(text) if len(p) >= 80}
    sample = set(sorted(sample)[::10])
    assert len(sample) > 3000
    assert not [p for _, text in books.book_texts(name) for p in paragraphs(text) if p in sample]


def test_another_text_is_not_taken_for_the_books():
    with pytest.raises(ValueError, match="standard_ebooks"):
        list(books.books("Once upon a time.\n"))


def test_slurs_are_found_by_hash():
    assert len(shards.slur_hashes()) > 40 and all(len(digest) == 64 for digest in shards.slur_hashes())
    assert not has_slur("The heathen savage ate a chink of raccoon, said the gypsy.")


def test_held_out_books_are_in_the_registry():
    assert set(shards.HELD_OUT_BOOKS) <= {book.name for book in books.read_books("books")}


def test_refuses_texts_that_cannot_be_trained_on(small_tokenizer, tmp_path):
    with pytest.raises(FileNotFoundError, match="text.*no such file"):
        text_corpus(tmp_path / "absent.txt", small_tokenizer, tmp_path)
    path = tmp_path / "text.txt"
    for content, message in ((b"", "got 0"), (b"One.\n\nTwo.\n", "got 2"), (b"\xff\xfe", "UTF-8")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            text_corpus(path, small_tokenizer, tmp_path)


def rewrite(name, change):
    """Changes an array in a file."""
    return lambda folder: np.save(folder / name, change(np.load(folder / name)))


def cut_short(name, size):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "corpus.json").write_text("[1, 1]"),
        lambda folder: (folder / "corpus.json").write_text('{"train": 1}'),
        lambda folder: (folder / "corpus.json").write_text('{"train": "1"}'),
        lambda folder: (folder / "corpus.json").unlink(),
        cut_short("train-00000-tokens.npy", 0),
        cut_short("train-00000-tokens.npy", 150),
        rewrite("train-00000-tokens.npy", lambda tokens: tokens[:-1]),
        rewrite("train-00000-tokens.npy", lambda tokens: tokens[:0]),
        rewrite("train-00000-tokens.npy", lambda tokens: tokens / 2),
        rewrite("train-00000-sentences.npy", lambda starts: starts[:0]),
        rewrite("train-00000-sentences.npy", lambda starts: starts[[0, 2, 1, *range(3, len(starts))]]),
        rewrite("held-out-00000-documents.npy", lambda starts: starts[:-1]),
    ],
)
def test_damaged_shards_are_refused(text, small_tokenizer, tmp_path, damage):
    text_corpus(text, small_tokenizer, tmp_path / "shards")
    (folder,) = (tmp_path / "shards").iterdir()
    damage(folder)
    with pytest.raises(ValueError, match="damaged .* Delete the folder"):
        text_corpus(text, small_tokenizer, tmp_path / "shards")


def test_an_interrupted_tokenization_leaves_nothing(text, small_tokenizer, tmp_path, monkeypatch):
    def interrupt(paragraph):
        raise KeyboardInterrupt

    monkeypatch.setattr(shards, "sentences", interrupt)
    with pytest.raises(KeyboardInterrupt):
        text_corpus(text, small_tokenizer, tmp_path / "shards")
    assert list((tmp_path / "shards").iterdir()) == []
