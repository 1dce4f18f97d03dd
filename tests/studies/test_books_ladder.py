"""The ladder of language models on the books: what is asked, who may see what, and a run that goes on where it was."""

import argparse
import dataclasses
import runpy
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from bertcourse import bert
from bertcourse.files import read_json
from bertcourse.pretraining.corpus import Corpus
from bertcourse_lab.ngrams import KneserNey

KINDS = ("rnn", "lstm", "transformer")


@pytest.fixture
def books_ladder():
    return runpy.run_path(str(Path(__file__).parents[2] / "tools" / "studies" / "books_ladder.py"))


def test_a_gap_is_a_whole_word_between_its_sides(books_ladder, small_tokenizer):
    text = np.random.default_rng(0).integers(5, small_tokenizer.get_vocab_size(), 1000)
    chosen, names = books_ladder["gaps"](text, small_tokenizer, 40, seed=0), small_tokenizer.id_to_token
    joined = " ".join(map(str, text))
    for left, word, right in chosen:
        assert names(word).isalpha() and not names(right[0]).startswith("##")
        assert " ".join(map(str, [*left, word, *right])) in joined


def test_scorers_give_probabilities_and_see_what_they_may(books_ladder, small_config, small_tokenizer):
    torch.manual_seed(0)
    size, random = small_tokenizer.get_vocab_size(), np.random.default_rng(0)
    config = dataclasses.replace(small_config, vocab_size=size, initializer_range=0.3)
    bert_model = bert.BertForPreTraining(config).eval()
    bag = tuple(random.normal(size=(2, size, 4)).astype(np.float32))
    new = books_ladder["new_network"]
    ngram = KneserNey(2).fit([random.integers(5, size, 300).tolist()], range(size))
    sides = {  # what changes the answer: the left side, the right side
        "unigrams": (books_ladder["ngram_scorer"](KneserNey(1).fit([[5, 6]], range(size))), False, False),
        "bigrams": (books_ladder["ngram_scorer"](ngram), True, False),
        "bag": (books_ladder["bag_scorer"](bag, np.ones(size), 0.5), True, True),
        **{kind: (books_ladder["network_scorer"](new(kind, 0, size, 8)), True, False) for kind in KINDS},
        "both": (books_ladder["bert_scorer"](bert_model, small_tokenizer, both=True), True, True),
        "left": (books_ladder["bert_scorer"](bert_model, small_tokenizer, both=False), True, False),
    }
    for name, (scorer, left, right) in sides.items():
        found = scorer([[5, 6], [5, 9], [5, 6]], [[8, 9], [8, 9], [10, 9]])
        assert found.shape == (3, size) and found.double().exp().sum(dim=1).allclose(torch.ones(3).double(), atol=1e-4)
        assert found[0].allclose(found[1], atol=1e-5) != left, name
        assert found[0].allclose(found[2], atol=1e-5) != right, name


def test_scores_of_gaps_and_verbs_are_those_of_the_scorer(books_ladder):
    uniform = torch.full((4, 10), 0.1).log()
    sure = uniform.clone()
    sure[:, 3] = -0.1
    gaps = [books_ladder["Gap"]([1], word, [2]) for word in (3, 3, 3, 4)]
    found = books_ladder["asked"](lambda lefts, rights: sure, gaps)
    assert found["accuracy"] == 0.75 and found["loss"] == pytest.approx((3 * 0.1 + np.log(10)) / 4)
    _, tokenizer = bert.load_pretrained("course")
    favourite = torch.zeros(252, tokenizer.get_vocab_size())
    favourite[:, [tokenizer.token_to_id(verb) for verb in ("is", "was", "has")]] = 1
    always_singular = books_ladder["agreement"](lambda lefts, rights: favourite, tokenizer)
    assert always_singular == {"verb, none": 0.5, "verb, other": 0.5, "verb, same": 0.5}


@pytest.mark.weekly
def test_a_ladder_goes_on_where_it_was_and_stays_the_same(books_ladder, monkeypatch, tmp_path):
    model, tokenizer = bert.load_pretrained("course", bert.BertForPreTraining)
    random = np.random.default_rng(0)
    shards = [[types.SimpleNamespace(tokens=random.integers(5, 500, size))] for size in (9000, 700)]
    names = books_ladder["ladder"].__globals__
    monkeypatch.setitem(names, "books_corpus", lambda tokenizer: Corpus(*shards, tokenizer))
    monkeypatch.setitem(names, "GAPS", 20)
    monkeypatch.setitem(names, "CHOOSING", 10)
    monkeypatch.setitem(names, "WRITTEN", 3)
    monkeypatch.setitem(names, "bert_scorer", lambda model, tokenizer, both: books_ladder["ngram_scorer"](unigrams))
    unigrams = KneserNey(1).fit([[5, 6]], range(tokenizer.get_vocab_size()))
    options = argparse.Namespace(
        output=tmp_path / "results",
        runs=tmp_path / "runs",
        seeds=[0],
        tokens=8000,
        hidden_size=8,
        kinds=["transformer"],
    )
    books_ladder["ladder"](argparse.Namespace(**vars(options), train_only=True))
    assert [path.name for path in options.runs.iterdir()] == ["transformer-8-8000-0.safetensors"]
    assert not options.output.exists()
    options.train_only = False
    books_ladder["ladder"](options)
    first = read_json(options.output / "books_ladder.json")["rows"]
    assert [row["model"] for row in first] == [
        "unigrams", "trigrams", "word2vec's bag", "BERT", "BERT, left side alone", "causal transformer",
    ]  # fmt: skip
    assert all(0 <= row["accuracy"] <= 1 and 0 < row["loss"] < 20 for row in first)
    monkeypatch.delitem(names, "trained")  # what is there is not made again
    books_ladder["ladder"](options)
    assert read_json(options.output / "books_ladder.json")["rows"] == first


def test_the_table_has_the_ends_of_a_band(books_ladder):
    row = {"model": "LSTM", "sees": "all before", "tokens read": 2000, "accuracy": 0.1, "loss": 6.0}
    row |= dict.fromkeys(("verb, none", "verb, same", "verb, other"), 0.5)
    rows = [row, row | {"accuracy": 0.2}, row | {"accuracy": 0.15}]
    assert "| LSTM | all before | 2,000 | 10.0% to 20.0% | 6.00 | 50.0% | 50.0% | 50.0% |" in books_ladder["markdown"](
        rows
    )
