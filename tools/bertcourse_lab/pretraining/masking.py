"""Masks for long runs: whole words, words by their frequency, a fixed number for all processes; on any device.

Chapter 4's ``hide`` puts [MASK] and other tokens where these functions say. Every row gets the same number of masks:
this keeps shapes static, and the mean over the masks of several processes is then the mean of their means.
"""

import torch
from torch import Tensor

from bertcourse.pretraining.masking import (
    IGNORE,
    MaskedTokens,
    Vocabulary,
    hide,
    masks_per_row,
    smallest_of_each_row,
)

LAST = 4.0  # the number of a token that is hidden after all others; a token of a word that would be cut has 1 to 3


def mask_tokens(
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
    """Chapter 4's ``mask_tokens``, with more to choose: exactly k tokens of every row are hidden.

    Each token x_i of a row gets a random number. The k with the smallest are hidden; in their place the model reads

        x̃_i = [MASK]               with probability 0.8,
              w ~ random_weights   with probability 0.1,
              x_i                  with probability 0.1.

    Args:
        input_ids: (B, L), token ids; special tokens, padding among them, are never hidden.
        vocabulary: of the tokenizer that made them.
        rate: the share of a row's tokens to hide, between 0 and 1. k is this share of the tokens that may be hidden in
            an average row; it is rounded, at least 1, and no more than any row has.
        count: k itself, instead of ``rate``.
        whole_words: hide whole words, all tokens of a word together, as far as k allows.
        random_weights: (V,), how often to draw each token as the random one; None for all equally often, as in BERT.
            Special tokens are never drawn.
        generator: source of randomness; on the device of ``input_ids``.
        mask_share, random_share: the shares of the hidden tokens that become [MASK] and a random token; the rest stay.
        first: (B, L), how probable it is for each token that it is hidden before all others; None for none.

    Source: Devlin et al. 2019, section 3.1; whole words from the authors' later release of BERT (README, May 2019).
    """
    input_ids = input_ids.long()
    device = input_ids.device
    is_special = vocabulary.is_special.to(device)
    may_be_hidden = ~is_special[input_ids]
    if count is None:
        count = masks_per_row(may_be_hidden.sum(1), rate)
    order = torch.rand(input_ids.shape, generator=generator, device=device)
    if first is not None:
        order -= (torch.rand(input_ids.shape, generator=generator, device=device) < first.to(device)).float()
    if whole_words:
        continues = vocabulary.is_continuation.to(device)[input_ids]
        order = order_of_words(order, continues, may_be_hidden, count)
    positions = smallest_of_each_row(order.masked_fill(~may_be_hidden, LAST), count)
    weights = torch.ones(vocabulary.size) if random_weights is None else random_weights.float()
    weights = weights.to(device).masked_fill(is_special, 0.0)
    others = torch.multinomial(weights, len(positions), replacement=True, generator=generator)
    dice = torch.rand(len(positions), generator=generator, device=device)
    stays = is_special[input_ids.flatten()[positions]]  # a row had too few tokens to hide
    dice = dice.masked_fill(stays, 2.0)
    masked = hide(input_ids, positions, others, dice, vocabulary.mask_id, mask_share, random_share)
    return masked._replace(labels=masked.labels.masked_fill(stays, IGNORE))


def order_of_words(order: Tensor, continues: Tensor, may_be_hidden: Tensor, count: int) -> Tensor:
    """Random numbers changed so that the ``count`` smallest of each row belong to whole words.

    All tokens of a word take the number of its first. If the last word would be cut, single-token words take its
    place; if the row has too few of those, it is cut after all.

    Args:
        order: (B, L), random numbers in [-1, 1): the order in which single tokens would be hidden.
        continues: (B, L), True for a token that continues a word.
        may_be_hidden: (B, L).
        count: how many tokens will be hidden.

    Returns:
        (B, L), the new order.
    """
    rows, length = order.shape
    column = torch.arange(length, device=order.device).expand(rows, -1)
    starts = ~continues | ~may_be_hidden | ~may_be_hidden.roll(1, dims=1)
    starts[:, 0] = True
    first = column.where(starts, 0).cummax(1).values  # column of the first token of each token's word
    sizes = torch.zeros_like(first).scatter_add_(1, first, torch.ones_like(first)).gather(1, first)

    order = order.gather(1, first).masked_fill(~may_be_hidden, LAST)
    rank = torch.empty_like(first).scatter_(1, order.argsort(dim=1, stable=True), column)
    is_reached = rank.gather(1, first) + sizes <= count  # the whole word is: equal numbers rank together
    return order + 2 * (~is_reached & (sizes > 1))


def check_rate(rate: float, name: str) -> None:
    """Refuse a masking rate that hides nothing or everything."""
    if not 0 < rate < 1:
        raise ValueError(f"{name} must be above 0 and below 1, such as 0.15 for 15 %; got {rate}.")


def check_shares(mask_share: float, random_share: float) -> None:
    """Refuse shares of the hidden tokens that are negative or add up to more than 1."""
    if not (mask_share >= 0 and random_share >= 0 and mask_share + random_share <= 1 + 1e-9):
        raise ValueError(
            f"mask_share and random_share must be at least 0 and together at most 1, as BERT's 0.8 and 0.1 are; got "
            f"{mask_share} and {random_share}."
        )
