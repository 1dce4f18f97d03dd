"""The settings of a fine-tuning run."""

from dataclasses import dataclass, field

from bertcourse_lab.training.settings import check_fields, require
from bertcourse_lab.training.steps import trapezoid


@dataclass(frozen=True)
class FineTuningConfig:
    """Everything that a run depends on besides model and data; ValueError, naming the field, if one is out of range.

    Attributes:
        epochs: how often each example is seen.
        batch_size: rows per step.
        learning_rate: the peak, in the encoder.
        head_learning_rate: the same in the head, which starts from noise; 0 for the encoder's.
        layer_decay: each layer learns at this times the rate of the one above it.
        trainable: "all", "blocks", "head", or k for the head and the last k blocks; see ``freezing.freeze``.
        warmup: the share of the training in which the learning rate rises; after that it falls to zero.
        weight_decay: applied to matrices only.
        clip: maximum gradient norm; a longer gradient is scaled down to it.
        average_last: the share of the training, at its end, over which weights are averaged: from then on their mean is
            what is measured and kept; 0 for no average.
        evaluations: measurements on dev, spread evenly over the training; 0 for one per epoch.
        patience: stop after this many measurements without a better one; 0 never stops.
        minutes: train for this long, with the schedule to match, unless the epochs end earlier; 0 for as long as they
            take. The last step and measurement may run over.
        seed: of order and dropout. The head's initial weights come from the head's own seed.
        precision: "float32", "bfloat16" (autocast), or "auto": whichever is faster here.
        checkpoint_minutes: minutes between checkpoints, if there is a folder for them.

    The values are from Devlin et al. 2019, appendix A.3, warm-up and linear decay from their code; averaging from
    Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima".
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
    precision: str = field(default="float32", metadata={"choices": ("float32", "bfloat16", "auto")})
    checkpoint_minutes: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self)
        require(self, "epochs batch_size", "at least 1", lambda value: value >= 1)
        require(self, "learning_rate clip", "above 0", lambda value: 0 < value < float("inf"))
        others = "head_learning_rate weight_decay evaluations patience minutes checkpoint_minutes"
        require(self, others, "at least 0", lambda value: 0 <= value < float("inf"))
        require(self, "seed", "at least 0 and below 2**63", lambda value: 0 <= value < 2**63)
        require(self, "warmup average_last", "a share, at least 0 and below 1", lambda value: 0 <= value < 1)
        require(self, "layer_decay", "above 0 and at most 1", lambda value: 0 < value <= 1)

    def rate_at(self, progress: float) -> float:
        """The learning rate at ``progress``, a share of the training from 0 to 1, as a share of its peak.

        >>> [FineTuningConfig(warmup=0.2).rate_at(progress) for progress in (0.1, 0.2, 0.6, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
        """
        return trapezoid(progress, self.warmup, decay=1 - self.warmup)
