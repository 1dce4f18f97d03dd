"""A BERT that writes: what it is shown at each step, mask-predict's schedule."""

import pytest
import torch

from bertcourse.bert import BertForPreTraining
from bertcourse.decoders.bert_writes import (
    Writer,
    mask_predict,
    write_left_to_right,
)

CLS, SEP, MASK = 2, 3, 4


@pytest.fixture
def model(small_config) -> BertForPreTraining:
    model = BertForPreTraining(small_config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@pytest.fixture
def writer(model, small_tokenizer) -> Writer:
    return Writer(model, small_tokenizer)


@pytest.fixture
def shown(writer, monkeypatch) -> list:
    """What the model is asked: pairs of a row and places."""
    asked, logits = [], writer.logits

    def ask(ids, places):
        asked.append((list(ids), list(places)))
        return logits(ids, places)

    monkeypatch.setattr(writer, "logits", ask)
    return asked


def test_a_frame_has_the_text_the_masks_and_what_comes_after(writer, small_tokenizer):
    ids, places = writer.frame("a b", 2, "c .")
    assert ids == [CLS, *small_tokenizer.encode("a b", add_special_tokens=False).ids, MASK, MASK, 7, 49, SEP]
    assert places == [3, 4]


def test_scores_are_the_heads_and_special_tokens_have_none(writer, model):
    ids, places = writer.frame("a b", 2)
    with torch.no_grad():
        expected = model.eval()(torch.tensor([ids])).mlm_logits[0, places, 5:50]
    logits = writer.logits(ids, places)
    torch.testing.assert_close(logits[:, 5:], expected)
    assert torch.isinf(logits[:, :5]).all() and logits.shape == (2, 50)  # 60 rows of the model, 50 tokens


@pytest.mark.parametrize("num_masks", [1, 3])
def test_from_left_to_right_the_first_mask_is_filled(writer, shown, num_masks):
    written = write_left_to_right(writer, "a b", 4, num_masks)
    assert len(written) == len(shown) == writer.passes == 4
    for number, (row, places) in enumerate(shown):
        assert row == [CLS, 5, 6, *written[:number], *[MASK] * num_masks, SEP] and places == [3 + number]


def test_mask_predict_hides_ever_fewer_of_the_least_certain(writer, shown):
    ids, places = writer.frame("a b", 8, ".")
    rows = mask_predict(writer, ids, places, iterations=4)
    assert [len(hidden) for _, hidden in shown] == [8, 6, 4, 2] and writer.passes == 4
    for (row, hidden), after in zip(shown, rows):
        assert [i for i, token in enumerate(row) if token == MASK] == hidden and MASK not in after
        assert all(row[i] == after[i] for i in range(len(row)) if i not in hidden)
    first = writer.logits(ids, places).softmax(-1).amax(-1)
    assert sorted(places[i] for i in first.topk(6, largest=False).indices) == shown[1][1]


def test_mask_predict_in_one_step_is_every_mask_by_itself(writer):
    ids, places = writer.frame("a b", 4)
    (row,) = mask_predict(writer, ids, places, iterations=1)
    assert [row[place] for place in places] == writer.logits(ids, places).argmax(-1).tolist()
    assert mask_predict(writer, ids, places, iterations=40)[-1].count(MASK) == 0
