"""Do vectors agree with people on how related two words are? Spearman's correlation on MEN, SimLex and others."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from bertcourse.anisotropy import paired_cosines
from bertcourse_lab.datasets.registry import fetch


class JudgedPair(NamedTuple):
    """Two words, and how related or similar people find them: the mean of their answers, on the set's scale."""

    first: str
    second: str
    score: float


class Layout(NamedTuple):
    """The columns of a set of pairs: the words are fields 0 and 1. And whether a heading stands above them."""

    separator: str
    score: int
    has_heading: bool = False


LAYOUTS = {
    "men": Layout(" ", 2, has_heading=True),
    "simlex999": Layout("\t", 3),
    "simverb3500": Layout("\t", 3),
    "ws353-similarity": Layout("\t", 2),
    "ws353-relatedness": Layout("\t", 2),
    "rg65": Layout(";", 2),
}


def word_pairs(name: str) -> list[JudgedPair]:
    """A public set of word pairs with people's judgements, from 0 to 10 (MEN: 50, RG-65: 4); fetched if it is not here.

    Args:
        name: one of ``LAYOUTS``.

    Source: Bruni, Tran & Baroni 2014 (MEN), Hill et al. 2015 (SimLex-999), Gerz et al. 2016 (SimVerb-3500), Finkelstein
    et al. 2002 and Agirre et al. 2009 (WordSim-353), Rubenstein & Goodenough 1965 (RG-65).
    """
    (path,), layout = fetch(name), LAYOUTS[name]
    lines = path.read_text(encoding="utf-8").splitlines()[layout.has_heading :]
    rows = [[field.strip() for field in line.split(layout.separator)] for line in lines]
    return [JudgedPair(row[0], row[1], float(row[layout.score])) for row in rows]


def human_correlation(vectors: Mapping[str, np.ndarray], pairs: Sequence[JudgedPair]) -> float:
    """Spearman's correlation of cosine with people's judgement: do they put the pairs in the same order?

    Args:
        vectors: from word to (D,).
        pairs: those with a word that has no vector are skipped.

    Source: Hill et al. 2015, section 4.
    """
    known = [pair for pair in pairs if pair.first in vectors and pair.second in vectors]
    first, second = (np.stack([vectors[pair[side]] for pair in known]) for side in (0, 1))
    return float(stats.spearmanr(paired_cosines(first, second), [pair.score for pair in known]).statistic)
