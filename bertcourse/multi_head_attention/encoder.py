"""Chapter 2: multi-head attention and the encoder block, in the order that data meets them.

H attentions side by side, each in D/H dimensions, cost no more than one in D (Vaswani et al. 2017, section 3.2.2).
Around them are the parts that turn them into a trainable stack: a feed-forward network, residual connections and layer
normalization. All take a configuration with Hugging Face's field names, such as ``bert.BertConfig``.
"""

from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.self_attention import scaled_dot_product_attention

ACTIVATIONS = {  # by the names that configurations use
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


def sinusoidal_positions(length: int, hidden_size: int) -> Tensor:
    """One vector per position, made of sines and cosines of ever longer wavelength (Vaswani et al. 2017, section 3.5).

    Column 2i holds sin(p / 10000^(2i/D)), column 2i + 1 the cosine, so that for every k the vector of p + k is a
    rotation of the vector of p.

    Args:
        length: L, how many positions.
        hidden_size: D, even.

    Returns:
        (L, D), values in [-1, 1].

    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    frequencies = 10000 ** (-torch.arange(0, hidden_size, 2) / hidden_size)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, L, D) to (B, H, L, D/H): head h is the h-th slice of the last dimension."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, L, D/H) to (B, L, D): the heads' results side by side."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """H scaled dot-product attentions over slices of one projection, then a linear map that mixes their results.

    Vaswani et al. 2017, section 3.2.2.

    Args:
        config: with ``hidden_size``, D; ``num_attention_heads``, H; and ``attention_probs_dropout_prob``.
    """

    def __init__(self, config):
        super().__init__()
        D, self.num_heads = config.hidden_size, config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob
        self.query, self.key = nn.Linear(D, D), nn.Linear(D, D)
        self.value, self.output = nn.Linear(D, D), nn.Linear(D, D)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Let each position gather information from the others, separately in each head.

        Args:
            x: (B, L, D).
            mask: boolean, broadcastable to (B, H, L, L), True where a query may attend; None for everywhere.
            need_weights: return the weights too, before dropout. This takes chapter 1's function; otherwise PyTorch's
                own runs, which does the same without keeping them (Dao et al. 2022, "FlashAttention").

        Returns:
            ``(output, weights)``: (B, L, D), and (B, H, L, L) or None.
        """
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (split_heads(each, self.num_heads) for each in parts)
        return self.attend(query, key, value, mask, need_weights)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """What queries (B, H, L, D/H) gather from (B, H, M, D/H) keys and values, as (B, L, D), and the weights."""
        if need_weights:
            heads, weights = scaled_dot_product_attention(query, key, value, mask)
        else:
            dropout, weights = self.dropout if self.training else 0.0, None
            heads = F.scaled_dot_product_attention(query, key, value, mask, dropout)
        return self.output(merge_heads(heads)), weights


class FeedForward(nn.Module):
    """W₂ f(W₁x + b₁) + b₂ applied to every position separately (Vaswani et al. 2017, section 3.3).

    Args:
        config: with ``intermediate_size``, rows of W₁, 4·D in BERT, and ``hidden_act``, f, one of ``ACTIVATIONS``.
            BERT's is GELU(x) = x·Φ(x), where Φ is the distribution function of the standard normal distribution
            (Hendrycks & Gimpel 2016).
    """

    def __init__(self, config):
        super().__init__()
        self.expand = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.contract = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        return self.contract(self.activation(self.expand(x)))


class EncoderBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual connection and layer normalization.

    This is post-LN, BERT's order, which normalizes what the residual stream carries: x ← norm(x + f(x)) (Vaswani et al.
    2017, section 3.1).

    Args:
        config: as for its parts, with ``hidden_dropout_prob`` and ``layer_norm_eps``, which is added to the variance.
    """

    def __init__(self, config):
        super().__init__()
        D, eps = config.hidden_size, config.layer_norm_eps
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(D, eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(D, eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """One layer of the encoder; arguments and result as for ``MultiHeadAttention.forward``."""
        mixed, weights = self.attention(x, mask, need_weights)
        x = self.attention_norm(x + self.dropout(mixed))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x, weights


class PreNormBlock(EncoderBlock):
    """Pre-LN normalizes what goes into a sublayer and leaves the stream alone: x ← x + f(norm(x)) (Xiong et al. 2020,
    "On Layer Normalization in the Transformer Architecture")."""

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """One layer of the encoder; arguments and result as for ``MultiHeadAttention.forward``."""
        mixed, weights = self.attention(self.attention_norm(x), mask, need_weights)
        x = x + self.dropout(mixed)
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x, weights


class EncoderOutput(NamedTuple):
    """What an encoder returns.

    Attributes:
        last_hidden_state: (B, L, D).
        hidden_states: the input of each layer and the output of the last: layers + 1 tensors (B, L, D).
        attentions: a tensor of weights (B, H, L, L) for each layer, or None for each.
    """

    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...]
    attentions: tuple[Tensor | None, ...]


class TransformerEncoder(nn.Module):
    """A stack of encoder blocks.

    Args:
        config: as for ``EncoderBlock``, with ``num_hidden_layers``.
    """

    def __init__(self, config):
        super().__init__()
        blocks = (EncoderBlock(config) for _ in range(config.num_hidden_layers))
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor, mask: Tensor | None = None, output_attentions: bool = False) -> EncoderOutput:
        """Run the stack.

        Args:
            x: (B, L, D), embeddings with positions already added.
            mask: as for ``MultiHeadAttention.forward``.
            output_attentions: keep each layer's weights.
        """
        states, attentions = [x], []
        for block in self.blocks:
            x, weights = block(x, mask, output_attentions)
            states.append(x)
            attentions.append(weights)
        return EncoderOutput(x, tuple(states), tuple(attentions))


class PreNormEncoder(TransformerEncoder):
    """A stack of pre-LN blocks, with a layer normalization at the end, as nothing else normalizes the stream.

    Args:
        config: as for ``TransformerEncoder``.
    """

    def __init__(self, config):
        nn.Module.__init__(self)
        self.blocks = nn.ModuleList(PreNormBlock(config) for _ in range(config.num_hidden_layers))
        self.final_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def forward(self, x: Tensor, mask: Tensor | None = None, output_attentions: bool = False) -> EncoderOutput:
        """As ``TransformerEncoder.forward``; the last of the hidden states is normalized."""
        output = super().forward(x, mask, output_attentions)
        last = self.final_norm(output.last_hidden_state)
        return EncoderOutput(last, (*output.hidden_states[:-1], last), output.attentions)
