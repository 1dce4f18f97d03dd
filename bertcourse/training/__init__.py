"""What both training loops share: ``settings``, ``steps``, ``checkpoints``, ``metering``, ``modes``."""

from bertcourse.training.metering import read_log
from bertcourse.training.steps import Interrupted

__all__ = [
    "Interrupted",
    "read_log",
]
