"""One model that fills and writes: GPT-BERT's hybrid of both objectives (Charpentier & Samuel 2024, "GPT or
BERT: why not both?").

BERT guesses a hidden token at that token's own position; a causal model guesses a token at the position before it. If
BERT's guess is moved there, too ("masked next-token prediction"), both objectives ask the same of the same weights:

    writes    position i - 1 sees x_1 … x_{i-1}, and guesses x_i
    fills     position i - 1 sees the whole row, in which x_i is hidden, and guesses x_i

Only the attention mask and the [MASK]s differ. The model is the causal one of lecture 12.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from bertcourse.bert.modes import evaluation_mode
from bertcourse.decoders.language_model import PAD, CausalLanguageModel, next_token_loss, pad_texts
from bertcourse.pretraining.masking import IGNORE, Vocabulary, mask_tokens
from bertcourse.self_attention import padding_mask


def fill_logits(model: CausalLanguageModel, input_ids: Tensor) -> Tensor:
    """Scores for the token at each position, from the position before it, which sees the whole row.

    Args:
        model: of chapter 12.
        input_ids: (B, L), with [MASK]s.

    Returns:
        (B, L - 1, V): for positions 1 … L - 1; the first of a row, such as [CLS], is never hidden.
    """
    hidden = model.decoder(model.embed(input_ids), padding_mask(input_ids != PAD)).last_hidden_state
    return model.score(hidden)[:, :-1]


class HybridLoss:
    """In each batch, a share of the rows is written and the rest are filled, by the same weights.

    ``train_language_model(model, batches, steps, loss=HybridLoss(vocabulary, causal_share=0.5))``

    Args:
        vocabulary: of the tokenizer.
        causal_share: the share of rows to write; 1 is a causal language model, 0 a masked one.
        rate: the share of tokens that is hidden in rows to fill.
        generator: source of randomness.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        causal_share: float = 0.5,
        rate: float = 0.3,
        generator: torch.Generator | None = None,
    ):
        self.vocabulary, self.causal_share, self.rate, self.generator = vocabulary, causal_share, rate, generator

    def __call__(self, model: CausalLanguageModel, input_ids: Tensor) -> Tensor:
        """The mean loss of both kinds of rows, in nats, each weighted by its share of the rows."""
        count = round(self.causal_share * len(input_ids))
        loss = input_ids.new_zeros((), dtype=torch.float32)
        if count:
            loss = loss + count / len(input_ids) * next_token_loss(model, input_ids[:count])
        if count < len(input_ids):
            masked = mask_tokens(input_ids[count:], self.vocabulary, self.rate, generator=self.generator)
            logits = fill_logits(model, masked.input_ids)
            loss = loss + (1 - count / len(input_ids)) * cross_entropy(logits, masked.all_labels()[:, 1:])
        return loss


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean cross-entropy of logits (B, L, V) over all labels (B, L) except ``IGNORE``."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


class Scores(NamedTuple):
    """What a model knows about held-out texts.

    Attributes:
        loss: in nats per guessed token.
        accuracy: how often the likeliest token is right.
    """

    loss: float
    accuracy: float


def writing_scores(model: CausalLanguageModel, texts: Sequence[Sequence[int]], batch_size: int = 64) -> Scores:
    """How well each token but the first is guessed from those before it.

    Args:
        model: of chapter 12.
        texts: lists of token ids.
        batch_size: how many at a time.
    """
    return scores(
        (model(ids[:, :-1]), ids[:, 1:].masked_fill(ids[:, 1:] == PAD, IGNORE))
        for ids in in_evaluation(model, texts, batch_size)
    )


def filling_scores(
    model: CausalLanguageModel,
    texts: Sequence[Sequence[int]],
    vocabulary: Vocabulary,
    rate: float = 0.15,
    seed: int = 0,
    batch_size: int = 64,
) -> Scores:
    """How well hidden tokens are guessed from the rest of the text; each of them is replaced by [MASK].

    Args:
        model: of chapter 12.
        texts: lists of token ids.
        vocabulary: of the tokenizer.
        rate: the share of tokens that is hidden.
        seed: decides which ones, the same for each model.
        batch_size: how many at a time.
    """
    generator = torch.Generator().manual_seed(seed)

    def answers():
        for ids in in_evaluation(model, texts, batch_size):
            masked = mask_tokens(ids, vocabulary, rate, generator=generator, mask_share=1.0, random_share=0.0)
            yield fill_logits(model, masked.input_ids), masked.all_labels()[:, 1:]

    return scores(answers())


def in_evaluation(model: CausalLanguageModel, texts: Sequence[Sequence[int]], batch_size: int):
    """Batches of texts of similar length, padded, while the model is in evaluation mode."""
    ordered = sorted(texts, key=len)
    with evaluation_mode(model):
        for start in range(0, len(ordered), batch_size):
            yield pad_texts(ordered[start : start + batch_size])


def scores(answers) -> Scores:
    """Loss and accuracy over batches of logits (B, L, V) and labels (B, L); all labels but ``IGNORE`` count equally."""
    loss = right = count = 0.0
    for logits, labels in answers:
        asked = labels != IGNORE
        loss += F.cross_entropy(logits[asked], labels[asked], reduction="sum").item()
        right += int((logits[asked].argmax(-1) == labels[asked]).sum())
        count += int(asked.sum())
    return Scores(loss / count, right / count)
