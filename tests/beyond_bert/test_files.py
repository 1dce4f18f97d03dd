"""Encoders' files: what transformers saves we load, what we save transformers loads; another model is refused."""

import json
import runpy
from pathlib import Path

import pytest
import safetensors.torch
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from bertcourse import bert
from bertcourse.bert import BertForPreTraining
from bertcourse.bert.tokenizer_files import ROBERTA_SPELLING
from bertcourse.beyond_bert import Encoder, EncoderConfig, EncoderForPreTraining, load_pretrained, save_pretrained
from bertcourse.beyond_bert.encoder import MODERN

PARITY = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "studies" / "beyond_bert_parity.py"))
SIZES = dict(
    vocab_size=60,
    hidden_size=24,
    num_hidden_layers=4,
    num_attention_heads=2,
    intermediate_size=20,
    max_position_embeddings=16,
)
SMALL_MODERN = {**MODERN, "local_reach": 2}
IDS = torch.tensor([[2, 7, 8, 9, 12, 13, 14, 3], [2, 9, 11, 3, 0, 0, 0, 0]])
MASK = (IDS != 0).long()

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def made(add_pooler: bool = False, model_class: type = EncoderForPreTraining, **changes):
    torch.manual_seed(0)
    return PARITY["move"](model_class(EncoderConfig(**{**SIZES, **changes}), add_pooler), 0).eval()


@pytest.fixture(scope="module")
def byte_level() -> Tokenizer:
    """Byte-level BPE with RoBERTa's special tokens, whose <mask> takes the space before it."""
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())[:90], "Ġ", "ab", "Ġab"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("a", "b"), ("Ġ", "ab")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([*tokens[:4], AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


@pytest.fixture
def folder_of(tmp_path, small_tokenizer):
    """A folder as transformers saves a random model of a kind, and that model."""

    def make(kind: str, seed: int = 0):
        theirs = PARITY["random_model"](kind, seed, small_tokenizer)
        theirs.save_pretrained(tmp_path)
        small_tokenizer.save(str(tmp_path / "tokenizer.json"))
        return tmp_path, theirs

    return make


def edit(folder: Path, **fields) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **fields}), encoding="utf-8")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["BERT", "RoBERTa", "ModernBERT"])
def test_both_ways_random_models_compute_what_transformers_computes(kind, seed, small_tokenizer):
    found = PARITY["compare"](kind, seed, small_tokenizer)
    assert max(found["theirs to ours"]) < 1e-5 and max(found["ours to theirs"]) < 1e-5


def test_roberta_with_its_own_tokenizer_goes_both_ways(byte_level):
    found = PARITY["compare"]("RoBERTa", 7, byte_level)
    assert max(found["theirs to ours"]) < 1e-5 and max(found["ours to theirs"]) < 1e-5


@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_old_and_new_files_of_modernbert_say_the_same(folder_of, every):
    folder, _ = folder_of("ModernBERT", 10)
    settings = {"layer_types": [["full", "sliding"][layer % every > 0] + "_attention" for layer in range(5)]}
    edit(folder, **settings, local_attention=6)
    new = load_pretrained(folder)[0].config
    PARITY["write_as_on_the_hub"](folder / "config.json")
    assert load_pretrained(folder)[0].config == new
    assert [new.is_local(layer) for layer in range(5)] == [layer % every > 0 for layer in range(5)]
    assert new.local_reach == 3


def test_the_hubs_modernbert_is_read_with_its_defaults(folder_of):
    folder, _ = folder_of("ModernBERT")
    told = {"local_attention": None, "layer_types": None, "global_attn_every_n_layers": None, "rope_parameters": None}
    edit(folder, **told, global_rope_theta=None, local_rope_theta=None)
    config = load_pretrained(folder)[0].config
    assert (config.local_reach, config.global_every) == (64, 3)
    assert (config.rope_theta, config.local_rope_theta) == (160_000.0, 10_000.0)


