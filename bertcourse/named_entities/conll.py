"""Chapter 8: tagged sentences from CoNLL columns."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from bertcourse.fine_tuning.readers import at_least_one, invalid_line, read_lines
from bertcourse.named_entities.tags import read_tags, write_tags


class TaggedSentence(NamedTuple):
    """A sentence with a tag for each word, and the number of its document within the file."""

    words: Sequence[str]
    tags: Sequence[str]
    document: int = 0


def read_conll(path: str | os.PathLike) -> list[TaggedSentence]:
    """Sentences with BIO tags, from a file with one word per line and an empty line between sentences.

    Args:
        path: a UTF-8 file; its lines have 2 columns (word, tag) or, as in CoNLL-2003, 4 (word, part of speech, chunk,
            tag), separated by tabs or spaces. A line that begins with -DOCSTART- begins a document. Tags that BIO does
            not allow, such as those of CoNLL-2003, are repaired by the rule in ``tags``.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming the file (and the line), if it is not in this format or holds no example.

    Source: Tjong Kim Sang & De Meulder 2003, "Introduction to the CoNLL-2003 Shared Task".
    """
    sentences: list[TaggedSentence] = []
    words: list[str] = []
    tags: list[str] = []
    document = num_columns = 0

    def end_sentence() -> None:
        if words:
            sentences.append(TaggedSentence(words.copy(), write_tags(read_tags(tags), len(tags)), document))
            words.clear(), tags.clear()

    for number, line in read_lines(path, keep_empty=True):
        if not line.strip() or line.startswith("-DOCSTART-"):
            end_sentence()
            if line.strip() and sentences:
                document = sentences[-1].document + 1
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        num_columns = num_columns or len(fields)
        if len(fields) != num_columns or num_columns not in (2, 4) or not fields[0].strip():
            columns = f"{num_columns} columns, as the lines before" if num_columns in (2, 4) else "2 or 4 columns"
            raise invalid_line(path, number, f"a word and its tag in {columns}", line)
        if not re.fullmatch(r"O|[BI]-\S+", fields[-1].strip()):
            raise invalid_line(path, number, "a tag like O, B-PER or I-PER at the end", line)
        words.append(fields[0].strip())
        tags.append(fields[-1].strip())
    end_sentence()
    return at_least_one(sentences, path)
