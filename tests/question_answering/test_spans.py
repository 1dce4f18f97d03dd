"""Windows, spans and no answer."""

import pytest
import torch

from bertcourse.bert.batching import row_tokenizer
from bertcourse.question_answering import Answer, Span, answer_tokens, best_answer, best_span, span_windows

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


def test_windows_but_the_last_equal_those_of_tokenizers(small_tokenizer):
    """The last one of ``tokenizers`` is what is left over; ours is as full as the others."""
    whole = row_tokenizer(small_tokenizer, 10, "only_second", stride=2).encode("q", CONTEXT)
    theirs = [whole, *whole.overflowing]
    ours = span_windows(small_tokenizer, "q", CONTEXT, max_length=10, overlap=2)
    assert [(w.ids, w.type_ids) for w in ours[:-1]] == [(w.ids, w.type_ids) for w in theirs[:-1]]
    assert len(ours) == len(theirs) and len(theirs[-1].ids) < len(ours[-1].ids) == 10


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
