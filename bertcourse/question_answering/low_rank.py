"""Chapter 9: a fine-tuned model as a small difference from the pretrained one.

    W' = W + U·V        U (out, r), V (r, in): r·(in + out) numbers are trained instead of in·out

Hu et al. 2022, "LoRA", equation 3, where U·V is B·A. W stays fixed; U starts at zero, so that training starts from
the pretrained model. What is learned fits in a small file and, once added to W, costs nothing at run time. Biases,
layer norms and the head are trained in full: they are small.
"""

import copy
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
        rank: r, the rows of V and the columns of U.
        seed: for V, which is drawn from N(0, 1/in).
    """

    def __init__(self, linear: nn.Linear, rank: int, seed: int = 0):
        super().__init__()
        out, into = linear.weight.shape
        draws = torch.Generator().manual_seed(seed)
        V = torch.randn(rank, into, generator=draws) / into**0.5
        self.register_buffer("weight", linear.weight.detach().clone())  # W: fixed
        self.bias = linear.bias
        self.V = nn.Parameter(V.to(self.weight))
        self.U = nn.Parameter(self.weight.new_zeros(out, rank))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.V), self.U)

    def merged(self) -> nn.Linear:
        """The same map as one matrix, W + U·V."""
        whole = nn.Linear(*self.weight.shape[::-1]).to(self.weight)
        whole.weight, whole.bias = nn.Parameter((self.weight + self.U @ self.V).detach()), self.bias
        return whole


def add_low_rank(model: nn.Module, rank: int, seed: int = 0) -> nn.Module:
    """Let every linear map in a head's blocks learn only a difference, as in Dettmers et al. 2023, "QLoRA", and its
    embeddings nothing; the model is changed in place, and returned."""
    model.bert.embeddings.requires_grad_(False)
    maps = [
        (part, name, linear)
        for part in model.bert.encoder.blocks.modules()
        for name, linear in part.named_children()
        if isinstance(linear, nn.Linear)
    ]
    for number, (part, name, linear) in enumerate(maps):
        setattr(part, name, LowRankLinear(linear, rank, seed * len(maps) + number))
    return model


def save_difference(model: nn.Module, path: str | os.PathLike) -> None:
    """Write what a model from ``add_low_rank`` has learned to a safetensors file, in half precision.

    Raises:
        ValueError: if a weight is not finite or is too large for half precision; nothing is written.
    """
    learned = {name: p.detach().half().cpu() for name, p in model.named_parameters() if p.requires_grad}
    if too_large := [name for name, tensor in learned.items() if not tensor.isfinite().all()]:
        raise ValueError(
            f"weights must be finite and fit half precision (65,504 at most); {too_large[0]} does not. Train again "
            "with a lower learning rate, or save the whole model: model.save(folder)."
        )
    with replace_files(Path(path).parent, [Path(path).name]) as draft:
        safetensors.torch.save_file(learned, draft / Path(path).name)


def add_difference(model: nn.Module, learned: dict[str, Tensor]) -> None:
    """Add to a plain model's weights, in place, what ``save_difference`` wrote: W + U·V; other weights are replaced."""
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, new in learned.items():
            if name.endswith(".U"):
                V = learned[name[:-1] + "V"]
                weights[name[:-1] + "weight"] += new.float() @ V.float()
            elif not name.endswith(".V"):
                weights[name].copy_(new)


def load_difference(model: nn.Module, path: str | os.PathLike) -> nn.Module:
    """A new head on the encoder that training started from, changed in place to the one that was saved.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged or belongs to another model; the model is then left unchanged.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"expected the difference of a fine-tuned model at {path}; there is no such file.")
    learned = read_safetensors(path, "Fetch it again.")
    check_numbers(learned, path)
    rank = next((len(tensor) for name, tensor in learned.items() if name.endswith(".V")), 1)
    trained = add_low_rank(copy.deepcopy(model), rank)  # its weights have the names and shapes that a file must have
    expected = {name: p.shape for name, p in trained.named_parameters() if p.requires_grad}
    blocks = {name.split(".")[3] for name in learned if ".blocks." in name}  # those above a frozen part may be all
    needed = {n for n in expected if not n.startswith("bert.") or (".blocks." in n and n.split(".")[3] in blocks)}
    for name in sorted(needed | set(learned)):
        wanted, found = expected.get(name), learned[name].shape if name in learned else None
        if wanted != found:
            raise ValueError(
                f"{path} must fit the model: expected {wanted and tuple(wanted) or 'no such weight'} for {name}; got "
                f"{found and tuple(found) or 'none'}. Put the head on the encoder with which the file was made, or "
                "fetch it again."
            )
    add_difference(model, learned)
    return model
