"""Collections: the course's own, Cranfield with its traps, and BEIR's format."""

import pytest

from bertcourse.retrieval.collection import Collection, reading_questions
from bertcourse_lab.datasets import collections as module
from bertcourse_lab.datasets import registry
from bertcourse_lab.datasets.collections import cranfield, read_beir, read_records, scifact, sentences_in

ABSTRACTS = """.I 1
.T
wings .
.A
a. nonymous
.W
wings .
they lift .
.I
is not a record here .
.I 2
.T
nothing
.W
.I 7
.W
drag of
a plate .
"""


def test_the_course_has_80_paragraphs_and_320_questions_each_with_one():
    everything = reading_questions()
    assert (len(everything.passages), len(everything.queries)) == (80, 320)
    assert all(list(grades.values()) == [1] for grades in everything.relevance.values())
    assert len(set(everything.passages.values())) == 80


def test_splits_share_the_passages_and_no_query():
    train, dev, test = (reading_questions(split) for split in ("train", "dev", "test"))
    assert [len(each.queries) for each in (train, dev, test)] == [192, 64, 64]
    assert train.passages == dev.passages == reading_questions().passages
    assert train.queries.keys().isdisjoint(dev.queries.keys() | test.queries.keys())
    found = [{passage for grades in each.relevance.values() for passage in grades} for each in (train, dev, test)]
    assert found[0].isdisjoint(found[1] | found[2])  # split by paragraph


def test_a_split_that_is_none_is_refused():
    with pytest.raises(ValueError, match="splits"):
        reading_questions("train", "tst")


def test_some_queries_of_a_collection():
    everything = reading_questions()
    one = everything.of({"sourdough-1": everything.queries["sourdough-1"]})
    assert one.relevance == {"sourdough-1": {"Sourdough": 1}} and one.passages is everything.passages


def test_records_end_where_the_next_begins(tmp_path):
    path = tmp_path / "abstracts"
    path.write_text(ABSTRACTS)
    assert read_records(path) == [
        ("1", "wings . they lift . .I is not a record here ."),
        ("2", ""),
        ("7", "drag of a plate ."),
    ]


@pytest.fixture
def small_cranfield(tmp_path, monkeypatch):
    files = {
        "abstracts": ABSTRACTS,
        "questions": ".I 1\n.W\nlift\n.I 004\n.W\ndrag\n",
        "judgements": "1 1 4\n1 2 1\n2 7 1\n2  1 -1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(module, "fetch", lambda name: [tmp_path / name for name in files])


def test_cranfield_numbers_its_queries_by_their_place_and_turns_the_grades_round(small_cranfield):
    got = cranfield()
    assert got.queries == {"1": "lift", "2": "drag"}  # the second is called 004 in the file
    assert got.relevance == {"1": {"1": 1}, "2": {"7": 4, "1": 0}}


def test_cranfield_leaves_out_what_has_no_text(small_cranfield):
    assert set(cranfield().passages) == {"1", "7"}


def test_cranfield_is_in_the_registry():
    assert [file.file for file in registry.find_set("cranfield")] == [
        "cranfield/cran.all.1400",
        "cranfield/cran.qry",
        "cranfield/cranqrel",
    ]


@pytest.mark.skipif(registry.states(["cranfield"])["cranfield"] == "absent", reason="Cranfield is not here")
def test_real_cranfield():
    got = cranfield()
    assert (len(got.passages), len(got.queries)) == (1398, 225)
    assert sum(len(grades) for grades in got.relevance.values()) > 1800
    assert got.relevance["1"]["184"] == 3 and got.queries["3"].startswith("what problems of heat conduction")


@pytest.fixture
def beir(tmp_path):
    def write(name, content):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)

    write(
        "corpus.jsonl",
        '{"_id": "a", "title": "Bees", "text": "They dance."}\n{"_id": "b", "title": "", "text": "Ants."}\n',
    )
    write("queries.jsonl", '{"_id": "q", "text": "Who dances?"}\n{"_id": "r", "text": "Who sleeps?"}\n')
    write("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\nr\tb\t0\n")
    return tmp_path, write


def test_beir(beir):
    assert read_beir(beir[0]) == Collection(
        {"a": "Bees They dance.", "b": "Ants."}, {"q": "Who dances?"}, {"q": {"a": 1, "b": 0}}
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("qrels/test.tsv", "q\ta\n", "line 1: expected query, passage and a whole number"),
        ("qrels/test.tsv", "x\ta\t1\n", "got 'x'"),
        ("qrels/test.tsv", "q\tz\t1\n", "got 'z'"),
        ("qrels/test.tsv", "q\ta\t0\n", "at least one query"),
        ("corpus.jsonl", '{"_id": "a"}\n', "line 1: expected a JSON object"),
        ("corpus.jsonl", "[]\n", "line 1: expected a JSON object"),
        ("corpus.jsonl", '{"_id": 3, "text": "x"}\n', "line 1: expected a JSON object"),
        (
            "corpus.jsonl",
            '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n',
            "line 2: .* which no other line has",
        ),
    ],
)
def test_beir_refuses(beir, name, content, message):
    beir[1](name, content)
    with pytest.raises(ValueError, match=message):
        read_beir(beir[0])


def test_beir_without_a_file(beir):
    with pytest.raises(FileNotFoundError, match="dev.tsv"):
        read_beir(beir[0], split="dev")


def test_sentences_of_an_abstract():
    assert sentences_in("""['One, two.'\n "It\'s\n here."]""") == "One, two. It's here."


@pytest.mark.skipif(registry.states(["scifact"])["scifact"] == "absent", reason="SciFact is not here")
def test_real_scifact():
    got = scifact()
    assert (len(got.passages), len(got.queries)) == (5183, 300)
    assert sum(map(len, got.relevance.values())) == 339 and all(map(got.passages.get, got.relevance["1"]))
