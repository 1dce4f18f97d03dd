"""Chapter 2: multi-head attention and the encoder block (``encoder``); faster forms of two of its steps (``fast``)."""

from bertcourse.multi_head_attention.encoder import (
    ACTIVATIONS,
    EncoderBlock,
    EncoderOutput,
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    TransformerEncoder,
    check_heads,
    sinusoidal_positions,
)
from bertcourse.multi_head_attention.fast import fused_attention

__all__ = [
    "ACTIVATIONS",
    "EncoderBlock",
    "EncoderOutput",
    "FeedForward",
    "LearnedPositions",
    "MultiHeadAttention",
    "TransformerEncoder",
    "check_heads",
    "fused_attention",
    "sinusoidal_positions",
]
