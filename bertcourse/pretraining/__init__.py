"""Chapter 4: pretraining. In reading order: ``masking``, ``pairs`` and ``trainer``, which are the page; ``corpus``,
``small_world``, ``small_world_probes``, ``evaluation`` and ``logs``. Long runs are in ``bertcourse_lab.pretraining``.

Documents are cut into rows of tokens and some of the tokens are hidden; a BERT learns to guess them, and to tell
whether one segment of a row follows the other.
"""

from bertcourse.pretraining.corpus import Corpus, Documents
from bertcourse.pretraining.evaluation import CountModel, evaluate
from bertcourse.pretraining.logs import read_log
from bertcourse.pretraining.masking import IGNORE, MaskedTokens, Vocabulary, hide, mask_tokens
from bertcourse.pretraining.pairs import IS_NEXT, NOT_NEXT, RowBatch, batches, collate, sentence_pairs
from bertcourse.pretraining.small_world import SmallWorld
from bertcourse.pretraining.small_world_probes import nearest_sense_accuracy, sense_accuracy, topic_accuracy
from bertcourse.pretraining.trainer import losses, train

__all__ = [
    "IGNORE",
    "IS_NEXT",
    "NOT_NEXT",
    "Corpus",
    "CountModel",
    "Documents",
    "MaskedTokens",
    "RowBatch",
    "SmallWorld",
    "Vocabulary",
    "batches",
    "collate",
    "evaluate",
    "hide",
    "losses",
    "mask_tokens",
    "nearest_sense_accuracy",
    "read_log",
    "sense_accuracy",
    "sentence_pairs",
    "topic_accuracy",
    "train",
]
