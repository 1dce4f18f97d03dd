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

from bertcourse.bert.batching import whole_texts
from bertcourse.bert.windows import window_starts
from bertcourse.question_answering.questions import Answer
from bertcourse.tokenization.encoding import check_text

MOST_QUESTION_TOKENS = 64


class SpanWindow(NamedTuple):
    """A question and a part of its context, which the model reads together.

    Attributes:
        ids: token ids with [CLS] and [SEP].
        type_ids: 0 for the question, 1 for the context.
        offsets: for each token of the context, its characters (start, end); None for all other tokens.
        covers: the characters of the context, (start, end), that this window reads.
    """

    ids: list[int]
    type_ids: list[int]
    offsets: list[tuple[int, int] | None]
    covers: tuple[int, int]


def span_windows(
    tokenizer: Tokenizer, question: str, context: str, max_length: int = 384, overlap: int = 128
) -> list[SpanWindow]:
    """A question with its context, in as many windows as it takes.

    The last window ends where the context ends and is as full as the others. With the stride of ``tokenizers`` it
    would hold only what is left over, and its tokens would see less of what surrounds them.

    Args:
        tokenizer: BERT's.
        question: only its first 64 tokens are read.
        context: the text.
        max_length: the most tokens in a window.
        overlap: the fewest context tokens that two neighbouring windows share.
    """
    cls, sep = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    check_text(question, "question")
    check_text(context, "context")
    asked, text = (whole_texts(tokenizer).encode(part, add_special_tokens=False) for part in (question, context))
    if not asked.ids or not text.ids:
        raise ValueError(f"question and context must have a token each; got {question[:60]!r} and {context[:60]!r}.")
    start = [cls, *asked.ids[:MOST_QUESTION_TOKENS], sep]
    size = max_length - len(start) - 1
    if size <= overlap and size < len(text.ids):
        raise ValueError(
            f"max_length must leave more than the overlap, {overlap} tokens, for the context; of {max_length} the "
            f"question takes {len(start) + 1}. Raise max_length, or lower overlap."
        )
    windows = []
    for first in window_starts(len(text.ids), size, overlap):
        ids, offsets = text.ids[first : first + size], text.offsets[first : first + size]
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
    """The first and last token of an answer, which a model learns to point at.

    (0, 0), the position of [CLS], if there is no answer or the window does not hold all of it.
    """
    if answer is None:
        return 0, 0
    start, end = answer.start, answer.start + len(answer.text)
    inside = [i for i, place in enumerate(window.offsets) if place and place[0] < end and place[1] > start]
    if not inside or start < window.covers[0] or end > window.covers[1]:
        return 0, 0
    return inside[0], inside[-1]


def best_span(logits: Tensor, is_context: Sequence[bool], max_answer_tokens: int = 30) -> tuple[float, int, int]:
    """The valid span with the highest score: in the context, ending no earlier than it starts, and not too long.

    Args:
        logits: (L, 2), a score for each token as start and as end.
        is_context: (L,), whether a token may be part of an answer.
        max_answer_tokens: the longest answer allowed.

    Returns:
        ``(score, start, end)``, where ``end`` is the last token of the span.

    >>> best_span(torch.tensor([[9.0, 9.0], [1.0, 5.0], [4.0, 0.0], [0.0, 2.0]]), [False, True, True, True])
    (6.0, 1, 1)
    """
    if not any(is_context):
        raise ValueError(f"a window must have a token of the context; got {len(is_context)} tokens, none of it.")
    start, end = logits.float().masked_fill(~torch.tensor(is_context)[:, None], -torch.inf).unbind(1)
    in_order = torch.ones(len(start), len(start), dtype=torch.bool).triu().tril(max_answer_tokens - 1)
    scores = (start[:, None] + end).masked_fill(~in_order, -torch.inf)
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
        no_answer_margin: τ of section 4.3, with the sign that it has in run_squad.py: no answer if [CLS] scores higher
            than the best span by more than this; None to always answer.
        max_answer_tokens: the longest answer allowed.
    """
    found = [
        (*best_span(logits, [place is not None for place in offsets], max_answer_tokens), offsets)
        for offsets, logits in windows
    ]
    score, first, last, offsets = max(found, key=lambda each: each[0])
    no_answer_score = min(float(logits[0].sum()) for _, logits in windows)
    if no_answer_margin is not None and no_answer_score - score > no_answer_margin:
        return Span("", 0, 0, score, no_answer_score)
    start, end = offsets[first][0], offsets[last][1]
    return Span(context[start:end], start, end, score, no_answer_score)
