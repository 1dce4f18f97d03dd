"""Chapter 9: questions about a text, in SQuAD's JSON format."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bertcourse.fine_tuning.readers import at_least_one, read_whole


class Answer(NamedTuple):
    """A part of a context that answers a question: its text, and where in the context it starts."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a text, with the answers that people marked, if it has any, and the title of its article."""

    id: str
    question: str
    context: str
    answers: Sequence[Answer] = ()
    article: str = ""


def read_squad(path: str | os.PathLike) -> list[Question]:
    """Questions from SQuAD's JSON, version 1.1 or 2.0, or a zip of it (Rajpurkar et al. 2016; 2018).

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming the file (and the line), if it is not in this format or holds no example.
    """
    try:
        articles = json.loads(read_whole(Path(path)))["data"]
        questions = [
            Question(
                str(entry["id"]),
                entry["question"],
                paragraph["context"],
                tuple(Answer(answer["text"], answer["answer_start"]) for answer in entry.get("answers", ())),
                article.get("title", ""),
            )
            for article in articles
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} must be SQuAD's JSON: data, a list of articles with title and paragraphs, these with context and "
            f"qas; {type(error).__name__}: {error}. Fetch it again."
        ) from error
    for question in at_least_one(questions, path):
        try:
            check_answers(question)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None
    return questions


def check_answers(question: Question) -> None:
    """Refuse answers that are empty or are not found where they claim to start."""
    for text, start in question.answers:
        is_place = isinstance(text, str) and isinstance(start, int) and start >= 0
        there = question.context[start : start + len(text)] if is_place else ""
        if not there or there != text:
            raise ValueError(
                f"question {question.id}: expected the answer {text!r} at character {start!r} of its context; got "
                f"{there!r} there. Correct its text or its start."
            )
