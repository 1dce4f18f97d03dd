"""Where randomness comes from in both training loops: a seed of its own for each use and step."""

import numpy as np

ORDER, MASKS, DROPOUT = 0, 1, 2  # streams of random numbers


def seed_of(*place: int) -> int:
    """A seed for a generator of torch, from the run's seed, a stream, and a place in it."""
    return int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0] >> 1)
