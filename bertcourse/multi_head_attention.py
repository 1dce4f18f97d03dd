"""Chapter 2: multi-head attention and the encoder block.

H attentions side by side, each in D/H dimensions, cost no more than one in D (Vaswani et al. 2017, section 3.2.2).
Around them stand the parts that make a stack of them trainable: positions, a feed-forward network, residual
connections and layer normalization. Reading order is the order in which data meets them.
"""

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.self_attention import check_attention_shapes, scaled_dot_product_attention

ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
}


def sinusoidal_positions(length: int, hidden_size: int) -> Tensor:
    """One vector a position, made of sines and cosines of ever longer wavelength.

    Even columns hold sin(p / 10000^(2i/D)), odd ones the cosine, so that p + k is a rotation of p for every k.

    Args:
        length: L, how many positions, at least 1.
        hidden_size: D, even.

    Returns:
        (L, D), values in [-1, 1].

    Raises:
        ValueError: if ``length`` is below 1, or ``hidden_size`` is odd or below 2.

    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if length < 1 or hidden_size < 2 or hidden_size % 2:
        raise ValueError(
            f"sinusoidal positions need a length of at least 1 and an even hidden_size (a sine and a cosine for each "
            f"wavelength); got length {length}, hidden_size {hidden_size}."
        )
    frequencies = 10000 ** (-torch.arange(0, hidden_size, 2) / hidden_size)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class LearnedPositions(nn.Embedding):
    """One trainable vector a position, as in BERT: position p is row p of a table.

    Args:
        max_length: how many positions the table has; there is no vector for a longer text.
        hidden_size: D.

    Source: Devlin et al. 2019, "BERT", section 3 and figure 2.
    """

    def __init__(self, max_length: int, hidden_size: int):
        super().__init__(max_length, hidden_size)

    def forward(self, length: int) -> Tensor:
        """The vectors of positions 0 … length-1.

        Args:
            length: L.

        Returns:
            (L, D).

        Raises:
            ValueError: if ``length`` is more than the table has.
        """
        if length > self.num_embeddings:
            raise ValueError(
                f"the sequence has {length} tokens, but there are positions for {self.num_embeddings} only; shorten it "
                f"(tokenizer.enable_truncation({self.num_embeddings})) or split it into overlapping windows."
            )
        return self.weight[:length]


class MultiHeadAttention(nn.Module):
    """H scaled dot-product attentions over slices of one projection, then a linear map that mixes their results.

    Args:
        hidden_size: D, divisible by ``num_heads``.
        num_heads: H.
        dropout: probability of dropping an attention weight in training, at least 0 and below 1.

    Raises:
        ValueError: if ``hidden_size`` is not divisible by ``num_heads``, or ``dropout`` is out of range.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        check_heads(hidden_size, num_heads)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1; got {dropout}.")
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
        """Let each position gather from the others, in each head on its own terms.

        Args:
            x: (B, L, D).
            mask: boolean, broadcastable to (B, H, L, L), True where a query may attend; None for everywhere.
            need_weights: return the weights too. This takes the plain path of chapter 1, which keeps them; without,
                torch's fused kernel runs, which never writes them down.

        Returns:
            ``(output, weights)``: (B, L, D), and (B, H, L, L) or None.

        Raises:
            ValueError: if ``x`` or ``mask`` has the wrong shape.
        """
        if x.dim() != 3 or x.shape[-1] != self.query.in_features:
            raise ValueError(f"x must have shape (B, L, {self.query.in_features}); got {tuple(x.shape)}.")
        query, key, value = (self.split_heads(project(x)) for project in (self.query, self.key, self.value))
        attend = scaled_dot_product_attention if need_weights else fused_attention
        heads, weights = attend(query, key, value, mask, self.dropout if self.training else 0.0)
        return self.output(self.merge_heads(heads)), weights


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: float = 0.0
) -> tuple[Tensor, None]:
    """``scaled_dot_product_attention`` by torch's fused kernel: the same output, and no weights.

    The L×L weights are never held in memory at once.

    Args:
        query, key, value, mask, dropout: as for ``bertcourse.self_attention.scaled_dot_product_attention``.

    Returns:
        ``(output, None)``.

    Raises:
        ValueError: as ``bertcourse.self_attention.scaled_dot_product_attention``.

    Source: Dao et al. 2022, "FlashAttention".
    """
    if query.device.type == "cpu" and query.dtype == torch.bfloat16:  # torch's kernel takes four times as long there
        return scaled_dot_product_attention(query, key, value, mask, dropout)[0], None
    check_attention_shapes(query, key, value, mask)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout), None
    mask = torch.atleast_2d(mask)  # kernels want a dimension of the queries, and all of the keys
    mask = mask.expand(*mask.shape[:-1], key.shape[-2])
    blind = ~mask.any(dim=-1, keepdim=True)  # may attend nowhere, for which kernels give NaN, in gradients at least
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask | blind, dropout_p=dropout)
    return output.masked_fill(blind, 0.0), None


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between them, on every position by itself.

    Args:
        hidden_size: D.
        intermediate_size: width between the two maps, 4·D in BERT.
        activation: one of ``ACTIVATIONS``: gelu, gelu_new, gelu_pytorch_tanh, relu.

    Raises:
        ValueError: if ``activation`` is not one of these.

    Source: Vaswani et al. 2017, section 3.3; GELU from Hendrycks & Gimpel 2016.
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
        x = self.expand(x)
        ours_alone = type(self.expand) is nn.Linear and not self.expand._forward_hooks  # nobody else holds this x
        if self.activation is F.gelu and ours_alone and not torch.is_grad_enabled():
            x = torch.ops.aten.gelu_(x)  # in place: a new tensor of this size takes longer than the function
        else:
            x = self.activation(x)
        return self.contract(x)


class EncoderBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual connection and layer normalization.

    Post-LN, BERT's order, normalizes what the residual stream carries: x ← norm(x + f(x)). Pre-LN normalizes what goes
    into the sublayer, and leaves the stream alone: x ← x + f(norm(x)).

    Args:
        hidden_size: D.
        num_heads: H.
        intermediate_size: width of the feed-forward network.
        norm: "post" or "pre".
        activation: of the feed-forward network.
        dropout: probability of dropping a value of a sublayer's result in training.
        attention_dropout: probability of dropping an attention weight in training.
        layer_norm_eps: added to the variance in layer normalization.

    Raises:
        ValueError: if ``norm`` is neither, or as ``MultiHeadAttention`` and ``FeedForward`` do.

    Source: post-LN, Vaswani et al. 2017, section 3.1; pre-LN, Xiong et al. 2020, "On Layer Normalization in the
    Transformer Architecture".
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
        """One layer of the encoder.

        Args:
            x, mask, need_weights: as for ``MultiHeadAttention.forward``.

        Returns:
            ``(x, weights)``: (B, L, D), and (B, H, L, L) or None.

        Raises:
            ValueError: if ``x`` or ``mask`` has the wrong shape.
        """
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
        hidden_states: None, or what went into each layer and what came out of the last (of a pre-LN stack, after its
            final normalization): layers + 1 tensors (B, L, D).
        attentions: None, or a tensor of weights (B, H, L, L) for each layer.
    """

    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class TransformerEncoder(nn.Module):
    """A stack of encoder blocks. Pre-LN adds a layer normalization at the end, as nothing else normalizes the stream.

    Args:
        num_layers: how many blocks.
        hidden_size, num_heads, intermediate_size, norm, activation, dropout, attention_dropout, layer_norm_eps: as for
            ``EncoderBlock``.

    Raises:
        ValueError: if ``num_layers`` is below 1, or as ``EncoderBlock`` does.

    Source: Vaswani et al. 2017, section 3.1.
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
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1; got {num_layers}.")
        block = (
            hidden_size,
            num_heads,
            intermediate_size,
            norm,
            activation,
            dropout,
            attention_dropout,
            layer_norm_eps,
        )
        self.blocks = nn.ModuleList(EncoderBlock(*block) for _ in range(num_layers))
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
            x: (B, L, D), embeddings with their positions added.
            mask: boolean, broadcastable to (B, H, L, L), True where a query may attend; None for everywhere.
            output_hidden_states: keep what goes into each layer.
            output_attentions: keep each layer's weights; this takes the plain path.

        Returns:
            ``EncoderOutput``.

        Raises:
            ValueError: if ``x`` or ``mask`` has the wrong shape.
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
    """Refuse a hidden size that cannot be cut into equal heads.

    Args:
        hidden_size: D.
        num_heads: H.

    Raises:
        ValueError: if either is below 1 or D is not a multiple of H.

    Source: Vaswani et al. 2017, section 3.2.2, where each head has D/H dimensions.
    """
    if hidden_size < 1 or num_heads < 1 or hidden_size % num_heads:
        raise ValueError(
            f"hidden_size must be a multiple of num_heads, as each head gets hidden_size / num_heads dimensions; got "
            f"hidden_size {hidden_size} and num_heads {num_heads}."
        )
