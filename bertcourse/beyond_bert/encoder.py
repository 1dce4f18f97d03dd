"""Chapter 11: an encoder in which every departure from BERT is a setting, so that one can be changed alone.

With its defaults it is BERT, weight by weight; with ModernBERT's settings (``MODERN``) it is ModernBERT (Warner et al.
2024, "Smarter, Better, Faster, Longer"). Only what differs from chapter 2 is here: rotary positions, RMSNorm,
gated feed-forward networks, local attention, layers without biases. Chapter 2's code puts the parts together.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.model import BertConfig, BertEmbeddings, BertForPreTraining, BertModel, MLMHead, initialize
from bertcourse.multi_head_attention import (
    ACTIVATIONS,
    EncoderBlock,
    EncoderOutput,
    MultiHeadAttention,
    PreNormBlock,
    TransformerEncoder,
    split_heads,
)

CHOICES = {
    "positions": ("learned", "rotary", "none"),
    "norm": ("post", "pre"),
    "norm_kind": ("layer", "rms"),
}


@dataclass(frozen=True)
class EncoderConfig(BertConfig):
    """The sizes of ``BertConfig``, and everything that may differ from BERT; the defaults are BERT's.

    Attributes:
        positions: "learned" (one vector each, added to the words), "rotary" (queries and keys are rotated), or "none".
        norm: "post" or "pre": normalize after or before each sublayer.
        norm_kind: "layer" (mean and standard deviation) or "rms" (length only).
        bias: whether linear maps and norms have biases; the pooler, the NSP head and the word scores always do.
        gated: whether the feed-forward network has a gate; with ``hidden_act`` "gelu" this is GeGLU.
        qk_norm: whether queries and keys are normalized to the same length in each head.
        segments: whether there are segment embeddings.
        local_reach: how many tokens a local layer sees on each side; 0: every layer sees everything.
        global_every: every how many layers one sees everything, starting with the first.
        rope_theta: the longest wavelength of the rotary positions is about 2π times this.
        local_rope_theta: the same in local layers.
    """

    positions: str = "learned"
    norm: str = "post"
    norm_kind: str = "layer"
    bias: bool = True
    gated: bool = False
    qk_norm: bool = False
    segments: bool = True
    local_reach: int = 0
    global_every: int = 3
    rope_theta: float = 10_000.0
    local_rope_theta: float = 10_000.0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}.")
        if self.local_reach < 0 or self.global_every < 1:
            got = f"{self.local_reach} and {self.global_every}"
            raise ValueError(f"local_reach must be at least 0 and global_every at least 1; got {got}.")
        if not (self.rope_theta > 0 and self.local_rope_theta > 0):
            got = f"{self.rope_theta} and {self.local_rope_theta}"
            raise ValueError(f"rope_theta and local_rope_theta must be above 0; got {got}.")
        if self.positions == "rotary" and self.hidden_size // self.num_attention_heads % 2:
            raise ValueError(
                f"rotary positions turn pairs of columns: hidden_size / num_attention_heads must be even; got "
                f"{self.hidden_size} / {self.num_attention_heads}."
            )

    def is_local(self, layer: int) -> bool:
        """Whether a layer, counted from 0, sees only its neighbourhood."""
        return self.local_reach > 0 and layer % self.global_every > 0


# ModernBERT's departures from BERT, all at once. Its sizes and its dropout of 0 are settings that BERT has, too.
MODERN = dict(
    positions="rotary",
    norm="pre",
    bias=False,
    gated=True,
    segments=False,
    local_reach=64,
    rope_theta=160_000.0,
    layer_norm_eps=1e-5,
)


def rotary_angles(length: int, head_size: int, theta: float = 10_000.0) -> Tensor:
    """Position p times the frequency theta^(-2i/d) of each pair of columns i (Su et al. 2021, equation 15).

    Args:
        length: L.
        head_size: d, even.
        theta: the base θ; the longest wavelength is about 2π times this.

    Returns:
        (L, d/2), in radians.
    """
    frequencies = theta ** (-torch.arange(0, head_size, 2) / head_size)
    return torch.arange(length)[:, None] * frequencies


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotate each pair of columns (i, i + d/2) of position p by its angle, as one rotates a plane:

        x'_i       = x_i cos(p θ_i) - x_{i+d/2} sin(p θ_i)
        x'_{i+d/2} = x_i sin(p θ_i) + x_{i+d/2} cos(p θ_i)

    The dot product of a query at p and a key at q then depends on the two vectors and on q - p, not on p itself.

    Args:
        x: (..., L, d), queries or keys.
        angles: (L, d/2).

    Source: Su et al. 2021, "RoFormer", equation 34; with GPT-NeoX's order of columns, which Hugging Face's files use.

    >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0], [torch.pi / 2]])).round(decimals=3)
    tensor([[1., 0.],
            [-0., 1.]])
    """
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def local_mask(length: int, reach: int, device: torch.device | str | None = None) -> Tensor:
    """Boolean (L, L): position i may attend to i - reach … i + reach.

    >>> local_mask(4, 1).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    return are_near(torch.arange(length, device=device), reach)


def are_near(positions: Tensor, reach: int) -> Tensor:
    """Boolean (T, T): whether two positions (T,) are at most ``reach`` apart."""
    return (positions[:, None] - positions).abs() <= reach


class RMSNorm(nn.Module):
    """x / √(mean(x²) + ε) · g: layer normalization without a mean and without a bias (Zhang & Sennrich 2019).

    Args:
        size: D.
        eps: ε.
    """

    def __init__(self, size: int, eps: float = 1e-12):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        return F.rms_norm(x.to(self.weight.dtype), self.weight.shape, self.weight, self.eps)


class Attention(MultiHeadAttention):
    """Chapter 2's attention, in which queries and keys may be rotated and normalized, and the view may be local.

    Args:
        config: of the encoder.
        layer: the number of its layer, counted from 0.
    """

    def __init__(self, config: EncoderConfig, layer: int):
        super().__init__(config)
        self.reach = config.local_reach if config.is_local(layer) else None
        self.theta = None
        if config.positions == "rotary":
            self.theta = config.rope_theta if self.reach is None else config.local_rope_theta
        self.qk_norm = config.qk_norm
        if not config.bias:
            for part in (self.query, self.key, self.value, self.output):
                part.bias = None

    def heads(self, x: Tensor, length: int, positions: Tensor | slice = slice(None)) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of each head, as they are compared.

        Args:
            x: (B, L, D).
            length: of a row, above all positions.
            positions: (L,), of the tokens in their rows, if these are not 0 … L - 1.

        Returns:
            Three tensors (B, H, L, d).
        """
        query, key, value = (split_heads(project(x), self.num_heads) for project in (self.query, self.key, self.value))
        head_size = query.shape[-1]
        if self.qk_norm:  # after Henry et al. 2020, "Query-Key Normalization for Transformers", whose scale is learned
            query, key = (F.rms_norm(vectors, (head_size,)) for vectors in (query, key))
        if self.theta is not None:
            angles = rotary_angles(length, head_size, self.theta).to(x.device)[positions]
            query, key = rotate(query, angles), rotate(key, angles)
        return (query, key, value)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """As ``MultiHeadAttention.forward``: (B, L, D) to (B, L, D), and weights or None."""
        length = x.shape[1]
        query, key, value = self.heads(x, length)
        if self.reach is not None:
            nearby = local_mask(length, self.reach, x.device)
            mask = nearby if mask is None else mask & nearby
            mask = mask | ~mask.any(dim=-1, keepdim=True)  # padding far from every token looks anywhere, or it is NaN
        return self.attend(query, key, value, mask, need_weights)


