"""SpanBERT: whole words in runs, one fate for a span, and what the two tokens around it have to guess."""

import inspect
import itertools
import math
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertcourse.bert import BertConfig, BertForPreTraining, BertOutput, load_pretrained, save_pretrained
from bertcourse.beyond_bert.spans import (
    SpanBertForPreTraining,
    SpanLosses,
    span_lengths,
)
from bertcourse.beyond_bert.spans_fast import SpanLoss, choose_spans, mask_spans
from bertcourse.pretraining import IGNORE, MaskedTokens, RowBatch, Vocabulary, evaluate, mask_tokens
from bertcourse.pretraining.masking import masks_per_row
from bertcourse_lab.pretraining.masking import mask_tokens as mask_single_tokens
from bertcourse_lab.pretraining.objective import PreTrainingLoss

SIZE = 1000
PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture
def vocabulary() -> Vocabulary:
    ids = torch.arange(SIZE)
    return Vocabulary(SIZE, PAD, CLS, SEP, MASK, is_special=ids < 5, is_continuation=ids >= 700)


@pytest.fixture
def texts() -> Tensor:
    """400 rows of 64: [CLS], text, [SEP], text, [SEP], and two of padding; three tokens of ten continue a word."""
    ids = torch.randint(5, SIZE, (400, 64))
    ids[:, 0], ids[:, 30], ids[:, 61], ids[:, 62:] = CLS, SEP, SEP, PAD
    return ids


def within_binomial(hits: int, trials: int, rate: float) -> bool:
    """Five deviations: one false alarm in a million."""
    return abs(hits - trials * rate) <= 5 * math.sqrt(trials * rate * (1 - rate))


def columns_of_words(tokens: list[int], vocabulary: Vocabulary) -> list[list[int]]:
    """The columns of each word of a row; special tokens belong to none."""
    words: list[list[int]] = []
    for column, token in enumerate(tokens):
        if vocabulary.is_special[token]:
            continue
        if words and words[-1][-1] == column - 1 and vocabulary.is_continuation[token]:
            words[-1].append(column)
        else:
            words.append([column])
    return words


def columns_of_spans(words: list[list[int]], order: list[float], lengths: list[int], count: int) -> list[int]:
    """The columns of a row to hide, in order, one span after the other."""
    hidden: set[int] = set()
    for first in sorted(range(len(words)), key=lambda number: order[words[number][0]]):
        if words[first][0] in hidden:
            continue
        column = words[first][0]
        for word in words[first : first + lengths[column]]:
            if word[0] == column:  # it follows the word before, without a gap
                hidden.update(word[: max(0, count - len(hidden))])
            column += len(word)
    return sorted(hidden)


def hidden_spans(labels: Tensor) -> Iterator[tuple[int, int, int]]:
    """The row, first column and last column of each run of hidden tokens."""
    for row, hidden in enumerate((labels != IGNORE).tolist()):
        for is_hidden, run in itertools.groupby(range(len(hidden)), key=hidden.__getitem__):
            if is_hidden:
                columns = list(run)
                yield row, columns[0], columns[-1]


