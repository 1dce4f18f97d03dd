"""Writing: what stays of a distribution, draws by it, the cache beside recomputation, transformers' generate."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.decoders import (
    CausalLanguageModel,
    DecoderConfig,
    WithCache,
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


def test_greedy_takes_the_best_each_time(model):
    text = generate(model, torch.tensor([[3, 4]]), 10, temperature=0)
    with torch.no_grad():
        best = model(text[:, :-1]).argmax(-1)
    assert torch.equal(best[0, 1:], text[0, 2:])


def test_tokens_are_drawn_as_often_as_the_model_says(model):
    prompt = torch.tensor([[3, 4]]).expand(20_000, 2)
    with torch.no_grad():
        expected = next_token_distribution(model(prompt[:1])[0, -1], 0.8, top_p=0.9)
    drawn = generate(model, prompt, 1, torch.Generator().manual_seed(0), temperature=0.8, top_p=0.9)[:, -1]
    found = torch.bincount(drawn, minlength=50) / 20_000
    assert (found[expected == 0] == 0).all()
    assert (found - expected).abs().max() < 0.02  # more than five deviations of a half


def test_a_seed_makes_the_text(model):
    def text(seed: int):
        return generate(model, torch.tensor([[3]]), 20, torch.Generator().manual_seed(seed))

    assert torch.equal(text(1), text(1)) and not torch.equal(text(1), text(2))


@pytest.mark.parametrize("choice", [{"temperature": 0}, {"temperature": 1.0, "top_k": 20}])
def test_the_cache_writes_what_recomputation_writes(model, choice):
    prompts = torch.randint(0, 50, (4, 5))
    texts = [
        generate(each, prompts, 50, torch.Generator().manual_seed(1), **choice) for each in (model, WithCache(model))
    ]
    assert torch.equal(*texts) and texts[0].shape == (4, 55) and torch.equal(texts[0][:, :5], prompts)
    assert texts[0][:, 5:].unique().numel() > 5


@pytest.mark.parametrize("steps", [[1] * 64, [30, 1, 1, 32], [64]])
@torch.no_grad()
def test_with_the_cache_scores_are_as_without(model, steps):
    text, cached, read, parts = torch.randint(0, 50, (2, 64)), WithCache(model), 0, []
    for count in steps:
        read += count
        parts.append(cached(text[:, :read]))
        assert parts[-1].shape == (2, count, 50)
    torch.testing.assert_close(torch.cat(parts, dim=1), model(text), atol=1e-5, rtol=1e-5)
    assert sum(kept.numel() for cache in cached.caches for kept in cache.values()) == 3 * 2 * 2 * 64 * 32


def test_no_gradient_is_kept(model):
    assert not generate(model, torch.tensor([[3]]), 3).requires_grad
