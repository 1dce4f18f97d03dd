"""The course's sentences on agreement: as their card says, and no noun that gives the verb away."""

import runpy
from collections import Counter

from bertcourse.datasets import agreement_sentences, course_file


def test_252_sentences_of_42_subjects_balance():
    sentences = agreement_sentences()
    assert len(sentences) == 252 and set(Counter(each.frame for each in sentences).values()) == {6}
    assert Counter(each.number for each in sentences) == {"singular": 126, "plural": 126}
    assert set(Counter((each.number, each.attractor) for each in sentences).values()) == {42}
    assert Counter(frozenset((each.verb, each.other)) for each in sentences) == {
        frozenset(pair): 84 for pair in (("is", "are"), ("was", "were"), ("has", "have"))
    }


def test_the_verb_agrees_with_the_subject_whatever_stands_between():
    for each in agreement_sentences():
        is_singular = each.verb in ("is", "was", "has")
        assert is_singular == (each.number == "singular") and (each.other in ("is", "was", "has")) != is_singular
        assert (each.before.split()[1] == each.frame) == is_singular
        assert (len(each.before.split()) == 2) == (each.attractor == "none")


def test_the_number_of_the_last_noun_is_right_in_two_thirds():
    def by_last_noun(each):
        return each.number if each.attractor == "none" else each.attractor

    right = [by_last_noun(each) == each.number for each in agreement_sentences()]
    assert sum(right) == 168


def test_sentences_are_made_from_the_frames():
    make = runpy.run_path(str(course_file("agreement/make.py")))
    header, *lines = course_file("agreement/frames.tsv").read_text(encoding="utf-8").splitlines()
    frames = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert [tuple(each) for each in agreement_sentences()] == make["sentences"](frames)
