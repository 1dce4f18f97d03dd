"""Chapter 11: a recipe says what a pretraining run changes; chapter 4's loop trains it.

Whatever a recipe does not name stays as it is, so that two runs differ only in their recipes.
"""

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse import beyond_bert
from bertcourse.bert import BertForPreTraining, save_pretrained
from bertcourse.beyond_bert.electra import ElectraWithGenerator, electra_losses
from bertcourse.beyond_bert.electra_files import save_electra
from bertcourse.beyond_bert.encoder import EncoderConfig, EncoderForPreTraining
from bertcourse.pretraining.corpus import Corpus
from bertcourse.pretraining.masking import MaskedTokens
from bertcourse.pretraining.pairs import RowBatch
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.pretraining.electra_evaluation import evaluate_electra
from bertcourse_lab.pretraining.muon import Muon, muon_groups
from bertcourse_lab.pretraining.starts import aim_heads, local_columns, new_model, start, zero_outputs
from bertcourse_lab.pretraining.trainer import Parts, new_optimizer, pretrain

ALL_MASKED = dict(mask_share=1.0, random_share=0.0)  # ELECTRA's generator reads [MASK] at every hidden token


class ElectraLosses(NamedTuple):
    """What ``electra_losses`` returns, in nats: the generator's loss, and 50 times the discriminator's."""

    mlm: Tensor
    replaced: Tensor


class ElectraLoss(nn.Module):
    """Both models and their loss as one module, for DDP to wrap.

    Args:
        model: to be trained.
    """

    def __init__(self, model: ElectraWithGenerator):
        super().__init__()
        self.model = model

    def forward(self, masked: MaskedTokens, rows: RowBatch) -> ElectraLosses:
        """Both losses of a batch."""
        return ElectraLosses(*electra_losses(self.model, masked, rows))


@dataclass(frozen=True)
class Recipe:
    """What differs from a plain BERT and its usual training.

    Attributes:
        settings: fields of ``PretrainingConfig``: rows, masks, starts, learning rate.
        encoder: fields of ``EncoderConfig``; empty for a plain BERT.
        objective: "hidden" (masked language modelling, with NSP if the settings say so) or, for a plain BERT,
            "replaced" (ELECTRA).
        muon_rate: highest learning rate of the hidden matrices under Muon; 0: AdamW trains everything.
    """

    settings: Mapping[str, object] = field(default_factory=dict)
    encoder: Mapping[str, object] = field(default_factory=dict)
    objective: str = field(default="hidden", kw_only=True)
    muon_rate: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        for name, config in (("settings", PretrainingConfig), ("encoder", EncoderConfig)):
            known = {each.name for each in fields(config)}
            if unknown := sorted(set(getattr(self, name)) - known):
                raise ValueError(f"{name} must be fields of {config.__name__}; it has no {', '.join(unknown)}.")
        if not self.muon_rate >= 0:
            raise ValueError(f"muon_rate must be at least 0, which leaves all to AdamW; got {self.muon_rate}.")
        if self.objective not in ("hidden", "replaced") or (self.encoder and self.objective != "hidden"):
            raise ValueError(
                f"objective must be hidden, or for a plain BERT replaced; got {self.objective} with encoder "
                f"{dict(self.encoder)}."
            )

    def about(self) -> dict[str, object]:
        """What a run's settings do not say: how the recipe departs from plain BERT, for its log and checkpoints."""
        told = {"encoder": dict(self.encoder), "objective": self.objective, "muon_rate": self.muon_rate}
        return {name: value for name, value in told.items() if value not in ({}, "hidden", 0.0)}

    def parts(self) -> Parts:
        """What the loop needs in order to train by this recipe."""
        optimizer = self.new_muon if self.muon_rate else new_optimizer
        parts = Parts(new_optimizer=optimizer, save=save_half, about=self.about())
        if self.objective == "replaced":
            return parts._replace(
                new_model=new_electra,
                loss=ElectraLoss,
                evaluate=evaluate_electra,
                held_out_masks=ALL_MASKED,
                save=save_discriminator,
            )
        return parts._replace(new_model=self.new_encoder if self.encoder else new_model)

    def new_encoder(
        self, config: PretrainingConfig, vocab_size: int, shards=(), pad_id: int = 0
    ) -> EncoderForPreTraining:
        """As chapter 4's ``new_model``, but with this recipe's encoder."""
        sizes = EncoderConfig(**{**asdict(config.bert_config(vocab_size, pad_id)), **self.encoder})
        if config.local_layers and (sizes.positions != "learned" or not sizes.segments):
            raise ValueError(
                f"local_layers needs position and segment vectors; got positions {sizes.positions} and segments "
                f"{sizes.segments}."
            )
        model = EncoderForPreTraining(sizes)
        start(model.bert, config, shards)
        if not config.nsp:
            for part in (model.bert.pooler, model.nsp_head):
                part.requires_grad_(False)
        return model

    def new_muon(self, model: nn.Module, config: PretrainingConfig) -> Muon:
        """Muon for the hidden matrices, AdamW for the rest."""
        groups = muon_groups(model, self.muon_rate, config.learning_rate, config.weight_decay)
        return Muon(groups, betas=(config.beta1, config.beta2), eps=1e-6)


