"""Chapter 8: entities as tags on words, tags on subwords, and how well they were found.

An entity is a span of words with a type. Five notations say the same, or nearly:

    BRACKET  [PER Jane Villanueva] of [ORG United]
    IO       I-PER I-PER O I-ORG           neighbours of one type melt into one
    IOB1     I-PER I-PER O I-ORG           B- only where an entity follows one of its own type
    BIO      B-PER I-PER O B-ORG
    BIOES    B-PER E-PER O S-ORG

A model may write tags that no notation allows, such as O I-PER. One repair rule reads them all, that of the CoNLL
script and of seqeval's default mode: an entity begins at B- or S-, and at any other tag that does not continue the one
before, which is so after O, E-, S- or a tag of another type; it goes on to the next beginning or O. Strict reading
repairs nothing: what is not an entity by the notation's own rules is none.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bertcourse.bootstrap import Comparison, compare

SCHEMES = {"IO": "IO", "IOB1": "IOB", "BIO": "IOB", "BIOES": "IOBES"}  # the prefixes of each
TAG = re.compile(r"O|[BIES]-\S+")
SUBWORDS = ("first", "all", "copy")  # which tokens of a word have a tag, and which


class Entity(NamedTuple):
    """A span of words with a type.

    Attributes:
        type: such as "PER".
        start, end: from the word ``start`` to before ``end``.
    """

    type: str
    start: int
    end: int


def read_brackets(text: str) -> tuple[list[str], list[Entity]]:
    """Words and entities of a text with brackets.

    Args:
        text: words with blanks between them; "[PER Jane Villanueva]" is an entity, its type in capitals.

    Returns:
        ``(words, entities)``.

    Raises:
        ValueError: if a bracket is not closed, has no word in it, or another begins inside.

    Source: Jurafsky & Martin, "Speech and Language Processing", 3rd edition, chapter 17.

    >>> read_brackets("[PER Jane] of [ORG United Airlines]")
    (['Jane', 'of', 'United', 'Airlines'], [Entity(type='PER', start=0, end=1), Entity(type='ORG', start=2, end=4)])
    """
    words: list[str] = []
    entities: list[Entity] = []
    open_at: tuple[str, int] | None = None
    for piece in text.split():
        if re.fullmatch(r"\[[A-Z]+", piece):
            if open_at:
                raise ValueError(
                    f"an entity must end with ] before the next begins; {piece} stands inside {open_at[0]}."
                )
            open_at = piece[1:], len(words)
        elif open_at and piece.endswith("]"):
            words += [piece[:-1]] if piece != "]" else []
            if len(words) == open_at[1]:
                raise ValueError(f"an entity must have a word; got [{open_at[0]} ].")
            entities.append(Entity(*open_at, len(words)))
            open_at = None
        else:
            words.append(piece)
    if open_at:
        raise ValueError(f"every entity must end with ]; [{open_at[0]} at word {open_at[1]} does not.")
    return words, entities


def write_brackets(words: Sequence[str], entities: Sequence[Entity]) -> str:
    """The text that ``read_brackets`` reads.

    Args:
        words: of a sentence.
        entities: its entities, none inside another.

    Raises:
        ValueError: if an entity is not within the words, its type is not in capitals, two overlap, or a word has
            brackets that would be misread.

    Source: Jurafsky & Martin, chapter 17.

    >>> write_brackets(["Jane", "of", "United"], [Entity("PER", 0, 1)])
    '[PER Jane] of United'
    """
    entities = check_entities(entities, len(words))
    if others := {entity.type for entity in entities if not re.fullmatch("[A-Z]+", entity.type)}:
        raise ValueError(
            f"types must be written in capitals A to Z in brackets, such as PER; got {', '.join(sorted(others))}. "
            f"Use tags."
        )
    pieces = list(words)
    for entity in entities:
        pieces[entity.start] = f"[{entity.type} {pieces[entity.start]}"
        pieces[entity.end - 1] += "]"
    text = " ".join(pieces)
    if read_brackets(text) != (list(words), entities):
        raise ValueError(f"words with brackets of their own cannot be told from entities; got {' '.join(words)!r}.")
    return text


def check_entities(entities: Sequence[Entity], length: int) -> list[Entity]:
    """Entities in order of place.

    Raises:
        ValueError: if one has no word, lies outside the sentence, or overlaps another.
    """
    entities, end = sorted(entities, key=lambda entity: entity.start), 0
    for entity in entities:
        if not end <= entity.start < entity.end <= length:
            raise ValueError(
                f"entities must be spans of words from 0 to {length}, at least one word each and none in another; got "
                f"{tuple(entity)}, and the one before it ends at {end}."
            )
        end = entity.end
    return entities


def write_tags(entities: Sequence[Entity], length: int, scheme: str = "BIO") -> list[str]:
    """A tag for each word.

    Args:
        entities: of a sentence.
        length: its number of words.
        scheme: one of ``SCHEMES``.

    Raises:
        ValueError: if an entity is not within the words, two overlap, or there is no such scheme.

    Source: Ramshaw & Marcus 1995 for IOB1; Ratnaparkhi 1998 for BIO; Borthwick 1999 for BIOES.

    >>> write_tags([Entity("PER", 0, 2), Entity("PER", 2, 3)], length=4, scheme="IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    check_scheme(scheme)
    tags = ["O"] * length
    before = Entity("", -1, -1)
    for entity in check_entities(entities, length):
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
        tags: one a word, in any notation.
        scheme: None reads any notation and repairs what is not allowed, by the rule at the top of this file; one of
            ``SCHEMES`` reads that notation strictly.

    Raises:
        ValueError: if a tag is none, or, read strictly, not of the scheme.

    Source: ``conlleval`` of Tjong Kim Sang & Buchholz 2000; Nakayama 2018, "seqeval", its default and strict modes.

    >>> read_tags(["O", "I-PER", "I-PER", "I-LOC"])
    [Entity(type='PER', start=1, end=3), Entity(type='LOC', start=3, end=4)]
    >>> read_tags(["O", "I-PER", "I-PER", "B-LOC"], scheme="BIO")
    [Entity(type='LOC', start=3, end=4)]
    """
    if scheme is not None:
        check_scheme(scheme)
    pairs = [split_tag(tag, SCHEMES[scheme] if scheme else "IOBES") for tag in tags]
    begins = repaired_beginning if scheme in (None, "IO") else STRICT_BEGINNING[scheme]
    entities: list[Entity] = []
    position, before = 0, ("O", "")
    while position < len(pairs):
        here = pairs[position]
        if here[0] == "O" or not begins(before, here):
            before, position = here, position + 1
            continue
        end = position + 1
        while end < len(pairs) and goes_on(pairs[end - 1], pairs[end]):
            end += 1
        if scheme is None or is_whole(pairs[end - 1], pairs[end] if end < len(pairs) else ("O", ""), scheme):
            entities.append(Entity(here[1], position, end))
        before, position = pairs[end - 1], end
    return entities


def split_tag(tag: str, prefixes: str = "IOBES") -> tuple[str, str]:
    """Prefix and type of a tag.

    Args:
        tag: "O" or such as "B-PER".
        prefixes: that are allowed.

    Raises:
        ValueError: if it is neither, or has another prefix.

    Source: Ramshaw & Marcus 1995.

    >>> split_tag("B-creative-work")
    ('B', 'creative-work')
    """
    if not TAG.fullmatch(tag) or tag[0] not in prefixes:
        examples = ", ".join(f"{prefix}-PER" if prefix != "O" else "O" for prefix in prefixes)
        raise ValueError(f"a tag must be one like {examples}; got {tag!r}.")
    return tag[0], tag[2:]


def goes_on(before: tuple[str, str], here: tuple[str, str]) -> bool:
    """Whether a tag continues the entity of the one before."""
    return before[0] in "BI" and here[0] in "IE" and before[1] == here[1]


def repaired_beginning(before: tuple[str, str], here: tuple[str, str]) -> bool:
    """Whether an entity begins here, by the repair rule."""
    return here[0] != "O" and not goes_on(before, here)


# Whether an entity begins here, by each notation's own rules. seqeval lets one begin at I- after any B- in IOB1.
STRICT_BEGINNING = {
    "BIO": lambda before, here: here[0] == "B",
    "BIOES": lambda before, here: here[0] in "BS",
    "IOB1": lambda before, here: (
        before[0] in "IB" and before[1] == here[1] if here[0] == "B" else before[0] in "OB" or before[1] != here[1]
    ),
}


def is_whole(last: tuple[str, str], following: tuple[str, str], scheme: str) -> bool:
    """Whether an entity that ends so is one, read strictly."""
    if scheme == "BIOES":
        return last[0] in "ES"
    return scheme != "IOB1" or not (last[0] == following[0] == "B" and last[1] != following[1])


def check_scheme(scheme: str) -> None:
    """Refuse an unknown notation.

    Raises:
        ValueError: naming those there are.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}.")


