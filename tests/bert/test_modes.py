"""Evaluation mode: no dropout, no gradient, and everything as before when it ends."""

import pytest
import torch
from torch import nn

from bertcourse.bert.modes import evaluation_mode


def test_neither_dropout_nor_gradients():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9))
    with evaluation_mode(model):
        assert torch.equal(model(torch.ones(3)), model(torch.ones(3)))
        assert not model(torch.ones(3)).requires_grad
    assert model(torch.ones(3)).requires_grad


def test_each_part_has_its_own_mode_afterwards_even_if_it_failed():
    model = nn.Sequential(nn.Dropout(), nn.Dropout())
    model.train()
    model[0].eval()
    with pytest.raises(KeyError), evaluation_mode(model):
        assert not model[1].training
        raise KeyError
    assert (model.training, model[0].training, model[1].training) == (True, False, True)
