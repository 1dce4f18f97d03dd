"""What ELECTRA is measured by: means over all tokens, whoever shares the work, and a score for each text by itself."""

import pytest
import torch
import torch.nn.functional as F

from bertcourse.bert import BertConfig, encode_batch
from bertcourse.beyond_bert.electra import ElectraDiscriminator, ElectraWithGenerator, with_guesses
from bertcourse.pretraining import MaskedTokens, RowBatch, SmallWorld, Vocabulary, mask_tokens
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.electra_evaluation import evaluate_electra, replaced_token_scores
from bertcourse_lab.pretraining.processes import Processes


@pytest.fixture(scope="module")
def corpus():
    return SmallWorld().corpus(num_tokens=20_000)


@pytest.fixture
def held_out(corpus) -> list[tuple[MaskedTokens, RowBatch]]:
    vocabulary = Vocabulary.of(corpus.tokenizer)
    rows = fixed_batches(corpus.held_out, vocabulary, RowMaker("full-sentences", 0.0), 32, 150)
    draw = torch.Generator().manual_seed(1)
    return [
        (mask_tokens(row.input_ids, vocabulary, generator=draw, mask_share=1, random_share=0), row) for _, row in rows
    ]


@pytest.fixture
def small_electra(corpus, small_config) -> ElectraWithGenerator:
    sizes = {**vars(small_config), "vocab_size": Vocabulary.of(corpus.tokenizer).size}
    return ElectraWithGenerator(BertConfig(**{**sizes, "initializer_range": 0.2}))


def test_evaluation_is_over_all_tokens(small_electra, held_out):
    assert len(held_out) > 1
    got = evaluate_electra(small_electra.train(), held_out)
    assert small_electra.training
    small_electra.eval()
    logits, labels, found, truth = [], [], [], []
    for number, (masked, rows) in enumerate(held_out):
        torch.manual_seed(number)
        arguments = rows.attention_mask, rows.token_type_ids
        logits.append(small_electra.generator_logits(masked.input_ids, *arguments).flatten(0, 1)[masked.positions])
        labels.append(masked.labels)
        text = with_guesses(logits[-1], masked, rows.input_ids)
        real = slice(None) if rows.attention_mask is None else rows.attention_mask.bool()
        found.append(small_electra.replaced_token_logits(text, *arguments)[real].flatten())
        truth.append((text != rows.input_ids)[real].flatten())
    logits, labels, found, truth = map(torch.cat, (logits, labels, found, truth))
    says = found > 0
    hits = (says & truth).sum() / says.sum(), (says & truth).sum() / truth.sum()
    expected = {
        "mlm_loss": F.cross_entropy(logits, labels),
        "mlm_accuracy": (logits.argmax(1) == labels).float().mean(),
        "replaced_loss": F.binary_cross_entropy_with_logits(found, truth.float()),
        "replaced_accuracy": (says == truth).float().mean(),
        "replaced_f1": 2 * hits[0] * hits[1] / sum(hits),
        "original_share": 1 - truth.float().mean(),
    }
    assert got == pytest.approx({name: value.item() for name, value in expected.items()}, rel=1e-4)
    assert 0.83 < got["original_share"] < 0.9 and got["replaced_f1"] > 0


def test_evaluation_repeats_and_leaves_the_random_numbers_of_a_run_alone(small_electra, held_out):
    first = evaluate_electra(small_electra, held_out)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert evaluate_electra(small_electra, held_out) == first
    assert torch.equal(torch.get_rng_state(), before)


def test_processes_share_the_work_and_measure_the_same(small_electra, held_out, monkeypatch):
    parts = []
    monkeypatch.setattr(Processes, "total", lambda self, *sums: parts.append(sums) or list(sums))
    whole = evaluate_electra(small_electra, held_out)
    for rank in range(2):
        evaluate_electra(small_electra, held_out, Processes(rank, 2, rank, torch.device("cpu")))
    one, first, second = parts
    assert [a + b for a, b in zip(first, second)] == pytest.approx(one)
    assert whole["mlm_loss"] == pytest.approx(one[0] / one[2])
    with pytest.raises(ValueError, match="at least one hidden token"):
        evaluate_electra(small_electra, [])


def test_who_finds_nothing_has_the_accuracy_of_the_originals_and_no_f1(small_electra, held_out):
    torch.nn.init.constant_(small_electra.replaced_head.dense_prediction.bias, -100.0)
    got = evaluate_electra(small_electra, held_out)
    assert got["replaced_accuracy"] == got["original_share"] and got["replaced_f1"] == 0


def test_scores_are_sums_over_each_text_by_itself(small_config, small_tokenizer):
    model = ElectraDiscriminator(BertConfig(**{**vars(small_config), "initializer_range": 0.2}))
    texts = ["a cab.", "b", "abba cab dab.", "a cab."]
    scores = replaced_token_scores(model.train(), small_tokenizer, texts)
    assert model.training
    model.eval()
    for text, got in zip(texts, scores):
        logits = model.replaced_token_logits(*encode_batch(small_tokenizer, [text]))[0, 1:-1]
        torch.testing.assert_close(got, (1 - logits.sigmoid()).log().sum(), atol=1e-5, rtol=1e-5)
    assert torch.allclose(replaced_token_scores(model, small_tokenizer, texts, max_tokens=1), scores, atol=1e-5)
    with pytest.raises(ValueError, match="list of at least one string"):
        replaced_token_scores(model, small_tokenizer, "a cab.")
