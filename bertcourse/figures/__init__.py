"""Figures of the lectures: ``plots``, which offers ``words`` and ``hover``, too; all in the same ``colors``."""
