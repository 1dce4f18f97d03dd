"""Recurrent language models of studies: in pieces as in one, looking back only, able to learn."""

import math

import pytest
import torch
from torch import nn

from bertcourse_lab.recurrent import RecurrentLanguageModel, train_language_model

B, L, H, V = 3, 7, 4, 11


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_reading_in_two_pieces_is_reading_in_one(cell):
    model = RecurrentLanguageModel(V, H, cell).eval()
    ids = torch.randint(V, (B, L), generator=torch.Generator().manual_seed(0))
    whole, _ = model(ids)
    first, state = model(ids[:, :3])
    second, _ = model(ids[:, 3:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_no_word_sees_a_later_one(cell):
    model = RecurrentLanguageModel(V, H, cell).eval()
    ids = torch.zeros(1, L, dtype=torch.long)
    changed = ids.clone()
    changed[0, 4] = 5
    before, after = model(ids)[0], model(changed)[0]
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4], after[:, 4])


def text(length=4000):
    """a and b in turn, each after its own number of c: what comes depends on more than the word before."""
    return torch.tensor(([0, 2, 2, 1, 2, 2, 2] * length)[:length])


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_training_finds_what_repeats(cell):
    model = RecurrentLanguageModel(3, 16, cell, seed=1)
    losses = train_language_model(model, text(), epochs=8, batch_size=4, length=20, learning_rate=1e-2)
    assert losses[0] == pytest.approx(math.log(3), abs=0.1)
    with torch.inference_mode():
        ids = text(500)
        logits, _ = model(ids[None, :-1])
    assert nn.functional.cross_entropy(logits[0], ids[1:]) < 0.1 < losses[0]


def test_the_state_goes_on_from_piece_to_piece_and_its_gradient_does_not():
    model, states = RecurrentLanguageModel(V, H), []
    model.register_forward_pre_hook(lambda _, inputs: states.append(inputs[1]))
    train_language_model(model, torch.arange(88) % V, batch_size=2, length=10)
    assert states[0] is None and all(not each.requires_grad and each.abs().sum() > 0 for (each,) in states[1:])


def test_a_long_gradient_is_cut(monkeypatch):
    lengths = []
    clip = nn.utils.clip_grad_norm_

    def watched(parameters, most):
        lengths.append((clip(parameters := list(parameters), most), clip(parameters, math.inf)))

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", watched)
    train_language_model(RecurrentLanguageModel(V, H), torch.arange(88) % V, batch_size=2, length=10, clip=1e-3)
    assert all(before > 1e-2 and after == pytest.approx(1e-3, rel=0.01) for before, after in lengths)
