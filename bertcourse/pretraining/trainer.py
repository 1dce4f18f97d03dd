"""Chapter 4: the loop that trains: gradient, learning rate, step, and the model and optimizer that it starts with.

``bertcourse pretrain`` runs the same loop with many processes, a log, evaluations and checkpoints around it
(``bertcourse_lab.pretraining``); a test checks that the weights are equal, bit by bit.
"""

from collections.abc import Iterable

import torch
from torch import nn

from bertcourse.bert import BertForPreTraining, BertModel
from bertcourse.pretraining.config import PretrainingConfig
from bertcourse.pretraining.masking import MaskedTokens
from bertcourse.pretraining.objective import PreTrainingLoss
from bertcourse.pretraining.pairs import Documents, RowBatch
from bertcourse.pretraining.starts import count_vectors, look_at_neighbours, sinusoidal_start, zero_outputs
from bertcourse.training.steps import adamw_groups, set_learning_rate


def plain_pretrain(
    model: BertForPreTraining, batches: Iterable[tuple[MaskedTokens, RowBatch]], config: PretrainingConfig
) -> list[float]:
    """Minimize L_MLM + L_NSP (``objective``) with AdamW: the loop without anything around it.

    Args:
        model: from ``new_model``; trained in place.
        batches: rows with some tokens hidden; the training ends with the last of them.
        config: its tokens, learning rate, weight decay, betas and clipping are used.

    Returns:
        The loss of each step, in nats per hidden token and per pair.
    """
    loss_of, optimizer = PreTrainingLoss(model), new_optimizer(model, config)
    model.train()
    losses, tokens = [], 0
    for masked, rows in batches:
        optimizer.zero_grad()
        loss = sum(loss_of(masked, rows))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        set_learning_rate(optimizer, config.rate_at(tokens / config.tokens))
        optimizer.step()
        losses.append(loss.item())
        tokens += rows.num_tokens
    return losses


def new_model(
    config: PretrainingConfig, vocab_size: int, shards: Iterable[Documents] = (), pad_id: int = 0
) -> BertForPreTraining:
    """A BERT with the weights that a run starts from; without NSP, the NSP head and the pooler are frozen."""
    model = BertForPreTraining(config.bert_config(vocab_size, pad_id))
    start(model.bert, config, shards)
    if not config.nsp:
        for part in (model.bert.pooler, model.nsp_head):
            part.requires_grad_(False)
    return model


@torch.no_grad()
def start(bert: BertModel, config: PretrainingConfig, shards: Iterable[Documents] = ()) -> None:
    """Give a new encoder those of the initial weights in ``starts`` that the settings ask for."""
    words = bert.embeddings.word_embeddings.weight
    if config.initial_positions == "sinusoidal" and bert.embeddings.position_embeddings is not None:
        sinusoidal_start(bert)
    if config.initial_words == "counts":
        words.copy_(config.initializer_range * count_vectors(shards, *words.shape))
    if config.initial_outputs == "zero":
        zero_outputs(bert.encoder)
    if config.local_layers:
        look_at_neighbours(bert, config.local_layers, config.offsets)


def new_optimizer(model: nn.Module, config: PretrainingConfig) -> torch.optim.AdamW:
    """AdamW in one fused kernel; weight decay applies to matrices, not to biases and layer norms."""
    groups = adamw_groups(model, lambda name: config.learning_rate, config.weight_decay)
    return torch.optim.AdamW(groups, betas=(config.beta1, config.beta2), eps=1e-6, fused=True)
