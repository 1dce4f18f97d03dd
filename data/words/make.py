"""Count the words of Standard Ebooks: python data/words/make.py (fetches the books once, then takes half a minute)."""

import lzma
from collections import Counter
from pathlib import Path

from bertcourse.tokenization import count_words, normalized_words
from bertcourse_lab.datasets.books import books, paragraphs, standard_ebooks
from bertcourse_lab.pretraining.shards import is_slur

HELD_OUT = "herman-melville_moby-dick"


def cased_words(text: str) -> list[str]:
    """BERT's words, with case and accents."""
    return normalized_words(text, lowercase=False)


counts = {True: Counter(), False: Counter()}
for book, text in books(standard_ebooks()):
    counts[book.name == HELD_OUT].update(count_words(paragraphs(text), cased_words))
words = sorted(word for word in counts[True] | counts[False] if not is_slur(word.lower()))
table = "".join(f"{word}\t{counts[False][word]}\t{counts[True][word]}\n" for word in words)
Path(__file__).with_name("words.tsv.xz").write_bytes(lzma.compress(table.encode(), preset=9 | lzma.PRESET_EXTREME))
print(f"{len(words):,} words, {sum(counts[False].values()):,} + {sum(counts[True].values()):,} occurrences")
