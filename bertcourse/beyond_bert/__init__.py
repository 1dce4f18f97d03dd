"""Chapter 11: beyond BERT.

The encoder whose departures from BERT are settings (``encoder``), its files (``files``), Muon (``muon``), and what a
run changes, all in one place, for chapter 4's loop to train (``recipes``).
"""
