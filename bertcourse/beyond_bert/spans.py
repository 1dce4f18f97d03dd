"""Chapter 11: SpanBERT hides runs of words, and guesses them from the two tokens around each run as well.

BERT hides single tokens, which the rest of a name or phrase often gives away. SpanBERT hides ℓ ~ Geo(0.2) words in a
row, and guesses each token x_i of such a span x_s … x_e twice: from its own vector, as BERT does, and from nothing but
the vectors at the span's boundary and the token's place in it (Joshi et al. 2020, "SpanBERT", sections 3.1 and 3.2):

    L(x_i) = -log P(x_i | x_i's vector) - log P(x_i | y_i)        y_i = f(x_{s-1}, x_{e+1}, p_{i-s+1})

There is no next-sentence prediction: rows are single texts, as ``pack_documents`` makes them. ``plain_mask_spans`` and
``plain_span_losses`` are the specification; ``mask_spans`` and ``SpanLoss`` in ``spans_fast`` do the same for whole
batches.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.bert.model import initialize
from bertcourse.pretraining.masking import IGNORE, MaskedTokens, Vocabulary, columns_of_words, masks_per_row
from bertcourse.pretraining.pairs import RowBatch

LONGEST_SPAN = 10  # in words
ENDS = 0.2  # the probability that a span ends after each of its words


def plain_mask_spans(
    input_ids: Tensor,
    vocabulary: Vocabulary,
    rate: float = 0.15,
    count: int | None = None,
    whole_words: bool = True,
    random_weights: Tensor | None = None,
    generator: torch.Generator | None = None,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskedTokens:
    """The specification of ``mask_spans``, token by token, with the same arguments and the same random draws.

    ``columns_of_spans`` chooses k tokens of a row. All tokens of a span share one fate; in their place the model reads

        [MASK]          with probability 0.8,
        random tokens   with probability 0.1,
        what they are   with probability 0.1.

    Spans that touch count as one, as in the authors' code.
    """
    input_ids = input_ids.long()
    is_special = vocabulary.is_special[input_ids]
    if count is None:
        count = masks_per_row((~is_special).sum(1), rate)
    order = torch.rand(input_ids.shape, generator=generator)
    lengths = span_lengths(input_ids.shape, generator=generator)
    labels, chosen = torch.full_like(input_ids, IGNORE), []
    for row, tokens in enumerate(input_ids.tolist()):
        words = columns_of_words(tokens, vocabulary)
        hidden = columns_of_spans(words, order[row].tolist(), lengths[row].tolist(), count)
        labels[row, hidden] = input_ids[row, hidden]
        others = [column for column in range(len(tokens)) if column not in hidden]  # if the row has fewer than k
        chosen += [(row, column) for column in [*hidden, *others][:count]]

    positions = torch.tensor([row * input_ids.shape[1] + column for row, column in chosen])
    weights = torch.ones(vocabulary.size) if random_weights is None else random_weights.float().clone()
    weights[vocabulary.is_special] = 0.0
    replacements = input_ids.clone()
    replacements.view(-1)[positions] = torch.multinomial(weights, len(chosen), replacement=True, generator=generator)
    dice = torch.rand(input_ids.shape, generator=generator)
    shown = input_ids.clone()
    for row, start, end in hidden_spans(labels):
        span = slice(start, end + 1)
        if dice[row, start] < mask_share:
            shown[row, span] = vocabulary.mask_id
        elif dice[row, start] < mask_share + random_share:
            shown[row, span] = replacements[row, span]
    return MaskedTokens(shown, positions, labels.flatten()[positions])


def columns_of_spans(words: list[list[int]], order: list[float], lengths: list[int], count: int) -> list[int]:
    """The columns of a row to hide, in order.

    Until k are hidden: take any word that is still visible, and hide ℓ words from there on. A span ends early at a
    special token, at the end of the row, and as soon as k are hidden, even in the middle of a word.

    Args:
        words: the columns of each word.
        order: (L,), random numbers: words are taken in the order of their first tokens' numbers, smallest first.
        lengths: (L,), ℓ for a span that begins at a column.
        count: k.

    >>> columns_of_spans([[1], [2, 3], [4], [6]], [0, 0.3, 0.2, 0, 0.4, 0, 0.1], [2] * 7, count=4)
    [2, 3, 4, 6]
    """
    hidden: set[int] = set()
    for first in sorted(range(len(words)), key=lambda number: order[words[number][0]]):
        if words[first][0] in hidden:
            continue
        column = words[first][0]
        for word in words[first : first + lengths[column]]:
            if word[0] == column:  # it follows the word before, without a gap
                hidden.update(word[: max(0, count - len(hidden))])
            column += len(word)
    return sorted(hidden)


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


def hidden_spans(labels: Tensor) -> Iterator[tuple[int, int, int]]:
    """The row, first column and last column of each run of hidden tokens.

    Args:
        labels: (B, L), ``IGNORE`` where nothing is hidden.

    >>> list(hidden_spans(torch.tensor([[IGNORE, 7, 8, IGNORE, 9, IGNORE]])))
    [(0, 1, 2), (0, 4, 4)]
    """
    for row, hidden in enumerate((labels != IGNORE).tolist()):
        for is_hidden, run in itertools.groupby(range(len(hidden)), key=hidden.__getitem__):
            if is_hidden:
                columns = list(run)
                yield row, columns[0], columns[-1]


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


def plain_span_losses(model: SpanBertForPreTraining, masked: MaskedTokens, rows: RowBatch) -> SpanLosses:
    """The specification of ``SpanLoss``: both guesses, one span and one token at a time.

    Args:
        model: to be scored.
        masked: tokens (B, L), some of them hidden, however they were chosen; never the first or the last of a row,
            which are [CLS] and [SEP], so that each span has a token on either side.
        rows: everything else in the batch.
    """
    x = model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids).last_hidden_state
    table, labels = model.bert.embeddings.word_embeddings.weight, masked.all_labels()
    mlm_logits, boundary_logits, targets = [], [], []
    for row, start, end in hidden_spans(labels):
        for i in range(start, end + 1):
            mlm_logits.append(model.mlm_head(x[row, i], table))
            place = torch.tensor(i - start, device=x.device)
            boundary_logits.append(model.boundary_head(x[row, start - 1], x[row, end + 1], place, table))
            targets.append(labels[row, i])
    labels = torch.stack(targets)
    return SpanLosses(
        F.cross_entropy(torch.stack(mlm_logits), labels), F.cross_entropy(torch.stack(boundary_logits), labels)
    )
