"""Word vectors: which tokens, which layers, which window; kept, gone on with, refused when cut short."""

import errno
import json
import threading
import warnings

import numpy as np
import pytest
import torch

from bertcourse.bert import encode_batch
from bertcourse.word_senses import vectors as embeddings
from bertcourse.word_senses import word_vectors
from bertcourse.word_senses.vectors import best_window, check_layers, window_starts

SENTENCES = [["ab", "c", "abc"], ["d"], ["a b", "cd", "ef", "g"], ["e"] * 9]


def hidden_states(model, tokenizer, text: str) -> torch.Tensor:
    """(layers + 1, tokens, D) of one sentence, without [CLS] and [SEP]."""
    with torch.inference_mode():
        return torch.stack(model(*encode_batch(tokenizer, [text]), output_hidden_states=True).hidden_states)[:, 0, 1:-1]


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


def test_poolings_say_the_same(small_model, small_tokenizer):
    results = {
        pooling: word_vectors(small_model, small_tokenizer, SENTENCES, (0, 2), pooling).array
        for pooling in embeddings.POOLINGS
    }
    assert results["stack"].shape == (17, 2, 24) and results["concat"].shape == (17, 48)
    np.testing.assert_allclose(results["stack"].sum(1), results["sum"], atol=1e-5)
    np.testing.assert_allclose(results["stack"].mean(1), results["mean"], atol=1e-5)
    np.testing.assert_array_equal(results["stack"].reshape(17, 48), results["concat"])


def test_batches_and_padding_change_nothing(small_model, small_tokenizer):
    together = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1]).array
    alone = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1], max_tokens=1).array
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_only_some_words(small_model, small_tokenizer):
    every = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1])
    some = word_vectors(small_model, small_tokenizer, SENTENCES, layers=[-1], only=[[2, 0], [], [1], [8]])
    assert [len(each) for each in some] == [2, 0, 1, 1]
    np.testing.assert_allclose(some.array, np.stack([every[0][2], every[0][0], every[2][1], every[3][8]]), atol=1e-5)


def test_sentences_without_words_have_no_vectors(small_model, small_tokenizer, tmp_path):
    vectors = word_vectors(small_model, small_tokenizer, [[], ["a"], []], layers=[-1])
    assert [each.shape for each in vectors] == [(0, 24), (1, 24), (0, 24)]
    assert word_vectors(small_model, small_tokenizer, [], layers=[-1]).array.shape == (0, 24)
    assert word_vectors(small_model, small_tokenizer, [[]], layers=[-1], cache=tmp_path).array.shape == (0, 24)
    assert not list(tmp_path.iterdir())
    assert vectors[-2].shape == (1, 24) and len(vectors[:2]) == 2
    with pytest.raises(IndexError):
        vectors[3]


def test_windows_cover_a_text_and_a_word_takes_the_one_with_most_context():
    assert window_starts(length=25, size=10, overlap=5) == [0, 5, 10, 15]
    assert window_starts(length=12, size=10, overlap=0) == [0, 2]
    starts = window_starts(length=25, size=10, overlap=5)
    assert [best_window(starts, 10, 25, i, i + 1) for i in (0, 6, 7, 8, 12, 13, 18, 24)] == [0, 0, 0, 1, 1, 2, 3, 3]


def test_windows_equal_the_whole_where_position_and_context_do_not_matter(small_model, small_tokenizer):
    """Layer 0 sees no context; with its positions at zero, a window gives what the whole gives."""
    torch.nn.init.zeros_(small_model.embeddings.position_embeddings.weight)
    sentence = [list("abcdefghijklmnopqrst") + ["abc"]]
    whole = word_vectors(small_model, small_tokenizer, sentence, layers=[0]).array
    for max_length, overlap in ((3, 0), (8, 3), (12, None), (24, 5)):
        cut = word_vectors(small_model, small_tokenizer, sentence, [0], max_length=max_length, overlap=overlap).array
        matters = slice(None) if max_length > 6 else slice(20)  # "abc" does not fit into a window of one token
        np.testing.assert_allclose(cut[matters], whole[matters], atol=1e-6)


