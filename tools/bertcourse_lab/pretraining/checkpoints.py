"""Chapter 4: the checkpoints of a pretraining run: a file every few minutes, with only the newest two kept."""

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import torch
from torch import nn

from bertcourse_lab.pretraining.batches import Position
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.training.checkpoints import check_same_run, damaged, read_checkpoint, restore, write_checkpoint

KEPT = 2
# Settings that a resumed run may change, as they do not affect what is learned.
MAY_CHANGE = frozenset(
    "output threads log_every evaluate_every checkpoint_minutes snapshots tensorboard precision compile".split()
)


@dataclasses.dataclass
class PretrainingProgress:
    """How far a run has come.

    Attributes:
        step: weight updates so far.
        tokens: tokens trained on, over all processes, not counting padding.
        seconds: time that the loop has taken, including measurements and checkpoints.
        position: place in the corpus.
        precision: "float32" or "bfloat16".
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    position: Position = Position()
    precision: str = "float32"


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: PretrainingProgress,
    config: PretrainingConfig,
    about: Mapping[str, object] = MappingProxyType({}),
) -> Path:
    """Write checkpoint-STEP.safetensors, then delete all but the newest two.

    Args:
        folder: of the run.
        model, optimizer, progress, config: what the checkpoint holds.
        about: what the settings do not say about the run.

    Raises:
        OSError: if it cannot be written; existing checkpoints are then untouched.
    """
    path = folder / f"checkpoint-{progress.step:08d}.safetensors"
    header = {"progress": dataclasses.asdict(progress), "config": dataclasses.asdict(config), "about": dict(about)}
    write_checkpoint(path, model, optimizer, header)
    for old in checkpoints(folder)[:-KEPT]:
        old.unlink()
    return path


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    config: PretrainingConfig,
    about: Mapping[str, object] = MappingProxyType({}),
) -> PretrainingProgress:
    """Load a checkpoint into model and optimizer, and return how far its run had come.

    Args:
        path: the file.
        model, optimizer: filled in place.
        config, about: of the run that is to be resumed.

    Raises:
        ValueError: if the file is damaged, or was written with other settings or another vocabulary; model and
            optimizer are then unchanged. ``tokens`` may be another number while the learning rate is constant.
    """
    header, tensors = read_checkpoint(path)
    try:
        fields = json.loads(header["progress"])
        saved = dataclasses.asdict(PretrainingConfig()) | dict(json.loads(header["config"]))  # newer settings: defaults
        told = json.loads(header.get("about", "{}"))  # older runs did not write it
        progress = PretrainingProgress(**{**fields, "position": Position(*fields["position"])})
        counts = (progress.step, progress.tokens, *progress.position)
        if not all(isinstance(count, int) and count >= 0 for count in counts) or not progress.seconds >= 0:
            raise ValueError(f"its progress must be in numbers from 0 on; got {fields}")
        if progress.precision not in ("float32", "bfloat16"):
            raise ValueError(f"its precision must be float32 or bfloat16; got {progress.precision!r}")
        # While the learning rate is constant, how long it stays so is open; masks and rows then follow the new length.
        is_constant = all(
            each["warmup"] <= progress.tokens / each["tokens"] <= 1 - each["decay"] for each in (saved, vars(config))
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise damaged(path, error) from error
    may_change = MAY_CHANGE | ({"tokens"} if is_constant else set())
    check_same_run(path, saved | told, vars(config) | dict(about), may_change)
    if config.precision not in ("auto", progress.precision):
        raise ValueError(
            f"{path} was trained in {progress.precision} and must be resumed in it; got precision {config.precision}. "
            f"Leave it out, or start a new run in another --output."
        )
    restore(path, model, optimizer, tensors, has_learned=progress.step > 0)
    return progress


def saved_tokens(folder: Path) -> int | None:
    """How many tokens the run in a folder is to train on; None if no checkpoint says so."""
    try:
        return json.loads(read_checkpoint(checkpoints(folder)[-1])[0]["config"])["tokens"]
    except (IndexError, KeyError, TypeError, ValueError):  # ``load_checkpoint`` says what is wrong with it
        return None


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    found = folder.glob("checkpoint-*.safetensors")
    return sorted(path for path in found if re.fullmatch(r"checkpoint-\d+\.safetensors", path.name))
