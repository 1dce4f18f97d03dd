"""Lecture 7's loop with everything around it that a long run needs: a schedule, measurements on dev that keep the best
weights, frozen layers, checkpoints, a log and a progress bar; for every head of chapters 7 to 10.

In reading order: ``config``, ``freezing``, ``batches``, ``trainer``.
"""

from bertcourse_lab.fine_tuning.config import FineTuningConfig
from bertcourse_lab.fine_tuning.freezing import freeze
from bertcourse_lab.fine_tuning.trainer import FineTuned, fine_tune

__all__ = ["FineTuned", "FineTuningConfig", "fine_tune", "freeze"]
