"""T5's spans on the books: pieces that are all cut alike, spans read back, and a result that says what was written."""

import argparse
import runpy
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from bertcourse.decoders import fill
from bertcourse.files import read_json
from bertcourse.pretraining.corpus import Corpus
from bertcourse.static_embeddings import KneserNey


@pytest.fixture
def books_spans():
    return runpy.run_path(str(Path(__file__).parent.parent / "studies" / "books_spans.py"))


def test_pieces_are_cut_into_rows_of_one_length_and_are_whole_again(books_spans):
    pieces = np.random.default_rng(0).integers(5, 300, (8, books_spans["LENGTH"])).tolist()
    batch, spans = books_spans["cut"](pieces, 300, 2, torch.Generator().manual_seed(0))
    assert (batch.target_ids[:, 0] == 2).all() and (batch.target_ids[:, -1] == books_spans["sentinels"](300)[-1]).all()
    for piece, source, target, cuts in zip(pieces, batch.source_ids.tolist(), batch.target_ids.tolist(), spans):
        assert fill(source, target[1:], books_spans["sentinels"](300)) == piece
        written = books_spans["written_spans"](target[1:], 300)
        assert written == [piece[start:stop] for start, stop in cuts]


def test_each_time_round_other_spans_are_cut(books_spans):
    pieces = np.random.default_rng(0).integers(5, 300, (books_spans["ROWS"], books_spans["LENGTH"])).tolist()
    endless = books_spans["batches"](pieces, 300, 2, torch.Generator().manual_seed(0))
    first, second = next(endless), next(endless)
    assert sorted(first.source_ids.tolist()) != sorted(second.source_ids.tolist())


def test_exact_spans_are_counted_by_their_length(books_spans):
    truth, written = [[1], [2], [3, 4], [5, 6, 7], [5, 6, 7, 8]], [[1], [9], [3, 4], [5, 6], [5, 6, 7, 8]]
    assert books_spans["exact_by_length"](truth, written) == {
        "exact, 1 token": 0.5, "exact, 2 tokens": 1.0, "exact, 3 or more": 0.5, "exact, all": 0.6,
    }  # fmt: skip


def test_trigrams_continue_the_left_side(books_spans):
    model = KneserNey(3).fit([[1, 2, 3, 4, 1, 2, 3, 4]], range(10))
    assert books_spans["continued"](model, [7, 1, 2], 3) == [3, 4, 1]


def test_a_study_of_spans_goes_on_where_it_was(books_spans, monkeypatch, tmp_path):
    names, random = books_spans["run"].__globals__, np.random.default_rng(0)
    shards = [[types.SimpleNamespace(tokens=random.integers(5, 500, size))] for size in (4000, 700)]
    monkeypatch.setitem(names, "books_corpus", lambda tokenizer: Corpus(*shards, tokenizer))
    options = argparse.Namespace(output=tmp_path, seeds=[0], tokens=4000, hidden_size=8)
    books_spans["run"](options)
    result = read_json(tmp_path / "books_spans.json")
    assert [row["seed"] for row in result["rows"]] == [None, 0] and len(result["examples"]) == books_spans["EXAMPLES"]
    for example in result["examples"]:
        assert all(f"<{number}>" in example["source"] for number in range(books_spans["SPANS"]))
        assert len(example["truth"]) == len(example["written"]) == books_spans["SPANS"]
    options.seeds = [0, 1]
    monkeypatch.setitem(names, "trigrams", None)  # what is there is not made again
    books_spans["run"](options)
    again = read_json(tmp_path / "books_spans.json")
    assert again["rows"][:2] == result["rows"] and again["rows"][2]["seed"] == 1
    assert "| encoder-decoder | " in (tmp_path / "books_spans.md").read_text(encoding="utf-8")
