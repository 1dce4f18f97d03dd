"""Chapter 11: what came after BERT, each change by itself."""
