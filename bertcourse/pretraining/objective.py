"""Chapter 4: the loss of pretraining: cross-entropy of the hidden tokens, plus cross-entropy of "does B follow A?".

    L_MLM = -1/|M| Σ_{i ∈ M} log P(x_i | x̃)        L_NSP = -1/B Σ_rows log P(label | x̃)

M are the hidden positions (Devlin et al. 2019, section 3.1 and appendix A.2: training minimizes the sum of both means).
Only these go through the vocabulary: at 15 %, a seventh of the work for the largest matrix of a small model.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert import BertForPreTraining
from bertcourse.pretraining.masking import IGNORE, MaskedTokens
from bertcourse.pretraining.objective_fast import vocabulary_loss
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
