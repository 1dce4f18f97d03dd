"""Chapter 12: a causal language model: tokens and positions in, chapter 2's blocks between, a score for each next token
out.

P(x_1 … x_L) = Π P(x_i | x_1 … x_{i-1}). The model gives all L factors at once, as no position sees what comes after
it, and is trained to make -log P small. With GPT-2's sizes it is GPT-2 (Radford et al. 2019, "Language Models are
Unsupervised Multitask Learners").

Token 0 is padding in every vocabulary that is trained here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.model import initialize
from bertcourse.bert.modes import evaluation_mode
from bertcourse.multi_head_attention import PreNormEncoder
from bertcourse.self_attention import causal_mask

PAD = 0


@dataclass(frozen=True)
class DecoderConfig:
    """The sizes of a decoder, under the names of ``BertConfig``; the defaults are those of the smallest GPT-2.

    Attributes:
        vocab_size: V, how many tokens there are.
        hidden_size: D.
        num_hidden_layers: how many blocks.
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


def small_config(vocab_size: int, hidden_size: int, longest: int, layers: int = 2, heads: int = 4) -> DecoderConfig:
    """Sizes that train in a minute: small weights, feed-forward networks four times as wide, no dropout.

    Args:
        vocab_size: V.
        hidden_size: D.
        longest: the longest sequence, in tokens.
        layers: how many blocks.
        heads: H.
    """
    dropout = dict.fromkeys(("embedding_dropout_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    sizes = dict(num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden_size)
    return DecoderConfig(
        vocab_size, hidden_size, **sizes, **dropout, max_position_embeddings=longest, initializer_range=0.05
    )


class CausalLanguageModel(nn.Module):
    """Embeddings, a pre-LN stack in which no position sees a later one, and the embeddings again as the final map
    (tied: Press & Wolf 2017).

    Args:
        config: sizes.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__()
        D = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, D)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, D)
        self.dropout = nn.Dropout(config.embedding_dropout_prob)
        self.decoder = PreNormEncoder(config)
        initialize(self, config)
        shrink_outputs(self.decoder)

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        """From (B, L) token ids, the first of them at position ``start``, to (B, L, D)."""
        positions = self.position_embeddings.weight[start : start + ids.shape[1]]
        return self.dropout(self.word_embeddings(ids) + positions)

    def score(self, hidden: Tensor) -> Tensor:
        """From (B, L, D) to (B, L, V): a score for each token of the vocabulary to come next."""
        return F.linear(hidden, self.word_embeddings.weight)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Score the next token after each position: from (B, L) ids to (B, L, V).

        Rows padded on the right need no attention mask: padding comes after all real tokens. The scores at padding mean
        nothing, and the loss leaves them out.
        """
        mask = causal_mask(input_ids.shape[1]).to(input_ids.device)
        hidden = self.decoder(self.embed(input_ids), mask).last_hidden_state
        return self.score(hidden)


@torch.no_grad()
def shrink_outputs(stack: PreNormEncoder) -> None:
    """Scale the maps that write into the residual stream by 1/√(2·layers), so that their sum starts no larger than a
    single one (Radford et al. 2019, section 2.3)."""
    for block in stack.blocks:
        for layer in (block.attention.output, block.feed_forward.contract):
            layer.weight.mul_((2 * len(stack.blocks)) ** -0.5)


def next_token_loss(model: nn.Module, input_ids: Tensor) -> Tensor:
    """The mean of -log P(x_i | x_1 … x_{i-1}) over all tokens but the first of each row, in nats; padding is not asked.

    Args:
        model: gives scores (B, L, V), as ``CausalLanguageModel`` does.
        input_ids: (B, L); a row's first token is given, and should be one that all rows begin with.
    """
    logits, targets = model(input_ids[:, :-1]), input_ids[:, 1:]
    return F.cross_entropy(logits.mT, targets, ignore_index=PAD)


def train_language_model(
    model: nn.Module,
    batches: Iterable,
    steps: int,
    learning_rate: float = 3e-3,
    loss=next_token_loss,
) -> list[float]:
    """Train by AdamW, with a learning rate that rises, stays and falls to zero, and gradients clipped at 1.

    Args:
        model: the model to train; it is left in evaluation mode.
        batches: at least ``steps`` of them, each a tuple of what the loss takes.
        steps: how many steps to take.
        learning_rate: the highest.
        loss: the loss of a batch, ``loss(model, *batch)``.

    Returns:
        The loss of each step, in nats per token.
    """
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    losses = []
    model.train()
    for step, batch in zip(range(steps), batches):
        warmup, decay = (step + 1) / (0.05 * steps), (steps - step) / (0.5 * steps)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1, warmup, decay)
        optimizer.zero_grad()
        value = loss(model, *batch)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(value.item())
    model.eval()
    return losses


def pad_texts(texts: Sequence[Sequence[int]]) -> Tensor:
    """B lists of token ids as a tensor (B, L), padded on the right to the longest.

    >>> pad_texts([[5, 6, 7], [8]]).tolist()
    [[5, 6, 7], [8, 0, 0]]
    """
    rows = [torch.as_tensor(text, dtype=torch.long) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


def shuffled(count: int, batch_size: int, generator: torch.Generator | None = None) -> Iterator[list[int]]:
    """Endless batches of numbers below ``count``; every pass has a new order, and leaves out what fills no batch."""
    while True:
        order = torch.randperm(count, generator=generator).tolist()
        for start in range(0, count - batch_size + 1, batch_size):
            yield order[start : start + batch_size]


def text_batches(
    texts: Sequence[Sequence[int]], batch_size: int, generator: torch.Generator | None = None
) -> Iterator[tuple[Tensor]]:
    """Endless batches of texts for ``train_language_model``.

    Args:
        texts: lists of token ids.
        batch_size: B; no more than there are texts.
        generator: source of randomness.
    """
    if not 1 <= batch_size <= len(texts):
        raise ValueError(f"batch_size must be between 1 and the number of texts, {len(texts)}; got {batch_size}.")
    for some in shuffled(len(texts), batch_size, generator):
        yield (pad_texts([texts[i] for i in some]),)


def mean_loss(model: nn.Module, texts: Sequence[Sequence[int]], batch_size: int = 64) -> float:
    """The mean of -log P over all tokens but the first of each text, in nats; all tokens count equally.

    Args:
        model: as for ``next_token_loss``.
        texts: lists of token ids.
        batch_size: how many at a time.
    """
    ordered, total = sorted(texts, key=len), 0.0
    with evaluation_mode(model):
        for start in range(0, len(ordered), batch_size):
            batch = pad_texts(ordered[start : start + batch_size])
            total += next_token_loss(model, batch).item() * int((batch[:, 1:] != PAD).sum())
    return total / sum(len(text) - 1 for text in texts)
