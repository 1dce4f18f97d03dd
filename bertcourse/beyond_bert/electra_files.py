"""Chapter 11: ELECTRA's files: the discriminator as ``transformers`` saves and loads it."""

import dataclasses
import os
from pathlib import Path

from tokenizers import Tokenizer
from torch import nn

from bertcourse.bert import BertConfig, save_pretrained
from bertcourse.bert.folders import open_folder
from bertcourse.bert.pretrained import LIKE_OURS, check_settings, checked, read_settings
from bertcourse.bert.tokenizer_files import check_special_tokens, check_vocabulary, read_tokenizer
from bertcourse.bert.weights import check_sizes, copy_tensors, read_tensors
from bertcourse.beyond_bert.electra import ElectraDiscriminator


class DiscriminatorFile(nn.ModuleDict):
    """A discriminator's parts under the names that Hugging Face's files give them."""

    def __init__(self, model: ElectraDiscriminator):
        super().__init__({"electra": model.bert, "discriminator_predictions": model.replaced_head})
        self.config = model.config


def save_electra(model: ElectraDiscriminator, tokenizer: Tokenizer, folder: str | os.PathLike) -> None:
    """Write the discriminator as ``transformers.ElectraForPreTraining`` and ``load_electra`` read it.

    Args:
        model: its discriminator is written; a generator is left out.
        tokenizer, folder: as for ``save_pretrained``, which does the writing.
    """
    further = {
        "architectures": ["ElectraForPreTraining"],
        "model_type": "electra",
        "embedding_size": model.config.hidden_size,
    }
    save_pretrained(DiscriminatorFile(model), tokenizer, folder, further)


def load_electra(name_or_path: str | os.PathLike) -> tuple[ElectraDiscriminator, Tokenizer]:
    """A discriminator and its tokenizer, in evaluation mode and float32; errors as for ``load_pretrained``.

    Args:
        name_or_path: a folder, or the hub id of an ELECTRA whose embeddings are as wide as the model, as in
            ``google/electra-base-discriminator`` (the small one has narrower ones).
    """
    folder = open_folder(name_or_path)
    config = read_electra_config(folder)
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


def read_electra_config(folder: Path) -> BertConfig:
    """The sizes in a config.json, which is refused unless it belongs to an ELECTRA built like ours."""
    told = read_settings(folder)
    expected = {**LIKE_OURS, "model_type": "electra", "embedding_size": told.get("hidden_size")}
    check_settings(folder / "config.json", {"model_type": None, "embedding_size": None, **told}, expected)
    known = {field.name for field in dataclasses.fields(BertConfig)}
    try:
        return checked(BertConfig(**{name: value for name, value in told.items() if name in known}))
    except ValueError as error:
        raise ValueError(f"{folder / 'config.json'}: {error}") from error
