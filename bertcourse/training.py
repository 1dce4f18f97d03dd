"""``read_log`` under its old name, for homework handed out before training moved to ``bertcourse_lab``."""

from bertcourse.pretraining import read_log as read_log
