"""What ``bertcourse benchmark`` runs: models measured on published tasks, in ``word_senses``, ``fine_tuning``,
``retrieval`` and ``blimp``; ``pseudo_likelihood``, the score that ``blimp`` uses; they share ``tables`` and
``paired``."""
