"""What both training loops share: ``settings``, ``steps``, ``checkpoints``, ``metering``, ``processes``, ``modes``."""

from bertcourse.training.metering import read_log
from bertcourse.training.steps import Interrupted

__all__ = [
    "Interrupted",
    "read_log",
]
