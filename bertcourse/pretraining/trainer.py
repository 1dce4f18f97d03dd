"""Chapter 4: the loss of pretraining, and the loop that makes it smaller.

    L_MLM = -1/|M| Σ_{i ∈ M} log P(x_i | x̃)        L_NSP = -1/B Σ_rows log P(label | x̃)

M are the hidden positions (Devlin et al. 2019, section 3.1 and appendix A.2: training minimizes the sum of both means).
``bertcourse pretrain`` runs the same loop with many processes, a log, evaluations and checkpoints around it
(``bertcourse_lab.pretraining``); a test checks that the weights are equal, bit by bit.
"""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from bertcourse.bert import BertForPreTraining
from bertcourse.pretraining.masking import MaskedTokens
from bertcourse.pretraining.pairs import RowBatch


def losses(model: BertForPreTraining, masked: MaskedTokens, rows: RowBatch) -> tuple[Tensor, Tensor]:
    """Both mean cross-entropies of a batch, in nats: over its hidden tokens, and over its pairs.

    Only hidden positions go through the vocabulary: at 15 %, a seventh of the work for a small model's largest matrix.
    """
    output = model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids)
    vectors = output.last_hidden_state.flatten(0, 1)[masked.positions]
    logits = model.mlm_head(vectors, model.bert.embeddings.word_embeddings.weight)
    mlm = F.cross_entropy(logits, masked.labels)
    nsp = F.cross_entropy(model.nsp_head(output.pooled), rows.nsp_labels)
    return mlm, nsp


def train(
    model: BertForPreTraining,
    stream: Iterator[tuple[MaskedTokens, RowBatch]],
    max_tokens: int,
    callback: Callable[[int, float], None],
    max_lr: float = 1e-3,
) -> None:
    """Minimize L_MLM + L_NSP with AdamW, in place; the learning rate rises, stays, and falls to zero.

    Args:
        model: new, or to be trained further.
        stream: as ``pairs.batches`` makes it.
        max_tokens: how many to read.
        callback: is called after each step with the number of tokens read and the loss.
        max_lr: highest learning rate.
    """
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6, fused=True)
    num_tokens = 0
    while num_tokens < max_tokens:
        done = num_tokens / max_tokens  # from 0 to 1
        for group in optimizer.param_groups:
            group["lr"] = max_lr * min(1, (done + 1e-9) / 0.06, (1 - done) / 0.3)
        masked, rows = next(stream)
        mlm, nsp = losses(model, masked, rows)
        optimizer.zero_grad()
        (mlm + nsp).backward()  # how much is each weight to blame?
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        num_tokens += rows.num_tokens
        callback(num_tokens, (mlm + nsp).item())
