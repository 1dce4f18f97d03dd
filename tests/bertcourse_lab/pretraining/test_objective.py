"""The loss: equal to the plain one, blind to padding, and with both classes of both tasks in it."""

import math

import pytest
import torch
import torch.nn.functional as F

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.pretraining import IGNORE, IS_NEXT, NOT_NEXT, MaskedTokens, RowBatch, losses
from bertcourse_lab.pretraining.objective import Losses, PreTrainingLoss, pair_loss, vocabulary_loss


@pytest.fixture
def model(small_config) -> BertForPreTraining:
    config = BertConfig(**{**vars(small_config), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    return BertForPreTraining(config)


@pytest.fixture
def batch() -> tuple[MaskedTokens, RowBatch]:
    """4 rows of 12, the last two tokens padding in two of them; 2 masks a row."""
    ids = torch.randint(5, 60, (4, 12))
    mask = torch.ones(4, 12, dtype=torch.long)
    mask[2:, 10:] = 0
    ids[2:, 10:] = 0
    positions = torch.tensor([1, 5, 13, 20, 25, 27, 40, 41])
    labels = ids.flatten()[positions].clone()
    return MaskedTokens(ids, positions, labels), RowBatch(ids, mask, torch.zeros_like(ids), torch.tensor([0, 1, 1, 0]))


def plain_losses(model: BertForPreTraining, masked: MaskedTokens, rows: RowBatch) -> Losses:
    """Scores for every token, labels at the hidden ones."""
    output = model(masked.input_ids, rows.attention_mask, rows.token_type_ids)
    mlm = F.cross_entropy(output.mlm_logits.flatten(0, 1), masked.all_labels().flatten(), ignore_index=IGNORE)
    return Losses(mlm, pair_loss(output.nsp_logits, rows.nsp_labels))


def test_equals_the_plain_loss_and_its_gradients(model, batch):
    plain = plain_losses(model, *batch)
    expected = torch.autograd.grad(sum(plain), list(model.parameters()))
    fast = PreTrainingLoss(model)(*batch)
    torch.testing.assert_close(tuple(fast), plain)
    got = torch.autograd.grad(sum(fast), list(model.parameters()))
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-4)


def test_equals_the_pages_loss(model, batch):
    torch.testing.assert_close(tuple(PreTrainingLoss(model)(*batch)), losses(model, *batch))


def test_where_nothing_is_masked_the_loss_is_zero_and_so_are_its_gradients():
    hidden, table, bias = (torch.randn(*size, requires_grad=True) for size in ((2, 3), (5, 3), (5,)))
    loss = vocabulary_loss(hidden, table, bias, torch.tensor([-100, -100]))
    loss.backward()
    assert loss == 0 and all((each.grad == 0).all() for each in (hidden, table, bias))


def test_vocabulary_loss_and_its_gradients_are_torchs():
    hidden, table, bias = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((5, 3), (7, 3), (7,))
    )
    labels = torch.tensor([0, 6, IGNORE, 3, 3])
    got = vocabulary_loss(hidden, table, bias, labels)
    torch.testing.assert_close(
        got.double(), F.cross_entropy(F.linear(hidden, table, bias), labels), atol=1e-6, rtol=1e-6
    )
    expected = torch.autograd.grad(F.cross_entropy(F.linear(hidden, table, bias), labels), (hidden, table, bias))
    torch.testing.assert_close(torch.autograd.grad(got, (hidden, table, bias)), expected, atol=1e-6, rtol=1e-5)


def test_a_uniform_model_has_the_loss_of_guessing():
    loss = vocabulary_loss(torch.zeros(4, 3), torch.randn(50, 3), torch.zeros(50), torch.tensor([1, 2, 3, 4]))
    assert math.isclose(loss.item(), math.log(50), rel_tol=1e-5)