class FeedForward(nn.Module):
    """W₂ f(W₁x), or with a gate W₂ (f(W₁x) ⊙ W₃x) (Shazeer 2020, "GLU Variants Improve Transformer", equation 6).

    Args:
        config: of the encoder; W₁ and W₃ are the two halves of ``expand``.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.activation, self.gated = ACTIVATIONS[config.hidden_act], config.gated
        self.expand = nn.Linear(config.hidden_size, config.intermediate_size * (1 + config.gated), config.bias)
        self.contract = nn.Linear(config.intermediate_size, config.hidden_size, config.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        if not self.gated:
            return self.contract(self.activation(self.expand(x)))
        inner, gate = self.expand(x).chunk(2, dim=-1)
        return self.contract(self.activation(inner) * gate)


class Block(EncoderBlock):
    """Chapter 2's block, built from this chapter's parts. The first block of a pre-LN stack has no norm before its
    attention, as the embeddings have just been normalized."""

    def __init__(self, config: EncoderConfig, layer: int):
        nn.Module.__init__(self)
        self.norm = config.norm
        self.attention = Attention(config, layer)
        is_normalized = config.norm == "pre" and layer == 0
        self.attention_norm = nn.Identity() if is_normalized else new_norm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = new_norm(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """As ``EncoderBlock.forward`` or ``PreNormBlock.forward``."""
        order = PreNormBlock if self.norm == "pre" else EncoderBlock
        return order.forward(self, x, mask, need_weights)


class Stack(TransformerEncoder):
    """Chapter 2's stack, built from these blocks."""

    def __init__(self, config: EncoderConfig):
        nn.Module.__init__(self)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.num_hidden_layers))
        self.final_norm = new_norm(config) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor | None = None, output_attentions: bool = False) -> EncoderOutput:
        """As ``TransformerEncoder.forward``; the last of the hidden states is normalized in a pre-LN stack."""
        output = super().forward(x, mask, output_attentions)
        last = self.final_norm(output.last_hidden_state)
        return EncoderOutput(last, (*output.hidden_states[:-1], last), output.attentions)


