"""Long pretraining runs: chapter 4's loop with processes, checkpoints and a log around it.

``trainer`` runs it, ``command`` is ``bertcourse pretrain``, ``checkpoints`` saves and resumes, ``shards`` reads large
texts, ``cost`` counts arithmetic. Chapter 11's runs: ``recipes`` and ``electra_evaluation``; ``attraction`` and
``growth`` are for a longer one.
"""
