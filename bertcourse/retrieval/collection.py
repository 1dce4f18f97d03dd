"""Chapter 10: passages, queries, and people's judgements of which passage answers which query."""

from collections.abc import Mapping, Sequence
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


class TrainingPair(NamedTuple):
    """A query, the passage that answers it, and others that do not.

    Attributes:
        query, passage: texts.
        negatives: any number of passages that look right but are not; a ``BiEncoder`` also meets the batch's others.
        source: its index among the examples, for messages.
    """

    query: str
    passage: str
    negatives: tuple[str, ...] = ()
    source: int = 0

    @property
    def length(self) -> int:
        """The passage's, in characters, by which batches are made."""
        return len(self.passage)


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


def training_pairs(collection: Collection) -> list[TrainingPair]:
    """Each query with each of its relevant passages."""
    return [
        TrainingPair(collection.queries[query], collection.passages[passage])
        for query, grades in collection.relevance.items()
        for passage, grade in grades.items()
        if grade > 0
    ]


def check_pairs(pairs: Sequence[TrainingPair]) -> None:
    """Refuse a string where a tuple of texts is meant: it would be read as one-letter texts."""
    for number, pair in enumerate(pairs):
        if not isinstance(pair, TrainingPair) or isinstance(pair.negatives, str):
            raise ValueError(
                f"pair {number} must be a TrainingPair(query, passage, negatives), the last a tuple, such as (text,); "
                f"got {pair!r:.120}."
            )
