"""Plausible mistakes, which a check must refuse and name, and unusual but right answers, which it must let through.

Each is a function of the exercise's name. It may use all names of the homework notebook, its other solutions among
them.
"""

from collections.abc import Callable
from typing import NamedTuple


class Variant(NamedTuple):
    """One answer: wrong if ``says`` is a part of the message that it must get, right if it is None."""

    number: str
    what: str
    says: str | None
    function: Callable


VARIANTS: list[Variant] = []


def wrong(number: str, says: str, what: str = "") -> Callable:
    """A decorator for a mistake; ``what`` it is, if the message does not say it."""

    def register(function: Callable) -> Callable:
        VARIANTS.append(Variant(number, what or says, says, function))
        return function

    return register


def right(number: str, what: str) -> Callable:
    """A decorator for a right answer, and what is unusual about it."""

    def register(function: Callable) -> Callable:
        VARIANTS.append(Variant(number, what, None, function))
        return function

    return register
