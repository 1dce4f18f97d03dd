"""bertcourse: build, measure and explain BERT, with one module per chapter, named like its lecture.

The chapters, each of which imports only earlier ones: ``static_embeddings`` (0), ``self_attention`` (1),
``multi_head_attention`` (2), ``tokenization`` (3), ``pretraining`` (4), ``word_senses`` (5), ``anisotropy`` (6),
``fine_tuning`` (7), ``named_entities`` (8), ``question_answering`` (9), ``retrieval`` (10), ``beyond_bert`` (11),
``decoders`` (12).

What they stand on: ``bert`` (the model, its files, its batches; it builds on chapters 2 and 3) and, below all chapters,
``datasets`` (the course's own), ``files`` and ``bootstrap``.

What makes the course run has packages of its own, which no chapter imports: ``bertcourse_figures`` draws,
``bertcourse_homework`` checks answers, ``bertcourse_grading`` grades them, ``bertcourse_lab`` holds long runs, public
data, measurements and the command, and ``bertcourse_slides`` makes decks. (``checks`` and ``training`` are old names.)
"""
