"""Where Hugging Face's ``tokenizers`` departs from today's Unicode.

Python follows the Unicode version that it was built with; ``tokenizers`` has tables from Unicode 8 (categories), 12
(decomposition and canonical order), 16 (GPT-2's words) and 17 (lower case). Ids are equal only if the two agree, so
unicode_tables.tsv lists the differences. They were found by asking ``tokenizers`` 0.23.3 about each of the 1,112,064
code points and comparing with Unicode 14 and 18, so that the list holds for every Python from 3.11 on.

- "unassigned": marks, punctuation, format characters and letters with a decomposition that are newer than the
  tables of ``tokenizers``, which keeps them as they are.
- "former category": characters whose category has changed since; the value is the old one.
- "reordered mark": marks that are kept (spacing ones, and unassigned ones that its table of decompositions knows) and
  yet take part in canonical ordering; also the musical notes that decompose into such marks.
- "later lower case": lower case that Unicode 14 does not have yet; the value is that of the first character.
- "Chinese": the blocks that BERT calls Chinese. Extension E (2B820-2CEAF) begins 256 characters late: a slip in
  ``tokenizers`` on which the ids of every model trained with it depend.
- "after Unicode 16": letters and numbers of Unicode 17 and 18, which ``tokenizers`` takes for neither.
"""

import csv
from functools import lru_cache
from importlib import resources
from typing import NamedTuple


class CodePoints(NamedTuple):
    """A range of code points, both ends included, and what the table says about it."""

    first: int
    last: int
    value: str


@lru_cache
def unicode_table(name: str) -> tuple[CodePoints, ...]:
    """The ranges of one of the tables above.

    >>> unicode_table("former category")[0]
    CodePoints(first=5741, last=5741, value='Po')
    """
    with (resources.files("bertcourse.datasets") / "unicode_tables.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["table"] == name]
    return tuple(CodePoints(int(row["first"], 16), int(row["last"], 16), row["value"]) for row in rows)
