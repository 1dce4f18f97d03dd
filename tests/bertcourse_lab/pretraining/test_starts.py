"""Weights that begin as more than noise."""

import dataclasses

import numpy as np
import pytest
import torch

from bertcourse.bert import BertForPreTraining
from bertcourse.pretraining import Documents
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.pretraining.starts import count_vectors, new_model

SIZES = dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256, initializer_range=0.04)


def made(**changes) -> BertForPreTraining:
    torch.manual_seed(0)
    return new_model(
        PretrainingConfig(**{**SIZES, "max_position_embeddings": 64, "lengths": "64:1", **changes}), 100
    ).eval()


@pytest.fixture(scope="module")
def attentions():
    """Weights of a new model with two local layers, on random tokens: layers of (B, H, L, L)."""
    model = made(local_layers=2, initial_outputs="zero")
    with torch.no_grad():
        return model(torch.randint(5, 100, (3, 40)), output_attentions=True).attentions


def test_each_local_head_looks_at_its_neighbour_from_everywhere(attentions):
    inner = torch.arange(5, 35)
    for layer in attentions[:2]:
        for head, offset in enumerate([-1, 1, -2, 2]):
            there = layer[:, head, inner, inner + offset]
            assert (there == layer[:, head, inner].amax(-1)).float().mean() > 0.9  # words differ in length, so not 1
            assert 0.5 < there.mean() < 0.8


def test_other_layers_look_nowhere_in_particular(attentions):
    assert attentions[0].amax(-1).mean() > 3 * attentions[2].amax(-1).mean()


def test_only_the_heads_named_change():
    plain, local = made(), made(local_layers=1, local_offsets="-1")
    for name in ("query", "key"):
        before, after = (getattr(model.bert.encoder.blocks[0].attention, name).weight for model in (plain, local))
        assert not torch.equal(before[:64], after[:64]) and torch.equal(before[64:], after[64:])
        before, after = (getattr(model.bert.encoder.blocks[1].attention, name).weight for model in (plain, local))
        assert torch.equal(before, after)


def test_an_encoder_that_begins_at_zero_hands_its_embeddings_through():
    bert = made(initial_outputs="zero").bert
    first, *others = bert(torch.randint(5, 100, (2, 10))).hidden_states
    for hidden in others:
        torch.testing.assert_close(hidden, first)


def test_a_zero_start_learns():
    model = made(initial_outputs="zero")
    model(torch.randint(5, 100, (2, 10))).mlm_logits.logsumexp(-1).sum().backward()
    assert model.bert.encoder.blocks[0].attention.output.weight.grad.abs().max() > 0


def test_it_stays_a_bert_of_transformers():
    transformers = pytest.importorskip("transformers")
    from bertcourse.bert.weights import hugging_face_name

    model = made(local_layers=2, initial_outputs="zero")
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**dataclasses.asdict(model.config))).eval()
    theirs.load_state_dict(
        {hugging_face_name(name): tensor for name, tensor in model.state_dict().items()}, strict=False
    )
    ids = torch.randint(5, 100, (2, 12))
    torch.testing.assert_close(theirs(ids).prediction_logits, model(ids).mlm_logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(local_layers=4), "num_hidden_layers"),
        (dict(local_layers=1, local_offsets="-1,1,2,3,4"), "num_attention_heads"),
        (dict(local_layers=1, local_offsets="left"), "whole numbers"),
        (dict(local_layers=1, initial_positions="normal"), "sinusoidal"),
        (dict(last_mask_rate=1.0), "last_mask_rate"),
        (dict(last_mask_rate=0.1, static_copies=1), "static_copies"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        made(**changes)


def test_counted_words_that_keep_the_same_company_begin_alike():
    rng = np.random.default_rng(0)
    groups = [0, 1, 2, 3], [4, 5, 6, 7]
    texts = [[rng.permutation(groups[i % 2]).tolist()] for i in range(200)]
    vectors = count_vectors([Documents.of(texts)], vocab_size=9, size=6)
    unit = torch.nn.functional.normalize(vectors[:8], dim=1)
    cosines, same = unit @ unit.T, torch.arange(8)[:, None] // 4 == torch.arange(8) // 4
    assert cosines[same].min() > cosines[~same].max() and not vectors[8].any()
