"""Checkpoints: whole or not there, whatever happens to the process that writes them."""

import dataclasses
import json
import os
import random
import signal
import sys
import time

import pytest
import safetensors.torch
import torch

from bertcourse_lab.pretraining.batches import Position
from bertcourse_lab.pretraining.checkpoints import PretrainingProgress, checkpoints, load_checkpoint, save_checkpoint
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.pretraining.starts import new_model
from bertcourse_lab.pretraining.trainer import new_optimizer

CONFIG = PretrainingConfig(
    corpus="small-world",
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=8,
    max_position_embeddings=16,
    lengths="16:1",
    evaluation_length=16,
)


@pytest.fixture
def run(small_tokenizer):
    """A model with a step behind it, and its optimizer."""
    model = new_model(CONFIG, small_tokenizer.get_vocab_size())
    optimizer = new_optimizer(model, CONFIG)
    sum(p.sum() for p in model.parameters()).backward()
    optimizer.step()
    return model, optimizer


def test_a_checkpoint_comes_back_as_it_was(run, tmp_path):
    model, optimizer = run
    progress = PretrainingProgress(7, 700, 1.5, Position(1, 2, 16), "bfloat16")
    path = save_checkpoint(tmp_path, model, optimizer, progress, CONFIG)
    other = new_model(CONFIG, model.config.vocab_size)
    others = new_optimizer(other, CONFIG)
    assert load_checkpoint(path, other, others, CONFIG) == progress
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values()))
    for mine, its in zip(model.parameters(), other.parameters()):
        assert all(torch.equal(value, others.state[its][key]) for key, value in optimizer.state[mine].items())


def test_the_newest_two_are_kept(run, tmp_path):
    for step in (1, 9, 10, 100):
        save_checkpoint(tmp_path, *run, PretrainingProgress(step), CONFIG)
    assert [path.name for path in checkpoints(tmp_path)] == [
        "checkpoint-00000010.safetensors",
        "checkpoint-00000100.safetensors",
    ]


def test_a_checkpoint_cut_short_is_named_with_the_one_before(run, tmp_path):
    save_checkpoint(tmp_path, *run, PretrainingProgress(1), CONFIG)
    path = save_checkpoint(tmp_path, *run, PretrainingProgress(2), CONFIG)
    whole = path.read_bytes()
    for size in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"00000002.safetensors is damaged.* resume from checkpoint-00000001"):
            load_checkpoint(path, *run, CONFIG)


NAME = "bert.pooler.weight"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda t: t.pop("model.mlm_head.bias"), "the first is mlm_head.bias: missing there"),
        (lambda t: t.update({f"optimizer.exp_avg.{NAME}": torch.zeros(3)}), rf"state of {NAME} must have .*\(3,\)"),
        (
            lambda t: t.update({f"optimizer.step.{NAME}": torch.zeros(2)}),
            rf"state of {NAME} must have .*'step': \(2,\)",
        ),
        (lambda t: t.pop(f"optimizer.exp_avg_sq.{NAME}"), f"state of {NAME} must have"),
        (lambda t: [t.pop(key) for key in list(t) if key.endswith(NAME) and "optim" in key], "must have .*; got {}"),
        (lambda t: [t.pop(key) for key in list(t) if "optimizer" in key], "must have .*; got {}"),
        (lambda t: t.update({"optimizer.step.other": torch.zeros(())}), "state of other must have"),
        (lambda t: t[f"model.{NAME}"].fill_(torch.nan), f"model.{NAME} must hold finite numbers"),
        (lambda t: t[f"optimizer.exp_avg.{NAME}"].fill_(torch.inf), "must hold finite numbers"),
        (
            lambda t: t.update({f"model.{NAME}": t[f"model.{NAME}"].int()}),
            "must hold finite numbers",
        ),
    ],
)
def test_a_checkpoint_that_is_damaged_is_not_resumed(run, tmp_path, edit_safetensors, damage, message):
    path = save_checkpoint(tmp_path, *run, PretrainingProgress(1), CONFIG)
    edit_safetensors(path, damage)
    model = new_model(CONFIG, run[0].config.vocab_size)
    optimizer = new_optimizer(model, CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=f"checkpoint-00000001.safetensors.*{message}"):
        load_checkpoint(path, model, optimizer, CONFIG)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items()) and not optimizer.state


@pytest.mark.parametrize(
    "progress",
    [{"step": -1}, {"step": "7"}, {"tokens": None}, {"position": [0, 0, 0.5]}, {"precision": "float8"}],
    ids=str,
)
def test_progress_that_is_none_is_refused(run, tmp_path, progress):
    path = save_checkpoint(tmp_path, *run, PretrainingProgress(1), CONFIG)
    with safetensors.safe_open(path, framework="pt") as file:
        header = file.metadata()
    header["progress"] = json.dumps(json.loads(header["progress"]) | progress)
    safetensors.torch.save_file(safetensors.torch.load_file(path), path, metadata=header)
    with pytest.raises(ValueError, match="checkpoint-00000001.safetensors is damaged.* start again"):
        load_checkpoint(path, *run, CONFIG)


def test_another_runs_settings_are_refused_and_named(run, tmp_path):
    path = save_checkpoint(tmp_path, *run, PretrainingProgress(1), CONFIG)
    other = dataclasses.replace(CONFIG, learning_rate=1e-3, seed=4, threads=7)
    with pytest.raises(ValueError, match=r"learning_rate was 0.0005 and is 0.001; seed was 0 and is 4. Resume with"):
        load_checkpoint(path, *run, other)
    load_checkpoint(path, *run, dataclasses.replace(CONFIG, threads=7, output="moved", log_every=0.5))


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes there")
def test_a_full_disk_leaves_the_last_checkpoint(run, tmp_path):
    import resource

    before = save_checkpoint(tmp_path, *run, PretrainingProgress(1), CONFIG).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="cannot write .*Make room, then resume from checkpoint-00000001"):
            save_checkpoint(tmp_path, *run, PretrainingProgress(2), CONFIG)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-00000001.safetensors"]
    assert checkpoints(tmp_path)[0].read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.weekly
def test_a_hundred_kills_lose_no_checkpoint_that_was_finished(run, tmp_path):
    """kill -9 at a random moment: the newest file is whole, and no older than the last that was reported as written."""
    random.seed(0)
    step = 0
    for _ in range(100):
        reader, writer = os.pipe()
        if not (child := os.fork()):
            try:
                for later in range(step + 1, step + 10_000):
                    save_checkpoint(tmp_path, *run, PretrainingProgress(later), CONFIG)
                    os.write(writer, b"%9d" % later)
            finally:
                os._exit(1)
        os.close(writer)
        with open(reader, "rb") as pipe:
            first = pipe.read(9)  # when it is at work
            time.sleep(random.uniform(0, 0.008))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            reported = int((first + pipe.read())[-9:])
        found = checkpoints(tmp_path)
        step = load_checkpoint(found[-1], *run, CONFIG).step
        assert step >= reported and len(found) <= 3
