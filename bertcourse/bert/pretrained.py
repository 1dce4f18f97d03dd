"""BERT's files: Hugging Face's folder layout, read and written without pickle.

A folder holds config.json, model.safetensors and tokenizer.json or vocab.txt. What ``transformers`` saves loads
here, and what we save loads there. ``folders`` finds the folder; ``weights`` and ``tokenizer_files`` deal with what is
in its files.
"""

import dataclasses
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import safetensors
import safetensors.torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert.batching import check_tokenizer
from bertcourse.bert.folders import FILES, open_folder
from bertcourse.bert.model import BertConfig, BertForPreTraining, BertModel
from bertcourse.bert.tokenizer_files import (
    BERT_SPELLING,
    check_special_tokens,
    check_vocabulary,
    read_tokenizer,
    tokenizer_config,
    tokens_by_id,
)
from bertcourse.bert.weights import (
    check_sizes,
    copy_tensors,
    hugging_face_name,
    read_tensors,
)
from bertcourse.files import expect_file, read_json, replace_files
from bertcourse.multi_head_attention import ACTIVATIONS

Config = TypeVar("Config")

# The fields of a configuration that say how large the model is.
SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
# Fields of a config.json that turn a BERT into a different model, and the one value that ours has.
LIKE_OURS = {
    "model_type": "bert",
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
    "is_decoder": False,
    "add_cross_attention": False,
}
BEYOND = {
    **dict.fromkeys(("roberta", "modernbert", "bertcourse_encoder"), "load_pretrained"),
    "electra": "load_electra",
}  # other models, and the functions of bertcourse.beyond_bert that load them


def load_pretrained(
    name_or_path: str | os.PathLike, model_class: type[BertModel] | type[BertForPreTraining] = BertModel
) -> tuple[BertModel | BertForPreTraining, Tokenizer]:
    """A pretrained BERT and its tokenizer, in evaluation mode and float32.

    Args:
        name_or_path: "course" (the course's own, with both heads) or "minilm" (all-MiniLM-L6-v2; Wang et al. 2020,
            Reimers & Gurevych 2019), whose files are checked
            against their known SHA-256 wherever they come from; or a folder; or the id of a BERT on the Hugging Face
            hub, such as "bert-base-uncased". The folder named by the environment variable ``BERTCOURSE_MODELS`` is
            searched before the working folder and the hub.
        model_class: ``BertModel`` for the encoder alone, whatever heads the checkpoint has, or ``BertForPreTraining``
            for the encoder with its MLM and NSP heads.

    Returns:
        ``(model, tokenizer)``. The tokenizer neither pads nor truncates. A checkpoint without a pooler gives a
        ``BertModel`` without one.

    Raises:
        FileNotFoundError: if the folder, one of its files, or the name cannot be found.
        ValueError: if a file is damaged, not the one we know, or not a BERT's, or if the files do not match each other.
        ConnectionError: if the hub cannot be reached and its cache does not have the model.
    """
    folder = open_folder(name_or_path)
    config, tensors, tokenizer = read_files(folder)
    if model_class is BertModel:
        model = BertModel(config, add_pooler=any("pooler." in name for name in tensors))
    else:
        model = model_class(config)
        check_special_tokens(tokenizer, ["mask"])
    copy_tensors(model, tensors, folder)
    return model.eval(), tokenizer


class ModelFiles(NamedTuple):
    """What a folder holds, read and checked, before a model is made from it.

    Attributes:
        config: the sizes.
        tensors: the weights, under the names of Hugging Face's BertForPreTraining; their sizes are those of ``config``.
        tokenizer: its ids are below ``config.vocab_size``; it neither pads nor truncates.
    """

    config: BertConfig
    tensors: dict[str, Tensor]
    tokenizer: Tokenizer


def read_files(folder: Path) -> ModelFiles:
    """Configuration, weights and tokenizer of a folder, checked against each other before a model is made from them."""
    config = read_config(folder)
    tensors = read_tensors(folder)
    check_sizes(config, tensors, folder)
    tokenizer = read_tokenizer(folder)
    try:
        check_vocabulary(tokenizer, config.vocab_size)
        check_special_tokens(tokenizer)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    return ModelFiles(config, tensors, tokenizer)


