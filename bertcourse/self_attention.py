"""Chapter 1: self-attention.

Attention replaces a word's vector with a weighted average of the vectors around it. Here it comes in two forms: the
simplest, h_i = Σ_j softmax_j(e_i·e_j) e_j, and scaled dot-product attention, softmax(QKᵀ/√d) V (Vaswani et al. 2017,
"Attention Is All You Need", equation 1), with the masks that say who may attend to whom.
"""

import torch
from torch import Tensor


def simple_self_attention(x: Tensor) -> Tensor:
    """Replace every vector with an average of all of them, weighted by the softmax of their dot products with it.

    No parameters, no scaling, no mask: the simplified attention of Jurafsky & Martin, "Speech and Language
    Processing" (3rd ed.), chapter on the transformer.

    Args:
        x: word vectors, (..., L, D). In half precision long ones overflow, as nothing scales their products.

    Returns:
        Contextual vectors, (..., L, D).

    >>> simple_self_attention(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1., 0.],
            [1., 0.]])
    """
    check_vectors(x=x)
    weights = torch.softmax(x @ x.transpose(-2, -1), dim=-1)
    return weights @ x


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√d) V, together with the weights (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., L, d), one row for each position that asks.
        key: (..., M, d), one row for each position that may answer; M is L in self-attention.
        value: (..., M, D), what each position has to say.
        mask: boolean, broadcastable to (..., L, M); True means "may attend". None lets every query attend to every key.
        dropout: probability of setting a weight to zero before averaging; the rest are scaled up to match.

    Returns:
        ``(output, weights)``: (..., L, D) and, before dropout, (..., L, M). Each row of weights sums to 1; the row of
        a query that may attend to nothing is all zeros, and so is its output.

    >>> query, key, value = torch.zeros(1, 2), torch.zeros(3, 2), torch.tensor([[3.0], [6.0], [9.0]])
    >>> scaled_dot_product_attention(query, key, value)
    (tensor([[6.]]), tensor([[0.3333, 0.3333, 0.3333]]))
    """
    check_vectors(query=query, key=key, value=value)
    check_mask(mask)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)  # scaled first, or float16 overflows
    if mask is not None:
        scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # differs only in rows where everything is masked
    return torch.dropout(weights, dropout, dropout > 0.0) @ value, weights


def causal_mask(length: int, device: torch.device | str | None = None) -> Tensor:
    """Boolean (L, L): position i may attend to positions 0 … i, as in a model that writes from left to right.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Boolean (B, 1, 1, L), which broadcasts over heads and queries: no query may attend to padding.

    Combine it with another mask using ``&``: ``padding_mask(attention_mask) & causal_mask(length)``.

    Args:
        attention_mask: (B, L), 1 for a token, 0 for padding, as tokenizers produce it.

    >>> padding_mask(torch.tensor([[1, 1, 0]])).tolist()
    [[[[True, True, False]]]]
    """
    if not isinstance(attention_mask, Tensor) or attention_mask.dim() != 2:
        got = tuple(attention_mask.shape) if isinstance(attention_mask, Tensor) else type(attention_mask).__name__
        raise TypeError(f"attention_mask must be a tensor (B, L), such as encode_batch gives; got {got}.")
    is_token = attention_mask == 1
    if not torch.compiler.is_compiling() and (other := attention_mask[~is_token & (attention_mask != 0)]).numel():
        raise ValueError(
            f"attention_mask must be 1 for a token and 0 for padding; got {other[0].item():g}. Write "
            f"(attention_mask == 0).int() for zeros and minus infinities, (input_ids != 0).int() for ids padded with 0."
        )
    return is_token[:, None, None, :]


def check_vectors(**tensors: Tensor) -> None:
    """Refuse lists and integer tensors, which softmax cannot take; the message names the argument."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            got = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise TypeError(
                f"{name} must be a tensor of floating-point numbers; got {got}. Write tensor.float(), or of a list "
                f"torch.tensor(rows, dtype=torch.float32)."
            )


def check_mask(mask: Tensor | None) -> None:
    """Refuse a numeric mask, as nobody can tell whether its ones hide or show."""
    if mask is not None and not isinstance(mask, Tensor):
        raise TypeError(f"mask must be a boolean tensor; got {type(mask).__name__}. Write torch.as_tensor(mask).")
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean, True where a query may attend; got {mask.dtype}. Write mask.bool() for a mask of "
            f"ones and zeros, mask == 0 for one of zeros and minus infinities."
        )
