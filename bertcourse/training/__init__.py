"""What both training loops share: ``settings``, ``loop``, ``checkpoints``, ``metering``, ``processes``, ``modes``."""

from bertcourse.training.loop import Interrupted
from bertcourse.training.metering import read_log

__all__ = [
    "Interrupted",
    "read_log",
]
