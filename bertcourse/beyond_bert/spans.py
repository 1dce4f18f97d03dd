"""Chapter 11: SpanBERT hides runs of words, and guesses them from the two tokens around each run as well.

BERT hides single tokens, which the rest of a name or phrase often gives away. SpanBERT hides ℓ ~ Geo(0.2) words in a
row, and guesses each token x_i of such a span x_s … x_e twice: from its own vector, as BERT does, and from nothing but
the vectors at the span's boundary and the token's place in it (Joshi et al. 2020, "SpanBERT", sections 3.1 and 3.2):

    L(x_i) = -log P(x_i | x_i's vector) - log P(x_i | y_i)        y_i = f(x_{s-1}, x_{e+1}, p_{i-s+1})

There is no next-sentence prediction: rows are single texts, as ``pack_documents`` makes them. The lengths of spans and
the model are here, the masks and the loss of a batch in ``spans_fast``.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.bert.model import initialize

LONGEST_SPAN = 10  # in words
ENDS = 0.2  # the probability that a span ends after each of its words


def span_lengths(
    shape: tuple[int, ...],
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Random lengths of spans, in words: P(ℓ) ∝ 0.2 · 0.8^(ℓ-1) for ℓ from 1 to 10; 3.8 on average.

    Args:
        shape: of the result.
        generator, device: the source of randomness, and where it lives.
    """
    weights = (1 - ENDS) ** torch.arange(LONGEST_SPAN, device=device)
    return 1 + torch.multinomial(weights, math.prod(shape), replacement=True, generator=generator).view(shape)


class SpanBoundaryHead(nn.Module):
    """Scores for a hidden token, from the two tokens around its span and its place in it.

        h = LayerNorm(GELU(W_1 [x_{s-1}; x_{e+1}; p_{i-s+1}]))    y_i = LayerNorm(GELU(W_2 h))    scores = E y_i + b

    E is the embedding table itself, as in ``MLMHead``. Joshi et al. 2020, section 3.2; their code has places for 20
    tokens and ignores any beyond; here a span may be as long as a row.

    Args:
        config: of the encoder.
        position_size: width of the place vectors p.
    """

    def __init__(self, config: BertConfig, position_size: int = 200):
        super().__init__()
        size, eps = config.hidden_size, config.layer_norm_eps
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, position_size)
        self.layers = nn.Sequential(
            nn.Linear(2 * size + position_size, size),
            nn.GELU(),
            nn.LayerNorm(size, eps=eps),
            nn.Linear(size, size),
            nn.GELU(),
            nn.LayerNorm(size, eps=eps),
        )
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def transform(self, before: Tensor, after: Tensor, place: Tensor) -> Tensor:
        """The vectors y of N tokens: (N, D) before and after their spans, and (N,) places from 0, to (N, D)."""
        return self.layers(torch.cat([before, after, self.position_embeddings(place)], dim=-1))

    def forward(self, before: Tensor, after: Tensor, place: Tensor, word_embeddings: Tensor) -> Tensor:
        """(N, V) logits; the arguments of ``transform``, and the (V, D) embedding table."""
        return F.linear(self.transform(before, after, place), word_embeddings, self.bias)


class SpanBertForPreTraining(BertForPreTraining):
    """BERT with a head for span boundaries. The NSP head and the pooler do not learn, as there are no sentence pairs.

    From the same seed, the encoder and the MLM head get the same weights as in a ``BertForPreTraining``.

    Args:
        config: sizes.
        position_size: of ``SpanBoundaryHead``.
    """

    def __init__(self, config: BertConfig, position_size: int = 200):
        super().__init__(config)
        self.boundary_head = SpanBoundaryHead(config, position_size)
        initialize(self.boundary_head, config)
        for part in (self.bert.pooler, self.nsp_head):
            part.requires_grad_(False)

    def as_bert(self) -> BertForPreTraining:
        """The same modules without the boundary head, for which fine-tuning has no use: this is what one saves."""
        with torch.device("meta"):  # no weights are drawn
            model = BertForPreTraining(self.config)
        model.bert, model.mlm_head, model.nsp_head = self.bert, self.mlm_head, self.nsp_head
        return model.train(self.training)


class SpanLosses(NamedTuple):
    """Mean cross-entropies of the hidden tokens, in nats.

    Attributes:
        mlm: guessed from their own vectors.
        boundary: guessed from the tokens around their spans.
    """

    mlm: Tensor
    boundary: Tensor
