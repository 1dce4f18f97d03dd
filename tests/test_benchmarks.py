"""Benchmarks say what they need before they do any work."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from bertcourse import anisotropy, bert
from bertcourse.senses import Instance, SenseCorpus, corpora

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


def test_anisotropy_says_what_it_cannot_fetch_before_it_loads_a_model(monkeypatch):
    def absent(name):
        raise ConnectionError(f"cannot fetch {name}. Set BERTCOURSE_DATA")

    monkeypatch.setattr(corpora, "fetch", absent)
    monkeypatch.setattr(bert, "load_pretrained", lambda name: pytest.fail("a model was loaded"))
    monkeypatch.setattr(sys, "argv", ["anisotropy.py"])
    with pytest.raises(SystemExit, match="cannot fetch semcor. Set BERTCOURSE_DATA"):
        runpy.run_path(str(FORWARD.with_name("anisotropy.py")), run_name="__main__")


def test_similarity_across_documents_equals_all_pairs():
    random = np.random.default_rng(0)
    vectors = random.normal(1, 1, size=(40, 6))
    names, documents = random.choice(["a", "b"], 40).tolist(), random.choice(["d1", "d2", "d3"], 40).tolist()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity_across = runpy.run_path(str(FORWARD.with_name("anisotropy.py")))["similarity_across"]
    found = similarity_across(vectors, names, documents)
    for name in ("a", "b"):
        pairs = [(i, j) for i in range(40) for j in range(i) if names[i] == names[j] == name and documents[i] != documents[j]]
        assert found[name] == pytest.approx(np.mean([units[i] @ units[j] for i, j in pairs]))
    assert similarity_across(vectors[:2], ["a", "a"], ["d1", "d1"]) == {}


def test_rank_correlations_of_rows_equal_scipy():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(3, 20)).round(1), random.integers(0, 5, size=(3, 20))  # with ties
    rows = runpy.run_path(str(FORWARD.with_name("anisotropy.py")))["spearman_rows"](x, y)
    np.testing.assert_allclose(rows, [anisotropy.stats.spearmanr(a, b).statistic for a, b in zip(x, y)])
