"""Viterbi and the forward algorithm equal brute force over all sequences; gradients are right."""

import itertools

import pytest
import torch

from bertcourse.named_entities import (
    CRF,
    Transitions,
    allowed_transitions,
    invalid_steps,
    read_tags,
    tag_set,
    viterbi,
    write_tags,
)
from bertcourse.named_entities.crf import TagDecoder


def random_crf(num_tags: int) -> CRF:
    crf = CRF(num_tags).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return crf


def brute_force(emissions: torch.Tensor, transitions: Transitions) -> tuple[torch.Tensor, list[int]]:
    """Log partition and best sequence, over all K^L sequences of one sentence (L, K)."""
    length, num_tags = emissions.shape
    sequences = list(itertools.product(range(num_tags), repeat=length))
    scores = []
    for tags in sequences:
        score = transitions.start[tags[0]] + transitions.end[tags[-1]]
        score = score + sum(emissions[t, tag] for t, tag in enumerate(tags))
        scores.append(score + sum(transitions.pair[a, b] for a, b in itertools.pairwise(tags)))
    scores = torch.stack(scores)
    return scores.logsumexp(0), list(sequences[int(scores.argmax())])


@pytest.mark.parametrize("num_tags", [1, 2, 3, 4])
def test_partition_likelihood_and_viterbi_equal_brute_force(num_tags):
    crf = random_crf(num_tags)
    lengths = [1, 2, 3, 4, 5]
    emissions = torch.randn(5, 5, num_tags, dtype=torch.double)
    partition, paths = crf.log_partition(emissions, lengths), crf.decode(emissions, lengths)
    tags = torch.randint(num_tags, (5, 5))
    scores = crf.score(emissions, tags, lengths)
    for row, length in enumerate(lengths):
        expected, best = brute_force(emissions[row, :length], crf.transitions)
        torch.testing.assert_close(partition[row], expected)
        assert paths[row] == best
        alone = crf.score(emissions[row : row + 1, :length], tags[row : row + 1, :length])
        torch.testing.assert_close(scores[row : row + 1], alone)
    torch.testing.assert_close(crf(emissions, tags, lengths), partition - scores)


def test_probabilities_of_all_sequences_sum_to_one():
    crf, emissions = random_crf(3), torch.randn(1, 4, 3, dtype=torch.double)
    likelihoods = [crf(emissions, torch.tensor([tags])) for tags in itertools.product(range(3), repeat=4)]
    torch.testing.assert_close(torch.cat(likelihoods).neg().exp().sum().item(), 1.0)


def test_gradients_equal_differences():
    crf = random_crf(3)
    emissions = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    tags, lengths = torch.randint(3, (2, 4)), [4, 2]

    def loss(emissions, start, pair, end):
        return torch.func.functional_call(crf, {"start": start, "pair": pair, "end": end}, (emissions, tags, lengths))

    assert torch.autograd.gradcheck(loss, (emissions, crf.start, crf.pair, crf.end))


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


def test_viterbi_over_the_mask_equals_brute_force_and_is_always_valid():
    labels = tag_set(["X"], "BIOES")
    allowed = allowed_transitions(labels, "BIOES")
    for _ in range(20):
        emissions = torch.randn(1, 4, len(labels))
        (path,) = viterbi(emissions, allowed)
        assert path == brute_force(emissions[0], allowed)[1]
        names = [labels[tag] for tag in path]
        assert write_tags(read_tags(names), 4, "BIOES") == names


def test_o_then_i_is_repaired_by_the_scores_not_by_a_rule():
    labels = tag_set(["X"])  # O, B-X, I-X
    scores = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.5, 1.6]])
    assert TagDecoder(labels)([scores]) == [["O", "I-X"]]
    assert TagDecoder(labels, "viterbi")([scores]) == [["O", "B-X"]]
    assert TagDecoder(labels, "crf")([scores]) == [["O", "B-X"]]


def test_without_transitions_the_crf_learns_by_cross_entropy():
    labels = tag_set(["X"])
    emissions = [torch.randn(3, 3), torch.randn(2, 3)]
    targets = [[0, 1, 2], [1, 0]]
    torch.testing.assert_close(
        TagDecoder(labels, "crf").loss(emissions, targets), TagDecoder(labels).loss(emissions, targets)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CRF(0), "num_tags must be at least 1; got 0"),
        (lambda: CRF(3).log_partition(torch.zeros(1, 2, 4)), r"emissions must have shape \(B, L, 3\).*got \(1, 2, 4\)"),
        (lambda: CRF(3).log_partition(torch.zeros(1, 2, 3), [3]), r"lengths must be 1 numbers from 1 to 2; got \[3\]"),
        (lambda: CRF(3).score(torch.zeros(1, 2, 3), torch.zeros(1, 3, dtype=int)), r"tags must have shape \(1, 2\)"),
        (
            lambda: viterbi(
                torch.zeros(1, 1, 1), Transitions(torch.tensor([-torch.inf]), torch.zeros(1, 1), torch.zeros(1))
            ),
            "sentence 0 must have a sequence of tags that is allowed",
        ),
        (lambda: TagDecoder(["O", "B-X"], "beam"), "decoder must be one of argmax, viterbi, crf; got 'beam'"),
        (lambda: allowed_transitions(["O", "E-X"], "BIO"), "a tag must be one like"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
