"""The learning rate rises, stays and falls; matrices decay; the average is torch's."""

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_swa_multi_avg_fn

from bertcourse_lab.training.steps import adamw_groups, crossed, seed_of, set_learning_rate, trapezoid


@pytest.mark.parametrize("warmup", [0.0, 0.1, 1 / 3, 0.9])
def test_without_a_flat_part_the_rate_is_a_triangle(warmup):
    for step in range(101):
        progress = step / 100
        expected = progress / warmup if progress < warmup else (1 - progress) / (1 - warmup)
        assert trapezoid(progress, warmup, 1 - warmup) == expected


def test_groups_have_a_rate_and_only_matrices_decay():
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.Linear(3, 2))
    model[2].bias.requires_grad_(False)
    groups = adamw_groups(model, lambda name: 2.0 if name.startswith("2.") else 1.0, weight_decay=0.1)
    found = [(group["peak"], group["weight_decay"], len(group["params"])) for group in groups]
    assert sorted(found) == [(1.0, 0.0, 3), (1.0, 0.1, 1), (2.0, 0.1, 1)]
    optimizer = torch.optim.AdamW(groups)
    set_learning_rate(optimizer, 0.5)
    assert sorted(group["lr"] for group in optimizer.param_groups) == [0.5, 0.5, 1.0]


def test_torchs_average_is_the_running_mean_bitwise():
    """w_n + (w - w_n) / (n + 1), by ``lerp``: what earlier versions computed by hand."""
    model = nn.Linear(50, 50)
    average, mean = AveragedModel(model, multi_avg_fn=get_swa_multi_avg_fn()), torch.zeros(50, 50)
    for number in range(1, 40):
        nn.init.normal_(model.weight)
        average.update_parameters(model)
        mean.lerp_(model.weight.detach(), 1 / number)
        assert torch.equal(average.module.weight, mean)


def test_every_multiple_is_crossed_once():
    steps = [number / 97 for number in range(98)]
    assert sum(crossed(a, b, 0.1) for a, b in zip(steps, steps[1:])) == 10


def test_each_place_has_a_seed_of_its_own():
    assert len({seed_of(a, b, c) for a in range(5) for b in range(5) for c in range(5)}) == 125
