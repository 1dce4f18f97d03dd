"""Measurements: the same batches every time, sums right, and models of counts beside them."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.pretraining import (
    IGNORE,
    CountModel,
    Documents,
    MaskedTokens,
    RowBatch,
    SmallWorld,
    Vocabulary,
    evaluate,
)
from bertcourse_lab.pretraining.batches import Batches, Position, RowMaker, batches_of_like_length, fixed_batches


@pytest.fixture(scope="module")
def corpus():
    return SmallWorld().corpus(num_tokens=20_000)


@pytest.fixture(scope="module")
def vocabulary(corpus):
    return Vocabulary.of(corpus.tokenizer)


PAIRS = RowMaker("sentence-pairs", 0.1)


def batches_of(corpus, vocabulary, **changes):
    settings = dict(batch_size=8, chunks=2, seed=3)
    return Batches(corpus.train, vocabulary, PAIRS, **{**settings, **changes})


def test_evaluation_is_the_mean_over_all_tokens(corpus, vocabulary):
    sizes = dict(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64
    )
    model = BertForPreTraining(BertConfig(vocab_size=vocabulary.size, **sizes)).train()
    batches = list(fixed_batches(corpus.held_out, vocabulary, PAIRS, 64, 100))
    got = evaluate(model, batches)
    assert model.training
    model.eval()
    logits, labels = [], []
    for masked, rows in batches:
        output = model(masked.input_ids, rows.attention_mask, rows.token_type_ids)
        logits.append(output.mlm_logits.flatten(0, 1)[masked.positions])
        labels.append(masked.labels)
    logits, labels = torch.cat(logits), torch.cat(labels)
    assert math.isclose(got["mlm_loss"], F.cross_entropy(logits, labels).item(), rel_tol=1e-5)
    assert math.isclose(got["mlm_accuracy"], (logits.argmax(1) == labels).float().mean().item(), rel_tol=1e-5)
    assert 0.6 < got["nsp_loss"] < 0.8 and 0.2 < got["nsp_accuracy"] < 0.8


def test_without_pairs_there_is_no_nsp(corpus, vocabulary):
    model = BertForPreTraining(
        BertConfig(
            vocab_size=vocabulary.size, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
        )
    )
    batches = fixed_batches(corpus.held_out, vocabulary, RowMaker("full-sentences", 0.0), 64, 8)
    assert set(evaluate(model, batches)) == {"mlm_loss", "mlm_accuracy"}
    with pytest.raises(ValueError, match="at least one hidden token"):
        evaluate(model, [])


def test_the_batches_to_measure_on_are_fixed(corpus, vocabulary):
    first, again = (list(fixed_batches(corpus.held_out, vocabulary, PAIRS, 64, 100)) for _ in range(2))
    assert all(torch.equal(a.input_ids, b.input_ids) for (a, _), (b, _) in zip(first, again))
    assert sum(len(rows.input_ids) for _, rows in first) == 100
    hidden, tokens = sum(len(m.labels) for m, _ in first), sum(int((rows.input_ids >= 5).sum()) for _, rows in first)
    assert 0.13 < hidden / tokens < 0.16


def test_counts_by_hand():
    documents = Documents.of([[[1, 2, 1, 2, 1, 3]]])
    model = CountModel([documents], vocab_size=4, strength=2.0)
    assert model.unigram.tolist() == [1 / 10, 4 / 10, 3 / 10, 2 / 10]
    masked = MaskedTokens(torch.tensor([[1, 0, 1, 0]]), torch.tensor([1, 3]), torch.tensor([2, IGNORE]))
    got = model.losses([(masked, RowBatch(masked.input_ids, None, masked.input_ids, torch.tensor([0])))])
    assert math.isclose(got["unigram_loss"], -math.log(0.3))
    assert math.isclose(got["bigram_loss"], -math.log((2 + 2 * 0.3) / (3 + 2)))
    assert got["unigram_accuracy"] == 0 and got["bigram_accuracy"] == 1


def test_a_bigram_model_beats_a_unigram_model(corpus, vocabulary):
    got = CountModel(corpus.train, vocabulary.size).losses(fixed_batches(corpus.held_out, vocabulary, PAIRS, 64, 300))
    assert got["bigram_loss"] < got["unigram_loss"] - 0.5 and got["bigram_accuracy"] > got["unigram_accuracy"]


def test_every_row_comes_once_an_epoch(corpus, vocabulary):
    batches = batches_of(corpus, vocabulary)
    batches.next_batch(64)
    rows, order = batches.rows, batches.order
    assert len(np.unique(order)) == order.size == len(rows) // 8 * 8
    for _ in range(len(order) - 1):
        assert batches.position.part == 0
        batches.next_batch(64)
    batches.next_batch(64)
    assert batches.position == Position(1, 1, 64)


def test_rows_of_like_length_stand_together():
    lengths = np.random.default_rng(0).integers(5, 65, 1000)
    order = batches_of_like_length(lengths, 16, np.random.default_rng(1))
    width = lengths[order].max(1, keepdims=True)
    assert (width - lengths[order]).sum() < 0.03 * lengths.sum()


def test_a_batch_goes_on_where_another_process_left_it(corpus, vocabulary):
    first = batches_of(corpus, vocabulary)
    for _ in range(5):
        first.next_batch(32)
    second = batches_of(corpus, vocabulary)
    second.position = first.position
    for length in (32, 64, 64):  # rows grow: the next shard begins, in both
        for (a, x), (b, y) in zip(first.next_batch(length), second.next_batch(length)):
            assert torch.equal(a.input_ids, b.input_ids) and torch.equal(x.nsp_labels, y.nsp_labels)
    assert first.position == second.position == Position(1, 2, 64)


def test_chunks_do_not_depend_on_how_many_processes_share_them(corpus, vocabulary):
    (one, other) = batches_of(corpus, vocabulary).next_batch(64)
    for rank, expected in ((0, one), (1, other)):
        ((masked, rows),) = batches_of(corpus, vocabulary).next_batch(64, rank, 2)
        assert torch.equal(masked.input_ids, expected[0].input_ids) and torch.equal(
            rows.input_ids, expected[1].input_ids
        )
    assert not torch.equal(
        one[0].positions % one[0].input_ids.shape[1], other[0].positions % other[0].input_ids.shape[1]
    )  # masks differ by rank
    assert len(one[0].positions) == len(other[0].positions)  # as many in each: the mean of means is the mean


@pytest.mark.parametrize(("copies", "same"), [(0, False), (1, True), (2, False)])
def test_static_masks_come_again_in_the_next_epoch(corpus, vocabulary, copies, same):
    batches = batches_of(corpus, vocabulary, static_copies=copies)
    ((first, _), _) = batches.next_batch(64)
    batches.position = Position(1, 0, 64)
    ((second, _), _) = batches.next_batch(64)
    assert (first.input_ids.shape == second.input_ids.shape and torch.equal(first.input_ids, second.input_ids)) == same


def test_a_shard_without_a_batch_is_refused(corpus, vocabulary):
    with pytest.raises(ValueError, match="rows for at least one batch of 100000"):
        batches_of(corpus, vocabulary, batch_size=100_000).next_batch(64)
