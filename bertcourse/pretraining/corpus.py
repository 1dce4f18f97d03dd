"""Chapter 4: what a run is trained on, and what it is measured on."""

from collections.abc import Callable
from typing import NamedTuple

from tokenizers import Tokenizer

from bertcourse.pretraining.pairs import Documents


class Corpus(NamedTuple):
    """What a run trains on and is measured on.

    Attributes:
        train: shards to train on.
        held_out: shards of other documents, to measure on.
        tokenizer: the one that made the ids.
        probe: further measurements of a model, by name, or None.
    """

    train: list[Documents]
    held_out: list[Documents]
    tokenizer: Tokenizer
    probe: Callable | None = None
