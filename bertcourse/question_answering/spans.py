"""Chapter 9: an answer is a span of the text, from where its start scores high to where its end does.

The model reads [CLS] question [SEP] context [SEP]; a context that is too long is read in overlapping windows. The score
of a span is that of its start plus that of its end; [CLS] stands for "no answer here" (Devlin et al. 2019, sections 4.2
and 4.3). Answers are compared as SQuAD's own script does.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.question_answering.questions import Answer, Question
from bertcourse.tokenization.encoding import check_text
from bertcourse.word_senses.vectors import window_starts

MOST_QUESTION_TOKENS = 64


class SpanWindow(NamedTuple):
    """A question and a part of its context, which the model reads at once.

    Attributes:
        ids: token ids with [CLS] and [SEP].
        type_ids: 0 for the question, 1 for the context.
        offsets: for each token of the context its characters (start, end); None for the others.
        covers: the characters of the context, (start, end), that are read here.
    """

    ids: list[int]
    type_ids: list[int]
    offsets: list[tuple[int, int] | None]
    covers: tuple[int, int]


def span_windows(
    tokenizer: Tokenizer, question: str, context: str, max_length: int = 384, overlap: int = 128
) -> list[SpanWindow]:
    """A question with its context, in as many windows as it takes.

    Args:
        tokenizer: BERT's.
        question: of which the first 64 tokens are read.
        context: the text.
        max_length: tokens of a window at most.
        overlap: tokens of the context that two windows share, at least.

    Returns:
        At least one window.

    Raises:
        TypeError: if question or context is no string.
        ValueError: if question or context has no token or a lone surrogate, or ``max_length`` leaves no room for the
            context.

    Source: ``run_squad.py`` of Devlin et al. 2019.
    """
    cls, sep = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    check_text(question, "question")
    check_text(context, "context")
    asked, text = (tokenizer.encode(part, add_special_tokens=False) for part in (question, context))
    if not asked.ids or not text.ids:
        raise ValueError(f"question and context must have a token each; got {question[:60]!r} and {context[:60]!r}.")
    start = [cls, *asked.ids[:MOST_QUESTION_TOKENS], sep]
    size = max_length - len(start) - 1
    if size <= overlap and size < len(text.ids):
        raise ValueError(
            f"max_length must leave more than the overlap of {overlap} tokens for the context; of {max_length} the "
            f"question takes {len(start) + 1}. Raise max_length, or lower overlap."
        )
    windows = []
    for first in window_starts(len(text.ids), size, overlap):
        ids, offsets = text.ids[first : first + size], text.offsets[first : first + size]
        windows.append(
            SpanWindow(
                ids=[*start, *ids, sep],
                type_ids=[0] * len(start) + [1] * (len(ids) + 1),
                offsets=[None] * len(start) + offsets + [None],
                covers=(
                    offsets[0][0] if first else 0,
                    offsets[-1][1] if first + size < len(text.ids) else len(context),
                ),
            )
        )
    return windows


def answer_tokens(window: SpanWindow, answer: Answer | None) -> tuple[int, int]:
    """The first and last token of an answer: what a model learns to point at.

    Args:
        window: of a context.
        answer: its characters in the context; None if there is none.

    Returns:
        Two positions; (0, 0), that of [CLS], if the window does not hold the whole answer.

    Source: ``run_squad.py`` of Devlin et al. 2019.
    """
    if answer is None:
        return 0, 0
    start, end = answer.start, answer.start + len(answer.text)
    inside = [i for i, place in enumerate(window.offsets) if place and place[0] < end and place[1] > start]
    if not inside or start < window.covers[0] or end > window.covers[1]:
        return 0, 0
    return inside[0], inside[-1]


class Span(NamedTuple):
    """What a model answers.

    Attributes:
        text: the answer, "" for none.
        start, end: its characters in the context; 0, 0 for none.
        score: of the best span, start plus end.
        no_answer_score: of [CLS], the lowest of all windows.
    """

    text: str
    start: int
    end: int
    score: float
    no_answer_score: float


def best_span(logits: Tensor, is_context: Sequence[bool], max_answer_tokens: int = 30) -> tuple[float, int, int]:
    """The valid span with the highest score: in the context, the end not before the start, and not too long.

    Args:
        logits: (L, 2), a score for each token as start and as end.
        is_context: (L,), whether an answer may have this token.
        max_answer_tokens: the longest answer.

    Returns:
        ``(score, start, end)``, the last token included.

    Raises:
        ValueError: if no token is of the context.

    Source: Devlin et al. 2019, section 4.2.

    >>> best_span(torch.tensor([[9.0, 9.0], [1.0, 5.0], [4.0, 0.0], [0.0, 2.0]]), [False, True, True, True])
    (6.0, 1, 1)
    """
    if not any(is_context):
        raise ValueError(f"a window must have a token of the context; of its {len(is_context)} none is.")
    start, end = logits.float().masked_fill(~torch.tensor(is_context)[:, None], -torch.inf).unbind(1)
    in_order = torch.ones(len(start), len(start), dtype=torch.bool).triu().tril(max_answer_tokens - 1)
    scores = (start[:, None] + end).masked_fill(~in_order, -torch.inf)
    first, last = divmod(int(scores.argmax()), len(start))
    return float(scores[first, last]), first, last


def best_answer(
    context: str,
    windows: Sequence[tuple[Sequence[tuple[int, int] | None], Tensor]],
    no_answer_margin: float | None = None,
    max_answer_tokens: int = 30,
) -> Span:
    """The best span of all windows, or no answer.

    Args:
        context: the text.
        windows: for each its ``offsets`` and the (L, 2) logits of its tokens, of which the first is [CLS].
        no_answer_margin: no answer if its score is higher than the best span's by more than this; None to answer
            always.
        max_answer_tokens: the longest answer.

    Returns:
        ``Span``.

    Raises:
        ValueError: if a window has no token of the context.

    Source: Devlin et al. 2019, section 4.3, where the margin is τ, and ``run_squad.py``.
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


