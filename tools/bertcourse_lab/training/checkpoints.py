"""Checkpoints: everything a run needs to go on, in one safetensors file that is either whole or not there.

Weights and the optimizer's state are its tensors; progress and settings are JSON in its header. No state of random
generators needs to be kept: whatever is random is seeded by the run's seed and the step.
"""

import json
import os
from collections.abc import Set
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import nn


def check_output(output: Path | None, checkpoint: Path | None, resume: bool) -> None:
    """Refuse to mix runs: a ``checkpoint`` in ``output`` must be resumed, and without one nothing can be."""
    if checkpoint and not resume:
        raise FileExistsError(
            f"{output} has a run already, with {checkpoint.name}. Resume it, or name another output folder."
        )
    if resume and not checkpoint:
        raise FileNotFoundError(f"expected a checkpoint in {output}; there is none. Start the run without resume.")


def write_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    header: dict[str, dict | str],
    others: dict[str, torch.Tensor] | None = None,
) -> None:
    """Write the file under another name, flush it to disk, and rename it: an older one is replaced or left untouched.

    Args:
        path: the file.
        model, optimizer: the weights, and what the optimizer keeps for each parameter.
        header: texts, and dictionaries to be stored as JSON.
        others: further tensors, by names that begin neither with "model." nor with "optimizer.".

    Raises:
        OSError: if it cannot be written.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()} | (others or {})
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for parameter, state in optimizer.state.items():
        tensors |= {f"optimizer.{key}.{names[id(parameter)]}": value for key, value in state.items()}
    tensors = {name: tensor.detach().to("cpu").contiguous() for name, tensor in tensors.items()}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in header.items()}
    for abandoned in path.parent.glob(".checkpoint*.tmp"):  # left by a process that was killed
        abandoned.unlink()
    draft = path.with_name(f".{path.name}.tmp")
    try:
        draft.touch()
        mode = draft.stat().st_mode
        safetensors.torch.save_file(tensors, draft, metadata=texts)
        os.chmod(draft, mode)  # safetensors lets only its owner read it
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    except (OSError, safetensors.SafetensorError) as error:
        raise OSError(f"cannot write {path} ({error}). Make room, then resume{from_newest(path.parent)}.") from error
    finally:
        draft.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    """A checkpoint's header and tensors.

    Raises:
        ValueError: if the file is cut short, or holds anything but finite numbers.
    """
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
        mapped = safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise damaged(path, error) from error
    for name, tensor in mapped.items():
        if not tensor.is_floating_point() or not tensor.isfinite().all():
            raise damaged(path, f"{name} must hold finite numbers")
    # A copy, as Windows neither deletes nor replaces a file that is mapped into memory.
    return header, {name: tensor.clone() for name, tensor in mapped.items()}


def damaged(path: Path, reason: object) -> ValueError:
    """The error that says what is wrong with a checkpoint, and where the run can go on from."""
    resume = from_newest(path.parent, besides=path)
    return ValueError(
        f"{path} is damaged, or of another model: {reason}. Make the model as before; or delete the file, and "
        f"{f'resume{resume}' if resume else 'start again'}."
    )


def from_newest(folder: Path, besides: Path | None = None) -> str:
    """ " from NAME", for the newest checkpoint in a folder other than ``besides``; an empty text if there is none."""
    names = sorted(path.name for path in folder.glob("checkpoint*.safetensors") if path != besides)
    return f" from {names[-1]}" if names else ""


def check_same_run(path: Path, saved: dict, given: dict, may_change: Set[str] = frozenset()) -> None:
    """Refuse to resume a checkpoint's run with different settings, and name those that differ."""
    differing = sorted(name for name in {*saved, *given} - may_change if saved.get(name) != given.get(name))
    if differing:
        changes = "; ".join(f"{name} was {saved.get(name)!r} and is {given.get(name)!r}" for name in differing)
        raise ValueError(f"{path} is of another run: {changes}. Resume with what it had, or name another output.")


def restore(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    tensors: dict[str, torch.Tensor],
    has_learned: bool = False,
) -> None:
    """Load what ``write_checkpoint`` wrote into model and optimizer.

    Args:
        path: of the checkpoint, named in errors.
        model, optimizer: filled in place. The optimizer is AdamW, or the lab's Muon, whose groups with a momentum
            keep one tensor per parameter where AdamW keeps three.
        tensors: by name; any that belong to neither the model nor the optimizer are ignored.
        has_learned: whether the optimizer must have a state for every parameter that learns.

    Raises:
        ValueError: if names or shapes do not match the model's and the optimizer's; both are then unchanged.
    """
    weights = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    there, here = ({name: tuple(t.shape) for name, t in of.items()} for of in (weights, model.state_dict()))
    if differing := [name for name in {**here, **there} if here.get(name) != there.get(name)]:
        name = differing[0]
        raise damaged(
            path,
            f"{len(differing)} tensors differ in name or shape, the first is {name}: "
            f"{there.get(name, 'missing')} there, {here.get(name, 'missing')} in the model",
        )
    learned = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    states: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            kind, _, name = key.removeprefix("optimizer.").partition(".")
            states.setdefault(name, {})[kind] = tensor
    by_momentum = {id(p) for group in optimizer.param_groups if "momentum" in group for p in group["params"]}
    for name in [*states, *(learned if has_learned else ())]:
        shape = tuple(learned[name].shape) if name in learned else None
        expected = {"step": (), "exp_avg": shape, "exp_avg_sq": shape}
        if id(learned.get(name)) in by_momentum:
            expected = {"momentum_buffer": shape}
        found = {kind: tuple(tensor.shape) for kind, tensor in states.get(name, {}).items()}
        if found != expected:
            raise damaged(path, f"the optimizer's state of {name} must have the shapes {expected}; got {found}")
    model.load_state_dict(weights)
    for name, state in states.items():
        parameter = learned[name]
        optimizer.state[parameter] = {
            key: value if key == "step" and not parameter.is_cuda else value.to(parameter.device)
            for key, value in state.items()
        }
