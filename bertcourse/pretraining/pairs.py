"""Chapter 4: from documents to rows: pairs of segments for next-sentence prediction, or rows packed with sentences.

A row is [CLS] A [SEP] B [SEP], where B follows A in its document half of the time (Devlin et al. 2019, section 3.1,
task 2), or [CLS] and as many sentences as fit, for training without that task. (Liu et al. 2019, "RoBERTa", section
4.2, call the former SEGMENT-PAIR, the latter FULL-SENTENCES or DOC-SENTENCES.) ``plain_sentence_pairs`` and
``plain_packing`` are the specification, on lists; ``sentence_pairs`` and ``pack_documents`` in ``pairs_fast`` copy no
tokens but say where rows lie in one long array, which may be on disk. ``collate`` turns such rows into tensors.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertcourse.pretraining.masking import Vocabulary

IS_NEXT, NOT_NEXT = 0, 1  # classes of next-sentence prediction, as in the authors' release

Sentences = list[list[int]]  # each a list of token ids


def plain_sentence_pairs(
    documents: Sequence[Sentences],
    length: int,
    draw: Callable[[], float] = random.random,
    short_rate: float = 0.0,
) -> list[tuple[list[int], list[int], int]]:
    """The specification of ``sentence_pairs``: (A, B, label) of each row.

    Sentences are taken from a document until they fill a row, and split into A and B between two of them. Half of the
    time B is replaced by sentences from another document, and the sentences it would have had are put back. Where one
    sentence fills a row, the authors' script never lets its own continuation follow; this one adds a sentence, so that
    both classes are equally frequent however long sentences are.

    Args:
        documents: each a list of sentences; no document or sentence is empty.
        length, short_rate: as for ``sentence_pairs``.
        draw: returns a random number in [0, 1).

    Source: Devlin et al. 2019, appendix A.2, and the authors' create_pretraining_data.py.
    """
    room = length - 3  # beside [CLS], [SEP] and [SEP]
    pairs = []
    for place, document in enumerate(documents):
        while len(document) > 1:
            target = room if draw() >= short_rate else 2 + int(draw() * (room - 1))
            taken = sentences_to_fill(document, target, least=2)
            middle = 1 + int(draw() * (taken - 1))
            a = flat(document[:middle])
            if draw() < 0.5:
                pairs.append((a, flat(document[middle:taken]), IS_NEXT))
                document = document[taken:]
            else:
                other = int(draw() * (len(documents) - 1))
                source = documents[other + (other >= place)]
                source = source[int(draw() * len(source)) :]
                b = source[: sentences_to_fill(source, max(1, target - len(a)), least=1)]
                pairs.append((a, flat(b), NOT_NEXT))
                document = document[middle:]
    return [(*truncate_pair(a, b, room, draw), label) for a, b, label in pairs]


def sentences_to_fill(sentences: Sentences, target: int, least: int) -> int:
    """How many of the first sentences it takes to reach ``target`` tokens: at least ``least``, at most all.

    >>> sentences_to_fill([[5, 6], [7], [8, 9]], target=3, least=1)
    2
    """
    count = least
    while count < len(sentences) and len(flat(sentences[:count])) < target:
        count += 1
    return count


def flat(sentences: Sentences) -> list[int]:
    """The tokens of all sentences, in one list."""
    return list(itertools.chain.from_iterable(sentences))


def truncate_pair(a: list[int], b: list[int], room: int, draw: Callable[[], float]) -> tuple[list[int], list[int]]:
    """Shorten the longer segment, token by token from a random end, until both fit into ``room`` tokens."""
    a, b = list(a), list(b)
    while len(a) + len(b) > room:
        longer = a if len(a) > len(b) else b
        longer.pop(0 if draw() < 0.5 else -1)
    return a, b


def plain_packing(documents: Sequence[Sentences], length: int, cross_documents: bool = True) -> list[list[list[int]]]:
    """The specification of ``pack_documents``: the texts of each row, each to be followed by a [SEP].

    >>> plain_packing([[[5, 6]], [[7], [8]], [[9, 9, 9]]], length=8)
    [[[5, 6], [7, 8]], [[9, 9, 9]]]
    """
    rows: list[list[list[int]]] = [[]]

    def room() -> int:
        return length - 1 - sum(len(text) + 1 for text in rows[-1])  # beside [CLS], and each text with its [SEP]

    for document in documents:
        if not cross_documents or room() < 2:
            rows.append([])
        text: list[int] = []
        for sentence in document:
            while len(text) + len(sentence) + 1 > room():
                if not text and not rows[-1]:  # longer than a row: it is cut
                    text, sentence = sentence[: length - 2], sentence[length - 2 :]
                rows[-1] += [text] if text else []
                rows.append([])
                text = []
            text = text + sentence
        rows[-1].append(text)
    return [row for row in rows if row]


class Documents(NamedTuple):
    """Tokenized documents, end to end.

    Attributes:
        tokens: (N,), ids of all tokens, without special ones.
        sentences: (S + 1,), where each sentence starts in ``tokens``, and where the last ends.
        documents: (M + 1,), where each document starts in ``sentences``, and where the last ends.
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


class RowBatch(NamedTuple):
    """Some rows as tensors, with nothing masked yet.

    Attributes:
        input_ids: (B, L).
        attention_mask: (B, L), or None if all rows have the same length.
        token_type_ids: (B, L).
        nsp_labels: (B,).
    """

    input_ids: Tensor
    attention_mask: Tensor | None
    token_type_ids: Tensor
    nsp_labels: Tensor

    @property
    def num_tokens(self) -> int:
        """How many tokens there are, not counting padding."""
        return self.input_ids.numel() if self.attention_mask is None else int(self.attention_mask.sum())


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


def ends(sizes: Iterable[int]) -> NDArray:
    """Running totals, starting at 0.

    >>> ends([2, 1]).tolist()
    [0, 2, 3]
    """
    return np.cumsum([0, *sizes], dtype=np.int64)
