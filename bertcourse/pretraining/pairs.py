"""From documents to rows: pairs of segments for next-sentence prediction, or sentences packed until a row is full.

A row is [CLS] A [SEP] B [SEP], where B follows A in its document half of the time (Devlin et al. 2019, section 3.1,
task 2), or [CLS] with as many sentences as fit, for training without that task (Liu et al. 2019, "RoBERTa", section
4.2). Rows are made as spans of a long array of token ids, which may lie on disk; ``collate`` turns some of them into
tensors.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertcourse.pretraining.masking import IGNORE, Vocabulary

IS_NEXT, NOT_NEXT = 0, 1  # classes of next-sentence prediction, as in the authors' release


class Documents(NamedTuple):
    """Tokenized documents, end to end.

    Attributes:
        tokens: (N,), ids of all tokens, without special ones.
        sentences: (S + 1,), where each sentence starts in ``tokens``, and where the last ends.
        documents: (D + 1,), where each document starts in ``sentences``, and where the last ends.
    """

    tokens: NDArray
    sentences: NDArray
    documents: NDArray

    @classmethod
    def of(cls, documents: Sequence[Sequence[Sequence[int]]]) -> "Documents":
        """From lists: documents of sentences of token ids. Empty sentences and documents are left out.

        >>> Documents.of([[[5, 6], [7]], [[8, 9]]]).sentences.tolist()
        [0, 2, 3, 5]
        """
        documents = [kept for document in documents if (kept := [sentence for sentence in document if len(sentence)])]
        sentences = [sentence for document in documents for sentence in document]
        tokens = np.fromiter(itertools.chain.from_iterable(sentences), np.int64)
        return cls(tokens, ends(map(len, sentences)), ends(map(len, documents)))


class Rows(NamedTuple):
    """Rows as spans of ``Documents.tokens``.

    Attributes:
        spans: (P, 2), start and end of each segment.
        first_span: (R + 1,), where each row starts in ``spans``, and where the last ends.
        segments: (P,), the ``token_type_ids`` of each span.
        nsp_labels: (R,), ``IS_NEXT``, ``NOT_NEXT``, or ``IGNORE`` for a row that is no pair.
        lengths: (R,), tokens of each row, special ones included.
    """

    spans: NDArray
    first_span: NDArray
    segments: NDArray
    nsp_labels: NDArray
    lengths: NDArray

    def __len__(self) -> int:
        return len(self.lengths)


class RowBatch(NamedTuple):
    """Some rows as tensors, nothing masked yet.

    Attributes:
        input_ids: (B, L).
        attention_mask: (B, L), or None if no row is shorter than another.
        token_type_ids: (B, L).
        nsp_labels: (B,).
    """

    input_ids: Tensor
    attention_mask: Tensor | None
    token_type_ids: Tensor
    nsp_labels: Tensor


def sentence_pairs(documents: Documents, length: int, rng: np.random.Generator, short_rate: float = 0.0) -> Rows:
    """Cut documents into pairs of segments, of which the second follows the first half of the time.

    Sentences are taken from a document until they fill a row, and cut into A and B between two of them. Half of the
    time B is replaced by sentences from another document, and those of A's own that it would have had go back. A pair
    that is too long loses tokens of its longer segment, at its beginning or its end, one at a time. Unlike the
    authors' script, which never lets a row of one sentence be followed by its own, this one adds a sentence, so that
    both classes are equally frequent whatever the length of sentences.

    Args:
        documents: at least two.
        length: L, the most tokens of a row, [CLS] and both [SEP] included; at least 5.
        rng: source of randomness.
        short_rate: share of rows that aim at a random shorter length, so that the model meets short texts too.

    Returns:
        ``Rows``, in the order of the documents. A document of a single sentence only serves as B for others.

    Raises:
        ValueError: if ``length`` is below 5, ``short_rate`` is not from 0 to 1, or there are no two documents, or none
            of several sentences.

    Source: Devlin et al. 2019, appendix A.2, and the authors' create_pretraining_data.py.
    """
    if length < 5:
        raise ValueError(f"a pair needs a length of at least 5: [CLS] A [SEP] B [SEP]; got {length}.")
    if not 0 <= short_rate <= 1:
        raise ValueError(f"short_rate must be from 0 to 1; got {short_rate}.")
    num_documents = len(documents.documents) - 1
    several = np.diff(documents.documents) > 1
    if num_documents < 2 or not several.any():
        raise ValueError(
            f"sentence pairs need at least two documents, one of them of several sentences: B comes from the same "
            f"or from "
            f"another; got {num_documents} documents, {int(several.sum())} of several sentences. Separate documents "
            f"by an empty line."
        )
    starts, bounds = documents.sentences.tolist(), documents.documents.tolist()
    room = length - 3
    spans, labels = [], []
    draw = Draws(rng)
    for document in np.flatnonzero(several).tolist():
        sentence, end = bounds[document], bounds[document + 1]
        while end - sentence > 1:
            target = room if draw.uniform() >= short_rate else draw.below(room - 1) + 2
            stop = sentence + 2
            while stop < end and starts[stop] - starts[sentence] < target:
                stop += 1
            middle = sentence + 1 + draw.below(stop - sentence - 1)
            if draw.uniform() < 0.5:
                spans += [(starts[sentence], starts[middle]), (starts[middle], starts[stop])]
                labels.append(IS_NEXT)
                sentence = stop
            else:
                other = draw.below(num_documents - 1)
                other += other >= document
                first = bounds[other] + draw.below(bounds[other + 1] - bounds[other])
                last = first + 1
                wanted = max(1, target - (starts[middle] - starts[sentence]))
                while last < bounds[other + 1] and starts[last] - starts[first] < wanted:
                    last += 1
                spans += [(starts[sentence], starts[middle]), (starts[first], starts[last])]
                labels.append(NOT_NEXT)
                sentence = middle
    pairs = truncate_pairs(np.array(spans, np.int64).reshape(-1, 2, 2), room, rng)
    return Rows(
        spans=pairs.reshape(-1, 2),
        first_span=np.arange(len(pairs) + 1) * 2,
        segments=np.tile([0, 1], len(pairs)),
        nsp_labels=np.array(labels, np.int64),
        lengths=(pairs[:, :, 1] - pairs[:, :, 0]).sum(1) + 3,
    )


def truncate_pairs(pairs: NDArray, room: int, rng: np.random.Generator) -> NDArray:
    """Shorten the longer segment of each pair, token by token from a random end, until both fit.

    What is left of both can be said at once: the shorter keeps what it has if that is no more than half of the room,
    and how many of the removed tokens stood at the beginning is binomial.

    Args:
        pairs: (R, 2, 2): start and end of A, start and end of B.
        room: how many tokens both may have together.
        rng: source of randomness.

    Returns:
        (R, 2, 2).
    """
    sizes = pairs[:, :, 1] - pairs[:, :, 0]
    half = np.array([room - room // 2, room // 2])  # of two equally long ones, B loses a token first
    kept = np.where(
        sizes.sum(1, keepdims=True) <= room, sizes, np.minimum(sizes, np.maximum(half, room - sizes[:, ::-1]))
    )
    removed = sizes - kept
    at_front = rng.binomial(removed, 0.5)
    return pairs + np.stack([at_front, at_front - removed], axis=-1)


def pack_documents(documents: Documents, length: int, cross_documents: bool = True) -> Rows:
    """Fill rows with consecutive sentences: [CLS] sentences [SEP], all of segment 0.

    Args:
        documents: any number.
        length: L, the most tokens of a row, special ones included; at least 3.
        cross_documents: True goes on in the next document, after another [SEP], until the row is full (FULL-SENTENCES);
            False begins a new row with each document (DOC-SENTENCES).

    Returns:
        ``Rows``, in the order of the documents. A sentence that is longer than a row is cut and goes on in the next.

    Raises:
        ValueError: if ``length`` is below 3 or there are no documents.

    Source: Liu et al. 2019, "RoBERTa", section 4.2.
    """
    if length < 3:
        raise ValueError(f"a row needs a length of at least 3: [CLS] text [SEP]; got {length}.")
    if len(documents.documents) < 2:
        raise ValueError("packing needs at least one document; got none. Is the text empty?")
    starts, bounds = documents.sentences.tolist(), documents.documents.tolist()
    spans: list[tuple[int, int]] = []
    first_span, used = [0], 1  # [CLS]

    def close_row() -> None:
        nonlocal used
        if len(spans) > first_span[-1]:
            first_span.append(len(spans))
        used = 1

    for first, last in zip(bounds, bounds[1:]):
        if not cross_documents or used + 2 > length:
            close_row()
        begin = position = starts[first]
        for end in starts[first + 1 : last + 1]:
            while used + (end - begin) + 1 > length:  # with [SEP]
                if position == begin and used == 1:  # a sentence longer than a row
                    position = begin + length - 2
                if position > begin:
                    spans.append((begin, position))
                close_row()
                begin = position
            position = end
        spans.append((begin, position))
        used += position - begin + 1
    close_row()
    array = np.array(spans, np.int64).reshape(-1, 2)
    first = np.array(first_span)
    sizes = np.add.reduceat(array[:, 1] - array[:, 0] + 1, first[:-1]) + 1
    return Rows(array, first, np.zeros(len(array), np.int64), np.full(len(sizes), IGNORE), sizes)


def collate(
    documents: Documents, rows: Rows, indices: NDArray, vocabulary: Vocabulary, width: int | None = None
) -> RowBatch:
    """Some rows as tensors, padded to the longest of them.

    Args:
        documents: that the rows were cut from.
        rows: of them.
        indices: (B,), which rows.
        vocabulary: for [CLS], [SEP] and [PAD].
        width: pad to this length.

    Returns:
        ``RowBatch``.

    Raises:
        IndexError: if a row is not there.

    Source: input format of Devlin et al. 2019, figure 2.
    """
    indices = np.asarray(indices)
    lengths = rows.lengths[indices]
    width = width or int(lengths.max())
    num_spans = rows.first_span[indices + 1] - rows.first_span[indices]
    span_rows = np.repeat(np.arange(len(indices)), num_spans)
    span_ids = np.repeat(rows.first_span[indices], num_spans) + within(num_spans)
    sizes = rows.spans[span_ids, 1] - rows.spans[span_ids, 0]
    columns = 1 + offsets_within(sizes + 1, num_spans)  # after [CLS]; each span brings a [SEP]

    input_ids = np.full((len(indices), width), vocabulary.pad_id, np.int64)
    segments = np.zeros_like(input_ids)
    input_ids[:, 0] = vocabulary.cls_id
    row_of_token, inside = np.repeat(span_rows, sizes), within(sizes)
    column_of_token = np.repeat(columns, sizes) + inside
    input_ids[row_of_token, column_of_token] = documents.tokens[np.repeat(rows.spans[span_ids, 0], sizes) + inside]
    input_ids[span_rows, columns + sizes] = vocabulary.sep_id
    segments[row_of_token, column_of_token] = np.repeat(rows.segments[span_ids], sizes)
    segments[span_rows, columns + sizes] = rows.segments[span_ids]
    is_token = np.arange(width) < lengths[:, None]
    return RowBatch(
        input_ids=torch.from_numpy(input_ids),
        attention_mask=None if is_token.all() else torch.from_numpy(is_token.astype(np.int64)),
        token_type_ids=torch.from_numpy(segments),
        nsp_labels=torch.from_numpy(rows.nsp_labels[indices].astype(np.int64)),
    )


def ends(sizes) -> NDArray:
    """Running totals, from 0.

    >>> ends([2, 1]).tolist()
    [0, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(list(sizes), dtype=np.int64)])


def within(sizes: NDArray) -> NDArray:
    """0 … size-1 for each size, one after the other.

    >>> within(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def offsets_within(sizes: NDArray, group_sizes: NDArray) -> NDArray:
    """The sum of the sizes before each one in its group.

    >>> offsets_within(np.array([5, 4, 7, 1]), np.array([2, 2])).tolist()
    [0, 5, 0, 7]
    """
    before = np.cumsum(sizes) - sizes
    first_of_group = np.cumsum(group_sizes) - group_sizes
    return before - np.repeat(before[first_of_group], group_sizes)


class Draws:
    """Random numbers one at a time, drawn in blocks, as a single draw from numpy is slow.

    Args:
        rng: source of randomness.
    """

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.block: list[float] = []

    def uniform(self) -> float:
        """A number in [0, 1)."""
        if not self.block:
            self.block = self.rng.random(4096).tolist()
        return self.block.pop()

    def below(self, limit: int) -> int:
        """An integer from 0 to limit - 1."""
        return int(self.uniform() * limit)
