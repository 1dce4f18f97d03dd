"""From texts to the tensors that BERT reads, in batches that waste little on padding."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from bertcourse.tokenization.encoding import check_text


class Batch(NamedTuple):
    """BERT's input, in the order of ``BertModel.forward``: ``model(*batch)``.

    Attributes:
        input_ids: (B, L), token ids, 0 where a shorter text is padded.
        attention_mask: (B, L), 1 for a token, 0 for padding.
        token_type_ids: (B, L), 0 for the first segment, 1 for the second.
    """

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor


def encode_batch(tokenizer: Tokenizer, texts: Sequence[str | tuple[str, str]]) -> Batch:
    """Tokenize texts, with [CLS] and [SEP], and pad them to the longest (Devlin et al. 2019, figure 2).

    Args:
        tokenizer: as ``load_pretrained`` returns it.
        texts: B strings, or B pairs of strings for two segments.

    Returns:
        ``Batch``, on the CPU, with L tokens in the longest text; nothing is cut, unless the tokenizer is set to.

    Raises:
        TypeError: if the tokenizer is not a ``tokenizers.Tokenizer``, or a text is not a string or a pair of strings.
        ValueError: if ``texts`` is a string or empty, or a text holds a lone surrogate.
    """
    check_tokenizer(tokenizer)
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable) or not (texts := list(texts)):
        raise ValueError(f"texts must be a list of at least one string or pair of strings; got {texts!r}.")
    for number, text in enumerate(texts):
        is_pair = isinstance(text, (tuple, list))
        if is_pair and len(text) != 2:
            raise TypeError(f"text {number} must be a string or a pair of strings; got {len(text)} in a row.")
        for part in text if is_pair else [text]:
            check_text(part, f"text {number}")
    return pad_batch(tokenizer.encode_batch(texts))


def check_tokenizer(tokenizer: Tokenizer) -> None:
    """Refuse anything but a ``tokenizers.Tokenizer``, which the models work with; chapter 3's own are refused too."""
    if not isinstance(tokenizer, Tokenizer):
        advice = "call its to_tokenizers()" if hasattr(tokenizer, "to_tokenizers") else "load_pretrained returns it"
        raise TypeError(
            f"the tokenizer must be a tokenizers.Tokenizer; got {type(tokenizer).__name__}: {advice}. Are the "
            f"arguments in the right order?"
        )


def whole_texts(tokenizer: Tokenizer) -> Tokenizer:
    """A tokenizer that neither truncates nor pads: the given one, or a copy."""
    if tokenizer.truncation is None and tokenizer.padding is None:
        return tokenizer
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def row_tokenizer(tokenizer: Tokenizer, max_length: int, strategy: str = "longest_first", stride: int = 0) -> Tokenizer:
    """A tokenizer whose rows fit a model: [CLS] text [SEP], or [CLS] text [SEP] text [SEP], and not too long.

    Rows are its ``Encoding``s, with ``ids``, ``type_ids``, ``offsets``, ``word_ids``, ``special_tokens_mask`` and, in
    ``overflowing``, the other windows of a text that was cut.

    Args:
        tokenizer: as ``load_pretrained`` returns it. It is left unchanged: the result is a copy, without padding.
        max_length: the most tokens in a row, including special ones.
        strategy: which text of a pair is cut: "longest_first" (the longer one, token by token), "only_first" or
            "only_second".
        stride: how many tokens two neighbouring windows of a cut text share.

    >>> from bertcourse.bert import load_pretrained
    >>> row_tokenizer(load_pretrained("course")[1], 6).encode("one two three four five", "six").tokens
    ['[CLS]', 'one', 'two', '[SEP]', 'six', '[SEP]']
    """
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.enable_truncation(max_length, stride=stride, strategy=strategy)
    return copy


def pad_batch(encodings: Sequence[Encoding]) -> Batch:
    """B tokenized texts, padded with zeros to the longest; the attention mask hides the zeros from the model."""
    if not encodings:
        raise ValueError("encodings must hold at least one tokenized text; got none.")
    return Batch(
        input_ids=padded([e.ids for e in encodings]),
        attention_mask=padded([e.attention_mask for e in encodings]),
        token_type_ids=padded([e.type_ids for e in encodings]),
    )


def pad_rows(ids: Sequence[list[int]], type_ids: Sequence[list[int]]) -> Batch:
    """Rows of token ids, padded with zeros to the longest.

    Args:
        ids, type_ids: B lists each, at least one.

    >>> pad_rows([[2, 7, 3], [2, 3]], [[0, 0, 0], [0, 0]]).attention_mask
    tensor([[1, 1, 1],
            [1, 1, 0]])
    """
    return Batch(padded(ids), padded([[1] * len(row) for row in ids]), padded(type_ids))


def padded(rows: Sequence[list[int]]) -> Tensor:
    """(B, L), rows padded with zeros to the longest."""
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def length_buckets(lengths: Sequence[int], max_tokens: int = 2048) -> list[list[int]]:
    """Group sequences of similar length, so that a batch holds few padding tokens.

    Args:
        lengths: number of tokens in each sequence.
        max_tokens: the largest size of a batch, B × L with padding; a longer sequence gets a batch of its own.

    Returns:
        Batches as lists of indices into ``lengths``, longest first (so that a lack of memory shows at once); every
        index is in exactly one batch.

    >>> length_buckets([3, 9, 2, 8, 3], max_tokens=18)
    [[1, 3], [0, 4, 2]]
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= max_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
