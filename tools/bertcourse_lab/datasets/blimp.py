"""BLiMP: 67 paradigms of 1,000 pairs of sentences, one grammatical and one not (Warstadt et al. 2020)."""

import json
import tarfile
from pathlib import Path
from typing import NamedTuple

from bertcourse_lab.datasets.registry import fetch


class MinimalPair(NamedTuple):
    """Two sentences, only one of which English speakers accept.

    Attributes:
        good: "Who should Derek hug after shocking Richard?"
        bad: "Who should Derek hug Richard after shocking?"
    """

    good: str
    bad: str


def blimp_pairs() -> dict[str, list[MinimalPair]]:
    """The 1,000 pairs of each paradigm, by name, in alphabetical order (capitals first); fetched if need be."""
    (archive,) = fetch("blimp")
    pairs = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith(".jsonl"):
                rows = map(json.loads, tar.extractfile(member).read().decode("utf-8").splitlines())
                pairs[Path(member.name).stem] = [MinimalPair(row["sentence_good"], row["sentence_bad"]) for row in rows]
    return dict(sorted(pairs.items()))