def test_a_window_reads_what_it_holds_and_no_more(small_model, small_tokenizer):
    words = list("abcdefghijkl")
    vectors = word_vectors(small_model, small_tokenizer, [words], [-1], max_length=8, overlap=3)[0]
    starts = window_starts(12, 6, 3)
    for i in range(12):
        start = starts[best_window(starts, 6, 12, i, i + 1)]
        expected = hidden_states(small_model, small_tokenizer, " ".join(words[start : start + 6]))[-1, i - start]
        np.testing.assert_allclose(vectors[i], expected, atol=1e-5)


def test_a_sentence_longer_than_the_model_is_read(small_model, small_tokenizer):
    vectors = word_vectors(small_model, small_tokenizer, [["a"] * 100, ["b"]], layers=[-1])
    assert vectors[0].shape == (100, 24) and np.isfinite(vectors.array).all()


def test_cache_is_found_again(small_model, small_tokenizer, tmp_path, monkeypatch):
    plain = word_vectors(small_model, small_tokenizer, SENTENCES, dtype="float16", layers=[1, 2])
    first = word_vectors(small_model, small_tokenizer, SENTENCES, dtype="float16", layers=[1, 2], cache=tmp_path)
    assert isinstance(first.array, np.memmap) and first.array.dtype == np.float16
    np.testing.assert_array_equal(first.array, plain.array)
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]
    monkeypatch.setattr(embeddings, "batch_vectors", lambda *_: pytest.fail("computed again"))
    again = word_vectors(small_model, small_tokenizer, SENTENCES, dtype="float16", layers=[1, 2], cache=tmp_path)
    np.testing.assert_array_equal(again.array, plain.array)


def test_another_model_text_or_setting_has_a_file_of_its_own(small_model, small_tokenizer, tmp_path):
    def compute(**settings):
        word_vectors(
            small_model, small_tokenizer, settings.pop("text", SENTENCES), cache=tmp_path, **{"layers": [1], **settings}
        )
        return len(list(tmp_path.iterdir()))

    assert compute() == compute(layers=(-2,)) == compute(layers=np.array([1])) == 1
    assert compute(layers=[2]) == 2
    assert compute(pooling="concat") == 3
    assert compute(dtype="float16") == 4
    assert compute(text=[*SENTENCES[:3], ["e"] * 8 + ["f"]]) == 5
    assert compute(only=[[0]] * 4) == 6
    with torch.no_grad():
        small_model.encoder.blocks[0].attention.query.bias[0] += 1
    assert compute() == 7


def interrupted(model, tokenizer, folder, monkeypatch, after: int) -> None:
    """A run with batches of one sentence that is stopped by Ctrl-C in batch ``after`` + 1."""
    compute, calls = embeddings.batch_vectors, []

    def until(*arguments):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(1)
        return compute(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(embeddings, "batch_vectors", until)
        with pytest.raises(KeyboardInterrupt):
            word_vectors(model, tokenizer, SENTENCES, [-1], max_tokens=1, cache=folder)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupted_run_goes_on_without_computing_again(small_model, small_tokenizer, tmp_path, monkeypatch, after):
    interrupted(small_model, small_tokenizer, tmp_path, monkeypatch, after)
    compute, calls = embeddings.batch_vectors, []
    monkeypatch.setattr(embeddings, "batch_vectors", lambda *arguments: calls.append(1) or compute(*arguments))
    vectors = word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)
    assert len(calls) == 4 - after
    np.testing.assert_allclose(
        vectors.array, word_vectors(small_model, small_tokenizer, SENTENCES, [-1]).array, atol=1e-5
    )
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]


