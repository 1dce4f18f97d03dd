"""Chapter 12: decoders, models that write.

In reading order: the decoder, with cross-attention and a cache of keys and values (``decoder``); a causal language
model (``language_model``); how it writes (``generation``); a poem for it to learn by heart (``poem``); GPT-2's files
(``gpt2``); encoder and decoder together (``encoder_decoder``), and dates for them to translate (``tasks``); T5's
objective (``span_corruption``); a BERT that is made to write (``bert_writes``); and chapter 4's small world, for models
that write (``small_world_texts``).
"""

from bertcourse.decoders.bert_writes import Writer, mask_predict, write_left_to_right
from bertcourse.decoders.decoder import DecoderBlock, DecoderOutput, KeyValueCache, TransformerDecoder
from bertcourse.decoders.encoder_decoder import EncoderDecoder, EncoderDecoderOutput, teacher_forcing_loss, translate
from bertcourse.decoders.generation import generate, keep_top_k, keep_top_p, next_token_distribution
from bertcourse.decoders.gpt2 import load_gpt2
from bertcourse.decoders.language_model import (
    CausalLanguageModel,
    DecoderConfig,
    SmallModel,
    mean_loss,
    next_token_loss,
    pad_texts,
    text_batches,
    train_language_model,
)
from bertcourse.decoders.poem import POEM
from bertcourse.decoders.small_world_texts import WORLD_MODEL, bigram_loss, grammar_loss, world_texts
from bertcourse.decoders.span_corruption import corrupt, fill, random_spans, span_corruption
from bertcourse.decoders.tasks import DATE_MODEL, CharacterVocabulary, date_examples, pair_batches, translations

__all__ = [
    "DATE_MODEL",
    "POEM",
    "WORLD_MODEL",
    "CausalLanguageModel",
    "CharacterVocabulary",
    "DecoderBlock",
    "DecoderConfig",
    "DecoderOutput",
    "EncoderDecoder",
    "EncoderDecoderOutput",
    "KeyValueCache",
    "SmallModel",
    "TransformerDecoder",
    "Writer",
    "bigram_loss",
    "corrupt",
    "date_examples",
    "fill",
    "generate",
    "grammar_loss",
    "keep_top_k",
    "keep_top_p",
    "load_gpt2",
    "mask_predict",
    "mean_loss",
    "next_token_distribution",
    "next_token_loss",
    "pad_texts",
    "pair_batches",
    "random_spans",
    "span_corruption",
    "teacher_forcing_loss",
    "text_batches",
    "train_language_model",
    "translate",
    "translations",
    "world_texts",
    "write_left_to_right",
]
