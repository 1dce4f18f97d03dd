"""Subjects and their verbs: the course's own sentences on agreement, in data/agreement."""

import csv
from typing import NamedTuple

from bertcourse.datasets.data import course_file


class AgreementSentence(NamedTuple):
    """The beginning of a sentence, and two forms of its verb.

    Attributes:
        frame: the subject in the singular; the six sentences that share it belong together.
        before: what comes before the verb, as words separated by spaces.
        verb: the form that agrees with the subject.
        other: the form that does not.
        after: what follows.
        number: of the subject, "singular" or "plural".
        attractor: the number of the noun between subject and verb, or "none".
    """

    frame: str
    before: str
    verb: str
    other: str
    after: str
    number: str
    attractor: str


def agreement_sentences() -> list[AgreementSentence]:
    """252 sentences with 42 subjects, written for the course."""
    with course_file("agreement/sentences.tsv").open(encoding="utf-8", newline="") as file:
        return [AgreementSentence(**row) for row in csv.DictReader(file, delimiter="\t")]
