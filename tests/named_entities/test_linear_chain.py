"""Viterbi and the forward algorithm equal brute force over all sequences; a notation allows what it can write."""

import itertools

import pytest
import torch

from bertcourse.named_entities import Transitions, allowed_transitions, invalid_steps, read_tags, tag_set, write_tags
from bertcourse.named_entities.linear_chain import log_partition, path_score, plain_viterbi


@pytest.mark.parametrize("num_tags", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_best_path_and_partition_equal_brute_force(length, num_tags):
    emissions = torch.randn(length, num_tags, dtype=torch.double)
    transitions = Transitions(*(torch.randn(*[num_tags] * d, dtype=torch.double) for d in (1, 2, 1)))
    paths = list(itertools.product(range(num_tags), repeat=length))
    scores = torch.stack([path_score(emissions, transitions, path) for path in paths])
    assert plain_viterbi(emissions, transitions) == list(paths[int(scores.argmax())])
    torch.testing.assert_close(log_partition(emissions, transitions), scores.logsumexp(0))


def test_the_score_of_a_path_adds_up_words_and_steps():
    emissions, start, end = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 20.0]), torch.tensor([0.1, 0.2])
    transitions = Transitions(start, torch.tensor([[100.0, 200.0], [300.0, 400.0]]), end)
    assert path_score(emissions, transitions, [1, 0]).item() == pytest.approx(20 + 2 + 300 + 3 + 0.1)


def test_the_best_allowed_path_is_always_valid():
    labels = tag_set(["X"], "BIOES")
    allowed = allowed_transitions(labels, "BIOES")
    for _ in range(20):
        names = [labels[tag] for tag in plain_viterbi(torch.randn(4, len(labels)), allowed)]
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
