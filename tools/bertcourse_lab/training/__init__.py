"""What both training loops share: ``settings``, ``steps``, ``checkpoints``, ``metering``."""

from bertcourse_lab.training.steps import Interrupted

__all__ = ["Interrupted"]
