"""The log of a training run, log.jsonl: a line of JSON for each event."""

import json
from pathlib import Path


def read_log(path: Path) -> list[dict]:
    """The events of a run, in order, from its log.jsonl."""
    if not path.is_file():
        raise FileNotFoundError(f"expected a run's log.jsonl in {path}; there is no such file.")
    return events(path)


def events(path: Path) -> list[dict]:
    """The events of a log, none if there is no file; a last line that was cut off is left out.

    Raises:
        ValueError: naming the line, if one is not an event.
    """
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("step", 0), int):
            raise ValueError(
                f"{path}, line {number}: expected an event as JSON, with a whole number as step; got {line[:60]!r}. "
                f"Remove the line."
            )
        found.append(event)
    return found
