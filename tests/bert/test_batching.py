"""Texts to tensors: padded to the longest, in batches of like length that lose nobody."""

import pytest
import torch

from bertcourse.bert import encode_batch, length_buckets
from bertcourse.bert.batching import pad_batch, row_tokenizer, whole_texts
from bertcourse.tokenization import WordPieceTokenizer


def test_texts_are_padded_to_the_longest(small_tokenizer):
    batch = encode_batch(small_tokenizer, ["ab.", "a"])
    assert batch.input_ids.tolist() == [[2, 5, 28, 49, 3], [2, 5, 3, 0, 0]]
    assert batch.attention_mask.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert batch.token_type_ids.tolist() == [[0] * 5, [0] * 5]


def test_pairs_have_two_segments(small_tokenizer):
    batch = encode_batch(small_tokenizer, [("a", "b")])
    assert batch.input_ids.tolist() == [[2, 5, 3, 6, 3]]
    assert batch.token_type_ids.tolist() == [[0, 0, 0, 1, 1]]


def test_a_batch_goes_into_the_model_in_order(small_model, small_tokenizer):
    batch = encode_batch(small_tokenizer, ["ab.", "a"])
    alone = small_model(*encode_batch(small_tokenizer, ["a"]))
    torch.testing.assert_close(small_model(*batch).pooled[1:], alone.pooled, atol=1e-6, rtol=0)


def test_every_index_is_in_exactly_one_bucket():
    lengths = torch.randint(1, 200, (1000,)).tolist()
    buckets = length_buckets(lengths, max_tokens=512)
    assert sorted(i for bucket in buckets for i in bucket) == list(range(1000))


def test_buckets_keep_to_their_size_and_waste_little():
    lengths = torch.randint(1, 200, (1000,)).tolist()
    buckets = length_buckets(lengths, max_tokens=512)
    sizes = [len(bucket) * max(lengths[i] for i in bucket) for bucket in buckets]
    assert max(sizes) <= 512
    assert sum(sizes) < 1.05 * sum(lengths)


def test_a_sequence_longer_than_a_bucket_stands_alone():
    assert length_buckets([700, 3, 800], max_tokens=512) == [[2], [0], [1]]


def test_equal_lengths_keep_their_order():
    assert length_buckets([4, 4, 4], max_tokens=8) == [[0, 1], [2]]


def test_nothing_gives_no_buckets():
    assert length_buckets([]) == []


def test_refuses_empty_and_misshapen_input(small_tokenizer):
    for texts in ([], "abc", None):
        with pytest.raises(ValueError, match="texts must be a list"):
            encode_batch(small_tokenizer, texts)
    with pytest.raises(TypeError, match="text 1 must be a str"):
        encode_batch(small_tokenizer, ["a", None])
    with pytest.raises(TypeError, match="text 1 must be a string or a pair of strings; got 3"):
        encode_batch(small_tokenizer, ["a", ("a", "b", "c")])
    with pytest.raises(ValueError, match="text 1 .* surrogate"):
        encode_batch(small_tokenizer, ["a", ("a", "b\udc80")])
    with pytest.raises(TypeError, match="got list: load_pretrained"):
        encode_batch(["a"], small_tokenizer)
    with pytest.raises(TypeError, match=r"got WordPieceTokenizer: .*to_tokenizers\(\)"):
        encode_batch(WordPieceTokenizer(["[UNK]"]), ["a"])
    with pytest.raises(ValueError, match="none"):
        pad_batch([])


def test_a_tokenizer_that_cuts_and_pads_gives_whole_texts_from_a_copy(small_tokenizer):
    assert whole_texts(small_tokenizer) is small_tokenizer
    cutting = row_tokenizer(small_tokenizer, 4)
    cutting.enable_padding(length=9)
    whole = small_tokenizer.encode("a b c d e f").ids
    assert whole_texts(cutting).encode("a b c d e f").ids == whole != cutting.encode("a b c d e f").ids
