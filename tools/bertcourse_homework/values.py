"""The values of answers: made plain, compared, and described in messages."""

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

SHOWN = 64  # arrays of up to this many numbers are shown in full
NOISE = 1e-6  # a number this small, relative to the largest in its array, is a rounding error
FLOOR = 1e-14  # a number this small is what double precision makes of 0


def as_plain(value: Any) -> Any:
    """A value as numbers, text, None, and lists and dictionaries of them, in place of arrays."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: as_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset | range):
        return [as_plain(each) for each in (in_order(value) if isinstance(value, set | frozenset) else value)]
    return value


def in_order(values: set | frozenset) -> list[Any]:
    """The values sorted, even if they are of several types."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def rounded(value: Any) -> Any:
    """Numbers rounded to six digits, as they are stored."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def difference(expected: Any, got: Any, tolerance: float) -> tuple[str, str, str] | None:
    """Where two plain values first differ, and the two values there; None if they do not."""
    shapes = shape_of(expected), shape_of(got)
    if isinstance(expected, list) and None not in shapes and shapes[0] != shapes[1]:
        return "shape", f"shape {shapes[0]}", f"shape {shapes[1]}"
    return first_difference(expected, got, tolerance, "")


def first_difference(expected: Any, got: Any, tolerance: float, where: str) -> tuple[str, str, str] | None:
    """As ``difference``, for the part of the values at ``where``."""
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return where, f"{len(expected)} items: {described(expected)}", f"{len(got)}: {described(got)}"
        pairs = ((f"[{i}]", *pair) for i, pair in enumerate(zip(expected, got)))
    elif isinstance(expected, dict) and isinstance(got, dict):
        if expected.keys() != got.keys():
            return where, f"keys {described(list(expected))}", f"keys {described(list(got))}"
        pairs = ((f"[{short(key)!r}]", each, got[key]) for key, each in expected.items())
    else:
        return None if same(expected, got, tolerance) else (where, *described_beside(expected, got))
    return next((found for at, *two in pairs if (found := first_difference(*two, tolerance, where + at))), None)


def same(expected: Any, got: Any, tolerance: float) -> bool:
    """Whether two plain values that are not lists are the same, numbers up to the tolerance."""
    numbers = (bool, int, float)
    if not isinstance(expected, numbers) or not isinstance(got, numbers):
        return type(expected) is type(got) and expected == got
    try:
        float(expected), float(got)
    except OverflowError:  # an integer beyond the largest float
        return expected == got
    if math.isnan(expected) or math.isnan(got):
        return math.isnan(expected) and math.isnan(got)
    if math.isinf(expected) or math.isinf(got):
        return expected == got
    return abs(expected - got) <= tolerance * max(1.0, abs(expected))


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array or of nested lists of equal lengths; () for a number; None for anything else."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, int | float):
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    shapes = {shape_of(each) for each in value}
    if not shapes:
        return (0,)
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)


def described_beside(expected: Any, got: Any) -> tuple[str, str]:
    """Two values for a message; a number that is only a rounding error beside the largest of both is shown as 0."""
    scale = max(largest(as_plain(expected)), largest(as_plain(got)))
    return described(expected, scale), described(got, scale)


def described(value: Any, scale: float = 0.0) -> str:
    """A value for a message: in full if it is small, otherwise its kind and shape.

    Args:
        value: anything.
        scale: the largest number that is shown beside it.
    """
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    if isinstance(value, list | tuple) and any(isinstance(each, Tensor) for each in value):
        return f"({', '.join(described(each, scale) for each in value)})"
    shape, kind = shape_of(value), type(value).__name__
    if shape is None or shape == ():
        text = repr(short(as_plain(value), scale))
        return text if len(text) <= 200 else f"{text[:200]} …"
    if math.prod(shape) <= SHOWN:
        return repr(short(as_plain(value), scale))
    return f"{kind} of shape {shape}"


def short(value: Any, scale: float = 0.0) -> Any:
    """Numbers with four digits, and 0 for what is only a rounding error.

    >>> short([0.3333333, 1.2e-08, -0.0])
    [0.3333, 0.0, 0.0]

    Args:
        value: a plain value.
        scale: the largest number that is shown beside it.
    """
    beside = max(scale, largest(value)) if isinstance(value, list) else scale
    return shortened(value, max(NOISE * beside, FLOOR))


def shortened(value: Any, noise: float) -> Any:
    """As ``short``, with 0 for numbers smaller than ``noise``."""
    if isinstance(value, float):
        return 0.0 if abs(value) < noise else float(f"{value:.4g}")
    if isinstance(value, dict):
        return {short(key): short(each) for key, each in value.items()}
    return [shortened(each, noise) for each in value] if isinstance(value, list) else value


def largest(value: Any) -> float:
    """The largest absolute value of the finite floats in nested lists; 0 if there is none."""
    if isinstance(value, list):
        return max(map(largest, value), default=0.0)
    return abs(value) if isinstance(value, float) and math.isfinite(value) else 0.0
