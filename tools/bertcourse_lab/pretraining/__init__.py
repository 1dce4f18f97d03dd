"""Long pretraining runs: chapter 4's loop with processes, checkpoints and a log around it.

``config`` has the settings, ``trainer`` runs the loop, ``command`` is ``bertcourse pretrain``, ``checkpoints`` saves
and resumes. ``rows``, ``masking`` and ``batches`` make the batches, ``objective`` is the loss, ``starts`` the model to
begin with; ``evaluation`` and ``processes`` share the work, ``shards`` reads large texts, ``cost`` counts arithmetic,
``sense_probe`` asks a model of the small world.
For chapter 11: ``recipes`` and ``electra_evaluation``; ``attraction`` and ``growth`` are for a longer run.
"""
