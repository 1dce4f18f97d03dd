"""What ``bertcourse benchmark`` runs: published tasks, measured: ``word_senses``, ``fine_tuning``, ``retrieval``,
``blimp``; what ``blimp`` adds up, ``pseudo_likelihood``; and ``tables``, which they share."""
