"""Homework: ``check("1.2", answer)`` says whether an answer is right, or what is wrong with it. ``engine`` is how;
``hw01`` and so on are what."""

from bertcourse.checks.engine import Answer, Call, CheckFailed, NotWritten, check, exercise, random, verify

__all__ = ["Answer", "Call", "CheckFailed", "NotWritten", "check", "exercise", "random", "verify"]
