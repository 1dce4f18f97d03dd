"""Chapter 0: do vectors agree with people on how related two words are? Spearman's correlation on MEN."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scipy import stats

from bertcourse.datasets.registry import fetch
from bertcourse.static_embeddings.vectors import WordVectors


class JudgedPair(NamedTuple):
    """Two words, and how related or similar people find them: the mean of their answers, on the set's scale."""

    first: str
    second: str
    score: float


class Agreement(NamedTuple):
    """Spearman's correlation of cosines with judgements, over ``covered`` of all ``total`` pairs."""

    correlation: float
    covered: int
    total: int


def men_pairs() -> list[JudgedPair]:
    """3,000 pairs of words and how related people find them, from 0 to 50; fetched if they are not here.

    Source: Bruni, Tran & Baroni 2014, "Multimodal Distributional Semantics".
    """
    return read_judged_pairs(*fetch("men"))


def read_judged_pairs(path: Path) -> list[JudgedPair]:
    """Pairs from a file: a heading, then one pair per line, two words and a number separated by spaces.

    Args:
        path: the file.
    """
    pairs = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines()[1:], 2):
        try:
            first, second, score = line.split()
            pairs.append(JudgedPair(first, second, float(score)))
        except ValueError:
            raise ValueError(f"{path}, line {number}: expected two words and a number; got {line!r:.80}.") from None
    return pairs


def agreement_with_people(vectors: WordVectors, pairs: Sequence[tuple[str, str, float]]) -> Agreement:
    """Spearman's correlation, over the pairs whose words both have vectors.

    Args:
        vectors: of any words.
        pairs: first word, second word, people's score.

    >>> vectors = WordVectors(["sun", "light", "tax"], [[1, 0], [1, 1], [-1, 0]])
    >>> agreement_with_people(vectors, [("sun", "light", 9), ("light", "tax", 2), ("sun", "tax", 1), ("sun", "x", 5)])
    Agreement(correlation=1.0, covered=3, total=4)
    """
    known = [pair for pair in pairs if pair[0] in vectors and pair[1] in vectors]
    cosines = [vectors.similarity(first, second) for first, second, _ in known]
    correlation = stats.spearmanr(cosines, [score for *_, score in known]).statistic
    return Agreement(float(correlation), len(known), len(pairs))
