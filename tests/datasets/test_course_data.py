"""The labelled sets written for the course: what their data cards promise."""

import csv
import json
import re
import runpy
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from scipy.sparse import csr_array

from bertcourse.datasets import course_file

SPLITS = ("train", "dev", "test")
SIZES = {"tickets": (360, 120, 120), "reviews": (540, 180, 180), "nli": (360, 120, 120)}
LABELS = {
    "tickets": {"hardware", "software", "billing"},
    "reviews": {"positive", "neutral", "negative"},
    "nli": {"entailment", "neutral", "contradiction"},
}


def table(name: str, split: str) -> list[dict[str, str]]:
    with course_file(f"{name}/{split}.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def conll(split: str) -> list[list[tuple[str, str]]]:
    blocks = course_file(f"entities/{split}.conll").read_text(encoding="utf-8").strip().split("\n\n")
    return [[tuple(line.split("\t")) for line in block.splitlines()] for block in blocks]


def articles(split: str) -> list[dict]:
    return json.loads(course_file(f"reading/{split}.json").read_text(encoding="utf-8"))["data"]


def texts(name: str) -> list[str]:
    """What no two of may be alike; of the NLI set the premises."""
    if name == "entities":
        return [" ".join(word for word, _ in sentence) for split in SPLITS for sentence in conll(split)]
    if name in ("paragraphs", "questions"):
        paragraphs = [article["paragraphs"][0] for split in SPLITS for article in articles(split)]
        return (
            [qa["question"] for each in paragraphs for qa in each["qas"]]
            if name == "questions"
            else [each["context"] for each in paragraphs]
        )
    if name == "hypotheses":
        return sorted({row["hypothesis"] for split in SPLITS for row in table("nli", split)})
    return [row["premise" if name == "nli" else "text"] for split in SPLITS for row in table(name, split)]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_balance(name):
    for split, size in zip(SPLITS, SIZES[name]):
        counts = Counter(row["label"] for row in table(name, split))
        assert counts == dict.fromkeys(LABELS[name], size // 3)


@pytest.mark.parametrize("name", [*SIZES, "hypotheses", "entities", "paragraphs", "questions"])
def test_no_two_are_nearly_alike(name):
    bags = [set(words(text)) for text in texts(name)]
    columns = {word: i for i, word in enumerate(sorted(set().union(*bags)))}
    starts = [0]
    for bag in bags:
        starts.append(starts[-1] + len(bag))
    indices = [columns[word] for bag in bags for word in bag]
    matrix = csr_array(([1.0] * len(indices), indices, starts), shape=(len(bags), len(columns)))
    shared = (matrix @ matrix.T).toarray()
    sizes = shared.diagonal()
    jaccard = shared / (sizes[:, None] + sizes - shared)
    jaccard[range(len(bags)), range(len(bags))] = 0
    assert jaccard.max() < 0.6


@pytest.mark.parametrize("name", ["tickets", "reviews", "entities"])
def test_no_two_share_six_words_in_a_row(name):
    seen = {}
    for text in texts(name):
        for gram in zip(*(words(text)[i:] for i in range(6))):
            assert seen.setdefault(gram, text) == text


def test_a_hypothesis_says_nothing_of_its_label():
    for split in SPLITS:
        labels = defaultdict(list)
        for row in table("nli", split):
            labels[row["hypothesis"]].append(row["label"])
        assert all(sorted(each) == sorted(LABELS["nli"]) for each in labels.values())
    assert len(texts("hypotheses")) == 200  # so none is in two splits


@pytest.mark.parametrize("name, most", [("tickets", 0.85), ("reviews", 0.70)])
def test_counting_words_does_not_solve_it(name, most):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, test = table(name, "train"), table(name, "test")
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=100, max_iter=1000))
    model.fit([row["text"] for row in train], [row["label"] for row in train])
    assert 1 / 3 < model.score([row["text"] for row in test], [row["label"] for row in test]) < most


def test_entities_are_made_from_the_sentences():
    make = runpy.run_path(str(course_file("entities/make.py")))
    splits = make["read_sentences"](course_file("entities/sentences.txt").read_text(encoding="utf-8"))
    for split, size in zip(SPLITS, (360, 120, 120)):
        assert make["to_conll"](splits[split]) == course_file(f"entities/{split}.conll").read_text(encoding="utf-8")
        assert len(conll(split)) == size


def test_tags_are_bio_of_four_types():
    for split in SPLITS:
        for sentence in conll(split):
            tags = ["O", *(tag for _, tag in sentence)]
            assert all(re.fullmatch("O|[BI]-(PER|ORG|LOC|GPE)", tag) for tag in tags)
            assert all(tag[0] != "I" or before[1:] == tag[1:] for before, tag in pairwise(tags))


def test_names_have_several_types():
    types = defaultdict(set)
    for split in SPLITS:
        for sentence in conll(split):
            for word, tag in sentence:
                types[word].add(tag[2:])
    assert len({word for word, each in types.items() if len(each - {""}) > 1 and word[0].isupper()}) > 50


def test_80_paragraphs_320_questions_and_40_without_an_answer():
    for split, size in zip(SPLITS, (48, 16, 16)):
        paragraphs = [paragraph for article in articles(split) for paragraph in article["paragraphs"]]
        assert len(paragraphs) == size
        assert Counter(qa["is_impossible"] for each in paragraphs for qa in each["qas"]) == {
            False: 4 * size,
            True: size // 2,
        }


def test_answers_stand_where_they_are_said_to():
    ids = set()
    for split in SPLITS:
        for article in articles(split):
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    assert qa["id"] not in ids and not ids.add(qa["id"])
                    assert bool(qa["answers"]) != qa["is_impossible"]
                    for answer in qa["answers"]:
                        start, text = answer["answer_start"], answer["text"]
                        assert paragraph["context"][start : start + len(text)] == text == text.strip()


def test_a_planted_sentence_comes_with_a_question_of_each_test_paragraph_and_does_not_answer_it():
    planted = json.loads(course_file("reading/distractors.json").read_text(encoding="utf-8"))
    for article in articles("test"):
        (paragraph,) = article["paragraphs"]
        (qa,) = [qa for qa in paragraph["qas"] if qa["id"] in planted]
        sentence = planted.pop(qa["id"])
        assert sentence.endswith(".") and sentence not in paragraph["context"]
        assert not any(answer["text"].lower() in sentence.lower() for answer in qa["answers"])
        assert len(set(words(qa["question"])) & set(words(sentence))) >= 2  # it resembles the question
    assert not planted


def test_every_word_has_one_of_thirteen_parts_of_speech():
    kinds = "NOUN PROPN PRON DET ADJ ADV VERB AUX ADP CONJ NUM PART PUNCT".split()
    seen = []
    for split, size in (("train", 60), ("test", 40)):
        lines = course_file(f"parts_of_speech/{split}.txt").read_text(encoding="utf-8").splitlines()
        assert len(lines) == size == len(set(lines))
        seen += [{pair.rsplit("/", 1)[1] for line in lines for pair in line.split()}]
    assert seen[0] == set(kinds) and seen[1] <= seen[0]
