"""BERT: the model (``model``), loaded and saved (``pretrained``), and texts as its input (``batching``).

A text that is longer than the model is read in parts (``windows``). Chapter 2 ends by loading real weights into it;
chapter 4 pretrains one.
"""

from bertcourse.bert.batching import Batch, encode_batch, length_buckets, pad_rows
from bertcourse.bert.folders import find_folder
from bertcourse.bert.model import (
    BertConfig,
    BertForPreTraining,
    BertModel,
    BertOutput,
    PreTrainingOutput,
    count_parameters,
)
from bertcourse.bert.pretrained import load_pretrained, save_pretrained

__all__ = [
    "Batch",
    "BertConfig",
    "BertForPreTraining",
    "BertModel",
    "BertOutput",
    "PreTrainingOutput",
    "count_parameters",
    "encode_batch",
    "find_folder",
    "length_buckets",
    "load_pretrained",
    "pad_rows",
    "save_pretrained",
]
