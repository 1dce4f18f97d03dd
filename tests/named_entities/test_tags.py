"""Brackets and tags say the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.named_entities import Entity, read_brackets, read_tags, tag_set, write_brackets, write_tags

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


def test_the_chapters_sentence():
    words, entities = read_brackets(WORDS)
    assert words[:6] == ["Jane", "Villanueva", "of", "United", ",", "a"] and len(entities) == 4
    assert write_tags(entities, len(words))[:4] == ["B-PER", "I-PER", "O", "B-ORG"]
    assert write_tags(entities, len(words))[8:11] == ["B-ORG", "I-ORG", "I-ORG"]
    assert write_brackets(words, entities) == WORDS
    assert read_brackets("[ORG United Airlines ] rose")[1] == [Entity("ORG", 0, 2)]


@given(sentences())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_again(sentence):
    length, entities = sentence
    words = [f"w{number}" for number in range(length)]
    assert read_tags(write_tags(entities, length)) == entities
    assert read_brackets(write_brackets(words, entities)) == (words, entities)


def test_invalid_tags_are_repaired_by_the_stated_rule():
    assert read_tags(["O", "I-X", "I-X", "I-Y", "O"]) == [Entity("X", 1, 3), Entity("Y", 3, 4)]
    assert read_tags(["B-X", "O", "I-X", "I-X", "B-X"]) == [Entity("X", 0, 1), Entity("X", 2, 4), Entity("X", 4, 5)]
    assert read_tags(["B-creative-work", "I-creative-work", "I-work"])[0] == Entity("creative-work", 0, 2)


def test_a_tagger_has_two_labels_for_each_type_and_one_for_all_else():
    assert tag_set(["X", "Y"]) == ["O", "B-X", "I-X", "B-Y", "I-Y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[PER Jane", r"end with \]; \[PER at word 0"),
        ("[PER Jane [ORG United]]", r"\[ORG is inside PER"),
        ("[PER ]", "a word"),
    ],
)
def test_brackets_that_do_not_match_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        read_brackets(text)
