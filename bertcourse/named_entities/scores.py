"""Chapter 8: how well entities were found, and whether one tagger is better than another by more than luck.

    precision = correct / found,   recall = correct / gold,   F1 = 2 · correct / (found + gold),

where a found entity is correct if a gold entity has the same two ends and the same type (Tjong Kim Sang & De Meulder
2003, section 2.3).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bertcourse.bootstrap import Comparison, compare
from bertcourse.named_entities.conll import TaggedSentence
from bertcourse.named_entities.tags import Entity, read_tags


class EntityScores(NamedTuple):
    """How well entities were found: shares from 0 to 1, and the counts behind them (``gold``: how many there are)."""

    precision: float
    recall: float
    f1: float
    correct: int
    found: int
    gold: int

    @classmethod
    def of(cls, correct: int, found: int, gold: int) -> "EntityScores":
        """The scores that follow from counts; 0 where there is nothing to divide by."""
        precision, recall = correct / found if found else 0.0, correct / gold if gold else 0.0
        return cls(precision, recall, 2 * correct / (found + gold) if found + gold else 0.0, correct, found, gold)


def entity_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, EntityScores]:
    """Precision, recall and F1 of entities, for each type and for "all", where every entity counts the same.

    Args:
        gold, predicted: for each sentence its tags.

    >>> entity_scores([["B-PER", "I-PER", "B-LOC"]], [["B-PER", "I-PER", "B-ORG"]])["all"].f1
    0.5
    """
    counts: dict[str, np.ndarray] = {}
    for right, found in entity_pairs(gold, predicted):
        for entity in right | found:
            row = np.array([entity in right and entity in found, entity in found, entity in right], dtype=int)
            counts[entity.type] = counts.get(entity.type, 0) + row
    if "all" in counts:
        raise ValueError('no entity type may be called "all", which names the total; rename it.')
    total = sum(counts.values(), np.zeros(3, dtype=int))
    return {name: EntityScores.of(*map(int, row)) for name, row in [("all", total), *sorted(counts.items())]}


def entity_pairs(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> list[tuple[set[Entity], set[Entity]]]:
    """For each sentence the gold entities and the found ones."""
    if len(gold) != len(predicted) or not len(gold):
        raise ValueError(
            f"gold and predicted must be tags of the same sentences, one or more; got {len(gold)} and {len(predicted)}."
        )
    for number, (a, b) in enumerate(zip(gold, predicted)):
        if len(a) != len(b):
            raise ValueError(f"sentence {number} must have a tag for each word; got {len(a)} gold, {len(b)} predicted.")
    return [(set(read_tags(a)), set(read_tags(b))) for a, b in zip(gold, predicted)]


def tagging_scores(examples: Sequence[TaggedSentence], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """F1, precision and recall of entities, and the share of words with the right tag, in percent."""
    gold = [example.tags for example in examples]
    scores = entity_scores(gold, predicted)["all"]
    right = [a == b for pair in zip(gold, predicted) for a, b in zip(*pair)]
    return {
        "f1": 100 * scores.f1,
        "precision": 100 * scores.precision,
        "recall": 100 * scores.recall,
        "accuracy": 100 * sum(right) / max(len(right), 1),
    }


def compare_taggers(
    gold: Sequence[Sequence[str]],
    system: Sequence[Sequence[str]],
    baseline: Sequence[Sequence[str]],
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Is the F1 of one tagger better than another's by more than luck? Sentences are resampled, with replacement.

    Args:
        gold, system, baseline: for each sentence its tags.
        resamples, seed: as for ``bertcourse.bootstrap.compare``.

    Source: Berg-Kirkpatrick et al. 2012; Jurafsky & Martin, "Speech and Language Processing", section 4.9.
    """

    def counts(predicted: Sequence[Sequence[str]]) -> np.ndarray:
        pairs = entity_pairs(gold, predicted)
        return np.array([(len(right & found), len(found) + len(right)) for right, found in pairs])

    def difference(totals: np.ndarray) -> np.ndarray:
        correct, both = totals[:, 0::2], totals[:, 1::2]
        f1 = 2 * correct / np.maximum(both, 1)
        return f1[:, 0] - f1[:, 1]

    return compare(np.hstack([counts(system), counts(baseline)]), difference, resamples, seed)
