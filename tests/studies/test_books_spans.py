"""Letters cut out of the books: pieces that are all cut alike, spans read back, a result that says what was written."""

import argparse
import runpy
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from bertcourse.decoders import fill
from bertcourse.files import read_json
from bertcourse_lab.ngrams import KneserNey
from bertcourse_lab.pretraining.shards import HELD_OUT_BOOKS


@pytest.fixture
def books_spans():
    return runpy.run_path(str(Path(__file__).parents[2] / "tools" / "studies" / "books_spans.py"))


def some_pieces(books_spans, count: int) -> list[list[int]]:
    return np.random.default_rng(0).integers(0, books_spans["START"], (count, books_spans["LENGTH"])).tolist()


def test_pieces_are_cut_into_rows_of_one_length_and_are_whole_again(books_spans):
    pieces, sentinels = some_pieces(books_spans, 8), books_spans["SENTINELS"]
    batch, spans = books_spans["cut"](pieces, torch.Generator().manual_seed(0))
    assert (batch.target_ids[:, 0] == books_spans["START"]).all() and (batch.target_ids[:, -1] == sentinels[-1]).all()
    for piece, source, target, cuts in zip(pieces, batch.source_ids.tolist(), batch.target_ids.tolist(), spans):
        assert fill(source, target[1:], sentinels) == piece
        letters = "".join(books_spans["LETTERS"][i] for i in piece)
        assert books_spans["written_spans"](target[1:]) == [letters[start:stop] for start, stop in cuts]


def test_each_time_round_other_spans_are_cut(books_spans):
    pieces = some_pieces(books_spans, books_spans["ROWS"])
    endless = books_spans["batches"](pieces, torch.Generator().manual_seed(0))
    first, second = next(endless), next(endless)
    assert sorted(first.source_ids.tolist()) != sorted(second.source_ids.tolist())


def test_exact_spans_are_counted_by_their_length(books_spans):
    truth, written = ["a", "b", "an", "and", "then"], ["a", "x", "an", "an", "then"]
    assert books_spans["exact_by_length"](truth, written) == {
        "exact, 1": 0.5, "exact, 2": 1.0, "exact, 3 or more": 0.5, "exact, all": 0.6,
    }  # fmt: skip


def test_n_grams_continue_the_left_side(books_spans):
    ids = [books_spans["IDS"][letter] for letter in "abcdabcd"]
    model = KneserNey(3).fit([ids], range(books_spans["START"]))
    assert books_spans["continued"](model, ids[:2], 3) == "cda"


def test_letters_are_those_of_the_books_that_are_read_or_held_out(books_spans, monkeypatch):
    names = [types.SimpleNamespace(name=name) for name in ("another", HELD_OUT_BOOKS[0])]
    books = list(zip(names, ["Read Me.", "Held out."]))
    monkeypatch.setitem(books_spans["read_letters"].__globals__, "book_texts", lambda name: iter(books))
    spelled = ["".join(books_spans["LETTERS"][i] for i in books_spans["read_letters"](out, 7)) for out in (False, True)]
    assert spelled == ["read me", "held ou"]


def test_a_study_of_spans_goes_on_where_it_was(books_spans, monkeypatch, tmp_path):
    names = books_spans["run"].__globals__
    text = np.random.default_rng(0).integers(0, 26, 8000).tolist()
    monkeypatch.setitem(names, "read_letters", lambda is_held_out, most: text[: 700 if is_held_out else 8000])
    options = argparse.Namespace(output=tmp_path, seeds=[0], characters=8000)
    books_spans["run"](options)
    result = read_json(tmp_path / "books_spans.json")
    assert [row["seed"] for row in result["rows"]] == [None, 0] and len(result["examples"]) == books_spans["EXAMPLES"]
    for example in result["examples"]:
        assert all(f"<{number}>" in example["source"] for number in range(books_spans["SPANS"]))
        assert len(example["truth"]) == len(example["written"]) == books_spans["SPANS"]
    options.seeds = [0, 1]
    monkeypatch.setitem(names, "ngrams", None)  # what is there is not made again
    books_spans["run"](options)
    again = read_json(tmp_path / "books_spans.json")
    assert again["rows"][:2] == result["rows"] and again["rows"][2]["seed"] == 1
    assert "| encoder-decoder | " in (tmp_path / "books_spans.md").read_text(encoding="utf-8")
