"""Chapter 8: entities as tags on words.

An entity is a span of words with a type. Five notations say the same thing, or nearly:

    BRACKET  [PER Jane Villanueva] of [ORG United]
    IO       I-PER I-PER O I-ORG           adjacent entities of one type merge
    IOB1     I-PER I-PER O I-ORG           B- only where an entity follows one of its own type
    BIO      B-PER I-PER O B-ORG
    BIOES    B-PER E-PER O S-ORG

A model may write tags that no notation allows, such as O I-PER. One repair rule reads them all, that of the CoNLL
script and of seqeval's default mode: an entity begins at B- or S-, and at any other tag that does not continue the one
before it, that is, after O, E-, S- or a tag of another type; it lasts until the next beginning or O. Strict reading
repairs nothing: only what the notation's own rules allow is an entity.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

SCHEMES = {"IO": "IO", "IOB1": "IOB", "BIO": "IOB", "BIOES": "IOBES"}  # the prefixes of each
TAG = re.compile(r"O|[BIES]-\S+")
OUTSIDE = ("O", "")  # prefix and type of O


class Entity(NamedTuple):
    """A span of words with a type such as "PER": from word ``start`` up to, but not including, word ``end``."""

    type: str
    start: int
    end: int


def write_tags(entities: Sequence[Entity], length: int, scheme: str = "BIO") -> list[str]:
    """A tag for each word of a sentence.

    Args:
        entities: of the sentence.
        length: its number of words.
        scheme: one of ``SCHEMES``.

    Source: Ramshaw & Marcus 1995 for IOB1; Ratnaparkhi 1998 for BIO; Borthwick 1999 for BIOES.

    >>> write_tags([Entity("PER", 0, 2), Entity("PER", 2, 3)], length=4, scheme="IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    check_scheme(scheme)
    tags = ["O"] * length
    before = Entity("", -1, -1)
    for entity in sorted_entities(entities, length):
        size = entity.end - entity.start
        if scheme == "BIOES":
            prefixes = "S" if size == 1 else "B" + "I" * (size - 2) + "E"
        elif scheme == "BIO" or scheme == "IOB1" and (entity.type, entity.start) == (before.type, before.end):
            prefixes = "B" + "I" * (size - 1)
        else:
            prefixes = "I" * size
        tags[entity.start : entity.end] = [f"{prefix}-{entity.type}" for prefix in prefixes]
        before = entity
    return tags


def read_tags(tags: Sequence[str], scheme: str | None = None) -> list[Entity]:
    """The entities that tags stand for.

    Args:
        tags: one per word, in any notation.
        scheme: None reads any notation and repairs what is not allowed, by the rule at the top of this file; one of
            ``SCHEMES`` reads that notation strictly.

    Source: ``conlleval`` of Tjong Kim Sang & Buchholz 2000; Nakayama 2018, "seqeval", its default and strict modes.

    >>> read_tags(["O", "I-PER", "I-PER", "I-LOC"])
    [Entity(type='PER', start=1, end=3), Entity(type='LOC', start=3, end=4)]
    >>> read_tags(["O", "I-PER", "I-PER", "B-LOC"], scheme="BIO")
    [Entity(type='LOC', start=3, end=4)]
    """
    if scheme is not None:
        return read_strictly(tags, scheme)
    entities: list[Entity] = []
    before = OUTSIDE
    for position, here in enumerate(map(split_tag, tags)):
        if goes_on(before, here):
            entities[-1] = entities[-1]._replace(end=position + 1)
        elif here != OUTSIDE:
            entities.append(Entity(here[1], position, position + 1))
        before = here
    return entities


def split_tag(tag: str, prefixes: str = "IOBES") -> tuple[str, str]:
    """Prefix and type of a tag, whose prefix must be one of ``prefixes``.

    >>> split_tag("B-creative-work")
    ('B', 'creative-work')
    """
    if not TAG.fullmatch(tag) or tag[0] not in prefixes:
        examples = ", ".join(f"{prefix}-PER" if prefix != "O" else "O" for prefix in prefixes)
        raise ValueError(f"a tag must be one like {examples}; got {tag!r}.")
    return tag[0], tag[2:]


def goes_on(before: tuple[str, str], here: tuple[str, str]) -> bool:
    """Whether a tag continues the entity of the tag before it."""
    return before[0] in "BI" and here[0] in "IE" and before[1] == here[1]


def read_strictly(tags: Sequence[str], scheme: str) -> list[Entity]:
    """The entities that begin, go on and end by a notation's own rules, as seqeval's strict mode reads them."""
    check_scheme(scheme)
    pairs = [split_tag(tag, SCHEMES[scheme]) for tag in tags]
    entities: list[Entity] = []
    inside = False
    for position, (before, here) in enumerate(zip([OUTSIDE, *pairs], pairs)):
        if inside and goes_on(before, here):
            entities[-1] = entities[-1]._replace(end=position + 1)
        elif inside := begins_strictly(before, here, scheme):
            entities.append(Entity(here[1], position, position + 1))
    following = [*pairs[1:], OUTSIDE]
    return [each for each in entities if ends_strictly(pairs[each.end - 1], following[each.end - 1], scheme)]


def begins_strictly(before: tuple[str, str], here: tuple[str, str], scheme: str) -> bool:
    """Whether an entity begins here. In IOB1, seqeval lets one begin at I- after any B-."""
    if here == OUTSIDE:
        return False
    if scheme == "IO":
        return not goes_on(before, here)
    if scheme == "IOB1":
        after_its_type = before != OUTSIDE and before[1] == here[1]
        return after_its_type if here[0] == "B" else before[0] == "B" or not after_its_type
    return here[0] in "BS"


def ends_strictly(last: tuple[str, str], following: tuple[str, str], scheme: str) -> bool:
    """Whether an entity may end with this tag."""
    if scheme == "BIOES":
        return last[0] in "ES"
    return scheme != "IOB1" or not (last[0] == following[0] == "B" and last[1] != following[1])


def check_scheme(scheme: str) -> None:
    """Refuse an unknown notation."""
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}.")