def read_config(folder: Path) -> BertConfig:
    """The sizes in config.json, which is refused unless it belongs to a BERT built like ours."""
    path = folder / "config.json"
    settings = read_settings(folder)
    check_settings(path, {"model_type": None, **settings}, LIKE_OURS)
    known = {field.name for field in dataclasses.fields(BertConfig)}
    try:
        return checked(BertConfig(**{name: value for name, value in settings.items() if name in known}))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def checked(config: Config) -> Config:
    """A model's configuration as a person or a file gives it, refused with the field's name if it makes no model.

    Args:
        config: a dataclass with the fields of ``BertConfig``, or most of them.

    >>> checked(BertConfig(hidden_size=100))
    Traceback (most recent call last):
    ValueError: hidden_size must be a multiple of num_attention_heads, 12; got 100.
    """
    told = vars(config)
    for field in dataclasses.fields(config):
        value, kind = told[field.name], type(field.default)
        is_of_kind = isinstance(value, (int, float) if kind is float else kind)
        if not is_of_kind or isinstance(value, bool) != (kind is bool):
            raise ValueError(f"{field.name} must be of type {kind.__name__}; got {value!r}.")
    allowed = {name: (value >= 1, "at least 1") for name, value in told.items() if name in SIZES}
    for name, value in told.items():
        if name.endswith("_prob"):
            allowed[name] = (0 <= value < 1, "at least 0 and below 1")
    allowed |= {
        "hidden_act": (config.hidden_act in ACTIVATIONS, f"one of {', '.join(ACTIVATIONS)}"),
        "initializer_range": (0 <= config.initializer_range < math.inf, "at least 0 and finite"),
        "layer_norm_eps": (0 < config.layer_norm_eps < math.inf, "above 0 and finite"),
        "pad_token_id": (
            0 <= told.get("pad_token_id", 0) < config.vocab_size,
            f"an id from 0 to {config.vocab_size - 1}",
        ),
    }
    for name, (fits, expected) in allowed.items():
        if not fits:
            raise ValueError(f"{name} must be {expected}; got {told[name]!r}.")
    if config.hidden_size % config.num_attention_heads:
        heads = config.num_attention_heads
        raise ValueError(f"hidden_size must be a multiple of num_attention_heads, {heads}; got {config.hidden_size}.")
    return config


def read_settings(folder: Path) -> dict:
    """What config.json says; null means the default, and is left out."""
    path = folder / "config.json"
    expect_file(path, "Name the folder that save_pretrained wrote.")
    return {name: value for name, value in read_json(path).items() if value is not None}


def check_settings(
    path: Path, settings: Mapping[str, object], ours: Mapping[str, object], sizes: Sequence[str] = SIZES
) -> None:
    """Refuse the config.json of a different model, or one without sizes.

    Args:
        path: named in errors.
        settings: as ``read_settings`` returns them.
        ours: the values expected of fields that the file has.
        sizes: the fields that the file must have.
    """
    for name, expected in ours.items():
        if (got := settings.get(name, expected)) != expected:
            is_known = name == "model_type" and got in BEYOND
            advice = f" bertcourse.beyond_bert.{BEYOND[got]} loads it." if is_known else ""
            raise ValueError(f"{path}: {name} must be {expected!r} for the model of this course; got {got!r}.{advice}")
    if missing := [name for name in sizes if name not in settings]:
        raise ValueError(f"{path} must say how large the model is; {', '.join(missing)} missing. Fetch it again.")


def save_pretrained(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    folder: str | os.PathLike,
    further: Mapping[str, object] | None = None,
) -> None:
    """Write config.json, model.safetensors, tokenizer.json, tokenizer_config.json and vocab.txt.

    ``AutoModel.from_pretrained`` and ``AutoTokenizer.from_pretrained`` of ``transformers`` read the folder, and so does
    ``load_pretrained``. An interruption never leaves a file half written. If it comes between two replacements, the
    folder has no config.json and ``load_pretrained`` refuses it; save again then.

    Args:
        model: what to save; its dtype is kept.
        tokenizer: its tokenizer, whose ids are 0, 1, … without a gap, each with a row in the model's embeddings.
        folder: where to write; it is created if need be, and files of these names are replaced.
        further: fields of config.json besides the sizes, such as the names of a classifier's labels.

    Raises:
        TypeError: if the tokenizer is not a ``tokenizers.Tokenizer``.
        ValueError: if the vocabulary does not fit the model, lacks a special token, or has a gap in its ids.
        OSError: if the folder cannot be written; the old files are unchanged, unless it failed between replacements.
    """
    config = {
        "architectures": [type(model).__name__],
        "model_type": "bert",
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        **dataclasses.asdict(model.config),
        **(further or {}),
    }
    tensors = {hugging_face_name(name): tensor for name, tensor in model.state_dict().items()}
    write_files(folder, config, tensors, tokenizer)


def write_files(
    folder: str | os.PathLike,
    config: dict,
    tensors: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    spelling: Mapping[str, str] = BERT_SPELLING,
) -> None:
    """Write the five files of ``save_pretrained``, all or none; errors as there.

    Args:
        folder: where to write.
        config: what config.json says; its ``vocab_size`` is checked against the tokenizer.
        tensors: the weights, by their names in the file.
        tokenizer: the model's.
        spelling: the tokenizer's special tokens, by purpose.
    """
    check_tokenizer(tokenizer)
    check_vocabulary(tokenizer, config["vocab_size"])
    vocabulary = tokens_by_id(tokenizer)
    check_special_tokens(tokenizer, spelling=spelling)
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with replace_files(folder, FILES) as draft:
        try:
            safetensors.torch.save_file(tensors, draft / "model.safetensors", metadata={"format": "pt"})
        except safetensors.SafetensorError as error:
            raise OSError(f"cannot write {folder}/model.safetensors ({error}). Make room, and save again.") from error
        for file, content in {"config.json": config, "tokenizer_config.json": tokenizer_config(tokenizer)}.items():
            (draft / file).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n")
        (draft / "vocab.txt").write_text("".join(f"{token}\n" for token in vocabulary), encoding="utf-8", newline="\n")
        tokenizer.save(str(draft / "tokenizer.json"))
        shutil.copymode(draft / "config.json", draft / "model.safetensors")  # safetensors lets only its owner read it
        Path(folder, "config.json").unlink(missing_ok=True)  # the folder is incomplete until the new one is there
