"""Long runs and measurements, and what drives the course.

``cli`` is the ``bertcourse`` command; ``doctor`` says what this machine lacks, ``lectures`` runs and measures
notebooks, ``validation`` compares their numbers within a tolerance, ``pretraining`` has long
runs, and shares ``training`` with ``fine_tuning`` (``tokenizer`` has what the shipped models read with, ``hybrid`` one
model that fills and writes), ``datasets`` fetches public data, and ``benchmarks`` measures models on published tasks.
"""
