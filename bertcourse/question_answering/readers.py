"""Chapter 9: a reader points at answers: S · h_i + E · h_j scores the span from token i to j, with 2 × D new weights.

Devlin et al. 2019, sections 4.2 and 4.3.
"""

import math
from collections import Counter
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert import BertModel
from bertcourse.fine_tuning.heads import Head, Row
from bertcourse.fine_tuning.readers import check_examples
from bertcourse.question_answering.questions import Question, check_answers
from bertcourse.question_answering.scores import squad_scores
from bertcourse.question_answering.spans import Span, SpanWindow, answer_tokens, best_answer, span_windows


class SpanPredictor(Head):
    """From a question and a context to the part of the context that answers the question.

    Paper:
        Devlin et al. 2019, sections 4.2 and 4.3, and figure 4 (c).

    Inputs:
        Pairs (question, context). A long context is read in overlapping windows.

    Args:
        encoder, tokenizer, seed: as for ``Head``.
        max_length: the most tokens to read at once; None for 384, or for the encoder's limit if that is lower.
        overlap: tokens that two windows share; None for a third of ``max_length``.
        no_answer_margin: the answer is "" where [CLS] scores higher than the best span by more than this; None to
            always answer. ``scores.best_margin`` finds a good value.
        max_answer_tokens: the longest answer allowed.
        dropout: as for ``Head``; BERT uses none here.

    >>> from bertcourse.bert import load_pretrained
    >>> reader = SpanPredictor(*load_pretrained("course"))
    >>> [span] = reader.answer([("Who dances?", "Bees dance to show the way.")])  # untrained: any span
    >>> span.text == "Bees dance to show the way."[span.start : span.end]
    True
    """

    hugging_face_class = "BertForQuestionAnswering"
    has_dropout = False

    def __init__(
        self,
        encoder: BertModel,
        tokenizer: Tokenizer,
        max_length: int | None = None,
        overlap: int | None = None,
        no_answer_margin: float | None = None,
        max_answer_tokens: int = 30,
        dropout: float = 0.0,
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout, seed)
        self.max_length = min(384, self.max_length) if max_length is None else max_length
        self.overlap = self.max_length // 3 if overlap is None else overlap
        if self.overlap not in range(self.max_length):
            raise ValueError(f"overlap must be from 0 to below max_length, {self.max_length}; got {overlap!r}.")
        if no_answer_margin is not None and not math.isfinite(no_answer_margin):
            raise ValueError(f"no_answer_margin must be a finite number, or None; got {no_answer_margin}.")
        if max_answer_tokens < 1:
            raise ValueError(f"max_answer_tokens must be at least 1; got {max_answer_tokens}.")
        self.no_answer_margin, self.max_answer_tokens = no_answer_margin, max_answer_tokens
        self.bert.pooler = None
        (self.span_head,) = self.new_layers(2)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L, 2), a score for each token as start and as end; arguments (B, L) as for ``BertModel.forward``."""
        return self.span_head(self.dropout(self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state))

    def loss(self, rows: Sequence[Row]) -> Tensor:
        """The mean of the cross-entropies of start and end, without padding."""
        batch = self.batch(rows)
        logits = self(*batch).float().masked_fill(batch.attention_mask[..., None] == 0, -torch.inf)
        return F.cross_entropy(logits, torch.tensor([row.target for row in rows], device=self.device))

    def windows(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[int, SpanWindow]]:
        """The windows of all pairs of question and context, each with the index of its pair."""
        found = []
        for source, pair in enumerate(pairs):
            try:
                if isinstance(pair, str) or len(pair) != 2:
                    raise ValueError(f"expected a pair (question, context); got {pair!r:.80}.")
                windows = span_windows(self.tokenizer, *pair, self.max_length, self.overlap)
            except ValueError as error:
                raise ValueError(f"question {source}: {error}") from None
            found += [(source, window) for window in windows]
        return found

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Row]:
        """Pairs of question and context as rows without targets; ``places`` are character ranges of the context."""
        return [Row(window.ids, window.type_ids, source, window.offsets) for source, window in self.windows(pairs)]

    def rows(self, examples: Sequence[Question]) -> list[Row]:
        """Questions as rows, each with the first and last token of its first answer as target, or (0, 0)."""
        check_examples(examples, Question)
        for example in examples:
            check_answers(example)
        if repeated := [name for name, times in Counter(example.id for example in examples).items() if times > 1]:
            raise ValueError(f"every question must have an id of its own; got {repeated[0]!r} more than once.")
        rows = []
        for source, window in self.windows([(example.question, example.context) for example in examples]):
            target = answer_tokens(window, next(iter(examples[source].answers), None))
            rows.append(Row(window.ids, window.type_ids, source, window.offsets, target))
        return rows

    def spans(self, contexts: Sequence[str], rows: Sequence[Row]) -> list[Span]:
        """The answer in each context, given the rows of all of them."""
        windows: list[list] = [[] for _ in contexts]
        for row, logits in zip(rows, self.logits(rows)):
            windows[row.source].append((row.places, logits))
        return [
            best_answer(context, parts, self.no_answer_margin, self.max_answer_tokens)
            for context, parts in zip(contexts, windows)
        ]

    def answer(self, pairs: Sequence[tuple[str, str]]) -> list[Span]:
        """The answer to each pair of question and context, with its place and scores."""
        return self.spans([context for _, context in pairs], self.encode(pairs))

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """The text of the answer to each pair of question and context, "" for none."""
        return [span.text for span in self.answer(pairs)]

    def measure(self, examples: Sequence[Question], rows: Sequence[Row]) -> dict[str, float]:
        """The ``squad_scores`` of examples, given their rows."""
        spans = self.spans([example.context for example in examples], rows)
        return squad_scores({example.id: span.text for example, span in zip(examples, spans)}, examples)

    def options(self) -> dict:
        """See ``Head``."""
        names = ("overlap", "no_answer_margin", "max_answer_tokens")
        return {**super().options(), **{name: getattr(self, name) for name in names}}
