"""What both training loops keep of a run: tensors of model and optimizer, in one file that is whole or not there."""

import os
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import nn


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
