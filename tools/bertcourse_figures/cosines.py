"""Vectors at length 1, and cosines, for figures that are handed vectors."""

import numpy as np


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (…, D) at length 1; one that is zero, which has no direction, is refused."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not lengths.all():
        raise ValueError("vectors must not be zero, as a zero vector has no direction. Leave it out.")
    return vectors / lengths


def paired_cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of each vector with its partner, both of shape (…, D).

    >>> paired_cosines(np.eye(2), np.array([[2.0, 0.0], [3.0, 4.0]])).tolist()
    [1.0, 0.8]
    """
    return (unit(first) * unit(second)).sum(axis=-1)
