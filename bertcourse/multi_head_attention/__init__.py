"""Chapter 2: multi-head attention, the encoder block, and stacks of it; ``bertcourse.bert`` makes a BERT of them."""

from bertcourse.multi_head_attention.encoder import (
    ACTIVATIONS,
    EncoderBlock,
    EncoderOutput,
    FeedForward,
    MultiHeadAttention,
    PreNormBlock,
    PreNormEncoder,
    TransformerEncoder,
    merge_heads,
    sinusoidal_positions,
    split_heads,
)

__all__ = [
    "ACTIVATIONS",
    "EncoderBlock",
    "EncoderOutput",
    "FeedForward",
    "MultiHeadAttention",
    "PreNormBlock",
    "PreNormEncoder",
    "TransformerEncoder",
    "merge_heads",
    "sinusoidal_positions",
    "split_heads",
]
