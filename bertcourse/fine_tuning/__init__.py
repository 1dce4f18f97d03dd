"""Chapter 7: fine-tuning. A few weights on top of BERT, trained on some labelled examples, classify texts and pairs.

In reading order: ``readers``, ``heads``, ``classifiers``, ``config``, ``freezing``, ``batches``, ``trainer``.
"""

from bertcourse.fine_tuning.classifiers import SequenceClassifier
from bertcourse.fine_tuning.config import FineTuningConfig
from bertcourse.fine_tuning.freezing import freeze
from bertcourse.fine_tuning.readers import LabeledText, read_tsv
from bertcourse.fine_tuning.trainer import FineTuned, fine_tune

__all__ = [
    "FineTuned",
    "FineTuningConfig",
    "LabeledText",
    "SequenceClassifier",
    "fine_tune",
    "freeze",
    "read_tsv",
]
