"""Chapter 4: masked language modelling: which tokens to hide, and what to put in their place.

BERT hides 15 % of the tokens and has to guess them. Of those hidden, 80 % become [MASK], 10 % a random token, and 10 %
stay as they are, so that the model must make sense of every position, not just of [MASK] (Devlin et al. 2019, section
3.1 and appendix C.2). Every row gets the same number of masks: this keeps shapes static, and the mean over the masks
of several processes is then the mean of their means.

What a vocabulary and hidden tokens are is defined here; ``mask_tokens`` in ``masking_fast`` hides them.
"""

from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert.batching import check_tokenizer
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, PREFIX

LAST = 4.0  # the number of a token that is hidden after all others; a token of a word that would be cut has 1 to 3
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


def masks_per_row(candidates: Tensor, rate: float) -> int:
    """The k of ``mask_tokens``, for rows with this many tokens each that may be hidden.

    >>> masks_per_row(torch.tensor([61, 61, 50]), 0.15)
    9
    """
    return max(1, min(round(rate * candidates.double().mean().item()), int(candidates.min())))


def check_rate(rate: float, name: str = "the masking rate") -> None:
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
