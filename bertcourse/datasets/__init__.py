"""Data: the course's own, and books, fetched once and checked. Public sets are the lab's.

``data`` has the course's own files and the books, which ``ebooks`` turns into text. ``pairs`` reads which words occur
near one another in the books, and ``agreement`` reads sentences on subject and verb. ``unicode_tables`` lists where
Hugging Face's tokenizers depart from today's Unicode.
"""

from bertcourse.datasets.agreement import AgreementSentence, agreement_sentences
from bertcourse.datasets.data import (
    COURSE_DATA,
    book_texts,
    book_words,
    books,
    course_file,
    damaged_course_files,
    fetch_book,
    paragraphs,
    parallel_sentences,
    read_books,
    read_text,
    standard_ebooks,
)
from bertcourse.datasets.pairs import WordPairs, word_pairs

__all__ = [
    "AgreementSentence",
    "COURSE_DATA",
    "WordPairs",
    "agreement_sentences",
    "book_texts",
    "book_words",
    "books",
    "course_file",
    "damaged_course_files",
    "fetch_book",
    "paragraphs",
    "parallel_sentences",
    "read_books",
    "read_text",
    "standard_ebooks",
    "word_pairs",
]
