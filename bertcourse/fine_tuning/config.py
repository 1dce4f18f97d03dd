"""The settings of a fine-tuning run."""

import dataclasses
from dataclasses import dataclass

PRECISIONS = ("float32", "bfloat16", "auto")


@dataclass(frozen=True)
class FineTuningConfig:
    """All that decides a run beside model and data.

    Attributes:
        epochs: how often each example is seen.
        batch_size: rows of a step.
        learning_rate: its highest value, in the encoder.
        head_learning_rate: the same in the head, which starts from noise; 0 for that of the encoder.
        layer_decay: each layer learns at this times the rate of the one above it.
        trainable: "all", "blocks", "head", or k for the last k blocks with the head; see ``freezing.freeze``.
        warmup: share of the training in which the learning rate rises; then it falls to zero.
        weight_decay: of matrices.
        clip: longest gradient.
        average_last: share of the training, at its end, over which the weights are averaged: from then on their mean is
            what is measured and kept; 0 for no average.
        evaluations: measurements on dev, evenly over the training; 0 for one each epoch.
        patience: stop after so many measurements without a better one; 0 never stops.
        minutes: train for so long, the schedule with it, unless the epochs are over before; 0 for as long as these
            take. The last step and measurement run over.
        seed: of order and dropout. The head's initial weights have the seed of the head.
        precision: "float32", "bfloat16" (autocast), or "auto": what is faster here.
        checkpoint_minutes: minutes between two checkpoints, if there is a folder for them.

    Raises:
        ValueError: naming the field, if one is out of range.

    Source: values from Devlin et al. 2019, appendix A.3; warm-up and linear decay: Mosbach et al. 2021, "On the
        Stability of Fine-tuning BERT"; average: Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima".
    """

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    head_learning_rate: float = 0.0
    layer_decay: float = 1.0
    trainable: str | int = "all"
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    average_last: float = 0.0
    evaluations: int = 0
    patience: int = 0
    minutes: float = 0.0
    seed: int = 0
    precision: str = "float32"
    checkpoint_minutes: float = 5.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, kinds = getattr(self, field.name), (int, float) if field.type is float else field.type
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ValueError(
                    f"{field.name} must be of type {getattr(field.type, '__name__', field.type)}; got {value!r}."
                )
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}.")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be above 0; got {getattr(self, name)}.")
        for name in (
            "head_learning_rate",
            "weight_decay",
            "evaluations",
            "patience",
            "minutes",
            "seed",
            "checkpoint_minutes",
        ):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be at least 0; got {getattr(self, name)}.")
        if self.seed >= 2**63:
            raise ValueError(f"seed must be below 2**63; got {self.seed}.")
        for name in ("warmup", "average_last"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is a share, at least 0 and below 1; got {getattr(self, name)}.")
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"layer_decay must be above 0 and at most 1; got {self.layer_decay}.")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}; got {self.precision!r}.")

    def rate_at(self, progress: float) -> float:
        """The learning rate at a share of the training, from 0 to 1, as a share of its highest value.

        >>> [FineTuningConfig(warmup=0.2).rate_at(progress) for progress in (0.1, 0.2, 0.6, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
        """
        if progress < self.warmup:
            return progress / self.warmup
        return (1 - progress) / (1 - self.warmup)