def new_electra(config: PretrainingConfig, vocab_size: int, shards=(), pad_id: int = 0) -> ElectraWithGenerator:
    """Discriminator and generator, both starting as the settings ask."""
    if config.num_attention_heads % 4:
        raise ValueError(
            "ELECTRA's generator has a quarter of the heads: num_attention_heads must be a multiple of 4; got "
            f"{config.num_attention_heads}."
        )
    if config.nsp:
        raise ValueError("ELECTRA learns no NSP: nsp must be False; got True.")
    if config.mask_share != 1:
        raise ValueError(
            f"ELECTRA's generator reads a [MASK] at every hidden token: mask_share 1; got {config.mask_share}."
        )
    model = ElectraWithGenerator(config.bert_config(vocab_size, pad_id))
    start(model.bert, config, shards)
    start_generator(model, config)
    return model


@torch.no_grad()
def start_generator(model: ElectraWithGenerator, config: PretrainingConfig) -> None:
    """Start the generator like its discriminator; its projection passes on the columns that local heads read."""
    generator = model.generator
    if config.initial_outputs == "zero":
        zero_outputs(generator.encoder)
    if config.local_layers:
        columns = local_columns(model.bert)
        weight = generator.embeddings_project.weight
        weight[columns] = torch.eye(weight.shape[1])[columns]
        aim_heads(generator.encoder, config.local_layers, config.offsets, columns, weight.shape[1])


def save_discriminator(model: ElectraWithGenerator, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the discriminator in fp16: as a BERT without heads and, in a folder ``electra``, with its head."""
    half = copy.deepcopy(model).half()
    save_electra(half, tokenizer, folder / "electra")
    save_pretrained(half.bert, tokenizer, folder)


def pretrain_recipe(
    recipe: Recipe, config: PretrainingConfig, resume: bool = False, corpus: Corpus | None = None
) -> nn.Module:
    """Train by a recipe: ``pretrain`` with the recipe's parts.

    Args:
        recipe: what differs.
        config: settings, the same for all recipes that are compared; the recipe's own override them.
        resume, corpus: as for ``pretrain``.

    Returns:
        A ``BertForPreTraining``, or an ``EncoderForPreTraining`` if the recipe has an encoder; for "replaced" an
        ``ElectraWithGenerator``.
    """
    return pretrain(replace(config, **recipe.settings), resume, corpus, recipe.parts())


def save_half(model: BertForPreTraining, tokenizer: Tokenizer, folder: Path) -> None:
    """Write a model in fp16 and its tokenizer; a plain BERT is written in BERT's format."""
    beyond_bert.save_pretrained(copy.deepcopy(model).half(), tokenizer, folder)
