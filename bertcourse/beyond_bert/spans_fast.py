"""Chapter 11: SpanBERT's masks and losses for whole batches at once."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.beyond_bert.spans import LONGEST_SPAN, SpanBertForPreTraining, SpanLosses, span_lengths
from bertcourse.pretraining.masking import IGNORE, MaskedTokens, Vocabulary, hide, masks_per_row
from bertcourse.pretraining.pairs import RowBatch


def mask_spans(
    input_ids: Tensor,
    vocabulary: Vocabulary,
    rate: float = 0.15,
    count: int | None = None,
    whole_words: bool = True,
    random_weights: Tensor | None = None,
    generator: torch.Generator | None = None,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskedTokens:
    """Hide exactly k tokens of every row, in spans: 80 % of the spans become [MASK], 10 % random tokens, 10 % stay.

    All tokens of a span share one fate; spans that touch count as one, as in the authors' code.

    Args:
        input_ids: (B, L), token ids; special tokens, including padding, are never hidden and end a span. Rows begin
            and end with one, so that each span has a token on either side, as ``SpanLoss`` requires.
        vocabulary, rate: as for ``mask_tokens``.
        count: k itself, instead of ``rate``.
        whole_words: has no effect: only the last span of a row, which must stop at k, can cut a word.
        random_weights: (V,), how often to draw each token as the random one; None for all equally often.
        generator: source of randomness.
        mask_share, random_share: the shares of spans that become [MASK] and random tokens; the rest stay.

    Returns:
        ``MaskedTokens``, the positions of each row in order.

    Source: Joshi et al. 2020, section 3.1.
    """
    input_ids = input_ids.long()
    rows, length = input_ids.shape
    device = input_ids.device
    may_be_hidden = ~vocabulary.is_special.to(device)[input_ids]
    if count is None:
        count = masks_per_row(may_be_hidden.sum(1), rate)
    order = torch.rand(rows, length, generator=generator, device=device)
    lengths = span_lengths((rows, length), generator=generator, device=device)
    continues = vocabulary.is_continuation.to(device)[input_ids]
    hidden = choose_spans(order, lengths, continues, may_be_hidden, count)
    columns = hidden.int().argsort(dim=1, descending=True, stable=True)[:, :count]  # hidden ones first
    positions = (columns + torch.arange(rows, device=device)[:, None] * length).flatten()

    weights = torch.ones(vocabulary.size) if random_weights is None else random_weights.float()
    weights = weights.to(device).masked_fill(vocabulary.is_special.to(device), 0.0)
    random_tokens = torch.multinomial(weights, len(positions), replacement=True, generator=generator)
    first = (span_edges(hidden)[0].gather(1, columns) + 1).clamp(max=length - 1)  # column of each token's span
    dice = torch.rand(rows, length, generator=generator, device=device).gather(1, first).flatten()
    stays = ~hidden.flatten()[positions]  # a row had too few tokens to hide
    dice = dice.masked_fill(stays, 2.0)
    masked = hide(input_ids, positions, random_tokens, dice, vocabulary.mask_id, mask_share, random_share)
    return masked._replace(labels=masked.labels.masked_fill(stays, IGNORE))


def choose_spans(order: Tensor, lengths: Tensor, continues: Tensor, may_be_hidden: Tensor, count: int) -> Tensor:
    """The tokens to hide in each row, one span of each row at a time.

    Until k are hidden: take any word that is still visible, and hide ℓ words from there on. A span ends early at a
    special token, at the end of the row, and as soon as k are hidden, even in the middle of a word.

    Args:
        order: (B, L), random numbers in [0, 1): words are taken in the order of their first tokens' numbers.
        lengths: (B, L), ℓ for a span that begins at a column.
        continues: (B, L), True for a token that continues a word.
        may_be_hidden: (B, L).
        count: k.

    Returns:
        (B, L), True for ``count`` tokens of each row, or for all of them if there are fewer.
    """
    column = torch.arange(order.shape[1], device=order.device)
    is_start = may_be_hidden.clone()
    is_start[:, 1:] &= ~(continues[:, 1:] & may_be_hidden[:, :-1])
    word = (is_start + LONGEST_SPAN * ~may_be_hidden).cumsum(1)  # no span reaches beyond a special token
    last_word = word + lengths - 1
    order = order.masked_fill(~is_start, 2.0)
    hidden = torch.zeros_like(may_be_hidden)
    room = may_be_hidden.sum(1, keepdim=True).clamp(max=count)
    while room.any():
        start = order.argmin(1, keepdim=True)
        span = (column >= start) & (word <= last_word.gather(1, start)) & ~hidden
        span &= span.cumsum(1) <= room
        hidden |= span
        room -= span.sum(1, keepdim=True)
        order = order.masked_fill(hidden, 2.0)
    return hidden


def span_edges(hidden: Tensor) -> tuple[Tensor, Tensor]:
    """The last column before each hidden token's span, s - 1, and the first after it, e + 1.

    Args:
        hidden: (B, L), True for hidden tokens; the results for other tokens mean nothing.

    >>> span_edges(torch.tensor([[False, True, True, False]]))
    (tensor([[0, 0, 0, 3]]), tensor([[0, 3, 3, 3]]))
    """
    length = hidden.shape[1]
    column = torch.arange(length, device=hidden.device).expand_as(hidden)
    before = column.where(~hidden, -1).cummax(1).values
    after = column.where(~hidden, length).flip(1).cummin(1).values.flip(1)
    return before, after


class SpanLoss(nn.Module):
    """A model and SpanBERT's loss as one module, for DDP to wrap.

    Args:
        model: to be trained.
    """

    def __init__(self, model: SpanBertForPreTraining):
        super().__init__()
        self.model = model

    def forward(self, masked: MaskedTokens, rows: RowBatch) -> SpanLosses:
        """Both losses of a batch.

        Args:
            masked: tokens (B, L), some of them hidden, however they were chosen; never the first or the last of a row,
                which are [CLS] and [SEP], so that each span has a token on either side.
            rows: everything else in the batch.
        """
        x = self.model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids).last_hidden_state.flatten(0, 1)
        table = self.model.bert.embeddings.word_embeddings.weight
        mlm = F.cross_entropy(self.model.mlm_head(x[masked.positions], table), masked.labels)

        length = masked.input_ids.shape[1]
        before, after = (edge.flatten()[masked.positions] for edge in span_edges(masked.all_labels() != IGNORE))
        column = masked.positions % length
        row = masked.positions - column  # where its row begins
        place = (column - before - 1).clamp(min=0)
        boundary = self.model.boundary_head(x[row + before], x[row + after], place, table)
        return SpanLosses(mlm, F.cross_entropy(boundary, masked.labels))
