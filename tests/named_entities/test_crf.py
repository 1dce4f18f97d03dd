"""A batch of sentences equals each of them by the plain algorithms; gradients are right."""

import itertools

import pytest
import torch

from bertcourse.named_entities import CRF, Transitions, allowed_transitions, tag_set, viterbi
from bertcourse.named_entities.crf import TagDecoder
from bertcourse.named_entities.linear_chain import log_partition, path_score, plain_viterbi


def random_crf(num_tags: int) -> CRF:
    crf = CRF(num_tags).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return crf


@pytest.mark.parametrize("num_tags", [1, 2, 3, 9])
def test_a_batch_equals_its_sentences_by_the_plain_algorithms(num_tags):
    crf = random_crf(num_tags)
    lengths = [1, 2, 3, 4, 17]
    emissions, tags = torch.randn(5, 17, num_tags, dtype=torch.double), torch.randint(num_tags, (5, 17))
    partition, paths = crf.log_partition(emissions, lengths), crf.decode(emissions, lengths)
    scores = crf.score(emissions, tags, lengths)
    for row, length in enumerate(lengths):
        one = emissions[row, :length]
        torch.testing.assert_close(partition[row], log_partition(one, crf.transitions))
        torch.testing.assert_close(scores[row], path_score(one, crf.transitions, tags[row, :length].tolist()))
        assert paths[row] == plain_viterbi(one, crf.transitions)
    torch.testing.assert_close(crf(emissions, tags, lengths), partition - scores)


@pytest.mark.parametrize("scheme", ["IOB1", "BIO", "BIOES"])
def test_viterbi_over_a_mask_equals_the_plain_algorithm(scheme):
    allowed = allowed_transitions(tag_set(["X", "Y"], scheme), scheme)
    lengths, emissions = [6, 1, 3], torch.randn(3, 6, len(allowed.start))
    expected = [plain_viterbi(one[:length], allowed) for one, length in zip(emissions, lengths)]
    assert viterbi(emissions, allowed, lengths) == expected


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
