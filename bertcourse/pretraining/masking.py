"""Masked language modelling: which tokens to hide, and what to put in their place.

BERT hides 15 % of the tokens and has to guess them. Of those hidden, 80 % become [MASK], 10 % a random token, and 10 %
stay as they are, so that the model must make something of every position, not of [MASK] alone (Devlin et al. 2019,
section 3.1 and appendix C.2). Every row gets the same number of masks: shapes are then static, and the mean over the
masks of several processes is the mean of their means.
"""

from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert.batching import check_tokenizer

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
IGNORE = -100  # as a label: nothing is to be guessed here; the default of torch's cross-entropy, and no class of NSP


class Vocabulary(NamedTuple):
    """What masking and packing need to know about a tokenizer.

    Attributes:
        size: V.
        pad_id, cls_id, sep_id, mask_id: ids of [PAD], [CLS], [SEP] and [MASK].
        is_special: (V,), True for a token that is never masked and never a random replacement.
        is_continuation: (V,), True for a token that continues a word, as "##ing" does.
    """

    size: int
    pad_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    is_special: Tensor
    is_continuation: Tensor

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Vocabulary":
        """The vocabulary of a tokenizer as ``load_pretrained`` returns it.

        Raises:
            TypeError: if the tokenizer is not of ``tokenizers``.
            ValueError: if a special token of BERT is missing.
        """
        check_tokenizer(tokenizer)
        ids = tokenizer.get_vocab()
        if missing := [token for token in SPECIAL_TOKENS if token not in ids]:
            raise ValueError(
                f"pretraining needs the special tokens {', '.join(SPECIAL_TOKENS)}; missing: {', '.join(missing)}."
            )
        size = max(ids.values()) + 1
        is_special, is_continuation = torch.zeros(2, size, dtype=torch.bool)
        is_special[[ids[token] for token in SPECIAL_TOKENS]] = True
        is_continuation[[i for token, i in ids.items() if token.startswith("##")]] = True
        return cls(size, ids["[PAD]"], ids["[CLS]"], ids["[SEP]"], ids["[MASK]"], is_special, is_continuation)


class MaskedTokens(NamedTuple):
    """Tokens with some of them hidden.

    Attributes:
        input_ids: (B, L), what the model reads.
        positions: (B·k,), where something was hidden, as indices into the B·L tokens; k in each row.
        labels: (B·k,), the tokens that stood there; ``IGNORE`` where a row had too few tokens to hide.
    """

    input_ids: Tensor
    positions: Tensor
    labels: Tensor

    def all_labels(self) -> Tensor:
        """(B, L) labels with ``IGNORE`` everywhere else, as Hugging Face's models take them."""
        labels = torch.full(self.input_ids.shape, IGNORE, device=self.input_ids.device)
        labels.view(-1)[self.positions] = self.labels
        return labels


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
) -> MaskedTokens:
    """Hide exactly k tokens of every row: 80 % become [MASK], 10 % a random token, 10 % stay.

    Args:
        input_ids: (B, L), token ids; special tokens, padding among them, are never hidden.
        vocabulary: of the tokenizer that made them.
        rate: which share of a row's tokens to hide, between 0 and 1. k is that share of the tokens of a row that may be
            hidden, on average over the rows; rounded, at least 1, and no more than any row has.
        count: k itself, in place of ``rate``.
        whole_words: hide words, all tokens of one together, as far as k allows.
        random_weights: (V,), how often to draw each token as the random one; None for all alike, as BERT does. Special
            tokens are never drawn.
        generator: source of randomness; on the device of ``input_ids``.
        mask_share, random_share: how many of the hidden tokens become [MASK], and a random token; the rest stay.

    Returns:
        ``MaskedTokens``.

    Raises:
        ValueError: if ``rate`` is not between 0 and 1, the two shares are negative or more than 1 together,
            ``count`` is below 1 or above L, ``input_ids`` is not (B, L) or has an id outside the vocabulary, or
            ``random_weights`` is not (V,) or all zero.

    Source: Devlin et al. 2019, section 3.1; whole words from the authors' later release of BERT (README, May 2019).
    """
    check_masking(input_ids, vocabulary, rate, count, random_weights)
    check_shares(mask_share, random_share)
    rows, length = input_ids.shape
    device = input_ids.device
    may_be_hidden = ~vocabulary.is_special.to(device)[input_ids]
    if count is None:
        count = masks_per_row(may_be_hidden.sum(1), rate)
    order = torch.rand(rows, length, generator=generator, device=device)
    if whole_words:
        continues = vocabulary.is_continuation.to(device)[input_ids]
        order = order_of_words(order, continues, may_be_hidden, count)
    order = order.masked_fill(~may_be_hidden, 2.0)  # after all others
    chosen = order.topk(count, largest=False, sorted=False).indices
    positions = (chosen + torch.arange(rows, device=device)[:, None] * length).flatten()

    flat = input_ids.flatten()
    tokens = flat[positions]
    is_hidden = may_be_hidden.flatten()[positions]
    weights = (
        torch.ones(vocabulary.size, device=device) if random_weights is None else random_weights.to(device, torch.float)
    )
    weights = weights.masked_fill(vocabulary.is_special.to(device), 0.0)
    random_tokens = torch.multinomial(weights, len(tokens), replacement=True, generator=generator)
    dice = torch.rand(len(tokens), generator=generator, device=device)
    shown = torch.where(dice < mask_share + random_share, random_tokens, tokens)
    shown = torch.where(dice < mask_share, vocabulary.mask_id, shown)
    masked = flat.clone()
    masked[positions] = torch.where(is_hidden, shown, tokens)
    return MaskedTokens(masked.view_as(input_ids), positions, tokens.masked_fill(~is_hidden, IGNORE))


