"""The loss and loop of the page: the mean over what is asked, and a model that gets better by the stated schedule."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.pretraining import IGNORE, SmallWorld, Vocabulary, batches, evaluate, losses, train

SIZES = dict(
    hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, max_position_embeddings=32
)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.fixture(scope="module")
def corpus():
    return SmallWorld().corpus(num_tokens=20_000)


@pytest.fixture
def stream(corpus):
    return batches(corpus.train[0].lists(), Vocabulary.of(corpus.tokenizer), length=32, batch_size=8, rate=0.3)


@pytest.fixture
def model(corpus) -> BertForPreTraining:
    torch.manual_seed(0)
    return BertForPreTraining(BertConfig(vocab_size=corpus.tokenizer.get_vocab_size(), **SIZES, **NO_DROPOUT))


def test_the_losses_are_means_over_hidden_tokens_and_pairs(model, stream):
    masked, rows = next(stream)
    output = model(masked.input_ids, rows.attention_mask, rows.token_type_ids)
    mlm = F.cross_entropy(output.mlm_logits.flatten(0, 1), masked.all_labels().flatten(), ignore_index=IGNORE)
    nsp = F.cross_entropy(output.nsp_logits, rows.nsp_labels)
    torch.testing.assert_close(losses(model, masked, rows), (mlm, nsp))
    assert abs(mlm.item() - math.log(model.config.vocab_size)) < 0.2 and abs(nsp.item() - math.log(2)) < 0.1


def test_it_learns_until_the_tokens_are_read(model, stream, corpus):
    held_out = list(
        itertools.islice(batches(corpus.held_out[0].lists(), Vocabulary.of(corpus.tokenizer), length=32), 10)
    )
    before, seen = evaluate(model, held_out)["mlm_loss"], []
    train(model, stream, 30_000, lambda read, loss: seen.append((read, loss)), max_lr=1e-2)
    assert 30_000 <= seen[-1][0] < 30_000 + 8 * 32 and seen[0][1] > seen[-1][1] + 1
    assert evaluate(model, held_out)["mlm_loss"] < before - 1.5


def test_the_rate_rises_stays_and_falls(model, stream, monkeypatch):
    rates = []

    class Watched(torch.optim.AdamW):
        def step(self, *arguments):
            rates.append([group["lr"] for group in self.param_groups])
            return super().step(*arguments)

    monkeypatch.setattr(torch.optim, "AdamW", Watched)
    train(model, stream, 20_000, lambda read, loss: None, max_lr=1e-3)
    assert all(matrices == vectors for matrices, vectors in rates)
    shares = [rate / 1e-3 for rate, _ in rates]
    assert shares[0] < 1e-3 and max(shares) == 1 and shares[-1] < 0.1
    assert shares.index(1) < 0.1 * len(shares) and 0.6 < shares.count(1) / len(shares) < 0.68
