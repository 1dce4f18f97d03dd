"""Chapter 0: analogies, and how much of their success comes from never answering with a word of the question.

"a is to b as c is to …": the word nearest to b - a + c (Mikolov, Yih & Zweig 2013). Published scores leave a, b and c
out of the search. Without that rule, the answer is most often b or c itself (Linzen 2016, "Issues in Evaluating
Semantic Spaces Using Word Analogies"; Rogers, Drozd & Li 2017, "The (too many) Problems of Analogical Reasoning").
"""

import csv
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from bertcourse.datasets.data import course_file
from bertcourse.static_embeddings.vectors import WordVectors


class Question(NamedTuple):
    """a is to b as c is to d."""

    a: str
    b: str
    c: str
    d: str


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


def analogy_answers(vectors: WordVectors, questions: Sequence[Question], leave_out: bool = True) -> list[str]:
    """The word nearest to b - a + c, with vectors at length 1, for each question.

    Args:
        vectors: of all words of the questions.
        questions: a, b, c and the right answer, which is not looked at.
        leave_out: never answer a, b or c.
    """
    unit = vectors.unit
    a, b, c = np.array([[vectors.find(word) for word in question[:3]] for question in questions]).T
    cosines = (unit[b] - unit[a] + unit[c]) @ unit.T
    if leave_out:
        for asked in (a, b, c):
            cosines[np.arange(len(a)), asked] = -np.inf
    return [vectors.words[i] for i in cosines.argmax(axis=1)]
