"""BERT: the model (``model``), texts as its input (``batching``), and loading and saving it (``pretrained``).

``pretrained`` relies on modules that know where a model's files are (``folders``) and what is in them (``weights``,
``tokenizer_files``). Texts that are too long for the model are read in parts (``windows``).

Lecture 2 writes the model and fills it with real weights (section 2.5), lecture 4 pretrains it.
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
