"""Chapter 1: self-attention.

Attention replaces a word's vector with a weighted average of the vectors around it. Here it comes in two forms: the
simplest, h_i = Σ_j softmax_j(e_i·e_j) e_j, and scaled dot-product attention, softmax(QKᵀ/√d) V (Vaswani et al. 2017,
"Attention Is All You Need", equation 1), with the masks that say who may attend to whom.
"""

import math

import torch
from torch import Tensor

__all__ = ["causal_mask", "padding_mask", "scaled_dot_product_attention", "simple_self_attention"]


def simple_self_attention(x: Tensor) -> Tensor:
    """Replace every vector with an average of all of them, weighted by the softmax of their dot products with it.

    No parameters, no scaling, no mask: the simplified attention of Jurafsky & Martin, "Speech and Language
    Processing" (3rd ed.), chapter on the transformer.

    Args:
        x: word vectors, (..., L, D).

    Returns:
        Contextual vectors, (..., L, D).

    >>> simple_self_attention(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1., 0.],
            [1., 0.]])
    """
    weights = torch.softmax(x @ x.transpose(-2, -1), dim=-1)
    return weights @ x


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√d) V, together with the weights (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., L, d), one row for each position that asks.
        key: (..., M, d), one row for each position that may answer; M is L in self-attention.
        value: (..., M, D), what each position has to say.
        mask: boolean, broadcastable to (..., L, M); True means "may attend", and each query may attend to one key at
            least. None lets every query attend to every key.

    Returns:
        ``(output, weights)``: (..., L, D) and (..., L, M). Each row of weights sums to 1.

    >>> query, key, value = torch.zeros(1, 2), torch.zeros(3, 2), torch.tensor([[3.0], [6.0], [9.0]])
    >>> scaled_dot_product_attention(query, key, value)
    (tensor([[6.]]), tensor([[0.3333, 0.3333, 0.3333]]))
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def causal_mask(length: int) -> Tensor:
    """Boolean (L, L): position i may attend to positions 0 … i, as in a model that writes from left to right.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Boolean (B, 1, 1, L), which broadcasts over heads and queries: no query may attend to padding.

    Combine it with another mask using ``&``: ``padding_mask(attention_mask) & causal_mask(length)``.

    Args:
        attention_mask: (B, L), 1 for a token, 0 for padding, as tokenizers produce it.

    >>> padding_mask(torch.tensor([[1, 1, 0]])).tolist()
    [[[[True, True, False]]]]
    """
    return attention_mask.bool()[:, None, None, :]
