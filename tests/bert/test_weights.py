"""Weights: older names, prefixes and tied copies load; what does not fit is named."""

import pytest
import torch
import transformers

from bertcourse.bert import BertForPreTraining, BertModel, load_pretrained, save_pretrained

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

IDS = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])


def test_older_names_and_half_precision_load_as_float32(saved, edit_safetensors):
    folder, model = saved

    def age(tensors):
        for name in list(tensors):
            older = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[older] = tensors.pop(name).half()
        tensors["bert.embeddings.position_ids"] = torch.arange(32)

    edit_safetensors(folder / "model.safetensors", age)
    loaded, _ = load_pretrained(folder, BertForPreTraining)
    for name, tensor in model.state_dict().items():
        assert loaded.state_dict()[name].dtype == torch.float32
        torch.testing.assert_close(loaded.state_dict()[name], tensor, atol=1e-3, rtol=1e-3)


def strip_bert(tensors):
    """The tensors as a task's model keeps them that does without the prefix."""
    for name in [name for name in tensors if not name.startswith("bert.")]:
        tensors.pop(name)
    for name in list(tensors):
        tensors[name.removeprefix("bert.")] = tensors.pop(name)
    tensors["classifier.weight"] = torch.ones(2, 24)


def keep_only_the_copies(tensors):
    tensors["cls.predictions.decoder.weight"] = tensors.pop("bert.embeddings.word_embeddings.weight")
    tensors["cls.predictions.decoder.bias"] = tensors.pop("cls.predictions.bias")


def wrap(tensors):
    for name in list(tensors):
        tensors[f"module._orig_mod.{name}"] = tensors.pop(name)


@pytest.mark.parametrize("edit", [strip_bert, keep_only_the_copies, wrap])
def test_the_encoder_loads_whatever_surrounds_it(saved, edit, edit_safetensors):
    folder, model = saved
    edit_safetensors(folder / "model.safetensors", edit)
    assert torch.equal(load_pretrained(folder)[0](IDS, MASK).pooled, model.bert(IDS, MASK).pooled)


@pytest.mark.parametrize("edit", [keep_only_the_copies, wrap])
def test_the_heads_load_from_the_copies_of_what_is_tied_and_under_prefixes(saved, edit, edit_safetensors):
    folder, model = saved
    edit_safetensors(folder / "model.safetensors", edit)
    assert torch.equal(
        load_pretrained(folder, BertForPreTraining)[0](IDS, MASK).mlm_logits, model(IDS, MASK).mlm_logits
    )


def without(part):
    return lambda tensors: [tensors.pop(name) for name in list(tensors) if part in name]


def rename(old, new):
    return lambda tensors: tensors.update({new: tensors.pop(old)})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda t: t.pop("bert.encoder.layer.1.attention.self.key.bias"),
            "bert.encoder.layer.1.attention.self.key.bias is missing",
        ),
        (lambda t: t.update(extra=torch.ones(1)), "extra is left over"),
        (
            lambda t: t.update({"cls.predictions.bias": torch.zeros(3)}),
            r"cls.predictions.bias has shape \(3,\), expected \(60,\)",
        ),
        (rename("cls.predictions.bias", "bias"), "cls.predictions.bias is missing; bias is left over"),
        (without("layer.1.attention"), "and 5 more"),
        (
            lambda t: t.update({"cls.predictions.bias": torch.zeros(60, dtype=torch.int64)}),
            "cls.predictions.bias.* torch.int64",
        ),
        (
            lambda t: t["bert.pooler.dense.weight"][0].fill_(torch.nan),
            "bert.pooler.dense.weight.* 24 of its 576",
        ),
        (
            lambda t: t.update({"cls.predictions.bias": torch.full((60,), 1e300, dtype=torch.float64)}),
            "cls.predictions.bias.* 60 of its 60",  # infinite in float32
        ),
        (
            lambda t: t.update({"cls.predictions.decoder.weight": torch.ones(60, 24)}),
            "equal bert.embeddings.word_embeddings.weight",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(saved, edit, message, edit_safetensors):
    folder, _ = saved
    edit_safetensors(folder / "model.safetensors", edit)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder, BertForPreTraining)


def test_an_encoder_is_no_pretraining_model(tmp_path, small_model, small_tokenizer):
    save_pretrained(small_model, small_tokenizer, tmp_path)
    with pytest.raises(ValueError, match=r"lacks heads.*BertForPreTraining\(config\).bert.load_state_dict"):
        load_pretrained(tmp_path, BertForPreTraining)
    encoder, _ = load_pretrained(tmp_path)  # what the message says to do
    model = BertForPreTraining(encoder.config).eval()
    model.bert.load_state_dict(encoder.state_dict(), strict=False)
    assert torch.equal(model.bert(IDS).pooled, encoder(IDS).pooled)


@pytest.mark.parametrize(
    "field",
    [
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "intermediate_size",
        "max_position_embeddings",
        "type_vocab_size",
    ],
)
def test_absurd_sizes_are_refused_before_a_model_is_made(saved, monkeypatch, field, edit_config):
    folder, model = saved
    monkeypatch.setattr(BertModel, "__init__", lambda self, *arguments, **options: pytest.fail("a model was made"))
    edit_config(folder, **{field: 4 * 10**12})
    with pytest.raises(ValueError, match=f"{field} 4000000000000, .* have {getattr(model.config, field)}"):
        load_pretrained(folder, BertForPreTraining)


def test_sizes_that_no_weights_have_are_refused(saved, edit_safetensors):
    folder, _ = saved
    edit_safetensors(folder / "model.safetensors", without("position_embeddings"))
    with pytest.raises(ValueError, match="max_position_embeddings 32, .* none"):
        load_pretrained(folder)


def test_a_checkpoint_cut_short_is_refused(saved):
    folder, _ = saved
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        load_pretrained(folder)


def test_a_pickle_is_not_read(saved):
    folder, _ = saved
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="pytorch_model.bin is a pickle"):
        load_pretrained(folder)


def test_weights_in_several_files_are_not_read_but_mended(saved, small_config, small_tokenizer, tmp_path):
    folder, model = saved
    theirs = transformers.BertForPreTraining.from_pretrained(folder)
    parts, one = tmp_path / "parts", tmp_path / "one"
    theirs.save_pretrained(parts, max_shard_size="10KB")
    with pytest.raises(FileNotFoundError, match='several files.*max_shard_size="100GB"'):
        load_pretrained(parts)
    transformers.BertForPreTraining.from_pretrained(parts).save_pretrained(one, max_shard_size="100GB")
    small_tokenizer.save(str(one / "tokenizer.json"))
    assert torch.equal(load_pretrained(one, BertForPreTraining)[0](IDS, MASK).mlm_logits, model(IDS, MASK).mlm_logits)


def test_a_checkpoint_without_pooler_gives_a_model_without_one(saved, edit_safetensors):
    folder, _ = saved
    edit_safetensors(folder / "model.safetensors", without("pooler"))
    assert load_pretrained(folder)[0](IDS).pooled is None