@pytest.mark.parametrize(("kind", "class_name"), [("RoBERTa", "RobertaModel"), ("ModernBERT", "ModernBertModel")])
def test_an_encoder_alone_goes_both_ways(folder_of, small_tokenizer, kind, class_name):
    folder, with_head = folder_of(kind)
    theirs = PARITY["move"](getattr(transformers, class_name)(with_head.config), 3).eval()  # RoBERTa's has a pooler
    theirs.save_pretrained(folder)
    ours, _ = load_pretrained(folder)
    save_pretrained(ours, small_tokenizer, folder / "ours")
    back, report = transformers.AutoModel.from_pretrained(folder / "ours", output_loading_info=True)
    assert type(back).__name__ == class_name and not any(report.values())
    with torch.no_grad():
        mine, other = ours(IDS, MASK), theirs(IDS, attention_mask=MASK)
        again = back.eval()(IDS, attention_mask=MASK)
    real = MASK.bool()
    torch.testing.assert_close(mine.last_hidden_state[real], other.last_hidden_state[real], atol=1e-5, rtol=0)
    torch.testing.assert_close(mine.last_hidden_state[real], again.last_hidden_state[real], atol=1e-5, rtol=0)
    if kind == "RoBERTa":
        torch.testing.assert_close(mine.pooled, other.pooler_output, atol=1e-5, rtol=0)
    else:
        assert mine.pooled is None


def test_the_encoder_of_a_model_with_a_head_loads(folder_of):
    folder, _ = folder_of("ModernBERT", 1)
    with_head, _ = load_pretrained(folder, EncoderForPreTraining)
    assert torch.equal(load_pretrained(folder)[0](IDS, MASK)[0], with_head.bert(IDS, MASK)[0])


def test_robertas_positions_begin_after_that_of_padding(folder_of):
    folder, theirs = folder_of("RoBERTa")
    ours, _ = load_pretrained(folder)
    offset = theirs.config.pad_token_id + 1
    table = theirs.roberta.embeddings.position_embeddings.weight
    assert torch.equal(ours.embeddings.position_embeddings.weight, table[offset:])
    assert ours.config.max_position_embeddings == theirs.config.max_position_embeddings - offset


def test_a_pooler_beside_robertas_head_is_left_aside(folder_of):
    folder, _ = folder_of("RoBERTa")
    whole, _ = load_pretrained(folder, EncoderForPreTraining)
    path = folder / "model.safetensors"
    tensors, size = safetensors.torch.load_file(path), whole.config.hidden_size
    pooler = {"roberta.pooler.dense.weight": torch.ones(size, size), "roberta.pooler.dense.bias": torch.ones(size)}
    safetensors.torch.save_file({**tensors, **pooler, "roberta.embeddings.position_ids": torch.arange(9.0)}, path)
    assert torch.equal(load_pretrained(folder, EncoderForPreTraining)[0](IDS).mlm_logits, whole(IDS).mlm_logits)
    assert load_pretrained(folder)[0].pooler is not None


