"""Chapter 12: decoders, models that write.

In reading order: the decoder, with cross-attention and a cache of keys and values (``decoder``); a causal language
model (``language_model``); how it writes (``generation``); GPT-2's files (``gpt2``); encoder and decoder together
(``encoder_decoder``), and dates for them to translate (``tasks``).
"""

from bertcourse.decoders.decoder import DecoderBlock, DecoderOutput, KeyValueCache, TransformerDecoder
from bertcourse.decoders.encoder_decoder import EncoderDecoder, EncoderDecoderOutput, teacher_forcing_loss, translate
from bertcourse.decoders.generation import generate, keep_top_k, keep_top_p, next_token_distribution
from bertcourse.decoders.gpt2 import load_gpt2, save_gpt2
from bertcourse.decoders.language_model import (
    CausalLanguageModel,
    DecoderConfig,
    mean_loss,
    next_token_loss,
    pad_texts,
    perplexity,
    text_batches,
    train_language_model,
)
from bertcourse.decoders.tasks import CharacterVocabulary, date_examples, pair_batches, translations

__all__ = [
    "CausalLanguageModel",
    "CharacterVocabulary",
    "DecoderBlock",
    "DecoderConfig",
    "DecoderOutput",
    "EncoderDecoder",
    "EncoderDecoderOutput",
    "KeyValueCache",
    "TransformerDecoder",
    "date_examples",
    "generate",
    "keep_top_k",
    "keep_top_p",
    "load_gpt2",
    "mean_loss",
    "next_token_distribution",
    "next_token_loss",
    "pad_texts",
    "pair_batches",
    "perplexity",
    "save_gpt2",
    "teacher_forcing_loss",
    "text_batches",
    "train_language_model",
    "translate",
    "translations",
]
