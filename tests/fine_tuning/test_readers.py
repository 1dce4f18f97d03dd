"""Files in their formats; a broken one names itself, the line, and what was expected. Public sets and their splits."""

import json
import zipfile

import pytest

from bertcourse.datasets import course_file
from bertcourse.fine_tuning import LabeledText, read_tsv
from bertcourse.named_entities import TaggedSentence, read_conll
from bertcourse.question_answering import Answer, Question, read_squad
from bertcourse_lab.datasets import classification, entities, registry
from bertcourse_lab.datasets import questions as question_sets
from bertcourse_lab.datasets.classification import rte, split_by, sst2
from bertcourse_lab.datasets.entities import join_sentences, wikigold, wnut17
from bertcourse_lab.datasets.questions import squad
from bertcourse_lab.named_entities.taggers import entity_types

ARTICLE = {
    "title": "Bees",
    "paragraphs": [
        {
            "context": "Bees dance to show the way.",
            "qas": [
                {"id": "1", "question": "Who dances?", "answers": [{"text": "Bees", "answer_start": 0}]},
                {"id": "2", "question": "When?", "answers": [], "is_impossible": True},
            ],
        }
    ],
}
CONLL_2003 = """-DOCSTART- -X- -X- O

U.N. NNP I-NP I-ORG
official NN I-NP O

Ekeus NNP I-NP I-PER
Iraq NNP I-NP B-PER

-DOCSTART- -X- -X- O

Baghdad NNP I-NP I-LOC
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str | bytes, name: str = "file.txt"):
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    return write


def test_tsv_of_the_course_sst2_and_rte(written):
    assert read_tsv(written("label\ttext\nbilling\tI paid twice.\r\n\nhardware\tIt's dark\n")) == [
        LabeledText("I paid twice.", "billing"),
        LabeledText("It's dark", "hardware"),
    ]
    assert read_tsv(written("sentence\tlabel\nunflinchingly bleak \t0\n")) == [LabeledText("unflinchingly bleak", "0")]
    pair = LabeledText(("A.", 'B "c".'), "entailment")
    assert read_tsv(written('label\tpremise\thypothesis\nentailment\tA.\tB "c".')) == [pair]
    assert read_tsv(written('index\tsentence1\tsentence2\tlabel\n7\tA.\tB "c".\tentailment')) == [pair]
    assert read_tsv(written('7\tA.\tB "c".\tentailment'), ("index", "sentence1", "sentence2", "label")) == [pair]


def test_conll_of_four_columns_with_documents(written):
    assert read_conll(written(CONLL_2003)) == [
        TaggedSentence(["U.N.", "official"], ["B-ORG", "O"], 0),
        TaggedSentence(["Ekeus", "Iraq"], ["B-PER", "B-PER"], 0),
        TaggedSentence(["Baghdad"], ["B-LOC"], 1),
    ]


def test_conll_of_two_columns_with_tabs(written):
    sentences = read_conll(written("New\tB-GPE\nYork\tI-GPE\n\n\nrose\tO"))
    assert sentences == [TaggedSentence(["New", "York"], ["B-GPE", "I-GPE"]), TaggedSentence(["rose"], ["O"])]


def test_squad_of_both_versions_also_zipped(written, tmp_path):
    text = json.dumps({"version": "v2.0", "data": [ARTICLE]})
    context = ARTICLE["paragraphs"][0]["context"]
    expected = [
        Question("1", "Who dances?", context, (Answer("Bees", 0),), "Bees"),
        Question("2", "When?", context, (), "Bees"),
    ]
    assert read_squad(written(text)) == expected
    with zipfile.ZipFile(tmp_path / "dev.json.zip", "w") as archive:
        archive.writestr("dev.json", text)
    assert read_squad(tmp_path / "dev.json.zip") == expected


def misplaced(text: str, start) -> str:
    article = json.loads(json.dumps(ARTICLE))
    article["paragraphs"][0]["qas"][0]["answers"] = [{"text": text, "answer_start": start}]
    return json.dumps({"data": [article]})


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_tsv, "text\nabc\n", "file.txt, line 1: expected the columns"),
        (read_tsv, "label\ttext\nx\ty\nx\n", "file.txt, line 3: expected 2 columns"),
        (read_tsv, "label\ttext\n \ty\n", "file.txt, line 2: expected a label"),
        (read_tsv, "label\ttext\n", "file.txt .*at least one"),
        (read_tsv, "", "file.txt, line 1: expected the columns"),
        (read_tsv, b"label\ttext\nx\t\xff\n", "file.txt .*UTF-8"),
        (
            read_conll,
            "a O\nb\n",
            "file.txt, line 2: expected a word and its tag in 2 columns, as the lines before; got 'b'",
        ),
        (read_conll, "a b O\n", "file.txt, line 1: expected a word and its tag in 2 or 4 columns"),
        (
            read_conll,
            "a O\nb B_PER\n",
            "file.txt, line 2: expected a tag like O, B-PER or I-PER at the end; got .*B_PER",
        ),
        (read_conll, "-DOCSTART- O\n\n", "file.txt must hold at least one example"),
        (read_squad, "{}", "file.txt .*SQuAD.*data"),
        (read_squad, '{"data": [', "file.txt .*SQuAD"),
        (read_squad, '{"data": []}', "file.txt .*at least one"),
        (read_squad, misplaced("dance", 6), "file.txt: question 1: .*'dance' at character 6.*'ance '"),
        (read_squad, misplaced("way.", 99), "file.txt: question 1: .*'way.' at character 99"),
        (read_squad, misplaced("way.", -4), "file.txt: question 1: .*-4"),
        (read_squad, misplaced("", 0), "file.txt: question 1: .*''"),
        (read_squad, misplaced("Bees", "0"), "file.txt: question 1: .*'0'"),
    ],
)
def test_a_broken_file_names_itself_and_the_line(written, read, text, message):
    with pytest.raises(ValueError, match=message):
        read(written(text))


@pytest.mark.parametrize("read", [read_tsv, read_conll, read_squad])
def test_a_missing_file_is_named(read, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        read(tmp_path / "absent")


def test_a_zip_of_two_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a", "{}"), archive.writestr("b", "{}")
    with pytest.raises(ValueError, match="two.zip .*one file"):
        read_squad(tmp_path / "two.zip")


def test_the_courses_own_sets_are_read():
    for name, size in (("tickets", 360), ("reviews", 540), ("nli", 360)):
        assert len(read_tsv(course_file(f"{name}/train.tsv"))) == size
    types = entity_types([tag for each in read_conll(course_file("entities/train.conll")) for tag in each.tags])
    assert sorted(types) == ["GPE", "LOC", "ORG", "PER"]
    questions = read_squad(course_file("reading/train.json"))
    assert len(questions) == 216 and any(not question.answers for question in questions)


def test_splits_are_of_whole_documents():
    sentences = [TaggedSentence(["a"], ["O"], document) for document in range(40) for _ in range(3)]
    splits = split_by(sentences, lambda sentence: sentence.document)
    documents = [{sentence.document for sentence in split} for split in splits]
    assert [len(each) for each in documents] == [32, 4, 4] and len(set.union(*documents)) == 40
    assert (
        splits
        == split_by(sentences, lambda sentence: sentence.document)
        != split_by(sentences, lambda s: s.document, seed=1)
    )
    with pytest.raises(ValueError, match="three documents"):
        split_by(sentences[:6], lambda sentence: sentence.document)


def test_public_sets_are_read_from_their_files(written, monkeypatch, tmp_path):
    """From files of the same form, in place of those that are fetched."""
    sentences = [f"film {n:02} is good ." for n in range(16)]
    phrases = [[*sentences[::2], *(f"film {n:02}" for n in range(16))], sentences[1::2], ["a new one does n't"]]
    sentiment = [
        written("sentence\tlabel\n" + "".join(f"{text}\t1\n" for text in texts), f"sst{n}.tsv")
        for n, texts in enumerate(phrases)
    ]
    pairs = [
        written(f"{header}1\tA\tB\tentailment\n", f"rte{n}.tsv")
        for n, header in enumerate(("index\tsentence1\tsentence2\tlabel\n", "", "index\tsentence1\tsentence2\tlabel\n"))
    ]
    documents = written("-DOCSTART- O\n\n".join(f"w{n} I-PER\n\n" for n in range(10)), "wikigold")
    articles = [{**ARTICLE, "title": f"t{n}"} for n in range(10)]
    questions = written(json.dumps({"data": articles}), "squad.json")
    files = {"sst2": sentiment, "rte": pairs, "wikigold": [documents], "wnut17": [documents] * 3, "squad": [questions]}
    for module in (classification, entities, question_sets):
        monkeypatch.setattr(module, "fetch", files.__getitem__)
    train, dev, test = ([example.text for example in split] for split in sst2())
    assert len(dev) == 2 and set(dev) < set(sentences) and test == ["a new one doesn't"]
    assert set(train) == {t for texts in phrases[:2] for t in texts if not any(t in sentence for sentence in dev)}
    assert sst2().dev[0].label == "positive"
    whole = sst2(held_out=False)
    assert sorted(example.text for example in whole.train) == sorted(sum(phrases[:2], [])) and whole.dev == sst2().dev
    assert sst2(held_out=False, shortest=2) == whole  # "film 01" has two words
    longer = sst2(held_out=False, shortest=100)
    assert sorted(example.text for example in longer.train) == sentences and longer[1:] == whole[1:]
    assert [split[0].text for split in rte()] == [("A", "B")] * 3
    assert [len(split) for split in wikigold()] == [8, 1, 1] and wikigold().train[0].tags == ["B-PER"]
    assert [len(split) for split in wnut17()] == [10, 10, 10]
    assert [len(split) for split in squad()] == [16, 2, 2]


def test_every_public_set_is_in_the_registry_with_its_files():
    files = {
        name: [file.file for file in registry.find_set(name)] for name in ("sst2", "rte", "wikigold", "wnut17", "squad")
    }
    assert [len(each) for each in files.values()] == [3, 3, 1, 3, 1]
    assert files["wnut17"][1] == "ner/emerging.dev.conll"


@pytest.mark.parametrize(
    ("load", "sizes"),
    [
        (sst2, [58886, 860, 872]),
        (rte, [2127, 363, 277]),
        (wikigold, None),
        (wnut17, [3394, 1009, 1287]),
        (squad, None),
    ],
)
def test_the_real_sets_have_their_published_sizes(load, sizes):
    if registry.states([load.__name__])[load.__name__] == "absent":
        pytest.skip("not on this disk")
    splits = load()
    found = [len(split) for split in splits]
    if load is wikigold:
        assert sum(found) == 1696 and len({sentence.document for sentence in sum(splits, [])}) == 145
    elif load is squad:
        assert sum(found) == 10570 and [len({question.article for question in split}) for split in splits] == [38, 5, 5]
    else:
        assert found == sizes


def test_phrases_find_the_sentence_they_were_cut_from():
    phrases = ["good", "a good film .", "good film", "a b", "film .", "b c", "a b"]
    # "a b" and "b c" overlap, and neither holds the other.
    assert classification.sentences_of(phrases) == [1, 1, 1, 3, 1, 5, 3]
    assert classification.sentences_of([]) == []


def test_joined_sentences_keep_words_tags_and_documents():
    lengths_and_documents = [(2, 0), (3, 0), (4, 0), (9, 0), (1, 1), (1, 1)]
    sentences = [
        TaggedSentence([f"w{i}{j}" for j in range(length)], ["O"] * length, document)
        for i, (length, document) in enumerate(lengths_and_documents)
    ]
    joined = join_sentences(sentences, 6)
    assert [(len(e.words), len(e.tags), e.document) for e in joined] == [(5, 5, 0), (4, 4, 0), (9, 9, 0), (2, 2, 1)]
    assert [word for e in joined for word in e.words] == [word for e in sentences for word in e.words]
    with pytest.raises(ValueError, match="at least 1; got 0"):
        join_sentences(sentences, 0)
