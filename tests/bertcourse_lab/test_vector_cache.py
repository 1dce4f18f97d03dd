"""The cache of word vectors: equal to no cache, found again, gone on with, refused when damaged."""

import threading

import numpy as np
import pytest
import torch

from bertcourse.word_senses import word_vectors
from bertcourse_lab import vector_cache
from bertcourse_lab.vector_cache import cached_word_vectors, check_layers

SENTENCES = [["ab", "c", "abc"], ["d"], ["a b", "cd", "ef", "g"], ["e"] * 9]


@pytest.fixture(autouse=True)
def a_block_for_each_batch(monkeypatch):
    monkeypatch.setattr(vector_cache, "BLOCK_TOKENS", 1)


@pytest.fixture
def calls(monkeypatch):
    """The texts that ``word_vectors`` is asked for."""
    compute, texts = vector_cache.word_vectors, []

    def count(model, tokenizer, sentences, *arguments, **settings):
        texts.append(sentences)
        return compute(model, tokenizer, sentences, *arguments, **settings)

    monkeypatch.setattr(vector_cache, "word_vectors", count)
    return texts


@pytest.mark.parametrize("settings", [{}, {"max_tokens": 24}, {"dtype": "float16"}])
@pytest.mark.parametrize("block_tokens", [1, 30, 10**6])
def test_equals_word_vectors_bit_by_bit(small_model, small_tokenizer, tmp_path, monkeypatch, block_tokens, settings):
    monkeypatch.setattr(vector_cache, "BLOCK_TOKENS", block_tokens)
    random = np.random.default_rng(0)
    sentences = [["".join(random.choice(list("abcdefg"), 2)) for _ in range(n)] for n in random.integers(9, size=60)]
    only = [random.permutation(len(words))[: random.integers(len(words) + 1)].tolist() for words in sentences]
    settings = {"layers": [0, 2], "pooling": "stack", "only": only, "max_tokens": 64, **settings}
    plain = cached_word_vectors(small_model, small_tokenizer, sentences, **settings, cache=None)
    kept = cached_word_vectors(small_model, small_tokenizer, sentences, **settings, cache=tmp_path)
    assert kept.array.dtype == plain.array.dtype and kept.starts.tolist() == plain.starts.tolist()
    np.testing.assert_array_equal(kept.array, plain.array)


def test_it_is_found_again(small_model, small_tokenizer, tmp_path, calls):
    first = cached_word_vectors(small_model, small_tokenizer, SENTENCES, layers=[1, 2], max_tokens=1, cache=tmp_path)
    assert isinstance(first.array, np.memmap) and len(calls) == 4
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]
    again = cached_word_vectors(small_model, small_tokenizer, SENTENCES, layers=[1, 2], max_tokens=1, cache=tmp_path)
    np.testing.assert_array_equal(again.array, first.array)
    assert len(calls) == 4


def test_without_a_folder_or_words_nothing_is_kept(small_model, small_tokenizer, tmp_path):
    kept_nowhere = cached_word_vectors(small_model, small_tokenizer, SENTENCES, [1], cache=None)
    np.testing.assert_array_equal(kept_nowhere.array, word_vectors(small_model, small_tokenizer, SENTENCES, [1]).array)
    assert cached_word_vectors(small_model, small_tokenizer, [[]], [1], cache=tmp_path).array.shape == (0, 24)
    assert not list(tmp_path.iterdir())


def test_another_model_text_or_setting_has_a_file_of_its_own(small_model, small_tokenizer, tmp_path):
    def compute(text=SENTENCES, **settings):
        cached_word_vectors(small_model, small_tokenizer, text, cache=tmp_path, **{"layers": [1], **settings})
        return len(list(tmp_path.iterdir()))

    assert compute() == compute(layers=(-2,)) == compute(layers=np.array([1])) == 1
    assert compute(layers=[2]) == 2
    assert compute(pooling="stack") == 3
    assert compute(dtype="float16") == 4
    assert compute(text=[*SENTENCES[:3], ["e"] * 8 + ["f"]]) == 5
    assert compute(only=[[0]] * 4) == 6
    with torch.no_grad():
        small_model.encoder.blocks[0].attention.query.bias[0] += 1
    assert compute() == 7


def interrupted(model, tokenizer, folder, monkeypatch, after: int) -> None:
    """A run in blocks of one sentence that is stopped by Ctrl-C in block ``after`` + 1."""
    compute, done = vector_cache.word_vectors, []

    def until(*arguments, **settings):
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(1)
        return compute(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(vector_cache, "word_vectors", until)
        with pytest.raises(KeyboardInterrupt):
            cached_word_vectors(model, tokenizer, SENTENCES, [-1], max_tokens=1, cache=folder)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupted_run_goes_on(small_model, small_tokenizer, tmp_path, monkeypatch, calls, after):
    interrupted(small_model, small_tokenizer, tmp_path, monkeypatch, after)
    assert len(calls) == after
    vectors = cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)
    assert len(calls) == 4
    plain = word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1)
    np.testing.assert_array_equal(vectors.array, plain.array)
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]


