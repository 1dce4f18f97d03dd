"""Chapter 2: heads are slices, and blocks equal torch's."""

import math
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bertcourse.bert import BertConfig
from bertcourse.multi_head_attention import (
    EncoderBlock,
    FeedForward,
    MultiHeadAttention,
    PreNormBlock,
    PreNormEncoder,
    TransformerEncoder,
    merge_heads,
    sinusoidal_positions,
    split_heads,
)
from bertcourse.self_attention import causal_mask, padding_mask, scaled_dot_product_attention

MASKS = {
    "none": None,
    "causal": causal_mask(7),
    "padding": padding_mask(torch.tensor([[1] * 7, [1] * 4 + [0] * 3])),
}
BLOCKS = {"post": EncoderBlock, "pre": PreNormBlock}
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def sizes(**further) -> BertConfig:
    """Three layers of three heads, 12 wide."""
    small = dict(hidden_size=12, num_hidden_layers=3, num_attention_heads=3, intermediate_size=20)
    return BertConfig(**{**small, **NO_DROPOUT, **further})


def torch_layer(block: EncoderBlock) -> nn.TransformerEncoderLayer:
    """torch's encoder layer with a block's weights."""
    size, heads = block.attention.query.in_features, block.attention.num_heads
    width = block.feed_forward.expand.out_features
    activation = "relu" if block.feed_forward.activation is F.relu else "gelu"
    layer = nn.TransformerEncoderLayer(
        size,
        heads,
        width,
        activation=activation,
        layer_norm_eps=1e-12,
        batch_first=True,
        norm_first=isinstance(block, PreNormBlock),
        dropout=0.0,
    )
    attention = (block.attention.query, block.attention.key, block.attention.value)
    layer.self_attn.in_proj_weight.data = torch.cat([part.weight for part in attention])
    layer.self_attn.in_proj_bias.data = torch.cat([part.bias for part in attention])
    for theirs, ours in [
        (layer.self_attn.out_proj, block.attention.output),
        (layer.linear1, block.feed_forward.expand),
        (layer.linear2, block.feed_forward.contract),
        (layer.norm1, block.attention_norm),
        (layer.norm2, block.feed_forward_norm),
    ]:
        theirs.load_state_dict(ours.state_dict())
    return layer


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_heads_are_separate_attentions_on_slices(mask):
    layer, x = MultiHeadAttention(sizes()), torch.randn(2, 7, 12)
    heads = []
    for h in range(3):
        part = slice(4 * h, 4 * h + 4)
        query, key, value = (project(x)[..., part] for project in (layer.query, layer.key, layer.value))
        one_head = None if mask is None or mask.dim() == 2 else mask[:, 0]
        heads.append(scaled_dot_product_attention(query, key, value, mask if one_head is None else one_head)[0])
    expected = layer.output(torch.cat(heads, dim=-1))
    torch.testing.assert_close(layer(x, mask, need_weights=True)[0], expected)


def test_weights_have_a_matrix_for_each_head():
    _, weights = MultiHeadAttention(sizes())(torch.randn(2, 7, 12), need_weights=True)
    assert weights.shape == (2, 3, 7, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 7))


def test_merge_undoes_split():
    x = torch.randn(2, 7, 12)
    split = split_heads(x, 3)
    assert split.shape == (2, 3, 7, 4)
    assert torch.equal(split[1, 2, 5], x[1, 5, 8:12])
    assert torch.equal(merge_heads(split), x)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_at_both_sublayers_only_in_training(norm, monkeypatch):
    block, x, dropped = BLOCKS[norm](sizes(hidden_dropout_prob=0.5)), torch.randn(2, 7, 12), []
    whole = torch.nn.Dropout.forward
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, y: (dropped.append(self.p), whole(self, y))[1])
    assert not torch.equal(block.train()(x)[0], block(x)[0]) and dropped == [0.5] * 4  # twice in each pass
    assert torch.equal(block.eval()(x)[0], block(x)[0])


