"""bertcourse: build, measure and explain BERT, one chapter a module.

Read the modules in the order of the lectures, for each imports only earlier ones:
``attention`` (1), ``transformer`` (2), ``tokenization`` (3), ``bert`` (2 and 4), ``pretraining`` (4). Beside the chapters stand ``data``
(public data sets, fetched and checked), ``plots`` (figures) and ``cli`` (the ``bertcourse`` command).
"""