def best_margin(spans: Sequence[Span], questions: Sequence[Question]) -> float:
    """The margin that gives the highest F1 on a dev split with questions that have no answer.

    Args:
        spans: what the model answers to each question when it answers always.
        questions: in the same order, with the answers that people marked.

    Returns:
        For ``best_answer``. Of equally good ones the lowest, a value that one of the questions has; minus infinity
        where it is best never to answer.

    Raises:
        ValueError: if there is no question, or another number of spans.

    Source: ``find_best_thresh`` of SQuAD's script, version 2.0.
    """
    if len(spans) != len(questions) or not questions:
        raise ValueError(f"spans must be one for each question, at least one; got {len(spans)} and {len(questions)}.")
    gains = []  # of answering, rather than not
    for span, question in zip(spans, questions):
        answered, silent = (squad_scores({question.id: text}, [question])["f1"] for text in (span.text, ""))
        gains.append((span.no_answer_score - span.score, answered - silent))
    best, margin, total = 0.0, -float("inf"), 0.0
    for place, (difference, gain) in enumerate(ordered := sorted(gains)):
        total += gain
        last_of_its_kind = place + 1 == len(ordered) or ordered[place + 1][0] > difference
        if last_of_its_kind and total > best:
            best, margin = total, difference
    return margin


def normalize_answer(text: str) -> str:
    """Lower case, without punctuation and articles, one blank between words.

    Args:
        text: an answer.

    Source: SQuAD's ``evaluate-v2.0.py``.

    >>> normalize_answer("The  Denver Broncos!")
    'denver broncos'
    """
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact_match(predicted: str, gold: str) -> int:
    """1 if two answers are equal once normalized, else 0.

    Args:
        predicted, gold: answers; "" for none.

    Source: Rajpurkar et al. 2016, section 6.1; ``compute_exact`` of SQuAD's script.
    """
    return int(normalize_answer(predicted) == normalize_answer(gold))


def answer_f1(predicted: str, gold: str) -> float:
    """The harmonic mean of precision and recall of an answer's words.

    Args:
        predicted, gold: answers; "" for none.

    Returns:
        From 0 to 1. Where either has no word, 1 if both have none.

    Source: Rajpurkar et al. 2016, section 6.1; ``compute_f1`` of SQuAD's script, version 2.0.

    >>> answer_f1("the Denver Broncos team", "Denver Broncos")
    0.8
    """
    ours, theirs = normalize_answer(predicted).split(), normalize_answer(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs))


def squad_scores(predicted: Mapping[str, str], questions: Sequence[Question]) -> dict[str, float]:
    """F1 and exact match in percent, the best over each question's answers.

    Args:
        predicted: from the id of each question to an answer; "" for none.
        questions: with the answers that people marked; none of them where the text has no answer.

    Returns:
        ``{"f1": …, "exact_match": …}``.

    Raises:
        ValueError: if there is no question, or one without a prediction.

    Source: Rajpurkar et al. 2016, section 6.1; ``get_raw_scores`` of SQuAD's script, version 2.0.
    """
    if not questions:
        raise ValueError("questions must hold at least one; got none.")
    if missing := [question.id for question in questions if question.id not in predicted]:
        raise ValueError(
            f"every question must have an answer, perhaps an empty one; {len(missing)} lack it: {missing[:3]}."
        )
    f1 = exact = 0.0
    for question in questions:
        texts = [text for text, _ in question.answers if normalize_answer(text)] or [""]
        f1 += max(answer_f1(predicted[question.id], text) for text in texts)
        exact += max(exact_match(predicted[question.id], text) for text in texts)
    return {"f1": 100 * f1 / len(questions), "exact_match": 100 * exact / len(questions)}