def test_attention_dropout_only_in_training():
    layer, x = MultiHeadAttention(sizes(attention_probs_dropout_prob=0.5)), torch.randn(2, 7, 12)
    assert not torch.equal(layer.train()(x)[0], layer(x)[0])
    assert torch.equal(layer.eval()(x)[0], layer(x)[0])


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_block_equals_torch(norm, activation):
    block = BLOCKS[norm](sizes(hidden_act=activation))
    layer, x = torch_layer(block), torch.randn(2, 7, 12)
    torch.testing.assert_close(block(x)[0], layer(x), atol=1e-5, rtol=1e-4)
    padding = torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    theirs = layer(x, src_key_padding_mask=padding == 0)
    ours, _ = block(x, padding_mask(padding))
    torch.testing.assert_close(ours[padding.bool()], theirs[padding.bool()], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_is_its_blocks_in_a_row(norm):
    stack = TransformerEncoder if norm == "post" else PreNormEncoder
    encoder, x = stack(sizes()), torch.randn(2, 7, 12)
    output = encoder(x, output_attentions=True)
    expected = x
    for i, block in enumerate(encoder.blocks):
        torch.testing.assert_close(output.hidden_states[i], expected)
        expected, weights = block(expected, need_weights=True)
        torch.testing.assert_close(output.attentions[i], weights)
    if norm == "pre":
        expected = F.layer_norm(expected, (12,), eps=1e-12)
    torch.testing.assert_close(output.last_hidden_state, expected)
    assert torch.equal(output.hidden_states[3], output.last_hidden_state)
    assert encoder(x).attentions == (None, None, None)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu"])
def test_feed_forward_is_two_maps_with_an_activation_between(activation):
    layer, x = FeedForward(sizes(hidden_act=activation)), torch.randn(2, 7, 12)
    hidden = layer.expand(x)
    if activation == "relu":
        hidden = F.relu(hidden)
    else:
        hidden = F.gelu(hidden, approximate="none" if activation == "gelu" else "tanh")
    torch.testing.assert_close(layer(x), layer.contract(hidden))
    torch.testing.assert_close(pickle.loads(pickle.dumps(layer))(x), layer(x))


def test_sinusoids_are_the_papers():
    positions = sinusoidal_positions(50, 16)
    for p, i in [(0, 0), (3, 2), (49, 7)]:
        angle = p / 10000 ** (2 * i / 16)
        assert positions[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-4)
        assert positions[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-4)


def test_sinusoids_k_apart_differ_by_one_rotation():
    clocks = torch.view_as_complex(
        sinusoidal_positions(40, 8).view(40, 4, 2)
    )  # sine + i cosine, a hand for each wavelength
    turn = clocks[5] / clocks[0]
    torch.testing.assert_close(turn.abs(), torch.ones(4))
    torch.testing.assert_close(clocks[:35] * turn, clocks[5:], atol=1e-5, rtol=0)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_with_weights_and_without_all_is_the_same_gradients_included(mask):
    layer, x = MultiHeadAttention(sizes()), torch.randn(2, 7, 12)
    results = []
    for need_weights in (False, True):
        layer.zero_grad()
        output, weights = layer(x, mask, need_weights)
        output.square().sum().backward()
        results.append((output.detach(), layer.query.weight.grad.clone(), layer.value.weight.grad.clone()))
        assert (weights is None) is not need_weights
    for fused, plain in zip(*results):
        torch.testing.assert_close(fused, plain, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("shape", [(6, 6), (2, 2, 7, 7)])
def test_a_mask_of_another_shape_does_not_pass_unseen(shape, need_weights):
    with pytest.raises(RuntimeError, match="size|shape"):
        MultiHeadAttention(sizes())(torch.randn(1, 7, 12), torch.ones(shape, dtype=torch.bool), need_weights)
