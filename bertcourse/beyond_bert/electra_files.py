"""Chapter 11: ELECTRA's files: the discriminator as ``transformers`` saves and loads it."""

import dataclasses
import os
from pathlib import Path

from tokenizers import Tokenizer
from torch import nn

from bertcourse.bert import BertConfig, save_pretrained
from bertcourse.bert.folders import open_folder
from bertcourse.bert.model import SIZES
from bertcourse.bert.pretrained import LIKE_OURS
from bertcourse.bert.tokenizer_files import check_special_tokens, check_vocabulary, read_tokenizer
from bertcourse.bert.weights import check_sizes, copy_tensors, read_tensors
from bertcourse.beyond_bert.electra import ElectraDiscriminator, ElectraForPreTraining
from bertcourse.files import expect_file, read_json


class DiscriminatorFile(nn.ModuleDict):
    """A discriminator's own parts, under the names that they have in Hugging Face's files."""

    def __init__(self, model: ElectraDiscriminator):
        super().__init__({"electra": model.bert, "discriminator_predictions": model.replaced_head})
        self.config = model.config


class GeneratorFile(nn.ModuleDict):
    """A generator's own parts, under the names of Hugging Face's ElectraForMaskedLM, without its copy of the words."""

    def __init__(self, model: ElectraForPreTraining):
        generator, head = model.generator, model.generator.mlm_head
        parts = {"embeddings_project": generator.embeddings_project, "encoder": generator.encoder}
        super().__init__(
            {
                "electra": nn.ModuleDict({"embeddings": model.bert.embeddings, **parts}),
                "generator_predictions": nn.ModuleDict({"dense": head.dense, "LayerNorm": head.layer_norm}),
                "generator_lm_head": nn.ParameterDict({"bias": head.bias}),
            }
        )


def save_electra(model: ElectraDiscriminator, tokenizer: Tokenizer, folder: str | os.PathLike) -> None:
    """Write the discriminator as ``transformers.ElectraForPreTraining`` and ``load_electra`` read it.

    Args:
        model: whose discriminator is written; a generator is left out.
        tokenizer, folder: as for ``save_pretrained``, whose care for files this has.
    """
    further = {
        "architectures": ["ElectraForPreTraining"],
        "model_type": "electra",
        "embedding_size": model.config.hidden_size,
    }
    save_pretrained(DiscriminatorFile(model), tokenizer, folder, further)


def load_electra(name_or_path: str | os.PathLike) -> tuple[ElectraDiscriminator, Tokenizer]:
    """A discriminator and its tokenizer, in evaluation mode and float32; errors as of ``load_pretrained``.

    Args:
        name_or_path: a folder, or the id of an ELECTRA on the hub whose embeddings are as wide as the model: those of
            ``google/electra-base-discriminator`` are, those of the small one are not.
    """
    folder = open_folder(name_or_path)
    config = read_electra_config(folder / "config.json")
    tensors = read_tensors(folder)
    tensors.pop("electra.embeddings.position_ids", None)  # 0, 1, …, which older files have
    check_sizes(config, {name.replace("electra.", "bert.", 1): tensor for name, tensor in tensors.items()}, folder)
    tokenizer = read_tokenizer(folder)
    try:
        check_vocabulary(tokenizer, config.vocab_size)
        check_special_tokens(tokenizer)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    model = ElectraDiscriminator(config)
    copy_tensors(DiscriminatorFile(model), tensors, folder)
    return model.eval(), tokenizer


def read_electra_config(path: Path) -> BertConfig:
    """The sizes in a config.json; refused if it is no ELECTRA's, or one of an ELECTRA that differs from ours."""
    expect_file(path, "Name the folder that save_electra wrote.")
    told = {name: value for name, value in read_json(path).items() if value is not None}  # null: the default
    settings = {**LIKE_OURS, "model_type": None, "embedding_size": None, **told}
    expected = {**LIKE_OURS, "model_type": "electra", "embedding_size": told.get("hidden_size")}
    for name, ours in expected.items():
        if settings[name] != ours:
            raise ValueError(f"{path}: {name} must be {ours!r} for the ELECTRA of this course; got {settings[name]!r}.")
    if missing := [name for name in SIZES if name not in told]:
        raise ValueError(f"{path} must say how large the model is; {', '.join(missing)} missing. Fetch it again.")
    known = {field.name for field in dataclasses.fields(BertConfig)}
    try:
        return BertConfig(**{name: value for name, value in told.items() if name in known})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
