"""What BIO allows is what it can write; Viterbi finds the best of it."""

import itertools

import pytest
import torch

from bertcourse.named_entities import invalid_steps, read_tags, steps, tag_set, viterbi, write_tags

LABELS = tag_set(["X", "Y"])


def can_be_written(tags: list[str]) -> bool:
    return write_tags(read_tags(tags), len(tags)) == tags


def test_viterbi_equals_brute_force_over_all_sequences():
    start, step = steps(LABELS)
    for seed in range(20):
        scores = torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))
        sums = {
            path: start[path[0]] + scores[range(4), path].sum() + sum(step[a, b] for a, b in itertools.pairwise(path))
            for path in itertools.product(range(5), repeat=4)
        }
        path = viterbi(scores, start, step)
        assert tuple(path) == max(sums, key=sums.get)
        assert can_be_written([LABELS[tag] for tag in path])


def test_what_is_allowed_is_what_can_be_written():
    """Of all sequences of three tags, those of finite score are those that writing what they say gives back."""
    start, step = steps(LABELS)
    for tags in itertools.product(range(5), repeat=3):
        names = [LABELS[tag] for tag in tags]
        score = start[tags[0]] + step[tags[0], tags[1]] + step[tags[1], tags[2]]
        assert bool(torch.isfinite(score)) == can_be_written(names) == (invalid_steps(names) == []), names


def test_an_invalid_step_is_named_by_the_word_that_it_leads_to():
    assert invalid_steps(["I-X", "I-X", "O", "I-Y", "B-X", "I-Y"]) == [0, 3, 5]
    assert invalid_steps([]) == []


@pytest.mark.parametrize("length", [1, 6])
def test_labels_without_prefixes_may_follow_one_another(length):
    scores = torch.randn(length, 3)
    assert viterbi(scores, *steps(["NOUN", "VERB", "ADJ"])) == scores.argmax(dim=1).tolist()
