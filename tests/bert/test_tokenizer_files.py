"""Tokenizers' files: vocab.txt says what transformers reads in it; what is no BERT's is refused."""

import json
import shutil
from pathlib import Path

import pytest
import tokenizers
import transformers
from tokenizers import normalizers

from bertcourse.bert import BertConfig, BertForPreTraining, BertModel, find_folder, load_pretrained, save_pretrained
from bertcourse.bert.tokenizer_files import read_tokenizer

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def test_vocab_txt_alone_makes_the_same_tokenizer(minilm, tmp_path):
    shutil.copy(find_folder("minilm") / "vocab.txt", tmp_path)
    tokenizer = read_tokenizer(tmp_path)
    reference = transformers.BertTokenizer.from_pretrained(find_folder("minilm"))
    for text in ["The naïve café's menu, in 2 parts!", "untranslatable 東京 [MASK] ##ing", "", "Straße\u200b\ttab"]:
        assert tokenizer.encode(text).ids == minilm[1].encode(text).ids == reference(text)["input_ids"]
    assert tokenizer.encode("a", "b").type_ids == [0, 0, 0, 1, 1]
    assert tokenizer.decode(tokenizer.encode("untranslatable words").ids) == "untranslatable words"


def test_a_cased_vocabulary_keeps_case(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nYes\nyes\n", encoding="utf-8")
    assert read_tokenizer(tmp_path).encode("Yes").tokens == ["[CLS]", "yes", "[SEP]"]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    assert read_tokenizer(tmp_path).encode("Yes").tokens == ["[CLS]", "Yes", "[SEP]"]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": null}', encoding="utf-8")
    assert read_tokenizer(tmp_path).encode("Yes").tokens == ["[CLS]", "yes", "[SEP]"]


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
    assert read_tokenizer(vocabulary).encode(text).ids == reference(text)["input_ids"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "tokenizer_config.json",
            '{"tokenizer_class": "BertJapaneseTokenizer"}',
            "tokenizer_class .* 'BertJapaneseTokenizer'",
        ),
        ("tokenizer_config.json", "{", "tokenizer_config.json"),
        ("tokenizer_config.json", b'{"a": "\xff"}', "tokenizer_config.json.*decode"),
        (
            "added_tokens.json",
            '{"<tag>": 10}',
            "added_tokens.json.*'<tag>'",
        ),
        ("vocab.txt", b"[UNK]\n\xff\n", "vocab.txt.*UTF-8"),
        ("vocab.txt", "[UNK]\n\na\n", "vocab.txt.*empty"),
        ("vocab.txt", "[UNK]\na\na\n", "vocab.txt.*'a'"),
    ],
)
def test_what_vocab_txt_cannot_say_is_refused(vocabulary, file, content, message):
    (vocabulary / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_tokenizer(vocabulary)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tokenizer_config.json", {"additional_special_tokens": ["cafe"]}),
        ("tokenizer_config.json", {"extra_special_tokens": {"place": "cafe"}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"5": {"content": "cafe", "special": True}}}),
        ("tokenizer_config.json", {"unk_token": "cafe"}),
        ("special_tokens_map.json", {"mask_token": {"content": "cafe"}}),
        ("added_tokens.json", {"cafe": 5}),
    ],
    ids=str,
)
def test_special_tokens_other_than_berts_are_refused(vocabulary, file, content):
    (vocabulary / file).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"special tokens must be \[PAD\].*got 'cafe'.*save it again"):
        read_tokenizer(vocabulary)


def test_berts_own_special_tokens_may_be_named(vocabulary):
    named = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
    decoder = {str(i): {"content": token, "special": True} for i, token in enumerate(named.values())}
    (vocabulary / "special_tokens_map.json").write_text(json.dumps(named), encoding="utf-8")
    settings = {**named, "added_tokens_decoder": decoder, "additional_special_tokens": None}
    (vocabulary / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert read_tokenizer(vocabulary).encode("cafe").tokens == ["[CLS]", "cafe", "[SEP]"]


def test_added_tokens_that_vocab_txt_has_change_nothing(vocabulary):
    (vocabulary / "added_tokens.json").write_text('{"[MASK]": 4}', encoding="utf-8")
    assert read_tokenizer(vocabulary).encode("[MASK]").ids == [2, 4, 3]


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
    with pytest.raises(ValueError, match=r"ids.*\[unused\d\]"):
        save_pretrained(small_model, tokenizer, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_minilms_tokenizer_neither_pads_nor_truncates(minilm):
    _, tokenizer = minilm
    assert len(tokenizer.encode("one")) == 3
    assert len(tokenizer.encode("word " * 1000)) == 1002


def test_a_tokenizer_too_large_for_the_model_is_refused(tmp_path, small_config, small_tokenizer):
    model = BertModel(BertConfig(**{**small_config.__dict__, "vocab_size": 40}))
    with pytest.raises(ValueError, match="49.* vocab_size of 40"):
        save_pretrained(model, small_tokenizer, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_few_tokens_with_large_ids_are_refused(saved):
    folder, _ = saved
    large = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "a": 60}, unk_token="[UNK]"))
    large.save(str(folder / "tokenizer.json"))
    with pytest.raises(ValueError, match="60.* vocab_size of 60"):
        load_pretrained(folder)


def test_a_folder_without_tokenizer_or_special_tokens_is_refused(saved):
    folder, _ = saved
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab.txt.*\[UNK\]"):
        load_pretrained(folder)
    (folder / "vocab.txt").write_text("[UNK]\nb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"missing: \[CLS\], \[SEP\]"):
        load_pretrained(folder)
    (folder / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match="tokenizer.json or vocab.txt"):
        load_pretrained(folder)


@pytest.mark.parametrize("token", ["[UNK]", "[CLS]", "[SEP]", "[MASK]"])
def test_a_tokenizer_without_a_special_token_is_refused(saved, token):
    folder, _ = saved
    content = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(content.replace(token, "<other>"), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"missing: \[{token[1:-1]}\]"):
        load_pretrained(folder, BertForPreTraining)


def test_a_tokenizer_that_adds_no_special_tokens_is_neither_saved_nor_loaded(saved, small_tokenizer):
    folder, model = saved
    whole = (folder / "tokenizer.json").read_text(encoding="utf-8")
    small_tokenizer.post_processor = tokenizers.processors.ByteLevel()
    with pytest.raises(ValueError, match=r"becomes \[\]"):
        save_pretrained(model, small_tokenizer, folder)
    assert (folder / "tokenizer.json").read_text(encoding="utf-8") == whole
    small_tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(ValueError, match=r"model: .* \[CLS\]"):
        load_pretrained(folder)
