"""BERT: the model (``model``), texts as its input (``batching``), and how it is loaded and saved (``pretrained``).

Below ``pretrained``: where a model's files are (``folders``) and what is in them (``weights``, ``tokenizer_files``).
Apart from these, what a training step costs (``cost``).

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