@pytest.mark.parametrize(
    ("changes", "add_pooler", "model_type"),
    [
        ({}, True, "bert"),
        ({}, False, "bert"),
        ({"type_vocab_size": 1}, True, "bert"),
        ({"type_vocab_size": 1}, False, "roberta"),
        ({"type_vocab_size": 1, "hidden_act": "relu"}, False, "bert"),
        (SMALL_MODERN, False, "modernbert"),
        ({**SMALL_MODERN, "bias": True, "local_reach": 0}, False, "modernbert"),
        (SMALL_MODERN, True, "bertcourse_encoder"),
        ({**SMALL_MODERN, "norm_kind": "rms"}, False, "bertcourse_encoder"),
        ({"positions": "none", "gated": True}, True, "bertcourse_encoder"),
        ({"qk_norm": True}, False, "bertcourse_encoder"),
    ],
    ids=str,
)
@pytest.mark.parametrize("model_class", [Encoder, EncoderForPreTraining])
def test_an_encoder_is_saved_as_what_it_is_and_loads_again(
    tmp_path, small_tokenizer, changes, add_pooler, model_type, model_class
):
    model = made(add_pooler, model_class, **changes)
    save_pretrained(model, small_tokenizer, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    is_roberta = changes == {"type_vocab_size": 1} and model_class is Encoder  # with a pooler, but no NSP head
    assert config["model_type"] == ("roberta" if is_roberta else model_type)
    loaded, tokenizer = load_pretrained(tmp_path, model_class)
    assert not loaded.training and tokenizer.encode("a cab").ids == small_tokenizer.encode("a cab").ids
    assert loaded.state_dict().keys() == model.state_dict().keys()
    for mine, other in zip(loaded(IDS, MASK), model(IDS, MASK)):
        assert isinstance(mine, tuple) or (mine is None and other is None) or torch.equal(mine, other)
    if model_type != "bertcourse_encoder":
        auto = transformers.AutoModelForMaskedLM if model_class is EncoderForPreTraining else transformers.AutoModel
        theirs, report = auto.from_pretrained(tmp_path, output_loading_info=True)
        new = {key.split(".")[0] for key in report["missing_keys"]}  # AutoModel adds a pooler
        unread = {key.split(".")[1] for key in report["unexpected_keys"]}  # AutoModelForMaskedLM has no NSP head
        assert new <= {"pooler"} and unread <= {"pooler", "seq_relationship"}
        with torch.no_grad():
            other = theirs.eval()(IDS, attention_mask=MASK)[0][MASK.bool()]
        torch.testing.assert_close(loaded(IDS, MASK)[0][MASK.bool()], other, atol=1e-5, rtol=0)


@pytest.mark.parametrize("field", ["local_reach", "qk_norm", "rope_theta", "another"])
def test_our_own_format_has_every_setting_and_no_other(tmp_path, small_tokenizer, field):
    save_pretrained(made(False, Encoder, qk_norm=True), small_tokenizer, tmp_path)
    path = tmp_path / "config.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({name: told[name] for name in told if name != field}), encoding="utf-8")
    if field == "another":
        edit(tmp_path, another=1)
    with pytest.raises(ValueError, match=f"each setting of EncoderConfig and no other.*{field}"):
        load_pretrained(tmp_path)


@pytest.mark.parametrize("changes", [{}, {"type_vocab_size": 1}, SMALL_MODERN], ids=["BERT", "RoBERTa", "ModernBERT"])
def test_transformers_tokenizes_as_the_tokenizer_that_we_save(tmp_path, small_tokenizer, byte_level, changes):
    for tokenizer in [small_tokenizer] if changes == {} else [small_tokenizer, byte_level]:
        model = made(**changes, pad_token_id=1, vocab_size=tokenizer.get_vocab_size())
        save_pretrained(model, tokenizer, tmp_path)
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
        for text in ("A cab.", "ab ab", "", f"ab {theirs.mask_token} b"):
            assert theirs(text)["input_ids"] == tokenizer.encode(text).ids
        roles = [getattr(theirs, f"{purpose}_token") for purpose in ROBERTA_SPELLING]
        robertas = list(ROBERTA_SPELLING.values())
        assert roles == (robertas if tokenizer is byte_level else ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])


