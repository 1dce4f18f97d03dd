"""bertcourse benchmark retrieval, on a collection of a few passages: rows, intervals, files."""

import json

import numpy as np
import pytest

from bertcourse.retrieval import BiEncoder, Collection
from bertcourse_lab import cli
from bertcourse_lab.benchmarks import retrieval as benchmark
from bertcourse_lab.benchmarks.retrieval import (
    BASELINE,
    POOLINGS,
    SCORES,
    average_precision,
    compare_searches,
    query_scores,
    run_benchmark,
    search_table,
)

SMALL = Collection(
    {"p": "a b c", "s": "d e f", "t": "g h"},
    {"q": "a", "r": "d e", "u": "h"},
    {"q": {"p": 1}, "r": {"s": 2, "p": 0}, "u": {"t": 1}},
)
SEARCHES = [
    BASELINE,
    "vectors, [CLS]",
    "vectors, max",
    "vectors, mean",
    "vectors, mean, centred",
    "vectors, mean, standardized",
    "late interaction",
    "BM25 and mean, fused",
    "BM25 and late interaction, fused",
]


@pytest.fixture
def small_world(monkeypatch, small_model, small_tokenizer):
    monkeypatch.setattr(benchmark, "COLLECTIONS", {"reading": lambda: SMALL, "cranfield": lambda: SMALL})
    monkeypatch.setattr(benchmark, "load_pretrained", lambda name: (small_model, small_tokenizer))


def test_the_table_has_every_search(small_world, tmp_path, capsys):
    result = run_benchmark("reading", "models/small", output=tmp_path)
    assert [row["search"] for row in result["rows"]] == SEARCHES
    assert result["rows"][0]["scores"]["MRR"] == 1.0 and result["rows"][0]["against_bm25"]["difference"] == 0
    assert (result["passages"], result["queries"]) == (3, 3)
    assert json.loads((tmp_path / "retrieval_reading_small.json").read_text(encoding="utf-8")) == result
    table = (tmp_path / "retrieval_reading_small.md").read_text(encoding="utf-8")
    assert table == search_table(result) and table.strip() in capsys.readouterr().out
    assert "| BM25 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |  |" in table


def test_a_difference_is_that_of_the_means_and_its_interval_holds_it():
    rankings = {BASELINE: {"q": ["p"], "r": ["s"], "u": ["t"]}, "other": {"q": ["s", "p"], "r": ["s"], "u": ["p", "s"]}}
    _, row = compare_searches(SMALL, rankings)
    assert row["scores"]["MRR"] == pytest.approx((0.5 + 1 + 0) / 3)
    found = row["against_bm25"]
    assert found["difference"] == pytest.approx(row["scores"]["nDCG@10"] - 1)
    assert found["low"] < found["difference"] < found["high"] <= 0


def test_the_command_line_reads_a_folder(small_world, tmp_path, capsys):
    (tmp_path / "qrels").mkdir()
    for name, content in {
        "corpus.jsonl": '{"_id": "p", "text": "a b c"}\n{"_id": "s", "text": "d"}\n',
        "queries.jsonl": '{"_id": "q", "text": "a"}\n{"_id": "r", "text": "d"}\n',
        "qrels/test.tsv": "q\tp\t1\nr\ts\t1\n",
    }.items():
        (tmp_path / name).write_text(content)
    output = tmp_path / "out"
    arguments = ["benchmark", "retrieval", "--collection", str(tmp_path), "--limit", "1", "--output", str(output)]
    assert cli.main(arguments) == 0
    assert "2 passages, 1 queries" in capsys.readouterr().out
    assert sorted(path.suffix for path in output.iterdir()) == [".json", ".md"]
    assert all(path.name.endswith(("_limit1.json", "_limit1.md")) for path in output.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--limit", "0"], "--limit must be at least 1 query; got 0"),
        (["--collection", "no-such-folder"], "corpus.jsonl"),
    ],
)
def test_the_command_line_says_what_is_wrong(small_world, capsys, arguments, message):
    assert cli.main(["benchmark", "retrieval", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_average_precision_by_hand_and_equal_to_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    grades = {"a": 2, "b": 1, "e": 1, "c": 0}
    assert average_precision(["c", "a", "d", "b"], grades) == pytest.approx((1 / 2 + 2 / 4 + 0) / 3)
    assert average_precision(["x"], grades) == 0 and average_precision(["a", "b", "e"], grades) == 1
    rng = np.random.default_rng(0)
    relevant, scores = rng.integers(0, 2, 30), rng.normal(size=30)
    ranking, relevance = [str(i) for i in np.argsort(-scores)], {str(i): int(each) for i, each in enumerate(relevant)}
    assert average_precision(ranking, relevance) == pytest.approx(metrics.average_precision_score(relevant, scores))


def test_scores_of_a_query():
    each = query_scores({"q": ["a"], "r": ["b", "a"], "not judged": ["b"]}, {"q": {"a": 1}, "r": {"a": 1}})
    assert list(each["q"]) == list(SCORES) and each["q"]["MRR"] == 1
    assert list(each["r"].values()) == pytest.approx([0.5, 1 / np.log2(3), 1, 1, 0.5])


def test_the_mean_is_the_bi_encoders(small_model, small_tokenizer):
    encoder = BiEncoder(small_model, small_tokenizer)
    (hidden,) = encoder.token_vectors(["a b c"], normalize=False)
    mean = POOLINGS["mean"](hidden)
    np.testing.assert_allclose(encoder.vectors(["a b c"])[0], mean / mean.norm(), atol=1e-5)
    assert POOLINGS["cls"](hidden).equal(hidden[0]) and POOLINGS["max"](hidden).equal(hidden.max(0).values)
