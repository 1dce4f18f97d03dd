"""Recipes: chapter 4's loop trains what they change."""

import signal

import pytest
import torch

from bertcourse import beyond_bert
from bertcourse.bert import BertForPreTraining, load_pretrained
from bertcourse.beyond_bert import EncoderConfig, EncoderForPreTraining
from bertcourse.beyond_bert.electra_files import load_electra
from bertcourse.pretraining import IGNORE, SmallWorld, Vocabulary, evaluate, read_log
from bertcourse_lab.pretraining import trainer
from bertcourse_lab.pretraining.batches import RowMaker, fixed_batches
from bertcourse_lab.pretraining.config import PretrainingConfig
from bertcourse_lab.pretraining.objective import PreTrainingLoss
from bertcourse_lab.pretraining.processes import Processes
from bertcourse_lab.pretraining.recipes import ALL_MASKED, Recipe, new_electra, pretrain_recipe
from bertcourse_lab.pretraining.trainer import pretrain
from bertcourse_lab.training import Interrupted

TINY = dict(
    corpus="small-world",
    world_tokens=4000,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=32,
    max_position_embeddings=64,
    lengths="32:1",
    evaluation_length=32,
    evaluation_rows=32,
    batch_size=8,
    tokens=4000,
    evaluate_every=0.5,
    precision="float32",
    threads=1,
)
IDS = torch.tensor([[2, 20, 30, 3]])
MODERN = dict(positions="rotary", norm="pre", norm_kind="rms", qk_norm=True, bias=False, gated=True, segments=False)


@pytest.fixture(scope="module")
def corpus():
    return SmallWorld().corpus(num_tokens=4000)._replace(probe=None)


@pytest.fixture(autouse=True)
def small_matrices(monkeypatch):
    monkeypatch.setattr(trainer, "peak_flops", lambda device, dtype: 1e11)


def trained(recipe: Recipe, corpus, output, resume: bool = False):
    return pretrain_recipe(recipe, PretrainingConfig(**TINY, output=str(output)), resume, corpus)


def equal(one, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values()))


def test_an_empty_recipe_is_chapter_fours_run(corpus, tmp_path):
    ours = trained(Recipe(), corpus, tmp_path / "recipe")
    assert equal(ours, pretrain(PretrainingConfig(**TINY, output=str(tmp_path / "run")), corpus=corpus))


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(encoder=MODERN),
        Recipe(encoder=MODERN, muon_rate=0.01),
        Recipe(muon_rate=0.01),
        Recipe(dict(mask_rate=0.3, last_mask_rate=0.15, local_layers=1, local_offsets="-1,1", initial_outputs="zero")),
        Recipe(dict(packing="full-sentences", nsp=False), dict(positions="none")),
    ],
    ids=["modern", "modern-muon", "muon", "starts", "full-sentences"],
)
def test_a_recipe_learns_and_is_kept(recipe, corpus, tmp_path):
    model = trained(recipe, corpus, tmp_path)
    first, *_, last = [line["mlm_loss"] for line in read_log(tmp_path / "log.jsonl") if line["event"] == "evaluation"]
    assert last < first - 0.05
    assert isinstance(model, EncoderForPreTraining) == bool(recipe.encoder)
    if recipe.encoder:
        loaded, _ = beyond_bert.load_pretrained(tmp_path / "model-100", EncoderForPreTraining)
    else:  # it is a BERT, and loads as one
        loaded, _ = load_pretrained(tmp_path / "model-100", BertForPreTraining)
    torch.testing.assert_close(loaded(IDS).mlm_logits, model(IDS).mlm_logits, atol=0.02, rtol=0.02)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(dict(initial_outputs="zero"), MODERN),
        Recipe(dict(initial_outputs="zero", local_layers=1, local_offsets="-1,1"), dict(gated=True)),
    ],
    ids=["modern", "gated"],
)
def test_every_model_gets_the_start_that_is_asked_for(recipe):
    config = PretrainingConfig(**{**TINY, **recipe.settings})
    model = recipe.parts().new_model(config, 500)
    blocks = model.bert.encoder.blocks
    assert not any(block.feed_forward.contract.weight.any() or block.attention.output.weight.any() for block in blocks)
    word_columns = model.bert.embeddings.word_embeddings.weight[:, :4]
    assert bool(word_columns.any()) != bool(config.local_layers)


