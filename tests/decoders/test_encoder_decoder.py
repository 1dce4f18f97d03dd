"""The encoder-decoder: who sees what, padding, the loss beside one token at a time, the cache, a task it learns."""

import pytest
import torch

from bertcourse.decoders import DecoderConfig, KeyValueCache, train_language_model
from bertcourse.decoders.encoder_decoder import EncoderDecoder, teacher_forcing_loss, translate
from bertcourse.decoders.language_model import pad_texts

SIZES = dict(
    vocab_size=20,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=24,
    embedding_dropout_prob=0.0,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
START, STOP = 1, 2
SOURCES = [[5, 6, 7, 8, 9, 10], [11, 12, 13], [5]]
TARGETS = [[START, 7, 8, STOP], [START, 9, STOP], [START, 3, 4, 5, 6, STOP]]


@pytest.fixture
def model() -> EncoderDecoder:
    return EncoderDecoder(DecoderConfig(**SIZES, initializer_range=0.3), num_encoder_layers=3).eval()


def test_the_loss_is_that_of_one_token_at_a_time(model):
    values = []
    for source, target in zip(SOURCES, TARGETS):
        for i in range(1, len(target)):
            logits = model(torch.tensor([source]), torch.tensor([target[:i]])).logits[0, -1]
            values.append(-logits.log_softmax(0)[target[i]].item())
    loss = teacher_forcing_loss(model, *pad_texts(SOURCES), *pad_texts(TARGETS))
    assert loss.item() == pytest.approx(sum(values) / len(values), abs=1e-5)


def test_a_target_sees_all_of_the_source_and_only_its_own_past(model):
    source, target = torch.tensor([SOURCES[0]]), torch.tensor([[START, 7, 8, 9]])
    before = model(source, target).logits
    for place in range(source.shape[1]):
        changed = source.clone()
        changed[0, place] = 15
        assert ((model(changed, target).logits - before).abs().amax((0, 2)) > 1e-4).all()
    for place in range(4):
        changed = target.clone()
        changed[0, place] = 15
        moved = (model(source, changed).logits - before).abs().amax((0, 2)) > 1e-4
        assert moved.tolist() == [i >= place for i in range(4)]


def test_attention_weights_have_their_shapes_and_leave_padding_out(model):
    source_ids, source_mask = pad_texts(SOURCES)
    output = model(source_ids, torch.tensor([[START, 7, 8, 9]] * 3), source_mask, output_attentions=True)
    assert [w.shape for w in output.cross_attentions] == [(3, 4, 4, 6)] * 2
    assert [w.shape for w in output.attentions] == [(3, 4, 4, 4)] * 2
    assert [w.shape for w in output.encoder_attentions] == [(3, 4, 6, 6)] * 3
    for weights in output.cross_attentions:
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4, 4))
        assert (weights[1, ..., 3:] == 0).all() and (weights[2, ..., 1:] == 0).all()


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_batch_is_written_as_each_row_by_itself(model, use_cache):
    batch = pad_texts(SOURCES)
    together = translate(model, *batch, START, STOP, 10, use_cache)
    for row, source in zip(together.tolist(), SOURCES):
        (alone,) = translate(model, torch.tensor([source]), None, START, STOP, 10).tolist()
        assert row[: len(alone)] == alone and set(row[len(alone) :]) <= {STOP}


def test_with_the_cache_logits_are_as_without(model):
    source_ids, source_mask = pad_texts(SOURCES)
    target = torch.randint(3, 20, (3, 12))
    memory, _ = model.encode(source_ids, source_mask)
    cache = KeyValueCache(2)
    steps = [model.decode(target[:, i : i + 1], memory, source_mask, cache).logits for i in range(12)]
    whole = model(source_ids, target, source_mask).logits
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, atol=1e-5, rtol=1e-5)


def test_nothing_is_written_after_stop(model):
    free = translate(model, *pad_texts(SOURCES), START, 19, 20)
    stop = int(free[0, 3])
    written = translate(model, *pad_texts(SOURCES), START, stop, 20)
    for row in written.tolist():
        assert stop not in row or set(row[row.index(stop) :]) == {stop}
    assert stop in written[0, :4].tolist()


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
            yield some, None, torch.cat([edges[0], some.flip(1), edges[1]], dim=1)

    model = EncoderDecoder(DecoderConfig(**SIZES, initializer_range=0.1), num_encoder_layers=1)
    train_language_model(model, pairs(), 400, learning_rate=4e-3, loss=teacher_forcing_loss)
    written = translate(model, held_out, None, START, STOP, 5)
    assert (written[:, :4] == held_out.flip(1)).all(1).float().mean() > 0.9
