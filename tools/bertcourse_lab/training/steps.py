"""What both training loops do from step to step: seeds, the learning rate's rise and fall, AdamW's groups, signals."""

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn

ORDER, MASKS, DROPOUT = 0, 1, 2  # streams of random numbers


class Interrupted(Exception):
    """A run was asked to stop, and has saved its state."""


def seed_of(*place: int) -> int:
    """A seed for a torch generator, made from the run's seed, a stream, and a place in it."""
    return int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0] >> 1)


def trapezoid(progress: float, warmup: float, decay: float, lead: float = 0.0) -> float:
    """Warm-up, flat, decay: the learning rate at a point of the training, as a share of its peak.

    min(1, progress / warmup, (1 - progress) / decay), as in Xing et al. 2018 and Hägele et al. 2024; with
    decay = 1 - warmup there is no flat part. A ``lead`` lifts the rise, so that the first step, at progress 0, learns.

    >>> [trapezoid(progress, warmup=0.2, decay=0.5) for progress in (0.1, 0.2, 0.5, 0.75, 1.0)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    """
    rise = (progress + lead) / warmup if warmup else 1.0
    fall = (1 - progress) / decay if decay else 1.0
    return max(0.0, min(1.0, rise, fall))


def adamw_groups(model: nn.Module, rate_of: Callable[[str], float], weight_decay: float) -> list[dict]:
    """Group what learns for AdamW, with a group's highest rate as its ``peak``; vectors, such as biases, do not decay.

    Args:
        model: its parameters that require a gradient are grouped.
        rate_of: gives a parameter's highest learning rate, from its name.
        weight_decay: of matrices.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            decay = weight_decay if parameter.dim() > 1 else 0.0
            groups.setdefault((rate_of(name), decay), []).append(parameter)
    return [
        {"params": parameters, "lr": peak, "peak": peak, "weight_decay": decay}
        for (peak, decay), parameters in groups.items()
    ]


def set_learning_rate(optimizer: torch.optim.Optimizer, share: float) -> None:
    """Let each group learn at this share of its ``peak``."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * share


def crossed(before: float, after: float, every: float) -> bool:
    """Whether a multiple of ``every``, or the end of the training, lies between two shares of the training."""
    return math.floor(before / every + 1e-9) < math.floor(after / every + 1e-9) or after >= 1


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, instead of doing what they usually do."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
