"""Using a model without training it: no dropout, no gradients."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Switch off dropout and gradients; afterwards every submodule is as it was before, even after an error.

    Args:
        module: a model; parts of it may be in different modes, such as a frozen encoder under a head that learns.

    >>> model = nn.Dropout(0.5)
    >>> with evaluation_mode(model):
    ...     model(torch.ones(3)).tolist(), model.training
    ([1.0, 1.0, 1.0], False)
    >>> model.training
    True
    """
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, was_training in before:
            part.training = was_training