def test_of_two_that_want_the_same_one_computes_and_the_other_waits(
    small_model, small_tokenizer, tmp_path, monkeypatch
):
    """Else the second would begin the first one's file anew, and what was in it would be zero."""
    compute, calls, waiting, results = embeddings.batch_vectors, [], threading.Event(), []

    def work():
        results.append(word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path).array)

    second = threading.Thread(target=work)

    def slowly(*arguments):
        calls.append(1)
        if len(calls) == 3:
            second.start()
            assert waiting.wait(timeout=600)
        return compute(*arguments)

    def warn(message, **_):
        assert "another process is computing" in message
        waiting.set()

    monkeypatch.setattr(embeddings, "batch_vectors", slowly)
    monkeypatch.setattr(warnings, "warn", warn)
    work()
    second.join(timeout=600)
    assert len(calls) == 4 and len(results) == 2
    for array in results:
        np.testing.assert_allclose(array, word_vectors(small_model, small_tokenizer, SENTENCES, [-1]).array, atol=1e-5)
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]


@pytest.mark.parametrize("can_reserve", [True, False])
def test_a_full_disk_is_named_before_any_work_and_nothing_is_left(
    small_model, small_tokenizer, tmp_path, monkeypatch, can_reserve
):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if can_reserve:
        monkeypatch.setattr(embeddings.os, "posix_fallocate", full, raising=False)
    else:
        monkeypatch.delattr(embeddings.os, "posix_fallocate", raising=False)
        usage = embeddings.shutil.disk_usage(tmp_path)
        monkeypatch.setattr(embeddings.shutil, "disk_usage", lambda _: usage._replace(free=5))
    monkeypatch.setattr(embeddings, "batch_vectors", lambda *_: pytest.fail("computed"))
    with pytest.raises(OSError, match=r"must have room for 1,760 bytes of vectors; got .* \(No space.*\). Free some"):
        word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    assert not list(tmp_path.glob("*.npy"))


def test_progress_is_noted_as_it_goes(small_model, small_tokenizer, tmp_path, monkeypatch):
    """A process that is killed leaves the note of its last pause, not of its end."""
    monkeypatch.setattr(embeddings, "SECONDS_BETWEEN_NOTES", 0)
    notes, write = [], embeddings.write_note
    monkeypatch.setattr(
        embeddings, "write_note", lambda array, note, done: notes.append(done) or write(array, note, done)
    )
    word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)
    assert notes == [1, 2, 3, 4, 4]


@pytest.mark.parametrize("size", [0, 50, 400])
def test_a_cache_cut_short_is_refused(small_model, small_tokenizer, tmp_path, size):
    word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(
        ValueError, match=rf"{path.name} must hold vectors of shape \(17, 24\).*cut short or damaged: delete"
    ):
        word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    path.unlink()
    word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)


def test_a_cache_cut_short_in_the_making_is_refused(small_model, small_tokenizer, tmp_path, monkeypatch):
    interrupted(small_model, small_tokenizer, tmp_path, monkeypatch, after=2)
    (part,) = tmp_path.glob("*.part.npy")
    content = part.read_bytes()
    part.write_bytes(content[:200])
    with pytest.raises(ValueError, match="cut short or damaged: delete"):
        word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)
    part.write_bytes(content)
    (note,) = tmp_path.glob("*.json")
    note.write_text(json.dumps({"batches_done": 9}), encoding="utf-8")
    with pytest.raises(ValueError, match="must have batches_done from 0 to 4; got 9"):
        word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)


def test_a_file_of_another_array_is_refused(small_model, small_tokenizer, tmp_path):
    word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    np.save(path, np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"got shape \(3, 3\) in float64"):
        word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)


