"""bertcourse: build, measure and explain BERT, with one module per chapter, named like its lecture.

The chapters, each of which imports only earlier ones: ``static_embeddings`` (0), ``self_attention`` (1),
``multi_head_attention`` (2), ``tokenization`` (3), ``pretraining`` (4), ``word_senses`` (5), ``anisotropy`` (6),
``fine_tuning`` (7), ``named_entities`` (8), ``question_answering`` (9), ``retrieval`` (10), ``beyond_bert`` (11),
``decoders`` (12).

Shared modules: ``bert`` (the model, its files, its batches; it builds on chapters 2 and 3) and, below all chapters,
``training`` (what both training loops share), ``datasets`` (our own sets, public ones, books), ``files`` and
``bootstrap``.
Above them: ``figures`` (what the lectures draw), ``benchmarks`` (what ``bertcourse benchmark`` runs), ``checks``
(homework), ``lectures`` (running and measuring notebooks), ``slides`` (decks made from notebooks), ``validation``
(comparing the numbers in notebooks within a tolerance), ``doctor`` (what this machine lacks) and ``cli``.
"""
