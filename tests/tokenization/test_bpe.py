"""Byte-pair encoding: worked examples, the lecture's loop and the fast one, Hugging Face's merges, round trips."""

import json
import random
import unicodedata
from collections import Counter

import pytest
import regex
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from bertcourse.tokenization import (
    BPETokenizer,
    ByteLevelBPETokenizer,
    UnigramTokenizer,
    apply_merges,
    bpe_fast,
    byte_words,
    count_words,
    learn_merges,
    mark_words,
    train_bpe,
)
from bertcourse.tokenization.byte_level import GPT2_WORD, gpt2_word
from tokenization.twins import assert_equals_twin, twin_of

TEXTS = [
    "The tokenizer sees the text, and the text sees nothing: they're 1,024 tokens of the other's tokens.",
    "Donaudampfschifffahrtsgesellschaft, naïve café, 東京 — 😀!   tabs\tand\nnewlines",
    "aaaa aaab banana bananas anananas",
] * 3


def random_corpus(generator: random.Random, letters: str = "abc") -> dict[str, int]:
    """Up to 30 words of up to 12 of few letters, so that ties and overlaps abound."""
    words = {"".join(generator.choices(letters, k=generator.randint(1, 12))) for _ in range(generator.randint(1, 30))}
    return {word: generator.randint(1, 5) for word in sorted(words)}


