"""Homework: ``check("1.2", answer)`` says whether an answer is right, or what is wrong with it.

The checks are in ``hw00``, ``hw01``, ``hw02``, ``hw03``, ``hw04``, ``hw05``, ``hw06``, ``hw07``, ``hw10``, ``hw11`` and
``hw12``.
``engine`` runs them, ``values`` compares and describes answers, and ``drawing`` reads what a figure shows.
"""

from bertcourse_homework.engine import (
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
