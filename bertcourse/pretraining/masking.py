"""Chapter 4: masked language modelling: which tokens to hide, and what to put in their place.

BERT hides 15 % of the tokens and has to guess them. Of those hidden, 80 % become [MASK], 10 % a random token, and 10 %
stay as they are (Devlin et al. 2019, section 3.1 and appendix C.2). Every row of a batch gets the same number of holes.
"""

from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert.batching import check_tokenizer
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, PREFIX

IGNORE = -100  # a label where nothing is to be guessed: the default of torch's cross-entropy, and not a class of NSP


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
        """The vocabulary of a tokenizer such as ``load_pretrained`` returns."""
        check_tokenizer(tokenizer)
        ids = tokenizer.get_vocab()
        if missing := [token for token in BERT_SPECIAL_TOKENS if token not in ids]:
            raise ValueError(f"pretraining needs a tokenizer with {' '.join(BERT_SPECIAL_TOKENS)}; missing: {missing}.")
        size = max(ids.values()) + 1
        is_special, is_continuation = torch.zeros(2, size, dtype=torch.bool)
        is_special[[ids[token] for token in BERT_SPECIAL_TOKENS]] = True
        is_continuation[[i for token, i in ids.items() if token.startswith(PREFIX)]] = True
        return cls(size, ids["[PAD]"], ids["[CLS]"], ids["[SEP]"], ids["[MASK]"], is_special, is_continuation)


class MaskedTokens(NamedTuple):
    """Tokens with some of them hidden.

    Attributes:
        input_ids: (B, L), what the model reads.
        positions: (B·k,), where something was hidden, as indices into the B·L tokens; k per row.
        labels: (B·k,), the original tokens there; ``IGNORE`` where a row had too few tokens to hide.
    """

    input_ids: Tensor
    positions: Tensor
    labels: Tensor

    def all_labels(self) -> Tensor:
        """(B, L) labels with ``IGNORE`` everywhere else, as Hugging Face's models take them."""
        labels = torch.full(self.input_ids.shape, IGNORE, device=self.input_ids.device)
        labels.view(-1)[self.positions] = self.labels
        return labels


def hide(
    input_ids: Tensor,
    positions: Tensor,
    random_tokens: Tensor,
    dice: Tensor,
    mask_id: int,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskedTokens:
    """Hide the tokens at some positions: by the fall of a die, each becomes [MASK] or a random token, or stays.

    Args:
        input_ids: (B, L), token ids.
        positions: (N,), where to hide, as indices into the B·L tokens.
        random_tokens: (N,), the token that takes a place if the die says so.
        dice: (N,), numbers from 0 to 1: below ``mask_share``, the place shows [MASK]; in the ``random_share`` above
            that, a random token; at the top, what was there.
        mask_id: of [MASK].
        mask_share, random_share: 80 % and 10 %.
    """
    tokens = input_ids.flatten()[positions]
    # below 0.9 random, and of these, below 0.8, [MASK]; the others stay
    shown = torch.where(dice < mask_share + random_share, random_tokens, tokens)
    shown = torch.where(dice < mask_share, mask_id, shown)
    masked = input_ids.flatten().clone()
    masked[positions] = shown
    return MaskedTokens(masked.view_as(input_ids), positions, tokens)


def mask_tokens(
    input_ids: Tensor,
    vocabulary: Vocabulary,
    rate: float = 0.15,
    generator: torch.Generator | None = None,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskedTokens:
    """Hide as many tokens of each row as there are in ``rate`` of an average one, chosen at random, by 80/10/10.

    Args:
        input_ids: (B, L), token ids; special tokens, padding among them, are never hidden.
        vocabulary: of the tokenizer that made them.
        rate: the share of tokens to hide.
        generator: source of randomness.
        mask_share, random_share: the shares of the hidden tokens that become [MASK] and a random token; the rest stay.

    Source: Devlin et al. 2019, section 3.1.
    """
    ordinary = ~vocabulary.is_special[input_ids]
    count = masks_per_row(ordinary.sum(1), rate)
    draws = torch.rand(input_ids.shape, generator=generator)
    positions = smallest_of_each_row(draws.masked_fill(~ordinary, 2.0), count)
    weights = (~vocabulary.is_special).float()  # all ordinary tokens alike
    random_tokens = torch.multinomial(weights, len(positions), replacement=True, generator=generator)
    dice = torch.rand(len(positions), generator=generator)
    return hide(input_ids, positions, random_tokens, dice, vocabulary.mask_id, mask_share, random_share)


def masks_per_row(ordinary: Tensor, rate: float) -> int:
    """How many tokens to hide in each row, if rows have this many that may be hidden: at least one, at most all.

    >>> masks_per_row(torch.tensor([61, 61, 50]), 0.15)
    9
    """
    return max(1, min(round(rate * ordinary.double().mean().item()), int(ordinary.min())))


def smallest_of_each_row(numbers: Tensor, count: int) -> Tensor:
    """Where the ``count`` smallest numbers of each row are, for (B, L) numbers, as indices into all of them.

    >>> smallest_of_each_row(torch.tensor([[0.3, 0.1, 0.2], [0.5, 0.7, 0.6]]), 1)
    tensor([1, 3])
    """
    columns = numbers.topk(count, largest=False, sorted=False).indices
    rows = torch.arange(len(numbers), device=numbers.device)[:, None]
    return (rows * numbers.shape[1] + columns).flatten()
