"""SpanBERT: whole words in runs, and what the two tokens around a span have to guess."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertcourse.bert import BertConfig, BertForPreTraining
from bertcourse.beyond_bert.spans import LENGTHS, SpanBoundaryHead, choose_spans, mask_spans, span_losses
from bertcourse.pretraining import IGNORE, MaskedTokens, Vocabulary, mask_tokens

SIZE = 1000
PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture
def vocabulary() -> Vocabulary:
    ids = torch.arange(SIZE)
    return Vocabulary(SIZE, PAD, CLS, SEP, MASK, is_special=ids < 5, is_continuation=ids >= 700)


@pytest.fixture
def texts() -> Tensor:
    """400 rows of 64: [CLS], text, [SEP], and two of padding; three tokens of ten continue a word."""
    ids = torch.randint(5, SIZE, (400, 64))
    ids[:, 0], ids[:, 61], ids[:, 62:] = CLS, SEP, PAD
    return ids


def hidden_spans(labels: Tensor) -> Iterator[tuple[int, int, int]]:
    """The row, first column and last column of each run of hidden tokens."""
    for row, hidden in enumerate((labels != IGNORE).tolist()):
        for is_hidden, run in itertools.groupby(range(len(hidden)), key=hidden.__getitem__):
            if is_hidden:
                columns = list(run)
                yield row, columns[0], columns[-1]


def test_the_mean_length_is_the_papers():
    shares = LENGTHS / LENGTHS.sum()
    assert (shares * torch.arange(1, 11)).sum() == pytest.approx(3.8, abs=0.03)  # section 3.1 of the paper


@pytest.mark.parametrize("count", range(1, 9))
def test_a_row_has_so_many_hidden_columns_and_no_more(count):
    words = [[1], [2], [3, 4], [5], [7], [8], [9]]  # column 6 belongs to none
    for seed in range(20):
        hidden = choose_spans(words, count, torch.Generator().manual_seed(seed))
        assert len(hidden) == len(set(hidden)) == count and set(hidden) <= {1, 2, 3, 4, 5, 7, 8, 9}
    assert choose_spans(words, 99) == [1, 2, 3, 4, 5, 7, 8, 9]


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
def test_every_row_hides_as_many_tokens_as_with_mask_tokens_and_none_is_special(vocabulary, texts, rate):
    spans, tokens = (mask(texts, vocabulary, rate) for mask in (mask_spans, mask_tokens))
    assert torch.equal(torch.bincount(spans.positions // 64), torch.bincount(tokens.positions // 64))
    assert len(spans.positions.unique()) == len(spans.positions)
    assert torch.equal(spans.labels, texts.flatten()[spans.positions]) and (spans.labels >= 5).all()
    others = torch.ones(texts.numel(), dtype=torch.bool).index_fill(0, spans.positions, False)
    assert torch.equal(spans.input_ids.flatten()[others], texts.flatten()[others])
    assert (spans.input_ids.flatten()[spans.positions] == MASK).all()


def test_spans_are_of_whole_words_but_for_the_last_of_a_row(vocabulary, texts):
    hidden = mask_spans(texts, vocabulary).all_labels() != IGNORE
    continues = (texts >= 700) & (texts.roll(1, 1) >= 5)
    assert not (hidden & ~hidden.roll(1, 1) & continues).any()  # a span begins with a word
    is_cut = hidden & ~hidden.roll(-1, 1) & continues.roll(-1, 1)
    assert is_cut.sum(1).max() == 1 and 0 < is_cut.any(1).sum() < 200


def test_hidden_tokens_stand_together(vocabulary, texts):
    spans, tokens = (list(hidden_spans(mask(texts, vocabulary).all_labels())) for mask in (mask_spans, mask_tokens))
    assert len(spans) < 0.5 * len(tokens)


def test_masks_are_drawn_from_the_generator(vocabulary, texts):
    first, again, other = (mask_spans(texts, vocabulary, generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(first.input_ids, again.input_ids) and not torch.equal(first.positions, other.positions)


@pytest.fixture
def config(small_config) -> BertConfig:
    return BertConfig(**{**vars(small_config), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})


@pytest.fixture
def model(config) -> BertForPreTraining:
    return BertForPreTraining(config)


@pytest.fixture
def head(config) -> SpanBoundaryHead:
    return SpanBoundaryHead(config, position_size=6)


@pytest.fixture
def masked() -> MaskedTokens:
    """2 rows of 10. Spans: 2 to 4 and 6 of the first row, 1 to 2 of the second; out of order."""
    ids = torch.randint(5, 60, (2, 10))
    ids[:, 0], ids[:, 9] = 2, 3
    positions = torch.tensor([6, 3, 2, 4, 12, 11])
    return MaskedTokens(ids.flatten().scatter(0, positions, 4).view(2, 10), positions, ids.flatten()[positions])


def plain_span_losses(model: BertForPreTraining, head: SpanBoundaryHead, masked: MaskedTokens) -> tuple:
    """Both guesses, one span and one token at a time."""
    x, labels = model.bert(masked.input_ids).last_hidden_state, masked.all_labels()
    table, own, around, targets = model.bert.embeddings.word_embeddings.weight, [], [], []
    for row, start, end in hidden_spans(labels):
        for i in range(start, end + 1):
            own.append(model.mlm_head(x[row, i], table))
            around.append(head(x[row, start - 1], x[row, end + 1], torch.tensor(i - start), table))
            targets.append(labels[row, i])
    targets = torch.stack(targets)
    return F.cross_entropy(torch.stack(own), targets), F.cross_entropy(torch.stack(around), targets)


def test_equals_the_plain_losses_and_their_gradients(model, head, masked):
    parameters = [*model.parameters(), *head.parameters()]
    plain, ours = plain_span_losses(model, head, masked), span_losses(model, head, masked)
    torch.testing.assert_close(ours, plain)
    got, expected = (
        torch.autograd.grad(sum(losses), parameters, allow_unused=True, materialize_grads=True)
        for losses in (ours, plain)
    )
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-4)


def test_the_head_by_hand(model, head):
    """One layer after the other, written out; and of all zeros it leaves the bias alone to decide."""
    table = model.bert.embeddings.word_embeddings.weight
    before, after = torch.randn(2, 24)
    torch.nn.init.normal_(head.bias)
    y = torch.cat([before, after, head.places.weight[3]])
    for linear in (head.first[0], head.second[0]):
        y = linear.weight @ y + linear.bias
        y = y * 0.5 * (1 + torch.erf(y / math.sqrt(2)))
        y = (y - y.mean()) / (y.var(correction=0) + 1e-5).sqrt()
    logits = head(before, after, torch.tensor(3), table)
    torch.testing.assert_close(logits, table @ y + head.bias, atol=1e-5, rtol=1e-4)
    assert torch.equal(head(before, after, torch.tensor(3), torch.zeros_like(table)), head.bias)


def test_the_boundary_loss_reaches_the_vectors_around_spans_and_no_others(model, head, masked):
    kept = []
    hook = model.bert.register_forward_hook(lambda module, rows, output: kept.append(output.last_hidden_state))
    (by_vector,) = torch.autograd.grad(span_losses(model, head, masked)[1], kept)
    hook.remove()
    reached = by_vector.abs().sum(2) > 0
    assert reached.nonzero().tolist() == [[0, 1], [0, 5], [0, 7], [1, 0], [1, 3]]


def test_both_losses_fall_in_training(model, head, masked):
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-2)
    for _ in range(30):
        optimizer.zero_grad()
        sum(span_losses(model, head, masked)).backward()
        optimizer.step()
    assert all(loss < 0.25 * math.log(60) for loss in span_losses(model, head, masked))
