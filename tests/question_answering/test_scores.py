"""Scores as SQuAD's script computes them."""

import pytest

from bertcourse.question_answering import Answer, Question, answer_f1, exact_match, normalize_answer, squad_scores

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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: squad_scores({}, []), "at least one"),
        (lambda: squad_scores({}, [Question("7", "q", "c")]), "'7'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
