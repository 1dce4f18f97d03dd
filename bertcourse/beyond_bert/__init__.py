"""Chapter 11: what came after BERT, and what each change is worth."""
