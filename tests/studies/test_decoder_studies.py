"""Chapter 12's studies: three models that start alike, a run that goes on where it was, texts that must be the same."""

import json
import runpy
from pathlib import Path

import pytest
import torch

from bertcourse.decoders import date_examples
from bertcourse.pretraining import SmallWorld

STUDIES = Path(__file__).parents[2] / "tools" / "studies"


@pytest.fixture
def fills_and_writes():
    return runpy.run_path(str(STUDIES / "fills_and_writes.py"))


@pytest.fixture
def generation_speed():
    return runpy.run_path(str(STUDIES / "generation_speed.py"))


@pytest.fixture
def small_decoders():
    return runpy.run_path(str(STUDIES / "small_decoders.py"))


def test_small_decoders_measures_both_and_goes_on_where_it_was(small_decoders, monkeypatch, tmp_path):
    names = small_decoders["run"].__globals__
    monkeypatch.setitem(names, "date_examples", lambda seed: date_examples(200, 10, seed))
    monkeypatch.setitem(names, "HELD_OUT", 3)
    result = small_decoders["run"]([4, 5], {"dates": 2, "small world": 2}, tmp_path)
    assert [(row["task"], row["seed"]) for row in result["rows"]] == [
        ("dates", 4), ("dates", 5), ("small world", 4), ("small world", 5),
    ]  # fmt: skip
    for row in result["rows"][:2]:
        assert row["exact"] == row["nearest_exact"] == 0 < row["nearest_characters"] < 1
    for row in result["rows"][2:]:
        assert 1 < row["grammar_loss"] < row["bigram_loss"] < 6 and row["loss"] < 10
    monkeypatch.setitem(names, "dates", lambda seed, steps: {"exact": 1.0})
    again = small_decoders["run"]([5, 6], {"dates": 2}, tmp_path)["rows"]
    assert again[0] == result["rows"][1] and again[1]["exact"] == 1
    table = small_decoders["markdown"](json.loads(json.dumps(result)))
    assert "2 seeds" in table and "| encoder-decoder | 0.0 to 0.0 |" in table and "| grammar | " in table


def test_the_three_models_start_alike(fills_and_writes):
    one, again, other = (fills_and_writes["new_model"](SmallWorld(), seed) for seed in (1, 1, 2))
    pairs = list(zip(one.parameters(), again.parameters(), other.parameters()))
    assert all(torch.equal(a, b) for a, b, _ in pairs) and any(not torch.equal(a, c) for a, _, c in pairs)


def test_the_grammar_loses_less_than_bigrams(fills_and_writes):
    found = fills_and_writes["baselines"](20_000)
    assert 1 < found["grammar_loss"] < found["bigram_loss"] < 6


def test_fills_and_writes_goes_on_where_it_was(fills_and_writes, monkeypatch, tmp_path):
    names, measured = fills_and_writes["run"].__globals__, []

    def measure(arm, seed, tokens):
        if len(measured) == 4:
            raise KeyboardInterrupt
        measured.append((arm, seed))
        return {"arm": arm, "seed": seed, **dict.fromkeys(names["MEASURES"], 0.5 + seed / 10)}

    monkeypatch.setitem(names, "measure", measure)
    monkeypatch.setitem(names, "baselines", lambda tokens: {"grammar_loss": 1.0})
    with pytest.raises(KeyboardInterrupt):
        fills_and_writes["run"]([1, 2], 1000, tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    first = list(measured)
    measured[:] = []
    result = fills_and_writes["run"]([1, 2], 1000, tmp_path)
    assert not set(first) & set(measured) and len(first) + len(measured) == len(result["rows"]) == 6
    table = fills_and_writes["markdown"](json.loads(json.dumps(result)))
    assert "| both | 0.600 to 0.700 | 1.82 to 2.01 | 60.0 to 70.0 | 0.600 to 0.700 | 60.0 to 70.0 |" in table
    assert "| grammar | 1.000 | 2.72 | | | |" in table


def test_all_writers_write_the_same_text_and_each_is_timed(generation_speed, capsys):
    ours, theirs = generation_speed["new_models"](64, 1, 6)
    assert len(generation_speed["compare"](ours, theirs, 6, 2, rounds=1)) == 4
    with torch.no_grad():
        ours.decoder.final_norm.weight[0] *= -50
    with pytest.raises(SystemExit, match="same text"):
        generation_speed["compare"](ours, theirs, 6, 2, rounds=1)
