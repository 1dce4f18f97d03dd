"""Chapter 12: decoders, models that write.

In reading order: the decoder, with cross-attention and a cache of keys and values (``decoder``); a causal language
model (``language_model``); how it writes (``generation``); GPT-2's files (``gpt2``).
"""

from bertcourse.decoders.decoder import DecoderBlock, DecoderOutput, KeyValueCache, TransformerDecoder
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

__all__ = [
    "CausalLanguageModel",
    "DecoderBlock",
    "DecoderConfig",
    "DecoderOutput",
    "KeyValueCache",
    "TransformerDecoder",
    "generate",
    "keep_top_k",
    "keep_top_p",
    "load_gpt2",
    "mean_loss",
    "next_token_distribution",
    "next_token_loss",
    "pad_texts",
    "perplexity",
    "save_gpt2",
    "text_batches",
    "train_language_model",
]
