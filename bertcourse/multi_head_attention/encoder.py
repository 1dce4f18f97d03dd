"""Chapter 2: multi-head attention and the encoder block, in the order that data meets them.

H attentions side by side, each in D/H dimensions, cost no more than one in D (Vaswani et al. 2017, section 3.2.2).
Around them are the parts that turn them into a trainable stack: positions, a feed-forward network, residual connections
and layer normalization.
"""

from functools import partial
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.multi_head_attention.fast import fused_attention, overwriting
from bertcourse.self_attention import scaled_dot_product_attention


def squared_relu(x: Tensor) -> Tensor:
    """ReLU², the square of ReLU (So et al. 2021, "Primer")."""
    return F.relu(x).square()


ACTIVATIONS = {  # no lambdas, so that a model can be pickled
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "relu2": squared_relu,
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
    if hidden_size % 2:
        raise ValueError(f"hidden_size must be even, a sine and a cosine for each wavelength; got {hidden_size}.")
    frequencies = 10000 ** (-torch.arange(0, hidden_size, 2) / hidden_size)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class LearnedPositions(nn.Embedding):
    """One trainable vector per position, as in BERT (Devlin et al. 2019, figure 2): position p is row p of a table.

    Args:
        max_length: how many positions the table has; a longer text is refused.
        hidden_size: D.
    """

    def __init__(self, max_length: int, hidden_size: int):
        super().__init__(max_length, hidden_size)

    def forward(self, length: int) -> Tensor:
        """(L, D), the vectors of positions 0 … L - 1."""
        if length > self.num_embeddings:
            raise ValueError(
                f"the sequence has {length} tokens, but there are positions for {self.num_embeddings} only; shorten it "
                f"(tokenizer.enable_truncation({self.num_embeddings})) or split it into overlapping windows."
            )
        return self.weight[:length]


class MultiHeadAttention(nn.Module):
    """H scaled dot-product attentions over slices of one projection, then a linear map that mixes their results.

    Vaswani et al. 2017, section 3.2.2.

    Args:
        hidden_size: D, divisible by ``num_heads``.
        num_heads: H.
        dropout: probability of dropping an attention weight in training.
    """

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        check_heads(hidden_size, num_heads)
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, L, D) to (B, H, L, D/H): head h is the h-th slice of the last dimension."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def merge_heads(self, x: Tensor) -> Tensor:
        """(B, H, L, D/H) to (B, L, D): the heads' results side by side."""
        return x.transpose(1, 2).flatten(2)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Let each position gather information from the others, separately in each head.

        Args:
            x: (B, L, D).
            mask: boolean, broadcastable to (B, H, L, L), True where a query may attend; None for everywhere.
            need_weights: return the weights too. This takes chapter 1's plain path, which keeps them; otherwise
                ``fused_attention`` runs.

        Returns:
            ``(output, weights)``: (B, L, D), and (B, H, L, L) or None.
        """
        if x.dim() != 3:  # otherwise heads and positions would trade places
            raise ValueError(f"x must have shape (B, L, {self.query.in_features}); got {tuple(x.shape)}.")
        query, key, value = (self.split_heads(project(x)) for project in (self.query, self.key, self.value))
        attend = scaled_dot_product_attention if need_weights else fused_attention
        heads, weights = attend(query, key, value, mask, self.dropout if self.training else 0.0)
        return self.output(self.merge_heads(heads)), weights


class FeedForward(nn.Module):
    """W₂ f(W₁x + b₁) + b₂ applied to every position separately (Vaswani et al. 2017, section 3.3).

    Args:
        hidden_size: D.
        intermediate_size: rows of W₁, 4·D in BERT.
        activation: f, one of ``ACTIVATIONS``. BERT's is GELU(x) = x·Φ(x), where Φ is the distribution function of the
            standard normal distribution (Hendrycks & Gimpel 2016).
    """

    def __init__(self, hidden_size: int, intermediate_size: int, activation: str = "gelu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}.")
        self.activation = ACTIVATIONS[activation]
        self.expand = nn.Linear(hidden_size, intermediate_size)
        self.contract = nn.Linear(intermediate_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        activation = overwriting(self.activation, self.expand)  # the same function, in less memory
        return self.contract(activation(self.expand(x)))


class EncoderBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual connection and layer normalization.

    Post-LN, BERT's order, normalizes what the residual stream carries: x ← norm(x + f(x)) (Vaswani et al. 2017,
    section 3.1). Pre-LN normalizes what goes into the sublayer, and leaves the stream alone: x ← x + f(norm(x))
    (Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture").

    Args:
        hidden_size: D.
        num_heads: H.
        intermediate_size: width of the feed-forward network.
        norm: "post" or "pre".
        activation: of the feed-forward network.
        dropout: probability of dropping a value of a sublayer's output in training.
        attention_dropout: probability of dropping an attention weight in training.
        layer_norm_eps: added to the variance in layer normalization.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        norm: Literal["post", "pre"] = "post",
        activation: str = "gelu",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        layer_norm_eps: float = 1e-12,
    ):
        super().__init__()
        if norm not in ("post", "pre"):
            raise ValueError(f'norm must be "post" or "pre"; got {norm!r}.')
        self.norm = norm
        self.attention = MultiHeadAttention(hidden_size, num_heads, attention_dropout)
        self.attention_norm = nn.LayerNorm(hidden_size, eps=layer_norm_eps)
        self.feed_forward = FeedForward(hidden_size, intermediate_size, activation)
        self.feed_forward_norm = nn.LayerNorm(hidden_size, eps=layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """One layer of the encoder; arguments and result as for ``MultiHeadAttention.forward``."""
        if self.norm == "post":
            attended, weights = self.attention(x, mask, need_weights)
            x = self.attention_norm(x + self.dropout(attended))
            x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        else:
            attended, weights = self.attention(self.attention_norm(x), mask, need_weights)
            x = x + self.dropout(attended)
            x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x, weights


class EncoderOutput(NamedTuple):
    """What an encoder returns.

    Attributes:
        last_hidden_state: (B, L, D).
        hidden_states: None, or the input of each layer and the output of the last (in a pre-LN stack, after the final
            normalization): layers + 1 tensors (B, L, D).
        attentions: None, or a tensor of weights (B, H, L, L) for each layer.
    """

    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class TransformerEncoder(nn.Module):
    """A stack of encoder blocks; pre-LN adds a layer normalization at the end, as nothing else normalizes the stream.

    Args:
        num_layers: how many blocks.
        hidden_size, num_heads, intermediate_size, norm, activation, dropout, attention_dropout, layer_norm_eps: as for
            ``EncoderBlock``.
    """

    def __init__(
        self,
        num_layers: int,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        norm: Literal["post", "pre"] = "post",
        activation: str = "gelu",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        layer_norm_eps: float = 1e-12,
    ):
        super().__init__()
        sizes = (hidden_size, num_heads, intermediate_size)
        options = (norm, activation, dropout, attention_dropout, layer_norm_eps)
        self.blocks = nn.ModuleList(EncoderBlock(*sizes, *options) for _ in range(num_layers))
        self.final_norm = nn.LayerNorm(hidden_size, eps=layer_norm_eps) if norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> EncoderOutput:
        """Run the stack.

        Args:
            x: (B, L, D), embeddings with positions already added.
            mask: as for ``MultiHeadAttention.forward``.
            output_hidden_states: keep the input of each layer, and the final result.
            output_attentions: keep each layer's weights; this takes the plain path.
        """
        hidden_states, attentions = [], []
        for block in self.blocks:
            if output_hidden_states:
                hidden_states.append(x)
            x, weights = block(x, mask, output_attentions)
            attentions.append(weights)
        x = self.final_norm(x)
        return EncoderOutput(
            last_hidden_state=x,
            hidden_states=(*hidden_states, x) if output_hidden_states else None,
            attentions=tuple(attentions) if output_attentions else None,
        )


def check_heads(hidden_size: int, num_heads: int) -> None:
    """Refuse a hidden size that cannot be split into equal heads."""
    if num_heads < 1 or hidden_size % num_heads:
        raise ValueError(
            f"hidden_size must be a multiple of num_heads, as each head gets hidden_size / num_heads dimensions; got "
            f"hidden_size {hidden_size} and num_heads {num_heads}."
        )
