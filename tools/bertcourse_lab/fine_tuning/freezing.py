"""Which weights learn, and how fast.

A head on a frozen encoder shows what pretraining alone knows; from there the last k blocks, or all, can be adapted
(Howard & Ruder 2018; Lee et al. 2019, "What Would Elsa Do?"). With layer-wise decay, each layer learns at
``layer_decay`` times the rate of the one above it (Clark et al. 2020, appendix B).
"""

import re

from torch import nn

from bertcourse_lab.training import steps


def depth(name: str, num_blocks: int) -> int:
    """How far below the head a parameter is: 0 for head and pooler, 1 for the last block, …, blocks + 1 for embeddings.

    >>> names = ("classifier.weight", "bert.encoder.blocks.5.output.weight", "bert.embeddings.layer_norm.weight")
    >>> [depth(name, num_blocks=6) for name in names]
    [0, 1, 7]
    """
    if name.startswith("bert.embeddings."):
        return num_blocks + 1
    block = re.match(r"bert\.encoder\.blocks\.(\d+)\.", name)
    return num_blocks - int(block[1]) if block else 0


def freeze(model: nn.Module, trainable: str | int = "all") -> int:
    """Choose the weights that learn; the others keep their values.

    Args:
        model: a head.
        trainable: "all"; "blocks", all but the embeddings; "head", only head and pooler; or k, these and the last k
            blocks.

    Returns:
        How many parameters learn, counted as single numbers.
    """
    num_blocks = count_blocks(model)
    if trainable == "all":
        deepest = num_blocks + 1
    elif trainable == "blocks":
        deepest = num_blocks
    elif trainable == "head":
        deepest = 0
    elif isinstance(trainable, int) and not isinstance(trainable, bool) and 1 <= trainable <= num_blocks:
        deepest = trainable
    else:
        raise ValueError(
            f'trainable must be "all", "blocks", "head", or 1 to {num_blocks}, the last blocks; got {trainable!r}.'
        )
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(depth(name, num_blocks) <= deepest)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def count_blocks(model: nn.Module) -> int:
    """How many blocks a head's encoder has; 0 if it has no encoder."""
    return len(model.bert.encoder.blocks) if hasattr(model, "bert") else 0


def parameter_groups(
    model: nn.Module, learning_rate: float, head_learning_rate: float, layer_decay: float, weight_decay: float
) -> list[dict]:
    """AdamW's groups of the weights that learn, each with its highest learning rate as ``peak``.

    Args:
        model: a head.
        learning_rate: of the last block; a weight n layers below the head has this times layer_decay^(n - 1).
        head_learning_rate: of head and pooler.
        layer_decay: from 0 to 1; 1 for one rate everywhere.
        weight_decay: of matrices; biases and layer norms have none, as in Devlin et al.'s ``optimization.py``.
    """
    num_blocks = count_blocks(model)

    def rate_of(name: str) -> float:
        below = depth(name, num_blocks)
        return head_learning_rate if below == 0 else learning_rate * layer_decay ** (below - 1)

    return steps.adamw_groups(model, rate_of, weight_decay)
