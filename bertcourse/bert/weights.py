"""BERT's weights in Hugging Face's model.safetensors: other names for the same tensors, and what is refused.

In this module, tensors go by the names of Hugging Face's BertForPreTraining until they are copied into a model.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from bertcourse.bert.folders import SHARDS
from bertcourse.bert.model import BertConfig, BertForPreTraining, BertModel
from bertcourse.files import expect_file

# Our names and theirs: replacements that are applied in turn to the name of a tensor.
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
]
HEAD_NAMES = [
    ("mlm_head.dense.", "cls.predictions.transform.dense."),
    ("mlm_head.layer_norm.", "cls.predictions.transform.LayerNorm."),
    ("mlm_head.bias", "cls.predictions.bias"),
    ("nsp_head.", "cls.seq_relationship."),
    ("span_head.", "qa_outputs."),
]
# Copies in the MLM head, and the tensors that BERT ties them to; a file has either or both.
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
SEVERAL_FILES = (
    "The weights are in several files; save them in one: load them with the transformers library, then "
    'model.save_pretrained(folder, max_shard_size="100GB").'
)
NO_FILE = (
    "A pytorch_model.bin is a pickle, which may run any code and is not read here; where there is no other file, load "
    "it with the transformers library and save it again."
)
NO_HEADS = (
    "The file lacks heads. Load its encoder, load_pretrained(name, {encoder}); to train heads on it, put it into a new "
    "model: {model}(config).bert.load_state_dict(encoder.state_dict(), strict=False)."
)


def renamed(name: str, pairs: Sequence[tuple[str, str]]) -> str:
    """A name after the replacements of ``pairs``, one after the other."""
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return name


class Names(NamedTuple):
    """How the files of one kind of model name the tensors of ours.

    Attributes:
        pairs: our names and theirs, replacements that are applied in turn to the name of a tensor.
        tied: the names of copies, and of the tensors that they copy.
        prefix: what the names of the encoder's tensors begin with in a model with heads.
        parts: the parts of a bare encoder, whose tensors lack that prefix.
    """

    pairs: Sequence[tuple[str, str]]
    tied: Mapping[str, str]
    prefix: str
    parts: tuple[str, ...]

    def theirs(self, name: str) -> str:
        """Their name for one of our tensors."""
        return renamed(name, self.pairs)

    def standard(self, name: str) -> str:
        """The name that a tensor has in a current model with heads, whatever saved it: DataParallel and torch.compile
        put something in front, a bare encoder lacks the prefix, TensorFlow names the weights of layer normalization
        differently."""
        name = re.sub(r"^((module|_orig_mod)\.)+", "", name)
        name = re.sub(rf"^({'|'.join(self.parts)})\.", rf"{self.prefix}\1.", name)
        return re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))


BERT_NAMES = Names([*HUGGING_FACE_NAMES, *HEAD_NAMES], TIED, "bert.", ("embeddings", "encoder", "pooler"))


def hugging_face_name(name: str) -> str:
    """Hugging Face's name for a tensor of our BERT.

    >>> hugging_face_name("encoder.blocks.0.feed_forward.expand.bias")
    'encoder.layer.0.intermediate.dense.bias'
    """
    return BERT_NAMES.theirs(name)


def read_safetensors(path: Path, advice: str = "Fetch or save it again.") -> dict[str, Tensor]:
    """The tensors of a safetensors file.

    Args:
        path: the file.
        advice: what to do if it is damaged.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is damaged or cut short.
    """
    expect_file(path, advice)
    try:
        return safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is damaged or cut short ({error}). {advice}") from error


def read_tensors(folder: Path, names: Names = BERT_NAMES) -> dict[str, Tensor]:
    """The tensors of a folder's model.safetensors, by their standard names."""
    path = folder / "model.safetensors"
    expect_file(path, SEVERAL_FILES if (folder / SHARDS).exists() else NO_FILE)
    tensors = {names.standard(name): tensor for name, tensor in read_safetensors(path).items()}
    tensors.pop(f"{names.prefix}embeddings.position_ids", None)  # just 0, 1, …, in older files
    for copy, original in names.tied.items():
        if copy in tensors:
            tensors.setdefault(original, tensors[copy])
    return tensors


