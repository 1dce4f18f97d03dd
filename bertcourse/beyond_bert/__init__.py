"""Chapter 11: beyond BERT. What its successors changed, one change at a time, trained by chapter 4's loop.

BERT's recipe consists of five choices: rows, masks, objective, architecture and optimizer. In reading order: SpanBERT's
masks and objective (``spans``, ``spans_fast``); ELECTRA (``electra``, ``electra_files``); an
encoder in which every departure from BERT is a setting (``encoder``) and its unpadded form (``unpadding``); Muon, to
set beside AdamW (``muon``); and the files of all of these, with RoBERTa's and ModernBERT's among them (``files``,
``formats``). Whole runs, and what each changes, are in ``bertcourse_lab.pretraining``.
"""

from bertcourse.beyond_bert.electra import ElectraLoss, ElectraWithGenerator
from bertcourse.beyond_bert.electra_files import load_electra, save_electra
from bertcourse.beyond_bert.encoder import MODERN, Encoder, EncoderConfig, EncoderForPreTraining, rotary_angles, rotate
from bertcourse.beyond_bert.files import load_pretrained, save_pretrained
from bertcourse.beyond_bert.muon import Muon, muon_groups, orthogonalize
from bertcourse.beyond_bert.spans import SpanBertForPreTraining
from bertcourse.beyond_bert.spans_fast import SpanLoss, mask_spans

__all__ = [
    "MODERN",
    "ElectraWithGenerator",
    "ElectraLoss",
    "Encoder",
    "EncoderConfig",
    "EncoderForPreTraining",
    "Muon",
    "SpanBertForPreTraining",
    "SpanLoss",
    "load_electra",
    "load_pretrained",
    "mask_spans",
    "muon_groups",
    "orthogonalize",
    "rotary_angles",
    "rotate",
    "save_electra",
    "save_pretrained",
]
