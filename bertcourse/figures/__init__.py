"""Figures of the lectures: ``plots``."""
