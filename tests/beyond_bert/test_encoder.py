"""The configurable encoder: BERT by default, every departure by itself."""

import pytest
import torch
from torch import nn

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.beyond_bert.encoder import (
    MODERN,
    EncoderConfig,
    EncoderForPreTraining,
    local_mask,
    turn,
)

SIZES = dict(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=40,
    initializer_range=0.2,
)


def made(**changes) -> EncoderForPreTraining:
    torch.manual_seed(0)
    return EncoderForPreTraining(EncoderConfig(**SIZES, **changes)).eval()


def tokens(length: int = 12) -> torch.Tensor:
    return torch.randint(5, 50, (2, length), generator=torch.Generator().manual_seed(0))


def test_the_defaults_are_bert():
    torch.manual_seed(1)
    bert = BertForPreTraining(BertConfig(**SIZES)).eval()
    encoder = made()
    encoder.load_state_dict(bert.state_dict())  # the same names, none more or less
    mask = torch.ones(2, 12).long()
    mask[1, 7:] = 0
    segments = (torch.arange(12) > 5).long().expand(2, -1)
    ours, theirs = (model(tokens(), mask, segments, True) for model in (encoder, bert))
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


def test_where_there_are_no_segments_nobody_looks():
    made(segments=False)(tokens(), token_type_ids=torch.full((2, 12), 2))


def test_a_rotated_product_depends_on_the_distance_alone():
    query, key = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    places = torch.arange(30)
    scores = turn(query.expand(30, 8), places) @ turn(key.expand(30, 8), places).T
    for distance in (-3, 0, 5):
        along = scores.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along), atol=1e-5, rtol=1e-5)
    assert scores.diagonal(0)[0] != scores.diagonal(1)[0]


def test_rotation_is_multiplication_of_complex_numbers():
    x = torch.randn(7, 6, generator=torch.Generator().manual_seed(0))
    angles = torch.arange(7)[:, None] * 10_000.0 ** -(torch.arange(3) / 3)
    turned = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones(7, 3), angles)
    torch.testing.assert_close(turn(x, torch.arange(7)), torch.cat([turned.real, turned.imag], -1))


def test_a_single_vector_is_turned_as_in_a_row():
    x = torch.randn(7, 6, generator=torch.Generator().manual_seed(0))
    alone = torch.stack([turn(vector, torch.tensor(place)) for place, vector in enumerate(x)])
    torch.testing.assert_close(alone, turn(x, torch.arange(7)))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_positions_order_is_invisible_and_with_rotary_it_is_not(norm):
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    for positions, is_blind in (("none", True), ("rotary", False)):
        model = made(positions=positions, norm=norm)
        straight, shuffled = (model.bert(ids).last_hidden_state for ids in (tokens(), tokens()[:, order]))
        assert torch.allclose(straight[:, order], shuffled, atol=1e-5) == is_blind


def test_a_rotary_encoder_reads_rows_longer_than_any_table():
    assert made(positions="rotary").bert(tokens(100)).last_hidden_state.shape == (2, 100, 32)


def test_every_third_layer_sees_all_and_the_others_their_neighbourhood():
    with torch.no_grad():
        attentions = made(local_reach=2).bert(tokens(), output_attentions=True).attentions
    far = ~local_mask(12, 2)
    assert [bool((layer[..., far] > 0).all()) for layer in attentions] == [True, False, False, True]
    assert (attentions[1][..., far] == 0).all() and (attentions[1][..., ~far] > 0).all()


def test_both_ways_of_attending_agree_on_padded_local_rows():
    model = made(local_reach=2, positions="rotary", qk_norm=True)
    mask = torch.ones(2, 12).long()
    mask[0, 9:] = 0
    plain = model.bert(tokens(), mask, output_attentions=True).last_hidden_state
    torch.testing.assert_close(model.bert(tokens(), mask).last_hidden_state, plain, atol=1e-5, rtol=1e-5)


def test_queries_and_keys_of_one_length_bound_the_scores():
    """|q·k| / √d is at most √d for any weights, so that no weight is above softmax of (√d, -√d, …)."""
    loud = made(qk_norm=True)
    for block in loud.bert.encoder.blocks:
        block.attention.query.weight.data *= 100
    largest = max(layer.max() for layer in loud.bert(tokens(), output_attentions=True).attentions)
    bound = torch.tensor([8**0.5, *[-(8**0.5)] * 11]).softmax(0)[0]
    assert largest <= bound + 1e-6


def test_the_gate_is_a_product():
    feed_forward = made(gated=True).bert.encoder.blocks[0].feed_forward
    x = torch.randn(3, 32, generator=torch.Generator().manual_seed(0))
    first, third = feed_forward.expand.weight.chunk(2)
    first_bias, third_bias = feed_forward.expand.bias.chunk(2)
    by_hand = nn.functional.gelu(x @ first.T + first_bias) * (x @ third.T + third_bias)
    torch.testing.assert_close(feed_forward(x), feed_forward.contract(by_hand))


def test_without_biases_there_are_none_but_of_the_vocabulary_and_the_pooler():
    names = {name for name, _ in made(**MODERN).named_parameters() if name.endswith("bias")}
    assert names == {"mlm_head.bias", "bert.pooler.bias", "nsp_head.bias"}


@pytest.mark.parametrize(
    "changes",
    [
        MODERN,
        dict(norm="pre", norm_kind="rms"),
        dict(gated=True),
        dict(positions="none"),
        dict(segments=False),
        dict(qk_norm=True, positions="rotary"),
    ],
)
def test_every_departure_learns_all_its_weights(changes):
    model = made(**changes)
    output = model(tokens(), token_type_ids=torch.ones(2, 12).long())
    (output.mlm_logits.square().mean() + output.nsp_logits.square().mean()).backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or p.grad.abs().max() == 0]
    key_biases = [name for name in still if name.endswith("attention.key.bias")]  # softmax does not see them
    assert set(still) - set(key_biases) == set()


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(positions="relative"), "positions"),
        (dict(norm="sandwich"), "norm"),
        (dict(norm_kind="batch"), "norm_kind"),
        (dict(local_reach=-1), "local_reach"),
        (dict(rope_theta=0.0), "rope_theta"),
        (dict(positions="rotary", hidden_size=12, num_attention_heads=4), "even"),
    ],
)
def test_an_unknown_setting_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**{**SIZES, **changes})