def convert_tags(tags: Sequence[str], scheme: str) -> list[str]:
    """The same entities in another notation; what is not allowed in the old one is repaired.

    Args:
        tags: one a word, in any notation.
        scheme: of the result, one of ``SCHEMES``.

    Raises:
        ValueError: if a tag is none, or there is no such scheme.

    Source: as ``read_tags`` and ``write_tags``.

    >>> convert_tags(["I-PER", "I-PER", "O", "I-ORG"], "BIOES")
    ['B-PER', 'E-PER', 'O', 'S-ORG']
    """
    return write_tags(read_tags(tags), len(tags), scheme)


def tag_set(types: Sequence[str], scheme: str = "BIO") -> list[str]:
    """All tags for some types of entities: the labels of a tagger.

    Args:
        types: such as ["PER", "ORG"].
        scheme: one of ``SCHEMES``.

    Raises:
        ValueError: if there is no such scheme.

    Source: as ``write_tags``.

    >>> tag_set(["PER", "ORG"])
    ['O', 'B-PER', 'I-PER', 'B-ORG', 'I-ORG']
    """
    check_scheme(scheme)
    prefixes = sorted(set(SCHEMES[scheme]) - {"O"}, key="BIES".index)
    return ["O", *(f"{prefix}-{type_}" for type_ in types for prefix in prefixes)]


