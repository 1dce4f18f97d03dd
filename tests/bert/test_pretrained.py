"""Models: what we save, transformers loads, and the other way round; what is broken is refused with a reason."""

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch
import transformers

from bertcourse.bert import BertConfig, BertForPreTraining, BertModel, load_pretrained, save_pretrained
from random_configs import random_config

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

IDS = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])

# In place of the small configuration, with as many tokens as the small tokenizer fits
TEN_CONFIGS = pytest.mark.parametrize(
    "small_config", [dataclasses.replace(random_config(seed), vocab_size=60) for seed in range(10)], ids=range(10)
)


def padded(config: BertConfig) -> torch.Tensor:
    """Four tokens and three, in which the padding stands nowhere else."""
    return torch.tensor([[2, 7, 8, 4], [2, 9, 4, config.pad_token_id]])


def test_what_we_save_we_load(saved, small_tokenizer):
    folder, model = saved
    loaded, tokenizer = load_pretrained(folder, BertForPreTraining)
    assert not loaded.training
    assert loaded.config == model.config
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert (
        tokenizer.encode("a cab.").tokens
        == small_tokenizer.encode("a cab.").tokens
        == ["[CLS]", "a", "c", "##a", "##b", ".", "[SEP]"]
    )


@TEN_CONFIGS
def test_what_we_save_transformers_loads(saved):
    folder, model = saved
    theirs, report = transformers.AutoModelForPreTraining.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    ids = padded(model.config)
    with torch.no_grad():
        mine, other = model(ids, MASK), theirs.eval()(ids, MASK)
    torch.testing.assert_close(mine.mlm_logits[MASK.bool()], other.prediction_logits[MASK.bool()], atol=1e-5, rtol=0)
    torch.testing.assert_close(mine.nsp_logits, other.seq_relationship_logits, atol=1e-5, rtol=0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer("A cab.")["input_ids"] == load_pretrained(folder)[1].encode("A cab.").ids


@TEN_CONFIGS
def test_an_encoder_alone_goes_both_ways(tmp_path, saved, small_config, small_tokenizer):
    ids, encoder = padded(small_config), saved[1].bert
    save_pretrained(encoder, small_tokenizer, tmp_path)
    theirs, report = transformers.AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    with torch.no_grad():
        mine, other = encoder(ids, MASK).pooled, theirs.eval()(ids, MASK).pooler_output
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0)
        theirs.save_pretrained(tmp_path / "theirs")
        shutil.copy(tmp_path / "tokenizer.json", tmp_path / "theirs")
        assert torch.equal(load_pretrained(tmp_path / "theirs")[0](ids, MASK).pooled, mine)


@TEN_CONFIGS
def test_what_transformers_saves_we_load(tmp_path, small_config, small_tokenizer):
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**small_config.__dict__)).eval()
    for parameter in theirs.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    theirs.save_pretrained(tmp_path)
    small_tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours, _ = load_pretrained(tmp_path, BertForPreTraining)
    ids = padded(small_config)
    with torch.no_grad():
        mine, other = ours(ids, MASK), theirs(ids, MASK)
    torch.testing.assert_close(mine.mlm_logits[MASK.bool()], other.prediction_logits[MASK.bool()], atol=1e-5, rtol=0)
    torch.testing.assert_close(mine.nsp_logits, other.seq_relationship_logits, atol=1e-5, rtol=0)


def test_the_encoder_of_a_model_with_heads_loads(saved):
    folder, model = saved
    encoder, _ = load_pretrained(folder)
    assert isinstance(encoder, BertModel)
    assert torch.equal(encoder(IDS, MASK).pooled, model.bert(IDS, MASK).pooled)


def test_saving_writes_no_pickle_and_leaves_nothing_behind(saved):
    folder, _ = saved
    assert sorted(os.listdir(folder)) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]


def test_saved_files_have_the_permissions_of_any_new_file(saved):
    folder, _ = saved
    (folder / "new").touch()
    assert {path.stat().st_mode for path in folder.iterdir()} == {(folder / "new").stat().st_mode}


@pytest.mark.parametrize("changed", [{}, {"hidden_size": 12}, {"num_attention_heads": 1}])
def test_a_save_that_stops_between_two_files_leaves_what_is_refused(saved, small_tokenizer, monkeypatch, changed):
    """Another number of heads does not show in the weights: they must not be read with the old config.json."""
    folder, model = saved
    other = BertForPreTraining(BertConfig(**{**model.config.__dict__, **changed}))
    replace, replaced = os.replace, []

    def replace_once(source, target):
        if replaced:
            raise OSError(5, "Input/output error")
        replaced.append(Path(target).name)
        replace(source, target)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="Input/output"):
        patch.setattr(os, "replace", replace_once)
        save_pretrained(other, small_tokenizer, folder)
    assert replaced == ["model.safetensors"]
    with pytest.raises(FileNotFoundError, match="config.json"):
        load_pretrained(folder, BertForPreTraining)
    assert not list(folder.glob(".saving-*"))


def test_an_interrupted_save_leaves_the_old_files_whole(saved, small_tokenizer, monkeypatch):
    folder, model = saved
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    other = BertForPreTraining(model.config)

    def full_disk(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_pretrained(other, small_tokenizer, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "roberta"}, "model_type.* 'roberta'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type.* 'relative_key'"),
        ({"is_decoder": True}, "is_decoder"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"num_attention_heads": None}, "config.json.* num_attention_heads"),
        ({"hidden_size": 25}, "config.json: hidden_size"),
        ({"num_hidden_layers": 3}, "config.json.* num_hidden_layers 3, .* have 2"),
        ({"vocab_size": 61, "type_vocab_size": 3}, "vocab_size 61, .* have 60; type_vocab_size 3, .* have 2"),
        ({"hidden_size": "24"}, "config.json: hidden_size .* '24'"),
        ({"vocab_size": -60}, "config.json: vocab_size .* -60"),
        ({"layer_norm_eps": float("inf")}, "config.json: layer_norm_eps"),
    ],
)
def test_configs_that_do_not_fit_are_refused(saved, fields, message, edit_config):
    folder, _ = saved
    edit_config(folder, **fields)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder, BertForPreTraining)


def test_null_stands_for_the_default(saved, edit_config):
    folder, model = saved
    edit_config(
        folder, position_embedding_type=None, is_decoder=None, layer_norm_eps=None, hidden_act=None, pad_token_id=None
    )
    assert load_pretrained(folder)[0].config == model.config


@pytest.mark.parametrize(
    ("file", "content", "error", "message"),
    [
        (
            "config.json",
            None,
            FileNotFoundError,
            "config.json; the folder holds model.safetensors, tokenizer.json",
        ),
        ("config.json", b"{", ValueError, "config.json"),
        ("config.json", b"\xff", ValueError, "config.json.* decode"),
        ("config.json", b"[]", ValueError, r"config.json.* got \[\]"),
        (
            "model.safetensors",
            None,
            FileNotFoundError,
            "model.safetensors.* pickle",
        ),
        ("model.safetensors", b"\x00" * 100, ValueError, "model.safetensors is damaged"),
        ("tokenizer.json", b"{", ValueError, "tokenizer.json is damaged"),
    ],
)
def test_broken_files_are_named(saved, file, content, error, message):
    folder, _ = saved
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)
    with pytest.raises(error, match=message):
        load_pretrained(folder)
