"""Pairs of which half follow each other, as tensors, in an endless stream."""

import itertools
import random

import pytest
import torch

from bertcourse.pretraining import IGNORE, IS_NEXT, NOT_NEXT, Documents, Vocabulary, batches, collate, sentence_pairs
from bertcourse.pretraining.pairs import truncate

SIZE = 60_000
VOCABULARY = Vocabulary(SIZE, 0, 2, 3, 4, torch.arange(SIZE) < 5, torch.zeros(SIZE, dtype=torch.bool))


@pytest.fixture
def documents() -> list[list[list[int]]]:
    """200 documents of 1 to 30 sentences of 1 to 20 tokens, each with an id of its own, from 5 on."""
    rng, ids = random.Random(0), itertools.count(5)
    sizes = [[rng.randrange(1, 21) for _ in range(rng.randrange(1, 31))] for _ in range(200)]
    return [[[next(ids) for _ in range(size)] for size in document] for document in sizes]


def test_a_pair_by_hand():
    documents = [[[5, 6], [7]], [[8], [9, 10]]]
    for a, b, label in sentence_pairs(documents, 12, random.Random(3)) + sentence_pairs(
        documents, 12, random.Random(1)
    ):
        assert (a + b in ([5, 6, 7], [8, 9, 10])) == (label == IS_NEXT)
    batch = collate([([5, 6], [7], IS_NEXT), ([8], [5], NOT_NEXT)], VOCABULARY)
    assert batch.input_ids.tolist() == [[2, 5, 6, 3, 7, 3], [2, 8, 3, 5, 3, 0]]
    assert batch.token_type_ids.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]]
    assert batch.attention_mask.tolist() == [[1] * 6, [1] * 5 + [0]]
    assert batch.nsp_labels.tolist() == [IS_NEXT, NOT_NEXT] and batch.num_tokens == 11
    assert IGNORE not in (IS_NEXT, NOT_NEXT)


def test_half_of_the_pairs_follow_and_the_others_are_of_another_document(documents):
    home = {token: number for number, each in enumerate(documents) for sentence in each for token in sentence}
    pairs = sentence_pairs(documents, 40, random.Random(2))
    for a, b, label in pairs:
        assert a and b and len(a) + len(b) <= 37
        assert (home[a[0]] == home[b[0]]) == (label == IS_NEXT)
        if label == IS_NEXT:
            assert b[0] > a[-1]
    share = sum(label for _, _, label in pairs) / len(pairs)
    assert abs(share - 0.5) < 5 * 0.5 / len(pairs) ** 0.5
    assert sum(len(a) + len(b) for a, b, _ in pairs) / len(pairs) > 33  # rows are nearly full


def test_the_longer_segment_is_cut_at_either_end():
    rng, front = random.Random(0), 0
    for _ in range(300):
        a, b = truncate([*range(9)], [*range(4)], 11, rng)
        assert len(a) == 7 and b == [0, 1, 2, 3]
        front += a[0]
    assert 240 < front < 360


def test_batches_of_like_length_come_for_ever_with_new_holes(documents):
    stream = batches(documents, VOCABULARY, length=40, batch_size=8, rate=0.3, seed=1)
    per_epoch = len(sentence_pairs(documents, 40, random.Random(1))) // 8
    made = list(itertools.islice(stream, 3 * per_epoch))
    tokens = sum(rows.num_tokens for _, rows in made)
    assert sum(rows.input_ids.numel() for _, rows in made) < 1.05 * tokens
    holes = sum(len(masked.labels) for masked, _ in made)
    assert 0.25 < holes / (tokens - 3 * 8 * len(made)) < 0.32
    again = list(itertools.islice(batches(documents, VOCABULARY, length=40, batch_size=8, rate=0.3, seed=1), 3))
    assert all(torch.equal(x.input_ids, y.input_ids) for (x, _), (y, _) in zip(made, again))
    assert len({tuple(masked.labels.tolist()) for masked, _ in made}) == len(made)


def test_documents_leave_out_what_is_empty():
    documents = Documents.of([[[5], []], [], [[6, 7]]])
    assert [part.tolist() for part in documents] == [[5, 6, 7], [0, 1, 3], [0, 1, 2]]
    assert documents.lists() == [[[5]], [[6, 7]]]
