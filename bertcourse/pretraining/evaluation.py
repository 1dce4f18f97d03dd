"""Chapter 4: what a model knows, measured on text that it has not seen; and what a table of counts would know."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertcourse.bert import BertForPreTraining
from bertcourse.bert.modes import evaluation_mode
from bertcourse.pretraining.corpus import Documents
from bertcourse.pretraining.masking import IGNORE, MaskedTokens
from bertcourse.pretraining.pairs import RowBatch


def evaluate(model: BertForPreTraining, batches: Iterable[tuple[MaskedTokens, RowBatch]]) -> dict[str, float]:
    """Both of BERT's tasks on some batches, in evaluation mode.

    Returns:
        ``mlm_loss`` (nats), ``mlm_accuracy`` (0 to 1), and, if there are pairs, ``nsp_loss`` and ``nsp_accuracy``.
    """
    return means(sums(model, batches))


def sums(model: BertForPreTraining, batches: Iterable[tuple[MaskedTokens, RowBatch]]) -> NDArray:
    """(6,), of hidden tokens and then of pairs: the sum of their losses, how many are right, and how many there are."""
    device, total = next(model.parameters()).device, np.zeros(6)
    with evaluation_mode(model):
        for masked, rows in batches:
            masked, rows = to_device(masked, device), to_device(rows, device)
            output = model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids)
            hidden = output.last_hidden_state.flatten(0, 1)[masked.positions]
            mlm = model.mlm_head(hidden, model.bert.embeddings.word_embeddings.weight)
            total[:3] += score(mlm, masked.labels)
            if output.pooled is not None:
                total[3:] += score(model.nsp_head(output.pooled), rows.nsp_labels)
    return total


def means(total: NDArray) -> dict[str, float]:
    """What ``evaluate`` returns, from ``sums``."""
    if not total[2]:
        raise ValueError("evaluation needs at least one hidden token; got none. Is the held-out text empty?")
    result = {"mlm_loss": total[0] / total[2], "mlm_accuracy": total[1] / total[2]}
    return result | ({"nsp_loss": total[3] / total[5], "nsp_accuracy": total[4] / total[5]} if total[5] else {})


def to_device(tensors: tuple, device: torch.device) -> tuple:
    """A named tuple of tensors, moved to another device."""
    moved = [t.to(device, non_blocking=True) if isinstance(t, Tensor) else t for t in tensors]
    return type(tensors)(*moved)


def score(logits: Tensor, labels: Tensor) -> tuple[float, float, float]:
    """The sum of cross-entropies (nats), how many guesses are right and how many there are, for logits (N, K) and
    labels (N,), leaving out ``IGNORE``."""
    counted = labels != IGNORE
    logits, labels = logits[counted].float(), labels[counted]
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    return loss.item(), (logits.argmax(1) == labels).sum().item(), len(labels)


class CountModel:
    """A unigram and a bigram model: how often each token occurs, and how often it follows each other token.

    p(w | v) = (n(v, w) + k p(w)) / (n(v) + k), with p(w) = (n(w) + 1) / (N + V): baselines to compare BERT's loss
    with.

    Args:
        shards: documents to count in.
        vocab_size: V.
        strength: k, in tokens: how far to trust the unigram model rather than the counts of pairs (MacKay & Peto 1995,
            "A hierarchical Dirichlet language model").
    """

    def __init__(self, shards: Iterable[Documents], vocab_size: int, strength: float = 300.0):
        counts = np.zeros(vocab_size, np.int64)
        keys, totals = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for documents in shards:
            tokens = np.asarray(documents.tokens, np.int64)
            counts += np.bincount(tokens, minlength=vocab_size)
            found, how_often = np.unique(tokens[:-1] * vocab_size + tokens[1:], return_counts=True)
            merged, inverse = np.unique(np.concatenate([keys, found]), return_inverse=True)
            totals = np.bincount(inverse, np.concatenate([totals, how_often])).astype(np.int64)
            keys = merged
        self.vocab_size, self.strength = vocab_size, strength
        self.counts, self.pairs, self.pair_counts = counts, keys, totals
        self.unigram = (counts + 1) / (counts.sum() + vocab_size)

    def losses(self, batches: Iterable[tuple[MaskedTokens, RowBatch]]) -> dict[str, float]:
        """``unigram_loss`` (nats), ``unigram_accuracy`` (0 to 1), ``bigram_loss`` and ``bigram_accuracy``, at the
        hidden tokens of batches as ``fixed_batches`` makes them; the bigram model sees the token to the left, unmasked.
        """
        targets, left = [], []
        for masked, _ in batches:
            ids = masked.input_ids.flatten().clone()
            kept = masked.labels != IGNORE
            ids[masked.positions[kept]] = masked.labels[kept]
            targets.append(masked.labels[kept])
            left.append(ids[masked.positions[kept] - 1])
        if not sum(map(len, targets)):
            raise ValueError("evaluation needs at least one hidden token; got none. Is the held-out text empty?")
        target, before = torch.cat(targets).numpy(), torch.cat(left).numpy()
        bigram = (self.pair_count(before, target) + self.strength * self.unigram[target]) / (
            self.counts[before] + self.strength
        )
        return {
            "unigram_loss": float(-np.log(self.unigram[target]).mean()),
            "unigram_accuracy": float((target == self.unigram.argmax()).mean()),
            "bigram_loss": float(-np.log(bigram).mean()),
            "bigram_accuracy": float((target == self.most_likely(before)).mean()),
        }

    def pair_count(self, before: NDArray, after: NDArray) -> NDArray:
        """(N,), how often each token of ``after``, (N,), followed its counterpart in ``before``, (N,)."""
        wanted = before * self.vocab_size + after
        place = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        return np.where(self.pairs[place] == wanted, self.pair_counts[place], 0)

    def most_likely(self, before: NDArray) -> NDArray:
        """(N,), the token that the bigram model expects after each of ``before``, (N,)."""
        best = np.full(self.vocab_size, self.unigram.argmax())
        for token in np.unique(before):
            first, last = np.searchsorted(self.pairs, [token * self.vocab_size, (token + 1) * self.vocab_size])
            scores = self.strength * self.unigram
            scores[self.pairs[first:last] % self.vocab_size] += self.pair_counts[first:last]
            best[token] = scores.argmax()
        return best[before]
