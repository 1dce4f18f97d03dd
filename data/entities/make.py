"""From the readable sentences to CoNLL's columns.

``python data/entities/make.py`` reads ``sentences.txt`` and writes ``train.conll``, ``dev.conll`` and ``test.conll``: a
word, a tab and its BIO tag on each line, and an empty line after each sentence.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
ENTITY = re.compile(r"\[(PER|ORG|LOC|GPE) ([^][]+)\]")
CLITIC = r"'(?:s|d|m|re|ve|ll)"
WORD = re.compile(rf"{CLITIC}\b|(?:[A-Z]\.)+(?=[\sA-Z])|\d+(?:[.,:]\d+)+|\w+(?:[-']\w+)*|\.\.\.|\S")


def main() -> None:
    """Write the three files."""
    for split, sentences in read_sentences((FOLDER / "sentences.txt").read_text(encoding="utf-8")).items():
        (FOLDER / f"{split}.conll").write_text(to_conll(sentences), encoding="utf-8", newline="\n")


def read_sentences(text: str) -> dict[str, list[str]]:
    """The sentences in brackets under each heading ``## split``."""
    splits = {}
    for line in text.splitlines():
        if line.startswith("## "):
            sentences = splits[line[3:]] = []
        elif line:
            sentences.append(line)
    return splits


def to_conll(sentences: list[str]) -> str:
    """Columns for sentences in brackets."""
    return "".join("".join(f"{word}\t{tag}\n" for word, tag in tagged_words(sentence)) + "\n" for sentence in sentences)


def tagged_words(sentence: str) -> list[tuple[str, str]]:
    """Words and BIO tags of one sentence in brackets.

    >>> tagged_words("[PER Ada Moreno]'s train left.")
    [('Ada', 'B-PER'), ('Moreno', 'I-PER'), ("'s", 'O'), ('train', 'O'), ('left', 'O'), ('.', 'O')]
    """
    pairs, position = [], 0
    for entity in ENTITY.finditer(sentence):
        pairs += [(word, "O") for word in split_words(sentence[position : entity.start()])]
        first, *others = split_words(entity[2])
        pairs += [(first, f"B-{entity[1]}"), *((word, f"I-{entity[1]}") for word in others)]
        position = entity.end()
    return pairs + [(word, "O") for word in split_words(sentence[position:])]


def split_words(text: str) -> list[str]:
    """Words as in CoNLL-2003: punctuation and 's apart, n't apart, hyphens kept.

    >>> split_words("Mary-Jo's cat, 3-0 up, doesn't purr.")
    ['Mary-Jo', "'s", 'cat', ',', '3-0', 'up', ',', 'does', "n't", 'purr', '.']
    """
    apart = re.sub(rf"(?<=\w)(n't|{CLITIC})\b(?!')", r" \1", text)
    return re.findall(rf"n't\b|{WORD.pattern}", apart)


if __name__ == "__main__":
    main()
