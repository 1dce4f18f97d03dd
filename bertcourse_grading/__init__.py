"""Homework for instructors: what students get, how their work is graded, and what they get back.

In reading order: ``course`` (the assignments), ``source`` (their notebooks, with nbgrader's markers), ``release`` (the
student tree without solutions), ``submissions`` (whose file is which), ``sandbox`` (what student code may do),
``wire``, ``kernel`` and ``judge`` (who answers, and who asks, in processes of their own), ``execution`` (a notebook
within limits), ``grading`` (a batch, with nbgrader's points), ``feedback``, ``export`` and ``command`` (``bertcourse
homework``). This folder is left out of the student release.
"""