def test_autocast_is_near(model, batch):
    with torch.autocast("cpu", torch.bfloat16):
        losses = PreTrainingLoss(model)(*batch)
    assert losses.mlm.dtype == torch.float32
    torch.testing.assert_close(tuple(losses), plain_losses(model, *batch), atol=0.03, rtol=0.01)
    sum(losses).backward()
    assert all(p.grad.dtype == torch.float32 for p in model.parameters())


def test_what_stands_in_padding_does_not_matter(model, batch):
    masked, rows = batch
    losses = PreTrainingLoss(model)(masked, rows)
    other = masked.input_ids.clone()
    other[2:, 10:] = 17
    torch.testing.assert_close(PreTrainingLoss(model)(masked._replace(input_ids=other), rows), losses)


def test_logits_of_padding_do_not_matter(model, batch):
    masked, rows = batch
    assert not rows.attention_mask[2:, 10:].any()
    losses = PreTrainingLoss(model)(masked, rows)

    def losses_with(change: torch.Tensor):
        handle = model.bert.encoder.register_forward_hook(
            lambda encoder, arguments, output: output._replace(last_hidden_state=output.last_hidden_state + change)
        )
        changed = PreTrainingLoss(model)(masked, rows)
        handle.remove()
        return changed

    change = torch.zeros(*masked.input_ids.shape, model.config.hidden_size)
    change[2:, 10:] = torch.randn(change[2:, 10:].shape)
    assert losses_with(change) == losses != losses_with(change.flip(1))  # elsewhere it matters


def test_both_classes_of_nsp_reach_the_loss(model, batch):
    """Elsewhere the label 0 or 1 has been swallowed as an ignore index of MLM."""
    assert IGNORE not in (IS_NEXT, NOT_NEXT)
    masked, rows = batch
    output = model(masked.input_ids, rows.attention_mask, rows.token_type_ids)
    each = F.cross_entropy(output.nsp_logits, rows.nsp_labels, reduction="none")
    for label in (IS_NEXT, NOT_NEXT):
        only = torch.where(rows.nsp_labels == label, label, IGNORE)
        loss = PreTrainingLoss(model)(masked, rows._replace(nsp_labels=only)).nsp
        torch.testing.assert_close(loss, each[rows.nsp_labels == label].mean())
    for label in (0, 1):  # as words, these two are no ignore index either
        labels = torch.full_like(masked.labels, label)
        assert PreTrainingLoss(model)(masked._replace(labels=labels), rows).mlm > 0


def test_rows_that_are_no_pairs_are_left_out_of_the_loss(model, batch):
    masked, rows = batch
    loss_of = PreTrainingLoss(model)
    only_first = rows._replace(nsp_labels=torch.tensor([1, IGNORE, IGNORE, IGNORE]))
    alone = -torch.log_softmax(
        model(rows.input_ids[:1], rows.attention_mask[:1], rows.token_type_ids[:1]).nsp_logits, 1
    )
    torch.testing.assert_close(loss_of(masked, only_first).nsp, alone[0, 1])
    none = rows._replace(nsp_labels=torch.full((4,), IGNORE))
    found = loss_of(masked, none)
    assert found.nsp == 0
    gradients = torch.autograd.grad(sum(found), list(model.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_without_nsp_there_is_its_loss_no_more(model, batch):
    model.nsp_head.requires_grad_(False)
    assert PreTrainingLoss(model)(*batch).nsp == 0


def test_equals_hugging_face(model, batch):
    transformers = pytest.importorskip("transformers")
    from bertcourse.bert.weights import hugging_face_name

    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(**vars(model.config), attn_implementation="eager")
    ).eval()
    names = dict(theirs.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            names[hugging_face_name(name)].copy_(parameter)
    masked, rows = batch
    output = theirs(
        masked.input_ids,
        rows.attention_mask,
        rows.token_type_ids,
        labels=masked.all_labels(),
        next_sentence_label=rows.nsp_labels,
    )
    torch.testing.assert_close(sum(PreTrainingLoss(model)(*batch)), output.loss, atol=1e-5, rtol=0)
