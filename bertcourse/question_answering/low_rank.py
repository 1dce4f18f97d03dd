"""Chapter 9: a fine-tuned model as a small difference from the pretrained one.

    W' = W + U·V        U (out, r), V (r, in): r·(in + out) numbers are trained instead of in·out

Hu et al. 2022, "LoRA", equation 3, where U·V is B·A. W stays fixed; U starts at zero, so that training starts from
the pretrained model. What is learned fits in a small file and, once added to W, costs nothing at run time. Biases,
layer norms and the head are trained in full: they are small.
"""

import os
from pathlib import Path

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.bert.weights import check_numbers, read_safetensors
from bertcourse.files import replace_files


class LowRankLinear(nn.Module):
    """A linear map in which only a difference of rank r is trained: x ↦ (W + U·V)·x + b.

    Args:
        linear: the map; its weight becomes a buffer, which no optimizer sees, while its bias is trained.
        rank: r, the number of rows of V and of columns of U.
        seed: for V, which is drawn from N(0, 1/in).
    """

    def __init__(self, linear: nn.Linear, rank: int, seed: int = 0):
        super().__init__()
        self.out_features, self.in_features = linear.weight.shape
        if not 1 <= rank <= min(linear.weight.shape):
            raise ValueError(f"rank must be from 1 to {min(linear.weight.shape)}, the smaller side of W; got {rank}.")
        draws = torch.Generator().manual_seed(seed)
        self.register_buffer("weight", linear.weight.detach().clone())
        self.bias = linear.bias
        V = torch.randn(rank, self.in_features, generator=draws) / self.in_features**0.5
        self.V = nn.Parameter(V.to(self.weight))  # its device and precision
        self.U = nn.Parameter(self.weight.new_zeros(self.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.V), self.U)

    def merged(self) -> nn.Linear:
        """The same map as one matrix, W + U·V."""
        whole = nn.Linear(self.in_features, self.out_features, device=self.weight.device, dtype=self.weight.dtype)
        whole.bias = self.bias
        whole.weight = nn.Parameter((self.weight + self.U @ self.V).detach())
        return whole


def add_low_rank(model: nn.Module, rank: int, seed: int = 0) -> nn.Module:
    """Let every linear map of the blocks learn only a low-rank difference, as in Dettmers et al. 2023, "QLoRA".

    Args:
        model: a head; changed in place. Train it with ``trainable="blocks"``, so that the embeddings stay fixed too.
        rank: of the differences.
        seed: for their initial weights.

    Returns:
        The model.
    """
    linears = [name for name, part in model.bert.encoder.blocks.named_modules() if isinstance(part, nn.Linear)]
    for number, name in enumerate(linears):
        parent, _, own = name.rpartition(".")
        holder = model.bert.encoder.blocks.get_submodule(parent)
        setattr(holder, own, LowRankLinear(getattr(holder, own), rank, seed * len(linears) + number))
    return model


def save_difference(model: nn.Module, path: str | os.PathLike) -> None:
    """Write what was trained, in half precision: U and V of each map, and the other weights that were not frozen.

    Args:
        model: a trained model from ``add_low_rank``.
        path: a safetensors file.

    Raises:
        ValueError: if a weight is not finite or is too large for half precision; nothing is written.
    """
    path = Path(path)
    learned = {name: p.detach().half().cpu() for name, p in model.named_parameters() if p.requires_grad}
    if too_large := [name for name, tensor in learned.items() if not tensor.isfinite().all()]:
        raise ValueError(
            f"weights must be finite and fit half precision (65,504 at most); {too_large[0]} does not. Train again "
            "with a lower learning rate, or save the whole model: model.save(folder)."
        )
    with replace_files(path.parent, [path.name]) as draft:
        safetensors.torch.save_file(learned, draft / path.name)


def load_difference(model: nn.Module, path: str | os.PathLike) -> nn.Module:
    """Add a difference to the weights of a plain model, which thereby becomes the fine-tuned one.

    Args:
        model: a new head on the encoder that training started from; changed in place.
        path: what ``save_difference`` wrote.

    Returns:
        The model.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged or belongs to another model; the model is then left unchanged.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"expected the difference of a fine-tuned model at {path}; there is no such file.")
    learned = read_safetensors(Path(path), "Fetch it again.")
    check_numbers(learned, Path(path))
    weights, new = model.state_dict(), {}
    halves = {name[:-1] + ("V" if name.endswith("U") else "U") for name in learned if name.endswith((".U", ".V"))}
    maps = {f"{name[:-2]}.weight" for name in halves}
    touched = {name.split(".")[3] for name in learned if name.startswith("bert.encoder.blocks.")}
    of_blocks = {name for name in weights if name.startswith("bert.encoder.blocks.") and name.split(".")[3] in touched}
    head = {name for name, _ in model.named_parameters() if not name.startswith("bert.")}
    if missing := sorted((halves | head | of_blocks - maps) - set(learned)):
        raise ValueError(
            f"{path} must have the head, U and V of each map, and what else the blocks learn; {len(missing)} missing: "
            f"{', '.join(missing[:4])}. Fetch it again."
        )
    for name, tensor in learned.items():
        stem, _, last = name.rpartition(".")
        if last == "V":
            continue
        if last == "U":
            ranks = tensor.shape[-1], len(learned[f"{stem}.V"])
            if tensor.dim() != 2 or ranks[0] != ranks[1]:
                raise ValueError(f"{path}: U and V of {stem} must have one rank; got {ranks}. Fetch it again.")
            name, tensor = f"{stem}.weight", tensor.float() @ learned[f"{stem}.V"].float()
        if name not in weights or weights[name].shape != tensor.shape:
            expected = f"shape {tuple(weights[name].shape)}" if name in weights else "no such weight"
            raise ValueError(
                f"{path} must fit the model: expected {expected} for {name}; got {tuple(tensor.shape)}. Put the head "
                "on the encoder with which the file was made."
            )
        new[name] = tensor.to(weights[name]) + (weights[name] if last == "U" else 0)
    model.load_state_dict(new, strict=False)
    return model
