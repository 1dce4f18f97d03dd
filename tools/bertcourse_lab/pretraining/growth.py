"""Chapter 11: a deeper BERT out of a trained one, which does not forget what that one knows.

A layer that passes on what comes in leaves the model's answers as they are, and learns from there (Chen et al. 2016,
"Net2Net: Accelerating Learning via Knowledge Transfer"; for BERT, which starts the new layers as copies of the old
ones, Gong et al. 2019, "Efficient Training of BERT by Progressively Stacking"). In post-LN, a layer that adds nothing
still normalizes. But what comes in has just been normalized: to normalize it once more, with one scale and one shift
for all columns, changes it little.
"""

import copy
from dataclasses import replace

import torch
from torch import nn

from bertcourse.bert import BertForPreTraining
from bertcourse.beyond_bert.formats import departs
from bertcourse.multi_head_attention import EncoderBlock

PEDESTAL = 3.0  # large beside the values of a normalized vector, and small enough for bfloat16 to be exact beside it


def grown(model: BertForPreTraining, layers: int, positions: int) -> BertForPreTraining:
    """A deeper copy of a model, which at first answers almost as the model does.

    The new layers are spread evenly, each after the old layer that it is copied from (``passing_on``).
    A model that has been grown before, as the course's has, cannot be grown again: in its new layers, γ and β say
    something else than ``passing_on`` takes them for.

    Args:
        model: has L layers; not changed.
        layers: of the copy, L to 2L.
        positions: of the copy, at most the model's: the first ones.
    """
    if departures := departs(model.config):
        raise ValueError(f"grown is for BERT, whose layers end with a normalization; this encoder has {departures}.")
    blocks = list(model.bert.encoder.blocks)
    most = model.config.max_position_embeddings
    if not len(blocks) <= layers <= 2 * len(blocks):
        raise ValueError(f"layers must be {len(blocks)} to {2 * len(blocks)}, twice as many at most; got {layers}.")
    if not 1 <= positions <= most:
        raise ValueError(f"positions must be 1 to {most}, as many as there are; got {positions}.")
    more = layers - len(blocks)
    places = [number * len(blocks) // more for number in range(1, more + 1)]
    for place in reversed(places):
        blocks.insert(place, passing_on(blocks[place - 1]))
    deeper = copy.deepcopy(model)
    deeper.config = replace(model.config, num_hidden_layers=layers, max_position_embeddings=positions)
    deeper.bert.config = deeper.config
    deeper.bert.encoder.blocks = nn.ModuleList(copy.deepcopy(block) for block in blocks)
    table = deeper.bert.embeddings.position_embeddings
    table.weight = nn.Parameter(table.weight[:positions].detach().clone())
    table.num_embeddings = positions
    return deeper


@torch.no_grad()
def passing_on(block: EncoderBlock) -> EncoderBlock:
    """A copy of a post-LN layer that, placed after it, passes on what comes in, nearly unchanged.

    The last maps of both sublayers are zero but for their bias, ``PEDESTAL`` and -``PEDESTAL`` in turns: x then stands
    on it, and the normalization divides by about the same number, whatever x is. Its scale and its shift undo
    that and take the bias away again, for the mean and the variance that x has on average: γ and β of the normalization
    before give a column the variance γ² around β.
    """
    copied = copy.deepcopy(block)
    scale, shift = block.feed_forward_norm.weight, block.feed_forward_norm.bias
    pedestal = torch.full_like(shift, PEDESTAL)
    pedestal[1::2] *= -1
    for last, norm in (
        (copied.attention.output, copied.attention_norm),
        (copied.feed_forward.contract, copied.feed_forward_norm),
    ):
        last.weight.zero_()
        last.bias.copy_(pedestal)
        norm.weight.fill_((PEDESTAL**2 + scale.square().mean() + shift.var(correction=0)).sqrt())
        norm.bias.copy_(shift.mean() - pedestal)
    return copied
