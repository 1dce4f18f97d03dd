"""The course's own data. Public sets and whole books are the lab's.

``data`` finds the course's files. ``pairs`` reads which words occur near one another in books, and ``agreement`` reads
sentences on subject and verb. ``unicode_tables`` lists where Hugging Face's tokenizers depart from today's Unicode.
"""

from bertcourse.datasets.agreement import AgreementSentence, agreement_sentences
from bertcourse.datasets.data import (
    COURSE_DATA,
    book_words,
    course_file,
    parallel_sentences,
    read_text,
)
from bertcourse.datasets.pairs import WordPairs, word_pairs

__all__ = [
    "AgreementSentence",
    "COURSE_DATA",
    "WordPairs",
    "agreement_sentences",
    "book_words",
    "course_file",
    "parallel_sentences",
    "read_text",
    "word_pairs",
]
