"""Chapter 12: an encoder that reads a whole source, and a decoder that writes the target from it, token by token.

The shape of the first transformer, which was built for translation (Vaswani et al. 2017, figure 1), but with pre-LN,
learned positions, GELU, and embeddings that are not scaled. In each decoder block, cross-attention looks at the
encoder's result; source, target and final map share one table of embeddings (section 3.4).
"""

import dataclasses
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.model import initialize
from bertcourse.decoders.decoder import KeyValueCache, TransformerDecoder
from bertcourse.decoders.generation import choose
from bertcourse.decoders.language_model import DecoderConfig, next_tokens, shrink_outputs
from bertcourse.multi_head_attention import PreNormEncoder
from bertcourse.pretraining.masking import IGNORE
from bertcourse.self_attention import padding_mask
from bertcourse.training.modes import evaluation_mode


class EncoderDecoderOutput(NamedTuple):
    """What an encoder-decoder returns.

    Attributes:
        logits: (B, T, V): for each position of the target, a score for each token of the vocabulary to come next.
        cross_attentions: None, or for each layer of the decoder the weights (B, H, T, S) with which the target looks at
            the source.
        attentions: None, or for each layer of the decoder the weights (B, H, T, T).
        encoder_attentions: None, or for each layer of the encoder the weights (B, H, S, S).
    """

    logits: Tensor
    cross_attentions: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None
    encoder_attentions: tuple[Tensor, ...] | None = None


class EncoderDecoder(nn.Module):
    """Chapter 2's encoder and a decoder with cross-attention, both pre-LN.

    Args:
        config: sizes of the decoder, and of the encoder.
        num_encoder_layers: how many layers the encoder has; None for as many as the decoder.
    """

    def __init__(self, config: DecoderConfig, num_encoder_layers: int | None = None):
        super().__init__()
        self.config = config
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.source_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.target_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.embedding_dropout_prob)
        layers = config.num_hidden_layers if num_encoder_layers is None else num_encoder_layers
        self.encoder = PreNormEncoder(dataclasses.replace(config, num_hidden_layers=layers))
        self.decoder = TransformerDecoder(config, cross_attention=True)
        initialize(self, config)
        shrink_outputs(self.decoder)

    def encode(
        self, source_ids: Tensor, source_mask: Tensor | None = None, output_attentions: bool = False
    ) -> tuple[Tensor, tuple[Tensor, ...] | None]:
        """Read the source: from (B, S) ids to ``(memory, attentions)``, where memory is (B, S, D).

        Args:
            source_ids: (B, S).
            source_mask: (B, S), 1 for a token, 0 for padding; None if nothing is padded.
            output_attentions: return each layer's weights.
        """
        x = self.word_embeddings(source_ids) + self.source_positions.weight[: source_ids.shape[1]]
        mask = None if source_mask is None else padding_mask(source_mask)
        output = self.encoder(self.dropout(x), mask, output_attentions)
        return output.last_hidden_state, output.attentions if output_attentions else None

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        source_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        output_attentions: bool = False,
    ) -> EncoderDecoderOutput:
        """Score what comes after each position of the target.

        Args:
            target_ids: (B, T), beginning with the start token; with a cache, the new positions only.
            memory: (B, S, D), as ``encode`` returns it.
            source_mask: as for ``encode``.
            cache: keys and values of earlier positions; those of the new positions are added.
            output_attentions: return each layer's weights.
        """
        start = 0 if cache is None else cache.length
        positions = self.target_positions.weight[start : start + target_ids.shape[1]]
        output = self.decoder(
            self.dropout(self.word_embeddings(target_ids) + positions),
            memory=memory,
            memory_mask=None if source_mask is None else padding_mask(source_mask),
            cache=cache,
            output_attentions=output_attentions,
        )
        logits = F.linear(output.last_hidden_state, self.word_embeddings.weight)
        return EncoderDecoderOutput(logits, output.cross_attentions, output.attentions)

    def forward(
        self,
        source_ids: Tensor,
        target_ids: Tensor,
        source_mask: Tensor | None = None,
        output_attentions: bool = False,
    ) -> EncoderDecoderOutput:
        """Encode and decode, as in training: the target is given, and each token is scored from those before it."""
        memory, attentions = self.encode(source_ids, source_mask, output_attentions)
        output = self.decode(target_ids, memory, source_mask, output_attentions=output_attentions)
        return output._replace(encoder_attentions=attentions)


def teacher_forcing_loss(
    model: EncoderDecoder,
    source_ids: Tensor,
    source_mask: Tensor | None,
    target_ids: Tensor,
    target_mask: Tensor | None = None,
) -> Tensor:
    """The mean of -log P(y_i | y_1 … y_{i-1}, source), where all y given are the true ones: "teacher forcing" (Williams
    & Zipser 1989).

    Args:
        model: the model whose loss is computed.
        source_ids, source_mask: (B, S), as for ``EncoderDecoder.encode``.
        target_ids: (B, T), from the start token to the stop token.
        target_mask: (B, T), 1 for a token, 0 for padding; None if nothing is padded.
    """
    logits = model(source_ids, target_ids[:, :-1], source_mask).logits
    labels = next_tokens(target_ids, target_mask)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


def translate(
    model: EncoderDecoder,
    source_ids: Tensor,
    source_mask: Tensor | None,
    start: int,
    stop: int,
    max_new_tokens: int,
    use_cache: bool = True,
) -> Tensor:
    """Write the target of each source, taking the most likely token each time.

    Args:
        model: the model that writes.
        source_ids, source_mask: (B, S), as for ``EncoderDecoder.encode``.
        start, stop: the tokens that a target begins and ends with.
        max_new_tokens: how many tokens to write at most, after the start.
        use_cache: keep keys and values, the source's included.

    Returns:
        (B, N), without the start token; a row is filled with ``stop`` from its end on.
    """
    target_ids = torch.full((len(source_ids), 1), start, device=source_ids.device)
    is_done = torch.zeros_like(target_ids, dtype=torch.bool)
    cache = KeyValueCache(model.config.num_hidden_layers) if use_cache else None
    with evaluation_mode(model):
        memory, _ = model.encode(source_ids, source_mask)
        for _ in range(max_new_tokens):
            read = target_ids[:, -1:] if use_cache else target_ids
            token = choose(model.decode(read, memory, source_mask, cache).logits[:, -1])
            token = token.masked_fill(is_done, stop)
            is_done |= token == stop
            target_ids = torch.cat([target_ids, token], dim=1)
            if is_done.all():
                break
    return target_ids[:, 1:]
