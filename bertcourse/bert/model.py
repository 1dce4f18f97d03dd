"""BERT on a page: embeddings, the encoder of chapter 2, a pooler, and the two heads it is pretrained with.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding". The
configuration's fields are named as in Hugging Face's config.json.
"""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.multi_head_attention import ACTIVATIONS, LearnedPositions, TransformerEncoder, check_heads
from bertcourse.self_attention import padding_mask

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


@dataclass(frozen=True)
class BertConfig:
    """The sizes of a BERT; the defaults are BERT base, uncased.

    Attributes:
        vocab_size: V, how many tokens there are.
        hidden_size: D.
        num_hidden_layers: how many encoder blocks.
        num_attention_heads: H; D is a multiple of it.
        intermediate_size: width of the feed-forward networks.
        hidden_act: their activation, one of ``bertcourse.multi_head_attention.ACTIVATIONS``.
        hidden_dropout_prob: dropout on the embeddings and on each sublayer's result.
        attention_probs_dropout_prob: dropout on attention weights.
        max_position_embeddings: the longest sequence, in tokens.
        type_vocab_size: how many segments a sequence may have.
        initializer_range: standard deviation of the initial weights.
        layer_norm_eps: added to the variance in layer normalization.
        pad_token_id: id of [PAD], whose embedding starts at zero.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, kind = getattr(self, field.name), type(field.default)
            is_of_kind = isinstance(value, (int, float) if kind is float else kind)
            if not is_of_kind or isinstance(value, bool) != (kind is bool):
                raise ValueError(f"{field.name} must be of type {kind.__name__}; got {value!r}.")
        allowed = {
            **{name: (getattr(self, name) >= 1, "at least 1") for name in SIZES},
            "hidden_act": (self.hidden_act in ACTIVATIONS, f"one of {', '.join(ACTIVATIONS)}"),
            "hidden_dropout_prob": (0 <= self.hidden_dropout_prob < 1, "at least 0 and below 1"),
            "attention_probs_dropout_prob": (0 <= self.attention_probs_dropout_prob < 1, "at least 0 and below 1"),
            "initializer_range": (0 <= self.initializer_range < math.inf, "at least 0 and finite"),
            "layer_norm_eps": (0 < self.layer_norm_eps < math.inf, "above 0 and finite"),
            "pad_token_id": (0 <= self.pad_token_id < self.vocab_size, f"an id from 0 to {self.vocab_size - 1}"),
        }
        for name, (fits, expected) in allowed.items():
            if not fits:
                raise ValueError(f"{name} must be {expected}; got {getattr(self, name)!r}.")
        check_heads(self.hidden_size, self.num_attention_heads)


class BertOutput(NamedTuple):
    """What the encoder returns.

    Attributes:
        last_hidden_state: (B, L, D), a contextual vector for each token.
        pooled: (B, D), tanh of a linear map of [CLS]; None for a model without a pooler.
        hidden_states: None, or layers + 1 tensors (B, L, D): the embeddings, then each layer's result.
        attentions: None, or a tensor of weights (B, H, L, L) for each layer.
    """

    last_hidden_state: Tensor
    pooled: Tensor | None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class PreTrainingOutput(NamedTuple):
    """What the encoder with its pretraining heads returns.

    Attributes:
        mlm_logits: (B, L, V), a score for each token of the vocabulary at each position.
        nsp_logits: (B, 2), scores for "B follows A" (index 0) and "B is from elsewhere" (index 1).
        hidden_states, attentions: as in ``BertOutput``.
    """

    mlm_logits: Tensor
    nsp_logits: Tensor
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class BertEmbeddings(nn.Module):
    """Word + position + segment, then layer normalization and dropout (Devlin et al. 2019, figure 2)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position_embeddings = LearnedPositions(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, L) token ids, and segment ids (zeros if None), to (B, L, D)."""
        check_ids("input_ids", input_ids, self.word_embeddings, "does the tokenizer belong to this model?")
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        else:
            check_ids("token_type_ids", token_type_ids, self.token_type_embeddings, "0 is the first segment.")
            check_same_shape("token_type_ids", token_type_ids, input_ids)
        words = self.word_embeddings(input_ids)
        positions = self.position_embeddings(input_ids.shape[1])
        segments = self.token_type_embeddings(token_type_ids)
        return self.dropout(self.layer_norm(words + segments + positions))


class BertModel(nn.Module):
    """The encoder, with a pooler on [CLS]; weights are drawn from N(0, initializer_range²), biases are zero.

    Args:
        config: sizes.
        add_pooler: False leaves the pooler out, as in checkpoints trained without NSP.
    """

    def __init__(self, config: BertConfig, add_pooler: bool = True):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = TransformerEncoder(
            num_layers=config.num_hidden_layers,
            hidden_size=config.hidden_size,
            num_heads=config.num_attention_heads,
            intermediate_size=config.intermediate_size,
            norm="post",
            activation=config.hidden_act,
            dropout=config.hidden_dropout_prob,
            attention_dropout=config.attention_probs_dropout_prob,
            layer_norm_eps=config.layer_norm_eps,
        )
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if add_pooler else None
        initialize(self, config)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> BertOutput:
        """Contextual vectors for a batch of token sequences.

        Args:
            input_ids: (B, L), integers below V.
            attention_mask: (B, L), 1 for a token, 0 for padding, which must stand at the end: positions count from the
                first column, and ``pooled`` comes from it. None if nothing is padded.
            token_type_ids: (B, L), 0 for the first segment, 1 for the second; None for all zeros.
            output_hidden_states: return the embeddings and each layer's result.
            output_attentions: return each layer's weights; slower, as they have to be stored.

        Raises:
            TypeError: if an argument is not a tensor.
            ValueError: if ids are not integers of shape (B, L) with a row in their table, shapes differ, the mask
                holds anything but 0 and 1, or the sequence is longer than ``max_position_embeddings``.
        """
        x = self.embeddings(input_ids, token_type_ids)
        mask = None
        if attention_mask is not None:
            check_same_shape("attention_mask", attention_mask, input_ids)
            mask = padding_mask(attention_mask)
        hidden, hidden_states, attentions = self.encoder(x, mask, output_hidden_states, output_attentions)
        pooled = torch.tanh(self.pooler(hidden[:, 0])) if self.pooler is not None else None
        return BertOutput(hidden, pooled, hidden_states, attentions)


class MLMHead(nn.Module):
    """From a contextual vector to a score for each word: a linear map, the activation, layer normalization, then the
    word embeddings.

    The last map is tied (Press & Wolf 2017): it is the embedding table itself, passed in by the caller, with a bias of
    the head's own.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden: Tensor, word_embeddings: Tensor) -> Tensor:
        """(..., D) hidden states and the (V, D) embedding table to (..., V) logits."""
        return F.linear(self.layer_norm(self.activation(self.dense(hidden))), word_embeddings, self.bias)


