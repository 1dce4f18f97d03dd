"""Documents to rows: pairs of which half follow one another, and rows packed full."""

import random

import numpy as np
import pytest
import torch

from bertcourse.pretraining import IGNORE, IS_NEXT, NOT_NEXT, Documents, Vocabulary
from bertcourse.pretraining import sentence_pairs as page_sentence_pairs
from bertcourse.pretraining.pairs import truncate
from bertcourse_lab.pretraining.rows import (
    collate,
    pack_documents,
    sentence_pairs,
    truncate_pairs,
    uniform_numbers,
)

Sentences = list[list[int]]  # each a list of token ids
VOCABULARY = Vocabulary(20_000, 0, 2, 3, 4, torch.arange(20_000) < 5, torch.zeros(20_000, dtype=torch.bool))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def documents(rng) -> Documents:
    """300 documents of 2 to 30 sentences of 1 to 40 tokens, each token's id telling where it stands."""
    sizes = [rng.integers(1, 41, rng.integers(2, 31)).tolist() for _ in range(300)]
    counter = iter(range(10**9))
    return Documents.of([[[next(counter) for _ in range(size)] for size in document] for document in sizes])


class Draws:
    """The page's draws, from the numbers that the fast function takes, which has one more to begin each row."""

    def __init__(self, numbers):
        self.random = numbers.__next__

    def randrange(self, start: int, stop: int | None = None) -> int:
        if stop is not None:  # a row begins: shall it be short?
            self.random()
        start, stop = (0, start) if stop is None else (start, stop)
        return start + int(self.random() * (stop - start))


def plain_packing(documents: list[Sentences], length: int, cross_documents: bool = True) -> list[list[list[int]]]:
    """The texts of each row, each to be followed by a [SEP]."""
    rows: list[list[list[int]]] = [[]]

    def room() -> int:
        return length - 1 - sum(len(text) + 1 for text in rows[-1])  # beside [CLS], and each text with its [SEP]

    for document in documents:
        if not cross_documents or room() < 2:
            rows.append([])
        text: list[int] = []
        for sentence in document:
            while len(text) + len(sentence) + 1 > room():
                if not text and not rows[-1]:  # longer than a row: it is cut
                    text, sentence = sentence[: length - 2], sentence[length - 2 :]
                rows[-1] += [text] if text else []
                rows.append([])
                text = []
            text = text + sentence
        rows[-1].append(text)
    return [row for row in rows if row]


def document_of(documents: Documents, token: int) -> int:
    sentence = np.searchsorted(documents.sentences, token, side="right") - 1
    return int(np.searchsorted(documents.documents, sentence, side="right") - 1)


def test_a_pair_by_hand():
    rows = sentence_pairs(Documents.of([[[5, 6], [7]], [[8], [9, 10]]]), 12, np.random.default_rng(3))
    batch = collate(Documents.of([[[5, 6], [7]], [[8], [9, 10]]]), rows, np.arange(len(rows)), VOCABULARY)
    for ids, segments, label in zip(batch.input_ids.tolist(), batch.token_type_ids.tolist(), batch.nsp_labels.tolist()):
        first, second = " ".join(map(str, ids)).rstrip(" 0").removeprefix("2 ").removesuffix(" 3").split(" 3 ")
        assert (f"{first} {second}" in ("5 6 7", "8 9 10")) == (label == IS_NEXT)
        assert segments[: 2 + len(first.split())] == [0] * (2 + len(first.split()))
        assert sum(segments) == len(second.split()) + 1


def test_rows_are_the_pages_pairs(documents, monkeypatch):
    """Segment by segment; where something is cut off, its length, as the ends from which it comes off are random."""
    rows = sentence_pairs(documents, 64, np.random.default_rng(5))
    monkeypatch.setattr("bertcourse.pretraining.pairs.truncate", lambda a, b, *_: (a, b))
    uncut = page_sentence_pairs(documents.lists(), 64, Draws(uniform_numbers(np.random.default_rng(5))))
    assert rows.nsp_labels.tolist() == [label for _, _, label in uncut]
    untouched = 0
    for (first, second), (a, b, _) in zip(rows.spans.reshape(-1, 2, 2).tolist(), uncut):
        kept = truncate([*a], [*b], 61, random.Random(0))
        assert (first[1] - first[0], second[1] - second[0]) == tuple(map(len, kept))
        assert a[0] <= first[0] < first[1] <= a[-1] + 1 and b[0] <= second[0] < second[1] <= b[-1] + 1
        untouched += kept == (a, b)
    assert untouched > 100


@pytest.mark.parametrize("cross_documents", [True, False])
@pytest.mark.parametrize("length", [3, 4, 20, 48, 200])
def test_fast_packing_equals_plain(documents, rng, length, cross_documents):
    short_ones = Documents.of([[[5] * size for size in rng.integers(1, 4, 2)] for _ in range(200)])
    for each in (documents, short_ones):
        rows = pack_documents(each, length, cross_documents)
        texts = [each.tokens[start:stop].tolist() for start, stop in rows.spans]
        fast = [texts[first:last] for first, last in zip(rows.first_span, rows.first_span[1:])]
        assert fast == plain_packing(each.lists(), length, cross_documents)
        assert rows.lengths.tolist() == [1 + sum(len(text) + 1 for text in row) for row in fast]


