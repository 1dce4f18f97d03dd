"""Chapter 8: entities as brackets and as tags on words.

    brackets  [PER Jane Villanueva] of [ORG United]
    BIO       B-PER I-PER O B-ORG

A tagger that decides word by word may write tags that BIO does not allow, such as O I-PER. ``read_tags`` repairs them
as the script of CoNLL does, and seqeval's default mode: a tag that continues nothing begins an entity. That rule also
reads the older notation of CoNLL-2003, in which B- only stands where an entity follows one of its own type.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Entity(NamedTuple):
    """A span of words with a type such as "PER": from word ``start`` up to, but not including, word ``end``."""

    type: str
    start: int
    end: int


def write_tags(entities: Sequence[Entity], length: int) -> list[str]:
    """A BIO tag for each word of a sentence of ``length`` words, of which no two entities share one.

    Source: Ramshaw & Marcus 1995 for the idea; Ratnaparkhi 1998 for this form.

    >>> write_tags([Entity("PER", 0, 2), Entity("PER", 2, 3)], length=4)
    ['B-PER', 'I-PER', 'B-PER', 'O']
    """
    tags = ["O"] * length
    for kind, start, end in entities:
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


def read_tags(tags: Sequence[str]) -> list[Entity]:
    """The entities that tags stand for; what BIO does not allow is repaired, by the rule at the top of this file.

    Source: ``conlleval`` of Tjong Kim Sang & Buchholz 2000; Nakayama 2018, "seqeval", its default mode.

    >>> read_tags(["O", "I-PER", "I-PER", "I-LOC"])
    [Entity(type='PER', start=1, end=3), Entity(type='LOC', start=3, end=4)]
    """
    entities: list[Entity] = []
    before = "O"
    for number, tag in enumerate(tags):
        if tag[0] == "I" and before[0] in "BI" and before[2:] == tag[2:]:
            entities[-1] = entities[-1]._replace(end=number + 1)
        elif tag != "O":
            entities.append(Entity(tag[2:], number, number + 1))
        before = tag
    return entities


def tag_set(types: Sequence[str]) -> list[str]:
    """All tags for some types of entities: the labels of a tagger.

    >>> tag_set(["PER", "ORG"])
    ['O', 'B-PER', 'I-PER', 'B-ORG', 'I-ORG']
    """
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")]


def read_brackets(text: str) -> tuple[list[str], list[Entity]]:
    """The words and entities of a text with brackets, with types in capitals and punctuation marks as words.

    Source: Jurafsky & Martin, "Speech and Language Processing", 3rd edition, chapter 17.

    >>> read_brackets("[PER Jane] of [ORG United Airlines]")
    (['Jane', 'of', 'United', 'Airlines'], [Entity(type='PER', start=0, end=1), Entity(type='ORG', start=2, end=4)])
    """
    words: list[str] = []
    entities: list[Entity] = []
    inside: tuple[str, int] | None = None  # the entity that is open: its type, and its first word
    for piece in text.split():
        if re.fullmatch(r"\[[A-Z]+", piece):
            if inside:
                raise ValueError(
                    f"an entity must end with ] before the next begins; {piece} is inside {inside[0]}. Put a space "
                    "after the bracket."
                )
            inside = piece[1:], len(words)
        elif inside and piece.endswith("]"):
            words += [piece[:-1]] if piece != "]" else []
            if len(words) == inside[1]:
                raise ValueError(f"an entity must have a word; got [{inside[0]} ].")
            entities.append(Entity(*inside, len(words)))
            inside = None
        else:
            words.append(piece)
    if inside:
        raise ValueError(
            f"every entity must end with ]; [{inside[0]} at word {inside[1]} does not. Put a space after the bracket."
        )
    return words, entities


def write_brackets(words: Sequence[str], entities: Sequence[Entity]) -> str:
    """The text that ``read_brackets`` reads.

    >>> write_brackets(["Jane", "of", "United"], [Entity("PER", 0, 1)])
    '[PER Jane] of United'
    """
    pieces = list(words)
    for entity in entities:
        pieces[entity.start] = f"[{entity.type} {pieces[entity.start]}"
        pieces[entity.end - 1] += "]"
    return " ".join(pieces)
