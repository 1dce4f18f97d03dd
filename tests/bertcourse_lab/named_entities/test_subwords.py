"""Subwords come back to words."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.named_entities import Entity, read_tags, tag_set, write_tags
from bertcourse_lab.named_entities import subword_tags, word_tags


@given(st.lists(st.tuples(st.sampled_from(tag_set(["X", "Y"])), st.integers(1, 4)), max_size=12))
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("subwords", ["first", "all", "copy"])
def test_words_to_subwords_and_back(subwords, words):
    tags, sizes = [tag for tag, _ in words], [size for _, size in words]
    tags = write_tags(read_tags(tags), len(tags))
    word_ids = [None, *(i for i, size in enumerate(sizes) for _ in range(size)), None]
    token_tags = subword_tags(word_ids, tags, subwords)
    assert word_tags(word_ids, token_tags) == tags
    learned = [tag for tag in token_tags if tag is not None]
    assert len(learned) == (len(tags) if subwords == "first" else sum(sizes))
    if subwords == "all":  # the tokens have the same entities as the words
        starts = [0, *itertools.accumulate(sizes)]
        expected = [Entity(e.type, starts[e.start], starts[e.end]) for e in read_tags(tags)]
        assert read_tags(learned) == expected
    if subwords == "copy":
        assert all(tag == (None if word is None else tags[word]) for word, tag in zip(word_ids, token_tags))


def test_the_textbooks_rule_on_the_textbooks_example():
    """Jurafsky & Martin, section 11.5.3: mt . san ##itas is in sunshine canyon."""
    word_ids, tags = [0, 0, 1, 1, 2, 3, 4, 5], ["B-LOC", "I-LOC", "O", "O", "B-LOC", "I-LOC"]
    copied = subword_tags(word_ids, tags, "copy")
    assert copied == ["B-LOC", "B-LOC", "I-LOC", "I-LOC", "O", "O", "B-LOC", "I-LOC"]
    assert word_tags(word_ids, copied) == tags
    assert len(read_tags(copied)) == 3 and len(read_tags(subword_tags(word_ids, tags, "all"))) == len(read_tags(tags))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: subword_tags([0, 1], ["O"]), "each word; got 2"),
        (lambda: subword_tags([0], ["O"], "last"), "first, all, copy; got 'last'"),
        (lambda: word_tags([0, 1], ["O"]), "each token; got 2 tokens"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
