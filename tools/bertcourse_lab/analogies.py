"""Scores of analogies by section, for studies: how many answers were right, and how many a word of the question."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bertcourse.static_embeddings import Question, WordVectors, analogy_answers


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


def analogy_score(vectors: WordVectors, questions: Sequence[Question], exclude_inputs: bool = True) -> AnalogyScore:
    """How well the vectors answer.

    Args:
        vectors: of any words; questions with other words are left out.
        questions: of one section.
        exclude_inputs: as for ``analogy_answers``.
    """
    known = [each for each in questions if all(word in vectors for word in each)]
    answers: Counter[str] = Counter(dict.fromkeys(("d", "a", "b", "c", "other"), 0))
    for question, answer in zip(known, analogy_answers(vectors, known, exclude_inputs) if known else []):
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
