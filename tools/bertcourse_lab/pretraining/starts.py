"""The model that a run starts with, and initial weights that are more than noise.

BERT starts from noise, even in its positions. A run can start in other ways: with sines and cosines as position vectors
(``initial_positions``), so that p + k is a rotation of p for every k; with word vectors made from counts
(``initial_words``); with sublayers that do not add anything yet (``initial_outputs``); and with heads that look at a
neighbour (``local_layers``). ``tools/studies/recipes.py`` and ``books_start.py`` there measure what each is worth.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from bertcourse.bert import BertForPreTraining, BertModel
from bertcourse.multi_head_attention import TransformerEncoder, sinusoidal_positions
from bertcourse.pretraining.corpus import Documents
from bertcourse_lab.pretraining.config import PretrainingConfig

SINUSOIDAL_AMPLITUDE = 0.04  # a sine's standard deviation is .7 of it: about that of word vectors
LOCAL_PAIRS = 16  # of sine and cosine, those of the shortest wavelengths: by these a head finds its neighbour
LOCAL_GAIN = 2.8  # half to two thirds of a head's attention then goes where it should


def new_model(
    config: PretrainingConfig, vocab_size: int, shards: Iterable[Documents] = (), pad_id: int = 0
) -> BertForPreTraining:
    """A BERT with the weights that a run starts from; without NSP, the NSP head and the pooler are frozen."""
    model = BertForPreTraining(config.bert_config(vocab_size, pad_id))
    start(model.bert, config, shards)
    if not config.nsp:
        for part in (model.bert.pooler, model.nsp_head):
            part.requires_grad_(False)
    return model


@torch.no_grad()
def start(bert: BertModel, config: PretrainingConfig, shards: Iterable[Documents] = ()) -> None:
    """Give a new encoder those of the initial weights below that the settings ask for."""
    words = bert.embeddings.word_embeddings.weight
    if config.initial_positions == "sinusoidal" and bert.embeddings.position_embeddings is not None:
        sinusoidal_start(bert)
    if config.initial_words == "counts":
        words.copy_(config.initializer_range * count_vectors(shards, *words.shape))
    if config.initial_outputs == "zero":
        zero_outputs(bert.encoder)
    if config.local_layers:
        look_at_neighbours(bert, config.local_layers, config.offsets)


@torch.no_grad()
def sinusoidal_start(bert: BertModel) -> None:
    """Position vectors that begin as sines and cosines (Vaswani et al. 2017, section 3.5), and learn from there."""
    table = bert.embeddings.position_embeddings.weight
    table.copy_(SINUSOIDAL_AMPLITUDE * sinusoidal_positions(*table.shape))


@torch.no_grad()
def zero_outputs(encoder: TransformerEncoder) -> None:
    """Start each sublayer's last map at zero: a new encoder passes its embeddings through (Zhang et al. 2019, "Fixup
    Initialization", section 3)."""
    for block in encoder.blocks:
        block.attention.output.weight.zero_()
        block.feed_forward.contract.weight.zero_()


@torch.no_grad()
def look_at_neighbours(bert: BertModel, layers: int, offsets: Sequence[int]) -> None:
    """Let the first heads of the first layers start out looking at a nearby token, such as the one before.

    The first columns of sinusoidal positions are sin(p θ_i) and cos(p θ_i) of the shortest wavelengths; words
    and segments start at zero there. A head's key copies these columns; its query turns them by s positions, as
    sin((p + s) θ) = sin(p θ) cos(s θ) + cos(p θ) sin(s θ). The score Σ_i cos((p + s - q) θ_i) is highest at q = p + s.

    Args:
        bert: new, with sinusoidal positions; changed in place.
        layers: how many layers get such heads.
        offsets: s for the first head of each layer, the second, and so on.
    """
    columns = local_columns(bert)
    bert.embeddings.word_embeddings.weight[:, columns] = 0.0
    bert.embeddings.token_type_embeddings.weight[:, columns] = 0.0
    aim_heads(bert.encoder, layers, offsets, columns, bert.config.hidden_size)


def local_columns(bert: BertModel) -> Tensor:
    """(2P), the columns by which heads find a neighbour: sine, cosine, sine, cosine …"""
    pairs = min(LOCAL_PAIRS, bert.config.hidden_size // bert.config.num_attention_heads // 2)
    return torch.arange(2 * pairs)


@torch.no_grad()
def aim_heads(
    encoder: TransformerEncoder, layers: int, offsets: Sequence[int], columns: Tensor, position_size: int
) -> None:
    """The heads of ``look_at_neighbours``, for an encoder whose inputs carry positions in these columns.

    Args:
        encoder: changed in place.
        layers, offsets: as for ``look_at_neighbours``.
        columns: (2P), as ``local_columns`` gives them.
        position_size: width of the table of positions, which may be wider than the encoder.
    """
    sin, cos = columns[0::2], columns[1::2]
    frequencies = 10000.0 ** (-2 * torch.arange(len(sin)) / position_size)
    for block in encoder.blocks[:layers]:
        heads = block.attention.num_heads
        queries, keys = (part.weight.unflatten(0, (heads, -1)) for part in (block.attention.query, block.attention.key))
        for query, key, offset in zip(queries, keys, offsets):  # (D/H, D) each
            turn = offset * frequencies
            query.zero_(), key.zero_()
            key[columns, columns] = LOCAL_GAIN
            query[sin, sin], query[sin, cos] = LOCAL_GAIN * turn.cos(), LOCAL_GAIN * turn.sin()
            query[cos, cos], query[cos, sin] = LOCAL_GAIN * turn.cos(), -LOCAL_GAIN * turn.sin()


def count_vectors(shards: Iterable[Documents], vocab_size: int, size: int, window: int = 4) -> Tensor:
    """Word vectors from counts alone: a singular value decomposition of positive pointwise mutual information (Levy &
    Goldberg 2014, "Neural Word Embedding as Implicit Matrix Factorization"; contexts smoothed as in Levy, Goldberg &
    Dagan 2015).

    Args:
        shards: documents to count in.
        vocab_size: V; some matrices of V × V are held in memory.
        size: D.
        window: how many tokens on each side count as neighbours.

    Returns:
        (V, D), each column with mean 0, all numbers together with a standard deviation of at most 1; zeros for tokens
        that do not occur. Drawn with torch's global generator.
    """
    counts = np.zeros(vocab_size * vocab_size, np.float32)
    for documents in shards:
        tokens = np.asarray(documents.tokens, np.int64)
        for distance in range(1, window + 1):
            counts += np.bincount(tokens[:-distance] * vocab_size + tokens[distance:], minlength=vocab_size**2)
    pairs = torch.from_numpy(counts).view(vocab_size, vocab_size)
    pairs = pairs + pairs.t()
    totals = pairs.sum(1, keepdim=True).clamp(min=1.0)
    information = (
        (pairs * (totals.sum() / totals) / totals.t().pow(0.75) * (totals.pow(0.75).sum() / totals.sum()))
        .log()
        .clamp_(min=0.0)
    )
    left, values, _ = torch.svd_lowrank(information, q=min(size, vocab_size), niter=4)
    vectors = torch.zeros(vocab_size, size)
    vectors[:, : left.shape[1]] = left * values.sqrt()
    occurs = pairs.sum(1) > 0
    mixed = vectors @ torch.linalg.qr(torch.randn(size, size)).Q  # so that every column gets its share
    mixed[occurs] = (mixed[occurs] - mixed[occurs].mean(0)) / mixed[occurs].std()
    return mixed.masked_fill(~occurs[:, None], 0.0)
