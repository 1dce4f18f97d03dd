"""Chapter 10: passages, queries, and people's judgements of which passage answers which query.

Three sources: the course's own paragraphs and questions, Cranfield (Cleverdon 1967), with which the measurement of
search began, and any folder in the format of BEIR (Thakur et al. 2021).
"""

from collections.abc import Mapping
from typing import NamedTuple

from bertcourse.datasets.data import course_file
from bertcourse.question_answering.questions import read_squad


class Collection(NamedTuple):
    """What a search is evaluated on.

    Attributes:
        passages: the text of each passage, by its id.
        queries: the text of each query, by its id.
        relevance: for each query, the grades of the judged passages by their ids: above 0 is relevant, and higher is
            better. A passage without a grade counts as irrelevant.
    """

    passages: dict[str, str]
    queries: dict[str, str]
    relevance: dict[str, dict[str, int]]

    def of(self, queries: Mapping[str, str]) -> "Collection":
        """The same passages with only some of the queries."""
        return Collection(self.passages, dict(queries), {query: self.relevance[query] for query in queries})

    def own_passages(self) -> "Collection":
        """The same queries, with only the passages that are relevant to at least one of them.

        Negatives must come from these: the model learns that a passage which is often wrong in training and never
        right is wrong for every query. If that passage answers a test question, the question is lost.
        """
        own = {passage for grades in self.relevance.values() for passage, grade in grades.items() if grade > 0}
        passages = {passage: text for passage, text in self.passages.items() if passage in own}
        relevance = {
            query: {passage: grade for passage, grade in grades.items() if passage in own}
            for query, grades in self.relevance.items()
        }
        return Collection(passages, self.queries, relevance)


def reading_questions(*splits: str) -> Collection:
    """The course's 80 paragraphs, and questions that one of them answers, asked in other words (data/reading).

    Args:
        splits: of the questions, from "train", "dev" and "test" (192, 64 and 64); none for all. All 80 paragraphs
            are always there: a search does not know which split a question comes from.

    Returns:
        ``Collection``; passage ids are titles, and each question has one relevant passage.
    """
    if unknown := set(splits) - {"train", "dev", "test"}:
        raise ValueError(f"splits must be among train, dev, test; got {', '.join(sorted(unknown))}.")
    passages, queries, relevance = {}, {}, {}
    for split in ("train", "dev", "test"):
        for question in read_squad(course_file(f"reading/{split}.json")):
            passages[question.article] = question.context
            if question.answers and (not splits or split in splits):
                queries[question.id], relevance[question.id] = question.question, {question.article: 1}
    return Collection(passages, queries, relevance)
