"""Chapter 4: masked language modelling for whole batches at once, on any device."""

import torch
from torch import Tensor

from bertcourse.pretraining.masking import (
    IGNORE,
    LAST,
    MaskedTokens,
    Vocabulary,
    check_rate,
    check_shares,
    masks_per_row,
)


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
    """Hide exactly k tokens of every row: 80 % become [MASK], 10 % a random token, 10 % stay.

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

    Raises:
        ValueError: if ``rate``, the shares or ``count`` are out of range, or ``input_ids`` are not (B, L) ids of the
            vocabulary.

    Source: Devlin et al. 2019, section 3.1; whole words from the authors' later release of BERT (README, May 2019).
    """
    check_masking(input_ids, vocabulary, rate, count)
    check_shares(mask_share, random_share)
    input_ids = input_ids.long()
    rows, length = input_ids.shape
    device = input_ids.device
    may_be_hidden = ~vocabulary.is_special.to(device)[input_ids]
    if count is None:
        count = masks_per_row(may_be_hidden.sum(1), rate)
    order = torch.rand(rows, length, generator=generator, device=device)
    if first is not None:
        order -= (torch.rand(rows, length, generator=generator, device=device) < first.to(device)).float()
    if whole_words:
        continues = vocabulary.is_continuation.to(device)[input_ids]
        order = order_of_words(order, continues, may_be_hidden, count)
    order = order.masked_fill(~may_be_hidden, LAST)
    chosen = order.topk(count, largest=False, sorted=False).indices
    positions = (chosen + torch.arange(rows, device=device)[:, None] * length).flatten()

    tokens = input_ids.flatten()[positions]
    is_hidden = may_be_hidden.flatten()[positions]
    weights = torch.ones(vocabulary.size) if random_weights is None else random_weights.float()
    weights = weights.to(device).masked_fill(vocabulary.is_special.to(device), 0.0)
    random_tokens = torch.multinomial(weights, len(tokens), replacement=True, generator=generator)
    dice = torch.rand(len(tokens), generator=generator, device=device)
    shown = torch.where(dice < mask_share + random_share, random_tokens, tokens)
    shown = torch.where(dice < mask_share, vocabulary.mask_id, shown)
    masked = input_ids.flatten().clone()
    masked[positions] = torch.where(is_hidden, shown, tokens)
    return MaskedTokens(masked.view_as(input_ids), positions, tokens.masked_fill(~is_hidden, IGNORE))


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


def check_masking(input_ids: Tensor, vocabulary: Vocabulary, rate: float, count: int | None) -> None:
    """Refuse what cannot be masked."""
    if input_ids.dim() != 2 or input_ids.numel() == 0 or input_ids.is_floating_point():
        got = f"{input_ids.dtype} of shape {tuple(input_ids.shape)}"
        raise ValueError(f"input_ids must be integers of shape (B, L), not empty; got {got}.")
    low, high = int(input_ids.min()), int(input_ids.max())
    if low < 0 or high >= vocabulary.size:
        raise ValueError(
            f"input_ids must be ids of the vocabulary, from 0 to {vocabulary.size - 1}; got {low} to {high}. Does the "
            "tokenizer belong to these ids?"
        )
    check_rate(rate)
    if count is not None and not 1 <= count <= input_ids.shape[1]:
        raise ValueError(f"count must be from 1 to the row's {input_ids.shape[1]} tokens; got {count}.")
