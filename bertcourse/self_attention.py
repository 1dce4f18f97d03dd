"""Chapter 1: self-attention.

Attention replaces a word's vector by a weighted average of the vectors around it. This module has it twice: in the
simplest form, h_i = Σ_j softmax_j(e_i·e_j) e_j, and as scaled dot-product attention, softmax(QKᵀ/√d) V
(Vaswani et al. 2017, "Attention Is All You Need", equation 1), with the masks that say who may attend to whom.
"""

import torch
from torch import Tensor


def simple_self_attention(x: Tensor) -> Tensor:
    """Every row becomes the average of all rows, weighted by softmax of their dot products with it.

    h_i = Σ_j softmax_j(e_i·e_j) e_j: no parameters, no scaling, no mask.

    Args:
        x: word vectors, (..., L, D).

    Returns:
        Tensor of the same shape: contextual vectors.

    Raises:
        TypeError: if ``x`` is no tensor of floating-point numbers.
        ValueError: if ``x`` has fewer than two dimensions or no words in it.

    Source: Jurafsky & Martin, "Speech and Language Processing" (3rd ed.), the simplified version of attention in the
    transformer chapter.

    >>> simple_self_attention(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1., 0.],
            [1., 0.]])
    """
    check_vectors("x", x)
    if x.dim() < 2 or x.numel() == 0:
        raise ValueError(f"x must hold at least one word vector, (..., L, D); got shape {tuple(x.shape)}.")
    weights = torch.softmax(x @ x.transpose(-2, -1), dim=-1)
    return weights @ x


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√d) V, and the weights that did it.

    A query that may attend to nothing gets weights and an output of zero, never NaN.

    Args:
        query: (..., L, d), one row for each position that asks.
        key: (..., M, d), one row for each position that may answer; M is L in self-attention.
        value: (..., M, D), what each position has to say.
        mask: boolean, broadcastable to (..., L, M); True means "may attend". None lets everyone attend to everyone.
        dropout: probability with which a weight is set to zero before averaging (the rest are scaled up to match).
            The weights returned are those before dropout.

    Returns:
        ``(output, weights)``: (..., L, D) and (..., L, M). Each row of weights sums to 1, or to 0 if all is masked.

    Raises:
        TypeError: if query, key or value is no tensor of floating-point numbers.
        ValueError: if the shapes do not fit, a tensor is empty, the mask is not boolean, or ``dropout`` is out of
            range.

    Source: Vaswani et al. 2017, "Attention Is All You Need", equation 1.

    >>> query, key, value = torch.zeros(1, 2), torch.zeros(3, 2), torch.tensor([[3.0], [6.0], [9.0]])
    >>> output, weights = scaled_dot_product_attention(query, key, value)
    >>> output, weights
    (tensor([[6.]]), tensor([[0.3333, 0.3333, 0.3333]]))
    """
    check_attention_shapes(query, key, value, mask)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1; got {dropout}.")
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)  # scaled first, or float16 overflows
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # differs only in rows where everything is masked
    return torch.dropout(weights, dropout, dropout > 0.0) @ value, weights


def causal_mask(length: int, device: torch.device | str | None = None) -> Tensor:
    """Position i may attend to positions 0 … i: the mask of a model that writes from left to right.

    Args:
        length: L, at least 1.
        device: where to put the mask.

    Returns:
        Boolean (L, L), True on and below the diagonal.

    Raises:
        ValueError: if ``length`` is below 1.

    Source: Vaswani et al. 2017, section 3.2.3.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    if length < 1:
        raise ValueError(f"length must be at least 1; got {length}.")
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(attention_mask: Tensor) -> Tensor:
    """Nobody may attend to padding.

    Combine it with another mask by ``&``: ``padding_mask(attention_mask) & causal_mask(length)``.

    Args:
        attention_mask: (B, L), 1 for a token, 0 for padding, as tokenizers write it.

    Returns:
        Boolean (B, 1, 1, L), which broadcasts over heads and queries.

    Raises:
        TypeError: if ``attention_mask`` is no tensor.
        ValueError: if ``attention_mask`` is not two-dimensional, is empty, or holds anything but ones and zeros.

    Source: the ``attention_mask`` input of BERT (Devlin et al. 2019), as Hugging Face's tokenizers write it.

    >>> padding_mask(torch.tensor([[1, 1, 0]])).tolist()
    [[[[True, True, False]]]]
    """
    if not isinstance(attention_mask, Tensor):
        raise TypeError(
            f"attention_mask must be a tensor (B, L), such as encode_batch gives; got {type(attention_mask).__name__}."
        )
    if attention_mask.dim() != 2 or attention_mask.numel() == 0:
        raise ValueError(
            f"attention_mask must have shape (B, L) with at least one token; got {tuple(attention_mask.shape)}."
        )
    is_token = attention_mask == 1
    if not torch.compiler.is_compiling() and (other := attention_mask[~is_token & (attention_mask != 0)]).numel():
        raise ValueError(
            f"attention_mask must be 1 for a token and 0 for padding; got {other[0].item():g}. Write "
            f"(attention_mask == 0).int() for a mask of zeros and minus infinities, (input_ids != 0).int() for ids "
            f"that are 0 where padded."
        )
    return is_token[:, None, None, :]


def check_vectors(name: str, tensor: Tensor) -> None:
    """Refuse what is no tensor of floating-point numbers, such as a list, or whole numbers, which have no softmax.

    Raises:
        TypeError: saying how to make one.
    """
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        got = str(tensor.dtype) if isinstance(tensor, Tensor) else type(tensor).__name__
        raise TypeError(
            f"{name} must be a tensor of floating-point numbers; got {got}. Write tensor.float(), or of a list "
            f"torch.tensor(rows, dtype=torch.float32)."
        )


def check_attention_shapes(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Refuse tensors that attention cannot combine, with a message that names the sizes at odds.

    Args:
        query, key, value, mask: as for ``scaled_dot_product_attention``.

    Raises:
        TypeError: as ``check_vectors``.
        ValueError: if the shapes do not fit, a tensor is empty, or the mask is not boolean.

    Source: the shapes in Vaswani et al. 2017, equation 1.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_vectors(name, tensor)
        if tensor.dim() < 2 or tensor.numel() == 0:
            raise ValueError(f"{name} must have shape (..., length, size), nothing empty; got {tuple(tensor.shape)}.")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query and key must have vectors of one size, as each is dotted with each; got query "
            f"{tuple(query.shape)} and key {tuple(key.shape)}: {query.shape[-1]} is not {key.shape[-1]}."
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key and value must have one row for each position; got key {tuple(key.shape)} and value "
            f"{tuple(value.shape)}: {key.shape[-2]} rows against {value.shape[-2]}."
        )
    try:
        batch = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    except RuntimeError:
        raise ValueError(
            f"query, key and value must agree in their leading dimensions; got {tuple(query.shape)}, "
            f"{tuple(key.shape)} and {tuple(value.shape)}."
        ) from None
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean, True where a query may attend; got {mask.dtype}. Write mask.bool() for a mask of "
            f"ones and zeros, mask == 0 for one of zeros and minus infinities."
        )
    scores = (*batch, query.shape[-2], key.shape[-2])
    try:
        fits = torch.broadcast_shapes(mask.shape, scores) == scores
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask must broadcast to the scores' shape {scores}, (..., queries, keys); got {tuple(mask.shape)}."
        )
