"""Windows, spans and no answer; scores as SQuAD's script computes them."""

import pytest
import torch

from bertcourse.question_answering import (
    Answer,
    Question,
    Span,
    answer_f1,
    best_answer,
    best_margin,
    best_span,
    exact_match,
    normalize_answer,
    span_windows,
    squad_scores,
)
from bertcourse.question_answering.spans import answer_tokens

CONTEXT = "a b c d e f g h i j k l m n o p"


def test_a_short_context_is_one_window(small_tokenizer):
    (window,) = span_windows(small_tokenizer, "ab", "c de.", max_length=32)
    tokens = [small_tokenizer.id_to_token(i) for i in window.ids]
    assert tokens == ["[CLS]", "a", "##b", "[SEP]", "c", "d", "##e", ".", "[SEP]"]
    assert window.type_ids == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert window.offsets == [None] * 4 + [(0, 1), (2, 3), (3, 4), (4, 5)] + [None]
    assert window.covers == (0, 5)


def test_windows_overlap_and_cover_a_long_context(small_tokenizer):
    windows = span_windows(small_tokenizer, "q", CONTEXT, max_length=10, overlap=2)
    texts = [CONTEXT[slice(*window.covers)] for window in windows]
    assert texts[0].startswith("a b") and texts[-1].endswith("o p") and all(len(window.ids) == 10 for window in windows)
    assert len(windows) == 4 and texts[1] == "e f g h i j"
    for first, second in zip(windows, windows[1:]):
        assert len(set(first.offsets) & set(second.offsets) - {None}) >= 2


def test_an_answer_is_pointed_at_where_the_window_holds_all_of_it(small_tokenizer):
    windows = span_windows(small_tokenizer, "q", CONTEXT, max_length=10, overlap=2)
    answer = Answer("f g", CONTEXT.index("f"))
    for window in windows:
        start, end = answer_tokens(window, answer)
        if window.covers[0] <= answer.start and answer.start + 3 <= window.covers[1]:
            assert CONTEXT[window.offsets[start][0] : window.offsets[end][1]] == "f g"
        else:
            assert (start, end) == (0, 0)
        assert answer_tokens(window, None) == (0, 0)
    assert answer_tokens(windows[0], answer) == (0, 0) and answer_tokens(windows[1], answer) != (0, 0)


def test_an_answer_that_begins_or_ends_inside_a_token_takes_the_token(small_tokenizer):
    (window,) = span_windows(small_tokenizer, "q", "ab c", max_length=32)
    start, end = answer_tokens(window, Answer("b c", 1))
    assert (window.offsets[start], window.offsets[end]) == ((1, 2), (3, 4))


@pytest.mark.parametrize("longest", [1, 3, 30])
def test_the_best_span_equals_trying_all(longest):
    for _ in range(20):
        logits, is_context = torch.randn(9, 2), [False, False, *[True] * 6, False]
        spans = {(i, j): float(logits[i, 0] + logits[j, 1]) for i in range(2, 8) for j in range(i, min(i + longest, 8))}
        score, *place = best_span(logits, is_context, longest)
        assert tuple(place) == max(spans, key=spans.get) and score == pytest.approx(max(spans.values()))


def test_the_best_window_answers_and_the_margin_decides_for_none():
    offsets = [None, (0, 1), (2, 3), None]
    low, high = torch.zeros(4, 2), torch.zeros(4, 2)
    high[1, 0], high[2, 1], high[0] = 3.0, 2.0, torch.tensor([4.0, 4.0])
    low[0] = torch.tensor([3.0, 3.5])
    windows = [(offsets, low), ([None, (4, 5), (6, 7), None], high)]
    span = best_answer("a b c d", windows)
    assert span == Span("c d", 4, 7, 5.0, 6.5)
    assert best_answer("a b c d", windows, no_answer_margin=1.5) == span
    assert best_answer("a b c d", windows, no_answer_margin=1.4)[:3] == ("", 0, 0)


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
        (lambda t: span_windows(t, "", "a"), "question and context must have a token each; got ''"),
        (lambda t: span_windows(t, "a", " "), "question and context must have a token each"),
        (
            lambda t: span_windows(t, "a b c d e f", CONTEXT, 12, 6),
            "max_length must leave more than the overlap of 6 tokens",
        ),
        (
            lambda t: best_span(torch.zeros(2, 2), [False, False]),
            "a window must have a token of the context; of its 2 none",
        ),
        (lambda t: squad_scores({}, []), "questions must hold at least one"),
        (lambda t: squad_scores({}, [Question("7", "q", "c")]), r"1 lack it: \['7'\]"),
        (lambda t: best_margin([], []), "spans must be one for each question, at least one; got 0 and 0"),
    ],
)
def test_bad_input_is_named(small_tokenizer, call, message):
    with pytest.raises(ValueError, match=message):
        call(small_tokenizer)
