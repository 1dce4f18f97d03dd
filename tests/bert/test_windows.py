"""Windows: they cover a text, and a word is found in the one with most context."""

import pytest
from tokenizers import Tokenizer, models

from bertcourse.bert.windows import best_window, make_windows, window_starts


def test_windows_cover_a_text_and_a_word_takes_the_one_with_most_context():
    assert window_starts(length=25, size=10, overlap=5) == [0, 5, 10, 15]
    assert window_starts(length=12, size=10, overlap=0) == [0, 2]
    starts = window_starts(length=25, size=10, overlap=5)
    assert [best_window(starts, 10, 25, i, i + 1) for i in (0, 6, 7, 8, 12, 13, 18, 24)] == [0, 0, 0, 1, 1, 2, 3, 3]


def test_the_windows_of_a_word_hold_its_tokens(small_tokenizer):
    sentences = [["a", "bc", "def", "g", "h"], ["b", "cd"]]
    windows = make_windows(small_tokenizer, sentences, [range(5), [1]], max_length=6, overlap=2)
    found = {
        row: [small_tokenizer.id_to_token(token) for token in window.ids[first:end]]
        for window in windows
        for row, (first, end) in zip(window.rows, window.spans)
    }
    assert [found[row] for row in range(6)] == [
        ["a"],
        ["b", "##c"],
        ["d", "##e", "##f"],
        ["g"],
        ["h"],
        ["c", "##d"],
    ]
    assert [window.sentence for window in windows] == sorted(window.sentence for window in windows)
    assert all(window.ids[0] == 2 and window.ids[-1] == 3 and len(window.ids) <= 6 for window in windows)


def test_a_tokenizer_without_cls_and_a_word_without_tokens_are_refused(small_tokenizer):
    with pytest.raises(ValueError, match=r"\[CLS\]"):
        make_windows(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), [["a"]], [[0]], 6, 2)
    with pytest.raises(ValueError, match="word 1 of sentence 0"):
        make_windows(small_tokenizer, [["a", " "]], [[0, 1]], 6, 2)
