"""Dates that look alike: what a memory of the training examples would answer, beside lecture 12's encoder-decoder."""

from collections.abc import Sequence

import numpy as np

from bertcourse.decoders.dates import DateExample


def character_accuracy(written: Sequence[str], examples: Sequence[DateExample]) -> float:
    """The share of the dates' ten characters that are right, place by place.

    >>> character_accuracy(["1987-03-12", "1987-03-21"], [DateExample("", "1987-03-12", "")] * 2)
    0.9
    """
    pairs = [(text, example.iso) for text, example in zip(written, examples, strict=True)]
    return sum(a == b for text, iso in pairs for a, b in zip(text, iso)) / sum(len(iso) for _, iso in pairs)


def nearest_examples(texts: Sequence[str], train: Sequence[DateExample], block_size: int = 1000) -> list[DateExample]:
    """For each text the training example that is written most similarly, by edit distance: a baseline by memory alone.

    Args:
        texts: the texts to look up.
        train: the examples to search; of equally near ones, the first is taken.
        block_size: how many, of similar length, are searched together; the result does not depend on it.
    """
    lengths = np.array([len(example.written) for example in train])
    order = np.argsort(lengths, kind="stable")
    blocks = []
    for start in range(0, len(train), block_size):
        some = order[start : start + block_size]
        codes = np.zeros((lengths[some[-1]], len(some)), np.int16)
        for column, number in enumerate(some):
            codes[: lengths[number], column] = [ord(character) for character in train[number].written]
        blocks.append((codes, lengths[some]))
    found, distances = [], np.empty(len(train), np.int16)
    for text in texts:
        distances[order] = np.concatenate([edit_distances(text, *block) for block in blocks])
        found.append(train[int(distances.argmin())])
    return found


def edit_distances(text: str, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many characters to insert, delete or replace to turn a text into each of N others (Levenshtein 1966).

    Args:
        text: the one text.
        codes: (L, N), the others' characters as numbers, one column per text, with 0 after its end.
        lengths: (N,), how long they are.

    Returns:
        (N,).

    >>> edit_distances("cat", np.array([[ord(c)] for c in "cart"]), np.array([4])).tolist()
    [1]
    """
    rows = np.arange(len(codes) + 1, dtype=codes.dtype)[:, None]
    distances = np.repeat(rows, codes.shape[1], axis=1)  # (L + 1, N): from the text so far to each prefix
    for i, character in enumerate(text, 1):
        best = np.empty_like(distances)
        best[0] = i
        np.minimum(distances[1:] + 1, distances[:-1] + (codes != ord(character)), out=best[1:])
        distances = np.minimum.accumulate(best - rows, axis=0) + rows  # insertions, from first to last
    return distances[lengths, np.arange(codes.shape[1])]
