"""Chapter 4: cross-entropy over a vocabulary, computed so that the matrix of scores is written only once.

The gradient, softmax minus one-hot, is computed while the scores are at hand, in the same memory.
"""

import torch
from torch import Tensor

from bertcourse.pretraining.masking import IGNORE


def vocabulary_loss(hidden: Tensor, embeddings: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """``F.cross_entropy(F.linear(hidden, embeddings, bias), labels)``, with the (M, V) logits written once.

    Args:
        hidden: (M, D), the transformed vectors at hidden positions.
        embeddings: (V, D), the table that the output layer shares with the input.
        bias: (V,).
        labels: (M,), token ids, or ``IGNORE``.

    Returns:
        Mean loss in nats, in float32; under autocast the matrix products use its type.

    Source: the gradient of cross-entropy with respect to the logits, softmax minus one-hot (Bishop 2006, equation
    4.109).
    """
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        hidden, embeddings, bias = hidden.to(dtype), embeddings.to(dtype), bias.to(dtype)
    with torch.autocast(device, enabled=False):
        return VocabularyLoss.apply(hidden, embeddings, bias, labels)


class VocabularyLoss(torch.autograd.Function):
    """``vocabulary_loss``, which computes its gradients during the forward pass."""

    @staticmethod
    def forward(ctx, hidden: Tensor, embeddings: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
        """The loss; its gradients are stored for ``backward``."""
        logits = torch.addmm(bias, hidden, embeddings.t()).float()
        counted = labels != IGNORE
        targets = labels.where(counted, 0)[:, None]
        share = 1 / counted.sum().clamp(min=1)
        log_sums = logits.logsumexp(1, keepdim=True)
        loss = ((log_sums - logits.gather(1, targets)).squeeze(1) * counted).sum() * share
        gradient = logits.sub_(log_sums).exp_()  # softmax, in place
        gradient.scatter_add_(1, targets, -torch.ones_like(log_sums))
        gradient.mul_((counted * share)[:, None])
        by_bias = gradient.sum(0).to(bias.dtype)
        gradient = gradient.to(hidden.dtype)
        ctx.save_for_backward(gradient @ embeddings, gradient.t() @ hidden, by_bias)
        return loss

    @staticmethod
    def backward(ctx, upstream: Tensor) -> tuple:
        """The stored gradients, scaled."""
        return *(upstream.to(kept.dtype) * kept for kept in ctx.saved_tensors), None
