"""Chapter 11: how encoders are stored: BERT, RoBERTa and ModernBERT as ``transformers`` stores them, all others in a
format of our own, whose config.json and model.safetensors name settings and tensors as the code does.
"""

import dataclasses

import torch
from tokenizers import Tokenizer
from torch import Tensor

from bertcourse.bert.model import BertConfig, BertForPreTraining, BertModel
from bertcourse.bert.pretrained import LIKE_OURS, SIZES
from bertcourse.bert.tokenizer_files import BERT_SPELLING, spelling_of
from bertcourse.bert.weights import BERT_NAMES, Names
from bertcourse.beyond_bert.encoder import MODERN, EncoderConfig


class Format:
    """How an encoder is stored; this class is our own format, in which nothing is renamed."""

    model_type = "bertcourse_encoder"
    expected: dict[str, object] = {}  # fields of config.json that must have this value
    beside = {"architectures", "model_type", "dtype"}  # what config.json has besides our settings
    sizes = SIZES
    names = Names((), {}, "bert.", ("embeddings", "encoder", "pooler"))

    def fits(self, model: BertModel | BertForPreTraining) -> bool:
        """Whether a model can be stored in this format."""
        return True

    def class_name(self, model: BertModel | BertForPreTraining) -> str:
        """What config.json calls the architecture."""
        return type(model).__name__

    def spelling(self, tokenizer: Tokenizer) -> dict[str, str]:
        """How the special tokens must be spelt."""
        return spelling_of(tokenizer)

    def read(self, told: dict) -> dict:
        """Our settings, from those in config.json; a ValueError says what is not supported."""
        known = {field.name for field in dataclasses.fields(EncoderConfig)}
        wrong = (known - told.keys()) | (told.keys() - known - self.beside)
        if wrong:  # some of them have no tensor that would betray the mistake
            raise ValueError(f"config.json must have each setting of EncoderConfig and no other; see {sorted(wrong)}.")
        return {name: told[name] for name in known}

    def settings(self, config: EncoderConfig, tokenizer: Tokenizer) -> dict:
        """The settings for config.json."""
        return dataclasses.asdict(config)

    def unpack(self, tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
        """One tensor for each of ours, made from those in the file."""
        return tensors

    def pack(self, tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
        """The tensors for the file, made from one for each of ours."""
        return tensors


class BertFormat(Format):
    """BERT's format (Devlin et al. 2019), without an NSP head if the model has none."""

    model_type = "bert"
    stem = "Bert"
    expected = LIKE_OURS
    names = BERT_NAMES

    def fits(self, model: BertModel | BertForPreTraining) -> bool:
        """Whether no setting departs from BERT's."""
        return departs(model.config) == {}

    def class_name(self, model: BertModel | BertForPreTraining) -> str:
        """Its class in ``transformers``."""
        if isinstance(model, BertModel):
            return f"{self.stem}Model"
        return f"{self.stem}ForMaskedLM" if model.bert.pooler is None else f"{self.stem}ForPreTraining"

    def spelling(self, tokenizer: Tokenizer) -> dict[str, str]:
        """BERT's, which everything that loads a BERT expects."""
        return BERT_SPELLING

    def read(self, told: dict) -> dict:
        """The sizes; nothing else departs from the defaults."""
        return {field.name: told[field.name] for field in dataclasses.fields(BertConfig) if field.name in told}

    def settings(self, config: BertConfig, tokenizer: Tokenizer) -> dict:
        """The sizes."""
        return {field.name: getattr(config, field.name) for field in dataclasses.fields(BertConfig)}


class RobertaFormat(BertFormat):
    """RoBERTa's format (Liu et al. 2019): a BERT whose head has other names, with positions from pad_token_id + 1 on.

    The first rows of its position table are never read for a token: they are dropped here, and written as zeros.
    """

    model_type = "roberta"
    stem = "Roberta"
    expected = {**LIKE_OURS, "model_type": "roberta", "hidden_act": "gelu"}  # its head has GELU, whatever the file says
    names = Names(
        pairs=[
            *BERT_NAMES.pairs,
            ("bert.", "roberta."),
            ("cls.predictions.transform.dense.", "lm_head.dense."),
            ("cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."),
            ("cls.predictions.bias", "lm_head.bias"),
        ],
        tied={
            "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
            "lm_head.decoder.bias": "lm_head.bias",
        },
        prefix="roberta.",
        parts=BERT_NAMES.parts,
    )
    pad_token_id = 1  # if the file does not say

    def fits(self, model: BertModel | BertForPreTraining) -> bool:
        """Whether it is a BERT with one segment type and without an NSP head."""
        has_nsp = isinstance(model, BertForPreTraining) and model.bert.pooler is not None
        is_like = model.config.type_vocab_size == 1 and model.config.hidden_act == "gelu"
        return super().fits(model) and is_like and not has_nsp

    def spelling(self, tokenizer: Tokenizer) -> dict[str, str]:
        """RoBERTa's own, or BERT's."""
        return spelling_of(tokenizer)

    def read(self, told: dict) -> dict:
        """The sizes, with as many positions as tokens can have."""
        told = {"pad_token_id": self.pad_token_id, **told}
        positions = told["max_position_embeddings"] - told["pad_token_id"] - 1
        return super().read({**told, "max_position_embeddings": positions})

    def settings(self, config: BertConfig, tokenizer: Tokenizer) -> dict:
        """The sizes, including the rows that belong to no token."""
        positions = config.max_position_embeddings + config.pad_token_id + 1
        sizes = {**super().settings(config, tokenizer), "max_position_embeddings": positions}
        first, last = frame_ids(tokenizer)
        return {**sizes, "bos_token_id": first, "eos_token_id": last}

    def unpack(self, tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
        """The tensors without the rows that belong to no token."""
        name = "roberta.embeddings.position_embeddings.weight"
        return {**tensors, name: tensors[name][config.pad_token_id + 1 :]} if name in tensors else tensors

    def pack(self, tensors: dict[str, Tensor], config: BertConfig) -> dict[str, Tensor]:
        """The tensors with zeros in those rows."""
        (name,) = (name for name in tensors if name.endswith("embeddings.position_embeddings.weight"))
        zeros = tensors[name].new_zeros(config.pad_token_id + 1, config.hidden_size)
        return {**tensors, name: torch.cat([zeros, tensors[name]])}


class ModernBertFormat(Format):
    """ModernBERT's format (Warner et al. 2024): queries, keys and values are one matrix; the encoder has no pooler.

    There are two ways to say which layers are local: ``global_attn_every_n_layers`` in the hub's files, ``layer_types``
    in those of transformers 5, which takes precedence. The same holds for the wavelengths. Both are written.
    """

    model_type = "modernbert"
    expected = {"tie_word_embeddings": True, "decoder_bias": True}
    sizes = tuple(size for size in SIZES if size != "type_vocab_size")
    names = Names(
        pairs=[
            ("bert.", "model."),
            ("embeddings.word_embeddings.", "embeddings.tok_embeddings."),
            ("embeddings.layer_norm.", "embeddings.norm."),
            ("encoder.blocks.", "layers."),
            ("encoder.final_norm.", "final_norm."),
            (".attention_norm.", ".attn_norm."),
            (".attention.output.", ".attn.Wo."),
            (".attention.query.", ".attn.Wqkv.query."),
            (".attention.key.", ".attn.Wqkv.key."),
            (".attention.value.", ".attn.Wqkv.value."),
            (".feed_forward_norm.", ".mlp_norm."),
            (".feed_forward.expand.", ".mlp.Wi."),
            (".feed_forward.contract.", ".mlp.Wo."),
            ("mlm_head.dense.", "head.dense."),
            ("mlm_head.layer_norm.", "head.norm."),
            ("mlm_head.bias", "decoder.bias"),
        ],
        tied={"decoder.weight": "model.embeddings.tok_embeddings.weight"},
        prefix="model.",
        parts=("embeddings", "layers", "final_norm"),
    )
    # Our name, their name, and the value if the file has none.
    fields = [
        *((size, size, None) for size in sizes),
        ("hidden_act", "hidden_activation", "gelu"),
        ("hidden_dropout_prob", "embedding_dropout", 0.0),
        ("attention_probs_dropout_prob", "attention_dropout", 0.0),
        ("initializer_range", "initializer_range", 0.02),
        ("layer_norm_eps", "norm_eps", 1e-5),
        ("pad_token_id", "pad_token_id", 50283),
    ]
    biases = ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
    layers = ("full_attention", "sliding_attention")
    thetas = {"full_attention": ("global_rope_theta", 160_000.0), "sliding_attention": ("local_rope_theta", 10_000.0)}

    def fits(self, model: BertModel | BertForPreTraining) -> bool:
        """Whether it departs from BERT as ModernBERT does, without a pooler; any reach, with or without biases."""
        encoder = model if isinstance(model, BertModel) else model.bert
        free = dict.fromkeys(("bias", "local_reach"))
        modern = {name: MODERN[name] for name in DEPARTURES if name in MODERN}
        return encoder.pooler is None and {**departs(model.config), **free} == {**modern, **free}

    def class_name(self, model: BertModel | BertForPreTraining) -> str:
        """Its class in ``transformers``."""
        return "ModernBertModel" if isinstance(model, BertModel) else "ModernBertForMaskedLM"

    def read(self, told: dict) -> dict:
        """Our settings, from those in config.json; a ValueError says what is not supported."""
        settings = {ours: told.get(theirs, default) for ours, theirs, default in self.fields}
        biases = {name: told.get(name, False) for name in self.biases}
        if len(set(biases.values())) > 1:
            raise ValueError(f"the biases must be all true or all false; got {biases}.")
        embeddings, mlp = settings["hidden_dropout_prob"], told.get("mlp_dropout", settings["hidden_dropout_prob"])
        if mlp != embeddings:
            raise ValueError(f"mlp_dropout must be embedding_dropout, {embeddings}; got {mlp}.")
        activation, head = settings["hidden_act"], told.get("classifier_activation", "gelu")
        if head != activation:
            raise ValueError(f"classifier_activation must be hidden_activation, {activation!r}; got {head!r}.")
        every = self.global_every(told)
        reach = told.get("local_attention", 128) // 2
        if reach == 0 and every > 1:
            raise ValueError(f"local_attention must be at least 2; got {told['local_attention']}.")
        theta, local_theta = (self.theta(told, kind) for kind in self.layers)
        own = {"bias": biases["norm_bias"], "local_reach": reach, "global_every": every}
        return {**MODERN, **settings, **own, "rope_theta": theta, "local_rope_theta": local_theta}

    def global_every(self, told: dict) -> int:
        """How many layers there are for each one that sees everything, from either way of saying it."""
        if (kinds := told.get("layer_types")) is None:
            return told.get("global_attn_every_n_layers", 3)
        for every in range(1, len(kinds) + 1):
            if kinds == self.layer_types(told["num_hidden_layers"], every):
                return every
        raise ValueError(f"layer_types must be full_attention at the first and each so many layers; got {kinds}.")

    def theta(self, told: dict, kind: str) -> float:
        """The base of the wavelengths in a kind of layer, from either way of saying it; scaled ones are refused."""
        name, default = self.thetas[kind]
        said = {**((told.get("rope_parameters") or {}).get(kind) or {}), **(told.get("rope_scaling") or {})}
        if scaled := {said.get(field, "default") for field in ("rope_type", "type")} - {"default"}:
            raise ValueError(f"rope_type must be 'default', positions that are not scaled; got {scaled.pop()!r}.")
        return said.get("rope_theta", told.get(name, default))

    def layer_types(self, num_layers: int, every: int) -> list[str]:
        """What each layer sees, in the words of transformers 5."""
        return [self.layers[layer % every > 0] for layer in range(num_layers)]

    def settings(self, config: EncoderConfig, tokenizer: Tokenizer) -> dict:
        """Their settings, from ours."""
        every = config.global_every if config.local_reach else 1
        thetas = dict(zip(self.layers, (config.rope_theta, config.local_rope_theta)))
        first, last = frame_ids(tokenizer)
        return {
            **{theirs: getattr(config, ours) for ours, theirs, _ in self.fields},
            **dict.fromkeys(self.biases, config.bias),
            **self.expected,
            "mlp_dropout": config.hidden_dropout_prob,
            "classifier_activation": config.hidden_act,
            "local_attention": 2 * config.local_reach,  # theirs is the whole window
            "global_attn_every_n_layers": every,
            "layer_types": self.layer_types(config.num_hidden_layers, every),
            **{name: thetas[kind] for kind, (name, _) in self.thetas.items()},
            "rope_parameters": {kind: {"rope_type": "default", "rope_theta": thetas[kind]} for kind in self.layers},
            **dict.fromkeys(("bos_token_id", "cls_token_id"), first),
            **dict.fromkeys(("eos_token_id", "sep_token_id"), last),
        }

    def unpack(self, tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
        """The tensors with each Wqkv divided into three."""
        apart = {}
        for name, tensor in tensors.items():
            if ".Wqkv." in name:
                for part, third in zip(("query", "key", "value"), tensor.chunk(3)):
                    apart[name.replace(".Wqkv.", f".Wqkv.{part}.")] = third
            else:
                apart[name] = tensor
        return apart

    def pack(self, tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
        """The tensors with queries, keys and values joined into one."""
        fused = {name: tensor for name, tensor in tensors.items() if ".Wqkv." not in name}
        for name in tensors:
            if ".Wqkv.query." in name:
                parts = [tensors[name.replace(".query.", f".{part}.")] for part in ("query", "key", "value")]
                fused[name.replace(".query.", ".")] = torch.cat(parts)
        return fused


# The settings that make an encoder a different model from BERT; sizes do not, nor do those that only refine these.
DEPARTURES = ("positions", "norm", "norm_kind", "bias", "gated", "qk_norm", "segments", "local_reach")
FORMATS = {form.model_type: form for form in (RobertaFormat(), BertFormat(), ModernBertFormat(), Format())}


def departs(config: BertConfig) -> dict[str, object]:
    """The settings that make an encoder a different model from BERT.

    >>> departs(EncoderConfig(norm="pre"))
    {'norm': 'pre'}
    """
    told = {name: getattr(config, name, getattr(EncoderConfig, name)) for name in DEPARTURES}
    return {name: value for name, value in told.items() if value != getattr(EncoderConfig, name)}


def frame_ids(tokenizer: Tokenizer) -> tuple[int, int]:
    """The ids of [CLS] and [SEP], or of the tokens that take their place."""
    spelling = spelling_of(tokenizer)
    return tokenizer.token_to_id(spelling["cls"]), tokenizer.token_to_id(spelling["sep"])
