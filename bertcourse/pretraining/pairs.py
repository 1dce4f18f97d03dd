"""Chapter 4: from documents to rows: pairs of segments, of which half follow each other, as batches of tensors.

A row is [CLS] A [SEP] B [SEP], where B follows A in its document half of the time (Devlin et al. 2019, section 3.1,
task 2, and appendix A.2).
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from bertcourse.pretraining.masking import MaskedTokens, Vocabulary, mask_tokens

IS_NEXT, NOT_NEXT = 0, 1  # classes of next-sentence prediction, as in the authors' release

Pair = tuple[list[int], list[int], int]  # tokens of A, tokens of B, and the label


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


def sentence_pairs(documents: Sequence[list[list[int]]], length: int, rng: random.Random) -> list[Pair]:
    """Cut documents into pairs of segments; half of the time, the second follows the first.

    Sentences are taken from a document until they fill a row, and split into A and B between two of them. Half of the
    time B is replaced by sentences of another document, and the sentences it would have had are taken again. Where one
    sentence fills a row, the authors' script never lets its own continuation follow; this one adds a sentence, so that
    both classes are equally frequent however long sentences are.

    Args:
        documents: at least two, each a list of sentences of token ids. One of a single sentence is only a B for others.
        length: L, the maximum number of tokens in a row, [CLS] and both [SEP] included.
        rng: source of randomness.

    Source: Devlin et al. 2019, appendix A.2, and the authors' create_pretraining_data.py.
    """
    max_tokens, pairs = length - 3, []  # beside [CLS] and two [SEP]
    for number, sentences in enumerate(documents):
        start = 0
        while len(sentences) - start > 1:
            end = fill(sentences, start, max_tokens, least=2)
            cut = rng.randrange(start + 1, end)
            a = sum(sentences[start:cut], [])  # sentences joined to one list of tokens
            if rng.random() < 0.5:
                b, label, start = sum(sentences[cut:end], []), IS_NEXT, end
            else:
                index = rng.randrange(len(documents) - 1)
                other = documents[index + (index >= number)]  # any but this one
                first = rng.randrange(len(other))
                last = fill(other, first, max_tokens - len(a), least=1)
                b, label = sum(other[first:last], []), NOT_NEXT
                start = cut  # what follows A has not been used yet
            pairs.append((*truncate(a, b, max_tokens, rng), label))
    return pairs


def fill(sentences: list[list[int]], start: int, max_tokens: int, least: int) -> int:
    """The end of the sentences that it takes, from ``start`` on, to fill so many tokens: at least ``least`` of them."""
    end, size = start, 0
    while end < len(sentences) and (size < max_tokens or end < start + least):
        size, end = size + len(sentences[end]), end + 1
    return end


def truncate(a: list[int], b: list[int], max_tokens: int, rng: random.Random) -> tuple[list[int], list[int]]:
    """Shorten the longer segment, token by token from a random end, until both fit."""
    while len(a) + len(b) > max_tokens:
        longer = a if len(a) > len(b) else b
        longer.pop(0 if rng.random() < 0.5 else -1)
    return a, b


def collate(pairs: Sequence[Pair], vocabulary: Vocabulary) -> RowBatch:
    """Pairs as tensors, padded to the longest of them: [CLS] A [SEP] B [SEP] (Devlin et al. 2019, figure 2)."""
    width = max(len(a) + len(b) for a, b, _ in pairs) + 3
    input_ids = torch.full((len(pairs), width), vocabulary.pad_id)
    segments = torch.zeros_like(input_ids)
    for row, (a, b, _) in enumerate(pairs):
        tokens = [vocabulary.cls_id, *a, vocabulary.sep_id, *b, vocabulary.sep_id]
        input_ids[row, : len(tokens)] = torch.tensor(tokens)
        segments[row, len(a) + 2 : len(tokens)] = 1
    labels = torch.tensor([label for _, _, label in pairs])
    attention_mask = (input_ids != vocabulary.pad_id).long()
    return RowBatch(input_ids, attention_mask, segments, labels)


def batches(
    documents: Sequence[list[list[int]]],
    vocabulary: Vocabulary,
    length: int = 64,
    batch_size: int = 16,
    rate: float = 0.15,
    seed: int = 0,
    **shares: float,
) -> Iterator[tuple[MaskedTokens, RowBatch]]:
    """An endless stream of batches: new pairs and new holes each time the documents have been read.

    Args:
        documents, length: as for ``sentence_pairs``.
        vocabulary: of the tokenizer that made them.
        batch_size: rows per batch, of similar length, so that little is padded.
        rate: the share of tokens to hide.
        seed: of pairs, order and holes.
        shares: ``mask_share`` and ``random_share``, as for ``mask_tokens``.
    """
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    while True:
        pairs = sentence_pairs(documents, length, rng)
        rng.shuffle(pairs)
        pairs.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
        starts = list(range(0, len(pairs) - batch_size + 1, batch_size))
        for start in rng.sample(starts, len(starts)):
            rows = collate(pairs[start : start + batch_size], vocabulary)
            yield mask_tokens(rows.input_ids, vocabulary, rate, generator, **shares), rows
