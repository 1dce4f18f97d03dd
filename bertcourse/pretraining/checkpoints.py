"""Checkpoints: all that a run needs to go on, in one file that is whole or not there.

A file holds the weights and AdamW's state as safetensors, and step, tokens, place in the corpus and settings as JSON in
its header. There is no state of random numbers to keep: whatever is random is seeded by the run's seed and the step. A
file is written under another name, flushed to the disk and renamed; the newest two are kept.
"""

import dataclasses
import json
import re
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import nn

from bertcourse.bert import BertForPreTraining
from bertcourse.bert.pretrained import check_numbers, read_safetensors
from bertcourse.pretraining.batches import Position
from bertcourse.pretraining.config import PretrainingConfig
from bertcourse.training.state import restore_state, state_tensors, write_tensors

KEPT = 2


# Settings that a resumed run may change: none of them changes what is learned.
MAY_CHANGE = frozenset(
    "output threads log_every evaluate_every checkpoint_minutes snapshots tensorboard precision compile".split()
)


@dataclasses.dataclass
class Progress:
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
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, config: PretrainingConfig
) -> Path:
    """Write checkpoint-STEP.safetensors, then delete all but the newest two.

    Args:
        folder: where to.
        model, optimizer, progress, config: what to write.

    Returns:
        The file.

    Raises:
        OSError: if it cannot be written; the checkpoints that were there are untouched.
    """
    tensors = state_tensors(model, optimizer)
    header = {"progress": json.dumps(dataclasses.asdict(progress)), "config": json.dumps(dataclasses.asdict(config))}

    path = folder / f"checkpoint-{progress.step:08d}.safetensors"
    for abandoned in folder.glob(".checkpoint-*.tmp"):  # by a process that was killed
        abandoned.unlink()
    try:
        write_tensors(path, tensors, header)
    except (OSError, safetensors.SafetensorError) as error:
        last = checkpoints(folder)
        raise OSError(
            f"cannot write {path} ({error}). Make room, then go on with --resume from "
            f"{last[-1].name if last else 'the beginning: there is no checkpoint yet'}."
        ) from error
    for old in checkpoints(folder)[:-KEPT]:
        old.unlink()
    return path


def load_checkpoint(
    path: Path, model: BertForPreTraining, optimizer: torch.optim.Optimizer, config: PretrainingConfig
) -> Progress:
    """Put a checkpoint back into model and optimizer.

    Args:
        path: the file.
        model, optimizer: filled in place.
        config: of the run that wants to go on.

    Returns:
        How far the run was.

    Raises:
        ValueError: if the file is damaged, or was written with other settings or another vocabulary; model and
            optimizer are then as they were.
    """
    progress, saved = read_header(path)
    ours = dataclasses.asdict(config)
    differing = {name for name in {*ours, *saved} - MAY_CHANGE if ours.get(name) != saved.get(name)}
    if differing:
        raise ValueError(
            f"{path} is of a run with other settings: "
            + "; ".join(f"{name} was {saved.get(name)!r} and is {ours.get(name)!r}" for name in sorted(differing))
            + ". Resume with the settings of that run, or start a new one in another --output."
        )
    if config.precision not in ("auto", progress.precision):
        raise ValueError(
            f"{path} is of a run in {progress.precision}, which goes on in it; got precision {config.precision}. "
            f"Leave it out, "
            "or start a new run in another --output."
        )
    tensors = read_safetensors(path, advice_for(path))
    check_numbers(tensors, path)
    theirs, size = tensors.get("model.mlm_head.bias", model.mlm_head.bias).numel(), model.mlm_head.bias.numel()
    if theirs != size:
        raise ValueError(
            f"{path} is of a model for {theirs} tokens, and the tokenizer has {size}. Resume with the tokenizer of "
            f"that run."
        )
    try:
        restore_state(model, optimizer, tensors, has_learned=progress.step > 0)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error} {advice_for(path)}") from error
    return progress


def read_header(path: Path) -> tuple[Progress, dict]:
    """A checkpoint's progress, and the settings of its run.

    Raises:
        ValueError: if the file is cut short.
    """
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata()
        fields, config = json.loads(header["progress"]), dict(json.loads(header["config"]))
        progress = Progress(**{**fields, "position": Position(*fields["position"])})
        counts = (progress.step, progress.tokens, *progress.position)
        if not all(isinstance(count, int) and count >= 0 for count in counts) or not progress.seconds >= 0:
            raise ValueError(f"its progress must be in numbers from 0 on; got {fields}")
        if progress.precision not in ("float32", "bfloat16"):
            raise ValueError(f"its precision must be float32 or bfloat16; got {progress.precision!r}")
        return progress, config
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged or cut short ({error}). {advice_for(path)}") from error


def advice_for(path: Path) -> str:
    """What to do about a checkpoint that is damaged."""
    others = [other.name for other in checkpoints(path.parent) if other != path]
    if others:
        return f"Delete it, and --resume goes on from {others[-1]}."
    return "There is no other: start anew in another --output."


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    return sorted(
        path
        for path in folder.glob("checkpoint-*.safetensors")
        if re.fullmatch(r"checkpoint-\d+\.safetensors", path.name)
    )
