"""Chapter 0: analogies, and how much of their success comes from never answering with a word of the question.

"a is to b as c is to …": the word nearest to b - a + c (Mikolov, Yih & Zweig 2013). Published scores leave a, b and c
out of the search. Without that rule, the answer is most often b or c itself (Linzen 2016, "Issues in Evaluating
Semantic Spaces Using Word Analogies"; Rogers, Drozd & Li 2017, "The (too many) Problems of Analogical Reasoning").
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from bertcourse.datasets.data import course_file
from bertcourse.static_embeddings.vectors import WordVectors

CHUNK = 512


class Question(NamedTuple):
    """a is to b as c is to d."""

    a: str
    b: str
    c: str
    d: str


class AnalogyScore(NamedTuple):
    """The answers to those questions whose four words all have vectors.

    Attributes:
        answers: how many of the answers were "d" (right), "a", "b", "c", or "other".
        covered, total: how many questions could be asked, and how many there are.
    """

    answers: dict[str, int]
    covered: int
    total: int

    @property
    def accuracy(self) -> float:
        """The share of right answers among the questions that could be asked; NaN if none could."""
        return self.answers["d"] / self.covered if self.covered else float("nan")


def course_analogies() -> dict[str, list[Question]]:
    """The course's own questions by relation: any two pairs of a relation make two questions, one in each order.

    Source: data/analogies/pairs.tsv.
    """
    relations: dict[str, list[tuple[str, str]]] = {}
    with course_file("analogies/pairs.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            relations.setdefault(row["relation"], []).append((row["first"], row["second"]))
    return {
        name: [Question(*one, *other) for one, other in permutations(pairs, 2)] for name, pairs in relations.items()
    }


def analogy_answers(vectors: WordVectors, questions: Sequence[Question], exclude_inputs: bool = True) -> list[str]:
    """The answer to each question, as ``WordVectors.analogy`` gives it, for many questions at once.

    Args:
        vectors: of all words of the questions.
        questions: a, b, c and the right answer, which is not looked at.
        exclude_inputs: never answer a, b or c.
    """
    answers: list[str] = []
    for start in range(0, len(questions), CHUNK):
        a, b, c = np.array([[vectors.find(word) for word in each[:3]] for each in questions[start : start + CHUNK]]).T
        cosines = (vectors.unit[b] - vectors.unit[a] + vectors.unit[c]) @ vectors.unit.T
        if exclude_inputs:
            for column in (a, b, c):
                cosines[np.arange(len(a)), column] = -np.inf
        answers += [vectors.words[i] for i in cosines.argmax(axis=1)]
    return answers


def analogy_score(vectors: WordVectors, questions: Sequence[Question], exclude_inputs: bool = True) -> AnalogyScore:
    """How well the vectors answer.

    Args:
        vectors: of any words; questions with other words are left out.
        questions: of one section.
        exclude_inputs: as for ``analogy_answers``.
    """
    known = [each for each in questions if all(word in vectors for word in each)]
    answers: Counter[str] = Counter(dict.fromkeys(("d", "a", "b", "c", "other"), 0))
    for question, answer in zip(known, analogy_answers(vectors, known, exclude_inputs)):
        roles = [role for role in ("d", "a", "b", "c") if getattr(question, role) == answer]
        answers[roles[0] if roles else "other"] += 1
    return AnalogyScore(dict(answers), len(known), len(questions))


def analogy_scores(
    vectors: WordVectors, sections: Mapping[str, Sequence[Question]], exclude_inputs: bool = True
) -> dict[str, AnalogyScore]:
    """The score of each section and, under "all", of all of them together.

    Args:
        vectors, exclude_inputs: as for ``analogy_score``.
        sections: from name to questions.
    """
    scores = {name: analogy_score(vectors, each, exclude_inputs) for name, each in sections.items()}
    everything = [question for each in sections.values() for question in each]
    return scores | {"all": analogy_score(vectors, everything, exclude_inputs)}
