"""What ``bertcourse benchmark`` runs: published tasks, measured: ``word_senses``, ``fine_tuning``, ``retrieval``; and
``tables``, which they share."""