@pytest.mark.filterwarnings("ignore:another process is computing")
def test_of_two_that_want_the_same_one_computes_and_the_other_waits(
    small_model, small_tokenizer, tmp_path, monkeypatch
):
    compute, calls, results = vector_cache.word_vectors, [], []

    def work():
        settings = {"layers": [-1], "max_tokens": 1, "cache": tmp_path}
        results.append(cached_word_vectors(small_model, small_tokenizer, SENTENCES, **settings).array)

    second = threading.Thread(target=work)

    def count(*arguments, **settings):
        calls.append(1)
        if len(calls) == 1:
            second.start()
        return compute(*arguments, **settings)

    monkeypatch.setattr(vector_cache, "word_vectors", count)
    work()
    second.join(timeout=600)
    assert len(calls) == 4
    np.testing.assert_array_equal(*results)


def test_a_full_disk_is_named_before_any_work(small_model, small_tokenizer, tmp_path, monkeypatch, calls):
    usage = vector_cache.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(vector_cache.shutil, "disk_usage", lambda _: usage._replace(free=5))
    with pytest.raises(OSError, match="room for 3,264 bytes"):
        cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    assert not calls


@pytest.mark.parametrize("size", [0, 50, 400])
def test_a_file_cut_short_is_refused(small_model, small_tokenizer, tmp_path, size):
    cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=f"{path.name} .*delete it"):
        cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    path.unlink()
    cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)


def test_a_block_cut_short_is_refused(small_model, small_tokenizer, tmp_path, monkeypatch):
    interrupted(small_model, small_tokenizer, tmp_path, monkeypatch, after=2)
    (block,) = tmp_path.rglob("1.npy")
    block.write_bytes(block.read_bytes()[:200])
    with pytest.raises(ValueError, match="1.npy .*delete it"):
        cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)
    block.unlink()
    cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], max_tokens=1, cache=tmp_path)


def test_a_file_of_another_array_is_refused(small_model, small_tokenizer, tmp_path):
    cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    np.save(path, np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"\(3, 3\) in float64"):
        cached_word_vectors(small_model, small_tokenizer, SENTENCES, [-1], cache=tmp_path)


def test_room_is_needed_only_for_what_is_missing(small_model, small_tokenizer, tmp_path, monkeypatch):
    """A run that was interrupted late goes on where a new one would not fit."""
    join = vector_cache.join_blocks
    monkeypatch.setattr(vector_cache, "join_blocks", lambda *_: pytest.fail("interrupted"))
    with pytest.raises(pytest.fail.Exception):
        cached_word_vectors(small_model, small_tokenizer, SENTENCES, [1], max_tokens=1, cache=tmp_path)
    monkeypatch.setattr(vector_cache, "join_blocks", join)
    size = sum(map(len, SENTENCES)) * 24 * 4
    monkeypatch.setattr(vector_cache.shutil, "disk_usage", lambda _: type("Usage", (), {"free": size + 1}))
    kept = cached_word_vectors(small_model, small_tokenizer, SENTENCES, [1], max_tokens=1, cache=tmp_path)
    assert len(kept) == len(SENTENCES) and [path.suffix for path in tmp_path.iterdir()] == [".npy"]


@pytest.mark.parametrize(
    ("settings", "noun"),
    [
        ({"layers": [3]}, "layers"),
        ({"layers": []}, "layers"),
        ({"layers": [1.5]}, "layers"),
        ({"pooling": "max"}, "pooling"),
        ({"dtype": "float64"}, "dtype"),
        ({"only": [[0]]}, "only"),
        ({"only": [[3], [], [], []]}, "words 0 to 2; got 3"),
        ({"sentences": ["a sentence"]}, "string"),
    ],
)
def test_settings_are_checked_before_anything_is_written(small_model, small_tokenizer, tmp_path, settings, noun):
    with pytest.raises(ValueError, match=noun):
        cached_word_vectors(
            small_model, small_tokenizer, **{"sentences": SENTENCES, "layers": [1], **settings}, cache=tmp_path
        )
    assert not list(tmp_path.iterdir())


def test_a_model_with_dropout_is_refused(small_model, small_tokenizer, tmp_path):
    with pytest.raises(ValueError, match="evaluation mode"):
        cached_word_vectors(small_model.train(), small_tokenizer, SENTENCES, [1], cache=tmp_path)


def test_a_vector_that_is_not_finite_is_refused(small_model, small_tokenizer):
    with torch.no_grad():
        small_model.embeddings.layer_norm.weight *= 1e5
    with pytest.raises(ValueError, match="finite"):
        cached_word_vectors(small_model, small_tokenizer, SENTENCES, [0], dtype="float16", cache=None)
    assert np.isfinite(cached_word_vectors(small_model, small_tokenizer, SENTENCES, [0], cache=None).array).all()


def test_layers_count_from_the_end_and_one_may_stand_alone():
    assert check_layers(-1, 6) == check_layers(np.int64(6), 6) == [6]