def test_electra_learns_and_its_discriminator_is_kept(corpus, tmp_path):
    recipe = Recipe(dict(**ALL_MASKED, initial_outputs="zero", nsp=False), objective="replaced")
    model = trained(recipe, corpus, tmp_path)
    first, *_, last = [line for line in read_log(tmp_path / "log.jsonl") if line["event"] == "evaluation"]
    assert last["mlm_loss"] < first["mlm_loss"] - 0.05 and last["replaced_loss"] < first["replaced_loss"]
    loaded, _ = load_pretrained(tmp_path / "model-100")
    torch.testing.assert_close(loaded(IDS)[0], model.bert(IDS)[0], atol=0.02, rtol=0.02)
    with_head, _ = load_electra(tmp_path / "model-100" / "electra")
    torch.testing.assert_close(
        with_head.replaced_token_logits(IDS), model.replaced_token_logits(IDS), atol=0.02, rtol=0.02
    )


def test_electra_is_measured_on_the_masks_that_it_is_trained_on(corpus, tmp_path):
    recipe = Recipe(dict(**ALL_MASKED, nsp=False), objective="replaced")
    config = PretrainingConfig(**{**TINY, **recipe.settings, "output": str(tmp_path)})
    run = trainer.PretrainingRun(config, False, corpus, Processes(0, 1, 0, torch.device("cpu")), recipe.parts())
    mask = Vocabulary.of(corpus.tokenizer).mask_id
    for masked, _ in run.held_out:
        assert (masked.input_ids.flatten()[masked.positions[masked.labels != IGNORE]] == mask).all()
    ((trained_on, _),) = run.batches.next_batch(32)
    assert (trained_on.input_ids.flatten()[trained_on.positions[trained_on.labels != IGNORE]] == mask).all()


def test_muon_has_a_rate_of_its_own_and_an_encoder_without_nsp_learns_none():
    config, recipe = PretrainingConfig(**TINY, nsp=False), Recipe(encoder=dict(gated=True), muon_rate=0.01)
    model = recipe.parts().new_model(config, 60)
    assert not any(p.requires_grad for part in (model.bert.pooler, model.nsp_head) for p in part.parameters())
    by_muon, *others = recipe.parts().new_optimizer(model, config).param_groups
    assert by_muon["peak"] == 0.01 and {group["peak"] for group in others} == {config.learning_rate}


def test_electras_generator_begins_as_its_discriminator_does():
    start = dict(**ALL_MASKED, nsp=False, initial_outputs="zero", local_layers=2, initializer_range=0.04)
    torch.manual_seed(0)
    model = new_electra(PretrainingConfig(**start), 500).eval()
    embedded = model.generator.embeddings_project(model.bert.embeddings(torch.randint(5, 500, (4, 40))))
    output = model.generator.encoder(embedded, None, output_attentions=True)
    inner = torch.arange(5, 35)
    before = [weights[:, 0, inner, inner - 1].mean() for weights in output.attentions]  # its one head
    assert min(before[:2]) > 0.5 and max(before[2:]) < 0.1
    blind = new_electra(PretrainingConfig(**ALL_MASKED, nsp=False), 500).generator.encoder
    assert blind.blocks[0].feed_forward.contract.weight.any()
    assert not any(block.feed_forward.contract.weight.any() for block in model.generator.encoder.blocks)


