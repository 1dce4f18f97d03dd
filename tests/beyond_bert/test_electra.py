"""ELECTRA: the loss equals the plain one, and the models and their files Hugging Face's."""

import json
import math

import pytest
import safetensors.torch
import torch
import torch.nn.functional as F
import transformers

from bertcourse.bert import BertConfig, BertForPreTraining, save_pretrained
from bertcourse.bert.weights import hugging_face_name
from bertcourse.beyond_bert.electra import (
    ElectraDiscriminator,
    ElectraWithGenerator,
    electra_losses,
    generator_config_of,
    with_guesses,
)
from bertcourse.beyond_bert.electra_files import load_electra, save_electra
from bertcourse.pretraining import IGNORE, MaskedTokens, RowBatch
from bertcourse_lab.training.checkpoints import read_checkpoint, write_checkpoint

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

IDS = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
TYPES = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 0]])
MASK_ID = 4


class GeneratorFile(torch.nn.ModuleDict):
    """A generator's own parts, under the names of Hugging Face's ElectraForMaskedLM, without its copy of the words."""

    def __init__(self, model: ElectraWithGenerator):
        generator, head = model.generator, model.generator.mlm_head
        parts = {"embeddings_project": generator.embeddings_project, "encoder": generator.encoder}
        super().__init__(
            {
                "electra": torch.nn.ModuleDict({"embeddings": model.bert.embeddings, **parts}),
                "generator_predictions": torch.nn.ModuleDict({"dense": head.dense, "LayerNorm": head.layer_norm}),
                "generator_lm_head": torch.nn.ParameterDict({"bias": head.bias}),
            }
        )


