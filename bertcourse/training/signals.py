"""What both training loops stop for: a signal that asks them to save and leave."""

import contextlib
import math
import signal
import threading
from collections.abc import Iterator


class Interrupted(Exception):
    """A run was asked to stop and has saved where it is."""


def crossed(before: float, after: float, every: float) -> bool:
    """Whether a multiple of ``every`` lies between two shares of the training, or its end does."""
    return math.floor(before / every + 1e-9) < math.floor(after / every + 1e-9) or after >= 1


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, in place of what they do otherwise."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
