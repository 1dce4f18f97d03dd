"""Chapter 8: the score of a sequence of tags, the best sequence, and the sum over all of them, for one sentence.

A tagger scores the tags of each word by themselves. A linear chain adds a score for each step from tag to tag: minus
infinity where a notation forbids the step, such as O I-PER, or a score that a conditional random field learns:

    s(x, y) = start[y_1] + Σ_t emission[t, y_t] + Σ_t pair[y_t-1, y_t] + end[y_T]
    best    = argmax_y s(x, y)                                  Viterbi's algorithm
    log Z   = log Σ_y exp(s(x, y))                              the forward algorithm

Both go through a sentence with K² steps per word, although it has K^T sequences of tags. These functions are the
specification; ``crf`` does the same for a batch of sentences.
"""

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


def path_score(emissions: Tensor, transitions: Transitions, path: Sequence[int]) -> Tensor:
    """s(x, y) for the tags y in ``path``, one per word, with emissions (L, K)."""
    start, pair, end = transitions
    steps = sum(pair[before, tag] for before, tag in zip(path, path[1:]))
    return start[path[0]] + emissions[range(len(path)), list(path)].sum() + steps + end[path[-1]]


def plain_viterbi(emissions: Tensor, transitions: Transitions) -> list[int]:
    """The sequence of tags with the highest score: Viterbi 1967.

    ``best[k]`` is the highest score of any beginning that ends in tag k.

    Args:
        emissions: (L, K), a score for each tag at each word.
        transitions: of K tags.
    """
    best, came_from = transitions.start + emissions[0], []
    for at_word in emissions[1:]:
        best, before = (best[:, None] + transitions.pair).max(dim=0)  # over the previous tag
        best = best + at_word
        came_from.append(before)
    path = [int((best + transitions.end).argmax())]
    for before in reversed(came_from):
        path.append(int(before[path[-1]]))
    return path[::-1]


def log_partition(emissions: Tensor, transitions: Transitions) -> Tensor:
    """log Z: Viterbi's algorithm with a sum in place of the maximum; arguments as for ``plain_viterbi``."""
    total = transitions.start + emissions[0]
    for at_word in emissions[1:]:
        total = (total[:, None] + transitions.pair).logsumexp(dim=0) + at_word
    return (total + transitions.end).logsumexp(dim=0)


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
