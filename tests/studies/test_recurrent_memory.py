"""The study of how far back recurrent networks remember: the same measures as lecture 0's, by seed."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from bertcourse_lab.recurrent import RecurrentLanguageModel


@pytest.fixture
def recurrent_memory():
    return runpy.run_path(str(Path(__file__).parents[2] / "tools" / "studies" / "recurrent_memory.py"))


def test_a_gradient_one_word_back_is_the_measure(recurrent_memory):
    model, test = RecurrentLanguageModel(9, 4, seed=1), torch.randint(0, 9, (42 * 3,))
    with torch.no_grad():
        for weights in model.network.parameters():
            weights.zero_()  # the state is 0 whatever came in
        model.network.network.weight_ih_l0.copy_(torch.eye(4))
        model.network.network.weight_hh_l0.copy_(0.5 * torch.eye(4))
    with torch.no_grad():
        model.embedding.weight.mul_(1e-3)  # tanh is then the identity
        model.bias.copy_(torch.arange(9.0))
    found = recurrent_memory["left"](model, test)
    assert found == pytest.approx([0.5 ** (d - 1) for d in recurrent_memory["DISTANCES"]], rel=1e-3)


def test_losses_are_told_by_sentence(recurrent_memory):
    lost, places = np.arange(16.0), np.repeat(np.arange(8), 2)
    assert recurrent_memory["by_sentence"](lost, places) == {
        "loss": 7.5,
        "by sentence": [0.5 + 2 * n for n in range(8)],
    }


def test_all_models_are_measured_and_told(recurrent_memory):
    result = json.loads(json.dumps(recurrent_memory["run"]([3, 4], 3000, documents=15)))
    assert [(row["model"], row["seed"]) for row in result["rows"]] == [
        ("4-gram", None), ("RNN", 3), ("LSTM", 3), ("RNN", 4), ("LSTM", 4),
    ]  # fmt: skip
    for row in result["rows"]:
        assert 1 < row["loss"] < 7 and len(row["by sentence"]) == 8
    table = recurrent_memory["markdown"](result["rows"])
    assert "| 4-gram | " in table and "| LSTM, trained | " in table and "| LSTM | " in table
