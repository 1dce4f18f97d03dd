"""Count which words meet in Standard Ebooks: python data/pairs/make.py (fetches the books once; then some minutes)."""

from collections.abc import Iterator
from pathlib import Path

from bertcourse.datasets.pairs import WordPairs, pack_pairs
from bertcourse.files import replace_files
from bertcourse_lab.counting import count_pairs, frequent_words, word_ids
from bertcourse_lab.datasets.books import book_texts, paragraphs
from bertcourse_lab.pretraining.shards import HELD_OUT_BOOKS, is_slur

WORDS, WINDOW, AT_LEAST = 12_000, 5, 4


def texts() -> Iterator[str]:
    """The paragraphs of all books but those that lectures measure on."""
    for name in ("books", "more-books"):
        for book, text in book_texts(name):
            if book.name not in HELD_OUT_BOOKS:
                yield from paragraphs(text)


def main() -> None:
    """Write words.tsv and pairs.bin.xz."""
    words, word_counts = frequent_words(texts(), WORDS + 100)
    kept = [i for i, word in enumerate(words) if not is_slur(word)][:WORDS]
    words, word_counts = [words[i] for i in kept], word_counts[kept]
    ids = word_ids(texts(), words, gap=WINDOW)
    table = WordPairs.of(words, word_counts, count_pairs(ids, WORDS, WINDOW), AT_LEAST)
    with replace_files(Path(__file__).parent, ["words.tsv", "pairs.bin.xz"]) as draft:
        lines = (f"{word}\t{count}\n" for word, count in zip(words, word_counts))
        (draft / "words.tsv").write_text("".join(lines), encoding="utf-8")
        (draft / "pairs.bin.xz").write_bytes(pack_pairs(table))
    met = table.counts.sum()
    print(f"{WORDS:,} words, {word_counts.sum():,} occurrences; {len(table.counts):,} pairs, which met {met:,} times")


if __name__ == "__main__":
    main()