def trained(model):
    """The model with weights that are not those of the start: no bias is zero, no layer norm is one."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


def random_config(seed: int) -> BertConfig:
    draw = torch.Generator().manual_seed(seed)

    def choice(*values):
        return values[int(torch.randint(len(values), (1,), generator=draw))]

    heads = choice(4, 8)
    return BertConfig(
        vocab_size=choice(60, 83),
        hidden_size=heads * choice(3, 6),
        num_hidden_layers=choice(1, 2, 3),
        num_attention_heads=heads,
        intermediate_size=choice(20, 40),
        max_position_embeddings=choice(16, 32),
        type_vocab_size=choice(2, 3),
        layer_norm_eps=choice(1e-12, 1e-5),
    )


@pytest.fixture
def model(small_config) -> ElectraWithGenerator:
    return trained(ElectraWithGenerator(small_config))


@pytest.fixture
def batch() -> tuple[MaskedTokens, RowBatch]:
    """4 rows of 12, the last two tokens padding in two of them; 3 places a row, in one of which nothing is hidden."""
    ids = torch.randint(5, 60, (4, 12))
    mask = torch.ones(4, 12, dtype=torch.long)
    mask[2:, 10:] = 0
    ids[2:, 10:] = 0
    positions = torch.tensor([1, 5, 7, 13, 20, 22, 25, 27, 31, 37, 40, 41])
    labels = ids.flatten()[positions].clone()
    labels[4] = IGNORE
    hidden = ids.clone()
    hidden.view(-1)[positions[labels != IGNORE]] = MASK_ID
    return MaskedTokens(hidden, positions, labels), RowBatch(ids, mask, torch.zeros_like(ids), torch.tensor([0] * 4))


def plain_electra_losses(model: ElectraWithGenerator, masked: MaskedTokens, rows: RowBatch) -> tuple:
    """Every token is scored, and every verdict has its own logarithm."""
    mask, segments = rows.attention_mask, rows.token_type_ids
    logits = model.generator_logits(masked.input_ids, mask, segments).float()
    mlm = F.cross_entropy(logits.flatten(0, 1), masked.all_labels().flatten(), ignore_index=IGNORE)

    drawn = logits.flatten(0, 1)[masked.positions].softmax(-1).multinomial(1)[:, 0].tolist()
    corrupted = rows.input_ids.flatten().clone()
    for position, label, guess in zip(masked.positions, masked.labels.tolist(), drawn):
        if label != IGNORE:
            corrupted[position] = guess
    corrupted = corrupted.view_as(rows.input_ids)

    logits = model.replaced_token_logits(corrupted, mask, segments).float()
    log_probability = torch.where(corrupted == rows.input_ids, F.logsigmoid(-logits), F.logsigmoid(logits))
    is_text = torch.ones_like(corrupted, dtype=torch.bool) if mask is None else mask.bool()
    return mlm, -50 * log_probability[is_text].mean()


@pytest.mark.parametrize("divisor", [1, 4])
def test_equals_the_plain_losses_and_their_gradients_draw_for_draw(small_config, batch, divisor):
    model = trained(ElectraWithGenerator(small_config, generator_config_of(small_config, divisor))).train()
    assert small_config.hidden_dropout_prob > 0
    torch.manual_seed(3)
    plain = plain_electra_losses(model, *batch)
    expected = torch.autograd.grad(sum(plain), list(model.parameters()))
    torch.manual_seed(3)
    losses = electra_losses(model, *batch)
    torch.testing.assert_close(losses, plain)
    got = torch.autograd.grad(sum(losses), list(model.parameters()))
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-4)


def test_without_padding_a_mask_changes_nothing(model, batch):
    masked, rows = (type(part)(*(tensor[:2] if len(tensor) == 4 else tensor[:6] for tensor in part)) for part in batch)
    model.eval()
    losses = []
    for mask in (rows.attention_mask, None):
        torch.manual_seed(0)
        losses.append(electra_losses(model, masked, rows._replace(attention_mask=mask)))
    torch.testing.assert_close(*losses)


def test_what_stands_in_padding_does_not_matter(model, batch):
    masked, rows = batch
    model.eval()
    torch.manual_seed(0)
    expected = electra_losses(model, masked, rows)
    other, otherwise = masked.input_ids.clone(), rows.input_ids.clone()
    other[2:, 10:] = otherwise[2:, 10:] = 17
    torch.manual_seed(0)
    got = electra_losses(model, masked._replace(input_ids=other), rows._replace(input_ids=otherwise))
    torch.testing.assert_close(got, expected)


def test_the_same_seed_draws_the_same_guesses_and_another_others(model, batch):
    model.eval()
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(electra_losses(model, *batch))
    assert losses[0] == losses[1]
    assert losses[0][0] == losses[2][0] and losses[0][1] != losses[2][1]


def test_guesses_follow_the_softmax():
    logits, original = torch.tensor([0.0, 1.0, -torch.inf, 2.0]), torch.full((100, 1000), 2)
    masked = MaskedTokens(original, torch.arange(100_000), original.flatten())
    drawn = with_guesses(logits.expand(100_000, 4), masked, original).flatten().bincount(minlength=4) / 100_000
    torch.testing.assert_close(drawn, logits.softmax(0), atol=0.006, rtol=0)
    assert drawn[2] == 0


def test_a_right_guess_counts_as_original_and_only_hidden_places_change(batch):
    masked, rows = batch
    sure = torch.full((len(masked.positions), 60), -torch.inf)
    right = sure.scatter(1, rows.input_ids.flatten()[masked.positions][:, None], 0.0)
    assert torch.equal(with_guesses(right, masked, rows.input_ids), rows.input_ids)
    sure[:, 1] = 0.0  # a token that occurs nowhere
    changed = (with_guesses(sure, masked, rows.input_ids) != rows.input_ids).flatten().nonzero().flatten()
    assert changed.tolist() == masked.positions[masked.labels != IGNORE].tolist()


def test_the_discriminator_teaches_the_generator_nothing_but_embeddings(model, batch):
    electra_losses(model, *batch)[1].backward()
    assert all(parameter.grad is None for parameter in model.generator.parameters())
    assert model.bert.embeddings.word_embeddings.weight.grad.abs().sum() > 0


def test_a_discriminator_that_knows_nothing_loses_fifty_times_log_two(model, batch):
    torch.nn.init.zeros_(model.replaced_head.dense_prediction.weight)
    torch.nn.init.zeros_(model.replaced_head.dense_prediction.bias)
    assert math.isclose(electra_losses(model, *batch)[1].item(), 50 * math.log(2), rel_tol=1e-5)


def test_autocast_is_near(model, batch):
    model.eval()
    masked, rows = batch
    with torch.autocast("cpu", torch.bfloat16):
        losses = electra_losses(model, masked, rows)
    sum(losses).backward()
    assert {loss.dtype for loss in losses} == {torch.float32}
    torch.testing.assert_close(losses[0], electra_losses(model, masked, rows)[0], atol=0.05, rtol=0.01)
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def uniform_rows() -> tuple[MaskedTokens, RowBatch]:
    """16 rows of 12 tokens, those of a row all the same; two of a row are hidden."""
    ids = torch.randint(5, 17, (16, 1)).repeat(1, 12)
    columns = torch.rand(16, 12).topk(2).indices
    positions = (torch.arange(16)[:, None] * 12 + columns).flatten()
    masked = MaskedTokens(ids.scatter(1, columns, MASK_ID), positions, ids.flatten()[positions])
    return masked, RowBatch(ids, None, torch.zeros_like(ids), torch.full((16,), IGNORE))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "below"),
    [
        ("generator", 1.7),  # who does not read the row has log 12 = 2.5
        ("discriminator", 50 * 0.25),  # who does not read the row, one sixth replaced, has 50 * 0.45
    ],
)
def test_each_model_learns(small_config, who, below):
    settings = {"hidden_size": 48, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = BertConfig(**{**vars(small_config), **settings})
    model = ElectraWithGenerator(config, generator_config_of(config, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.generator.requires_grad_(who == "generator")  # the discriminator learns from one that guesses badly
    history = []
    for _ in range(160):
        mlm, replaced = electra_losses(model, *uniform_rows())
        optimizer.zero_grad()
        (mlm + replaced).backward()
        optimizer.step()
        history.append(mlm.item() if who == "generator" else replaced.item())
    assert sum(history[-20:]) / 20 < below


def test_generator_is_a_quarter_with_heads_of_the_same_size():
    config = generator_config_of(BertConfig())
    assert (config.hidden_size, config.num_attention_heads, config.intermediate_size) == (192, 3, 768)
    assert config.num_hidden_layers == 12


def test_a_checkpoint_holds_both_models(tmp_path, model, batch):
    optimizer = torch.optim.AdamW(model.parameters())
    sum(electra_losses(model, *batch)).backward()
    optimizer.step()
    write_checkpoint(tmp_path / "checkpoint.safetensors", model, optimizer, {})
    _, tensors = read_checkpoint(tmp_path / "checkpoint.safetensors")
    weights = {name.removeprefix("model."): tensor for name, tensor in tensors.items() if name.startswith("model.")}
    other = ElectraWithGenerator(model.config)
    other.load_state_dict(weights)
    assert all(torch.equal(mine, its) for mine, its in zip(model.parameters(), other.parameters()))
    assert len(tensors) == 4 * len(weights)  # the weight, two moments, and how many steps


@pytest.mark.parametrize("seed", range(4))
def test_the_discriminator_equals_hugging_face_both_ways(tmp_path, small_tokenizer, seed):
    model = trained(ElectraWithGenerator(random_config(seed))).eval()
    save_electra(model, small_tokenizer, tmp_path / "ours")
    theirs, report = transformers.ElectraForPreTraining.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report[keys] for keys in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    with torch.no_grad():
        expected = theirs.eval()(IDS, MASK, TYPES).logits
        torch.testing.assert_close(
            model.replaced_token_logits(IDS, MASK, TYPES)[MASK.bool()], expected[MASK.bool()], atol=1e-5, rtol=0
        )
    is_replaced = torch.tensor([[0, 1, 0, 0], [0, 0, 0, 0]])
    loss = F.binary_cross_entropy_with_logits(expected[MASK.bool()], is_replaced[MASK.bool()].float())
    torch.testing.assert_close(theirs(IDS, MASK, TYPES, labels=is_replaced).loss, loss, atol=1e-5, rtol=0)

    trained(theirs).save_pretrained(tmp_path / "theirs")
    small_tokenizer.save(str(tmp_path / "theirs" / "tokenizer.json"))
    back, tokenizer = load_electra(tmp_path / "theirs")
    assert isinstance(back, ElectraDiscriminator) and not back.training and back.config == model.config
    with torch.no_grad():
        got, expected = back.replaced_token_logits(IDS, MASK, TYPES), theirs(IDS, MASK, TYPES).logits
    torch.testing.assert_close(got[MASK.bool()], expected[MASK.bool()], atol=1e-5, rtol=0)
    assert tokenizer.encode("a cab.").ids == small_tokenizer.encode("a cab.").ids


@pytest.mark.parametrize("seed", range(4))
def test_the_generator_equals_hugging_face_both_ways(seed):
    config = random_config(seed)
    model = trained(ElectraWithGenerator(config, generator_config_of(config, 2))).eval()
    sizes = {**vars(model.generator_config), "embedding_size": config.hidden_size}
    theirs = transformers.ElectraForMaskedLM(transformers.ElectraConfig(**sizes)).eval()
    mine = {hugging_face_name(name): tensor for name, tensor in GeneratorFile(model).state_dict().items()}
    result = theirs.load_state_dict(mine, strict=False)
    assert set(result.missing_keys) <= {"generator_lm_head.weight"} and not result.unexpected_keys  # tied
    for turn in range(2):
        with torch.no_grad():
            got = model.generator_logits(IDS, MASK, TYPES)
            expected = theirs(IDS, MASK, TYPES).logits
            torch.testing.assert_close(got[MASK.bool()], expected[MASK.bool()], atol=1e-5, rtol=0)
            some = model.generator_logits(IDS, MASK, TYPES, positions=torch.tensor([1, 6]))
            torch.testing.assert_close(some, got.flatten(0, 1)[[1, 6]], atol=1e-6, rtol=0)
            if turn == 0:
                trained(theirs)
                for name, tensor in mine.items():
                    tensor.copy_(theirs.state_dict()[name])


def test_saving_keeps_the_type_and_leaves_the_generator_out(tmp_path, model, small_tokenizer):
    save_electra(model.half(), small_tokenizer, tmp_path)
    tensors = safetensors.torch.load_file(tmp_path / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert {name.split(".")[0] for name in tensors} == {"electra", "discriminator_predictions"}
    loaded, _ = load_electra(tmp_path)
    assert torch.equal(loaded.bert.embeddings.layer_norm.weight, model.bert.embeddings.layer_norm.weight.float())
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)("A cab.")["input_ids"] == [2, 5, 7, 27, 28, 49, 3]


def test_files_that_are_no_such_electra_are_refused(tmp_path, small_config, model, small_tokenizer, edit_safetensors):
    save_pretrained(BertForPreTraining(small_config), small_tokenizer, tmp_path / "bert")
    with pytest.raises(ValueError, match="model_type must be 'electra'"):
        load_electra(tmp_path / "bert")

    def changed(**fields):
        save_electra(model, small_tokenizer, tmp_path / "electra")
        path = tmp_path / "electra" / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **fields}))
        return tmp_path / "electra"

    for fields, message in [
        ({"embedding_size": 12}, "embedding_size must be 24"),
        ({"num_hidden_layers": None}, "num_hidden_layers missing"),
        ({"num_hidden_layers": 3}, "num_hidden_layers 3, and the weights have 2"),
        ({"hidden_act": "swish"}, "hidden_act must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_electra(changed(**fields))
    folder = changed()
    edit_safetensors(folder / "model.safetensors", lambda t: t.pop("discriminator_predictions.dense_prediction.bias"))
    with pytest.raises(ValueError, match="dense_prediction.bias is missing"):
        load_electra(folder)