def test_half_of_the_pairs_follow_one_another(documents, rng):
    labels = np.concatenate([sentence_pairs(documents, 64, rng).nsp_labels for _ in range(5)])
    assert set(labels) == {IS_NEXT, NOT_NEXT} and IGNORE not in (IS_NEXT, NOT_NEXT)
    assert abs(labels.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(labels))


def test_what_follows_is_of_the_same_document_and_what_does_not_of_another(documents, rng):
    rows = sentence_pairs(documents, 64, rng)
    for (a, b), label in zip(rows.spans.reshape(-1, 2, 2), rows.nsp_labels):
        assert a[0] < a[1] and b[0] < b[1]
        same = document_of(documents, a[0]) == document_of(documents, b[0])
        assert same == (label == IS_NEXT)
        if same:
            assert b[0] >= a[1]


def test_rows_are_full_and_never_too_long(documents, rng):
    rows = sentence_pairs(documents, 64, rng)
    assert rows.lengths.max() == 64 and rows.lengths.mean() > 58
    short = sentence_pairs(documents, 64, rng, short_rate=1.0)
    assert short.lengths.mean() < rows.lengths.mean() - 5


def test_fast_truncation_equals_plain(rng):
    """Lengths exactly, ends in distribution."""
    sizes = rng.integers(1, 100, (500, 2))
    pairs = np.stack([np.zeros_like(sizes), sizes], axis=-1)
    cut = truncate_pairs(pairs, 61, rng)
    draws = random.Random(0)
    plain = [truncate([*range(a)], [*range(b)], 61, draws) for a, b in sizes.tolist()]
    assert (cut[:, :, 1] - cut[:, :, 0]).tolist() == [[len(a), len(b)] for a, b in plain]
    removed = (sizes - (cut[:, :, 1] - cut[:, :, 0])).sum()
    for removed_at_front in (cut[:, :, 0].sum(), sum(a[0] + b[0] for a, b in plain)):
        assert abs(removed_at_front - removed / 2) < 5 * np.sqrt(removed) / 2


def test_a_document_of_one_sentence_serves_others_only(rng):
    documents = Documents.of([[[5] * 8]] * 3 + [[[6] * 4] * 6])
    rows = sentence_pairs(documents, 16, rng)
    assert all(documents.tokens[a] == 6 for a, _ in rows.spans[::2])
    assert {int(documents.tokens[a]) for a, _ in rows.spans[1::2]} <= {5, 6}


@pytest.mark.parametrize("cross_documents", [True, False])
def test_packing_keeps_every_token_once_and_in_order(documents, cross_documents):
    rows = pack_documents(documents, 48, cross_documents)
    assert np.array_equal(np.concatenate([np.arange(a, b) for a, b in rows.spans]), np.arange(len(documents.tokens)))
    assert rows.lengths.max() <= 48 and (rows.nsp_labels == IGNORE).all()
    batch = collate(documents, rows, np.arange(len(rows)), VOCABULARY)
    assert batch.attention_mask.sum() == rows.lengths.sum()
    assert batch.token_type_ids.sum() == 0


def test_full_sentences_put_a_separator_between_documents():
    documents = Documents.of([[[5, 6]], [[7], [8]], [[9] * 5]])
    batch = collate(documents, (rows := pack_documents(documents, 9)), np.arange(len(rows)), VOCABULARY)
    assert batch.input_ids.tolist() == [[2, 5, 6, 3, 7, 8, 3], [2, 9, 9, 9, 9, 9, 3]]


def test_doc_sentences_begin_a_row_with_each_document():
    documents = Documents.of([[[5, 6]], [[7], [8]]])
    batch = collate(
        documents, (rows := pack_documents(documents, 9, cross_documents=False)), np.arange(len(rows)), VOCABULARY
    )
    assert batch.input_ids.tolist() == [[2, 5, 6, 3], [2, 7, 8, 3]]
    assert batch.attention_mask is None


def test_a_sentence_longer_than_a_row_is_cut():
    documents = Documents.of([[list(range(5, 25)), [30]]])
    rows = pack_documents(documents, 10)
    batch = collate(documents, rows, np.arange(len(rows)), VOCABULARY)
    assert batch.input_ids[:, :3].tolist() == [[2, 5, 6], [2, 13, 14], [2, 21, 22]]
    assert batch.input_ids[2].tolist() == [2, 21, 22, 23, 24, 30, 3, 0, 0, 0]


def test_rows_of_a_memory_map_are_the_same(documents, rng, tmp_path):
    np.save(tmp_path / "tokens.npy", documents.tokens.astype(np.uint32))
    mapped = documents._replace(tokens=np.load(tmp_path / "tokens.npy", mmap_mode="r"))
    rows = pack_documents(documents, 32)
    chosen = rng.permutation(len(rows))[:20]
    for here, there in zip(collate(documents, rows, chosen, VOCABULARY), collate(mapped, rows, chosen, VOCABULARY)):
        assert torch.equal(here, there)


def test_refuses_what_cannot_be_paired_or_packed(rng, documents):
    for too_few in ([[[5], [6]]], [[[5]], [[6]]]):
        with pytest.raises(ValueError, match="at least two documents"):
            sentence_pairs(Documents.of(too_few), 64, rng)
    with pytest.raises(ValueError, match="length"):
        sentence_pairs(documents, 4, rng)
    with pytest.raises(ValueError, match="short_rate"):
        sentence_pairs(documents, 64, rng, short_rate=2)
    with pytest.raises(ValueError, match="one document"):
        pack_documents(Documents.of([]), 64)
    with pytest.raises(ValueError, match="length"):
        pack_documents(documents, 2)
