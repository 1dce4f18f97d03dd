"""Word vectors: which tokens, which layers, which window."""

import numpy as np
import pytest
import torch

from bertcourse.bert import encode_batch
from bertcourse.bert.windows import best_window, window_starts
from bertcourse.word_senses import word_vectors

SENTENCES = [["ab", "c", "abc"], ["d"], ["a b", "cd", "ef", "g"], ["e"] * 9]


def hidden_states(model, tokenizer, text: str) -> torch.Tensor:
    """(layers + 1, tokens, D) of one sentence, without [CLS] and [SEP]."""
    with torch.inference_mode():
        return torch.stack(model(*encode_batch(tokenizer, [text])).hidden_states)[:, 0, 1:-1]


def plain_word_vectors(model, tokenizer, words: list[str], layers=(-4, -3, -2, -1)) -> np.ndarray:
    """(n, D), one sentence: add up layers, take the mean over a word's tokens."""
    encoding = tokenizer.encode(words, is_pretokenized=True)  # [CLS] and [SEP] have word None
    with torch.inference_mode():
        hidden_states = model(torch.tensor([encoding.ids])).hidden_states
    states = sum(hidden_states[layer][0] for layer in layers)  # (L, D)
    vectors = []
    for word in range(len(words)):
        tokens = [position for position, of_word in enumerate(encoding.word_ids) if of_word == word]
        vectors.append(states[tokens].mean(dim=0))
    return torch.stack(vectors).numpy()


@pytest.mark.parametrize("layers", [(-2, -1), (0,), (0, 1, 2)])
def test_equals_the_plain_algorithm(small_model, small_tokenizer, layers):
    vectors = word_vectors(small_model, small_tokenizer, SENTENCES, layers)
    for sentence, found in zip(SENTENCES, vectors):
        np.testing.assert_allclose(found, plain_word_vectors(small_model, small_tokenizer, sentence, layers), atol=1e-5)


def test_equals_the_plain_algorithm_on_minilm(minilm):
    sentences = ["The antidisestablishmentarians die hard .".split(), ["A", "fair", "die", "has", "no", "memory", "."]]
    for sentence, found in zip(sentences, word_vectors(*minilm, sentences)):
        np.testing.assert_allclose(found, plain_word_vectors(*minilm, sentence), atol=1e-4)


def test_a_word_is_the_mean_of_its_tokens_and_the_sum_of_its_layers(small_model, small_tokenizer):
    vectors = word_vectors(small_model, small_tokenizer, SENTENCES, layers=(-2, -1))
    states = hidden_states(small_model, small_tokenizer, "ab c abc")[-2:].sum(0)
    assert [len(each) for each in vectors] == [3, 1, 4, 9]
    np.testing.assert_allclose(vectors[0][0], states[:2].mean(0), atol=1e-5)
    np.testing.assert_allclose(vectors[0][1], states[2], atol=1e-5)
    np.testing.assert_allclose(vectors[0][2], states[3:].mean(0), atol=1e-5)


def test_a_span_of_several_words_is_the_mean_of_its_tokens(small_model, small_tokenizer):
    vectors = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[1])
    states = hidden_states(small_model, small_tokenizer, "a b cd ef g")[1]
    np.testing.assert_allclose(vectors[2][0], states[:2].mean(0), atol=1e-5)
    np.testing.assert_allclose(vectors[2][1], states[2:4].mean(0), atol=1e-5)


def test_layers_are_kept_apart_or_added_up(small_model, small_tokenizer):
    apart, together = (
        word_vectors(small_model, small_tokenizer, SENTENCES, (0, 2), pooling).array for pooling in ("stack", "sum")
    )
    assert apart.shape == (17, 2, 24)
    np.testing.assert_allclose(apart.sum(1), together, atol=1e-5)


def test_batches_and_padding_change_nothing(small_model, small_tokenizer):
    together = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1]).array
    alone = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1], max_tokens=1).array
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_only_some_words(small_model, small_tokenizer):
    every = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1])
    some = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1], only=[[2, 0], [], [1], [8]])
    assert [len(each) for each in some] == [2, 0, 1, 1]
    np.testing.assert_allclose(some.array, np.stack([every[0][2], every[0][0], every[2][1], every[3][8]]), atol=1e-5)


def test_sentences_without_words_have_no_vectors(small_model, small_tokenizer):
    vectors = word_vectors(small_model, small_tokenizer, [[], ["a"], []], layers=[-1])
    assert [each.shape for each in vectors] == [(0, 24), (1, 24), (0, 24)]
    assert len(word_vectors(small_model, small_tokenizer, [], layers=[-1])) == 0
    assert vectors[-2].shape == (1, 24) and len(vectors[:2]) == 2
    with pytest.raises(IndexError):
        vectors[3]


def test_a_word_of_a_sentence_longer_than_the_model_is_read_with_most_text_around_it(small_model, small_tokenizer):
    words = [*"abcdefg"] * 10  # the model has 32 positions: windows of 30 tokens that overlap by 15
    vectors = word_vectors(small_model, small_tokenizer, [words, ["b"]], [-1])[0]
    starts = window_starts(70, 30, 15)
    for i in range(70):
        start = starts[best_window(starts, 30, 70, i, i + 1)]
        expected = hidden_states(small_model, small_tokenizer, " ".join(words[start : start + 30]))[-1, i - start]
        np.testing.assert_allclose(vectors[i], expected, atol=1e-5)


@pytest.mark.parametrize("setting", ["enable_padding", "enable_truncation"])
def test_a_tokenizer_that_pads_or_truncates_changes_nothing(small_model, small_tokenizer, setting):
    """The model would read padding as if it were text, or miss what is cut off."""
    expected = word_vectors(small_model, small_tokenizer, SENTENCES, [1]).array
    getattr(small_tokenizer, setting)(*([4] if setting == "enable_truncation" else []))
    np.testing.assert_array_equal(word_vectors(small_model, small_tokenizer, SENTENCES, [1]).array, expected)


def test_a_word_that_gives_no_token_is_named(small_model, small_tokenizer):
    with pytest.raises(ValueError, match="word 1 of sentence 0"):
        word_vectors(small_model, small_tokenizer, [["a", " "]], [1])


def test_equals_transformers_on_minilm(minilm):
    transformers = pytest.importorskip("transformers")
    from bertcourse.bert import find_folder

    model, tokenizer = minilm
    theirs = transformers.AutoModel.from_pretrained(find_folder("minilm")).eval()
    words = ["The", "mouse", "ran", "up", "the", "antidisestablishmentarianism", "clock", "."]
    encoding = transformers.AutoTokenizer.from_pretrained(find_folder("minilm"))(
        words, is_split_into_words=True, return_tensors="pt"
    )
    with torch.inference_mode():
        states = torch.stack(theirs(**encoding, output_hidden_states=True).hidden_states[-4:]).sum(0)[0]
    expected = [
        states[[i for i, word in enumerate(encoding.word_ids()) if word == w]].mean(0).numpy()
        for w in range(len(words))
    ]
    np.testing.assert_allclose(word_vectors(model, tokenizer, [words])[0], expected, atol=1e-4)
