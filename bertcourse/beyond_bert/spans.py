"""Chapter 11: SpanBERT hides runs of words, and guesses them from the two tokens around each run as well.

BERT hides single tokens, which the rest of a name or phrase often gives away. SpanBERT hides ℓ ~ Geo(0.2) words in a
row, and guesses each token x_i of such a span x_s … x_e twice: from its own vector, as BERT does, and from nothing but
the vectors at the span's boundary and the token's place in it (Joshi et al. 2020, "SpanBERT", sections 3.1 and 3.2):

    L(x_i) = -log P(x_i | x_i's vector) - log P(x_i | y_i)        y_i = f(x_{s-1}, x_{e+1}, p_{i-s+1})

There is no next-sentence prediction: rows are single texts.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.pretraining.masking import MaskedTokens, Vocabulary, hide, masks_per_row

LENGTHS = 0.8 ** torch.arange(10.0)  # of spans, in words: how often each from 1 to 10 is drawn; 3.8 on average


def choose_spans(words: list[list[int]], count: int, generator: torch.Generator | None = None) -> list[int]:
    """Columns to hide in a row, one span after the other: ``count`` of them, or all if there are fewer.

    A span begins at any word and takes ℓ words; the last one is cut as soon as there are enough.

    Args:
        words: of a row, each the columns of its tokens.
        count: how many tokens to hide.
        generator: source of randomness.
    """
    hidden = []
    for first in torch.randperm(len(words), generator=generator).tolist():
        length = 1 + int(torch.multinomial(LENGTHS, 1, generator=generator))
        for word in words[first : first + length]:
            if word[0] not in hidden:
                hidden += word
        if len(hidden) >= count:
            break
    return sorted(hidden[:count])


def mask_spans(
    input_ids: Tensor, vocabulary: Vocabulary, rate: float = 0.15, generator: torch.Generator | None = None
) -> MaskedTokens:
    """Hide as many tokens of each row as ``mask_tokens`` does, in runs of words; each of them becomes [MASK].

    SpanBERT throws BERT's die, 80/10/10, once for each span; here every span is hidden.

    Args:
        input_ids: (B, L), token ids; special tokens, including padding, are never hidden.
        vocabulary, rate, generator: as for ``mask_tokens``.

    Source: Joshi et al. 2020, section 3.1.
    """
    is_text = ~vocabulary.is_special[input_ids]
    count = masks_per_row(is_text.sum(1), rate)
    positions = []
    for row, tokens in enumerate(input_ids.tolist()):
        words = []
        for column in is_text[row].nonzero()[:, 0].tolist():
            if words and vocabulary.is_continuation[tokens[column]]:
                words[-1].append(column)
            else:
                words.append([column])
        columns = choose_spans(words, count, generator)
        positions += [row * len(tokens) + column for column in columns]
    positions = torch.tensor(positions)
    dice = torch.zeros(len(positions))  # below 0.8: [MASK]
    return hide(input_ids, positions, positions, dice, vocabulary.mask_id)


def borders(hidden: Tensor) -> tuple[Tensor, Tensor]:
    """The last column before each hidden token's span, s - 1, and the first after it, e + 1.

    Args:
        hidden: (B, L), True for hidden tokens; the results for other tokens mean nothing.

    >>> borders(torch.tensor([[False, True, True, False]]))
    (tensor([[0, 0, 0, 3]]), tensor([[0, 3, 3, 3]]))
    """
    length = hidden.shape[1]
    column = torch.arange(length).expand_as(hidden)
    before = column.where(~hidden, -1).cummax(1).values
    after = column.where(~hidden, length).flip(1).cummin(1).values.flip(1)
    return before, after


class SpanBoundaryHead(nn.Module):
    """Scores for a hidden token, from the two tokens around its span and its place in it.

        h = LayerNorm(GELU(W_1 [x_{s-1}; x_{e+1}; p_{i-s+1}]))    y_i = LayerNorm(GELU(W_2 h))    scores = E y_i + b

    E is the embedding table itself, as in ``MLMHead``. Joshi et al. 2020, section 3.2.

    Args:
        config: of the encoder.
        position_size: width of the place vectors p.
    """

    def __init__(self, config: BertConfig, position_size: int = 200):
        super().__init__()
        D, most = config.hidden_size, config.max_position_embeddings
        self.places = nn.Embedding(most, position_size)
        self.first = nn.Sequential(nn.Linear(2 * D + position_size, D), nn.GELU(), nn.LayerNorm(D))
        self.second = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D))
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, before: Tensor, after: Tensor, place: Tensor, word_embeddings: Tensor) -> Tensor:
        """(N, D) before and after the spans, (N,) places from 0, and the (V, D) embedding table to (N, V) logits."""
        around = torch.cat([before, after, self.places(place)], dim=-1)
        return F.linear(self.second(self.first(around)), word_embeddings, self.bias)


def span_losses(model: BertForPreTraining, head: SpanBoundaryHead, masked: MaskedTokens) -> tuple[Tensor, Tensor]:
    """Mean cross-entropies of the hidden tokens, in nats: from their own vectors, and from their spans' borders.

    Args:
        model, head: to be trained together.
        masked: (B, L) tokens without padding; never is the first or the last of a row hidden, which are [CLS] and
            [SEP], so that each span has a token on either side.
    """
    x = model.bert(masked.input_ids).last_hidden_state
    table = model.bert.embeddings.word_embeddings.weight
    hidden = masked.all_labels() >= 0
    row, column = hidden.nonzero(as_tuple=True)
    before, after = (border[hidden] for border in borders(hidden))
    answers = masked.all_labels()[hidden]
    own = model.mlm_head(x[row, column], table)
    around = head(x[row, before], x[row, after], column - before - 1, table)
    return F.cross_entropy(own, answers), F.cross_entropy(around, answers)