class Embeddings(BertEmbeddings):
    """Word vectors, plus position and segment vectors if the encoder has them; then the norm."""

    def __init__(self, config: EncoderConfig):
        super().__init__(config)
        if config.positions != "learned":
            self.position_embeddings = None
        if not config.segments:
            self.token_type_embeddings = None
        self.layer_norm = new_norm(config)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, L) token ids, and segment ids (zeros if None; ignored without segments), to (B, L, D)."""
        x = self.word_embeddings(input_ids)
        if self.token_type_embeddings is not None:
            if token_type_ids is None:
                token_type_ids = torch.zeros_like(input_ids)
            x = x + self.token_type_embeddings(token_type_ids)
        if self.position_embeddings is not None:
            x = x + self.position_embeddings.weight[: input_ids.shape[1]]
        return self.dropout(self.layer_norm(x))


class Encoder(BertModel):
    """``BertModel`` with this chapter's settings; its ``forward`` is BERT's.

    Args:
        config: sizes and departures from BERT.
        add_pooler: False leaves the pooler out, as ModernBERT does.
    """

    def __init__(self, config: EncoderConfig, add_pooler: bool = True):
        nn.Module.__init__(self)
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Stack(config)
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if add_pooler else None
        initialize(self, config)


class EncoderForPreTraining(BertForPreTraining):
    """``BertForPreTraining`` with this chapter's settings; it has an NSP head only if it has a pooler.

    Args:
        config: sizes and departures from BERT.
        add_pooler: False leaves out the pooler and the NSP head.
    """

    def __init__(self, config: EncoderConfig, add_pooler: bool = True):
        nn.Module.__init__(self)
        self.config = config
        self.bert = Encoder(config, add_pooler)
        self.mlm_head = MLMHead(config)
        self.mlm_head.layer_norm = new_norm(config)
        if not config.bias:
            self.mlm_head.dense.bias = None
        self.nsp_head = nn.Linear(config.hidden_size, 2) if add_pooler else nn.Identity()  # None goes in and out
        initialize(self.mlm_head, config)
        if add_pooler:
            initialize(self.nsp_head, config)


def new_norm(config: EncoderConfig) -> nn.Module:
    """A norm of the kind that this encoder uses throughout."""
    if config.norm_kind == "rms":
        return RMSNorm(config.hidden_size, config.layer_norm_eps)
    return nn.LayerNorm(config.hidden_size, config.layer_norm_eps, bias=config.bias)
