"""One model that fills and writes: where a hidden token is guessed from, what is seen, shares of a batch, scores."""

import math

import pytest
import torch
import torch.nn.functional as F

from bertcourse.decoders import CausalLanguageModel, DecoderConfig, mean_loss, next_token_loss, pad_texts
from bertcourse.pretraining import Vocabulary, mask_tokens
from bertcourse.pretraining.masking import IGNORE
from bertcourse_lab.hybrid import HybridLoss, fill_logits, filling_scores, writing_scores

CLS, SEP, MASK, SIZE = 2, 3, 4, 30


@pytest.fixture
def vocabulary() -> Vocabulary:
    ids = torch.arange(SIZE)
    return Vocabulary(SIZE, 0, CLS, SEP, MASK, is_special=ids < 5, is_continuation=ids < 0)


@pytest.fixture
def model() -> CausalLanguageModel:
    sizes = dict(vocab_size=SIZE, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
    dropout = dict.fromkeys(("embedding_dropout_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    return CausalLanguageModel(
        DecoderConfig(**sizes, **dropout, max_position_embeddings=16, initializer_range=0.4)
    ).eval()


@pytest.fixture
def texts() -> list[list[int]]:
    return [[CLS, *torch.randint(5, SIZE, (length,)).tolist(), SEP] for length in (10, 4, 7, 12, 9, 5, 10, 3)]


def test_who_fills_sees_the_whole_row_and_who_writes_does_not(model):
    ids = torch.tensor([[CLS, 7, 8, MASK, 9, 10, SEP]])
    filled, written = fill_logits(model, ids), model(ids)
    assert filled.shape == (1, 6, SIZE)
    for place in range(7):
        changed = ids.clone()
        changed[0, place] = 20
        assert ((fill_logits(model, changed) - filled).abs().amax((0, 2)) > 1e-4).all()
        moved = (model(changed) - written).abs().amax((0, 2)) > 1e-4
        assert moved.tolist() == [i >= place for i in range(7)]


def test_padding_changes_nothing_of_what_is_filled(model, texts):
    together = fill_logits(model, pad_texts(texts))
    for row, text in enumerate(texts):
        alone = fill_logits(model, torch.tensor([text]))[0]
        torch.testing.assert_close(together[row, : len(text) - 1], alone, atol=1e-5, rtol=1e-5)


def test_written_rows_alone_are_the_causal_loss(model, vocabulary, texts):
    batch = pad_texts(texts)
    loss = HybridLoss(vocabulary, causal_share=1.0)(model, batch)
    assert loss.item() == pytest.approx(next_token_loss(model, batch).item(), abs=1e-6)


def test_filled_rows_alone_ask_for_each_hidden_token_one_place_earlier(model, vocabulary, texts):
    ids = pad_texts(texts)
    masked = mask_tokens(ids, vocabulary, 0.3, generator=torch.Generator().manual_seed(5))
    labels, values = masked.all_labels(), []
    for row, text in enumerate(texts):
        logits = fill_logits(model, masked.input_ids[row : row + 1, : len(text)])[0]
        values += [
            F.cross_entropy(logits[place - 1], labels[row, place])
            for place in range(1, len(text))
            if labels[row, place] != IGNORE
        ]
    loss = HybridLoss(vocabulary, 0.0, 0.3, torch.Generator().manual_seed(5))(model, ids)
    assert loss.item() == pytest.approx(sum(values).item() / len(values), abs=1e-5)


def test_half_and_half_is_the_mean_of_both_halves(model, vocabulary, texts):
    ids = pad_texts(texts)

    def loss(share, rows):
        return HybridLoss(vocabulary, share, 0.3, torch.Generator().manual_seed(1))(model, ids[rows]).item()

    halves = loss(1.0, slice(0, 4)), loss(0.0, slice(4, 8))
    assert loss(0.5, slice(0, 8)) == pytest.approx(sum(halves) / 2, abs=1e-6)


def test_scores_are_means_over_all_that_was_asked(model, vocabulary, texts):
    found = writing_scores(model, texts, batch_size=3)
    assert found.loss == pytest.approx(mean_loss(model, texts), abs=1e-5)
    right = sum(int((model(torch.tensor([text]))[0, :-1].argmax(-1) == torch.tensor(text[1:])).sum()) for text in texts)
    assert found.accuracy == pytest.approx(right / sum(len(text) - 1 for text in texts))


def test_the_same_tokens_are_hidden_from_each_model(model, vocabulary, texts):
    one, two = (filling_scores(model, texts, vocabulary, seed=seed) for seed in (3, 3))
    assert one == two and 0 < one.loss != filling_scores(model, texts, vocabulary, seed=4).loss


def test_a_model_without_knowledge_is_as_good_as_a_blind_guess(vocabulary):
    texts = [[CLS, *torch.randint(5, SIZE, (14,)).tolist()] for _ in range(200)]
    sizes = dict(vocab_size=SIZE, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    model = CausalLanguageModel(DecoderConfig(**sizes, max_position_embeddings=16))
    for found in (filling_scores(model, texts, vocabulary), writing_scores(model, texts)):
        assert found.loss == pytest.approx(math.log(SIZE), abs=0.05) and found.accuracy < 0.15