def reference_merges(word_counts: dict[str, int], num_merges: int) -> list[tuple[str, str]]:
    """What Hugging Face's trainer merges."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    size = len(set("".join(word_counts))) + num_merges
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False)
    tokenizer.train_from_iterator([f"{word} " * count for word, count in word_counts.items()], trainer)
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


@pytest.mark.parametrize("train", [learn_merges, train_bpe])
def test_aaabdaaabac_becomes_XdXac(train):
    text = "aaabdaaabac"
    for (left, right), name in zip(train({text: 1}, 3), "ZYX"):
        text = text.replace(left.replace("aa", "Z").replace("ab", "Y") + right.replace("ab", "Y"), name)
    assert text == "XdXac"


@pytest.mark.parametrize("train", [learn_merges, train_bpe])
def test_context_is_whole_before_texting(train):
    made = ["".join(pair) for pair in train({"text_": 9, "texting_": 10, "context_": 11}, 99)]
    assert [token for token in made if token in ("text_", "texting_", "context_")] == ["text_", "context_", "texting_"]


def test_the_fast_form_makes_the_merges_of_the_definition():
    generator = random.Random(0)
    for _ in range(300):
        corpus = random_corpus(generator, generator.choice(["ab", "abc", "abcdefgh"]))
        num_merges = generator.randint(0, 40)
        assert train_bpe(corpus, num_merges) == learn_merges(corpus, num_merges), corpus


def test_equals_hugging_face_on_words_of_many_letters():
    generator = random.Random(1)
    for _ in range(100):
        corpus = random_corpus(generator, "abcdefghijklmnop")
        merges = reference_merges(corpus, 25)
        assert train_bpe(corpus, vocab_size=len(set("".join(corpus))) + 25) == merges, corpus


def test_equals_hugging_face_on_text():
    words = count_words(TEXTS)
    merges = train_bpe(words, 200)
    assert merges == reference_merges(words, len(merges))
    ours = BPETokenizer(merges, alphabet=set("".join(words)))
    theirs = twin_of(ours)
    for text in [*TEXTS, "unseen words, unseen ☃ letters", "", "   ", "a\x1cb\u3000c"]:
        got, expected = ours.encode(text), theirs.encode(text)
        assert (got.ids, got.tokens) == (expected.ids, expected.tokens)


def test_vocabulary_is_specials_characters_merges():
    tokenizer = BPETokenizer([("b", "a"), ("ba", "b")], "z", ["[UNK]"])
    assert tokenizer.tokens == ["[UNK]", "a", "b", "z", "ba", "bab"]


def test_prefix_makes_wordpieces():
    assert train_bpe({"abab": 2}, 3, prefix="##") == [("a", "##b"), ("##a", "##b"), ("ab", "##ab")]


def test_long_words_are_merged_as_short_ones():
    generator = random.Random(2)
    for _ in range(200):
        corpus = random_corpus(generator, "ab")
        ranks = {pair: rank for rank, pair in enumerate(train_bpe(corpus, 20))}
        word = generator.choices("abc", k=40)
        assert apply_merges(list(word), ranks) == bpe_fast.apply_merges_to_long_word(list(word), ranks)


def test_marker_stands_for_the_space_and_slices_to_nothing():
    tokenizer = BPETokenizer([("a", "b")], alphabet="▁c")
    encoding = tokenizer.encode("ab  cab")
    assert encoding.tokens == ["▁", "ab", "▁", "c", "ab"]
    assert encoding.offsets == [(0, 0), (0, 2), (4, 4), (4, 5), (5, 7)]
    assert encoding.word_ids == [0, 0, 1, 1, 1]
    assert tokenizer.decode(encoding.ids) == "ab cab"


@settings(deadline=None)
@given(st.text(alphabet="abc▁z \n\u3000😀", max_size=40))
def test_offsets_slice_the_text(text):
    encoding = BPETokenizer([("a", "b"), ("▁", "c"), ("▁c", "ab")], alphabet="▁😀").encode(text)
    for token, (start, end) in zip(encoding.tokens, encoding.offsets):
        marks_a_gap = token.startswith("▁") and not text[start:end].startswith("▁")
        assert token == "[UNK]" or text[start:end] == (token[1:] if marks_a_gap else token)


def test_unknown_characters():
    assert BPETokenizer([("a", "b")]).tokenize("abz") == ["[UNK]", "ab", "[UNK]"]
    encoding = BPETokenizer([("a", "b")], special_tokens=(), unknown_token=None).encode("zzabz zz ab")
    assert (encoding.tokens, encoding.offsets, encoding.word_ids) == (["ab", "ab"], [(2, 4), (9, 11)], [0, 1])


@pytest.fixture(scope="module")
def byte_level() -> ByteLevelBPETokenizer:
    return ByteLevelBPETokenizer(train_bpe(Counter(word for text in TEXTS for word in byte_words(text)), 150))


@settings(deadline=None)
@given(st.text())
@example("")
@example("a\x00\u2028 \ufeff<|endoftext|>é\n\n ")
def test_bytes_round_trip_any_text(byte_level, text):
    assert byte_level.decode(byte_level.encode_ids(text)) == text


@settings(deadline=None)
@given(st.text())
def test_byte_offsets_cover_the_text(byte_level, text):
    encoding, reached = byte_level.encode(text), 0
    assert encoding.ids == byte_level.encode_ids(text)
    for start, end in encoding.offsets:
        assert reached - 1 <= start <= reached <= end
        reached = end
    assert reached == len(text)


def test_byte_words_are_gpt2s():
    assert byte_words("I've  20 naïve€") == ["I", "'ve", "Ġ", "Ġ20", "ĠnaÃ¯ve", "âĤ¬"]
    reference = pre_tokenizers.ByteLevel(add_prefix_space=False)
    generator = random.Random(3)
    letters = [
        chr(code) for code in range(0x590) if unicodedata.category(chr(code)) != "Cn" and not 0x1C <= code < 0x20
    ]
    alphabet = [*letters, *"  \n\t'st're²½٣東\u3000\u200d😀"]
    for _ in range(3000):
        text = "".join(generator.choices(alphabet, k=20))
        assert byte_words(text) == [word for word, _ in reference.pre_tokenize_str(text)], ascii(text)


@pytest.mark.slow
def test_every_character_is_letter_number_or_neither_as_in_tokenizers(weekly):
    """Between a letter and a number: one word with the first, the second, or neither. Every seventh, or weekly each."""
    reference = pre_tokenizers.ByteLevel(add_prefix_space=False)
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    characters = characters if weekly else characters[::7]
    for start in range(0, len(characters), 1000):
        text = "".join(f"a{c}1" for c in characters[start : start + 1000])
        assert byte_words(text) == [word for word, _ in reference.pre_tokenize_str(text)], f"from {start:X}"


def test_byte_level_equals_tokenizers(byte_level):
    theirs = twin_of(byte_level)
    for text in [*TEXTS, "unseen ☃ <|endoftext|> text", "", "\x00"]:
        got, expected = byte_level.encode(text), theirs.encode(text)
        assert (got.ids, got.tokens) == (expected.ids, expected.tokens)


@pytest.mark.parametrize("kind", ["words", "bytes", "unigram"])
def test_offsets_and_words_equal_tokenizers(kind, byte_level):
    pieces = [(token, -1.0 - len(token)) for token in ["▁", *"theanfy,", "th", "he", "the", "▁the", "an", "na", "▁t"]]
    ours = {
        "words": BPETokenizer(train_bpe(count_words(TEXTS), 60)),
        "bytes": byte_level,
        "unigram": UnigramTokenizer(pieces),
    }[kind]
    theirs, generator = twin_of(ours), random.Random(4)
    parts = [
        "the",
        "an",
        "fan",
        "▁",
        "▁the",
        " ",
        " ",
        "  ",
        "\n",
        "\u3000",
        "é",
        "😀",
        "東",
        ",",
        "[UNK]",
        "<|endoftext|>",
    ]
    for _ in range(2000):
        assert_equals_twin(ours, theirs, "".join(generator.choices(parts, k=generator.randrange(12))))


@pytest.mark.parametrize(
    "make",
    [
        lambda special: BPETokenizer([("a", "b")], alphabet="▁c", special_tokens=["[UNK]", *special]),
        lambda special: ByteLevelBPETokenizer([("a", "b")], special_tokens=special),
        lambda special: UnigramTokenizer([("▁", -1.0), ("a", -1.0), ("b", -1.0)], special_tokens=["[UNK]", *special]),
    ],
)
def test_special_tokens_with_spaces_are_found(make):
    ours = make(["<a b>", "end of text"])
    theirs = twin_of(ours)
    for text in ["ab <a b>c", "<a b> <a b>", "a end  of text", "cend of text", "abc"]:
        assert_equals_twin(ours, theirs, text)
    assert "<a b>" in ours.tokenize("ab <a b>c")


def test_a_word_that_begins_with_the_marker_gets_no_second():
    assert mark_words("▁a b") == ["▁a", "▁b"]
    assert BPETokenizer([("▁", "a")]).tokenize("▁a a") == ["▁a", "▁a"]


def test_linear_time_is_told_from_quadratic(assert_linear_time):
    assert_linear_time(lambda text: sum(1 for _ in text), "x" * 100_000)
    with pytest.raises(AssertionError, match="6000 characters"):
        assert_linear_time(lambda text: sum(1 for _ in text for _ in text), "x" * 6000)


@pytest.mark.parametrize(
    "text",
    [pytest.param("x" * 200_000, marks=pytest.mark.weekly), "the" * 30_000, "e" + "\u0301" * 100_000, "\x00" * 1000],
)
def test_odd_texts_take_linear_time(byte_level, text, assert_linear_time):
    words = BPETokenizer(train_bpe(count_words(TEXTS), 50))
    assert_linear_time(words.encode_ids, text)
    assert_linear_time(byte_level.encode_ids, text)
    assert len(words.encode_ids(text)) > 0
    assert byte_level.decode(byte_level.encode_ids(text)) == text


@pytest.mark.parametrize(
    "texts, error, message",
    [
        ("a text", TypeError, "got one str"),
        ([b"a"], TypeError, "got bytes"),
        (["a", None], TypeError, "got NoneType"),
        (["\ud800"], ValueError, "surrogate"),
    ],
)
def test_only_texts_are_counted(texts, error, message):
    with pytest.raises(error, match=message):
        count_words(texts)


def test_bad_text_and_ids_are_refused(byte_level):
    with pytest.raises(TypeError, match="must be a str"):
        byte_level.encode(b"bytes")
    with pytest.raises(ValueError, match="lone surrogate"):
        byte_level.encode("\udfff")
    with pytest.raises(ValueError, match="from 0 to"):
        byte_level.decode([10**6])


def test_gpt2_words_lose_nothing():
    text = "".join(TEXTS) + " \n\n x  "
    assert "".join(gpt2_word().findall(text)) == text
    assert regex.findall(GPT2_WORD, text) == gpt2_word().findall(text)  # which the lecture shows
