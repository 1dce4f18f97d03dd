"""Data: what the course wrote itself, books, and public sets, fetched once and checked.

``data`` (books, and the course's own files), ``registry`` (public sets), ``ebooks`` and ``semcor`` (pages and tag files
made into text).
"""

from bertcourse.datasets.data import (
    COURSE_DATA,
    book_words,
    books,
    course_file,
    damaged_course_files,
    fetch_book,
    paragraphs,
    parallel_sentences,
    read_books,
    read_xz,
    standard_ebooks,
)

__all__ = [
    "COURSE_DATA",
    "book_words",
    "books",
    "course_file",
    "damaged_course_files",
    "fetch_book",
    "paragraphs",
    "parallel_sentences",
    "read_books",
    "read_xz",
    "standard_ebooks",
]
