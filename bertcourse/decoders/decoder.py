"""Chapter 12: the decoder: chapter 2's block with chapter 1's causal mask, so that no position sees what comes later.

A decoder that also reads a source text has a second attention in each block, whose queries are its own and whose keys
and values are the encoder's (Vaswani et al. 2017, section 3.2.3). While it writes, the keys and values of what is
already written do not change: ``KeyValueCache`` keeps them.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from bertcourse.multi_head_attention import FeedForward, MultiHeadAttention, split_heads
from bertcourse.self_attention import causal_mask


class LayerCache:
    """The keys and values that one layer has computed so far, (B, H, M, D/H) each.

    Attributes:
        keys, values: of the layer's own positions; None before the first.
        memory_keys, memory_values: of the encoder's positions, computed once; None before that.
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.memory_keys: Tensor | None = None
        self.memory_values: Tensor | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of L new positions, (B, H, L, D/H), and return all of them, old and new."""
        if self.keys is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class KeyValueCache:
    """A ``LayerCache`` for each layer of a decoder; calling the decoder with it fills it.

    Args:
        num_layers: the decoder's.

    >>> KeyValueCache(num_layers=2).length
    0
    """

    def __init__(self, num_layers: int):
        self.layers = [LayerCache() for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """How many positions are in it."""
        keys = self.layers[0].keys
        return 0 if keys is None else keys.shape[2]


class CachedAttention(MultiHeadAttention):
    """Chapter 2's attention, which can continue where it stopped: new positions ask, old and new ones answer."""

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False, cache: LayerCache | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """As ``MultiHeadAttention.forward``.

        Args:
            x: (B, L, D), the new positions.
            mask: boolean, True where a position may be seen, broadcastable to (B, H, L, M); M counts both the positions
                in the cache and the new.
            need_weights: return the weights, (B, H, L, M).
            cache: this layer's; the new keys and values are added to it.
        """
        query, key, value = (split_heads(project(x), self.num_heads) for project in (self.query, self.key, self.value))
        if cache is not None:
            key, value = cache.append(key, value)
        return self.attend(query, key, value, mask, need_weights)


class CrossAttention(MultiHeadAttention):
    """Attention from one text to another: queries from the decoder, keys and values from the encoder."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Let each position of the decoder gather from all of the source.

        Args:
            x: (B, L, D), positions of the decoder.
            memory: (B, S, D), what the encoder made of the source.
            mask: boolean, True where a position may be seen, broadcastable to (B, H, L, S), such as ``padding_mask`` of
                the source.
            need_weights: return the weights, (B, H, L, S).
            cache: this layer's; the source's keys and values are computed once, and kept there.
        """
        if cache is None or cache.memory_keys is None:
            key, value = (split_heads(project(memory), self.num_heads) for project in (self.key, self.value))
            if cache is not None:
                cache.memory_keys, cache.memory_values = key, value
        else:
            key, value = cache.memory_keys, cache.memory_values
        return self.attend(split_heads(self.query(x), self.num_heads), key, value, mask, need_weights)


