"""Chapter 11: beyond BERT. What its successors changed, one change at a time, trained by chapter 4's loop.

In reading order: SpanBERT's masks and objective (``spans``); ELECTRA (``electra``, ``electra_files``); an encoder in
which every departure from BERT is a setting (``encoder``); and the files of encoders, RoBERTa's and ModernBERT's among
them (``files``, ``formats``). Whole runs, and what each changes, are in ``bertcourse_lab.pretraining``.
"""

from bertcourse.beyond_bert.electra import ElectraWithGenerator, electra_losses, with_guesses
from bertcourse.beyond_bert.electra_files import load_electra, save_electra
from bertcourse.beyond_bert.encoder import MODERN, Encoder, EncoderConfig, EncoderForPreTraining, local_mask, turn
from bertcourse.beyond_bert.files import load_pretrained, save_pretrained
from bertcourse.beyond_bert.spans import SpanBoundaryHead, mask_spans, span_losses

__all__ = [
    "MODERN",
    "ElectraWithGenerator",
    "Encoder",
    "EncoderConfig",
    "EncoderForPreTraining",
    "SpanBoundaryHead",
    "electra_losses",
    "load_electra",
    "load_pretrained",
    "local_mask",
    "mask_spans",
    "save_electra",
    "save_pretrained",
    "span_losses",
    "turn",
    "with_guesses",
]
