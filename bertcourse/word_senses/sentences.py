"""Chapter 5: the course's own sense-labelled sentences: 26 words of two or three senses each.

Senses are named by their keys in WordNet 3.0 (Fellbaum 1998), so that a method can move on to other sense-tagged text.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bertcourse.datasets.data import course_file
from bertcourse.word_senses.keys import SENSE_KEY, Word, sense_word


class SenseExample(NamedTuple):
    """A sentence and the sense that one of its words has.

    Attributes:
        word: (lemma, part of speech), such as ("mouse", "NOUN") for "mice".
        sense_key: the sense's key in WordNet 3.0, such as "mouse%1:05:00::".
        label: a short name for the sense.
        split: "train" or "test".
        text: the sentence.
        start: where the word begins in the text.
        end: where it ends; ``text[start:end]`` is the word.
    """

    word: Word
    sense_key: str
    label: str
    split: str
    text: str
    start: int
    end: int


def sense_sentences() -> list[SenseExample]:
    """1,728 English sentences written for the course, 24 for each of 72 senses of 26 words.

    Returns:
        The sentences by lemma and sense; the first sentence of each sense and every third after it are for testing.

    Source: data/senses/README.md, which also says how hard they are.
    """
    folder = course_file("senses/README.md").parent / "lemmas"
    return [example for path in sorted(folder.glob("*.txt")) for example in read_lemma(path)]


def read_lemma(path: Path) -> Iterator[SenseExample]:
    """The sentences of a file: one per line with its *word* marked, under headings ``## sense key | label``."""
    heading = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if found := re.fullmatch(rf"## ({SENSE_KEY.pattern}) \| (.+)", line):
            heading, position = (found[1], found[found.lastindex]), 0
            continue
        if heading is None or line.count("*") != 2:
            raise ValueError(
                f'{path}, line {number}: expected "## sense key | label", and below it sentences with one *word* '
                f"marked; got {line!r}."
            )
        sense_key, label = heading
        before, word, after = line.split("*")
        yield SenseExample(
            word=sense_word(sense_key),
            sense_key=sense_key,
            label=label,
            split="train" if position % 3 else "test",
            text=before + word + after,
            start=len(before),
            end=len(before + word),
        )
        position += 1
