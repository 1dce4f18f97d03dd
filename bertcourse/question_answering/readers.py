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
from bertcourse.bert.batching import whole_texts
from bertcourse.fine_tuning.heads import Head
from bertcourse.question_answering.questions import Question, check_answers
from bertcourse.question_answering.scores import squad_scores
from bertcourse.question_answering.spans import (
    MOST_QUESTION_TOKENS,
    Span,
    SpanWindow,
    answer_tokens,
    best_answer,
    span_windows,
)
from bertcourse.tokenization.encoding import check_text


class Reader(Head):
    """What surrounds a model that points at answers: texts become windows, and scores become answers.

    Args:
        encoder, tokenizer, seed: as for ``Head``.
        max_length: the most tokens to read at once; None for 384, or for the encoder's limit if that is lower.
        overlap: tokens that two windows share; None for a third of ``max_length``.
        no_answer_margin: the answer is "" where [CLS] scores higher than the best span by more than this; None to
            always answer.
        max_answer_tokens: the longest answer allowed.
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
        seed: int = 0,
    ):
        super().__init__(encoder, tokenizer, max_length, dropout=0.0, seed=seed)
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

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[SpanWindow]:
        """The windows of all pairs of question and context, without targets."""
        tokenizer, rows = whole_texts(self.tokenizer), []
        for source, pair in enumerate(pairs):
            try:
                self.check(tokenizer, pair)
            except ValueError as error:
                raise ValueError(f"question {source}: {error}") from None
            windows = span_windows(tokenizer, *pair, self.max_length, self.overlap)
            rows += [window._replace(source=source) for window in windows]
        return rows

    def check(self, tokenizer: Tokenizer, pair: tuple[str, str]) -> None:
        """Refuse a pair that the model cannot read."""
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"expected a pair (question, context); got {pair!r:.80}.")
        for text, name in zip(pair, ("question", "context")):
            check_text(text, name)
        asked, read = (len(tokenizer.encode(text, add_special_tokens=False).ids) for text in pair)
        if not asked or not read:
            raise ValueError(f"question and context must have a token each; got {pair[0][:60]!r} and {pair[1][:60]!r}.")
        room = self.max_length - min(asked, MOST_QUESTION_TOKENS) - 3
        if room <= self.overlap and room < read:
            raise ValueError(
                f"max_length, {self.max_length}, must leave more than the overlap, {self.overlap} tokens, for the "
                f"context beside the question; it leaves {room}. Raise it, or lower overlap."
            )

    def rows(self, examples: Sequence[Question]) -> list[SpanWindow]:
        """Questions as windows, each with the first and last token of its first answer as target, or (0, 0)."""
        for number, example in enumerate(examples):
            if not isinstance(example, Question):
                raise TypeError(f"example {number} must be a Question; got {type(example).__name__}: {example!r:.60}.")
            check_answers(example)
        if repeated := [name for name, times in Counter(example.id for example in examples).items() if times > 1]:
            raise ValueError(f"every question must have an id of its own; got {repeated[0]!r} more than once.")
        windows = self.encode([(example.question, example.context) for example in examples])
        answers = [next(iter(example.answers), None) for example in examples]
        return [window._replace(target=answer_tokens(window, answers[window.source])) for window in windows]

    def spans(self, contexts: Sequence[str], rows: Sequence[SpanWindow]) -> list[Span]:
        """The answer in each context, given the windows of all of them."""
        windows: list[list] = [[] for _ in contexts]
        for row, logits in zip(rows, self.logits(rows)):
            windows[row.source].append((row.offsets, logits))
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

    def measure(self, examples: Sequence[Question], rows: Sequence[SpanWindow]) -> dict[str, float]:
        """The ``squad_scores`` of examples, given their windows."""
        spans = self.spans([example.context for example in examples], rows)
        return squad_scores({example.id: span.text for example, span in zip(examples, spans)}, examples)

    def options(self) -> dict:
        """See ``Head``."""
        names = ("overlap", "no_answer_margin", "max_answer_tokens")
        return {**super().options(), **{name: getattr(self, name) for name in names}}

    @classmethod
    def options_in(cls, settings: dict) -> dict:
        """See ``Head``; like Hugging Face's class, it drops nothing before its head, whatever the file says."""
        return {name: value for name, value in super().options_in(settings).items() if name != "dropout"}


class SpanPredictor(Reader):
    """From pairs (question, context) to the part of the context that answers the question.

    Arguments are those of ``Reader``. Devlin et al. 2019, sections 4.2 and 4.3, and figure 4 (c).

    >>> from bertcourse.bert import load_pretrained
    >>> reader = SpanPredictor(*load_pretrained("course"))
    >>> [span] = reader.answer([("Who dances?", "Bees dance to show the way.")])  # untrained: any span
    >>> span.text == "Bees dance to show the way."[span.start : span.end]
    True
    """

    def __init__(self, encoder: BertModel, tokenizer: Tokenizer, **options):
        super().__init__(encoder, tokenizer, **options)
        (self.span_head,) = self.new_layers(2)  # the vectors S and E, with a bias each

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """(B, L, 2), a score for each token as start and as end; arguments (B, L) as for ``BertModel.forward``."""
        read = self.bert(input_ids, attention_mask, token_type_ids)
        return self.span_head(read.last_hidden_state)  # S·T and E·T for every token

    def loss(self, rows: Sequence[SpanWindow]) -> Tensor:
        """The mean of the cross-entropies of start and end, without padding."""
        batch = self.batch(rows)
        is_padding = batch.attention_mask[..., None] == 0
        scores = self(*batch).float().masked_fill(is_padding, -torch.inf)
        targets = torch.tensor([row.target for row in rows], device=self.device)
        return F.cross_entropy(scores, targets)  # tokens are the classes
