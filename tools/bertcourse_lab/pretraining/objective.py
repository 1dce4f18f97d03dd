"""Chapter 4's loss for long runs: a module for DDP to wrap, whose matrix of scores is written only once.

The gradient, softmax minus one-hot, is computed while the scores are at hand, in the same memory.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert import BertForPreTraining
from bertcourse.pretraining.masking import IGNORE, MaskedTokens
from bertcourse.pretraining.pairs import RowBatch


class Losses(NamedTuple):
    """Mean cross-entropies in nats.

    Attributes:
        mlm: over hidden tokens.
        nsp: over pairs; 0 for rows that are not pairs.
    """

    mlm: Tensor
    nsp: Tensor


def pair_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean cross-entropy over rows that are pairs; 0 if none is.

    >>> pair_loss(torch.zeros(2, 2), torch.tensor([IGNORE, IGNORE]))
    tensor(0.)
    """
    total = F.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="sum")
    return total / (labels != IGNORE).sum().clamp(min=1)


class PreTrainingLoss(nn.Module):
    """A model and its loss as one module, for DDP to wrap.

    Args:
        model: the model to train. While its NSP head is frozen, the NSP loss is 0.
    """

    def __init__(self, model: BertForPreTraining):
        super().__init__()
        self.model = model

    def forward(self, masked: MaskedTokens, rows: RowBatch) -> Losses:
        """Both losses of a batch: ``masked`` has the tokens to read and to guess, ``rows`` everything else."""
        output = self.model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids)
        head = self.model.mlm_head
        hidden = output.last_hidden_state.flatten(0, 1)[masked.positions]
        transformed = head.layer_norm(head.activation(head.dense(hidden)))
        table = self.model.bert.embeddings.word_embeddings.weight
        mlm = vocabulary_loss(transformed, table, head.bias, masked.labels)
        if output.pooled is None or not self.model.nsp_head.weight.requires_grad:
            return Losses(mlm, torch.zeros_like(mlm))
        return Losses(mlm, pair_loss(self.model.nsp_head(output.pooled).float(), rows.nsp_labels))


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