def entity_types(tags: Sequence[str]) -> list[str]:
    """The types of entities in tags, in order of appearance.

    Args:
        tags: in any notation.

    Raises:
        ValueError: if a tag is none.

    Source: as ``split_tag``.

    >>> entity_types(["O", "B-PER", "I-PER", "B-ORG"])
    ['PER', 'ORG']
    """
    return list(dict.fromkeys(type_ for prefix, type_ in map(split_tag, tags) if prefix != "O"))


def subword_tags(word_ids: Sequence[int | None], tags: Sequence[str], subwords: str = "first") -> list[str | None]:
    """A tag for each token of a sentence: what a tagger learns.

    Args:
        word_ids: for each token the index of its word, None for [CLS] and [SEP].
        tags: one a word.
        subwords: "first", only a word's first token has a tag; "all", the tokens of a word share its tag as the
            words of an entity would, so that B-PER becomes B-PER I-PER; or "copy", each token has the word's tag, so
            that B-PER becomes B-PER B-PER.

    Returns:
        For each token a tag, or None where none is learned.

    Raises:
        ValueError: if there are tokens of more words than tags, or ``subwords`` is none of these.

    Source: Devlin et al. 2019, section 5.3, for "first"; Jurafsky & Martin, "Speech and Language Processing", 3rd
    edition, section 11.5.3, for "copy".

    >>> subword_tags([None, 0, 0, 1, None], ["B-LOC", "O"], subwords="all")
    [None, 'B-LOC', 'I-LOC', 'O', None]
    """
    if subwords not in SUBWORDS:
        raise ValueError(f"subwords must be one of {', '.join(SUBWORDS)}; got {subwords!r}.")
    words = [word for word in word_ids if word is not None]
    if words and max(words) >= len(tags):
        raise ValueError(
            f"there must be a tag for each word; got {max(words) + 1} words or more, and {len(tags)} tags."
        )
    result: list[str | None] = [None] * len(word_ids)
    for first, end in word_spans(word_ids):
        prefix, type_ = split_tag(tags[word_ids[first]])
        result[first] = tags[word_ids[first]]
        if subwords == "copy":
            result[first:end] = [result[first]] * (end - first)
        elif subwords == "all" and end - first > 1 and prefix != "O":
            begin, last = "B" if prefix in "BS" else "I", "E" if prefix in "ES" else "I"
            result[first:end] = [f"{each}-{type_}" for each in (begin, *"I" * (end - first - 2), last)]
        elif subwords == "all":
            result[first:end] = [result[first]] * (end - first)
    return result


def word_tags(word_ids: Sequence[int | None], token_tags: Sequence[str | None]) -> list[str]:
    """The way back: a tag for each word, from those of its tokens.

    Args:
        word_ids: for each token the index of its word, None for [CLS] and [SEP].
        token_tags: one a token.

    Returns:
        For each word the tag of its first token; but a word that ends an entity, as its last token's E- says, gets E-,
        or S- if it also begins it.

    Raises:
        ValueError: if the two are not of one length.

    Source: Devlin et al. 2019, section 5.3.

    >>> word_tags([None, 0, 0, 1, None], [None, "B-LOC", "E-LOC", "O", None])
    ['S-LOC', 'O']
    """
    if len(word_ids) != len(token_tags):
        raise ValueError(f"there must be a tag for each token; got {len(word_ids)} tokens and {len(token_tags)} tags.")
    tags = []
    for first, end in word_spans(word_ids):
        tag, last = token_tags[first], token_tags[end - 1] or "O"
        if end - first > 1 and last.startswith("E-") and last[2:] == tag[2:]:
            tag = ("S" if tag[0] == "B" else "E") + tag[1:]
        tags.append(tag)
    return tags


