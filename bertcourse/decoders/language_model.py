"""Chapter 12: a causal language model: tokens and positions in, a decoder between, a score for each next token out.

P(x_1 … x_L) = Π P(x_i | x_1 … x_{i-1}). The model gives all L factors at once, as no position sees what comes after
it, and is trained to make -log P small. With GPT-2's sizes it is GPT-2 (Radford et al. 2019, "Language Models are
Unsupervised Multitask Learners").
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.model import initialize
from bertcourse.decoders.decoder import KeyValueCache, TransformerDecoder
from bertcourse.pretraining.masking import IGNORE
from bertcourse.training.modes import evaluation_mode
from bertcourse.training.steps import adamw_groups, set_learning_rate, trapezoid


@dataclass(frozen=True)
class DecoderConfig:
    """The sizes of a decoder, under the names of ``BertConfig``; the defaults are those of the smallest GPT-2.

    Attributes:
        vocab_size: V, how many tokens there are.
        hidden_size: D.
        num_hidden_layers: how many decoder blocks.
        num_attention_heads: H; D is a multiple of it.
        intermediate_size: width of the feed-forward networks.
        hidden_act: their activation, one of ``bertcourse.multi_head_attention.ACTIVATIONS``.
        embedding_dropout_prob: dropout on the embeddings.
        hidden_dropout_prob: dropout on each sublayer's result.
        attention_probs_dropout_prob: dropout on attention weights.
        max_position_embeddings: the longest sequence, in tokens.
        initializer_range: standard deviation of the initial weights.
        layer_norm_eps: added to the variance in layer normalization.
    """

    vocab_size: int = 50257
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu_new"
    embedding_dropout_prob: float = 0.1
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 1024
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-5


@dataclass(frozen=True)
class SmallModel:
    """A model that trains in a minute or two of CPU time: settings for it that lecture, tests and studies share.

    Attributes:
        hidden_size: D; the feed-forward networks are four times as wide.
        num_hidden_layers: how many blocks the decoder has, and the encoder if there is one.
        num_attention_heads: H.
        max_position_embeddings: the longest sequence, in tokens.
        initializer_range: standard deviation of the initial weights.
        batch_size: B.
        steps: how many training steps.
        learning_rate: the highest.
    """

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    initializer_range: float
    batch_size: int
    steps: int
    learning_rate: float

    def config(self, vocab_size: int) -> DecoderConfig:
        """The model's sizes; there is no dropout, because no example is seen often."""
        return DecoderConfig(
            vocab_size=vocab_size,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.num_hidden_layers,
            num_attention_heads=self.num_attention_heads,
            intermediate_size=4 * self.hidden_size,
            embedding_dropout_prob=0.0,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            max_position_embeddings=self.max_position_embeddings,
            initializer_range=self.initializer_range,
        )


class LanguageModelOutput(NamedTuple):
    """What a causal language model returns.

    Attributes:
        logits: (B, L, V): for each position, a score for each token of the vocabulary to come next.
        hidden_states: layers + 1 tensors (B, L, D).
        attentions: None, or the weights (B, H, L, M) of each layer.
    """

    logits: Tensor
    hidden_states: tuple[Tensor, ...]
    attentions: tuple[Tensor, ...] | None = None


