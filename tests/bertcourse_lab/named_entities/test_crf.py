"""Viterbi and the forward algorithm, for a batch, equal brute force over all sequences; gradients are right."""

import itertools

import pytest
import torch
from torch import Tensor

from bertcourse.named_entities import tag_set
from bertcourse.named_entities import viterbi as of_one_sentence
from bertcourse_lab.named_entities import CRF, TagDecoder, Transitions, allowed_transitions, viterbi


def random_crf(num_tags: int) -> CRF:
    crf = CRF(num_tags).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return crf


def all_paths(emissions: Tensor, transitions: Transitions) -> tuple[Tensor, Tensor]:
    """All K^L sequences of tags of a sentence, and their scores, from emissions (L, K)."""
    length, num_tags = emissions.shape
    paths = torch.tensor(list(itertools.product(range(num_tags), repeat=length)))
    steps = transitions.pair[paths[:, :-1], paths[:, 1:]].sum(1)
    at_words = emissions[torch.arange(length), paths].sum(1)
    return paths, transitions.start[paths[:, 0]] + at_words + steps + transitions.end[paths[:, -1]]


def test_the_score_of_a_path_adds_up_words_and_steps():
    emissions, start, end = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 20.0]), torch.tensor([0.1, 0.2])
    transitions = Transitions(start, torch.tensor([[100.0, 200.0], [300.0, 400.0]]), end)
    paths, scores = all_paths(emissions, transitions)
    assert scores[paths.tolist().index([1, 0])].item() == pytest.approx(20 + 2 + 300 + 3 + 0.1)
    crf = CRF(2)
    crf.load_state_dict(transitions._asdict())
    torch.testing.assert_close(crf.score(emissions.expand(4, 2, 2), paths), scores)


@pytest.mark.parametrize("num_tags", [1, 2, 3, 4])
def test_a_batch_equals_brute_force_over_all_sequences_of_each_sentence(num_tags):
    crf = random_crf(num_tags)
    lengths = [1, 2, 3, 4, 6]
    emissions, tags = torch.randn(5, 6, num_tags, dtype=torch.double), torch.randint(num_tags, (5, 6))
    partition, paths = crf.log_partition(emissions, lengths), crf.decode(emissions, lengths)
    scores = crf.score(emissions, tags, lengths)
    for row, length in enumerate(lengths):
        every, their_scores = all_paths(emissions[row, :length], crf.transitions)
        torch.testing.assert_close(partition[row], their_scores.logsumexp(0))
        torch.testing.assert_close(scores[row], their_scores[every.tolist().index(tags[row, :length].tolist())])
        assert paths[row] == every[their_scores.argmax()].tolist()
    torch.testing.assert_close(crf(emissions, tags, lengths), partition - scores)


def test_viterbi_over_a_mask_equals_brute_force_and_the_lectures():
    allowed = allowed_transitions(tag_set(["X", "Y"]))
    lengths, emissions = [4, 1, 3], torch.randn(3, 4, len(allowed.start))
    for path, one, length in zip(viterbi(emissions, allowed, lengths), emissions, lengths):
        every, scores = all_paths(one[:length], allowed)
        assert path == every[scores.argmax()].tolist()
        assert path == of_one_sentence(one[:length], allowed.start, allowed.pair)


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
        (lambda: CRF(3).log_partition(torch.zeros(1, 2, 4)), r"emissions .*\(B, L, 3\).* got \(1, 2, 4\)"),
        (lambda: CRF(3).log_partition(torch.zeros(1, 2, 3), [3]), r"lengths .*from 1 to 2; got \[3\]"),
        (
            lambda: viterbi(
                torch.zeros(1, 1, 1), Transitions(torch.tensor([-torch.inf]), torch.zeros(1, 1), torch.zeros(1))
            ),
            "row 0 of emissions .*allowed",
        ),
        (lambda: TagDecoder(["O", "B-X"], "beam"), "decoder .*argmax, viterbi, crf; got 'beam'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
