"""Chapter 11: beyond BERT.

The encoder whose departures from BERT are settings (``encoder``), and its files: BERT's, RoBERTa's and ModernBERT's
load by name (``files``, ``formats``).
"""

from bertcourse.beyond_bert.encoder import Encoder, EncoderConfig, EncoderForPreTraining
from bertcourse.beyond_bert.files import load_pretrained, save_pretrained

__all__ = ["Encoder", "EncoderConfig", "EncoderForPreTraining", "load_pretrained", "save_pretrained"]
