"""What both training loops share: ``seeds``, ``signals``, ``state``, ``metering``, ``processes``."""

from bertcourse.training.metering import read_log
from bertcourse.training.signals import Interrupted

__all__ = [
    "Interrupted",
    "read_log",
]
