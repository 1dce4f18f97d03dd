"""Chapter 11: beyond BERT. What its successors changed, each change by itself, for chapter 4's loop to train.

BERT's recipe is five choices: rows, masks, objective, architecture, optimizer. In reading order: SpanBERT's masks and
objective (``spans``, ``spans_fast``); ELECTRA (``electra``, ``electra_evaluation``, ``electra_files``); the encoder
whose departures from BERT are settings (``encoder``); its unpadded form (``unpadding``); Muon beside AdamW (``muon``);
a run's departures in one place (``recipes``); and the files of all of them, RoBERTa's and ModernBERT's too (``files``,
``formats``).
"""

from bertcourse.beyond_bert.electra import ElectraForPreTraining, ElectraLoss
from bertcourse.beyond_bert.electra_files import load_electra, save_electra
from bertcourse.beyond_bert.encoder import MODERN, Encoder, EncoderConfig, EncoderForPreTraining, rotary_angles, rotate
from bertcourse.beyond_bert.files import load_pretrained, save_pretrained
from bertcourse.beyond_bert.muon import Muon, muon_groups, orthogonalize
from bertcourse.beyond_bert.recipes import Recipe, pretrain_recipe
from bertcourse.beyond_bert.spans import SpanBertForPreTraining
from bertcourse.beyond_bert.spans_fast import SpanLoss, mask_spans

__all__ = [
    "MODERN",
    "ElectraForPreTraining",
    "ElectraLoss",
    "Encoder",
    "EncoderConfig",
    "EncoderForPreTraining",
    "Muon",
    "Recipe",
    "SpanBertForPreTraining",
    "SpanLoss",
    "load_electra",
    "load_pretrained",
    "mask_spans",
    "muon_groups",
    "orthogonalize",
    "pretrain_recipe",
    "rotary_angles",
    "rotate",
    "save_electra",
    "save_pretrained",
]
