"""Homework: ``check("1.2", answer)`` says whether an answer is right, or what is wrong with it.

What is checked: ``hw00``, ``hw01``, ``hw02``, ``hw03``, ``hw04``, ``hw05``, ``hw06``, ``hw07``, ``hw12``; how:
``engine``, which compares and describes answers by ``values``; what a figure shows: ``drawing``.
"""

from bertcourse.checks.engine import (
    Answer,
    Call,
    CheckFailed,
    NotWritten,
    check,
    exercise,
    hidden_seed,
    random,
    verify,
)

__all__ = ["Answer", "Call", "CheckFailed", "NotWritten", "check", "exercise", "hidden_seed", "random", "verify"]
