"""Chapter 11: Muon, momentum made orthogonal (Jordan et al. 2024, kellerjordan.github.io/posts/muon).

The gradient of a weight matrix is dominated by a few directions; the others hardly learn. Muon takes the momentum
M = USVᵀ and steps along UVᵀ, equally far in every direction. Among all steps that move no output by more than the
learning rate times the length of its input, this one descends most steeply (Bernstein & Newhouse 2024, "Old Optimizer,
New Norm", on Shampoo); for tall matrices, ``Muon`` steps further. A gated network's two maps, which are stored as one
matrix, share one step.
"""

import math

import torch
from torch import Tensor, nn

from bertcourse_lab.training.steps import adamw_groups

A, B, C = 3.4445, -4.7750, 2.0315  # Jordan's coefficients: steep at 0, so that small singular values grow fast
STEPS = 5  # of Newton-Schulz
MOMENTUM = 0.95  # how much of the running mean of gradients is kept at each step


def orthogonalize(matrices: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Approximately UVᵀ of each matrix USVᵀ, by batched products alone (Newton-Schulz).

    X ← aX + b(XXᵀ)X + c(XXᵀ)²X keeps U and V, and turns each singular value s into as + bs³ + cs⁵. It starts from
    X = M / ‖M‖ (Frobenius), whose singular values are at most 1; after five steps, most lie between 0.7 and 1.2.

    Args:
        matrices: (…, M, N).
        dtype: of the products and the result. None: bfloat16 on a GPU, as in Jordan's code; float32 on a CPU, where
            bfloat16 is often slower.
    """
    dtype = dtype or (torch.float32 if matrices.device.type == "cpu" else torch.bfloat16)
    x = matrices.reshape(-1, *matrices.shape[-2:]).to(dtype)
    is_tall = x.shape[1] > x.shape[2]
    x = x.mT if is_tall else x  # so that XXᵀ is the smaller of the two squares
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(STEPS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=B, alpha=C), x, beta=A)
    return (x.mT if is_tall else x).reshape(matrices.shape)


def orthogonalize_together(matrices: list[Tensor]) -> list[Tensor]:
    """Each matrix, orthogonalized; those of the same shape, transposed if need be, go through in one stack."""
    stacks: dict[tuple[int, ...], list[int]] = {}
    for i, matrix in enumerate(matrices):
        stacks.setdefault(tuple(sorted(matrix.shape)), []).append(i)
    wide = [matrix if matrix.shape[0] <= matrix.shape[1] else matrix.mT for matrix in matrices]
    results = list(matrices)
    for places in stacks.values():
        for i, result in zip(places, orthogonalize(torch.stack([wide[i] for i in places]))):
            results[i] = result if wide[i] is matrices[i] else result.mT
    return results


def is_hidden_matrix(name: str, parameter: nn.Parameter) -> bool:
    """Whether Muon should train it: a matrix of an encoder block, which maps hidden vectors to hidden vectors."""
    return "encoder.blocks." in name and parameter.dim() == 2


def muon_groups(model: nn.Module, muon_rate: float, adam_rate: float, weight_decay: float) -> list[dict]:
    """Groups for ``Muon``: the hidden matrices with a ``momentum``, then ``adamw_groups`` for everything else.

    Args:
        model: whose parameters with a gradient are grouped.
        muon_rate: highest learning rate of the hidden matrices.
        adam_rate: highest learning rate of embeddings, heads and vectors.
        weight_decay: of matrices; each step shrinks them by this share times the learning rate.
    """
    hidden = [p for name, p in model.named_parameters() if p.requires_grad and is_hidden_matrix(name, p)]
    rates = {"lr": muon_rate, "peak": muon_rate}
    by_muon = {"params": hidden, **rates, "weight_decay": weight_decay, "momentum": MOMENTUM}
    groups, ids = adamw_groups(model, lambda name: adam_rate, weight_decay), {id(p) for p in hidden}
    for group in groups:
        group["params"] = [p for p in group["params"] if id(p) not in ids]
    return [group for group in (by_muon, *groups) if group["params"]]


class Muon(torch.optim.Optimizer):
    """One optimizer: Muon for the groups with a ``momentum``, which hold matrices, and AdamW for the others.

    For a matrix of R rows and C columns, with gradient G, learning rate r and weight decay w (Jordan et al. 2024; decay
    added by Liu et al. 2025, "Muon is Scalable for LLM Training"):

        M ← momentum · M + (1 - momentum) · G
        W ← (1 - r·w) W - r · √max(1, R/C) · orthogonalize(momentum · M + (1 - momentum) · G)

    Args:
        groups: as ``muon_groups`` makes them.
        betas, eps: AdamW's.
    """

    def __init__(self, groups: list[dict], betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8):
        super().__init__(groups, {})
        self.adamw = torch.optim.AdamW(self.groups_of_adamw(), betas=betas, eps=eps, fused=True)

    def groups_of_adamw(self) -> list[dict]:
        """The groups without a ``momentum``: the same objects, not copies."""
        return [group for group in self.param_groups if "momentum" not in group]

    @torch.no_grad()
    def step(self) -> None:
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            if "momentum" in group:
                self.step_matrices(**group)
        self.adamw.param_groups, self.adamw.state = self.groups_of_adamw(), self.state  # shared, after loading too
        self.adamw.step()

    def step_matrices(self, params: list[Tensor], lr: float, momentum: float, weight_decay: float, **_) -> None:
        """Muon's update of a group."""
        weights = [weight for weight in params if weight.grad is not None]
        ahead = []
        for weight in weights:
            mean = self.state[weight].setdefault("momentum_buffer", torch.zeros_like(weight))
            mean.lerp_(weight.grad, 1 - momentum)
            ahead.append(weight.grad.lerp(mean, momentum))  # Nesterov: as if the mean had already moved on
        for weight, update in zip(weights, orthogonalize_together(ahead)):
            rows, columns = weight.shape
            weight.mul_(1 - lr * weight_decay).add_(update, alpha=-lr * math.sqrt(max(1, rows / columns)))
