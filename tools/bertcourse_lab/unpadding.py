"""Chapter 11: unpadding, a batch without its padding (Zeng et al. 2022; MosaicBERT, Portes et al. 2023; ModernBERT,
Warner et al. 2024).

The rows of a batch are padded to the longest, and a transformer computes as much for padding as for a word. But all of
its parts except attention treat each token by itself. So the real tokens of all rows can form one long row, (T, D), in
which attention looks only within the row that a token came from. This pays where rows cannot be sorted by length; our
loops read rows of similar length, which have little padding.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.batching import Batch
from bertcourse.bert.model import BertModel
from bertcourse.beyond_bert.encoder import Attention
from bertcourse.multi_head_attention import EncoderBlock, merge_heads, split_heads
from bertcourse.self_attention import padding_mask


class Places(NamedTuple):
    """Where T tokens came from.

    Attributes:
        rows: (T,), the row of each token, counted from 0.
        positions: (T,), its position in that row.
        lengths: the number of tokens in each row.
        shape: (B, L) of the batch.
    """

    rows: Tensor
    positions: Tensor
    lengths: list[int]
    shape: tuple[int, int]


def unpad(x: Tensor, attention_mask: Tensor) -> tuple[Tensor, Places]:
    """Row after row without the padding.

    Args:
        x: (B, L, D).
        attention_mask: (B, L), 1 for a token, 0 for padding.

    Returns:
        ``(tokens, places)``: (T, D), and what ``repad`` needs to undo this.

    >>> unpad(torch.tensor([[[1.0], [2.0]], [[3.0], [0.0]]]), torch.tensor([[1, 1], [1, 0]]))[0]
    tensor([[1.],
            [2.],
            [3.]])
    """
    is_token = padding_mask(attention_mask)[:, 0, 0]
    rows, positions = is_token.nonzero(as_tuple=True)
    return x[rows, positions], Places(rows, positions, is_token.sum(dim=1).tolist(), tuple(is_token.shape))


def repad(tokens: Tensor, places: Places) -> Tensor:
    """(T, D) to (B, L, D), with zeros for padding: the inverse of ``unpad``."""
    x = tokens.new_zeros(*places.shape, tokens.shape[-1])
    return x.index_put((places.rows, places.positions), tokens)


def near(positions: Tensor, reach: int) -> Tensor:
    """Boolean (T, T): whether two positions (T,) are at most ``reach`` apart."""
    return (positions[:, None] - positions).abs() <= reach


def unpadded_attention(
    query: Tensor, key: Tensor, value: Tensor, places: Places, reach: int | None = None, dropout: float = 0.0
) -> Tensor:
    """Attention within each row of the batch, row by row. (On GPUs, one kernel takes all lengths.)

    Args:
        query, key, value: (…, T, d).
        places: of the T tokens, from ``unpad``.
        reach: how many positions a token sees on each side; None for its whole row.
        dropout: of the weights.

    Returns:
        (…, T, d).
    """
    rows = zip(*(x.split(places.lengths, dim=-2) for x in (query, key, value)))
    masks = (None if reach is None else near(each, reach) for each in places.positions.split(places.lengths))
    return torch.cat([F.scaled_dot_product_attention(*row, mask, dropout) for row, mask in zip(rows, masks)], dim=-2)


def unpadded_block(block: EncoderBlock, x: Tensor, places: Places) -> Tensor:
    """What a block does, for (1, T, D): ``EncoderBlock.forward`` with another attention."""

    def attend(x: Tensor) -> Tensor:
        attention, reach = block.attention, None
        if isinstance(attention, Attention):
            heads, reach = attention.heads(x, places.positions), attention.reach
        else:
            projections = (attention.query, attention.key, attention.value)
            heads = (split_heads(project(x), attention.num_heads) for project in projections)
        attended = unpadded_attention(*heads, places, reach, attention.dropout if block.training else 0.0)
        return block.dropout(attention.output(merge_heads(attended)))

    if getattr(block, "order", EncoderBlock) is EncoderBlock:
        x = block.attention_norm(x + attend(x))
        return block.feed_forward_norm(x + block.dropout(block.feed_forward(x)))
    x = x + attend(block.attention_norm(x))
    return x + block.dropout(block.feed_forward(block.feed_forward_norm(x)))


def unpadded_vectors(model: BertModel, batch: Batch) -> Tensor:
    """``model(*batch).last_hidden_state``, (B, L, D), with blocks computed for real tokens only; padding gets zeros.

    Args:
        model: a ``BertModel`` or an ``Encoder``, with any of its settings.
        batch: rows of ids, with the mask that says which of them are tokens.
    """
    tokens, places = unpad(model.embeddings(batch.input_ids, batch.token_type_ids), batch.attention_mask)
    x = tokens[None]
    for block in model.encoder.blocks:
        x = unpadded_block(block, x, places)
    final_norm = getattr(model.encoder, "final_norm", nn.Identity())
    return repad(final_norm(x)[0], places)