class DecoderBlock(nn.Module):
    """Causal self-attention, cross-attention if there is a source, and a feed-forward network.

    Each has a residual connection and layer normalization, as in ``EncoderBlock``; pre-LN is GPT-2's order (Radford et
    al. 2019, section 2.3), post-LN that of Vaswani et al. 2017.

    Args:
        config: as for ``EncoderBlock``, such as ``DecoderConfig``.
        cross_attention: whether the block also attends to a source.
        norm: "pre" or "post".
    """

    def __init__(self, config, cross_attention: bool = False, norm: Literal["post", "pre"] = "pre"):
        super().__init__()
        D, eps = config.hidden_size, config.layer_norm_eps
        self.norm = norm
        self.attention, self.attention_norm = CachedAttention(config), nn.LayerNorm(D, eps)
        self.cross_attention = CrossAttention(config) if cross_attention else None
        self.cross_attention_norm = nn.LayerNorm(D, eps) if cross_attention else None
        self.feed_forward, self.feed_forward_norm = FeedForward(config), nn.LayerNorm(D, eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """One layer of the decoder.

        Args:
            x: (B, L, D), the new positions.
            mask: boolean, True where a position may be seen, broadcastable to (B, H, L, M), such as ``causal_mask(L)``.
            memory: (B, S, D), from the encoder, for a block with cross-attention.
            memory_mask: the same for the source, broadcastable to (B, H, L, S). (``torch.nn`` has True where a position
                may *not* be seen.)
            need_weights: return the weights.
            cache: this layer's; None computes everything again.

        Returns:
            ``(x, weights, cross_weights)``: (B, L, D), (B, H, L, M) and (B, H, L, S); weights are None if not needed.
        """
        is_pre, cross_weights = self.norm == "pre", None
        attended, weights = self.attention(self.attention_norm(x) if is_pre else x, mask, need_weights, cache)
        x = x + self.dropout(attended)
        x = x if is_pre else self.attention_norm(x)
        if self.cross_attention is not None:
            asking = self.cross_attention_norm(x) if is_pre else x
            attended, cross_weights = self.cross_attention(asking, memory, memory_mask, need_weights, cache)
            x = x + self.dropout(attended)
            x = x if is_pre else self.cross_attention_norm(x)
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x) if is_pre else x))
        return x if is_pre else self.feed_forward_norm(x), weights, cross_weights


class DecoderOutput(NamedTuple):
    """What a decoder returns.

    Attributes:
        last_hidden_state: (B, L, D).
        hidden_states: what went into each layer and what came out of the last, after the final normalization of a
            pre-LN stack: layers + 1 tensors (B, L, D).
        attentions: None, or the weights (B, H, L, M) of each layer.
        cross_attentions: None, or the weights (B, H, L, S) of each layer.
    """

    last_hidden_state: Tensor
    hidden_states: tuple[Tensor, ...]
    attentions: tuple[Tensor, ...] | None = None
    cross_attentions: tuple[Tensor, ...] | None = None


class TransformerDecoder(nn.Module):
    """A stack of decoder blocks. Pre-LN adds a layer normalization at the end.

    Args:
        config: as for ``DecoderBlock``, with ``num_hidden_layers``.
        cross_attention, norm: as for ``DecoderBlock``.
    """

    def __init__(self, config, cross_attention: bool = False, norm: Literal["post", "pre"] = "pre"):
        super().__init__()
        self.blocks = nn.ModuleList(
            DecoderBlock(config, cross_attention, norm) for _ in range(config.num_hidden_layers)
        )
        is_pre = norm == "pre"
        self.final_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps) if is_pre else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        output_attentions: bool = False,
    ) -> DecoderOutput:
        """Run the stack.

        Args:
            x: (B, L, D), embeddings with their positions added; with a cache, of the new positions only.
            mask: boolean, True where a position may be seen, broadcastable to (B, H, L, M); None for the causal mask.
            memory: (B, S, D), what the encoder made of the source, for blocks with cross-attention.
            memory_mask: the same for the source, broadcastable to (B, H, L, S); its ``padding_mask``.
            cache: keys and values of earlier positions; those of the new positions are added.
            output_attentions: keep each layer's weights; this needs the plain attention, not the fused one.
        """
        old, new = (0 if cache is None else cache.length), x.shape[1]
        has_cross_attention = self.blocks[0].cross_attention is not None
        if has_cross_attention and memory is None and not old:
            raise ValueError("a decoder with cross-attention needs memory, what the encoder made of the source.")
        if memory is not None and not has_cross_attention:
            raise ValueError("a decoder without cross-attention takes no memory; make it with cross_attention=True.")
        if mask is None and new > 1:  # a single position may see everything before it, and itself
            mask = causal_mask(old + new).to(x.device)[old:]
        hidden_states, weights = [], []
        for number, block in enumerate(self.blocks):
            hidden_states.append(x)
            layer = None if cache is None else cache.layers[number]
            x, *both = block(x, mask, memory, memory_mask, output_attentions, layer)
            weights.append(both)
        x = self.final_norm(x)
        attentions, cross_attentions = zip(*weights) if output_attentions else (None, None)
        return DecoderOutput(
            last_hidden_state=x,
            hidden_states=(*hidden_states, x),
            attentions=attentions,
            cross_attentions=cross_attentions if output_attentions and memory is not None else None,
        )
