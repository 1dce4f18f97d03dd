"""bertcourse: build, measure and explain BERT, one chapter a module.

Read the modules in the order of the lectures, for each imports only earlier ones:
``attention`` (1), ``transformer`` (2), ``tokenization`` (3), ``bert`` (2 and 4: the model, its batches, its files),
``pretraining`` (4: from a text to a trained model), ``senses`` (5, of which the labelled sentences are here already).

Beside the chapters stand ``data`` (public data sets, fetched and checked), ``ebooks`` (a book's pages made into text),
``files`` (written whole, read with care), ``plots`` (figures), ``lectures`` (notebooks run and measured), ``doctor``
(what this machine lacks) and ``cli`` (the ``bertcourse`` command).
"""