def masks_per_row(candidates: Tensor, rate: float) -> int:
    """The k of ``mask_tokens``, for rows that have so many tokens that may be hidden.

    >>> masks_per_row(torch.tensor([61, 61, 50]), 0.15)
    9
    """
    return max(1, min(round(rate * candidates.double().mean().item()), int(candidates.min())))


def order_of_words(order: Tensor, continues: Tensor, may_be_hidden: Tensor, count: int) -> Tensor:
    """Reorder tokens so that the first ``count`` of each row are whole words.

    All tokens of a word take the random number of its first. Where the last word that is reached would be cut, words
    of a single token take its place; if a row has not enough of these, it is cut after all.

    Args:
        order: (B, L), random numbers in [0, 1): the order in which single tokens would be hidden.
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

    order = order.gather(1, first).masked_fill(~may_be_hidden, 2.0)
    rank = torch.empty_like(first).scatter_(1, order.argsort(dim=1, stable=True), column)
    is_reached = rank.gather(1, first) + sizes <= count  # the whole word: equal numbers stand together
    return order + (~is_reached & (sizes > 1))


def check_masking(
    input_ids: Tensor, vocabulary: Vocabulary, rate: float, count: int | None, weights: Tensor | None
) -> None:
    """Refuse what cannot be masked.

    Raises:
        ValueError: as ``mask_tokens`` says.
    """
    if input_ids.dim() != 2 or input_ids.numel() == 0 or input_ids.is_floating_point():
        raise ValueError(
            f"input_ids must be integers of shape (B, L), not empty; got {input_ids.dtype} of shape "
            f"{tuple(input_ids.shape)}."
        )
    low, high = int(input_ids.min()), int(input_ids.max())
    if low < 0 or high >= vocabulary.size:
        raise ValueError(
            f"input_ids must be ids of the vocabulary, from 0 to {vocabulary.size - 1}; got "
            f"{low if low < 0 else high}. Does the "
            f"tokenizer belong to these ids?"
        )
    check_rate(rate)
    if count is not None and not 1 <= count <= input_ids.shape[1]:
        raise ValueError(f"count must be at least 1 and at most the row's {input_ids.shape[1]} tokens; got {count}.")
    if weights is not None and (
        weights.shape != (vocabulary.size,) or not bool(weights[~vocabulary.is_special].sum() > 0)
    ):
        raise ValueError(
            f"random_weights must have shape ({vocabulary.size},), positive for a token that is not special; got shape "
            f"{tuple(weights.shape)}."
        )


def check_shares(mask_share: float, random_share: float) -> None:
    """Refuse what are no shares of the hidden tokens.

    Raises:
        ValueError: if one is negative, or they are more than 1 together.
    """
    if not (mask_share >= 0 and random_share >= 0 and mask_share + random_share <= 1 + 1e-9):
        raise ValueError(
            f"mask_share and random_share must be at least 0, and at most 1 together, such as BERT's 0.8 and 0.1; got "
            f"{mask_share} and {random_share}."
        )


def check_rate(rate: float, name: str = "the masking rate") -> None:
    """Refuse a masking rate that hides nothing or everything.

    Raises:
        ValueError: naming it.
    """
    if not 0 < rate < 1:
        raise ValueError(f"{name} must be above 0 and below 1, such as 0.15 for 15 %; got {rate}.")
