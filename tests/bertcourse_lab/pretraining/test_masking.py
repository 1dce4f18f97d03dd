"""Masking: how much, what, never special tokens, and the same number in every row."""

import math

import pytest
import torch
from torch import Tensor

from bertcourse.pretraining import IGNORE, MaskedTokens, Vocabulary
from bertcourse.pretraining import mask_tokens as page_mask_tokens
from bertcourse.pretraining.masking import masks_per_row
from bertcourse_lab.pretraining.masking import LAST, mask_tokens

SIZE = 1000
PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture
def vocabulary() -> Vocabulary:
    ids = torch.arange(SIZE)
    return Vocabulary(SIZE, PAD, CLS, SEP, MASK, is_special=ids < 5, is_continuation=ids >= 800)


@pytest.fixture
def rows() -> torch.Tensor:
    """400 rows of 64: [CLS], words, [SEP], words, [SEP], and two of padding."""
    ids = torch.randint(5, 800, (400, 64))
    ids[:, 0], ids[:, 30], ids[:, 61], ids[:, 62:] = CLS, SEP, SEP, PAD
    return ids


def within_binomial(hits: int, trials: int, rate: float) -> bool:
    """Five deviations: one false alarm in a million."""
    return abs(hits - trials * rate) <= 5 * math.sqrt(trials * rate * (1 - rate))


def columns_of_words(tokens: list[int], vocabulary: Vocabulary) -> list[list[int]]:
    """The columns of each word of a row; special tokens belong to none."""
    words: list[list[int]] = []
    for column, token in enumerate(tokens):
        if vocabulary.is_special[token]:
            continue
        if words and words[-1][-1] == column - 1 and vocabulary.is_continuation[token]:
            words[-1].append(column)
        else:
            words.append([column])
    return words


def keep_words_together(numbers: Tensor, words: list[list[int]], count: int) -> None:
    """Change a row's random numbers so that its ``count`` smallest belong to whole words."""
    reached = 0
    for word in sorted(words, key=lambda word: numbers[word[0]]):
        reached += len(word)
        is_cut = reached > count and len(word) > 1
        numbers[word] = numbers[word[0]] + 2 * is_cut


def plain_mask_tokens(
    input_ids: Tensor,
    vocabulary: Vocabulary,
    rate: float = 0.15,
    count: int | None = None,
    whole_words: bool = False,
    random_weights: Tensor | None = None,
    generator: torch.Generator | None = None,
    mask_share: float = 0.8,
    random_share: float = 0.1,
    first: Tensor | None = None,
) -> MaskedTokens:
    """``mask_tokens``, token by token, with the same random draws."""
    input_ids = input_ids.long()
    is_special = vocabulary.is_special[input_ids]
    if count is None:
        count = masks_per_row((~is_special).sum(1), rate)
    numbers = torch.rand(input_ids.shape, generator=generator)
    if first is not None:
        numbers -= (torch.rand(input_ids.shape, generator=generator) < first).float()
    if whole_words:
        for row, tokens in enumerate(input_ids.tolist()):
            keep_words_together(numbers[row], columns_of_words(tokens, vocabulary), count)
    numbers[is_special] = LAST
    chosen = [
        (row, column)
        for row in range(len(numbers))
        for column in numbers[row].topk(count, largest=False, sorted=False).indices.tolist()
    ]
    weights = torch.ones(vocabulary.size) if random_weights is None else random_weights.float().clone()
    weights[vocabulary.is_special] = 0.0
    random_tokens = torch.multinomial(weights, len(chosen), replacement=True, generator=generator)
    dice = torch.rand(len(chosen), generator=generator)

    shown, labels = input_ids.clone(), torch.full((len(chosen),), IGNORE)
    for number, (row, column) in enumerate(chosen):
        if is_special[row, column]:  # the row has fewer than k ordinary tokens
            continue
        labels[number] = input_ids[row, column]
        if dice[number] < mask_share:
            shown[row, column] = vocabulary.mask_id
        elif dice[number] < mask_share + random_share:
            shown[row, column] = random_tokens[number]
    positions = torch.tensor([row * input_ids.shape[1] + column for row, column in chosen])
    return MaskedTokens(shown, positions, labels)


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
def test_fast_equals_plain(vocabulary, rate, whole_words):
    ids = torch.randint(5, SIZE, (40, 30))  # a fifth of the tokens continue a word
    ids[:, 0], ids[:, 12], ids[:, 20], ids[:20, 25:], ids[:, 28] = CLS, UNK, SEP, PAD, 900
    weights = torch.rand(SIZE)
    for how in (
        {"rate": rate},
        {"count": 22},  # more than some rows have
        {"rate": rate, "mask_share": 0.3, "random_share": 0.5, "random_weights": weights},
        {"rate": rate, "first": weights[ids]},
    ):
        fast, plain = (
            mask(ids, vocabulary, whole_words=whole_words, generator=torch.Generator().manual_seed(3), **how)
            for mask in (mask_tokens, plain_mask_tokens)
        )
        for got, expected in zip(fast, plain):
            assert torch.equal(got, expected)
    same = [
        mask_tokens(each, vocabulary, rate, generator=torch.Generator().manual_seed(3)) for each in (ids, ids.int())
    ]
    assert all(torch.equal(*both) for both in zip(*same))