def plain_mask_spans(
    input_ids: Tensor,
    vocabulary: Vocabulary,
    rate: float = 0.15,
    count: int | None = None,
    random_weights: Tensor | None = None,
    generator: torch.Generator | None = None,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskedTokens:
    """``mask_spans``, token by token, with the same random draws."""
    input_ids = input_ids.long()
    is_special = vocabulary.is_special[input_ids]
    if count is None:
        count = masks_per_row((~is_special).sum(1), rate)
    order = torch.rand(input_ids.shape, generator=generator)
    lengths = span_lengths(input_ids.shape, generator=generator)
    labels, chosen = torch.full_like(input_ids, IGNORE), []
    for row, tokens in enumerate(input_ids.tolist()):
        words = columns_of_words(tokens, vocabulary)
        hidden = columns_of_spans(words, order[row].tolist(), lengths[row].tolist(), count)
        labels[row, hidden] = input_ids[row, hidden]
        others = [column for column in range(len(tokens)) if column not in hidden]  # if the row has fewer than k
        chosen += [(row, column) for column in [*hidden, *others][:count]]

    positions = torch.tensor([row * input_ids.shape[1] + column for row, column in chosen])
    weights = torch.ones(vocabulary.size) if random_weights is None else random_weights.float().clone()
    weights[vocabulary.is_special] = 0.0
    replacements = input_ids.clone()
    replacements.view(-1)[positions] = torch.multinomial(weights, len(chosen), replacement=True, generator=generator)
    dice = torch.rand(input_ids.shape, generator=generator)
    shown = input_ids.clone()
    for row, start, end in hidden_spans(labels):
        span = slice(start, end + 1)
        if dice[row, start] < mask_share:
            shown[row, span] = vocabulary.mask_id
        elif dice[row, start] < mask_share + random_share:
            shown[row, span] = replacements[row, span]
    return MaskedTokens(shown, positions, labels.flatten()[positions])


def test_one_row_by_hand():
    #         [CLS] He  plays foot ##ball  .  [SEP] She sings well [SEP]
    continues = torch.tensor([[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]]).bool()
    is_special = torch.tensor([[1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]]).bool()
    words = [[1], [2], [3, 4], [5], [7], [8], [9]]
    order = torch.tensor([[0.0, 0.1, 0.2, 0.4, 0.05, 0.5, 0.0, 0.6, 0.3, 0.7, 0.0]])
    lengths = torch.tensor([[1, 2, 5, 1, 1, 1, 1, 1, 9, 1, 1]])
    for count, columns in {
        1: [1],  # two words from "He" on are too many
        2: [1, 2],
        4: [1, 2, 8, 9],  # none from "plays" on, which is hidden; nine from "sings" on, but the text ends
        5: [1, 2, 3, 8, 9],  # "football" is cut
        7: [1, 2, 3, 4, 5, 8, 9],
    }.items():
        assert columns_of_spans(words, order[0].tolist(), lengths[0].tolist(), count) == columns
        hidden = choose_spans(order, lengths, continues, ~is_special, count)
        assert hidden[0].nonzero().flatten().tolist() == columns


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
def test_fast_equals_plain(vocabulary, texts, rate):
    ids = texts[:40, :40].clone()
    ids[:, 12], ids[:20, 25:], ids[:, 28], ids[5, 0] = UNK, PAD, 900, 10
    for how in (
        {"rate": rate},
        {"count": 22},  # more than some rows have
        {"rate": rate, "mask_share": 0.3, "random_share": 0.5, "random_weights": torch.rand(SIZE)},
    ):
        fast, plain = (
            mask(ids, vocabulary, generator=torch.Generator().manual_seed(3), **how)
            for mask in (mask_spans, plain_mask_spans)
        )
        for got, expected in zip(fast, plain):
            assert torch.equal(got, expected)
        short = mask_spans(ids.int(), vocabulary, generator=torch.Generator().manual_seed(3), **how)
        assert all(map(torch.equal, short, fast))


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
def test_every_row_hides_as_many_tokens_as_with_mask_tokens_and_none_is_special(vocabulary, texts, rate):
    spans, tokens = (mask(texts, vocabulary, rate) for mask in (mask_spans, mask_tokens))
    assert torch.equal(torch.bincount(spans.positions // 64), torch.bincount(tokens.positions // 64))
    assert len(spans.positions.unique()) == len(spans.positions)
    assert torch.equal(spans.labels, texts.flatten()[spans.positions]) and (spans.labels >= 5).all()
    others = torch.ones(texts.numel(), dtype=torch.bool).index_fill(0, spans.positions, False)
    assert torch.equal(spans.input_ids.flatten()[others], texts.flatten()[others])
    assert (((shown := spans.input_ids.flatten()[spans.positions]) == MASK) | (shown >= 5)).all()


def test_a_row_with_too_few_tokens_is_not_padded_with_masks_of_special_ones(vocabulary):
    ids = torch.tensor([[CLS, 10, SEP, PAD, PAD, PAD]])
    masked = mask_spans(ids, vocabulary, count=3)
    assert sorted(masked.labels.tolist()) == [IGNORE, IGNORE, 10]
    assert torch.equal(masked.input_ids[0, [0, 2, 3, 4, 5]], ids[0, [0, 2, 3, 4, 5]])


def test_spans_are_of_whole_words_but_for_the_last_of_a_row(vocabulary, texts):
    hidden = mask_spans(texts, vocabulary).all_labels() != IGNORE
    continues = (texts >= 700) & (texts.roll(1, 1) >= 5)
    assert not (hidden & ~hidden.roll(1, 1) & continues).any()  # a span begins with a word
    is_cut = hidden & ~hidden.roll(-1, 1) & continues.roll(-1, 1)
    assert is_cut.sum(1).max() == 1 and 0 < is_cut.any(1).sum() < 200


def test_hidden_tokens_stand_together(vocabulary, texts):
    spans, tokens = (list(hidden_spans(mask(texts, vocabulary).all_labels())) for mask in (mask_spans, mask_tokens))
    assert len(spans) < 0.4 * len(tokens)


def test_lengths_are_geometric_and_3_8_on_average():
    lengths = span_lengths((200, 1000)).flatten()
    assert lengths.min() == 1 and lengths.max() == 10
    assert lengths.double().mean() == pytest.approx(3.8, abs=0.03)  # section 3.1 of the paper
    for length in range(1, 10):
        here, next_one = ((lengths == n).sum().item() for n in (length, length + 1))
        assert within_binomial(next_one, here + next_one, 0.8 / 1.8)


def test_a_span_has_one_fate(vocabulary, texts):
    masked = mask_spans(texts.repeat(5, 1), vocabulary)
    labels, fates = masked.all_labels(), []
    for row, start, end in hidden_spans(labels):
        shown, hidden = masked.input_ids[row, start : end + 1], labels[row, start : end + 1]
        is_mask = shown == MASK
        assert is_mask.all() or not is_mask.any()
        fates.append("mask" if is_mask.all() else "kept" if torch.equal(shown, hidden) else "random")
    assert within_binomial(fates.count("mask"), len(fates), 0.8)
    assert within_binomial(fates.count("kept"), len(fates), 0.1)
    assert within_binomial(fates.count("random"), len(fates), 0.1)


def test_tokens_of_a_random_span_are_drawn_one_by_one(vocabulary, texts):
    masked = mask_spans(texts, vocabulary, mask_share=0.0, random_share=1.0)
    shown = masked.input_ids.flatten()[masked.positions]
    assert within_binomial((shown >= 700).sum().item(), len(shown), 300 / 995)
    assert within_binomial((shown[1:] == shown[:-1]).sum().item(), len(shown) - 1, 1 / 995)


def test_takes_the_arguments_of_long_runs(vocabulary):
    spans, tokens = (list(inspect.signature(mask).parameters) for mask in (mask_spans, mask_single_tokens))
    assert [*spans, "first"] == tokens  # a span has no first tokens


def test_masks_are_drawn_from_the_generator(vocabulary, texts):
    first, again, other = (mask_spans(texts, vocabulary, generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(first.input_ids, again.input_ids) and not torch.equal(first.positions, other.positions)


@pytest.fixture
def config(small_config) -> BertConfig:
    return BertConfig(**{**vars(small_config), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})


@pytest.fixture
def model(config) -> SpanBertForPreTraining:
    return SpanBertForPreTraining(config, position_size=6)


@pytest.fixture
def batch() -> tuple[MaskedTokens, RowBatch]:
    """2 rows of 10, the second with padding, which was asked to hide more than it has; out of order, as
    ``mask_tokens`` gives them. Spans: 2 to 4 and 6 of the first row, 1 to 2 of the second."""
    ids = torch.randint(5, 60, (2, 10))
    ids[:, 0], ids[0, 9], ids[1, 3], ids[1, 4:] = 2, 3, 3, 0
    positions = torch.tensor([6, 3, 2, 4, 12, 10, 11, 13])
    labels = ids.flatten()[positions]
    labels[[5, 7]] = IGNORE
    shown = ids.clone()
    shown.view(-1)[[2, 3, 6, 11]] = 4
    mask = (ids != 0).long()
    return MaskedTokens(shown, positions, labels), RowBatch(
        shown, mask, torch.zeros_like(ids), torch.full((2,), IGNORE)
    )


def plain_span_losses(model: SpanBertForPreTraining, masked: MaskedTokens, rows: RowBatch) -> SpanLosses:
    """Both guesses, one span and one token at a time."""
    x = model.bert(masked.input_ids, rows.attention_mask, rows.token_type_ids).last_hidden_state
    table, labels = model.bert.embeddings.word_embeddings.weight, masked.all_labels()
    mlm_logits, boundary_logits, targets = [], [], []
    for row, start, end in hidden_spans(labels):
        for i in range(start, end + 1):
            mlm_logits.append(model.mlm_head(x[row, i], table))
            place = torch.tensor(i - start, device=x.device)
            boundary_logits.append(model.boundary_head(x[row, start - 1], x[row, end + 1], place, table))
            targets.append(labels[row, i])
    labels = torch.stack(targets)
    return SpanLosses(
        F.cross_entropy(torch.stack(mlm_logits), labels), F.cross_entropy(torch.stack(boundary_logits), labels)
    )


def test_equals_the_plain_losses_and_their_gradients(model, batch):
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    plain, fast = plain_span_losses(model, *batch), SpanLoss(model)(*batch)
    torch.testing.assert_close(tuple(fast), tuple(plain))
    for got, expected in zip(fast, plain):
        got, expected = (
            torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True) for loss in (got, expected)
        )
        torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-4)


def test_mlm_is_that_of_bert(model, batch):
    torch.testing.assert_close(SpanLoss(model)(*batch).mlm, PreTrainingLoss(model)(*batch).mlm)


def test_boundaries_and_places_by_hand(model, batch, monkeypatch):
    """The token in row r and column c has the vector [10 r + c, …]; the head sees those around each span."""
    seen = []
    numbers = torch.arange(20.0).view(2, 10, 1).expand(-1, -1, model.config.hidden_size)
    monkeypatch.setattr(model.bert, "forward", lambda *rows: BertOutput(numbers, None, (), ()))

    def transform(before: Tensor, after: Tensor, place: Tensor) -> Tensor:
        seen.extend(zip(before[:, 0].tolist(), after[:, 0].tolist(), place.tolist()))
        return before

    monkeypatch.setattr(model.boundary_head, "transform", transform)
    masked, rows = batch
    SpanLoss(model)(masked, rows)
    counted = (masked.labels != IGNORE).tolist()
    assert [edges for edges, counts in zip(seen, counted) if counts] == [
        (5, 7, 0),  # column 6
        (1, 5, 1),  # 3, in the span 2 to 4
        (1, 5, 0),  # 2
        (1, 5, 2),  # 4
        (10, 13, 1),  # 2 of the second row, in the span 1 to 2
        (10, 13, 0),  # 1
    ]


def test_the_head_by_hand(model):
    """One layer after the other, written out; and of all zeros it leaves the bias alone to decide."""
    head, table = model.boundary_head, model.bert.embeddings.word_embeddings.weight
    before, after = torch.randn(2, 24)
    torch.nn.init.normal_(head.bias)
    y = torch.cat([before, after, head.position_embeddings.weight[3]])
    for linear in (head.layers[0], head.layers[3]):
        y = linear.weight @ y + linear.bias
        y = y * 0.5 * (1 + torch.erf(y / math.sqrt(2)))
        y = (y - y.mean()) / (y.var(correction=0) + 1e-12).sqrt()
    logits = head(before, after, torch.tensor(3), table)
    torch.testing.assert_close(logits, table @ y + head.bias, atol=1e-5, rtol=1e-4)
    assert torch.equal(head(before, after, torch.tensor(3), torch.zeros_like(table)), head.bias)


def test_the_boundary_loss_reaches_the_vectors_around_spans_and_no_others(model, batch):
    kept = []
    hook = model.bert.register_forward_hook(lambda module, rows, output: kept.append(output.last_hidden_state))
    (by_vector,) = torch.autograd.grad(SpanLoss(model)(*batch).boundary, kept)
    hook.remove()
    reached = by_vector.abs().sum(2) > 0
    assert reached.nonzero().tolist() == [[0, 1], [0, 5], [0, 7], [1, 0], [1, 3]]


def test_all_that_learns_has_a_gradient_and_next_sentences_do_not_learn(model, batch):
    sum(SpanLoss(model)(*batch)).backward()
    without = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert without == {"bert.pooler.weight", "bert.pooler.bias", "nsp_head.weight", "nsp_head.bias"}
    assert not any(model.get_parameter(name).requires_grad for name in without)


def test_autocast_is_near(model, batch):
    with torch.autocast("cpu", torch.bfloat16):
        losses = SpanLoss(model)(*batch)
    torch.testing.assert_close(tuple(losses), tuple(plain_span_losses(model, *batch)), atol=0.03, rtol=0.01)


def test_both_losses_fall_in_training(model, batch):
    loss_of, optimizer = SpanLoss(model), torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(30):
        optimizer.zero_grad()
        sum(loss_of(*batch)).backward()
        optimizer.step()
    assert all(loss < 0.25 * math.log(60) for loss in loss_of(*batch))


def test_the_same_seed_makes_the_same_bert(config):
    weights = []
    for kind in (BertForPreTraining, SpanBertForPreTraining):
        torch.manual_seed(7)
        weights.append(kind(config).state_dict())
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_is_measured_and_saved_as_a_bert(model, batch, small_tokenizer, tmp_path):
    save_pretrained(model.as_bert(), small_tokenizer, tmp_path)
    bert, _ = load_pretrained(tmp_path, BertForPreTraining)
    assert evaluate(model, [batch]) == evaluate(bert, [batch])
    assert set(evaluate(model, [batch])) == {"mlm_loss", "mlm_accuracy"}
    state = torch.get_rng_state()
    assert model.training and model.as_bert().training
    assert torch.equal(torch.get_rng_state(), state)  # a snapshot does not change what a run draws
