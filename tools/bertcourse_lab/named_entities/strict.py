"""The strict way to read tags: only what BIO itself allows is an entity, nothing is repaired."""

from collections.abc import Sequence

from bertcourse.named_entities import may_follow


def strictly(tags: Sequence[str]) -> list[str]:
    """The tags without those that BIO forbids, so that ``entity_scores`` counts as seqeval's strict mode does.

    >>> strictly(["O", "I-PER", "I-PER", "B-LOC", "I-LOC"])
    ['O', 'O', 'O', 'B-LOC', 'I-LOC']
    """
    kept: list[str] = []
    for tag in tags:
        kept.append(tag if may_follow(kept[-1] if kept else "O", tag) else "O")
    return kept
