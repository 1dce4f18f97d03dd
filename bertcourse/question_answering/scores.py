"""Chapter 9: how good answers are, computed as in SQuAD's own script, ``evaluate-v2.0.py``.

    F1 = 2 · common words / (words predicted + words of the right answer)

Rajpurkar et al. 2016, section 6.1: exact match and F1, each against the best-matching of several right answers.
"""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

from bertcourse.question_answering.questions import Question


def normalize_answer(text: str) -> str:
    """A text in lower case, without punctuation or articles, with one space between words.

    >>> normalize_answer("The  Denver Broncos!")
    'denver broncos'
    """
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact_match(predicted: str, gold: str) -> int:
    """1 if two answers are equal once normalized, else 0; "" stands for no answer.

    >>> exact_match("the Denver Broncos!", "Denver Broncos")
    1
    """
    return int(normalize_answer(predicted) == normalize_answer(gold))


def answer_f1(predicted: str, gold: str) -> float:
    """The harmonic mean of precision and recall over words; if either answer has no words, 1 if neither has, else 0.

    >>> answer_f1("the Denver Broncos team", "Denver Broncos")
    0.8
    """
    ours = normalize_answer(predicted).split()
    theirs = normalize_answer(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs))


def squad_scores(predicted: Mapping[str, str], questions: Sequence[Question]) -> dict[str, float]:
    """Mean F1 and exact match in percent, taking the best over each question's answers.

    Args:
        predicted: an answer for the id of each question; "" for none, which is right where nobody marked an answer.
        questions: with the answers that people marked.
    """
    if not questions:
        raise ValueError("questions must hold at least one; got none.")
    if missing := [question.id for question in questions if question.id not in predicted]:
        raise ValueError(f"every question must have an answer, or ''; got none for {len(missing)}: {missing[:3]}.")
    f1 = exact = 0.0
    for question in questions:
        texts = [text for text, _ in question.answers if normalize_answer(text)] or [""]
        f1 += max(answer_f1(predicted[question.id], text) for text in texts)
        exact += max(exact_match(predicted[question.id], text) for text in texts)
    return {"f1": 100 * f1 / len(questions), "exact_match": 100 * exact / len(questions)}
