"""Analogies and judgements: scores by hand, the trick, the course's own pairs, and the public files."""

import numpy as np
import pytest

from bertcourse.static_embeddings import Question, WordVectors, analogy_answers, course_analogies
from bertcourse_lab.analogies import analogy_score, analogy_scores
from bertcourse_lab.datasets.judged_pairs import word_pairs
from bertcourse_lab.datasets.registry import states
from bertcourse_lab.datasets.words import google_analogies, read_analogies


@pytest.fixture
def vectors():
    """Royal or not, male or female, and some words beside."""
    random = np.random.default_rng(0)
    words = ["man", "woman", "king", "queen", "boy", "girl"]
    matrix = np.array([[0, 1, 0], [0, -1, 0], [4, 1, 0], [4, -1, 0], [0, 1, 3], [0, -1, 3]])
    return WordVectors([*words, "x", "y", "z"], np.concatenate([matrix, random.normal(size=(3, 3)) - [9, 0, 9]]))


def test_answers_are_nearest_to_b_less_a_plus_c(vectors):
    random = np.random.default_rng(1)
    questions = [Question(*(str(word) for word in random.choice(vectors.words, 4, replace=False))) for _ in range(30)]
    for leave_out in (True, False):
        for (a, b, c, _), answer in zip(questions, analogy_answers(vectors, questions, leave_out)):
            target = vectors.unit[vectors.find(b)] - vectors.unit[vectors.find(a)] + vectors.unit[vectors.find(c)]
            assert answer == vectors.nearest(target, 1, exclude=[a, b, c] if leave_out else [])[0].word
    assert set(analogy_answers(vectors, questions, leave_out=False)) & {each.c for each in questions}


def test_scores_tell_right_answers_from_repeated_words(vectors):
    questions = [Question("man", "woman", "king", "queen"), Question("man", "woman", "king", "emu")]
    with_trick, without = (analogy_score(vectors, questions, exclude) for exclude in (True, False))
    assert (with_trick.accuracy, with_trick.covered, with_trick.total) == (1.0, 1, 2)
    assert without.answers == {"d": 0, "a": 0, "b": 1, "c": 0, "other": 0} and without.accuracy == 0
    assert np.isnan(analogy_score(vectors, questions[1:]).accuracy)


def test_all_sections_count_together(vectors):
    good, bad = Question("man", "woman", "king", "queen"), Question("man", "king", "x", "girl")
    scores = analogy_scores(vectors, {"good": [good], "bad": [bad] * 3})
    assert [scores[name].accuracy for name in ("good", "bad", "all")] == [1, 0, 0.25]


def test_the_courses_pairs_are_ten_relations_without_a_word_twice():
    sections = course_analogies()
    assert len(sections) == 10 and sum(map(len, sections.values())) == 2556
    for questions in sections.values():
        pairs = {each[:2] for each in questions}
        words = [word for pair in pairs for word in pair]
        assert len(words) == len(set(words)) and len(questions) == len(pairs) * (len(pairs) - 1)
        assert all(len(set(each)) == 4 for each in questions)


def test_a_file_of_questions_is_read_in_lower_case(tmp_path):
    (tmp_path / "q.txt").write_text(
        ": capital-world\nAthens Greece Oslo Norway\n: gram1\na b c d\n: capital-world\nE f g h\n"
    )
    assert read_analogies(tmp_path / "q.txt") == {
        "capital-world": [Question("athens", "greece", "oslo", "norway"), Question("e", "f", "g", "h")],
        "gram1": [Question("a", "b", "c", "d")],
    }


def on_this_disk(name):
    return states([name])[name] == "ok"


@pytest.mark.skipif(not on_this_disk("analogies"), reason="the analogies are not on this disk")
def test_googles_questions_are_19544_in_14_sections():
    sections = google_analogies()
    assert len(sections) == 14 and sum(map(len, sections.values())) == 19_544
    assert Question("boy", "girl", "brother", "sister") in sections["family"]


@pytest.mark.skipif(not on_this_disk("men"), reason="MEN is not on this disk")
def test_men_has_3000_pairs():
    pairs = word_pairs("men")
    assert (
        len(pairs) == 3000
        and ("sun", "sunlight", 50.0) in pairs
        and {0 <= each.score <= 50 for each in pairs} == {True}
    )