def test_a_run_by_muon_stopped_and_resumed_is_the_run_uninterrupted(corpus, tmp_path, monkeypatch):
    recipe = Recipe(encoder=MODERN, muon_rate=0.01)
    whole = trained(recipe, corpus, tmp_path / "whole")
    backward = trainer.PretrainingRun.backward

    def interrupted(self, chunks):
        if self.progress.step == 6:
            signal.raise_signal(signal.SIGTERM)
        return backward(self, chunks)

    with monkeypatch.context() as patch:
        patch.setattr(trainer.PretrainingRun, "backward", interrupted)
        with pytest.raises(Interrupted):
            trained(recipe, corpus, tmp_path / "legs")
    assert equal(whole, trained(recipe, corpus, tmp_path / "legs", resume=True))


def test_a_run_is_resumed_by_its_own_recipe_only(corpus, tmp_path):
    trained(Recipe(encoder=dict(positions="rotary")), corpus, tmp_path)
    (first, *_) = read_log(tmp_path / "log.jsonl")
    assert first["recipe"] == {"encoder": {"positions": "rotary"}}
    with pytest.raises(ValueError, match="encoder was"):
        trained(Recipe(encoder=dict(positions="none")), corpus, tmp_path, resume=True)
    with pytest.raises(ValueError, match="muon_rate was None"):
        trained(Recipe(encoder=dict(positions="rotary"), muon_rate=0.01), corpus, tmp_path, resume=True)


def test_a_model_without_a_pooler_has_a_loss_and_is_measured(corpus):
    vocabulary = Vocabulary.of(corpus.tokenizer)
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    model = EncoderForPreTraining(EncoderConfig(vocab_size=vocabulary.size, **sizes), add_pooler=False)
    batches = list(fixed_batches(corpus.held_out, vocabulary, RowMaker("sentence-pairs", 0.0), 32, 16))
    assert set(evaluate(model, batches)) == {"mlm_loss", "mlm_accuracy"}
    losses = PreTrainingLoss(model)(*batches[0])
    assert losses.mlm > 0 and losses.nsp == 0


def test_the_mask_rate_falls(corpus, tmp_path, monkeypatch):
    rates = []
    next_batch = trainer.Batches.next_batch

    def remembered(self, *arguments):
        chunks = next_batch(self, *arguments)
        (masked, rows), *_ = chunks
        rates.append(len(masked.labels) / rows.num_tokens)
        return chunks

    monkeypatch.setattr(trainer.Batches, "next_batch", remembered)
    trained(Recipe(dict(mask_rate=0.4, last_mask_rate=0.1)), corpus, tmp_path)
    assert rates[0] > 0.3 and rates[-1] < 0.15


@pytest.mark.parametrize(
    "recipe, message",
    [
        (Recipe(dict(local_layers=1, local_offsets="-1"), dict(positions="rotary")), "local_layers"),
        (Recipe(ALL_MASKED, objective="replaced"), "nsp must be False"),
        (Recipe(dict(nsp=False), objective="replaced"), "mask_share"),
        (Recipe(dict(**ALL_MASKED, nsp=False, num_attention_heads=2), objective="replaced"), "multiple of 4; got 2"),
    ],
    ids=[
        "local heads without positions",
        "ELECTRA with NSP",
        "ELECTRA with other masks",
        "ELECTRA with two heads",
    ],
)
def test_settings_that_do_not_fit_a_recipe_are_refused(recipe, message, corpus, tmp_path):
    with pytest.raises(ValueError, match=message):
        trained(recipe, corpus, tmp_path)


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(settings=dict(mask=0.3)), "settings must be fields of PretrainingConfig; it has no mask"),
        (dict(encoder=dict(position="rotary")), "encoder must be fields of EncoderConfig; it has no position"),
        (dict(muon_rate=-1.0), "muon_rate"),
        (dict(objective="next"), "objective"),
        (dict(objective="replaced", encoder=MODERN), "objective"),
    ],
)
def test_a_recipe_that_nobody_can_cook_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**changes)
