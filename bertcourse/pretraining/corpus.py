"""Chapter 4: texts as tokens, end to end in one array, and what a run is trained on and measured on."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer


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
        return cls(tokens, _ends(map(len, sentences)), _ends(map(len, documents)))

    def lists(self) -> list[list[list[int]]]:
        """Documents of sentences of token ids.

        >>> Documents.of([[[5, 6], [7]], [[8, 9]]]).lists()
        [[[5, 6], [7]], [[8, 9]]]
        """
        tokens, starts = self.tokens.tolist(), self.sentences.tolist()
        sentences = [tokens[start:stop] for start, stop in itertools.pairwise(starts)]
        return [sentences[first:last] for first, last in itertools.pairwise(self.documents.tolist())]


class Corpus(NamedTuple):
    """What a run trains on and is measured on.

    Attributes:
        train: shards to train on.
        held_out: shards of other documents, to measure on.
        tokenizer: the one that made the ids.
        probe: further measurements of a model, by name, or None.
    """

    train: list[Documents]
    held_out: list[Documents]
    tokenizer: Tokenizer
    probe: Callable | None = None


def _ends(sizes: Iterable[int]) -> NDArray:
    """Running totals, starting at 0."""
    return np.cumsum([0, *sizes], dtype=np.int64)
