"""The decoder: what a position may see, the cache, cross-attention; beside torch's own layers."""

import dataclasses

import pytest
import torch
from torch import nn

from bertcourse.decoders.decoder import (
    CachedAttention,
    CrossAttention,
    DecoderBlock,
    KeyValueCache,
    LayerCache,
    TransformerDecoder,
)
from bertcourse.decoders.language_model import DecoderConfig
from bertcourse.multi_head_attention import EncoderBlock, MultiHeadAttention, PreNormBlock
from bertcourse.self_attention import causal_mask, padding_mask

B, L, S, D, H, LAYERS = 3, 7, 5, 24, 4, 2
SIZES = DecoderConfig(
    hidden_size=D,
    num_hidden_layers=LAYERS,
    num_attention_heads=H,
    intermediate_size=40,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


def spread(module: nn.Module) -> nn.Module:
    """The module with weights and biases far from their start, so that a wrong one shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module.eval()


@pytest.fixture
def x():
    return torch.randn(B, L, D)


@pytest.fixture
def memory():
    return torch.randn(B, S, D)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_a_source_the_block_is_chapter_2s_with_a_causal_mask(x, norm):
    block = spread(DecoderBlock(SIZES, norm=norm))
    encoder_block = (PreNormBlock if norm == "pre" else EncoderBlock)(SIZES).eval()
    encoder_block.load_state_dict(block.state_dict())
    ours, weights, cross = block(x, causal_mask(L), need_weights=True)
    theirs, their_weights = encoder_block(x, causal_mask(L), need_weights=True)
    assert torch.equal(ours, theirs) and torch.equal(weights, their_weights) and cross is None


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_with_a_source_it_is_torchs_decoder_layer(x, memory, norm):
    ours = spread(DecoderBlock(dataclasses.replace(SIZES, hidden_act="relu"), cross_attention=True, norm=norm))
    theirs = nn.TransformerDecoderLayer(D, H, 40, 0.0, "relu", batch_first=True, norm_first=norm == "pre").eval()
    names = {"self_attn": ours.attention, "multihead_attn": ours.cross_attention}
    pairs = {"linear1": ours.feed_forward.expand, "linear2": ours.feed_forward.contract, "norm1": ours.attention_norm}
    pairs |= {"norm2": ours.cross_attention_norm, "norm3": ours.feed_forward_norm}
    state = {f"{name}.{kind}": value for name, part in pairs.items() for kind, value in part.state_dict().items()}
    for name, part in names.items():
        three = (part.query, part.key, part.value)
        state |= {f"{name}.in_proj_{kind}": torch.cat([getattr(p, kind) for p in three]) for kind in ("weight", "bias")}
        state |= {f"{name}.out_proj.{kind}": getattr(part.output, kind) for kind in ("weight", "bias")}
    theirs.load_state_dict(state)
    source = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]])
    mine, _, _ = ours(x, causal_mask(L), memory, padding_mask(source))
    other = theirs(x, memory, tgt_mask=~causal_mask(L), memory_key_padding_mask=source == 0)
    torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cross_attention", [False, True])
def test_no_position_sees_what_comes_after_it(x, memory, cross_attention):
    decoder = spread(TransformerDecoder(SIZES, cross_attention))
    source = memory if cross_attention else None
    before = decoder(x, memory=source).last_hidden_state
    for place in range(L):
        changed = x.clone()
        changed[:, place] += torch.randn(D)
        moved = (decoder(changed, memory=source).last_hidden_state - before).abs().amax((0, 2)) > 1e-4
        assert moved.tolist() == [i >= place for i in range(L)]


@pytest.mark.parametrize("steps", [[1] * L, [3, 1, 1, 2], [L]])
@pytest.mark.parametrize("cross_attention", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_with_the_cache_all_is_as_without(x, memory, steps, cross_attention, norm):
    decoder = spread(TransformerDecoder(SIZES, cross_attention, norm))
    further = {"memory": memory, "memory_mask": padding_mask(torch.tensor([[1, 1, 1, 1, 0]] * B))}
    further = further if cross_attention else {}
    whole = decoder(x, **further, output_attentions=True)
    cache, parts = KeyValueCache(LAYERS), []
    for part in x.split(steps, dim=1):
        old = cache.length
        parts.append(decoder(part, cache=cache, **further, output_attentions=True))
        assert cache.length == old + part.shape[1]
        now = slice(old, cache.length)
        for mine, all_at_once in zip(parts[-1].attentions, whole.attentions):
            torch.testing.assert_close(mine, all_at_once[:, :, now, : cache.length], atol=1e-5, rtol=1e-5)
    together = torch.cat([part.last_hidden_state for part in parts], dim=1)
    torch.testing.assert_close(together, whole.last_hidden_state, atol=1e-5, rtol=1e-5)


def test_the_cache_holds_keys_and_values_of_each_layer_once(x, memory):
    decoder = spread(TransformerDecoder(SIZES, cross_attention=True))
    cache = KeyValueCache(LAYERS)
    decoder(x[:, :4], memory=memory, cache=cache)
    decoder(x[:, 4:], memory=memory, cache=cache)
    held = [tensor for layer in cache.layers for tensor in vars(layer).values() if tensor is not None]
    assert sum(tensor.numel() for tensor in held) == LAYERS * 2 * B * (L + S) * D


def test_the_sources_keys_are_computed_once(x, memory, monkeypatch):
    attention, cache = spread(CrossAttention(SIZES)), LayerCache()
    first, _ = attention(x, memory, cache=cache)
    monkeypatch.setattr(attention.key, "forward", lambda _: pytest.fail("computed again"))
    again, _ = attention(x, memory, cache=cache)
    assert torch.equal(first, again)


def test_attention_to_itself_is_chapter_2s(x):
    plain = spread(MultiHeadAttention(SIZES))
    for attention, arguments in ((CachedAttention(SIZES), (x,)), (CrossAttention(SIZES), (x, x))):
        attention.load_state_dict(plain.state_dict())
        for need_weights in (False, True):
            for ours, theirs in zip(attention(*arguments, None, need_weights), plain(x, None, need_weights)):
                assert (ours is None and theirs is None) or torch.equal(ours, theirs)


def test_cross_attention_leaves_padding_out(x, memory):
    attention = spread(CrossAttention(SIZES))
    mask = padding_mask(torch.tensor([[1, 1, 0, 0, 0]] * B))
    output, weights = attention(x, memory, mask, need_weights=True)
    assert weights.shape == (B, H, L, S) and (weights[..., 2:] == 0).all()
    torch.testing.assert_close(output, attention(x, memory[:, :2])[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_hidden_states_are_what_goes_into_each_layer_and_comes_out_of_the_last(x, norm):
    decoder = spread(TransformerDecoder(SIZES, norm=norm))
    output = decoder(x)
    assert len(output.hidden_states) == LAYERS + 1 and torch.equal(output.hidden_states[0], x)
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    assert torch.equal(decoder.blocks[0](x, causal_mask(L))[0], output.hidden_states[1])
