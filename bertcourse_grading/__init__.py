"""Homework for instructors: what students get, how their work is graded, and what they get back.

In reading order. The assignments: ``course``, ``source`` (their notebooks, with nbgrader's markers), ``release`` (the
student tree without solutions). What is handed in: ``names`` (told apart, safe to show), ``archive`` (zips),
``submissions`` (whose file is which). Who answers and who asks, in processes of their own: ``wire`` (plain values),
``judge``, ``judge_client`` (the grader's end of it), ``sandbox`` (what student code may do), ``walls`` (what other
programs add to that), ``kernel``, ``channel`` (what it says, read frame by frame), ``cleaning`` (what is left behind),
``process`` (the kernel, watched), ``execution`` (a whole notebook within limits). What is kept: ``reports``, ``disk``
(full ones), ``gradebook``, ``grading`` (a batch, with nbgrader's points), ``feedback``, ``export``; and ``command``
(``bertcourse homework``). This folder is left out of the student release.
"""
