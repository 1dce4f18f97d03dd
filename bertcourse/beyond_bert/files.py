"""Chapter 11: loading and saving encoders, as chapter 2 does its BERT; ``formats`` knows how each kind is written."""

import os
from pathlib import Path

import torch
from tokenizers import Tokenizer

from bertcourse.bert.folders import open_folder
from bertcourse.bert.model import BertForPreTraining, BertModel
from bertcourse.bert.pretrained import check_settings, checked, read_settings, write_files
from bertcourse.bert.tokenizer_files import check_special_tokens, check_vocabulary, read_tokenizer
from bertcourse.bert.weights import matched_tensors, read_tensors
from bertcourse.beyond_bert.encoder import Encoder, EncoderConfig, EncoderForPreTraining
from bertcourse.beyond_bert.formats import FORMATS, Format


def load_pretrained(
    name_or_path: str | os.PathLike, model_class: type[Encoder] | type[EncoderForPreTraining] = Encoder
) -> tuple[Encoder | EncoderForPreTraining, Tokenizer]:
    """A pretrained BERT, RoBERTa, ModernBERT or other encoder of this chapter, in evaluation mode, and its tokenizer.

    Args:
        name_or_path: as for ``bertcourse.bert.load_pretrained``: "course", "minilm", a folder, or an id on the
            Hugging Face hub such as "roberta-base" (Liu et al. 2019) or "answerdotai/ModernBERT-base" (Warner et al.
            2024).
        model_class: ``Encoder`` alone, with a pooler if the file has one; or ``EncoderForPreTraining`` with the MLM
            head, and with pooler and NSP head if the file has them.

    Returns:
        ``(model, tokenizer)``. The model is in float32; the tokenizer neither pads nor truncates.

    Raises:
        FileNotFoundError, ValueError, ConnectionError: as ``bertcourse.bert.load_pretrained``.

    >>> from bertcourse.bert import encode_batch
    >>> model, tokenizer = load_pretrained("course", EncoderForPreTraining)
    >>> batch = encode_batch(tokenizer, ["He opened the [MASK] and went out."])
    >>> mask = batch.input_ids[0].tolist().index(tokenizer.token_to_id("[MASK]"))
    >>> tokenizer.id_to_token(int(model(*batch).mlm_logits[0, mask].argmax()))
    'door'
    """
    folder = open_folder(name_or_path)
    form, config = read_config(folder)
    tokenizer = read_tokenizer(folder)
    has_heads = not issubclass(model_class, BertModel)
    try:
        check_vocabulary(tokenizer, config.vocab_size)
        needed = ["unk", "cls", "sep", "mask"] if has_heads else ["unk", "cls", "sep"]
        check_special_tokens(tokenizer, needed, form.spelling(tokenizer))
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    tensors = form.unpack(read_tensors(folder, form.names), config)
    pooler = form.names.theirs("bert.pooler.")
    add_pooler = form.names.theirs("nsp_head.weight" if has_heads else "bert.pooler.weight") in tensors
    with torch.device("meta"):  # every weight comes from the file
        model = model_class(config, add_pooler)
    kept = {name: tensor for name, tensor in tensors.items() if add_pooler or not name.startswith(pooler)}
    weights = matched_tensors(model, kept, folder, form.names)  # checked before memory is taken for a model of any size
    model.to_empty(device="cpu").load_state_dict(weights)
    return model.eval(), tokenizer


def save_pretrained(model: BertModel | BertForPreTraining, tokenizer: Tokenizer, folder: str | os.PathLike) -> None:
    """Write an encoder and its tokenizer: the five files of ``bertcourse.bert.save_pretrained``.

    An encoder whose settings are BERT's, RoBERTa's or ModernBERT's is written as one, so that ``AutoModel`` and
    ``AutoModelForMaskedLM`` of ``transformers`` read the folder; any other is written in our own format, and
    ``load_pretrained`` reads them all. RoBERTa's settings are BERT's with a single segment type and no NSP head.

    Args:
        model: what to save; its dtype is kept.
        tokenizer: its tokenizer, whose ids are 0, 1, … without a gap, each with a row in the model's embeddings.
        folder: where to write; it is created if need be, and files of these names are replaced.
    """
    form = next(form for form in FORMATS.values() if form.fits(model))
    config = {
        "architectures": [form.class_name(model)],
        "model_type": form.model_type,
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        **form.settings(model.config, tokenizer),
    }
    tensors = {form.names.theirs(name): tensor for name, tensor in model.state_dict().items()}
    write_files(folder, config, form.pack(tensors, model.config), tokenizer, form.spelling(tokenizer))


def read_config(folder: Path) -> tuple[Format, EncoderConfig]:
    """The format of a folder and its settings, which are refused unless this chapter's encoder can have them."""
    path, told = folder / "config.json", read_settings(folder)
    if (form := FORMATS.get(told.get("model_type"))) is None:
        expected, got = ", ".join(FORMATS), told.get("model_type")
        hint = " Load it with load_electra." if got == "electra" else ""
        raise ValueError(f"{path}: model_type must be one of {expected} for this chapter's encoder; got {got!r}.{hint}")
    check_settings(path, told, form.expected, form.sizes)
    try:
        return form, checked(EncoderConfig(**form.read(told)))
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
