"""Chapter 9: questions about a text, in SQuAD's JSON, and the public set."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bertcourse.datasets.registry import fetch
from bertcourse.fine_tuning.public_sets import Splits, split_by
from bertcourse.fine_tuning.readers import read_whole, some


class Answer(NamedTuple):
    """A part of a context that answers a question.

    Attributes:
        text: of the answer.
        start: its first character in the context.
    """

    text: str
    start: int


class Question(NamedTuple):
    """A question on a text.

    Attributes:
        id: of the question.
        question: its words.
        context: the text.
        answers: those that people marked; none if the text does not answer it.
        article: title of what the context is from.
    """

    id: str
    question: str
    context: str
    answers: Sequence[Answer] = ()
    article: str = ""


def read_squad(path: str | os.PathLike) -> list[Question]:
    """Questions on paragraphs, from SQuAD's JSON, version 1.1 or 2.0.

    Args:
        path: the JSON file, or a zip with it alone.

    Returns:
        At least one question.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming the file and the question, if it is not such a file, or an answer is not where it says.

    Source: Rajpurkar et al. 2016, "SQuAD"; Rajpurkar et al. 2018, "Know What You Don't Know".
    """
    expected = "SQuAD's JSON: data, a list of articles with title and paragraphs, these with context and qas"
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
        raise ValueError(f"{path} must be {expected}; {type(error).__name__}: {error}. Fetch it again.") from error
    for question in some(questions, path):
        try:
            check_answers(question)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return questions


def check_answers(question: Question) -> None:
    """Refuse an answer that is not where it says.

    Args:
        question: with its context and answers.

    Raises:
        ValueError: naming the question, the place and what stands there.

    Source: the format of Rajpurkar et al. 2016.
    """
    for text, start in question.answers:
        is_place = isinstance(text, str) and isinstance(start, int) and start >= 0
        if not is_place or not text or start + len(text) > len(question.context):
            raise ValueError(
                f"question {question.id}: an answer must be characters 0 to {len(question.context)} of its context, at "
                f"least one; got {text!r} at {start}. Correct its text or its start."
            )
        if (there := question.context[start : start + len(text)]) != text:
            raise ValueError(
                f"question {question.id}: expected the answer {text!r} at character {start} of its context; there "
                f"stands {there!r}. Correct its text or its start."
            )


def squad() -> Splits:
    """SQuAD 1.1: the 10,570 questions of its official dev split, on 48 Wikipedia articles, 80/10/10 % of these.

    Returns:
        ``Splits`` of ``Question``.

    Raises:
        ConnectionError: if it is not here and cannot be fetched.
        ValueError: if the file is not the one we know.

    Source: Rajpurkar et al. 2016, "SQuAD".
    """
    (path,) = fetch("squad")
    return split_by(read_squad(path), lambda question: question.article)
