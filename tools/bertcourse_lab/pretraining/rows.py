"""Rows for long runs: spans of one long array of tokens, which may be on disk, so that no token is copied.

``sentence_pairs`` is chapter 4's function for such documents: a test holds both equal. ``pack_documents`` fills rows
without pairs. (Liu et al. 2019, "RoBERTa", section 4.2, call the former SEGMENT-PAIR, the latter FULL-SENTENCES or
DOC-SENTENCES.) ``collate`` turns rows into tensors.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from bertcourse.pretraining.corpus import Documents
from bertcourse.pretraining.masking import IGNORE, Vocabulary
from bertcourse.pretraining.pairs import IS_NEXT, NOT_NEXT, RowBatch


class Rows(NamedTuple):
    """Rows as spans of ``Documents.tokens``.

    Attributes:
        spans: (P, 2), start and end of each segment.
        first_span: (R + 1,), where each row starts in ``spans``, and where the last ends.
        segments: (P,), the ``token_type_ids`` of each span.
        nsp_labels: (R,), ``IS_NEXT``, ``NOT_NEXT``, or ``IGNORE`` for a row that is not a pair.
        lengths: (R,), how many tokens each row has, special ones included.
    """

    spans: NDArray
    first_span: NDArray
    segments: NDArray
    nsp_labels: NDArray
    lengths: NDArray

    def __len__(self) -> int:
        return len(self.lengths)


def sentence_pairs(documents: Documents, length: int, rng: np.random.Generator, short_rate: float = 0.0) -> Rows:
    """Cut documents into pairs of segments; half of the time, the second follows the first.

    Sentences are taken from a document until they fill a row, and split into A and B between two of them. Half of the
    time B is replaced by sentences from another document, and the sentences it would have had are put back. Where one
    sentence fills a row, the authors' script never lets its own continuation follow; this one adds a sentence, so that
    both classes are equally frequent however long sentences are.

    Args:
        documents: at least two. A document of a single sentence only serves as B for others.
        length: L, the maximum number of tokens in a row, [CLS] and both [SEP] included; at least 5.
        rng: source of randomness.
        short_rate: share of rows that aim at a random shorter length, so that the model meets short texts too.

    Returns:
        ``Rows``, in the order of the documents.

    Raises:
        ValueError: if ``length`` or ``short_rate`` is out of range, or there are too few documents or sentences.

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
            "sentence pairs need at least two documents, one of them of several sentences: B comes from the same or "
            f"from another; got {num_documents} documents, {int(several.sum())} of several sentences. Separate "
            "documents by an empty line."
        )
    starts, bounds = documents.sentences.tolist(), documents.documents.tolist()
    room = length - 3
    spans, labels = [], []
    numbers = uniform_numbers(rng)
    for document in np.flatnonzero(several).tolist():
        sentence, end = bounds[document], bounds[document + 1]
        while end - sentence > 1:
            target = room if next(numbers) >= short_rate else 2 + int(next(numbers) * (room - 1))
            stop = bisect_left(starts, starts[sentence] + target, sentence + 2, end)
            middle = sentence + 1 + int(next(numbers) * (stop - sentence - 1))
            a = starts[sentence], starts[middle]
            if next(numbers) < 0.5:
                spans.append((a, (starts[middle], starts[stop])))
                labels.append(IS_NEXT)
                sentence = stop
            else:
                other = int(next(numbers) * (num_documents - 1))
                other += other >= document
                first = bounds[other] + int(next(numbers) * (bounds[other + 1] - bounds[other]))
                wanted = max(1, target - (a[1] - a[0]))
                last = bisect_left(starts, starts[first] + wanted, first + 1, bounds[other + 1])
                spans.append((a, (starts[first], starts[last])))
                labels.append(NOT_NEXT)
                sentence = middle
    pairs = truncate_pairs(np.array(spans, np.int64), room, rng)
    return Rows(
        spans=pairs.reshape(-1, 2),
        first_span=np.arange(len(pairs) + 1) * 2,
        segments=np.tile([0, 1], len(pairs)),
        nsp_labels=np.array(labels, np.int64),
        lengths=(pairs[:, :, 1] - pairs[:, :, 0]).sum(1) + 3,
    )


def uniform_numbers(rng: np.random.Generator) -> Iterator[float]:
    """An endless supply of random numbers in [0, 1), drawn in blocks, as single draws from numpy are slow."""
    while True:
        yield from rng.random(4096)[::-1].tolist()


def truncate_pairs(pairs: NDArray, room: int, rng: np.random.Generator) -> NDArray:
    """Shorten the longer segment of each pair, token by token from a random end, until both fit.

    How much is left of each is known in advance: the shorter keeps all its tokens if they take up at most half of the
    room. How many of the removed tokens come off the front is binomial.

    Args:
        pairs: (R, 2, 2): start and end of A, start and end of B.
        room: how many tokens both may have together.
        rng: source of randomness.

    Returns:
        (R, 2, 2).
    """
    sizes = pairs[:, :, 1] - pairs[:, :, 0]
    half = np.array([room - room // 2, room // 2])  # if both are equally long, B loses a token first
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
        length: L, the maximum number of tokens in a row, special ones included; at least 3.
        cross_documents: True continues with the next document, after another [SEP], until the row is full
            (FULL-SENTENCES); False starts a new row with each document (DOC-SENTENCES).

    Returns:
        ``Rows``, in the order of the documents. A sentence longer than a row is cut and continues in the next.

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
    array, first = np.array(spans, np.int64), np.array(first_span)
    sizes = np.add.reduceat(array[:, 1] - array[:, 0] + 1, first[:-1]) + 1
    return Rows(array, first, np.zeros(len(array), np.int64), np.full(len(sizes), IGNORE), sizes)


def collate(
    documents: Documents, rows: Rows, indices: NDArray, vocabulary: Vocabulary, width: int | None = None
) -> RowBatch:
    """Some rows as tensors, padded to the longest of them: [CLS], then each span and a [SEP].

    Args:
        documents: what the rows were cut from.
        rows: all rows of these documents.
        indices: (B,), which rows to take.
        vocabulary: for [CLS], [SEP] and [PAD].
        width: pad to this length; None for that of the longest row.

    Source: input format of Devlin et al. 2019, figure 2.
    """
    lengths = rows.lengths[indices]
    width = width or int(lengths.max())
    input_ids = np.full((len(indices), width), vocabulary.pad_id)
    segments = np.zeros_like(input_ids)
    input_ids[:, 0] = vocabulary.cls_id
    tokens = np.asarray(documents.tokens)  # a memory map is not copied
    for row, index in enumerate(indices):
        spans = slice(rows.first_span[index], rows.first_span[index + 1])
        column = 1
        for (start, stop), segment in zip(rows.spans[spans].tolist(), rows.segments[spans].tolist()):
            separator = column + stop - start
            input_ids[row, column:separator] = tokens[start:stop]
            input_ids[row, separator] = vocabulary.sep_id
            segments[row, column : separator + 1] = segment
            column = separator + 1
    is_token = np.arange(width) < lengths[:, None]
    return RowBatch(
        input_ids=torch.from_numpy(input_ids),
        attention_mask=None if is_token.all() else torch.from_numpy(is_token.astype(np.int64)),
        token_type_ids=torch.from_numpy(segments),
        nsp_labels=torch.from_numpy(rows.nsp_labels[indices]),
    )
