"""Muon's steps are orthogonal, torch's, and the same after a stop."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from bertcourse.bert import BertConfig
from bertcourse.bert.model import BertForPreTraining
from bertcourse_lab.pretraining import muon as muon_module
from bertcourse_lab.pretraining.muon import Muon, muon_groups, orthogonalize, orthogonalize_together
from bertcourse_lab.training.checkpoints import read_checkpoint, restore, write_checkpoint
from bertcourse_lab.training.steps import set_learning_rate

CONFIG = BertConfig(
    vocab_size=30, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
    max_position_embeddings=12,
)  # fmt: skip
SHAPES = [(16, 16), (24, 8), (8, 24)]


def new_model(seed: int = 0) -> BertForPreTraining:
    """A small BERT."""
    torch.manual_seed(seed)
    return BertForPreTraining(CONFIG)


def new_muon(model: nn.Module) -> Muon:
    """Its optimizer, with a decay that shows."""
    return Muon(muon_groups(model, muon_rate=0.02, adam_rate=1e-3, weight_decay=2.0), betas=(0.9, 0.98), eps=1e-6)


def train(model: nn.Module, optimizers: list[torch.optim.Optimizer], steps: range) -> None:
    """Some steps on random gradients, the same for each model."""
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        for optimizer in optimizers:
            optimizer.step()


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_stay_and_singular_values_follow_the_polynomial_and_come_near_one(shape):
    torch.manual_seed(1)
    matrix = torch.randn(shape)
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    turned = u.T @ orthogonalize(matrix) @ vh.T
    values = turned.diagonal()
    torch.testing.assert_close(turned, values.diag(), atol=1e-4, rtol=0)
    assert s.max() / s.min() > 2
    expected = s / s.norm()
    for _ in range(5):
        expected = 3.4445 * expected - 4.7750 * expected**3 + 2.0315 * expected**5
    torch.testing.assert_close(values, expected, atol=1e-4, rtol=0)
    large = values[s > 0.05 * s.norm()]  # the smallest of a square matrix are not there yet
    assert large.min() > 0.65 and large.max() < 1.25


@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_is_orthogonalized_matrix_by_matrix(shape):
    torch.manual_seed(2)
    matrices = torch.randn(2, 3, *shape) * torch.logspace(-3, 3, 6).view(2, 3, 1, 1)
    results = orthogonalize(matrices)
    assert results.dtype == torch.float32
    expected = torch.stack([orthogonalize(matrix) for matrix in matrices.flatten(0, 1)])
    torch.testing.assert_close(results.flatten(0, 1), expected, atol=1e-5, rtol=1e-5)
    assert (orthogonalize(matrices, dtype=torch.bfloat16).float() - results).norm() < 0.03 * results.norm()


def test_stacking_shapes_and_transposes_changes_no_matrix():
    torch.manual_seed(3)
    matrices = [torch.randn(shape) for shape in (*SHAPES, *SHAPES[::-1])]
    for together, matrix in zip(orthogonalize_together(matrices), matrices):
        torch.testing.assert_close(together, orthogonalize(matrix), atol=1e-5, rtol=0)


def test_steps_equal_those_of_torchs_muon_and_adamw(monkeypatch):
    """To a hundredth of a step, both in bfloat16, which torch's always is in."""
    monkeypatch.setattr(muon_module, "orthogonalize", partial(orthogonalize, dtype=torch.bfloat16))
    mine, theirs = new_model(), new_model()
    start = {name: p.detach().clone() for name, p in mine.named_parameters()}
    by_muon, *others = muon_groups(theirs, muon_rate=0.02, adam_rate=1e-3, weight_decay=2.0)
    muon = torch.optim.Muon(by_muon["params"], lr=0.02, weight_decay=2.0)
    adamw = torch.optim.AdamW(others, betas=(0.9, 0.98), eps=1e-6)
    train(mine, [new_muon(mine)], range(3))
    train(theirs, [muon, adamw], range(3))
    ids = {id(p) for p in by_muon["params"]}
    for (name, a), b in zip(mine.named_parameters(), theirs.parameters()):
        if id(b) in ids:
            assert (a - b).norm() < 0.01 * (b - start[name]).norm(), name
        else:
            torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


def test_muon_gets_the_blocks_matrices_and_adamw_the_rest():
    model = new_model()
    model.nsp_head.requires_grad_(False)
    by_muon, *others = muon_groups(model, muon_rate=0.02, adam_rate=1e-3, weight_decay=0.1)
    names = {id(p): name for name, p in model.named_parameters()}
    parts = {name.split("blocks.")[1][2:] for name in (names[id(p)] for p in by_muon["params"])}
    projections = {f"attention.{name}.weight" for name in ("query", "key", "value", "output")}
    assert parts == projections | {"feed_forward.expand.weight", "feed_forward.contract.weight"}
    assert len(by_muon["params"]) == 2 * 6
    grouped = [names[id(p)] for group in (by_muon, *others) for p in group["params"]]
    assert sorted(grouped) == sorted(name for name, p in model.named_parameters() if p.requires_grad)
    assert {(group["peak"], group["weight_decay"]) for group in others} == {(1e-3, 0.1), (1e-3, 0.0)}
    assert by_muon["weight_decay"] == 0.1


def test_the_schedule_reaches_both_kinds():
    model = new_model()
    optimizer = new_muon(model)
    before = copy.deepcopy(model.state_dict())
    set_learning_rate(optimizer, 0.0)
    train(model, [optimizer], range(2))
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_without_a_gradient_a_parameter_stays():
    model = new_model()
    optimizer = new_muon(model)
    still = model.bert.encoder.blocks[0].attention.query.weight
    before = still.detach().clone()
    optimizer.zero_grad()
    for parameter in model.parameters():
        parameter.grad = None if parameter is still else torch.ones_like(parameter)
    optimizer.step()
    assert torch.equal(still, before) and still not in optimizer.state


def test_a_run_stopped_and_resumed_is_bitwise_the_same(tmp_path):
    model = new_model()
    optimizer = new_muon(model)
    train(model, [optimizer], range(2))
    path = tmp_path / "checkpoint.safetensors"
    write_checkpoint(path, model, optimizer, {})
    train(model, [optimizer], range(2, 4))

    resumed = new_model(seed=1)
    its_optimizer = new_muon(resumed)
    restore(path, resumed, its_optimizer, read_checkpoint(path)[1], has_learned=True)
    train(resumed, [its_optimizer], range(2, 4))
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), resumed.state_dict().values()))


def test_an_optimizers_own_state_dict_comes_back_too():
    model, other = new_model(), new_model()
    optimizer, others = new_muon(model), new_muon(other)
    train(model, [optimizer], range(2))
    other.load_state_dict(model.state_dict())
    others.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for each, its_optimizer in ((model, optimizer), (other, others)):
        set_learning_rate(its_optimizer, 0.5)
        train(each, [its_optimizer], range(2, 4))
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values()))


def test_a_checkpoint_of_adamw_is_not_muons(tmp_path):
    model = new_model()
    adamw = torch.optim.AdamW(model.parameters())
    train(model, [adamw], range(1))
    path = tmp_path / "checkpoint.safetensors"
    write_checkpoint(path, model, adamw, {})
    with pytest.raises(ValueError, match="momentum_buffer"):
        restore(path, model, new_muon(model), read_checkpoint(path)[1])
