"""Chapter 12: what happens if a BERT is made to write, which it was not trained to do.

BERT knows P(x_i | all others), for a few hidden x_i at a time. These distributions need not belong to any distribution
of whole texts, and none of them says how a text goes on. Two ways that the literature tries: filling one mask at the
end of the text, again and again; and many masks at once, the least certain of which are filled again (Ghazvininejad et
al. 2019, "Mask-Predict").
"""

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertForPreTraining
from bertcourse.decoders.generation import choose, next_token_distribution
from bertcourse.pretraining.masking import Vocabulary
from bertcourse.training.modes import evaluation_mode


class Writer:
    """A BERT with an MLM head, asked for the tokens at some places of a row of ids.

    Args:
        model: a BERT with an MLM head.
        tokenizer: the model's; its special tokens are never written.
        temperature: 0 for the most likely token each time, otherwise as for ``next_token_distribution``.
        generator: source of randomness.
    """

    def __init__(
        self,
        model: BertForPreTraining,
        tokenizer: Tokenizer,
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
    ):
        self.model, self.tokenizer, self.temperature, self.generator = model, tokenizer, temperature, generator
        self.vocabulary = Vocabulary.of(tokenizer)
        self.passes = 0  # how often the model has been asked

    def logits(self, ids: Sequence[int], places: Sequence[int]) -> Tensor:
        """(N, V) scores for the tokens at N places of a row; minus infinity for special tokens."""
        self.passes += 1
        with evaluation_mode(self.model):
            logits = self.model(torch.tensor([ids])).mlm_logits[0, list(places)]
        size = self.vocabulary.size  # a model may have more rows than its tokenizer has tokens
        return logits[:, :size].masked_fill(self.vocabulary.is_special, -torch.inf)

    def draw(self, logits: Tensor) -> list[int]:
        """A token for each of N rows of scores."""
        return choose(logits, self.temperature, generator=self.generator)[:, 0].tolist()

    def frame(self, text: str, num_masks: int, after: str = "") -> tuple[list[int], list[int]]:
        """[CLS] text [MASK] … [MASK] after [SEP]: its ids, and the places of the masks."""
        before, behind = (self.tokenizer.encode(part, add_special_tokens=False).ids for part in (text, after))
        masks = [self.vocabulary.mask_id] * num_masks
        ids = [self.vocabulary.cls_id, *before, *masks, *behind, self.vocabulary.sep_id]
        return ids, list(range(1 + len(before), 1 + len(before) + num_masks))


def write_left_to_right(writer: Writer, text: str, num_tokens: int, num_masks: int = 1) -> list[int]:
    """Continue a text from left to right: put masks at its end, fill the first of them, and repeat.

    Args:
        writer: a BERT.
        text: the beginning.
        num_tokens: how many to write.
        num_masks: how many masks the model sees at the end; with one, it sees the text end after the next token.

    Returns:
        The ids of the tokens written.
    """
    if num_masks < 1:
        raise ValueError(f"num_masks must be at least 1; got {num_masks}.")
    ids, places = writer.frame(text, num_masks)
    start, written = places[0], []
    for _ in range(num_tokens):
        row = [*ids[:start], *written, *ids[start:]]
        written += writer.draw(writer.logits(row, [start + len(written)]))
    return written


def mask_predict(writer: Writer, ids: Sequence[int], places: Sequence[int], iterations: int = 4) -> list[list[int]]:
    """Fill all masks at once; then hide the least certain tokens and fill them again, ever fewer of them (Ghazvininejad
    et al. 2019, section 3).

    In iteration t of T the model fills what is hidden; then the N·(T - t)/T of the N tokens with the lowest
    probabilities are hidden again.

    Args:
        writer: a BERT; the paper takes the most likely tokens.
        ids: a row with masks.
        places: of the masks.
        iterations: T, how often the model is asked.

    Returns:
        The row after each iteration.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1; got {iterations}.")
    row, hidden = list(ids), list(places)
    certainty: dict[int, float] = {}
    rows = []
    for t in range(1, iterations + 1):
        logits = writer.logits(row, hidden)
        probabilities = next_token_distribution(logits)
        for place, token, values in zip(hidden, writer.draw(logits), probabilities):
            row[place], certainty[place] = token, float(values[token])
        rows.append(list(row))
        count = len(places) * (iterations - t) // iterations
        hidden = sorted(sorted(places, key=certainty.get)[:count])
        if not hidden:
            break
        for place in hidden:
            row[place] = writer.vocabulary.mask_id
    return rows
