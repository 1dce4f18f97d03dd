"""Settings of a run are checked once, where a notebook or a command line hands them in."""

import dataclasses
from collections.abc import Callable


def check_fields(settings) -> None:
    """Refuse a value that is not of its field's type (an int will do for a float), or not one of its choices."""
    for field in dataclasses.fields(settings):
        value, kinds = getattr(settings, field.name), (int, float) if field.type is float else field.type
        if not isinstance(value, kinds) or isinstance(value, bool) != (field.type is bool):
            kind = getattr(field.type, "__name__", field.type)
            raise ValueError(f"{field.name} must be of type {kind}; got {value!r}.")
        if (choices := field.metadata.get("choices")) and value not in choices:
            raise ValueError(f"{field.name} must be one of {', '.join(choices)}; got {value!r}.")


def require(settings, names: str, rule: str, holds: Callable[[float], bool]) -> None:
    """Refuse fields out of range: ``require(self, "epochs patience", "at least 1", lambda value: value >= 1)``."""
    for name in names.split():
        if not holds(getattr(settings, name)):
            raise ValueError(f"{name} must be {rule}; got {getattr(settings, name)!r}.")
