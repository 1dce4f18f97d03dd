"""Why does a BERT trained on novels let the nearest noun decide about the verb? There it is right nine times in ten.

    BERTCOURSE_DATA=FOLDER python tools/studies/attraction.py     # half a minute

Counts auxiliaries in 354 books that have a noun before them, right before or with one adverb in between, by the number
of both, and the sentences in which they differ (``bertcourse_lab.pretraining.attraction``). What models answer is in
``tools/studies/compare_checkpoints.py``.
"""

import argparse
import itertools
from collections import Counter
from pathlib import Path

import numpy as np

from bertcourse.bert.folders import open_folder
from bertcourse.bert.tokenizer_files import read_tokenizer
from bertcourse.datasets import COURSE_DATA
from bertcourse.pretraining import Corpus
from bertcourse_lab.benchmarks.tables import table_lines, versions, write_table
from bertcourse_lab.pretraining.attraction import (
    PLURAL,
    SINGULAR,
    Numbers,
    pairs_of_noun_and_verb,
    sentences_by_agreement,
)
from bertcourse_lab.pretraining.shards import books_corpus

KINDS = {"singular": SINGULAR, "plural": PLURAL}


def count_pairs(corpus: Corpus) -> dict[str, int]:
    """How many auxiliaries and nouns before them there are, by the number of both, and how many sentences mislead."""
    numbers = Numbers.of(corpus.tokenizer)
    found = Counter()
    for shard in corpus.train:
        _, nouns, verbs = pairs_of_noun_and_verb(shard, numbers)
        found["tokens"] += len(shard.tokens)
        found["auxiliaries"] += int(np.count_nonzero(numbers.verbs[np.asarray(shard.tokens)]))
        found["sentences"] += len(shard.sentences) - 1
        found["misleading sentences"] += len(sentences_by_agreement(shard, numbers)[0])
        for (noun, of_noun), (verb, of_verb) in itertools.product(KINDS.items(), KINDS.items()):
            found[f"{noun} noun, {verb} verb"] += int(np.count_nonzero((nouns == of_noun) & (verbs == of_verb)))
    return dict(found)


def table(found: dict[str, int]) -> str:
    """The counts for people."""
    rows = [[f"{noun} noun", *(f"{found[f'{noun} noun, {verb} verb']:,}" for verb in KINDS)] for noun in KINDS]
    lines = [
        "# Attraction: the nearest noun and the verb",
        "",
        f"In 354 books, {found['tokens']:,} tokens with {found['auxiliaries']:,} auxiliaries, this is how many of "
        "these have a noun before them, by the number of both. The two differ in "
        f"{found['misleading sentences']:,} of {found['sentences']:,} sentences.",
        "",
        *table_lines(["before the verb", "singular verb", "plural verb"], rows),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=COURSE_DATA / "results", help="folder (default: data/results)")
    options = parser.parse_args()
    found = count_pairs(books_corpus(read_tokenizer(open_folder("course")), more=True))
    write_table(options.output, "attraction", {"text": found, "versions": versions()}, table(found))


if __name__ == "__main__":
    main()