def sorted_entities(entities: Sequence[Entity], length: int) -> list[Entity]:
    """Entities from left to right; one that has no words, leaves the sentence or overlaps another is refused."""
    entities, end = sorted(entities, key=lambda entity: entity.start), 0
    for entity in entities:
        if not end <= entity.start < entity.end <= length:
            raise ValueError(
                f"entities must be spans of words from 0 to {length}, at least one word each and none in another; got "
                f"{tuple(entity)}, and the one before it ends at {end}."
            )
        if not re.fullmatch(r"\S+", entity.type):
            raise ValueError(f"an entity's type must be a word without spaces; got {entity.type!r}.")
        end = entity.end
    return entities


def convert_tags(tags: Sequence[str], scheme: str) -> list[str]:
    """The same entities in another notation, one of ``SCHEMES``; what the old one does not allow is repaired.

    >>> convert_tags(["I-PER", "I-PER", "O", "I-ORG"], "BIOES")
    ['B-PER', 'E-PER', 'O', 'S-ORG']
    """
    return write_tags(read_tags(tags), len(tags), scheme)


def tag_set(types: Sequence[str], scheme: str = "BIO") -> list[str]:
    """All tags for some types of entities: the labels of a tagger.

    >>> tag_set(["PER", "ORG"])
    ['O', 'B-PER', 'I-PER', 'B-ORG', 'I-ORG']
    """
    check_scheme(scheme)
    if isinstance(types, str) or len(set(types)) != len(list(types)):
        raise ValueError(f'types must be a list of different names, such as ["PER"]; got {types!r:.60}.')
    prefixes = sorted(set(SCHEMES[scheme]) - {"O"}, key="BIES".index)
    return ["O", *(f"{prefix}-{type_}" for type_ in types for prefix in prefixes)]


def entity_types(tags: Sequence[str]) -> list[str]:
    """The types of entities in tags of any notation, in order of appearance.

    >>> entity_types(["O", "B-PER", "I-PER", "B-ORG"])
    ['PER', 'ORG']
    """
    return list(dict.fromkeys(type_ for prefix, type_ in map(split_tag, tags) if prefix != "O"))


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
    """The text that ``read_brackets`` reads; anything that it would read differently is refused.

    >>> write_brackets(["Jane", "of", "United"], [Entity("PER", 0, 1)])
    '[PER Jane] of United'
    """
    entities = sorted_entities(entities, len(words))
    pieces = list(words)
    for entity in entities:
        pieces[entity.start] = f"[{entity.type} {pieces[entity.start]}"
        pieces[entity.end - 1] += "]"
    text = " ".join(pieces)
    in_capitals = all(re.fullmatch("[A-Z]+", entity.type) for entity in entities)
    if not in_capitals or read_brackets(text) != (list(words), entities):
        raise ValueError(
            f"brackets need types in capitals, such as PER, and words without brackets; got {text!r}. Use tags."
        )
    return text
