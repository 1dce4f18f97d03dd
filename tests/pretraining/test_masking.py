"""Masking as the page does it: by hand, how much, what, and never special tokens."""

import math

import pytest
import torch
from tokenizers import Tokenizer, models

from bertcourse.pretraining import Vocabulary, hide, mask_tokens
from bertcourse.pretraining.masking import masks_per_row

SIZE = 1000
PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture
def vocabulary() -> Vocabulary:
    ids = torch.arange(SIZE)
    return Vocabulary(SIZE, PAD, CLS, SEP, MASK, is_special=ids < 5, is_continuation=ids >= 800)


@pytest.fixture
def rows() -> torch.Tensor:
    """2000 rows of 64: [CLS], words, [SEP], words, [SEP], and two of padding."""
    ids = torch.randint(5, 800, (2000, 64))
    ids[:, 0], ids[:, 30], ids[:, 61], ids[:, 62:] = CLS, SEP, SEP, PAD
    return ids


def within_binomial(hits: int, trials: int, rate: float) -> bool:
    """Five deviations: one false alarm in a million."""
    return abs(hits - trials * rate) <= 5 * math.sqrt(trials * rate * (1 - rate))


def test_three_fates_by_hand():
    ids, others = torch.tensor([[CLS, 10, 11, 12, SEP]]), torch.tensor([70, 80, 90])
    masked = hide(ids, torch.tensor([1, 2, 3]), others, torch.tensor([0.79, 0.81, 0.91]), MASK)
    assert masked.input_ids.tolist() == [[CLS, MASK, 80, 12, SEP]]
    assert masked.labels.tolist() == [10, 11, 12]
    assert ids.tolist() == [[CLS, 10, 11, 12, SEP]]  # unchanged


def test_80_10_10_of_15_percent_and_nothing_else(vocabulary, rows):
    masked = mask_tokens(rows, vocabulary)
    assert torch.equal(torch.bincount(masked.positions // 64), torch.full((2000,), 9))  # 15 % of 59
    assert torch.equal(masked.labels, rows.flatten()[masked.positions])
    others = torch.ones(rows.numel(), dtype=torch.bool).index_fill(0, masked.positions, False)
    assert torch.equal(masked.input_ids.flatten()[others], rows.flatten()[others])
    shown = masked.input_ids.flatten()[masked.positions]
    n, is_mask, kept = len(shown), (shown == MASK).sum().item(), (shown == masked.labels).sum().item()
    assert within_binomial(is_mask, n, 0.8)
    assert within_binomial(kept, n, 0.1 + 0.1 / 995)  # a random token may be the same one
    counts = torch.bincount(masked.positions % 64, minlength=64)
    assert all(within_binomial(counts[i].item(), 2000, 9 / 59) for i in range(64) if i not in (0, 30, 61, 62, 63))


def test_special_tokens_are_never_hidden_and_never_random(vocabulary, rows):
    rows[::3, 40:45] = UNK
    masked = mask_tokens(rows, vocabulary, rate=0.9)
    assert (masked.labels >= 5).all()
    shown = masked.input_ids.flatten()[masked.positions]
    assert ((shown == MASK) | (shown >= 5)).all()
    assert shown.unique().tolist() == [MASK, *range(5, SIZE)]  # any other token, though


def test_at_least_one_and_at_most_what_the_shortest_row_has():
    assert masks_per_row(torch.tensor([3, 3]), 0.15) == 1
    assert masks_per_row(torch.tensor([40, 2]), 0.5) == 2


def test_masks_are_drawn_from_the_generator(vocabulary, rows):
    first, again, other = (mask_tokens(rows, vocabulary, generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(first.input_ids, again.input_ids) and not torch.equal(first.positions, other.positions)


def test_vocabulary_of_a_tokenizer(small_tokenizer):
    vocabulary = Vocabulary.of(small_tokenizer)
    assert vocabulary.size == 50 and vocabulary[1:5] == (0, 2, 3, 4)
    assert vocabulary.is_special.nonzero().flatten().tolist() == [0, 1, 2, 3, 4]
    assert vocabulary.is_continuation.sum() == 22


def test_refuses_a_tokenizer_without_special_tokens():
    tokens = ["[PAD]", "[UNK]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    with pytest.raises(ValueError, match=r"missing: .*\[CLS\]"):
        Vocabulary.of(tokenizer)
