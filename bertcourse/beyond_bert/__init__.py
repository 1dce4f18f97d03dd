"""Chapter 11: beyond BERT. What its successors changed, each change by itself, for chapter 4's loop to train.

In reading order: the encoder whose departures from BERT are settings (``encoder``), Muon beside AdamW (``muon``),
ELECTRA (``electra``, ``electra_evaluation``, ``electra_files``), a run's departures in one place (``recipes``), and the
files of these models (``files``).
"""

from bertcourse.beyond_bert.electra import ElectraForPreTraining, ElectraLoss
from bertcourse.beyond_bert.encoder import MODERN, Encoder, EncoderConfig, EncoderForPreTraining, rotary_angles, rotate
from bertcourse.beyond_bert.files import save_pretrained
from bertcourse.beyond_bert.muon import Muon, muon_groups, orthogonalize
from bertcourse.beyond_bert.recipes import Recipe, pretrain_recipe

__all__ = [
    "MODERN",
    "ElectraForPreTraining",
    "ElectraLoss",
    "Encoder",
    "EncoderConfig",
    "EncoderForPreTraining",
    "Muon",
    "Recipe",
    "muon_groups",
    "orthogonalize",
    "pretrain_recipe",
    "rotary_angles",
    "rotate",
    "save_pretrained",
]
