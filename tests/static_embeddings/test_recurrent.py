"""Recurrent networks: equal to torch's, able to learn, and how their gradients fade."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from bertcourse.static_embeddings import (
    OneAttention,
    RecurrentLanguageModel,
    RecurrentNetwork,
    train_language_model,
)
from bertcourse.static_embeddings.recurrent import FusedNetwork

B, L, D, H, V = 3, 7, 5, 4, 11


@pytest.mark.parametrize("cell, theirs", [("rnn", nn.RNN), ("lstm", nn.LSTM)])
def test_the_plain_network_equals_torchs(cell, theirs):
    torch.manual_seed(0)
    ours, twin, x = RecurrentNetwork(D, H, cell).double(), theirs(D, H, batch_first=True).double(), torch.randn(B, L, D)
    x = x.double()
    for name, weights in twin.named_parameters():
        part = "input" if "_ih" in name else "recurrent"
        getattr(getattr(ours.cell, part), name.split("_")[0]).data.copy_(weights)
    expected, last = twin(x)
    start = tuple(torch.zeros(B, H).double() for _ in range(1 + (cell == "lstm")))
    found, state = ours(x, start)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    for ours_last, their_last in zip(state, last if cell == "lstm" else (last,)):
        torch.testing.assert_close(ours_last, their_last[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize("cell", ["rnn", "lstm"])
def test_the_fused_network_equals_the_plain_one_from_any_state(cell):
    torch.manual_seed(0)
    plain, x = RecurrentNetwork(D, H, cell), torch.randn(B, L, D)
    fused, weights = FusedNetwork(D, H, cell), plain.cell.state_dict()
    for name, weight in fused.network.named_parameters():  # such as weight_ih_l0
        kind, part, _ = name.split("_")
        weight.data.copy_(weights[f"{'input' if part == 'ih' else 'recurrent'}.{kind}"])
    state = None
    for _ in range(2):
        found, found_state = fused(x, state)
        expected, state = plain(x, state)
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
        for ours, theirs in zip(found_state, state, strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


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
    seen = []
    losses = train_language_model(
        model, text(), epochs=8, batch_size=4, length=20, learning_rate=1e-2, after_step=lambda *each: seen.append(each)
    )
    assert losses[0] == pytest.approx(math.log(3), abs=0.1)
    with torch.inference_mode():
        ids = text(500)
        logits, _ = model(ids[None, :-1])
    assert nn.functional.cross_entropy(logits[0], ids[1:]) < 0.1 < losses[0]
    assert seen[-1] == (len(losses), losses[-1])


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


def test_too_short_a_text_is_refused():
    with pytest.raises(ValueError, match="ids.*32 rows"):
        train_language_model(RecurrentLanguageModel(V, H), torch.zeros(40))


def test_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match="rnn, lstm.*gru"):
        RecurrentLanguageModel(V, H, cell="gru")


def test_attention_of_one_layer_looks_back_only():
    torch.manual_seed(0)
    layer, x = OneAttention(D, H), torch.randn(1, L, D)
    changed = x.clone()
    changed[0, 5] += 1
    torch.testing.assert_close(layer(x)[:, :5], layer(changed)[:, :5])
    reference = nn.functional.scaled_dot_product_attention(layer.query(x), layer.key(x), layer.value(x), is_causal=True)
    torch.testing.assert_close(layer(x), reference, atol=1e-6, rtol=1e-5)
    assert np.isfinite(layer(x).detach().numpy()).all()