def check_numbers(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Refuse weights that a model cannot compute with: NaN, infinite, or integers such as quantized ones.

    Args:
        tensors: by name.
        path: of their file, named in errors.
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
                f"or infinite. The file is damaged, or the training diverged: fetch it again, or take an older one."
            )


def check_sizes(config: BertConfig, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Refuse a config.json whose sizes differ from those of the weights beside it, before a model of any size is made.

    Args:
        config: as read from config.json.
        tensors: as ``read_tensors`` returns them.
        folder: named in errors.
    """

    def size(name: str, dimension: int) -> int | None:
        tensor = tensors.get(f"bert.{name}")
        return None if tensor is None or tensor.dim() <= dimension else tensor.shape[dimension]

    found = {
        "vocab_size": size("embeddings.word_embeddings.weight", 0),
        "hidden_size": size("embeddings.position_embeddings.weight", 1),
        "num_hidden_layers": len({name.split(".")[3] for name in tensors if name.startswith("bert.encoder.layer.")}),
        "intermediate_size": size("encoder.layer.0.intermediate.dense.bias", 0),
        "max_position_embeddings": size("embeddings.position_embeddings.weight", 0),
        "type_vocab_size": size("embeddings.token_type_embeddings.weight", 0),
    }
    differing = [
        f"{name} {getattr(config, name)}, and the weights have {'none' if number is None else number}"
        for name, number in found.items()
        if number != getattr(config, name)
    ]
    if differing:
        raise ValueError(
            f"{folder / 'config.json'} must have the sizes of the weights beside it; it says {'; '.join(differing)}. "
            f"Are both files of one model? Fetch or save both again."
        )


def copy_tensors(model: nn.Module, tensors: Mapping[str, Tensor], folder: Path, names: Names = BERT_NAMES) -> None:
    """Put a checkpoint's tensors into the model, each where it belongs; arguments as for ``matched_tensors``."""
    model.load_state_dict(matched_tensors(model, tensors, folder, names))


def matched_tensors(
    model: nn.Module, tensors: Mapping[str, Tensor], folder: Path, names: Names = BERT_NAMES
) -> dict[str, Tensor]:
    """A checkpoint's tensors by the model's own names, or an error that says everything that does not fit.

    Args:
        model: the model they are for. A ``BertModel`` ignores heads, BERT's own or others such as a classifier.
        tensors: as ``read_tensors`` returns them.
        folder: named in errors.
        names: how the file names tensors.
    """
    path = folder / "model.safetensors"
    tensors = dict(tensors)
    for copy, original in names.tied.items():
        tensor = tensors.pop(copy, None)
        if tensor is not None and isinstance(model, BertForPreTraining) and not torch.equal(tensor, tensors[original]):
            raise ValueError(f"{path}: {copy} must equal {original}, as BERT ties them; here they differ.")
    if isinstance(model, BertModel):
        prefix = names.prefix
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    ours = {names.theirs(name): name for name in model.state_dict()}
    shapes = {names.theirs(name): tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    missing = [name for name in shapes if name not in tensors]
    problems = [
        *(f"{name} is missing" for name in missing),
        *(f"{name} is left over" for name in tensors if name not in shapes),
        *(
            f"{name} has shape {tuple(tensors[name].shape)}, expected {shape}"
            for name, shape in shapes.items()
            if name in tensors and tuple(tensors[name].shape) != shape
        ),
    ]
    if problems:
        more = f", and {len(problems) - 5} more" if len(problems) > 5 else ""
        advice = "Are both files of one model?"
        if missing and all(ours[name].startswith(("bert.pooler.", "mlm_head.", "nsp_head.")) for name in missing):
            advice = NO_HEADS.format(encoder=type(model.bert).__name__, model=type(model).__name__)
        raise ValueError(
            f"{path} does not hold the {type(model).__name__} that its config.json describes: "
            f"{'; '.join(problems[:5])}{more}. {advice}"
        )
    check_numbers(tensors, path)
    return {ours[name]: tensor for name, tensor in tensors.items()}
