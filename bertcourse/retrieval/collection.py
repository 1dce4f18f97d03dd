"""Chapter 10: passages, queries, and people's judgements of which passage answers which query.

Three sources: the course's own paragraphs and questions, Cranfield (Cleverdon 1967), with which the measurement of
search began, and any folder in the format of BEIR (Thakur et al. 2021).
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bertcourse.datasets.data import course_file
from bertcourse.datasets.registry import fetch
from bertcourse.fine_tuning.readers import read_lines
from bertcourse.question_answering.questions import read_squad

GRADES = {1: 4, 2: 3, 3: 2, 4: 1}  # Cleverdon's codes, 1 being the best; any other means of no interest


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


def cranfield() -> Collection:
    """Cranfield: 1,400 abstracts on aerodynamics and 225 questions from people who worked in the field.

    Two traps are taken care of. The judgements number the queries 1 to 225 in the order of the file, not by the
    numbers written there (1, 2, 4, 8, …). And their best grade is 1; here the best is 4 and the lowest 1. The two
    abstracts without text are left out.

    Source: Cleverdon 1967, "The Cranfield Tests on Index Language Devices".
    """
    abstracts, questions, judgements = fetch("cranfield")
    passages = {number: text for number, text in read_records(abstracts) if text}
    queries = {str(place): text for place, (_, text) in enumerate(read_records(questions), start=1)}
    relevance: dict[str, dict[str, int]] = {query: {} for query in queries}
    for _, line in read_lines(judgements):
        query, passage, code = line.split()
        if passage in passages:
            relevance[query][passage] = GRADES.get(int(code), 0)
    return Collection(passages, queries, relevance)


def read_records(path: Path) -> list[tuple[str, str]]:
    """The number and text (field .W) of each record in a file of the SMART system (Salton 1971).

    A line ".I 12" begins a record; ".T", ".A", ".B" or ".W" alone on a line begins a field. (Cranfield has a line ".I"
    within a text.)
    """
    records: list[tuple[str, list[str]]] = []
    field = None
    for number, line in read_lines(path):
        if begins := re.fullmatch(r"\.I +(\d+)\s*", line):
            records.append((begins[1], []))
            field = None
        elif not records:
            raise ValueError(f"{path}, line {number}: expected .I and the number of a record; got {line[:80]!r}.")
        elif mark := re.fullmatch(r"\.([TABW])\s*", line):
            field = mark[1]
        elif field == "W":
            records[-1][1].append(line.strip())
    return [(number, " ".join(lines)) for number, lines in records]


def read_beir(folder: str | os.PathLike, split: str = "test") -> Collection:
    """A collection in BEIR's format: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.

    Args:
        folder: where these files are.
        split: whose judgements to take; queries without a relevant passage in it are left out.

    Returns:
        ``Collection``; a passage consists of its title, if it has one, and its text. (In ArguAna and Quora, queries are
        passages too; BEIR's own scores leave a query's own passage out of its ranking, ours do not.)

    Raises:
        ValueError: if a file is malformed; the message names it.

    Source: Thakur et al. 2021, "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval
    Models".
    """
    folder = Path(folder)
    passages = {
        row["_id"]: " ".join(part for part in (row.get("title", ""), row["text"]) if part)
        for row in read_json_lines(folder / "corpus.jsonl")
    }
    texts = {row["_id"]: row["text"] for row in read_json_lines(folder / "queries.jsonl")}
    judgements = folder / "qrels" / f"{split}.tsv"
    relevance: dict[str, dict[str, int]] = {}
    for number, line in read_lines(judgements):
        fields = line.split("\t")
        if number == 1 and fields[-1] == "score":
            continue  # column names
        if len(fields) != 3 or not re.fullmatch(r"-?\d+", fields[2]):
            raise ValueError(
                f"{judgements}, line {number}: expected query, passage and a whole number, with tabs between them; "
                f"got {line[:80]!r}."
            )
        relevance.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    relevance = {query: grades for query, grades in relevance.items() if max(grades.values()) > 0}
    if not relevance:
        raise ValueError(f"{judgements} must have a relevant passage for at least one query; it has none.")
    unknown = [*(relevance.keys() - texts.keys()), *(set().union(*relevance.values()) - passages.keys())]
    if unknown:
        raise ValueError(
            f"{judgements} must name queries of queries.jsonl and passages of corpus.jsonl; got {unknown[0]!r}."
        )
    return Collection(passages, {query: texts[query] for query in relevance}, relevance)


def read_json_lines(path: Path) -> list[dict[str, str]]:
    """The objects of a file with one per line; each has the strings "_id", which must be unique, and "text"."""
    rows = {}
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            fits = isinstance(row["_id"], str) and isinstance(row["text"], str) and row["_id"] not in rows
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise ValueError(
                f'{path}, line {number}: expected a JSON object with the strings "_id", which no other line has, and '
                f'"text"; got {line[:80]!r}.'
            )
        rows[row["_id"]] = row
    return list(rows.values())
