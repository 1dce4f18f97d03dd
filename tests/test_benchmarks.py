"""Benchmarks say what they need before they do any work."""

import runpy
import sys
from pathlib import Path

import pytest

from bertcourse import bert
from bertcourse.senses import Instance, SenseCorpus

FORWARD = Path(__file__).parent.parent / "benchmarks" / "forward.py"


@pytest.mark.parametrize(("folder", "found"), [("", "BERTCOURSE_DATA is not set"), ("absent", "BERTCOURSE_DATA is absent, and there is no absent")])
def test_forward_names_the_missing_file_before_it_loads_a_model(monkeypatch, folder, found):
    monkeypatch.setenv("BERTCOURSE_DATA", folder)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    monkeypatch.setattr(sys, "argv", ["forward.py"])
    with pytest.raises(SystemExit, match=rf"expected a folder with semcor/semcor.data.xml.xz in BERTCOURSE_DATA; {found}"):
        runpy.run_path(str(FORWARD), run_name="__main__")


@pytest.mark.parametrize(("folder", "found"), [("", "BERTCOURSE_DATA is not set"), ("absent", "BERTCOURSE_DATA is absent, and there is no absent")])
def test_embed_names_the_missing_file_before_it_loads_a_model(monkeypatch, folder, found):
    monkeypatch.setenv("BERTCOURSE_DATA", folder)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    monkeypatch.setattr(sys, "argv", ["embed.py"])
    with pytest.raises(SystemExit, match=rf"expected a folder with semcor/semcor.data.xml.xz in BERTCOURSE_DATA; {found}"):
        runpy.run_path(str(FORWARD.with_name("embed.py")), run_name="__main__")


@pytest.fixture
def discourse():
    return runpy.run_path(str(FORWARD.with_name("one_sense_per_discourse.py")))


def test_one_sense_per_discourse_compares_pairs_within_a_document_with_pairs_between(discourse):
    words = {"d0": "rrm", "d1": "mm", "d2": "r"}  # river or money, of one word
    instances = [
        Instance(f"{name}.s000.t{i:03}", ("bank", "NOUN"), 0, i, ({"r": "bank%1:17:01::", "m": "bank%1:14:00::"}[sense],))
        for name, senses in words.items() for i, sense in enumerate(senses)
    ]
    senses = {("bank", "NOUN"): ["bank%1:17:01::", "bank%1:14:00::"]}
    row = discourse["measure"](discourse["count"](instances, senses, str, "all"))
    # d0 has 3 pairs, 1 of one sense; d1 has 1 of 1. Between: d0-d1 2 of 6, d0-d2 2 of 3, d1-d2 0 of 2.
    assert (row["cases"], row["pairs"], row["one_sense"]) == (2, 4, 0.5)
    assert row["same"] == pytest.approx((1 / 3 + 1) / 2, abs=1e-4)
    assert row["chance"] == row["pairs_chance"] == pytest.approx(4 / 11, abs=1e-4)
    assert row["pairs_same"] == 0.5
    assert row["low"] <= row["same"] - row["chance"] <= row["high"]


def test_one_sense_per_discourse_leaves_out_names_and_words_of_one_sense(discourse):
    corpus = SenseCorpus([["Wilson", "met", "persons"]], [])
    name, noun = (Instance("d0.s0.t0", ("person", "NOUN"), 0, i, ("person%1:03:00::",)) for i in (0, 2))
    assert discourse["is_name"](corpus, name) and not discourse["is_name"](corpus, noun)
    assert discourse["supersense"]("bank%1:17:01::") == "1:17"
    assert not discourse["count"]([noun], {("person", "NOUN"): ["person%1:03:00::"]}, str, "all")
