"""The study of German: which sentences are kept, a short run, sentences of our own that it can read."""

import itertools
import runpy
from pathlib import Path

import pytest


@pytest.fixture
def study():
    return runpy.run_path(str(Path(__file__).parents[2] / "tools" / "studies" / "german_english.py"))


@pytest.fixture
def pairs_file(study, tmp_path):
    """Sentences of our own, and one that is too long."""
    names, verbs = (
        {"tom": "tom", "eva": "eva", "we": "wir", "they": "sie"},
        {"run": "lauft", "sing": "singt", "eat": "esst"},
    )
    lines = [f"{n} {v} !\t{names[n]} {verbs[v]} !" for n, v in itertools.product(names, verbs)]
    lines += [f"ours {n} !\t{text}" for n, text in enumerate(study["OURS"])]
    lines.append("a b c d e f g h i\ta b c d e f g h i")
    (tmp_path / "deu.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "deu.txt"


def test_long_sentences_are_left_out_and_german_comes_first(study, pairs_file):
    pairs, words = study["read_pairs"](pairs_file)
    assert (("tom", "lauft", "!"), ("tom", "run", "!")) in pairs and len(pairs) == 16
    assert words[:3] == ["[PAD]", "[START]", "[STOP]"] and "h" not in words


def test_unread_sentences_are_asked_for(study, pairs_file, monkeypatch):
    monkeypatch.setitem(study["measure"].__globals__, "ASKED", 3)
    monkeypatch.setitem(study["measure"].__globals__, "BATCH", 4)
    pairs, words = study["read_pairs"](pairs_file)
    row = study["measure"](pairs, words, seed=0, steps=2)
    assert row["pairs"] == len(study["split"](pairs)[1]) and 0 <= row["exact"] <= 1
    assert set(row["ours"]) == set(study["OURS"])
    assert "1 seeds" in study["markdown"](2, 0.1, [row])


def test_what_is_asked_for_and_our_own_sentences_are_not_read(study, pairs_file, monkeypatch):
    monkeypatch.setitem(study["split"].__globals__, "ASKED", 3)
    asked, train, answers = study["split"](study["read_pairs"](pairs_file)[0])
    ours = set(map(study["words_of"], study["OURS"]))
    assert len(asked) == 3 and {source for source, _ in train} == set(answers) - ours - set(asked)


def test_the_nearest_read_sentence_gives_its_translation(study, monkeypatch):
    monkeypatch.setitem(study["split"].__globals__, "ASKED", 1)
    pairs = [(("wir", "singt", "gut"), ("fine",)), (("sie", "singt", "gut"), ("fine",)), (("tom", "esst"), ("eats",))]
    assert study["nearest_is_right"](pairs) == (study["split"](pairs)[0][0] != ("tom", "esst"))
