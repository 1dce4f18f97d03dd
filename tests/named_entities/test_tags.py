"""Notations of entities say the same."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.named_entities import (
    Entity,
    convert_tags,
    read_brackets,
    read_tags,
    tag_set,
    write_brackets,
    write_tags,
)
from bertcourse.named_entities.tags import SCHEMES

WORDS = "[PER Jane Villanueva] of [ORG United] , a unit of [ORG United Airlines Holding] , said [LOC Chicago]"


@st.composite
def sentences(draw) -> tuple[int, list[Entity]]:
    """A length, and entities within it."""
    entities, position = [], 0
    for gap, size, type_ in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("XY")), max_size=5)
    ):
        entities.append(Entity(type_, position + gap, position + gap + size))
        position += gap + size
    return position + draw(st.integers(0, 2)), entities


def test_the_chapters_sentence_in_every_notation():
    words, entities = read_brackets(WORDS)
    assert words[:6] == ["Jane", "Villanueva", "of", "United", ",", "a"] and len(entities) == 4
    assert write_tags(entities, len(words), "IO")[:4] == ["I-PER", "I-PER", "O", "I-ORG"]
    assert write_tags(entities, len(words), "BIO")[8:11] == ["B-ORG", "I-ORG", "I-ORG"]
    assert write_tags(entities, len(words), "BIOES")[8:11] == ["B-ORG", "I-ORG", "E-ORG"]
    assert write_tags(entities, len(words), "BIOES")[3] == "S-ORG"
    assert write_brackets(words, entities) == WORDS
    assert read_brackets("[ORG United Airlines ] rose")[1] == [Entity("ORG", 0, 2)]


@given(sentences(), st.sampled_from(["IOB1", "BIO", "BIOES"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_again(sentence, scheme, strict):
    length, entities = sentence
    if scheme == "IOB1" and strict:  # seqeval's strict IOB1 loses the neighbour that B- begins, which it lets I- begin
        entities = [e for a, e in zip([None, *entities], entities) if a is None or a.type != e.type or a.end < e.start]
    assert read_tags(write_tags(entities, length, scheme), scheme if strict else None) == entities


@given(sentences())
@settings(max_examples=80, deadline=None)
def test_notations_convert_into_one_another_and_io_melts_neighbours(sentence):
    length, entities = sentence
    bio = write_tags(entities, length)
    for scheme in ("IOB1", "BIOES"):
        assert convert_tags(convert_tags(bio, scheme), "BIO") == bio
    touching = any(a.end == b.start and a.type == b.type for a, b in itertools.pairwise(entities))
    assert (convert_tags(convert_tags(bio, "IO"), "BIO") == bio) == (not touching)


def test_invalid_tags_are_repaired_by_the_stated_rule():
    assert read_tags(["O", "I-X", "I-X", "I-Y", "O"]) == [Entity("X", 1, 3), Entity("Y", 3, 4)]
    assert read_tags(["B-X", "E-X", "E-X", "I-X"]) == [Entity("X", 0, 2), Entity("X", 2, 3), Entity("X", 3, 4)]
    assert convert_tags(["O", "I-X", "B-X"], "BIO") == ["O", "B-X", "B-X"]
    assert read_tags(["O", "I-X", "I-X", "B-Y"], "BIO") == [Entity("Y", 3, 4)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: write_brackets(["x"], [Entity("creative-work", 0, 1)]), "capitals"),
        (lambda: write_brackets(["b]", "c"], [Entity("X", 0, 2)]), "brackets"),
        (lambda: read_tags(["PER"]), "tag .*I-PER, O, B-PER.* got 'PER'"),
        (lambda: read_tags(["E-X"], "BIO"), "tag .*I-PER, O, B-PER; got 'E-X'"),
        (lambda: read_tags(["O"], "BILOU"), "scheme .*IO, IOB1, BIO, BIOES; got 'BILOU'"),
        (lambda: tag_set(["PER"], "B"), "scheme"),
        (lambda: write_tags([Entity("X", 0, 3)], 2), "spans of words from 0 to 2"),
        (lambda: write_tags([Entity("X", 0, 2), Entity("Y", 1, 3)], 4), "none in another"),
        (lambda: read_brackets("[PER Jane"), r"end with \]; \[PER at word 0"),
        (lambda: read_brackets("[PER Jane [ORG United]]"), r"\[ORG is inside PER"),
        (lambda: read_brackets("[PER ]"), "a word"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_every_scheme_has_its_tags():
    assert {scheme: tag_set(["X"], scheme) for scheme in SCHEMES} == {
        "IO": ["O", "I-X"],
        "IOB1": ["O", "B-X", "I-X"],
        "BIO": ["O", "B-X", "I-X"],
        "BIOES": ["O", "B-X", "I-X", "E-X", "S-X"],
    }
