"""Chapter 4: from documents to rows: pairs of segments for next-sentence prediction, or rows packed with sentences.

A row is [CLS] A [SEP] B [SEP], where B follows A in its document half of the time (Devlin et al. 2019, section 3.1,
task 2), or [CLS] and as many sentences as fit, for training without that task. (Liu et al. 2019, "RoBERTa", section
4.2, call the former SEGMENT-PAIR, the latter FULL-SENTENCES or DOC-SENTENCES.) ``sentence_pairs`` and
``pack_documents`` in ``pairs_fast`` copy no tokens but say where rows lie in one long array, which may be on disk.
``collate`` turns such rows into tensors.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertcourse.pretraining.masking import Vocabulary

IS_NEXT, NOT_NEXT = 0, 1  # classes of next-sentence prediction, as in the authors' release


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
