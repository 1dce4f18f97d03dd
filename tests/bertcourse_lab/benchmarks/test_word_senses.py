"""bertcourse benchmark wsd, on a corpus of a few sentences: rows, columns, intervals, files, and going on."""

import json

import numpy as np
import pytest

from bertcourse_lab import cli, vector_cache
from bertcourse_lab.benchmarks import word_senses as wsd_benchmark
from bertcourse_lab.benchmarks.word_senses import COLUMNS, p_text, run_benchmark, system_table
from bertcourse_lab.datasets.sense_corpora import Instance, SenseCorpus

BANK, RUN, SEAT = ("bank", "NOUN"), ("run", "VERB"), ("seat", "NOUN")
SENSES = {BANK: ["bank%1:17:01::", "bank%1:14:00::"], RUN: ["run%2:38:00::", "run%2:41:00::"], SEAT: ["seat%1:06:00::"]}


def corpus(prefix: str, count: int, words: list) -> SenseCorpus:
    """Sentences "a b c": the first sense of a word stands after "a", its second after "c"."""
    sentences, instances = [], []
    for i in range(count):
        word, second = words[i % len(words)], (i // len(words)) % 2
        sense = SENSES[word][second] if len(SENSES[word]) > 1 else SENSES[word][0]
        sentences.append([["a", "c"][second], "d" * (1 + i % 3), "e"])
        instances.append(Instance(f"{prefix}.d0.s{i}.t0", word, i, 1, (sense,)))
    return SenseCorpus(sentences, instances)


@pytest.fixture
def small_world(monkeypatch, small_model, small_tokenizer, tmp_path):
    monkeypatch.setattr(
        wsd_benchmark,
        "sense_corpus",
        lambda name: corpus("d0", 24, [BANK, RUN]) if name == "semcor" else corpus("senseval2", 12, [BANK, RUN, SEAT]),
    )
    monkeypatch.setattr(wsd_benchmark, "wordnet", lambda: None)
    monkeypatch.setattr(wsd_benchmark, "word_senses", lambda wordnet, words: {word: SENSES[word] for word in words})
    monkeypatch.setattr(wsd_benchmark, "load_pretrained", lambda name: (small_model, small_tokenizer))
    return tmp_path


def test_the_table_has_every_row_and_column(small_world, capsys):
    result = run_benchmark("models/small", output=small_world / "out", cache=small_world / "cache")
    assert [row["system"] for row in result["rows"]] == [
        "WordNet first sense",
        "most frequent sense in SemCor",
        *(
            f"{layer}, {kind}"
            for layer in ("layer 0", "layer 1", "layer 2", "sum of last four")
            for kind in ("raw", "standardized")
        ),
    ]
    assert all(list(row["f1"]) == list(COLUMNS) for row in result["rows"])
    assert result["rows"][0]["f1"]["ALL"] == pytest.approx(100 * 8 / 12, abs=0.01)
    assert result["rows"][0]["f1"]["senseval3"] is None and result["rows"][0]["f1"]["NOUN"] == 75.0
    assert result["instances"] == [24, 12] and result["without_example"] == 1
    assert json.loads((small_world / "out" / "wsd_small.json").read_text(encoding="utf-8")) == result
    table = (small_world / "out" / "wsd_small.md").read_text(encoding="utf-8")
    assert table == system_table(result) and table.strip() in capsys.readouterr().out
    assert "| WordNet first sense | 66.7 | 66.7 | – |" in table


def test_it_goes_on_from_its_cache(small_world, monkeypatch):
    first = run_benchmark("small", cache=small_world / "cache")
    monkeypatch.setattr(vector_cache, "word_vectors", lambda *_, **__: pytest.fail("computed again"))
    assert run_benchmark("small", cache=small_world / "cache") == first


def test_a_quick_look_takes_the_first_sentences(small_world):
    result = run_benchmark("small", limit=6, output=small_world / "out", cache=small_world / "cache")
    assert result["sentences"] == result["instances"] == [6, 6]
    assert sorted(path.name for path in (small_world / "out").iterdir()) == [
        "wsd_small_limit6.json",
        "wsd_small_limit6.md",
    ]


def test_a_model_that_is_not_there_shows_before_anything_is_read(small_world, monkeypatch, capsys):
    def absent(name):
        raise FileNotFoundError(f"no model {name}")

    monkeypatch.setattr(wsd_benchmark, "load_pretrained", absent)
    monkeypatch.setattr(wsd_benchmark, "sense_corpus", lambda name: pytest.fail("a corpus was read"))
    assert cli.main(["benchmark", "wsd", "--model", "smal"]) == 1
    assert capsys.readouterr().err == "bertcourse benchmark: no model smal\n"


def test_the_command_runs_it_and_names_errors(small_world, monkeypatch, capsys):
    folder = str(small_world / "cache")
    assert cli.main(["benchmark", "wsd", "--model", "small", "--cache", folder]) == 0
    assert "| sum of last four, standardized |" in capsys.readouterr().out
    assert cli.main(["benchmark", "wsd", "--limit", "0"]) == 1
    assert capsys.readouterr().err == "bertcourse benchmark: --limit must be at least 1 sentence; got 0.\n"

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(wsd_benchmark, "compare_systems", interrupt)
    assert cli.main(["benchmark", "wsd", "--model", "small", "--cache", folder]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_p_values_are_printed_in_digits_that_mean_something():
    assert [p_text(p) for p in (0.0, 0.0314, 1.0)] == ["< .001", ".031", "1"]


def test_each_row_is_measured_on_its_own_layers():
    """Senses that layer 2 alone can tell, and two dimensions of which the loud one says nothing."""
    train, test = corpus("d0", 24, [BANK]), corpus("senseval2", 12, [BANK])
    rng = np.random.default_rng(0)

    def vectors(of: SenseCorpus) -> np.ndarray:
        x = rng.normal(size=(len(of.instances), 6, 2)) * [1000.0, 0.1]
        second = np.array([each.senses[0] == SENSES[BANK][1] for each in of.instances])
        x[:, 2, 1] = np.where(second, 1.0, -1.0)
        return x

    rows = wsd_benchmark.compare_systems(train, test, vectors(train), vectors(test), {BANK: SENSES[BANK]})
    f1 = {row["system"]: row["f1"]["ALL"] for row in rows}
    assert f1["layer 2, standardized"] == 100 > f1["layer 2, raw"]
    assert all(score < 95 for name, score in f1.items() if "layer" in name and not name.startswith("layer 2"))
    assert f1["sum of last four, standardized"] == 100  # layers 2 to 5
    gain = next(row["against_first_sense"] for row in rows if row["system"] == "layer 2, standardized")
    assert gain["difference"] == pytest.approx((100 - f1["WordNet first sense"]) / 100) and gain["low"] > 0
    of_words = next(row["over_words"] for row in rows if row["system"] == "layer 2, standardized")
    assert of_words["low"] == of_words["high"] == pytest.approx(gain["difference"])  # one word is all words