@pytest.mark.parametrize("shares", [{}, {"mask_share": 0.3, "random_share": 0.5}])
def test_with_the_same_draws_the_pages_function_hides_the_same(vocabulary, rows, shares):
    for rate in (0.15, 0.5, 0.9):
        here, there = (
            mask(rows, vocabulary, rate, generator=torch.Generator().manual_seed(3), **shares)
            for mask in (mask_tokens, page_mask_tokens)
        )
        assert all(torch.equal(*both) for both in zip(here, there))


def test_what_is_hidden_first_is_hidden_as_often_as_it_is_said(vocabulary, rows):
    rows[:, [7, 40]] = 500
    first = torch.zeros(SIZE).index_fill(0, torch.tensor([500]), 0.8)
    masked = mask_tokens(rows, vocabulary, rate=0.15, first=first[rows])
    hidden = (masked.labels == 500).sum().item()
    others = rows.eq(500).sum().item()
    assert within_binomial(hidden, others, 0.8 + 0.2 * 7.4 / 57.4)  # the other masks, on the other tokens
    assert torch.equal(torch.bincount(masked.positions // 64), torch.full((400,), 9))
    every = mask_tokens(rows, vocabulary, rate=0.15, first=(rows != 500).float())
    assert (every.labels != 500).all()


def test_what_is_hidden_first_does_not_cut_words(vocabulary):
    ids = torch.tensor([[CLS, 10, 800, 801, 11, 12, 13, 14, 15, SEP]]).repeat(200, 1)  # the first word has three tokens
    first = torch.zeros(ids.shape).index_fill(1, torch.tensor([1, 2, 3, 4]), 1.0)
    masked = mask_tokens(ids, vocabulary, count=2, whole_words=True, first=first)
    hidden = masked.positions.view(200, 2) % 10
    assert (hidden.sort().values[:, 0] == 4).all()  # three do not fit; a single token takes their place
    assert set(hidden.sort().values[:, 1].tolist()) == {5, 6, 7, 8}


@pytest.mark.parametrize("whole_words", [False, True])
def test_special_tokens_are_never_masked_and_never_random(vocabulary, rows, whole_words):
    rows[::3, 40:45] = UNK
    masked = mask_tokens(rows, vocabulary, rate=0.9, whole_words=whole_words)
    assert not (masked.labels < 5).logical_and(masked.labels != IGNORE).any()
    special = rows < 5
    assert torch.equal(masked.input_ids[special], rows[special])
    shown = masked.input_ids.flatten()[masked.positions]
    assert ((shown == MASK) | (shown >= 5)).all()


def test_a_row_with_too_few_tokens_is_not_padded_with_masks_of_special_ones(vocabulary):
    ids = torch.tensor([[CLS, 10, SEP, PAD, PAD, PAD]])
    masked = mask_tokens(ids, vocabulary, count=3)
    assert sorted(masked.labels.tolist()) == [IGNORE, IGNORE, 10]
    assert torch.equal(masked.input_ids[0, [0, 2, 3, 4, 5]], ids[0, [0, 2, 3, 4, 5]])


def test_random_tokens_follow_the_given_frequencies(vocabulary, rows):
    weights = torch.zeros(SIZE)
    weights[[PAD, 900, 901]] = torch.tensor([100.0, 3.0, 1.0])
    masked = mask_tokens(rows.repeat(5, 1), vocabulary, rate=0.5, random_weights=weights)
    shown = masked.input_ids.flatten()[masked.positions]
    often, seldom = (shown == 900).sum().item(), (shown == 901).sum().item()
    assert within_binomial(often, often + seldom, 0.75)
    assert within_binomial(often + seldom, len(shown), 0.1)


def test_whole_words_are_masked_whole(vocabulary):
    ids = torch.randint(5, 800, (300, 40))
    ids[:, 0] = CLS
    ids[:, 5:39:4] = 900  # words of two tokens
    ids[:, 10] = 901  # and one of three: 9, 10 and 11 continue
    masked = mask_tokens(ids, vocabulary, rate=0.2, whole_words=True)
    hidden = torch.zeros(300, 40, dtype=torch.bool)
    hidden.view(-1)[masked.positions] = True
    assert (hidden.sum(1) == 8).all()
    continues = vocabulary.is_continuation[ids]
    assert torch.equal(hidden[:, 1:][continues[:, 1:]], hidden[:, :-1][continues[:, 1:]])  # as the token before


def test_a_row_of_long_words_only_has_its_last_word_cut(vocabulary):
    ids = torch.tensor([[CLS, 10, 900, 901, 11, 902, 903, SEP]])
    assert len(mask_tokens(ids, vocabulary, count=4, whole_words=True).positions) == 4


def test_labels_everywhere_are_those_of_hugging_face(vocabulary, rows):
    masked = mask_tokens(rows, vocabulary)
    labels = masked.all_labels()
    assert (labels != IGNORE).sum() == len(masked.labels)
    assert torch.equal(labels[labels != IGNORE], rows[labels != IGNORE])