class CausalLanguageModel(nn.Module):
    """Embeddings, a pre-LN decoder, and the embeddings again as the final map (tied: Press & Wolf 2017).

    Weights are drawn from N(0, initializer_range²); those that write into the residual stream are then scaled by
    1/√(2·layers) (Radford et al. 2019, section 2.3).

    Args:
        config: sizes.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.config = config
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.embedding_dropout_prob)
        self.decoder = TransformerDecoder(config)
        initialize(self, config)
        shrink_outputs(self.decoder)

    def embed(self, input_ids: Tensor, start: int = 0) -> Tensor:
        """From (B, L) token ids, the first of them at position ``start``, to (B, L, D)."""
        positions = self.position_embeddings.weight[start : start + input_ids.shape[1]]
        return self.dropout(self.word_embeddings(input_ids) + positions)

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        output_attentions: bool = False,
        last_only: bool = False,
    ) -> LanguageModelOutput:
        """Score the next token after each position.

        Rows padded on the right need no attention mask: padding comes after all real tokens. The scores at padding mean
        nothing, and the loss leaves them out.

        Args:
            input_ids: (B, L), integers below V; with a cache, of the new positions only.
            mask: boolean, broadcastable to (B, H, L, M), True where a position may attend; None for the causal mask.
            cache: keys and values of earlier positions; those of the new positions are added.
            output_attentions: return each layer's weights; slower, as they must be stored.
            last_only: only score what comes after the last position: logits are (B, 1, V).
        """
        x = self.embed(input_ids, 0 if cache is None else cache.length)
        output = self.decoder(x, mask, cache=cache, output_attentions=output_attentions)
        hidden = output.last_hidden_state[:, -1:] if last_only else output.last_hidden_state
        return LanguageModelOutput(
            F.linear(hidden, self.word_embeddings.weight), output.hidden_states, output.attentions
        )


@torch.no_grad()
def shrink_outputs(decoder: TransformerDecoder) -> None:
    """Scale down the maps of self-attention and feed-forward network that write into the residual stream, so that their
    sum starts no larger than a single one (Radford et al. 2019). Cross-attention stays as drawn.
    """
    for block in decoder.blocks:
        for layer in (block.attention.output, block.feed_forward.contract):
            layer.weight.mul_((2 * len(decoder.blocks)) ** -0.5)


def next_token_loss(model: nn.Module, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    """The mean of -log P(x_i | x_1 … x_{i-1}) over all tokens but the first of each row, in nats.

    Args:
        model: returns logits (B, L, V), as ``CausalLanguageModel`` does.
        input_ids: (B, L); a row's first token is given, and should be one that all rows begin with.
        attention_mask: (B, L), 1 for a token, 0 for padding on the right; None if nothing is padded.
    """
    logits = model(input_ids).logits[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1), next_tokens(input_ids, attention_mask).flatten(), ignore_index=IGNORE)


def next_tokens(input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    """The (B, L - 1) labels of (B, L) ids: what comes after each position but the last; ``IGNORE`` if it is padding.

    >>> next_tokens(torch.tensor([[1, 7, 8, 0]]), torch.tensor([[1, 1, 1, 0]])).tolist()
    [[7, 8, -100]]
    """
    labels = input_ids[:, 1:]
    return labels if attention_mask is None else labels.masked_fill(attention_mask[:, 1:] == 0, IGNORE)


class TextBatch(NamedTuple):
    """Some texts as a tensor: ``next_token_loss(model, *batch)``.

    Attributes:
        input_ids: (B, L), with shorter texts padded on the right.
        attention_mask: (B, L), 1 for a token, 0 for padding.
    """

    input_ids: Tensor
    attention_mask: Tensor


def pad_texts(texts: Sequence[Sequence[int]], pad_id: int = 0) -> TextBatch:
    """B lists of token ids as a tensor, padded on the right to the longest.

    >>> pad_texts([[5, 6, 7], [8]]).input_ids.tolist()
    [[5, 6, 7], [8, 0, 0]]
    """
    if not texts or not all(len(text) for text in texts):
        raise ValueError("texts must be at least one list of at least one token id each; got an empty one.")
    rows = [torch.as_tensor(text, dtype=torch.long) for text in texts]
    lengths = torch.tensor([len(row) for row in rows])
    input_ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
    return TextBatch(input_ids, (torch.arange(input_ids.shape[1]) < lengths[:, None]).long())


def text_batches(
    texts: Sequence[Sequence[int]], batch_size: int, generator: torch.Generator | None = None, pad_id: int = 0
) -> Iterator[TextBatch]:
    """Endless batches of texts: every pass has a new order, and leaves out the last few if they do not fill a batch.

    Args:
        texts: lists of token ids.
        batch_size: B; no more than there are texts.
        generator: source of randomness.
        pad_id: what shorter texts are padded with.
    """
    if not 1 <= batch_size <= len(texts):
        raise ValueError(f"batch_size must be between 1 and the number of texts, {len(texts)}; got {batch_size}.")
    while True:
        order = torch.randperm(len(texts), generator=generator).tolist()
        for start in range(0, len(texts) - batch_size + 1, batch_size):
            yield pad_texts([texts[i] for i in order[start : start + batch_size]], pad_id)


def train_language_model(
    model: nn.Module,
    batches: Iterable[TextBatch],
    steps: int,
    learning_rate: float = 1e-3,
    loss=next_token_loss,
    warmup: float = 0.05,
    decay: float = 0.5,
    weight_decay: float = 0.01,
) -> list[float]:
    """Train by AdamW, with a learning rate that rises, stays and falls (``trapezoid``) and gradients clipped at 1.

    Args:
        model: the model to train; it is left in evaluation mode.
        batches: at least ``steps`` of them, each given to the loss as ``loss(model, *batch)``.
        steps: how many steps to take.
        learning_rate: the highest.
        loss: the loss of a batch.
        warmup, decay: the shares of the steps in which the rate rises and falls.
        weight_decay: applied to matrices only.

    Returns:
        The loss of each step, in nats per token.

    Raises:
        ValueError: if there are fewer batches than steps.
        FloatingPointError: if a loss is not a number, as of a batch in which no text has a second token.
    """
    optimizer = torch.optim.AdamW(adamw_groups(model, lambda name: learning_rate, weight_decay), betas=(0.9, 0.98))
    losses = []
    model.train()
    for step, batch in enumerate(islice(batches, steps)):
        set_learning_rate(optimizer, trapezoid(step / steps, warmup, decay, lead=1 / steps))
        value = loss(model, *batch)
        if not value.isfinite():
            raise FloatingPointError(
                f"step {step + 1}: the loss must be a number; got {value.item()}. Has each batch a text of two tokens? "
                f"If so, lower learning_rate, now {learning_rate:g}."
            )
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(value.item())
    model.eval()
    if len(losses) < steps:
        raise ValueError(f"batches must be at least {steps}, one per step; got {len(losses)}.")
    return losses


def mean_loss(model: nn.Module, texts: Sequence[Sequence[int]], batch_size: int = 64) -> float:
    """The mean of -log P over all tokens but the first of each text, in nats; all tokens count equally.

    Args:
        model: as for ``next_token_loss``.
        texts: lists of token ids.
        batch_size: how many at a time.
    """
    ordered = sorted(texts, key=len)
    total = count = 0.0
    with evaluation_mode(model):
        for start in range(0, len(ordered), batch_size):
            batch = pad_texts(ordered[start : start + batch_size])
            tokens = int(batch.attention_mask[:, 1:].sum())
            total += next_token_loss(model, *batch).item() * tokens if tokens else 0.0
            count += tokens
    if not count:
        raise ValueError("texts must have a token after the first, which is guessed; got none.")
    return total / count
