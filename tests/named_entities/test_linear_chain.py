"""A notation allows what it can write."""

import itertools

import pytest
import torch

from bertcourse.named_entities import allowed_transitions, invalid_steps, read_tags, tag_set, viterbi, write_tags


def test_the_best_allowed_path_is_always_valid():
    labels = tag_set(["X"], "BIOES")
    allowed = allowed_transitions(labels, "BIOES")
    for path in viterbi(torch.randn(20, 4, len(labels)), allowed):
        names = [labels[tag] for tag in path]
        assert write_tags(read_tags(names), 4, "BIOES") == names


@pytest.mark.parametrize("scheme", ["IO", "IOB1", "BIO", "BIOES"])
def test_what_is_allowed_is_what_a_notation_can_write(scheme):
    """Of all sequences of three tags, those of finite score are those that writing what they say gives back."""
    labels = tag_set(["X", "Y"], scheme)
    start, pair, end = allowed_transitions(labels, scheme)
    for tags in itertools.product(range(len(labels)), repeat=3):
        score = start[tags[0]] + pair[tags[0], tags[1]] + pair[tags[1], tags[2]] + end[tags[2]]
        names = [labels[tag] for tag in tags]
        assert bool(torch.isfinite(score)) == (write_tags(read_tags(names), 3, scheme) == names), names


@pytest.mark.parametrize("scheme", ["IO", "IOB1", "BIO", "BIOES"])
def test_there_are_invalid_steps_in_just_the_sequences_that_no_writing_gives(scheme):
    for tags in itertools.product(tag_set(["X", "Y"], scheme), repeat=3):
        assert (invalid_steps(tags, scheme) == []) == (write_tags(read_tags(tags), 3, scheme) == list(tags)), tags


def test_an_invalid_step_is_named_by_the_word_that_it_leads_to():
    assert invalid_steps(["I-X", "I-X", "O", "I-Y", "B-X", "I-Y"]) == [0, 3, 5]
    assert invalid_steps(["S-X", "B-X"], "BIOES") == [2]  # the end
    assert invalid_steps([]) == []


def test_a_label_of_another_notation_is_refused():
    with pytest.raises(ValueError, match="tag"):
        allowed_transitions(["O", "E-X"], "BIO")
