"""Chapter 2: faster forms of two steps, with the same results in less memory."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.self_attention import check_mask, scaled_dot_product_attention


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: float = 0.0
) -> tuple[Tensor, None]:
    """``scaled_dot_product_attention`` with torch's fused kernel, which never holds all L×L weights in memory.

    Dao et al. 2022, "FlashAttention". On a CPU, dropout and bfloat16 take the plain path, which does hold them.

    Args:
        query, key, value, mask, dropout: as for ``bertcourse.self_attention.scaled_dot_product_attention``.

    Returns:
        ``(output, None)``: the same output, and no weights.
    """
    if query.device.type == "cpu" and query.dtype == torch.bfloat16:  # torch's kernel takes four times as long there
        return scaled_dot_product_attention(query, key, value, mask, dropout)[0], None
    check_mask(mask)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout), None
    mask = torch.atleast_2d(mask)  # kernels need a dimension for the queries, and all of the keys
    mask = mask.expand(*mask.shape[:-1], key.shape[-2])
    blind = ~mask.any(dim=-1, keepdim=True)  # these may attend nowhere: kernels give NaN, at least in gradients
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask | blind, dropout_p=dropout)
    return output.masked_fill(blind, 0.0), None


def overwriting(activation: Callable[[Tensor], Tensor], layer: nn.Module) -> Callable[[Tensor], Tensor]:
    """An activation for the output of ``layer``: in place, if it is GELU and nothing needs that output afterwards.

    Allocating a new tensor of this size takes longer than the function itself. Autograd needs the output later, and so
    may a hook, of this layer or of all modules, or a layer that replaces ``nn.Linear``.

    Args:
        activation: one of ``ACTIVATIONS``.
        layer: the linear map before it.

    Returns:
        A function that computes the same values as ``activation``.
    """
    has_hooks = layer._forward_hooks or nn.modules.module._global_forward_hooks
    nobody_needs_it = not torch.is_grad_enabled() and type(layer) is nn.Linear and not has_hooks
    return torch.ops.aten.gelu_ if activation is F.gelu and nobody_needs_it else activation
