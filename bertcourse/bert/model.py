"""BERT on a page: embeddings, the encoder of chapter 2, a pooler, and the two heads it is pretrained with.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding". The
configuration's fields are named as in Hugging Face's config.json.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertcourse.multi_head_attention import ACTIVATIONS, TransformerEncoder
from bertcourse.self_attention import padding_mask


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


class BertOutput(NamedTuple):
    """What the encoder returns.

    Attributes:
        last_hidden_state: (B, L, D), a contextual vector for each token.
        pooled: (B, D), tanh of a linear map of [CLS]; None for a model without a pooler.
        hidden_states: layers + 1 tensors (B, L, D): the embeddings, then each layer's result.
        attentions: for each layer a tensor of weights (B, H, L, L), or None if they were not asked for.
    """

    last_hidden_state: Tensor
    pooled: Tensor | None
    hidden_states: tuple[Tensor, ...]
    attentions: tuple[Tensor | None, ...]


class BertEmbeddings(nn.Module):
    """Word + segment + position, then layer normalization and dropout (Devlin et al. 2019, figure 2)."""

    def __init__(self, config: BertConfig):
        super().__init__()
        D = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, D, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, D)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, D)
        self.layer_norm = nn.LayerNorm(D, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, L) token ids, and segment ids (zeros if None), to (B, L, D)."""
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        x = self.word_embeddings(input_ids)
        x = x + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings.weight[: input_ids.shape[1]]
        return self.dropout(self.layer_norm(x))


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
        self.encoder = TransformerEncoder(config)
        D = config.hidden_size
        self.pooler = nn.Linear(D, D) if add_pooler else None
        initialize(self, config)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_attentions: bool = False,
    ) -> BertOutput:
        """Contextual vectors for a batch of token sequences.

        Args:
            input_ids: (B, L), integers below V; L at most ``max_position_embeddings``.
            attention_mask: (B, L), 1 for a token, 0 for padding, which must stand at the end: positions count from the
                first column, and ``pooled`` comes from it. None if nothing is padded.
            token_type_ids: (B, L), 0 for the first segment, 1 for the second; None for all zeros.
            output_attentions: return each layer's weights; slower, as they have to be stored.
        """
        mask = None if attention_mask is None else padding_mask(attention_mask)
        x = self.embeddings(input_ids, token_type_ids)
        hidden, states, attentions = self.encoder(x, mask, output_attentions)
        first = hidden[:, 0]
        pooled = None if self.pooler is None else torch.tanh(self.pooler(first))
        return BertOutput(hidden, pooled, states, attentions)


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

    def forward(self, vectors: Tensor, word_embeddings: Tensor) -> Tensor:
        """(..., D) hidden states and the (V, D) embedding table to (..., V) logits."""
        return F.linear(self.layer_norm(self.activation(self.dense(vectors))), word_embeddings, self.bias)


class PreTrainingOutput(NamedTuple):
    """What the encoder with its pretraining heads returns.

    Attributes:
        mlm_logits: (B, L, V), a score for each token of the vocabulary at each position.
        nsp_logits: (B, 2), scores for "B follows A" (index 0) and "B is from elsewhere" (index 1).
        hidden_states, attentions: as in ``BertOutput``.
    """

    mlm_logits: Tensor
    nsp_logits: Tensor
    hidden_states: tuple[Tensor, ...]
    attentions: tuple[Tensor | None, ...]


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
        output_attentions: bool = False,
    ) -> PreTrainingOutput:
        """Scores of both tasks; arguments as for ``BertModel.forward``."""
        output = self.bert(input_ids, attention_mask, token_type_ids, output_attentions)
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
