"""bertcourse: build, measure and explain BERT, one chapter a module.

Read the modules in the order of the lectures, for each imports only earlier ones:
``attention`` (1), ``transformer`` (2), ``tokenization`` (3), ``bert`` (2 and 4: the model, its batches, its files),
``pretraining`` (4: from a text to a trained model), ``embeddings`` and ``senses`` (5), ``anisotropy`` (6),
``finetuning`` (7 to 9: classes, entities, answers), ``retrieval`` (10: BM25, vectors, reranking).

Beside the chapters stand ``data`` (books, and what the course wrote), ``registry`` (public data sets, fetched and
checked), ``ebooks`` and ``semcor`` (pages and tag files made into text), ``wsd_benchmark`` (a published table,
measured), ``bootstrap`` (is a difference more than luck?), ``files`` (written whole, read with care), ``plots``
(figures), ``lectures`` (notebooks run and measured), ``doctor`` (what this machine lacks) and ``cli`` (the
``bertcourse`` command).
"""
