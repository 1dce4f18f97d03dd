"""The encoder-decoder: its block beside torch's, who sees what, padding, the loss, a task that it learns."""

import dataclasses

import pytest
import torch
from torch import nn

from bertcourse.decoders import (
    CrossAttention,
    DecoderBlock,
    EncoderDecoder,
    pad_texts,
    small_config,
    train_language_model,
    translate,
    translation_loss,
)
from bertcourse.multi_head_attention import MultiHeadAttention
from bertcourse.self_attention import padding_mask

B, T, S, D, H = 3, 7, 5, 24, 4
START, STOP = 1, 2
SOURCES = [[5, 6, 7, 8, 9, 10], [11, 12, 13], [5]]
TARGETS = [[START, 7, 8, STOP], [START, 9, STOP], [START, 3, 4, 5, 6, STOP]]


def spread(module: nn.Module) -> nn.Module:
    """The module with weights and biases far from their start, so that a wrong one shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module.eval()


@pytest.fixture
def x():
    return torch.randn(B, T, D)


@pytest.fixture
def memory():
    return torch.randn(B, S, D)


@pytest.fixture
def model() -> EncoderDecoder:
    return EncoderDecoder(dataclasses.replace(small_config(20, 32, 24), initializer_range=0.3)).eval()


def test_the_block_is_torchs_decoder_layer(x, memory):
    config = dataclasses.replace(small_config(20, D, 24), hidden_act="relu")
    ours = spread(DecoderBlock(config))
    theirs = nn.TransformerDecoderLayer(D, H, 4 * D, 0.0, "relu", batch_first=True, norm_first=True).eval()
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
    mine, _ = ours(x, memory, padding_mask(source))
    later = ~torch.ones(T, T, dtype=torch.bool).tril()
    other = theirs(x, memory, tgt_mask=later, memory_key_padding_mask=source == 0)
    torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)


def test_attention_to_itself_is_chapter_2s(x):
    plain, cross = spread(MultiHeadAttention(small_config(20, D, 24))), CrossAttention(small_config(20, D, 24))
    cross.load_state_dict(plain.state_dict())
    for need_weights in (False, True):
        for ours, theirs in zip(cross(x, x, None, need_weights), plain(x, None, need_weights)):
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)


def test_cross_attention_leaves_padding_out(x, memory):
    attention = spread(CrossAttention(small_config(20, D, 24)))
    mask = padding_mask(torch.tensor([[1, 1, 0, 0, 0]] * B))
    output, weights = attention(x, memory, mask, need_weights=True)
    assert weights.shape == (B, H, T, S) and (weights[..., 2:] == 0).all()
    torch.testing.assert_close(output, attention(x, memory[:, :2])[0], atol=1e-5, rtol=1e-5)


def test_the_loss_is_that_of_one_token_at_a_time(model):
    values = []
    for source, target in zip(SOURCES, TARGETS):
        for i in range(1, len(target)):
            logits = model(torch.tensor([source]), torch.tensor([target[:i]]))[0, -1]
            values.append(-logits.log_softmax(0)[target[i]].item())
    loss = translation_loss(model, pad_texts(SOURCES), pad_texts(TARGETS))
    assert loss.item() == pytest.approx(sum(values) / len(values), abs=1e-5)


def test_a_target_sees_all_of_the_source_and_only_its_own_past(model):
    source, target = torch.tensor([SOURCES[0]]), torch.tensor([[START, 7, 8, 9]])
    before = model(source, target)
    for place in range(source.shape[1]):
        changed = source.clone()
        changed[0, place] = 15
        assert ((model(changed, target) - before).abs().amax((0, 2)) > 1e-4).all()
    for place in range(4):
        changed = target.clone()
        changed[0, place] = 15
        moved = (model(source, changed) - before).abs().amax((0, 2)) > 1e-4
        assert moved.tolist() == [i >= place for i in range(4)]


def test_weights_have_their_shapes_and_leave_padding_out(model):
    source_ids = pad_texts(SOURCES)
    target_ids = torch.tensor([[START, 7, 8, 9]] * 3)
    _, all_weights = model.decode(target_ids, model.encode(source_ids), source_ids, need_weights=True)
    assert [weights.shape for weights in all_weights] == [(3, 4, 4, 6)] * 2
    for weights in all_weights:
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4, 4))
        assert (weights[1, ..., 3:] == 0).all() and (weights[2, ..., 1:] == 0).all()


def test_a_batch_is_written_as_each_row_by_itself(model):
    together = translate(model, pad_texts(SOURCES), START, 10)
    for row, source in zip(together, SOURCES):
        assert torch.equal(row, translate(model, torch.tensor([source]), START, 10)[0])


@pytest.mark.slow
@pytest.mark.weekly  # lecture 12 learns dates with it
def test_it_learns_to_turn_texts_round():
    """Nothing but cross-attention can tell the decoder what to write; held-out texts show that it is no memory."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(3, 20, (4000, 4), generator=generator)
    train = rows[(rows[:, 0] + rows[:, 1]) % 5 > 0]
    held_out = rows[(rows[:, 0] + rows[:, 1]) % 5 == 0][:200]

    def pairs():
        while True:
            some = train[torch.randint(0, len(train), (64,), generator=generator)]
            edges = [torch.full((64, 1), number) for number in (START, STOP)]
            yield some, torch.cat([edges[0], some.flip(1), edges[1]], dim=1)

    torch.manual_seed(0)
    model = EncoderDecoder(small_config(20, 32, 24))
    train_language_model(model, pairs(), 400, learning_rate=4e-3, loss=translation_loss)
    written = translate(model, held_out, START, 5)
    assert (written[:, :4] == held_out.flip(1)).all(1).float().mean() > 0.9
