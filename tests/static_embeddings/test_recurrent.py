"""Elman's network: equal to torch's, in pieces as in one, and able to learn."""

import math

import pytest
import torch
from torch import nn

from bertcourse.static_embeddings import OneAnswer, RecurrentLanguageModel, RecurrentNetwork, train_language_model

B, L, D, H, V = 3, 7, 5, 4, 11


def test_the_network_equals_torchs():
    torch.manual_seed(0)
    ours, theirs, x = RecurrentNetwork(D, H), nn.RNN(D, H, batch_first=True), torch.randn(B, L, D)
    theirs.load_state_dict(
        {"weight_ih_l0": ours.W, "weight_hh_l0": ours.U, "bias_ih_l0": ours.b + 0.5, "bias_hh_l0": ours.b - 0.5}
    )
    torch.testing.assert_close(ours(x)[0], theirs(x)[0], atol=1e-6, rtol=0)
    assert max(ours.U.abs().max(), ours.W.abs().max()) <= H**-0.5 and not ours.b.any()


def test_reading_in_two_pieces_is_reading_in_one():
    model, ids = RecurrentLanguageModel(V, H), torch.randint(V, (B, L), generator=torch.Generator().manual_seed(0))
    whole, _ = model(ids)
    first, state = model(ids[:, :3])
    torch.testing.assert_close(torch.cat([first, model(ids[:, 3:], state)[0]], dim=1), whole, atol=1e-6, rtol=1e-5)


def test_training_finds_what_repeats():
    torch.manual_seed(1)
    model, text = RecurrentLanguageModel(3, 16), torch.tensor([0, 2, 2, 1, 2, 2, 2] * 4000)
    losses = train_language_model(model, text, rows=4, length=20)
    assert losses[0] == pytest.approx(math.log(3), abs=0.1) and losses[-1] < 0.1


def test_the_state_goes_on_from_piece_to_piece_and_its_gradient_does_not():
    model, states = RecurrentLanguageModel(V, H), []
    model.register_forward_pre_hook(lambda _, inputs: states.append(inputs[1]))
    train_language_model(model, torch.arange(88) % V, rows=2, length=10)
    assert states[0] is None and all(not each.requires_grad and each.abs().sum() > 0 for each in states[1:])


def test_one_answer_depends_on_the_first_word_and_on_the_last():
    torch.manual_seed(0)
    model, ids = OneAnswer(V, 2, std=1.0), torch.tensor([[1, 2, 3], [4, 2, 3], [1, 2, 5]])
    answers = model(ids)
    assert answers.shape == (3, 2) and len({tuple(each.tolist()) for each in answers}) == 3
