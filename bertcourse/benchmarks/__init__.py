"""What ``bertcourse benchmark`` runs: published tasks, measured: ``word_senses``, ``fine_tuning``, ``retrieval``."""
