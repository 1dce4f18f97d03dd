"""Without padding, tokens, vectors and gradients are what they are with it."""

import pytest
import torch

from bertcourse.bert import BertConfig, BertModel
from bertcourse.bert.batching import Batch
from bertcourse.beyond_bert.encoder import MODERN, Encoder, EncoderConfig, local_mask
from bertcourse.self_attention import padding_mask, scaled_dot_product_attention
from bertcourse_lab.unpadding import (
    repad,
    unpad,
    unpadded_attention,
    unpadded_vectors,
)

RIGHT = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]])
SCATTERED = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 0, 0, 1], [0, 0, 1, 1, 0]])
WITH_AN_EMPTY_ROW = torch.tensor([[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]])
MASKS = pytest.mark.parametrize("mask", [RIGHT, SCATTERED, WITH_AN_EMPTY_ROW, RIGHT.bool()])


def random(*shape: int) -> torch.Tensor:
    """The same numbers each time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def test_tokens_stand_row_after_row():
    x = torch.arange(15.0).view(3, 5, 1)
    tokens, places = unpad(x, RIGHT)
    assert tokens.flatten().tolist() == [0, 1, 2, 5, 6, 7, 8, 9, 10]
    assert places.lengths == [3, 5, 1]
    assert places.positions.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0]


@MASKS
def test_there_and_back_only_padding_is_lost(mask):
    x = random(3, 5, 4)
    tokens, places = unpad(x, mask)
    assert len(tokens) == mask.sum()
    assert torch.equal(repad(tokens, places), x * mask[..., None])


@MASKS
def test_attention_gives_what_attention_with_padding_gives(mask):
    x = random(3, 3, 5, 8)  # queries, keys and values
    padded = scaled_dot_product_attention(*(each[:, None] for each in x), padding_mask(mask))[0]
    expected, places = unpad(padded[:, 0], mask)
    tokens = [unpad(each, mask)[0] for each in x]
    torch.testing.assert_close(unpadded_attention(*tokens, places), expected, atol=1e-6, rtol=1e-5)


def test_no_gradient_crosses_rows():
    x = random(3, 5, 8)
    tokens, places = unpad(x, RIGHT)
    tokens.requires_grad_()
    unpadded_attention(tokens, tokens, tokens, places)[3:8].sum().backward()  # the second row
    touched = tokens.grad.abs().sum(dim=1) > 0
    assert torch.equal(touched, places.rows == 1)


def test_attention_looks_no_further_than_it_reaches():
    x = random(3, 3, 5, 8)
    mask = padding_mask(SCATTERED) & local_mask(5, 1)
    expected, places = unpad(scaled_dot_product_attention(*(each[:, None] for each in x), mask)[0][:, 0], SCATTERED)
    tokens = [unpad(each, SCATTERED)[0] for each in x]
    torch.testing.assert_close(unpadded_attention(*tokens, places, reach=1), expected, atol=1e-6, rtol=1e-5)


SIZES = dict(
    vocab_size=30, hidden_size=8, num_hidden_layers=3, num_attention_heads=2, intermediate_size=16,
    max_position_embeddings=5, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.5,
)  # fmt: skip
KINDS = {
    "bert": {},
    "pre-LN": dict(norm="pre"),
    "ModernBERT": {**MODERN, "local_reach": 1},
    "the study's modern": dict(positions="rotary", norm="pre", norm_kind="rms", qk_norm=True, bias=False, gated=True),
}


@pytest.fixture(params=KINDS)
def model(request) -> BertModel:
    """A small random encoder of each kind with biases that show, in evaluation mode."""
    torch.manual_seed(0)
    settings = KINDS[request.param]
    model = Encoder(EncoderConfig(**{**SIZES, **settings})) if settings else BertModel(BertConfig(**SIZES))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


@pytest.mark.parametrize("mask", [RIGHT, SCATTERED])
def test_an_encoder_gives_the_same_vectors_and_gradients(model, mask):
    ids = torch.randint(30, (3, 5), generator=torch.Generator().manual_seed(0))
    batch = Batch(ids, mask, ids % 2)
    weights = random(3, 5, 8) * mask[..., None]
    results, gradients = [], []
    for vectors in (model(*batch).last_hidden_state * mask[..., None], unpadded_vectors(model, batch)):
        model.zero_grad()
        (vectors * weights).sum().backward()
        results.append(vectors)
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    torch.testing.assert_close(results[1], results[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("attention", "hidden"), [(0.5, 0.0), (0.0, 0.5)])
def test_attention_and_sublayers_drop_in_training(model, attention, hidden):
    for block in model.encoder.blocks:
        block.attention.dropout, block.dropout.p = attention, hidden
    batch = Batch(torch.ones_like(RIGHT), RIGHT, torch.zeros_like(RIGHT))
    evaluated, trained = unpadded_vectors(model, batch), unpadded_vectors(model.train(), batch)
    assert not torch.allclose(evaluated[:2], trained[:2])
