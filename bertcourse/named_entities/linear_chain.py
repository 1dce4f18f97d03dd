"""Chapter 8: which tag may follow which: the scores of the steps from tag to tag, by which ``crf`` finds sequences."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from bertcourse.named_entities.tags import OUTSIDE, SCHEMES, check_scheme, goes_on, split_tag


class Transitions(NamedTuple):
    """A score for each step from tag to tag; minus infinity where the step is forbidden.

    Attributes:
        start: (K,), for the first tag.
        pair: (K, K), for the column's tag after the row's tag.
        end: (K,), for the last tag.
    """

    start: Tensor
    pair: Tensor
    end: Tensor


def allowed_transitions(labels: Sequence[str], scheme: str = "BIO") -> Transitions:
    """0 for each step that a notation allows, minus infinity for the others.

    Args:
        labels: K tags.
        scheme: one of ``tags.SCHEMES``. IO allows every step; IOB1 allows B- only after its own type; BIO allows I-
            only after B- or I- of its type; in BIOES, I- and E- come only after B- or I- of their type, and after these
            nothing else may come.

    Source: Jurafsky & Martin, "Speech and Language Processing", chapter 17.
    """
    check_scheme(scheme)
    pairs = [split_tag(label, SCHEMES[scheme]) for label in labels]

    def allows(before: tuple[str, str], here: tuple[str, str]) -> bool:
        if scheme == "IOB1":
            return here[0] != "B" or before[0] in "IB" and before[1] == here[1]
        if scheme == "BIOES":
            return goes_on(before, here) == (before[0] in "BI") and (here[0] not in "IE" or goes_on(before, here))
        return scheme == "IO" or here[0] != "I" or goes_on(before, here)

    def scores(allowed: list) -> Tensor:
        return torch.zeros(torch.tensor(allowed).shape).masked_fill(~torch.tensor(allowed), -torch.inf)

    return Transitions(
        start=scores([allows(OUTSIDE, here) for here in pairs]),
        pair=scores([[allows(before, here) for here in pairs] for before in pairs]),
        end=scores([allows(before, OUTSIDE) for before in pairs]),
    )


def invalid_steps(tags: Sequence[str], scheme: str = "BIO") -> list[int]:
    """Where a sentence's tags break their notation: the indices of tags that must not follow the one before them.

    The sentence's length as an index stands for its end, which in BIOES must not come after B- or I-.

    >>> invalid_steps(["O", "I-PER", "I-PER", "I-LOC"])
    [1, 3]
    """
    labels = list(dict.fromkeys(["O", *tags]))
    pair = allowed_transitions(labels, scheme).pair
    padded = [labels.index(tag) for tag in ("O", *tags, "O")]
    return [place for place, step in enumerate(zip(padded, padded[1:])) if pair[step] != 0]
