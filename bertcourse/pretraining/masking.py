"""Chapter 4: masked language modelling: which tokens to hide, and what to put in their place.

BERT hides 15 % of the tokens and has to guess them. Of those hidden, 80 % become [MASK], 10 % a random token, and 10 %
stay as they are, so that the model must make sense of every position, not just of [MASK] (Devlin et al. 2019, section
3.1 and appendix C.2). Every row gets the same number of masks: this keeps shapes static, and the mean over the masks
of several processes is then the mean of their means.

``plain_mask_tokens`` is the specification; ``mask_tokens`` in ``masking_fast`` does the same without loops.
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
    """The specification of ``mask_tokens``, token by token, with the same arguments and the same random draws.

    Each token x_i of a row gets a random number. The k with the smallest are hidden; in their place the model reads

        x̃_i = [MASK]               with probability 0.8,
              w ~ random_weights   with probability 0.1,
              x_i                  with probability 0.1.
    """
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


def masks_per_row(candidates: Tensor, rate: float) -> int:
    """The k of ``mask_tokens``, for rows with this many tokens each that may be hidden.

    >>> masks_per_row(torch.tensor([61, 61, 50]), 0.15)
    9
    """
    return max(1, min(round(rate * candidates.double().mean().item()), int(candidates.min())))


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
    """Change a row's random numbers so that its ``count`` smallest belong to whole words.

    All tokens of a word take the number of its first. If the last word would be cut, single-token words take its
    place; if the row has too few of those, it is cut after all.

    Args:
        numbers: (L,), from -1 to 1; changed in place.
        words: the columns of each word.
        count: how many tokens will be hidden.
    """
    reached = 0
    for word in sorted(words, key=lambda word: numbers[word[0]]):
        reached += len(word)
        is_cut = reached > count and len(word) > 1
        numbers[word] = numbers[word[0]] + 2 * is_cut


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
