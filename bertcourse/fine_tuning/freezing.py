"""Chapter 7: which weights learn, and how fast each of them.

A small head on a frozen encoder asks what pretraining alone knows; the last k blocks, or all, are adapted on top of it
(Howard & Ruder 2018; Lee et al. 2019, "What Would Elsa Do?"). With layer-wise decay, a layer learns at ``layer_decay``
times the rate of the one above it (Clark et al. 2020, appendix A).
"""

import re

from torch import nn

from bertcourse.training import loop


def depth(name: str, num_blocks: int) -> int:
    """How far below the head a weight is: 0 for head and pooler, 1 for the last block, …, blocks + 1 for embeddings.

    Args:
        name: of a parameter of a head; the encoder's begin with "bert.".
        num_blocks: of the encoder.

    Source: Clark et al. 2020, "ELECTRA", whose layer-wise decay counts so.

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
        trainable: "all"; "blocks", all but the embeddings; "head", the head and the pooler alone; or k, these and the
            last k blocks.

    Returns:
        How many numbers learn.

    Raises:
        ValueError: if ``trainable`` is none of these, or more blocks than there are.

    Source: Howard & Ruder 2018, "Universal Language Model Fine-tuning", for gradual unfreezing.
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
    """How many blocks a head's encoder has; 0 for a head on features, which has none."""
    return len(model.bert.encoder.blocks) if hasattr(model, "bert") else 0


def parameter_groups(
    model: nn.Module, learning_rate: float, head_learning_rate: float, layer_decay: float, weight_decay: float
) -> list[dict]:
    """Groups for AdamW, each with its highest learning rate as ``peak``; matrices decay, biases and layer norms do not.

    Args:
        model: a head, its weights frozen or not.
        learning_rate: of the last block; that of a weight n layers below the head is this times layer_decay^(n - 1).
        head_learning_rate: of head and pooler.
        layer_decay: from 0 to 1; 1 for one rate everywhere.
        weight_decay: of matrices.

    Source: Devlin et al. 2019, the released ``optimization.py``, for weights without decay; Clark et al. 2020, appendix
        A.
    """
    num_blocks = count_blocks(model)

    def rate_of(name: str) -> float:
        below = depth(name, num_blocks)
        return head_learning_rate if below == 0 else learning_rate * layer_decay ** (below - 1)

    return loop.adamw_groups(model, rate_of, weight_decay)
