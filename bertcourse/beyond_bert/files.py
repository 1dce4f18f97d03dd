"""Chapter 11: the files of encoders that are no BERT."""

import copy
import dataclasses
import os
from pathlib import Path

from tokenizers import Tokenizer

from bertcourse import bert
from bertcourse.bert import BertForPreTraining
from bertcourse.bert.pretrained import write_files
from bertcourse.beyond_bert.encoder import Encoder, EncoderForPreTraining

OURS = "bertcourse_encoder"  # model_type in config.json


def save_pretrained(model: Encoder | EncoderForPreTraining, tokenizer: Tokenizer, folder: str | os.PathLike) -> None:
    """Write an encoder of this chapter and its tokenizer: the five files of ``bertcourse.bert.save_pretrained``, which
    name the weights and settings as the code does.

    Args:
        model: what to save; its dtype is kept.
        tokenizer: its tokenizer.
        folder: where to; made if it is not there, its files of these names replaced.
    """
    config = {
        "architectures": [type(model).__name__],
        "model_type": OURS,
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        **dataclasses.asdict(model.config),
    }
    write_files(folder, config, model.state_dict(), tokenizer)


def save_model(model: BertForPreTraining, tokenizer: Tokenizer, folder: Path) -> None:
    """A model in fp16 and its tokenizer, a plain BERT in BERT's format."""
    save = save_pretrained if isinstance(model, EncoderForPreTraining) else bert.save_pretrained
    save(copy.deepcopy(model).half(), tokenizer, folder)
