"""Chapter 9: question answering. In reading order: ``questions``, ``spans``, ``scores``, ``readers``, ``low_rank``."""

from bertcourse.question_answering.low_rank import (
    LowRankLinear,
    add_difference,
    add_low_rank,
    load_difference,
    save_difference,
)
from bertcourse.question_answering.questions import Answer, Question, read_squad
from bertcourse.question_answering.readers import SpanPredictor
from bertcourse.question_answering.scores import answer_f1, exact_match, normalize_answer, squad_scores
from bertcourse.question_answering.spans import Span, SpanWindow, answer_tokens, best_answer, best_span, span_windows

__all__ = [
    "Answer",
    "LowRankLinear",
    "Question",
    "Span",
    "SpanPredictor",
    "SpanWindow",
    "add_difference",
    "add_low_rank",
    "answer_f1",
    "answer_tokens",
    "best_answer",
    "best_span",
    "exact_match",
    "load_difference",
    "normalize_answer",
    "read_squad",
    "save_difference",
    "span_windows",
    "squad_scores",
]