def test_a_vector_that_is_not_finite_is_named(small_model, small_tokenizer, tmp_path):
    with torch.no_grad():
        small_model.embeddings.layer_norm.weight *= 1e5
    with pytest.raises(ValueError, match='must be finite; row 8 of the result is not.*ask for dtype="float32"'):
        word_vectors(small_model, small_tokenizer, SENTENCES, [0], dtype="float16", cache=tmp_path)
    assert np.isfinite(word_vectors(small_model, small_tokenizer, SENTENCES, [0], cache=tmp_path).array).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": [3]}, "layers must be at least one index from -3 to 2.*got \\[3\\]"),
        ({"layers": []}, "layers must be at least one"),
        ({"layers": [1.5]}, "layers must be at least one index"),
        ({"layers": [1], "pooling": "max"}, "pooling must be one of sum, mean, concat, stack; got 'max'"),
        ({"layers": [1], "dtype": "int8"}, 'dtype must be "float32" or "float16"; got \'int8\''),
        ({"layers": [1], "max_length": 33}, "max_length must be from 3 to 32, the model's positions; got 33"),
        ({"layers": [1], "max_length": 8, "overlap": 6}, "overlap must be from 0 to 5"),
        ({"layers": [1], "only": [[0]]}, "only must have a list for each of the 4 sentences; got 1"),
        ({"layers": [1], "only": [[3], [], [], []]}, "sentence 0 has words 0 to 2; got 3"),
        ({"layers": [1], "only": [[0.5], [], [], []]}, "sentence 0 has words 0 to 2; got 0.5"),
        ({"layers": [1], "only": [["0"], [], [], []]}, "sentence 0 has words 0 to 2; got '0'"),
        ({"layers": [1], "sentences_of_words": ["a sentence"]}, "must be lists of words.*got a string"),
        ({"layers": [1], "sentences_of_words": [["a", " "]]}, "word 1 of sentence 0, ' ', gives none"),
        ({"layers": [1], "sentences_of_words": [["a"], ["\ud800"]]}, "word of sentence 1 must be .*lone surrogate"),
    ],
)
def test_refuses_bad_arguments(small_model, small_tokenizer, settings, message):
    with pytest.raises(ValueError, match=message):
        word_vectors(small_model, small_tokenizer, **{"sentences_of_words": SENTENCES, **settings})


def test_refuses_words_that_are_none(small_model, small_tokenizer):
    with pytest.raises(TypeError, match="every word of sentence 1 must be a str; got int"):
        word_vectors(small_model, small_tokenizer, [["a"], ["b", 3]], [1])
    with pytest.raises(TypeError, match="sentences_of_words must be lists of words.*got NoneType"):
        word_vectors(small_model, small_tokenizer, None, [1])
    with pytest.raises(TypeError, match="model must be a BERT, .*; got Tokenizer"):
        word_vectors(small_tokenizer, small_model, SENTENCES, [1])
    with pytest.raises(TypeError, match="the tokenizer must be a tokenizers.Tokenizer; got NoneType"):
        word_vectors(small_model, None, SENTENCES, [1])


def test_refuses_a_model_with_dropout_and_a_tokenizer_without_cls(small_model, small_tokenizer):
    from tokenizers import Tokenizer, models

    with pytest.raises(ValueError, match="evaluation mode"):
        word_vectors(small_model.train(), small_tokenizer, SENTENCES, [1])
    with pytest.raises(ValueError, match=r"must have the tokens \[CLS\] and \[SEP\]"):
        word_vectors(small_model.eval(), Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), SENTENCES, [1])
    assert check_layers(-1, 6) == check_layers(np.int64(6), 6) == [6]


@pytest.mark.parametrize("setting", ["enable_padding", "enable_truncation"])
def test_refuses_a_tokenizer_that_pads_or_truncates(small_model, small_tokenizer, setting):
    """The model would read padding as if it were text, or miss what is cut off."""
    getattr(small_tokenizer, setting)(*([4] if setting == "enable_truncation" else []))
    with pytest.raises(ValueError, match="must neither pad nor truncate; this one is set to"):
        word_vectors(small_model, small_tokenizer, SENTENCES, [1])


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
