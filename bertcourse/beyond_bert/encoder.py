"""Chapter 11: an encoder in which every departure from BERT is a setting, so that one can be changed alone.

With its defaults it is BERT, weight by weight; with ModernBERT's settings (``MODERN``) it is ModernBERT (Warner et al.
2024, "Smarter, Better, Faster, Longer"). Only what differs from chapter 2 is here: rotary positions, local attention,
gated feed-forward networks, layers without biases. Chapter 2's code puts the parts together.
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

CHOICES = {"positions": ("learned", "rotary", "none"), "norm": ("post", "pre"), "norm_kind": ("layer", "rms")}


@dataclass(frozen=True)
class EncoderConfig(BertConfig):
    """The sizes of ``BertConfig``, and everything that may differ from BERT; the defaults are BERT's.

    Attributes:
        positions: "learned" (one vector each, added to the words), "rotary" (queries and keys are turned), or "none".
        norm: "post" or "pre": normalize after or before each sublayer.
        norm_kind: "layer" (mean and standard deviation) or "rms" (length only, Zhang & Sennrich 2019).
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
        for name, least in (("local_reach", 0), ("global_every", 1), ("rope_theta", 1), ("local_rope_theta", 1)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)}.")
        if self.positions == "rotary" and self.hidden_size // self.num_attention_heads % 2:
            sizes = f"{self.hidden_size} / {self.num_attention_heads}"
            raise ValueError(f"rotary positions turn pairs of columns: a head's size must be even; got {sizes}.")

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


def turn(x: Tensor, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Turn each pair of columns (i, i + d/2) by its position times the pair's speed, as one rotates a plane:

        x'_i       = x_i cos φ - x_{i+d/2} sin φ
        x'_{i+d/2} = x_i sin φ + x_{i+d/2} cos φ        φ = p · θ^(-2i/d)

    The dot product of a query at p and a key at q then depends on the two vectors and on q - p, not on p itself.

    Args:
        x: (..., L, d), queries or keys, d even; or (d,), a single one.
        positions: (L,), or () for a single vector.
        theta: θ; the longest wavelength is about 2π times this.

    Source: Su et al. 2021, "RoFormer", equation 34; with GPT-NeoX's order of columns, which Hugging Face's files use.

    >>> turn(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0.0, torch.pi / 2])).round(decimals=3)
    tensor([[1., 0.],
            [-0., 1.]])
    """
    half = x.shape[-1] // 2
    speeds = theta ** (-torch.arange(half) / half)
    angles = positions[..., None] * speeds
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def local_mask(length: int, reach: int) -> Tensor:
    """Boolean (L, L): position i may attend to i - reach … i + reach.

    >>> local_mask(4, 1).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    positions = torch.arange(length)
    return (positions[:, None] - positions).abs() <= reach


def narrowed(mask: Tensor | None, x: Tensor, reach: int | None) -> Tensor | None:
    """A mask for x (B, L, D) that also hides what is further away than ``reach``; None leaves it as it is."""
    if reach is None:
        return mask
    nearby = local_mask(x.shape[1], reach).to(x.device)
    mask = nearby if mask is None else mask & nearby
    return mask | ~mask.any(-1, keepdim=True)  # who sees nothing, sees all


class Attention(MultiHeadAttention):
    """Chapter 2's attention, in which queries and keys may be turned and normalized, and the view may be local.

    Args:
        config: of the encoder.
        layer: the number of its layer, counted from 0.
    """

    def __init__(self, config: EncoderConfig, layer: int):
        super().__init__(config)
        is_local, self.config = config.is_local(layer), config
        self.reach = config.local_reach if is_local else None
        self.theta = config.local_rope_theta if is_local else config.rope_theta

    def heads(self, x: Tensor, positions: Tensor) -> list[Tensor]:
        """Queries, keys and values of each head, (B, H, L, d), as they are compared; x (B, L, D), positions (L,)."""
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (split_heads(each, self.num_heads) for each in parts)
        if self.config.qk_norm:
            query, key = (F.rms_norm(x, x.shape[-1:]) for x in (query, key))
        if self.config.positions == "rotary":
            query, key = (turn(x, positions, self.theta) for x in (query, key))
        return [query, key, value]

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """As ``MultiHeadAttention.forward``: (B, L, D) to (B, L, D), and weights or None."""
        query, key, value = self.heads(x, torch.arange(x.shape[1]))
        mask = narrowed(mask, x, self.reach)
        return self.attend(query, key, value, mask, need_weights)


class FeedForward(nn.Module):
    """W₂ f(W₁x), or with a gate W₂ (f(W₁x) ⊙ W₃x) (Shazeer 2020, "GLU Variants Improve Transformer", equation 6).

    Args:
        config: of the encoder; W₁ and W₃ are the two halves of ``expand``.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        D, inner, bias = config.hidden_size, config.intermediate_size, config.bias
        self.gated, self.activation = config.gated, ACTIVATIONS[config.hidden_act]
        self.expand = nn.Linear(D, 2 * inner if config.gated else inner, bias)
        self.contract = nn.Linear(inner, D, bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        if not self.gated:
            return self.contract(self.activation(self.expand(x)))
        inner, gate = self.expand(x).chunk(2, dim=-1)
        return self.contract(self.activation(inner) * gate)


def new_norm(config: EncoderConfig) -> nn.Module:
    """A norm of the kind that this encoder uses throughout."""
    if config.norm_kind == "rms":
        return nn.RMSNorm(config.hidden_size, config.layer_norm_eps)
    return nn.LayerNorm(config.hidden_size, config.layer_norm_eps, bias=config.bias)


class Block(EncoderBlock):
    """Chapter 2's block, built from this chapter's parts. The first block of a pre-LN stack has no norm before its
    attention, as the embeddings have just been normalized."""

    def __init__(self, config: EncoderConfig, layer: int):
        nn.Module.__init__(self)
        self.order = PreNormBlock if config.norm == "pre" else EncoderBlock
        self.attention = Attention(config, layer)
        is_normalized = config.norm == "pre" and layer == 0
        self.attention_norm = nn.Identity() if is_normalized else new_norm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = new_norm(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        if not config.bias:
            for part in self.attention.children():
                part.bias = None

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """As ``EncoderBlock.forward`` or ``PreNormBlock.forward``."""
        return self.order.forward(self, x, mask, need_weights)


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
        initialize(self.nsp_head, config)
