"""Homework for instructors: what students get, how their work is graded, and what they get back; and ``exam``, the bank
of exam questions.

The modules, in reading order. The assignments: ``course``, ``source`` (their notebooks, with nbgrader's markers),
``release`` (the student tree without solutions). What is handed in: ``names`` (kept distinct and safe to show),
``archive`` (zips), ``submissions`` (whose file is which). The processes that answer and ask: ``wire`` (the plain values
they exchange), ``judge``, ``judge_client`` (the grader's end of it), ``sandbox`` (what student code may do), ``walls``
(what other programs add to that), ``kernel``, ``channel`` (the kernel's messages, read frame by frame), ``cleaning``
(removing what is left behind), ``process`` (the kernel, watched), ``execution`` (a whole notebook within limits). What
is kept: ``reports``, ``disk`` (when it is full), ``gradebook``, ``grading`` (a batch, with nbgrader's points),
``feedback``, ``export``. The command line: ``command`` (``bertcourse homework``). This folder is left out of the
student release.
"""
