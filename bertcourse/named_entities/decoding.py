"""Chapter 8: which tag may follow which, and the best sequence of tags that obeys.

A tagger scores the tags of each word by themselves. Viterbi's algorithm takes the sequence with the largest sum of
scores among those that BIO allows, with K² steps per word, although there are K^L sequences.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def may_follow(before: str, tag: str) -> bool:
    """Whether a tag may stand after another one in BIO: an I- needs a B- or I- of its type before it.

    >>> may_follow("O", "I-PER"), may_follow("B-PER", "I-PER"), may_follow("NOUN", "VERB")
    (False, True, True)
    """
    return not tag.startswith("I-") or before in (tag, "B" + tag[1:])


def steps(labels: Sequence[str]) -> tuple[Tensor, Tensor]:
    """0 where BIO allows a step from tag to tag, minus infinity where it does not.

    Returns:
        (K,) for the first tag of a sentence, and (K, K) for the column's tag after the row's.
    """
    allowed = torch.tensor([[may_follow(a, b) for b in labels] for a in ["O", *labels]])
    table = torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
    return table[0], table[1:]


def viterbi(scores: Tensor, start: Tensor, step: Tensor) -> list[int]:
    """The best sequence of tags of a sentence.

    Args:
        scores: (L, K), a score for each tag at each word; L is at least 1.
        start, step: (K,) and (K, K), as ``steps`` returns them, or learned.

    Source: Viterbi 1967; Forney 1973, "The Viterbi Algorithm".
    """
    best, came_from = scores[0] + start, []
    for row in scores[1:]:
        best, before = (best[:, None] + step).max(dim=0)
        best = best + row
        came_from.append(before)
    path = [int(best.argmax())]
    for before in reversed(came_from):
        path.append(int(before[path[-1]]))
    return path[::-1]


def invalid_steps(tags: Sequence[str]) -> list[int]:
    """Where a sentence's tags break BIO: the indices of tags that must not follow the one before them.

    >>> invalid_steps(["O", "I-PER", "I-PER", "I-LOC"])
    [1, 3]
    """
    return [place for place, (a, b) in enumerate(zip(["O", *tags], tags)) if not may_follow(a, b)]
