"""What a run reads: a split as rows, and the batches of an epoch."""

from collections.abc import Sequence

import numpy as np
from torch import nn


def rows_of(model: nn.Module, examples: Sequence, split: str) -> list:
    """A split as the rows that a model reads; errors name the split."""
    if not len(examples):
        raise ValueError(f"{split} must hold at least one example; it is empty. Was the split cut to 0?")
    try:
        return model.rows(examples)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{split}: {error}") from error


def check_classes(model: nn.Module, rows: Sequence) -> None:
    """Refuse to learn from a single class."""
    if labels := getattr(model, "labels", None):
        present = {index for row in rows for index in (row.target if isinstance(row.target, list) else [row.target])}
        if len(present) < 2:
            raise ValueError(
                "train must have examples of at least two labels, or there is nothing to learn; all of its "
                f"{len(rows)} are {', '.join(labels[index] for index in present)}. Is it the beginning of a file "
                "sorted by label? Shuffle it."
            )


def shuffled_buckets(lengths: Sequence[int], batch_size: int, rng: np.random.Generator) -> list[list[int]]:
    """The batches of an epoch in random order, each with examples of similar length, so that there is little padding
    (Khomenko et al. 2016, "Accelerating Recurrent Neural Network Training Using Sequence Bucketing").

    Args:
        lengths: the length of each example.
        batch_size: examples per batch; one batch may have fewer.
        rng: for two shuffles: one before the sort by length, which decides which examples meet, and one after it.

    Returns:
        Batches as lists of indices into ``lengths``; every index is in exactly one.
    """
    shuffled = rng.permutation(len(lengths))
    by_length = shuffled[np.argsort(np.asarray(lengths)[shuffled], kind="stable")].tolist()
    batches = [by_length[start : start + batch_size] for start in range(0, len(by_length), batch_size)]
    return [batches[number] for number in rng.permutation(len(batches))]
