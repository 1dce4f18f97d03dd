"""Chapter 11: beyond BERT."""
