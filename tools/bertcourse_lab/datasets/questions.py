"""The public SQuAD, with its splits."""

from bertcourse.question_answering import read_squad
from bertcourse_lab.datasets.classification import Splits, split_by
from bertcourse_lab.datasets.registry import fetch


def squad() -> Splits:
    """SQuAD 1.1's official dev split: 10,570 questions on 48 Wikipedia articles, split 80/10/10 % by article."""
    (path,) = fetch("squad")
    return split_by(read_squad(path), lambda question: question.article)
