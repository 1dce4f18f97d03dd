"""Chapter 1: attention is what the formula says, equals torch's, respects its masks, and refuses what does not fit."""

import math

import pytest
import torch
import torch.nn.functional as F

from bertcourse.self_attention import causal_mask, padding_mask, scaled_dot_product_attention, simple_self_attention


def by_hand(query, key, value, mask=None):
    """The formula, one query at a time, in plain Python."""
    rows = []
    for i, q in enumerate(query.tolist()):
        allowed = [j for j in range(len(key)) if mask is None or mask[i][j]]
        scores = {j: sum(a * b for a, b in zip(q, key[j].tolist())) / math.sqrt(len(q)) for j in allowed}
        total = sum(math.exp(s) for s in scores.values())
        rows.append(
            [sum(math.exp(s) / total * value[j][c].item() for j, s in scores.items()) for c in range(value.shape[1])]
        )
    return torch.tensor(rows)


def test_simple_attention_averages_by_dot_products():
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    a, b = math.e / (math.e + 1), math.exp(4) / (math.exp(4) + 1)
    expected = torch.tensor([[a, 2 * (1 - a)], [1 - b, 2 * b]])
    torch.testing.assert_close(simple_self_attention(x), expected)


def test_the_cat_sat():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    query, key = x, x @ torch.tensor([[1.0, 1.0], [0.0, 1.0]]).T  # the slides' matrices multiply columns
    value = x @ torch.tensor([[1.0, 0.0], [1.0, 1.0]]).T
    output, weights = scaled_dot_product_attention(query * 2**0.5, key, value)  # the slides' example is not scaled
    torch.testing.assert_close(weights[1], torch.tensor([0.1554, 0.4223, 0.4223]), atol=1e-4, rtol=0)
    torch.testing.assert_close(output[1], torch.tensor([0.5777, 1.4223]), atol=1e-4, rtol=0)


def test_thinking_machines():
    query, key = torch.zeros(1, 64), torch.zeros(2, 64)
    query[0, 0], key[0, 0], key[1, 0] = 1.0, 112.0, 96.0
    _, weights = scaled_dot_product_attention(query, key, torch.eye(2))
    torch.testing.assert_close(weights, torch.tensor([[0.88, 0.12]]), atol=0.005, rtol=0)


def test_equals_the_formula_by_hand():
    query, key, value = torch.randn(5, 8), torch.randn(7, 8), torch.randn(7, 3)
    mask = torch.rand(5, 7) < 0.6
    mask[:, 0] = True
    torch.testing.assert_close(scaled_dot_product_attention(query, key, value)[0], by_hand(query, key, value))
    torch.testing.assert_close(
        scaled_dot_product_attention(query, key, value, mask)[0], by_hand(query, key, value, mask)
    )


@pytest.mark.parametrize("mask_shape", [None, (2, 1, 1, 7), (1, 1, 5, 7), (2, 3, 5, 7), (5, 7)])
def test_equals_torch(mask_shape):
    query, key, value = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 4)
    mask = None
    if mask_shape is not None:
        mask = torch.rand(mask_shape) < 0.7
        mask[..., 0] = True
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(
        output, F.scaled_dot_product_attention(query, key, value, attn_mask=mask), atol=1e-6, rtol=1e-5
    )
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))


def test_huge_scores_do_not_overflow():
    x = 1e4 * torch.randn(6, 8)
    output, weights = scaled_dot_product_attention(x, x, x, causal_mask(6))
    assert output.isfinite().all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(6))


def test_masked_positions_have_no_influence_at_all():
    query, key, value = torch.randn(3, 8), torch.randn(5, 8), torch.randn(5, 8)
    mask = torch.tensor([True, True, True, False, False]).expand(3, 5)
    before, _ = scaled_dot_product_attention(query, key, value, mask)
    key[3:], value[3:] = 100.0, -100.0
    after, _ = scaled_dot_product_attention(query, key, value, mask)
    assert torch.equal(before, after)


def test_causal_mask_shows_the_past_and_the_present():
    assert causal_mask(4).tolist() == [[j <= i for j in range(4)] for i in range(4)]


def test_padding_mask_broadcasts_over_heads_and_queries():
    mask = padding_mask(torch.tensor([[1, 1, 0], [1, 0, 0]]))
    assert mask.shape == (2, 1, 1, 3) and mask.dtype == torch.bool
    assert (mask & causal_mask(3)).shape == (2, 1, 3, 3)


def test_padding_mask_takes_ones_and_zeros_of_any_type_and_no_minus_infinities():
    expected = [[[[True, True, False]]]]
    for dtype in (torch.bool, torch.int64, torch.uint8, torch.float32):
        assert padding_mask(torch.tensor([[1, 1, 0]], dtype=dtype)).tolist() == expected


def test_order_of_words_does_not_matter():
    x, order = torch.randn(6, 8), torch.randperm(6)
    torch.testing.assert_close(
        scaled_dot_product_attention(x[order], x[order], x[order])[0], scaled_dot_product_attention(x, x, x)[0][order]
    )


X = torch.randn(5, 8)


@pytest.mark.parametrize(
    "arguments",
    [
        (X, torch.randn(5, 6), X),
        (X, X, torch.randn(4, 8)),
        (torch.randn(2, 5, 8), torch.randn(3, 5, 8), X),
        (X, X, X, torch.ones(4, 5, dtype=torch.bool)),
    ],
)
def test_shapes_at_odds_do_not_pass_unseen(arguments):
    with pytest.raises(RuntimeError, match="shape|size"):
        scaled_dot_product_attention(*arguments)
