"""Chapter 7: fine-tuning. A few weights on top of BERT, trained on some labelled examples, classify texts and pairs.

In reading order: ``classifiers``, which the lecture's page defines; ``heads``, what all heads share; ``readers``.
"""

from bertcourse.fine_tuning.classifiers import SequenceClassifier, fine_tune
from bertcourse.fine_tuning.readers import LabeledText, read_tsv

__all__ = ["LabeledText", "SequenceClassifier", "fine_tune", "read_tsv"]
