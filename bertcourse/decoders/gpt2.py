"""Chapter 12: GPT-2's files: what ``transformers`` saves as GPT2LMHeadModel loads here.

Two things differ in these files. Linear maps are stored transposed ("Conv1D", from OpenAI's release), and queries, keys
and values share one matrix.
"""

import os
import re
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from bertcourse.bert.folders import open_folder
from bertcourse.bert.pretrained import check_settings, checked, read_settings
from bertcourse.bert.tokenizer_files import check_vocabulary, read_tokenizer
from bertcourse.bert.weights import Names, copy_tensors, read_tensors
from bertcourse.decoders.language_model import CausalLanguageModel, DecoderConfig

NAMES = Names(
    pairs=[
        ("word_embeddings.", "transformer.wte."),
        ("position_embeddings.", "transformer.wpe."),
        ("decoder.blocks.", "transformer.h."),
        ("decoder.final_norm.", "transformer.ln_f."),
        (".attention_norm.", ".ln_1."),
        (".feed_forward_norm.", ".ln_2."),
        (".attention.output.", ".attn.c_proj."),
        (".attention.query.", ".attn.c_attn.query."),
        (".attention.key.", ".attn.c_attn.key."),
        (".attention.value.", ".attn.c_attn.value."),
        (".feed_forward.expand.", ".mlp.c_fc."),
        (".feed_forward.contract.", ".mlp.c_proj."),
    ],
    tied={"lm_head.weight": "transformer.wte.weight"},
    prefix="transformer.",
    parts=("wte", "wpe", "h", "ln_f"),
)
# Our name, theirs, and the value if the file gives none.
FIELDS = [
    ("vocab_size", "vocab_size", None),
    ("hidden_size", "n_embd", None),
    ("num_hidden_layers", "n_layer", None),
    ("num_attention_heads", "n_head", None),
    ("max_position_embeddings", "n_positions", None),
    ("intermediate_size", "n_inner", None),
    ("hidden_act", "activation_function", "gelu_new"),
    ("embedding_dropout_prob", "embd_pdrop", 0.1),
    ("hidden_dropout_prob", "resid_pdrop", 0.1),
    ("attention_probs_dropout_prob", "attn_pdrop", 0.1),
    ("initializer_range", "initializer_range", 0.02),
    ("layer_norm_eps", "layer_norm_epsilon", 1e-5),
]
SIZES = tuple(theirs for _, theirs, _ in FIELDS[:5])  # n_inner is 4·n_embd if the file does not give it
# Fields of a config.json that can turn a GPT-2 into a different model, each with the one value that ours has.
LIKE_OURS = {
    "model_type": "gpt2",
    "tie_word_embeddings": True,
    "add_cross_attention": False,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
}
PARTS = ("query", "key", "value")
TRANSPOSED = re.compile(r"\.(c_attn|c_proj|c_fc)(\.(query|key|value))?\.weight$")
MASKS = re.compile(r"\.attn\.(masked_)?bias$")  # the causal mask, which older files have
END_OF_TEXT = "<|endoftext|>"


def load_gpt2(name_or_path: str | os.PathLike) -> tuple[CausalLanguageModel, Tokenizer]:
    """A GPT-2 and its tokenizer, in evaluation mode and float32.

    Args:
        name_or_path: a folder, or the id of a GPT-2 on the Hugging Face hub, such as "gpt2" or "distilgpt2", which is
            fetched once; folders are looked for where ``bertcourse.bert.load_pretrained`` looks.

    Returns:
        ``(model, tokenizer)``. The tokenizer neither pads nor truncates, and puts nothing before a text.

    Raises:
        FileNotFoundError, ValueError, ConnectionError: as for ``bertcourse.bert.load_pretrained``.
    """
    folder = open_folder(name_or_path)
    config = read_gpt2_config(folder)
    tokenizer = read_gpt2_tokenizer(folder)
    try:
        check_vocabulary(tokenizer, config.vocab_size)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
    tensors = unpack(read_tensors(folder, NAMES), folder)
    with torch.device("meta"):  # every weight is in the file: none is drawn
        model = CausalLanguageModel(config)
    model.to_empty(device="cpu")
    copy_tensors(model, tensors, folder, NAMES)
    return model.eval(), tokenizer


def read_gpt2_config(folder: Path) -> DecoderConfig:
    """The sizes in config.json under our names; the file is refused unless it belongs to a GPT-2 built like ours."""
    path, told = folder / "config.json", read_settings(folder)
    check_settings(path, {"model_type": None, **told}, LIKE_OURS, SIZES)
    sizes = {ours: told.get(theirs, default) for ours, theirs, default in FIELDS}
    if sizes["intermediate_size"] is None and isinstance(sizes["hidden_size"], int):
        sizes["intermediate_size"] = 4 * sizes["hidden_size"]
    try:
        return checked(DecoderConfig(**sizes))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def read_gpt2_tokenizer(folder: Path) -> Tokenizer:
    """tokenizer.json, or byte-level BPE made from vocab.json and merges.txt; padding and truncation off."""
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    if (folder / "tokenizer.json").is_file() or not (vocabulary.is_file() and merges.is_file()):
        return read_tokenizer(folder)
    try:
        tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    except Exception as error:  # the Rust library raises plain Exception
        raise ValueError(f"{vocabulary} or {merges} is damaged ({error}). Fetch or save them again.") from error
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if tokenizer.token_to_id(END_OF_TEXT) is not None:
        tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer


def unpack(tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """Their tensors, with linear maps the right way round and each c_attn split in three."""
    wte, head = (tensors.get(name) for name in ("transformer.wte.weight", "lm_head.weight"))
    if head is not None and wte is not None and not torch.equal(head, wte):
        path = folder / "model.safetensors"
        raise ValueError(f"{path}: lm_head.weight must equal transformer.wte.weight, as GPT-2 ties them; they differ.")
    apart = {}
    for name, tensor in tensors.items():
        if MASKS.search(name):
            continue
        if TRANSPOSED.search(name) and tensor.dim() == 2:
            tensor = tensor.t()
        if ".c_attn." in name:
            thirds = tensor.chunk(3) if len(tensor) % 3 == 0 else [tensor] * 3  # whose shape is then refused
            for part, third in zip(PARTS, thirds):
                apart[name.replace(".c_attn.", f".c_attn.{part}.")] = third
        else:
            apart[name] = tensor
    return apart