class BertForPreTraining(nn.Module):
    """BERT with its two heads: which word was masked (MLM), and does B follow A (NSP)? Devlin et al. 2019, 3.1."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = BertModel(config)
        self.mlm_head = MLMHead(config)
        self.nsp_head = nn.Linear(config.hidden_size, 2)
        initialize(self.mlm_head, config)
        initialize(self.nsp_head, config)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> PreTrainingOutput:
        """Scores of both tasks; arguments as for ``BertModel.forward``."""
        output = self.bert(input_ids, attention_mask, token_type_ids, output_hidden_states, output_attentions)
        mlm_logits = self.mlm_head(output.last_hidden_state, self.bert.embeddings.word_embeddings.weight)
        return PreTrainingOutput(mlm_logits, self.nsp_head(output.pooled), output.hidden_states, output.attentions)


def count_parameters(config: BertConfig) -> dict[str, int]:
    """How many parameters a BERT of this size has, part by part, without heads; none of them is allocated.

    >>> count_parameters(BertConfig())
    {'embeddings': 23837184, 'encoder': 85054464, 'pooler': 590592, 'total': 109482240}
    """
    with torch.device("meta"):
        model = BertModel(config)
    counts = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    return {**counts, "total": sum(counts.values())}


def initialize(module: nn.Module, config: BertConfig) -> None:
    """Draw a new model's weights in place: N(0, initializer_range²), with zero for biases and for [PAD].

    BERT's own code truncates the normal distribution at two standard deviations.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=config.initializer_range)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            nn.init.zeros_(part.weight[part.padding_idx])


def check_ids(name: str, ids: Tensor, table: nn.Embedding, hint: str) -> None:
    """Refuse ids that are not a (B, L) tensor of integers, or that have no row in the table.

    While torch.compile traces, values are not checked, as looking at them would break its graph in two.
    """
    check_tensor(name, ids)
    if ids.dim() != 2 or ids.numel() == 0 or ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{name} must be integers (int64 or int32) of shape (B, L), at least one sequence of at least one token; "
            f"got {ids.dtype} of shape {tuple(ids.shape)}."
        )
    if not torch.compiler.is_compiling():
        low, high, size = int(ids.min()), int(ids.max()), table.num_embeddings
        if low < 0 or high >= size:
            raise ValueError(f"{name} must be between 0 and {size - 1}; got {low if low < 0 else high}: {hint}")


def check_same_shape(name: str, tensor: Tensor, input_ids: Tensor) -> None:
    """Refuse a tensor that goes with ``input_ids`` but has a different shape."""
    check_tensor(name, tensor)
    if tensor.shape != input_ids.shape:
        raise ValueError(
            f"{name} must have the shape of input_ids, {tuple(input_ids.shape)}; got {tuple(tensor.shape)}."
        )


def check_tensor(name: str, tensor: Tensor) -> None:
    """Refuse anything that is not a tensor, such as a list."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a tensor (B, L), such as encode_batch gives; got {type(tensor).__name__}.")
