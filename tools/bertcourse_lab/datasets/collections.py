"""Public collections to search: Cranfield, SciFact, and any in BEIR's format."""

import ast
import csv
import io
import json
import os
import re
import zipfile
from pathlib import Path

from bertcourse.fine_tuning.readers import read_lines
from bertcourse.retrieval.collection import Collection
from bertcourse_lab.datasets.registry import fetch

GRADES = {1: 4, 2: 3, 3: 2, 4: 1}  # Cleverdon's codes, 1 being the best; any other means of no interest


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
    for _, line in read_lines(path):
        if begins := re.fullmatch(r"\.I +(\d+)\s*", line):
            records.append((begins[1], []))
            field = None
        elif mark := re.fullmatch(r"\.([TABW])\s*", line):
            field = mark[1]
        elif field == "W":
            records[-1][1].append(line.strip())
    return [(number, " ".join(lines)) for number, lines in records]


def scifact() -> Collection:
    """SciFact: 5,183 abstracts, and 300 scientific claims that one or more of them support or refute.

    The claims are those of the development split, as in BEIR (Thakur et al. 2021); each abstract that a claim cites is
    relevant. A passage is the title and the abstract.

    Source: Wadden et al. 2020, "Fact or Fiction: Verifying Scientific Claims".
    """
    (archive,) = fetch("scifact")
    with zipfile.ZipFile(archive) as packed:
        abstracts, claims = (
            list(csv.DictReader(io.TextIOWrapper(packed.open(f"{name}.csv"), encoding="utf-8", newline="")))
            for name in ("corpus_train", "claims_validation")
        )
    passages = {row["doc_id"]: f"{row['title']} {sentences_in(row['abstract'])}" for row in abstracts}
    queries, relevance = {}, {}
    for row in claims:  # a claim has a row for each sentence of its evidence
        queries[row["id"]] = row["claim"]
        relevance.setdefault(row["id"], {}).update(dict.fromkeys(re.findall(r"\d+", row["cited_doc_ids"]), 1))
    return Collection(passages, queries, relevance)


def sentences_in(array: str) -> str:
    """The text of an abstract, whose sentences are written as numpy prints an array of strings."""
    quoted = re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", array, re.DOTALL)
    return " ".join(" ".join(ast.literal_eval(each.replace("\n", " ")).split()) for each in quoted)


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