def test_chapter_twos_bert_and_this_chapters_read_each_others_files(tmp_path, small_config, small_tokenizer):
    plain = BertForPreTraining(small_config).eval()
    save_pretrained(plain, small_tokenizer, tmp_path / "one")
    ours, _ = load_pretrained(tmp_path / "one", EncoderForPreTraining)
    save_pretrained(ours, small_tokenizer, tmp_path / "two")
    again, _ = bert.load_pretrained(tmp_path / "two", BertForPreTraining)
    for model in (ours, again):
        torch.testing.assert_close(model(IDS, MASK), plain(IDS, MASK), atol=1e-6, rtol=0)
    files = [(tmp_path / name / "config.json").read_text(encoding="utf-8") for name in ("one", "two")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("RoBERTa", {"model_type": "electra"}, "model_type must be one of .*'electra'"),
        ("RoBERTa", {"model_type": None}, "model_type"),
        ("RoBERTa", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ("RoBERTa", {"is_decoder": True}, "is_decoder"),
        ("RoBERTa", {"tie_word_embeddings": False}, "tie_word_embeddings"),
        ("RoBERTa", {"hidden_act": "relu"}, "hidden_act"),
        ("RoBERTa", {"max_position_embeddings": 1}, "max_position_embeddings"),
        ("RoBERTa", {"hidden_size": "16"}, "hidden_size"),
        ("RoBERTa", {"num_attention_heads": None}, "num_attention_heads missing"),
        ("RoBERTa", {"num_hidden_layers": 2}, "left over"),
        ("RoBERTa", {"vocab_size": 40}, "vocab_size"),
        ("RoBERTa", {"vocab_size": 10**12}, "word_embeddings.weight has shape"),
        ("ModernBERT", {"tie_word_embeddings": False}, "tie_word_embeddings"),
        ("ModernBERT", {"decoder_bias": False}, "decoder_bias"),
        ("ModernBERT", {"mlp_bias": False}, "biases"),
        ("ModernBERT", {"mlp_dropout": 0.3}, "mlp_dropout"),
        ("ModernBERT", {"classifier_activation": "silu"}, "classifier_activation"),
        ("ModernBERT", {"hidden_activation": "silu", "classifier_activation": "silu"}, "hidden_act"),
        ("ModernBERT", {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_type.*'yarn'"),
        ("ModernBERT", {"rope_parameters": [1]}, "config.json"),
        ("ModernBERT", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_type.*'linear'"),
        ("ModernBERT", {"layer_types": ["sliding_attention"] * 3}, "layer_types"),
        ("ModernBERT", {"layer_types": ["full_attention"]}, "layer_types"),
        ("ModernBERT", {"local_attention": 1, "layer_types": None}, "local_attention"),
        ("ModernBERT", {"global_attn_every_n_layers": 0, "layer_types": None}, "global_every"),
        ("ModernBERT", {"intermediate_size": 7}, "Wi.weight has shape"),
    ],
    ids=str,
)
def test_another_model_is_refused(folder_of, kind, fields, message):
    folder, _ = folder_of(kind)
    load_pretrained(folder)  # but for these fields it loads
    edit(folder, **fields)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder)


@pytest.mark.parametrize(("kind", "decoder"), [("RoBERTa", "lm_head.decoder.weight"), ("ModernBERT", "decoder.weight")])
def test_a_decoder_of_its_own_is_refused_and_a_copy_is_not(folder_of, kind, decoder):
    folder, theirs = folder_of(kind)
    path = folder / "model.safetensors"
    tensors, words = safetensors.torch.load_file(path), theirs.get_input_embeddings().weight.detach()
    safetensors.torch.save_file({**tensors, decoder: words.clone()}, path)
    load_pretrained(folder, EncoderForPreTraining)
    safetensors.torch.save_file({**tensors, decoder: words + 1}, path)
    with pytest.raises(ValueError, match=rf"{decoder} must equal"):
        load_pretrained(folder, EncoderForPreTraining)


def test_an_encoder_without_a_head_is_not_loaded_as_one_with(tmp_path, small_tokenizer):
    save_pretrained(made(model_class=Encoder, **SMALL_MODERN), small_tokenizer, tmp_path)
    with pytest.raises(ValueError, match=r"head.dense.weight is missing.*load_pretrained\(name, Encoder\)"):
        load_pretrained(tmp_path, EncoderForPreTraining)


@pytest.mark.parametrize("token", ["<s>", "<unk>", "<mask>"])
def test_a_tokenizer_without_a_special_token_is_refused(tmp_path, byte_level, token):
    save_pretrained(made(type_vocab_size=1, pad_token_id=1, vocab_size=99), byte_level, tmp_path)
    content = (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(content.replace(token, "<other>"), encoding="utf-8")
    with pytest.raises(ValueError, match=f"special tokens.*missing: .*{'CLS' if token == '<s>' else token}"):
        load_pretrained(tmp_path, EncoderForPreTraining)


def test_a_bert_is_not_saved_with_robertas_special_tokens(tmp_path, byte_level):
    with pytest.raises(ValueError, match=r"missing: \[UNK\]"):
        save_pretrained(made(vocab_size=99), byte_level, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("changes", [{"type_vocab_size": 1}, SMALL_MODERN, {"gated": True}], ids=str)
def test_chapter_twos_loader_says_who_loads_it(tmp_path, small_tokenizer, changes):
    save_pretrained(made(**changes), small_tokenizer, tmp_path)
    with pytest.raises(ValueError, match=r"model_type.*bertcourse\.beyond_bert\.load_pretrained"):
        bert.load_pretrained(tmp_path)
