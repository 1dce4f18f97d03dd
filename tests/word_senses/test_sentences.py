"""The course's sense-labelled sentences: what the data card promises."""

import re
import runpy
from collections import Counter, defaultdict

import pytest
import torch

from bertcourse.datasets import course_file
from bertcourse.word_senses import sense_sentences
from bertcourse.word_senses.sentences import read_lemma

IRREGULAR = {
    "bear": {"bore", "borne"},
    "die": {"dice", "dying"},
    "draw": {"drew", "drawn"},
    "mouse": {"mice"},
    "run": {"ran", "running"},
}


@pytest.fixture(scope="module")
def examples():
    return sense_sentences()


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def forms(lemma: str) -> set[str]:
    stem = lemma.removesuffix("e")
    regular = {lemma, lemma + "s", lemma + "es"} | {stem + ending for ending in ("ed", "ing", "er", "est")}
    return regular | IRREGULAR.get(lemma, set())


def test_24_lemmas_of_2_to_5_senses(examples):
    senses = defaultdict(set)
    for example in examples:
        senses[example.word[0]].add(example.sense_key)
    assert len(senses) >= 24
    assert all(2 <= len(of_lemma) <= 5 for of_lemma in senses.values())
    assert {example.word[1] for example in examples} == {"NOUN", "VERB", "ADJ"}
    assert senses["die"] == {"die%1:06:00::", "die%2:30:00::", "die%1:06:01::"}  # cube, stop living, tool


def test_sense_keys_are_keys_of_their_lemma(examples):
    for example in examples:
        assert re.fullmatch(example.word[0] + r"%([1-3]:\d\d:\d\d::|5:\d\d:\d\d:[a-z]+:\d\d)", example.sense_key)
    assert len({(example.sense_key, example.label) for example in examples}) == len(
        {example.sense_key for example in examples}
    )


def test_two_thirds_of_each_sense_are_for_training(examples):
    sizes = Counter((example.sense_key, example.split) for example in examples)
    assert set(sizes) == {(example.sense_key, split) for example in examples for split in ("train", "test")}
    for (_, split), size in sizes.items():
        assert size == {"train": 16, "test": 8}[split]


def test_offsets_cut_out_the_one_form_of_the_lemma(examples):
    for example in examples:
        assert example.text[example.start : example.end].lower() in forms(example.word[0]), example
        assert sum(word in forms(example.word[0]) for word in words(example.text)) == 1, example


def test_sentences_are_5_to_30_words_long(examples):
    assert all(5 <= len(words(example.text)) <= 30 for example in examples)
    assert all(example.text == example.text.strip() and "*" not in example.text for example in examples)


def test_no_two_sentences_share_five_words_in_a_row(examples):
    seen = {}
    for example in examples:
        for gram in zip(*(words(example.text)[i:] for i in range(5)), strict=False):
            assert gram not in seen, (seen[gram], example.text)
            seen[gram] = example.text


def test_no_two_sentences_share_half_their_words(examples):
    bags = [set(words(example.text)) for example in examples]
    vocabulary = {word: i for i, word in enumerate(sorted(set().union(*bags)))}
    matrix = torch.zeros(len(bags), len(vocabulary))
    for row, bag in zip(matrix, bags, strict=True):
        row[[vocabulary[word] for word in bag]] = 1
    shared, sizes = matrix @ matrix.T, matrix.sum(dim=1)
    jaccard = shared / (sizes[:, None] + sizes - shared)
    assert jaccard.fill_diagonal_(0).max() < 0.5


def test_a_bag_of_words_does_not_solve_it(examples):
    baselines = runpy.run_path(str(course_file("senses/baselines.py")))
    bags = [baselines["other_words"](example) for example in examples]
    overall, of_lemmas = baselines["accuracy"](examples, bags, baselines["naive_bayes"])
    assert baselines["accuracy"](examples, bags, baselines["majority"])[0] < overall < 0.75
    assert len(of_lemmas) >= 24


@pytest.mark.parametrize(
    "text",
    [
        "A *word*, no heading.\n",
        "## no key\nA *word*.\n",
        "## a%1:03:00:: | b\nNone.\n",
        "## a%1:03:00:: | b\n*Two* *marks*.\n",
    ],
)
def test_a_line_that_breaks_the_rules_is_named(tmp_path, text):
    path = tmp_path / "bank.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"bank\.txt, line [12]: expected"):
        list(read_lemma(path))
