"""Chapter 11: what ELECTRA knows: both of its tasks on held-out rows, and how genuine a text looks to it."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import Batch, encode_batch, length_buckets
from bertcourse.bert.batching import whole_texts
from bertcourse.bert.modes import evaluation_mode
from bertcourse.beyond_bert.electra import ElectraDiscriminator, ElectraWithGenerator, with_guesses
from bertcourse.pretraining.evaluation import score, to_device
from bertcourse.pretraining.masking import MaskedTokens
from bertcourse.pretraining.pairs import RowBatch
from bertcourse_lab.pretraining.processes import Processes


def evaluate_electra(
    model: ElectraWithGenerator, batches: Iterable[tuple[MaskedTokens, RowBatch]], processes: Processes | None = None
) -> dict[str, float]:
    """Both models on fixed batches, in evaluation mode; the same weights always draw the same guesses.

    Args:
        model, batches, processes: as for ``bertcourse.pretraining.evaluate``.

    Returns:
        ``mlm_loss`` (nats) and ``mlm_accuracy`` (0 to 1) of the generator; ``replaced_loss`` (nats, without λ),
        ``replaced_accuracy`` and ``replaced_f1`` of the discriminator over all tokens; and ``original_share``, the
        accuracy of always saying that nothing was replaced (F1 0).
    """
    processes = processes or Processes(0, 1, 0, next(model.parameters()).device)
    sums = np.zeros(8)
    with evaluation_mode(model), torch.random.fork_rng():
        for number, (masked, rows) in itertools.islice(enumerate(batches), processes.rank, None, processes.count):
            torch.manual_seed(number)
            masked, rows = to_device(masked, processes.device), to_device(rows, processes.device)
            mask, segments = rows.attention_mask, rows.token_type_ids
            logits = model.generator_logits(masked.input_ids, mask, segments, masked.positions).float()
            corrupted = with_guesses(logits, masked, rows.input_ids)
            is_text = torch.ones_like(corrupted, dtype=torch.bool) if mask is None else mask.bool()
            found = model.replaced_token_logits(corrupted, mask, segments)[is_text].float()
            is_replaced = (corrupted != rows.input_ids)[is_text]
            loss = F.binary_cross_entropy_with_logits(found, is_replaced.float(), reduction="sum")
            says = found > 0
            counts = [says & is_replaced, says & ~is_replaced, ~says & is_replaced, ~says & ~is_replaced]
            sums += [*score(logits, masked.labels), loss.item(), *(count.sum().item() for count in counts)]
    mlm_loss, right, hidden, replaced_loss, *counts = processes.total(*sums)
    if not hidden:
        raise ValueError("evaluation needs at least one hidden token; got none. Is the held-out text empty?")
    true_positives, false_positives, false_negatives, true_negatives = counts
    tokens = sum(counts)
    either = 2 * true_positives + false_positives + false_negatives
    return {
        "mlm_loss": mlm_loss / hidden,
        "mlm_accuracy": right / hidden,
        "replaced_loss": replaced_loss / tokens,
        "replaced_accuracy": (true_positives + true_negatives) / tokens,
        "replaced_f1": 2 * true_positives / either if either else 0.0,
        "original_share": (false_positives + true_negatives) / tokens,
    }


def replaced_token_scores(
    model: ElectraDiscriminator, tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int = 8192
) -> Tensor:
    """The log-probability that every token of a text is original: one pass, no masks.

    Of two sentences, such as BLiMP's, the one with the higher score looks more like an author's to the model.

    Args:
        model: a discriminator.
        tokenizer: its tokenizer.
        texts: N strings.
        max_tokens: of a batch, padding included.

    Returns:
        (N,), Σ_t log (1 - D_t) over the tokens of each text, [CLS] and [SEP] left out.
    """
    batch = encode_batch(whole_texts(tokenizer), texts)
    lengths = batch.attention_mask.sum(1)
    device = next(model.parameters()).device
    scores = torch.zeros(len(lengths))
    with evaluation_mode(model):
        for indices in length_buckets(lengths.tolist(), max_tokens):
            longest = int(lengths[indices[0]])
            part = to_device(Batch(*(tensor[indices, :longest] for tensor in batch)), device)
            log_original = F.logsigmoid(-model.replaced_token_logits(*part).float()).cpu()
            columns = torch.arange(longest)
            is_inside = (columns > 0) & (columns < lengths[indices, None] - 1)
            scores[indices] = (log_original * is_inside).sum(1)
    return scores
