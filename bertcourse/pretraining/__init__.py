"""Chapter 4: pretraining. In reading order: ``masking``, ``pairs`` and ``objective``, with what works on whole
batches in ``masking_fast``, ``pairs_fast`` and ``objective_fast``; ``corpus``, ``small_world``, ``small_world_probes``,
``batches``, ``starts``, ``evaluation``, ``config``, ``trainer``. Long runs are in ``bertcourse_lab.pretraining``.

A corpus is cut into rows of tokens and some of the tokens are hidden; a BERT learns to guess them, and to tell whether
one segment of a row follows the other.
"""

from bertcourse.pretraining.batches import RowMaker, fixed_batches
from bertcourse.pretraining.config import PRESETS, PretrainingConfig
from bertcourse.pretraining.corpus import Corpus
from bertcourse.pretraining.evaluation import CountModel, evaluate
from bertcourse.pretraining.masking import IGNORE, MaskedTokens, Vocabulary
from bertcourse.pretraining.masking_fast import mask_tokens
from bertcourse.pretraining.objective import PreTrainingLoss
from bertcourse.pretraining.pairs import (
    IS_NEXT,
    NOT_NEXT,
    Documents,
    RowBatch,
    Rows,
    collate,
)
from bertcourse.pretraining.pairs_fast import pack_documents, sentence_pairs
from bertcourse.pretraining.small_world import SmallWorld
from bertcourse.pretraining.small_world_probes import sense_accuracy, topic_accuracy
from bertcourse.training import read_log  # lecture 4 reads runs with it; documented in ``training``

__all__ = [
    "IGNORE",
    "IS_NEXT",
    "NOT_NEXT",
    "PRESETS",
    "Corpus",
    "CountModel",
    "Documents",
    "MaskedTokens",
    "PreTrainingLoss",
    "PretrainingConfig",
    "RowBatch",
    "RowMaker",
    "Rows",
    "SmallWorld",
    "Vocabulary",
    "collate",
    "evaluate",
    "fixed_batches",
    "mask_tokens",
    "pack_documents",
    "sense_accuracy",
    "sentence_pairs",
    "topic_accuracy",
]
