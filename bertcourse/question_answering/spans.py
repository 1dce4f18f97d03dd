"""Chapter 9: an answer is a span of the context, from a token that scores high as start to one that does as end.

    score(i, j) = start[i] + end[j]      i ≤ j, both tokens of the context

The model reads [CLS] question [SEP] context [SEP], and a long context in overlapping windows; [CLS] stands for "no
answer here" (Devlin et al. 2019, sections 4.2 and 4.3, and their ``run_squad.py``).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert.windows import window_starts
from bertcourse.question_answering.questions import Answer

MOST_QUESTION_TOKENS = 64


class SpanWindow(NamedTuple):
    """A question and a part of its context, which the model reads together.

    Attributes:
        ids: token ids with [CLS] and [SEP].
        type_ids: 0 for the question, 1 for the context.
        offsets: for each token of the context, its characters (start, end); None for all other tokens.
        covers: the characters of the context, (start, end), that this window reads.
        source: the index of its question.
        target: the first and last token of the right answer.
    """

    ids: list[int]
    type_ids: list[int]
    offsets: list[tuple[int, int] | None]
    covers: tuple[int, int]
    source: int = 0
    target: tuple[int, int] = (0, 0)

    @property
    def length(self) -> int:
        """How many tokens it has."""
        return len(self.ids)


def span_windows(
    tokenizer: Tokenizer, question: str, context: str, max_length: int = 384, overlap: int = 128
) -> list[SpanWindow]:
    """A question, cut to 64 tokens, with its context, in as many windows as it takes.

    The last window ends where the context ends and is as full as the others. With the stride of ``tokenizers`` it
    would hold only what is left over.

    Args:
        tokenizer: BERT's.
        max_length: the most tokens in a window.
        overlap: the fewest context tokens that two neighbouring windows share.
    """
    asked, text = (tokenizer.encode(part, add_special_tokens=False) for part in (question, context))
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    start = [cls, *asked.ids[:MOST_QUESTION_TOKENS], sep]
    size = max_length - len(start) - 1
    windows = []
    for first in window_starts(len(text.ids), size, overlap):
        ids = text.ids[first : first + size]
        offsets = text.offsets[first : first + size]
        is_last = first + size >= len(text.ids)
        windows.append(
            SpanWindow(
                ids=[*start, *ids, sep],
                type_ids=[0] * len(start) + [1] * (len(ids) + 1),
                offsets=[None] * len(start) + offsets + [None],
                covers=(offsets[0][0] if first else 0, len(context) if is_last else offsets[-1][1]),
            )
        )
    return windows


def answer_tokens(window: SpanWindow, answer: Answer | None) -> tuple[int, int]:
    """The first and last token of an answer; (0, 0), [CLS], if there is none or the window does not hold all of it."""
    if answer is None:
        return 0, 0
    start, end = answer.start, answer.start + len(answer.text)
    inside = [i for i, place in enumerate(window.offsets) if place and place[0] < end and place[1] > start]
    if not inside or start < window.covers[0] or end > window.covers[1]:
        return 0, 0
    return inside[0], inside[-1]


def best_span(logits: Tensor, is_context: Sequence[bool], max_answer_tokens: int = 30) -> tuple[float, int, int]:
    """The legal span with the highest score: in the context, ending no earlier than it starts, and not too long.

    Args:
        logits: (L, 2), a score for each token as start and as end.
        is_context: (L,), whether a token may be part of an answer; at least one may.

    Returns:
        ``(score, start, end)``, where ``end`` is the last token of the span.

    >>> best_span(torch.tensor([[9.0, 9.0], [1.0, 5.0], [4.0, 0.0], [0.0, 2.0]]), [False, True, True, True])
    (6.0, 1, 1)
    """
    outside = ~torch.tensor(is_context)[:, None]
    start, end = logits.masked_fill(outside, -torch.inf).unbind(1)
    scores = start[:, None] + end  # (L, L): every span at once
    legal = torch.ones_like(scores).triu().tril(max_answer_tokens - 1)
    scores = scores.masked_fill(legal == 0, -torch.inf)
    first, last = divmod(int(scores.argmax()), len(start))
    return float(scores[first, last]), first, last


class Span(NamedTuple):
    """What a model answers.

    Attributes:
        text: the answer, "" for none.
        start, end: its characters in the context, without the one at ``end``; 0, 0 for none.
        score: of the best span, start plus end.
        no_answer_score: of [CLS], the lowest over all windows.
    """

    text: str
    start: int
    end: int
    score: float
    no_answer_score: float


def best_answer(
    context: str,
    windows: Sequence[tuple[Sequence[tuple[int, int] | None], Tensor]],
    no_answer_margin: float | None = None,
    max_answer_tokens: int = 30,
) -> Span:
    """The best span of all windows, or no answer.

    Args:
        context: the text.
        windows: the ``offsets`` of each, and the (L, 2) logits of its tokens, the first of which is [CLS].
        no_answer_margin: no answer if [CLS] scores higher than the best span by more than this, τ of section 4.3 with
            the sign that it has in run_squad.py; None to always answer.
    """
    spans = []
    for offsets, logits in windows:
        is_context = [place is not None for place in offsets]
        spans.append((*best_span(logits, is_context, max_answer_tokens), offsets))
    score, first, last, offsets = max(spans, key=lambda each: each[0])
    no_answer = min(float(logits[0].sum()) for _, logits in windows)
    if no_answer_margin is not None and no_answer - score > no_answer_margin:
        return Span("", 0, 0, score, no_answer)
    start, end = offsets[first][0], offsets[last][1]
    return Span(context[start:end], start, end, score, no_answer)