def word_spans(word_ids: Sequence[int | None]) -> list[tuple[int, int]]:
    """Where each word's tokens are, (first, last + 1), in order."""
    starts = [i for i, word in enumerate(word_ids) if word is not None and (i == 0 or word_ids[i - 1] != word)]
    spans = []
    for start in starts:
        end = start + 1
        while end < len(word_ids) and word_ids[end] == word_ids[start]:
            end += 1
        spans.append((start, end))
    return spans


class EntityScores(NamedTuple):
    """How well entities were found; shares from 0 to 1.

    Attributes:
        precision: of those found, the share that is right, in both ends and in type.
        recall: of those there are, the share that was found.
        f1: their harmonic mean.
        correct, found, there: the counts behind them.
    """

    precision: float
    recall: float
    f1: float
    correct: int
    found: int
    there: int

    @classmethod
    def of(cls, correct: int, found: int, there: int) -> "EntityScores":
        """The scores of some counts; 0 where there is nothing to divide by."""
        precision, recall = correct / found if found else 0.0, correct / there if there else 0.0
        return cls(precision, recall, 2 * correct / (found + there) if found + there else 0.0, correct, found, there)


def entity_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str | None = None
) -> dict[str, EntityScores]:
    """Precision, recall and F1 of entities, for all of them and for each type.

    Args:
        gold, predicted: for each sentence its tags.
        scheme: None, as seqeval's default mode; one of ``SCHEMES``, as its strict mode.

    Returns:
        ``{"all": EntityScores, type: EntityScores, …}``; "all" counts every entity alike (micro average).

    Raises:
        ValueError: if tags do not match: another number of sentences, or of words in one, or none at all.

    Source: Tjong Kim Sang & De Meulder 2003, section 2.3.

    >>> entity_scores([["B-PER", "I-PER", "B-LOC"]], [["B-PER", "I-PER", "B-ORG"]])["all"].f1
    0.5
    """
    counts: dict[str, np.ndarray] = {}
    for entities, found in entity_pairs(gold, predicted, scheme):
        for entity in entities | found:
            row = np.array([entity in entities and entity in found, entity in found, entity in entities], dtype=int)
            counts[entity.type] = counts.get(entity.type, 0) + row
    total = sum(counts.values(), np.zeros(3, dtype=int))
    return {name: EntityScores.of(*map(int, row)) for name, row in [("all", total), *sorted(counts.items())]}


def entity_pairs(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str | None = None
) -> list[tuple[set[Entity], set[Entity]]]:
    """For each sentence the entities there are and those found.

    Raises:
        ValueError: as ``entity_scores``.
    """
    if len(gold) != len(predicted) or not len(gold):
        raise ValueError(
            f"gold and predicted must be tags of the same sentences, at least one; got {len(gold)} and "
            f"{len(predicted)}."
        )
    for number, (a, b) in enumerate(zip(gold, predicted)):
        if len(a) != len(b):
            raise ValueError(
                f"sentence {number} must have a tag for each word; got {len(a)} gold and {len(b)} predicted."
            )
    return [(set(read_tags(a, scheme)), set(read_tags(b, scheme))) for a, b in zip(gold, predicted)]


def compare_taggers(
    gold: Sequence[Sequence[str]],
    system: Sequence[Sequence[str]],
    baseline: Sequence[Sequence[str]],
    scheme: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Is the F1 of one tagger better than another's by more than luck? Sentences are drawn again, with replacement.

    Args:
        gold, system, baseline: for each sentence its tags.
        scheme, resamples, seed: as for ``entity_scores`` and ``bertcourse.bootstrap.compare``.

    Raises:
        ValueError: if tags do not match.

    Source: Berg-Kirkpatrick et al. 2012; Jurafsky & Martin, "Speech and Language Processing", section 4.9.
    """

    def counts(predicted: Sequence[Sequence[str]]) -> np.ndarray:
        pairs = entity_pairs(gold, predicted, scheme)
        return np.array([(len(there & found), len(found) + len(there)) for there, found in pairs])

    def difference(totals: np.ndarray) -> np.ndarray:
        correct, both = totals[:, 0::2], totals[:, 1::2]
        f1 = 2 * correct / np.maximum(both, 1)
        return f1[:, 0] - f1[:, 1]

    return compare(np.hstack([counts(system), counts(baseline)]), difference, resamples, seed)
