"""Checkpoints: all that a run needs to go on, in one file that is whole or not there.

A file holds the weights and AdamW's state as safetensors, and step, tokens, place in the corpus and settings as JSON in
its header. There is no state of random numbers to keep: whatever is random is seeded by the run's seed and the step. A
file is written under another name, flushed to the disk and renamed; the newest two are kept.
"""

import dataclasses
import json
import os
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


def state_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The weights and AdamW's state by name, on the CPU.

    Args:
        model, optimizer: what to keep.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for parameter, state in optimizer.state.items():
        tensors.update({f"optimizer.{key}.{names[id(parameter)]}": value for key, value in state.items()})
    return {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}


def restore_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, torch.Tensor], has_learned: bool = False
) -> None:
    """Put what ``state_tensors`` gave back into model and optimizer.

    Args:
        model, optimizer: filled in place.
        tensors: by name; others than the model's and the optimizer's are left aside.
        has_learned: whether every parameter that learns must have a state of the optimizer.

    Raises:
        ValueError: if names or shapes are not the model's and its optimizer's; both are then as they were.
    """
    weights, states = checked_state(model, tensors, has_learned)
    model.load_state_dict(weights)
    for name, parameter in model.named_parameters():
        if name in states:
            optimizer.state[parameter] = {
                key: value if key == "step" and not parameter.is_cuda else value.to(parameter.device)
                for key, value in states[name].items()
            }


def checked_state(
    model: nn.Module, tensors: dict[str, torch.Tensor], has_learned: bool = False
) -> tuple[dict[str, torch.Tensor], dict[str, dict[str, torch.Tensor]]]:
    """What ``state_tensors`` gave, held against a model: its weights by name; for each parameter AdamW's state.

    Args:
        model, tensors, has_learned: as for ``restore_state``.

    Raises:
        ValueError: if names or shapes are not the model's, or a state of the optimizer is there in part, misshapen, of
            no parameter, or missing.
    """
    weights = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    there, here = ({name: tuple(t.shape) for name, t in of.items()} for of in (weights, model.state_dict()))
    if differing := [name for name in {**here, **there} if here.get(name) != there.get(name)]:
        name = differing[0]
        raise ValueError(
            f"{len(differing)} tensors differ in name or shape, the first is {name}: {there.get(name, 'missing')} "
            f"there, {here.get(name, 'missing')} in the model."
        )
    learned = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    states: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            kind, _, name = key.removeprefix("optimizer.").partition(".")
            states.setdefault(name, {})[kind] = tensor
    for name in [*states, *(learned if has_learned else ())]:
        if name not in learned:
            raise ValueError(f"the optimizer's state has {name}, which the model does not learn.")
        shape = tuple(learned[name].shape)
        expected = {"step": (), "exp_avg": shape, "exp_avg_sq": shape}
        found = {kind: tuple(tensor.shape) for kind, tensor in states.get(name, {}).items()}
        if found != expected:
            raise ValueError(f"the optimizer's state of {name} must have the shapes {expected}; got {found or 'none'}.")
    return weights, states


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], header: dict[str, str]) -> None:
    """Write a safetensors file that is whole or not there.

    Args:
        path: the file; an older one is replaced.
        tensors: by name, contiguous.
        header: its metadata.

    Raises:
        OSError, safetensors.SafetensorError: if it cannot be written; an older file is untouched.
    """
    draft = path.with_name(f".{path.name}.tmp")
    try:
        safetensors.torch.save_file(tensors, draft, metadata=header)
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


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
