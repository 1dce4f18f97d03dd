"""Writing: what stays of a distribution, draws by it, the cache beside recomputation, transformers' generate."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.decoders import (
    CausalLanguageModel,
    DecoderConfig,
    KeyValueCache,
    generate,
    keep_top_k,
    keep_top_p,
    next_token_distribution,
)

logits_lists = st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=12)


@pytest.fixture
def model() -> CausalLanguageModel:
    sizes = dict(vocab_size=50, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64)
    return CausalLanguageModel(DecoderConfig(**sizes, max_position_embeddings=64, initializer_range=0.4)).eval()


@given(logits_lists, st.integers(1, 14))
def test_top_k_keeps_the_k_highest(values, k):
    logits = torch.tensor(values)
    kept = keep_top_k(logits, k)
    stays = kept > -math.inf
    assert stays.sum() == min(k, len(values)) and torch.equal(kept[stays], logits[stays])
    assert stays.all() or logits[stays].min() >= logits[~stays].max()


@given(logits_lists, st.floats(0.01, 1.0))
@settings(max_examples=200)
def test_top_p_keeps_the_fewest_with_p_of_the_probability(values, p):
    logits = torch.tensor(values)
    stays = keep_top_p(logits, p) > -math.inf
    inside = logits.softmax(0)[stays]
    assert inside.sum() >= p - 1e-5
    assert inside.sum() - inside.min() < p + 1e-5  # none of them could be left out
    assert stays.all() or logits[stays].min() >= logits[~stays].max()


def test_a_top_p_of_one_keeps_tokens_that_rounding_would_lose():
    logits = torch.tensor([0.0, -18.0, -18.0])
    assert torch.equal(keep_top_p(logits, 1.0), logits)


@pytest.mark.parametrize(("k", "p"), [(1, None), (3, None), (None, 0.5), (None, 0.95), (5, 0.7)])
def test_what_stays_is_what_transformers_keeps(k, p):
    from transformers import TopKLogitsWarper, TopPLogitsWarper

    logits = 3 * torch.randn(20, 40)
    theirs = logits / 0.7
    if k:
        theirs = TopKLogitsWarper(k)(None, theirs)
    if p:
        theirs = TopPLogitsWarper(p)(None, theirs)
    torch.testing.assert_close(next_token_distribution(logits, 0.7, k, p), theirs.softmax(-1))


def test_a_temperature_is_a_power_of_the_probabilities():
    probabilities = torch.tensor([0.5, 0.3, 0.2])
    for temperature in (0.5, 2.0):
        expected = probabilities ** (1 / temperature)
        found = next_token_distribution(probabilities.log(), temperature)
        torch.testing.assert_close(found, expected / expected.sum())
    assert next_token_distribution(probabilities.log(), 0.0).tolist() == [1, 0, 0]
    torch.testing.assert_close(next_token_distribution(probabilities.log(), 1e-6), torch.tensor([1.0, 0, 0]))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_cache_writes_what_recomputation_writes(model, temperature):
    prompts = torch.randint(0, 50, (4, 5))
    texts = [
        generate(model, prompts, 50, temperature, top_k=20, generator=torch.Generator().manual_seed(1), use_cache=cache)
        for cache in (True, False)
    ]
    assert torch.equal(*texts) and texts[0].shape == (4, 55) and torch.equal(texts[0][:, :5], prompts)
    assert texts[0][:, 5:].unique().numel() > 5


def test_with_the_cache_logits_differ_by_less_than_a_hundred_thousandth(model):
    text = torch.randint(0, 50, (2, 64))
    cache = KeyValueCache(3)
    with torch.no_grad():
        steps = torch.cat([model(text[:, i : i + 1], cache=cache).logits for i in range(64)], dim=1)
        torch.testing.assert_close(steps, model(text).logits, atol=1e-5, rtol=1e-5)


def test_greedy_takes_the_best_each_time(model):
    text = generate(model, torch.tensor([[3, 4]]), 10)
    with torch.no_grad():
        best = model(text[:, :-1]).logits.argmax(-1)
    assert torch.equal(best[0, 1:], text[0, 2:])


def test_tokens_are_drawn_as_often_as_the_model_says(model):
    prompt = torch.tensor([[3, 4]]).expand(20_000, 2)
    with torch.no_grad():
        expected = next_token_distribution(model(prompt[:1]).logits[0, -1], 0.8, top_p=0.9)
    drawn = generate(model, prompt, 1, 0.8, top_p=0.9, generator=torch.Generator().manual_seed(0))[:, -1]
    found = torch.bincount(drawn, minlength=50) / 20_000
    assert (found[expected == 0] == 0).all()
    assert (found - expected).abs().max() < 0.02  # more than five deviations of a half


def test_a_seed_makes_the_text(model):
    def text(seed: int):
        return generate(model, torch.tensor([[3]]), 20, 1.0, generator=torch.Generator().manual_seed(seed))

    assert torch.equal(text(1), text(1)) and not torch.equal(text(1), text(2))


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_row_that_has_stopped_writes_nothing_more_and_others_go_on(model, use_cache):
    prompts = torch.randint(0, 50, (16, 3))
    free = generate(model, prompts, 30)
    stop = int(free[:, 3:].flatten().mode().values)
    text = generate(model, prompts, 30, stop=stop, use_cache=use_cache)
    ends = []
    for row, whole in zip(text[:, 3:].tolist(), free[:, 3:].tolist()):
        end = row.index(stop) if stop in row else len(row)
        assert row[:end] == whole[:end] and set(row[end:]) <= {stop}
        ends.append(end)
    assert len(set(ends)) > 1 and text.shape[1] == 3 + min(30, max(ends) + 1)


def test_the_model_is_left_in_its_mode_and_no_gradient_is_kept(model):
    model.train()
    text = generate(model, torch.tensor([[3]]), 3)
    assert model.training and not text.requires_grad


def test_a_text_may_fill_all_positions_and_one_more_token(model):
    assert generate(model, torch.tensor([[3] * 60]), 5).shape == (1, 65)
    with pytest.raises(ValueError, match="at most 5"):
        generate(model, torch.tensor([[3] * 60]), 6)


@pytest.mark.parametrize(
    ("wrong", "noun"),
    [
        ({"temperature": -1.0}, "temperature"),
        ({"top_k": 0}, "top_k"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
    ],
)
def test_settings_without_a_meaning_are_refused(wrong, noun):
    with pytest.raises(ValueError, match=noun):
        next_token_distribution(torch.zeros(3), **wrong)
