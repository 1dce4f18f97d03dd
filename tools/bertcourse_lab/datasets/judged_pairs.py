"""Do vectors agree with people on how related two words are? Spearman's correlation on MEN, SimLex and others."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from bertcourse.anisotropy import paired_cosines
from bertcourse.static_embeddings.vectors import WordVectors
from bertcourse_lab.datasets.registry import fetch


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


def human_correlation(vectors: Mapping[str, np.ndarray], pairs: Sequence[JudgedPair]) -> float:
    """Spearman's correlation of cosine with people's judgement: do they put the pairs in the same order?

    Args:
        vectors: from word to (D,).
        pairs: those with a word that has no vector are skipped.

    Source: Hill et al. 2015, section 4.
    """
    known = [pair for pair in pairs if pair.first in vectors and pair.second in vectors]
    scores = [pair.score for pair in known]
    check_varied(f"scores of pairs whose words both have vectors, of {len(pairs)} pairs,", scores)
    first, second = (np.stack([vectors[pair[side]] for pair in known]) for side in (0, 1))
    cosines = paired_cosines(first, second)
    check_varied("cosines of the pairs", cosines)
    return float(stats.spearmanr(cosines, scores).statistic)


def check_varied(name: str, values: Sequence[float]) -> None:
    """Refuse numbers that cannot be correlated with anything; those that differ only by rounding count as equal."""
    if len(values) < 3 or not np.isfinite(values).all() or np.ptp(values) < 1e-12:
        raise ValueError(
            f"the {name} must be at least three finite numbers, not all the same, to be correlated; got "
            f"{len(values)}: {', '.join(f'{value:.4g}' for value in values[:10])}."
        )


class Layout(NamedTuple):
    """The columns of a similarity set: the words are fields 0 and 1, and field ``score`` goes from 0 to ``highest``."""

    separator: str
    score: int
    highest: float


LAYOUTS = {
    "simlex999": Layout("\t", 3, 10),
    "simverb3500": Layout("\t", 3, 10),
    "ws353-similarity": Layout("\t", 2, 10),
    "ws353-relatedness": Layout("\t", 2, 10),
    "rg65": Layout(";", 2, 4),
}


def word_pairs(name: str) -> list[JudgedPair]:
    """A public set of word pairs with people's judgements, fetched if it is not here.

    Args:
        name: one of ``LAYOUTS``.
    """
    check_set(name)
    return read_word_pairs(*fetch(name), name)


def read_word_pairs(path: str | os.PathLike, name: str) -> list[JudgedPair]:
    """A set of word pairs with people's judgements, from its file.

    Args:
        path: the file.
        name: which set it is, one of ``LAYOUTS``, because their columns differ.

    Source: Hill et al. 2015 (SimLex-999), Gerz et al. 2016 (SimVerb-3500), Finkelstein et al. 2002 and Agirre et al.
    2009 (WordSim-353), Rubenstein & Goodenough 1965 (RG-65).
    """
    check_set(name)
    layout, pairs = LAYOUTS[name], []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8; {error}.") from None
    for number, line in enumerate(lines, 1):
        fields = [field.strip() for field in line.split(layout.separator)]
        if number == 1 and fields[:2] == ["word1", "word2"]:  # a heading
            continue
        try:
            pair = JudgedPair(fields[0], fields[1], float(fields[layout.score]))
        except (IndexError, ValueError):
            pair = None
        if pair is None or not (pair.first and pair.second and 0 <= pair.score <= layout.highest):
            raise ValueError(
                f"{path}, line {number}: expected two words and, in field {layout.score + 1}, a score from 0 "
                f"to {layout.highest}; got {line!r:.80}."
            )
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"{path} must hold pairs of words; it is empty.")
    return pairs


def check_set(name: str) -> None:
    """Refuse an unknown set of word pairs."""
    if name not in LAYOUTS:
        raise ValueError(f"name must be one of {', '.join(LAYOUTS)}; got {name!r}.")
