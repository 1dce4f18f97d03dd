"""Chapter 4: a pretraining run's checkpoints: one file every few minutes, of which the newest two are kept."""

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import torch
from torch import nn

from bertcourse.pretraining.batches import Position
from bertcourse.pretraining.config import PretrainingConfig
from bertcourse.training.checkpoints import check_same_run, damaged, read_checkpoint, restore, write_checkpoint

KEPT = 2
# Settings that a resumed run may change: none of them changes what is learned.
MAY_CHANGE = frozenset(
    "output threads log_every evaluate_every checkpoint_minutes snapshots tensorboard precision compile".split()
)


@dataclasses.dataclass
class PretrainingProgress:
    """How far a run is.

    Attributes:
        step: updates of the weights.
        tokens: tokens trained on, padding not counted, over all processes.
        seconds: time that the loop has taken, measurements and checkpoints included.
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
        model, optimizer, progress, config: what it holds.
        about: what the settings do not say of the run.

    Raises:
        OSError: if it cannot be written; the checkpoints that were there are untouched.
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
    """Put a checkpoint back into model and optimizer, and say how far its run was.

    Args:
        path: the file.
        model, optimizer: filled in place.
        config, about: of the run that wants to go on.

    Raises:
        ValueError: if the file is damaged, or was written with other settings or another vocabulary; model and
            optimizer are then as they were.
    """
    header, tensors = read_checkpoint(path)
    try:
        fields = json.loads(header["progress"])
        saved = dataclasses.asdict(PretrainingConfig()) | dict(json.loads(header["config"]))  # new settings: defaults
        told = json.loads(header.get("about", "{}"))  # runs of before had nothing to tell
        progress = PretrainingProgress(**{**fields, "position": Position(*fields["position"])})
        counts = (progress.step, progress.tokens, *progress.position)
        if not all(isinstance(count, int) and count >= 0 for count in counts) or not progress.seconds >= 0:
            raise ValueError(f"its progress must be in numbers from 0 on; got {fields}")
        if progress.precision not in ("float32", "bfloat16"):
            raise ValueError(f"its precision must be float32 or bfloat16; got {progress.precision!r}")
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from error
    check_same_run(path, saved | told, dataclasses.asdict(config) | dict(about), MAY_CHANGE)
    if config.precision not in ("auto", progress.precision):
        raise ValueError(
            f"{path} is of a run in {progress.precision}, which goes on in it; got precision {config.precision}. "
            f"Leave it out, or start a new run in another --output."
        )
    restore(path, model, optimizer, tensors, has_learned=progress.step > 0)
    return progress


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    found = folder.glob("checkpoint-*.safetensors")
    return sorted(path for path in found if re.fullmatch(r"checkpoint-\d+\.safetensors", path.name))
