"""Homework for instructors: what students get, how their work is graded, and what they get back.

In reading order: ``course`` (the assignments), ``source`` (their notebooks, with nbgrader's markers), ``release`` (the
student tree without solutions), ``submissions`` (whose file is which), ``sandbox`` and ``integrity`` (what student code
may do, and what it must not change), ``kernel`` and ``execution`` (a notebook in a process of its own), ``grading`` (a
batch, with nbgrader's points), ``feedback``, ``export`` and ``command`` (``bertcourse homework``). This folder is left
out of the student release.
"""
