"""Chapter 12: decoders, models that write.

In reading order: a causal language model and the loop that trains it (``language_model``); how it writes, and a cache
of keys and values (``generation``); a poem for it to learn by heart (``poem``); GPT-2's files (``gpt2``); encoder and
decoder together (``encoder_decoder``), and dates for them to translate (``dates``); T5's objective
(``span_corruption``).
"""

from bertcourse.decoders.dates import CharacterVocabulary, date_examples, pair_batches, translations
from bertcourse.decoders.encoder_decoder import (
    CrossAttention,
    DecoderBlock,
    EncoderDecoder,
    TransformerDecoder,
    translate,
    translation_loss,
)
from bertcourse.decoders.generation import (
    WithCache,
    attend_with_cache,
    generate,
    keep_top_k,
    keep_top_p,
    next_token_distribution,
)
from bertcourse.decoders.gpt2 import load_gpt2
from bertcourse.decoders.language_model import (
    CausalLanguageModel,
    DecoderConfig,
    mean_loss,
    next_token_loss,
    pad_texts,
    small_config,
    text_batches,
    train_language_model,
)
from bertcourse.decoders.poem import POEM
from bertcourse.decoders.span_corruption import corrupt, fill, random_spans

__all__ = [
    "POEM",
    "CausalLanguageModel",
    "CharacterVocabulary",
    "CrossAttention",
    "DecoderBlock",
    "DecoderConfig",
    "EncoderDecoder",
    "TransformerDecoder",
    "WithCache",
    "attend_with_cache",
    "corrupt",
    "date_examples",
    "fill",
    "generate",
    "keep_top_k",
    "keep_top_p",
    "load_gpt2",
    "mean_loss",
    "next_token_distribution",
    "next_token_loss",
    "pad_texts",
    "pair_batches",
    "random_spans",
    "small_config",
    "text_batches",
    "train_language_model",
    "translate",
    "translation_loss",
    "translations",
]
