"""The causal language model: its loss beside a loop and beside transformers, batches, a short training."""

import math
from itertools import islice

import pytest
import torch

from bertcourse.bert.pretrained import checked
from bertcourse.decoders import (
    CausalLanguageModel,
    DecoderConfig,
    mean_loss,
    next_token_loss,
    pad_texts,
    text_batches,
    train_language_model,
)

SIZES = dict(
    vocab_size=30,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=40,
    max_position_embeddings=16,
)
TEXTS = [[1, 5, 9, 3, 7], [1, 4], [1, 20, 21, 22, 23, 24, 25], [1, 8, 8]]


@pytest.fixture
def model() -> CausalLanguageModel:
    return CausalLanguageModel(DecoderConfig(**SIZES, initializer_range=0.3)).eval()


def log_probabilities(model, text: list[int]) -> list[float]:
    """log P of each token but the first, one at a time, the model never shown more than what is before it."""
    found = []
    for i in range(1, len(text)):
        logits = model(torch.tensor([text[:i]]))[0, -1]
        found.append(logits.log_softmax(0)[text[i]].item())
    return found


def test_all_probabilities_at_once_are_those_one_at_a_time(model):
    with torch.no_grad():
        by_hand = [value for text in TEXTS for value in log_probabilities(model, text)]
        loss = next_token_loss(model, pad_texts(TEXTS))
    assert loss.item() == pytest.approx(-sum(by_hand) / len(by_hand), abs=1e-5)
    assert mean_loss(model, TEXTS) == pytest.approx(-sum(by_hand) / len(by_hand), abs=1e-5)


def test_probabilities_of_all_texts_of_a_length_sum_to_one(model):
    """A property of Π P(x_i | before), which a model that saw the token it scores would not have."""
    model = CausalLanguageModel(DecoderConfig(**{**SIZES, "vocab_size": 4}, initializer_range=0.5)).eval()
    texts = torch.cartesian_prod(torch.zeros(1, dtype=torch.long), *[torch.arange(4)] * 4)
    with torch.no_grad():
        scores = model(texts)[:, :-1].log_softmax(-1)
    whole = scores.gather(-1, texts[:, 1:, None]).sum((1, 2)).exp()
    assert whole.sum().item() == pytest.approx(1.0, abs=1e-5)


def test_the_mean_loss_counts_each_token_alike_however_batched(model):
    assert mean_loss(model, TEXTS, 1) == pytest.approx(mean_loss(model, TEXTS, 4), abs=1e-5)


def test_a_new_model_is_as_surprised_as_a_blind_guess():
    model = CausalLanguageModel(DecoderConfig(**SIZES)).eval()
    assert mean_loss(model, TEXTS) == pytest.approx(math.log(30), abs=0.1)


def test_maps_into_the_residual_stream_start_smaller():
    model = CausalLanguageModel(DecoderConfig(**{**SIZES, "num_hidden_layers": 8, "hidden_size": 64}))
    block = model.decoder.blocks[3]
    assert block.attention.query.weight.std().item() == pytest.approx(0.02, rel=0.1)
    for layer in (block.attention.output, block.feed_forward.contract):
        assert layer.weight.std().item() == pytest.approx(0.02 / 4, rel=0.1)


def test_it_learns_a_rule_that_needs_what_stands_further_back():
    """Texts a b b … a: the last token is the first, which only attention can fetch."""
    generator = torch.Generator().manual_seed(0)
    draws = torch.randint(2, 10, (300, 2), generator=generator).tolist()
    texts = [[1, a, b, b, b, a] for a, b in draws]
    model = CausalLanguageModel(DecoderConfig(**{**SIZES, "hidden_size": 32}, initializer_range=0.1))
    losses = train_language_model(model, text_batches(texts, 32, generator), steps=150, learning_rate=5e-3)
    assert len(losses) == 150 and losses[0] > 2.5 and not model.training
    with torch.no_grad():
        guessed = model(torch.tensor([text[:-1] for text in texts]))[:, -1].argmax(-1)
    assert (guessed == torch.tensor([text[-1] for text in texts])).float().mean() > 0.95
    floor = 2 * math.log(8) / 5  # two draws of eight, five tokens
    assert floor * 0.95 < mean_loss(model, texts) < floor * 1.1


def test_the_rate_rises_and_falls_and_gradients_are_cut(model, monkeypatch):
    rates, cut = [], []
    step, clip = torch.optim.AdamW.step, torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda self, *a: (rates.append(self.param_groups[0]["lr"]), step(self, *a))[1]
    )
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda p, most: (cut.append(most), clip(p, most))[1])
    train_language_model(model, [(pad_texts(TEXTS),)] * 40, 40, learning_rate=0.1)
    assert rates == pytest.approx([0.1 * min(1, (i + 1) / 2, (40 - i) / 20) for i in range(40)])
    assert cut == [1.0] * 40


@pytest.mark.parametrize(
    ("changes", "noun"),
    [
        ({"hidden_size": 30}, "num_attention_heads"),
        ({"vocab_size": 0}, "vocab_size"),
        ({"num_hidden_layers": 1.0}, "num_hidden_layers"),
        ({"hidden_act": "tanh"}, "hidden_act"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps"),
    ],
)
def test_sizes_that_make_no_model_are_refused(changes, noun):
    with pytest.raises(ValueError, match=noun):
        checked(DecoderConfig(**{**SIZES, **changes}))


def test_a_batch_larger_than_the_texts_is_refused():
    with pytest.raises(ValueError, match="batch_size"):
        next(text_batches([[1, 2]], 2))


def test_more_tokens_than_positions_do_not_pass_unseen(model):
    with pytest.raises(RuntimeError, match="size"):
        model(torch.ones(1, 17, dtype=torch.long))


def test_batches_go_round_in_another_order_each_time():
    texts = [[i, i] for i in range(10)]
    rounds = [batch[:, 0] for (batch,) in islice(text_batches(texts, 5, torch.Generator().manual_seed(0)), 4)]
    first, second = torch.cat(rounds[:2]).tolist(), torch.cat(rounds[2:]).tolist()
    assert sorted(first) == sorted(second) == list(range(10)) and first != second


@torch.no_grad()
def test_no_position_sees_what_comes_after_it(model):
    ids = torch.randint(1, 30, (2, 9))
    before = model(ids)
    for place in range(9):
        changed = ids.clone()
        changed[:, place] = (ids[:, place] + 1) % 30
        moved = (model(changed) - before).abs().amax((0, 2)) > 1e-5
        assert moved.tolist() == [i >= place for i in range(9)]
