"""The faster forms of chapter 2 equal the plain ones."""

import pytest
import torch
import torch.nn.functional as F

from bertcourse.multi_head_attention import ACTIVATIONS, FeedForward, MultiHeadAttention, fused_attention
from bertcourse.self_attention import causal_mask, padding_mask, scaled_dot_product_attention

MASKS = {
    "none": None,
    "causal": causal_mask(7),
    "padding": padding_mask(torch.tensor([[1] * 7, [1] * 4 + [0] * 3])),
    "nothing": torch.zeros(2, 1, 7, 7, dtype=torch.bool),
}


@pytest.mark.parametrize(
    "mask",
    [torch.tensor([True, False, True]), torch.tensor(True), torch.tensor(False), torch.ones(4, 1, dtype=torch.bool)],
)
def test_both_paths_take_a_mask_of_any_shape_that_broadcasts(mask):
    query, key, value = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 3, 8), torch.randn(2, 5, 3, 8)
    plain, _ = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(fused_attention(query, key, value, mask)[0], plain)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_fast_path_equals_plain_path_with_gradients(mask):
    layer, x = MultiHeadAttention(12, 3), torch.randn(2, 7, 12)
    results = []
    for need_weights in (False, True):
        layer.zero_grad()
        output, weights = layer(x, mask, need_weights)
        output.square().sum().backward()
        results.append((output.detach(), layer.query.weight.grad.clone(), layer.value.weight.grad.clone()))
        assert (weights is None) is not need_weights
    for fast, plain in zip(*results):
        assert fast.isfinite().all()
        torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_feed_forward_is_the_same_without_gradients(activation):
    layer, x = FeedForward(12, 20, activation), torch.randn(2, 7, 12)
    plain = layer.contract(layer.activation(layer.expand(x)))
    assert torch.equal(layer(x), plain)
    with torch.no_grad():
        assert torch.equal(layer(x), plain)  # GELU in place


@torch.no_grad()
def test_a_hook_keeps_what_a_layer_gave_it():
    layer, x = FeedForward(12, 20), torch.randn(2, 7, 12)
    seen = []
    layer.expand.register_forward_hook(lambda module, inputs, output: seen.append(output))
    layer(x)
    assert torch.equal(seen[0], F.linear(x, layer.expand.weight, layer.expand.bias))


@torch.no_grad()
def test_a_layer_put_in_place_of_another_keeps_what_it_was_given():
    layer, x = FeedForward(12, 12), torch.randn(2, 7, 12)
    layer.expand, before = torch.nn.Identity(), x.clone()
    layer(x)
    assert torch.equal(x, before)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_attention_in_bfloat16_is_near_that_in_float32(mask):
    query, key, value = torch.randn(3, 2, 4, 7, 8)
    near, _ = fused_attention(query.bfloat16(), key.bfloat16(), value.bfloat16(), mask)
    assert near.dtype == torch.bfloat16
    torch.testing.assert_close(near.float(), fused_attention(query, key, value, mask)[0], atol=0.03, rtol=0.03)
