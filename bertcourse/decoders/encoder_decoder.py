"""Chapter 12: an encoder that reads a whole source, and a decoder that writes the target from it, token by token.

The shape of the first transformer, which was built for translation (Vaswani et al. 2017, figure 1), but with pre-LN,
learned positions, GELU, and embeddings that are not scaled. In each decoder block, cross-attention looks at the
encoder's result (section 3.2.3); source, target and final map share one table of embeddings (section 3.4).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.model import initialize
from bertcourse.decoders.generation import generate
from bertcourse.decoders.language_model import PAD, DecoderConfig
from bertcourse.multi_head_attention import MultiHeadAttention, PreNormBlock, PreNormEncoder, split_heads
from bertcourse.self_attention import causal_mask, padding_mask


class CrossAttention(MultiHeadAttention):
    """Attention from one text to another: queries from the decoder, keys and values from the encoder."""

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Let each position of the decoder gather from all of the source.

        Args:
            x: (B, T, D), positions of the decoder.
            memory: (B, S, D), what the encoder made of the source.
            mask: boolean, True where a position may be seen, broadcastable to (B, H, T, S), such as ``padding_mask`` of
                the source.
            need_weights: return the weights, (B, H, T, S).
        """
        parts = self.query(x), self.key(memory), self.value(memory)
        query, key, value = (split_heads(part, self.num_heads) for part in parts)
        return self.attend(query, key, value, mask, need_weights)


class DecoderBlock(PreNormBlock):
    """Causal self-attention, cross-attention and a feed-forward network, each with a residual connection and layer
    normalization in front (pre-LN).

    Args:
        config: as for ``PreNormBlock``.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__(config)
        D, eps = config.hidden_size, config.layer_norm_eps
        self.cross_attention = CrossAttention(config)
        self.cross_attention_norm = nn.LayerNorm(D, eps)

    def forward(
        self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """One layer of the decoder.

        Args:
            x: (B, T, D).
            memory: (B, S, D), from the encoder.
            memory_mask: boolean, True where the source may be seen, broadcastable to (B, H, T, S).
            need_weights: return the weights of the cross-attention, (B, H, T, S).
        """
        mask = causal_mask(x.shape[1]).to(x.device)
        x = x + self.dropout(self.attention(self.attention_norm(x), mask)[0])
        found, weights = self.cross_attention(self.cross_attention_norm(x), memory, memory_mask, need_weights)
        x = x + self.dropout(found)
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x, weights


def embed(ids: Tensor, words: nn.Embedding, positions: nn.Embedding) -> Tensor:
    """From (B, L) token ids to (B, L, D), words and positions added."""
    return words(ids) + positions.weight[: ids.shape[1]]


class TransformerDecoder(nn.Module):
    """A stack of decoder blocks, with a layer normalization at the end.

    Args:
        config: as for ``DecoderBlock``, with ``num_hidden_layers``.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__()
        blocks = (DecoderBlock(config) for _ in range(config.num_hidden_layers))
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def forward(
        self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Run the stack: the last vectors, and the weights of each layer's cross-attention, or None for each."""
        all_weights = []
        for block in self.blocks:
            x, weights = block(x, memory, memory_mask, need_weights)
            all_weights.append(weights)
        return self.final_norm(x), all_weights


class EncoderDecoder(nn.Module):
    """Chapter 2's encoder and a decoder with cross-attention, both pre-LN and of the same sizes.

    Args:
        config: sizes.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__()
        D, longest = config.hidden_size, config.max_position_embeddings
        self.word_embeddings = nn.Embedding(config.vocab_size, D)
        self.source_positions = nn.Embedding(longest, D)
        self.target_positions = nn.Embedding(longest, D)
        self.encoder = PreNormEncoder(config)
        self.decoder = TransformerDecoder(config)
        initialize(self, config)

    def encode(self, source_ids: Tensor) -> Tensor:
        """Read the source: from (B, S) ids, padded on the right, to the memory, (B, S, D)."""
        x = embed(source_ids, self.word_embeddings, self.source_positions)
        return self.encoder(x, padding_mask(source_ids != PAD)).last_hidden_state

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_ids: Tensor, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Score what comes after each position of the target.

        Args:
            target_ids: (B, T), beginning with the start token.
            memory: (B, S, D), as ``encode`` returns it.
            source_ids: (B, S), which say where the source is padded.
            need_weights: return each layer's cross-attention, (B, H, T, S).

        Returns:
            ``(logits, weights)``: (B, T, V), and a list with an entry for each layer.
        """
        x = embed(target_ids, self.word_embeddings, self.target_positions)
        mask = padding_mask(source_ids != PAD)
        x, weights = self.decoder(x, memory, mask, need_weights)
        return F.linear(x, self.word_embeddings.weight), weights

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Encode and decode, as in training: the target is given, and each token is scored from those before it."""
        return self.decode(target_ids, self.encode(source_ids), source_ids)[0]


def translation_loss(model: EncoderDecoder, source_ids: Tensor, target_ids: Tensor) -> Tensor:
    """The mean of -log P(y_i | y_1 … y_{i-1}, source), where all y given are the true ones: "teacher forcing" (Williams
    & Zipser 1989).

    Args:
        model: the model whose loss is computed.
        source_ids: (B, S), padded on the right.
        target_ids: (B, T), from the start token to the stop token, padded on the right.
    """
    logits, targets = model(source_ids, target_ids[:, :-1]), target_ids[:, 1:]
    return F.cross_entropy(logits.mT, targets, ignore_index=PAD)


@torch.no_grad()
def translate(model: EncoderDecoder, source_ids: Tensor, start: int, max_new_tokens: int) -> Tensor:
    """Write the target of each source, taking the most likely token each time.

    Args:
        model: in evaluation mode.
        source_ids: (B, S), padded on the right.
        start: the token that a target begins with.
        max_new_tokens: how many tokens to write.

    Returns:
        (B, N), without the start token; what comes after a stop token is to be cut off.
    """
    memory = model.encode(source_ids)
    target = torch.full((len(source_ids), 1), start)

    def next_scores(target_ids: Tensor) -> Tensor:
        return model.decode(target_ids, memory, source_ids)[0]

    return generate(next_scores, target, max_new_tokens, temperature=0)[:, 1:]
