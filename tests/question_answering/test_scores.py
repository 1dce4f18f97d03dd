"""Scores as SQuAD's script computes them, and the margin that is best on a dev split."""

import pytest
import torch

from bertcourse.question_answering import (
    Answer,
    Question,
    Span,
    answer_f1,
    best_margin,
    exact_match,
    normalize_answer,
    squad_scores,
)

# What SQuAD's evaluate-v2.0.py gives for (gold, predicted).
SCRIPT = [
    ("Denver Broncos", "the Denver Broncos!", 1, 1.0),
    ("Denver Broncos", "Denver", 0, 2 / 3),
    ("Santa Clara, California", "Levi's Stadium in Santa Clara California", 0, 2 * (3 / 6) * 1 / (3 / 6 + 1)),
    ("gold", "silver", 0, 0),
    ("the", "", 1, 1),
    ("", "", 1, 1),
    ("", "gold", 0, 0),
    ("a a b", "a b b", 0, 2 / 3),
    ("a-b", "ab", 1, 1.0),
    ("An  apple", "apple", 1, 1.0),
]


@pytest.mark.parametrize(("gold", "predicted", "exact", "f1"), SCRIPT)
def test_scores_equal_squads_script(gold, predicted, exact, f1):
    assert exact_match(predicted, gold) == exact
    assert answer_f1(predicted, gold) == pytest.approx(f1)


def test_the_best_of_several_answers_counts():
    questions = [
        Question("1", "q", "the gold medal", (Answer("gold", 4), Answer("the gold medal", 0))),
        Question("2", "q", "none", ()),
    ]
    scores = squad_scores({"1": "gold medal", "2": "none"}, questions)
    assert scores == {"f1": 50.0, "exact_match": 50.0}
    assert squad_scores({"1": "gold medal", "2": ""}, questions)["f1"] == 100.0
    assert normalize_answer("The (gold)  Medal.") == "gold medal"


def test_the_best_margin_equals_trying_all():
    torch.manual_seed(3)
    questions, spans = [], []
    for number in range(30):
        answerable = number % 3 > 0
        questions.append(Question(str(number), "q", "x y", (Answer("x", 0),) if answerable else ()))
        no_answer = float(torch.randn(()) + (0 if answerable else 1.5))
        spans.append(Span("x" if number % 2 else "y", 0, 1, 0.0, round(no_answer, 1)))

    def f1(margin: float) -> float:
        given = {q.id: "" if s.no_answer_score - s.score > margin else s.text for q, s in zip(questions, spans)}
        return squad_scores(given, questions)["f1"]

    margins = [-float("inf"), *(span.no_answer_score for span in spans)]
    assert f1(best_margin(spans, questions)) == max(map(f1, margins)) > f1(float("inf"))


def test_the_best_margin_is_finite_where_silence_is_best():
    questions, spans = [Question("1", "q", "x y")], [Span("x", 0, 1, 2.0, 0.5)]
    assert -1.6 < best_margin(spans, questions) < -1.5  # below 0.5 - 2: silent, and a margin that a reader takes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: squad_scores({}, []), "at least one"),
        (lambda: squad_scores({}, [Question("7", "q", "c")]), "'7'"),
        (lambda: best_margin([], []), "one per question"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
