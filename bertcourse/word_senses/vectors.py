"""A vector for each word of a text, from any layers of BERT.

BERT reads tokens; a word is one or several of them, and its vector is the mean of theirs, taken from one layer, from
several added up, or side by side (Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019 for the sum of the last four):

    v_word = 1/|tokens| Σ_t Σ_l h_t^(l)

``word_vectors`` comes first, then the windows in which it reads a sentence that is longer than the model.
``vector_cache`` keeps what it computes.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from bertcourse.bert import BertForPreTraining, BertModel, length_buckets, pad_rows
from bertcourse.bert.batching import check_tokenizer, row_tokenizer
from bertcourse.tokenization.encoding import check_text
from bertcourse.training.modes import evaluation_mode

POOLINGS = ("sum", "mean", "concat", "stack")


class WordVectors(Sequence):
    """A vector for each word: ``vectors[3][0]`` is that of the first word of the fourth sentence.

    Args:
        array: (words, …), the vectors of all sentences one after the other.
        counts: how many words each sentence has.

    >>> vectors = WordVectors(np.arange(6.0).reshape(3, 2), counts=[1, 2])
    >>> vectors[1]
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(self, array: np.ndarray, counts: Sequence[int]):
        self.array = array
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=int)])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, sentence: int) -> np.ndarray:
        if isinstance(sentence, slice):
            return [self[i] for i in range(*sentence.indices(len(self)))]
        sentence = range(len(self))[sentence]
        return self.array[self.starts[sentence] : self.starts[sentence + 1]]


def word_vectors(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    sentences_of_words: Sequence[Sequence[str]],
    layers: Sequence[int] = (-4, -3, -2, -1),
    pooling: str = "sum",
    only: Sequence[Sequence[int]] | None = None,
    dtype: str = "float32",
    max_length: int | None = None,
    overlap: int | None = None,
    max_tokens: int = 2048,
) -> WordVectors:
    """Contextual vectors of words: the mean over a word's tokens of the sum of the last four layers.

    Args:
        model: any BERT, in evaluation mode; its device is used.
        tokenizer: its tokenizer, as ``load_pretrained`` returns it.
        sentences_of_words: for each sentence its words. "New York" may be one of them.
        layers: which; 0 is the embeddings, 1 the first block, -1 the last.
        pooling: what becomes of several layers: "sum" or "mean", D numbers a word; "concat", layers × D numbers;
            "stack", an array (layers, D).
        only: for each sentence the indices of the words that are wanted; None for all. The model reads the others, too.
        dtype: "float32" or "float16", of the result.
        max_length: the longest sequence that the model reads, with [CLS] and [SEP]; None for the longest it can. A
            longer sentence is read in windows; each word's vector is from the window with most text on both sides.
        overlap: tokens that two windows share; None for half a window. Of a word longer than that, the tokens that one
            window holds count.
        max_tokens: B × L of a batch.

    Returns:
        ``WordVectors``, whose ``array`` has a row for each word.

    Source: Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019, "Language Modelling Makes Sense", section 4.1.
    """
    check_model(model)
    layers = check_layers(layers, model.config.num_hidden_layers)
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
    if dtype not in ("float32", "float16"):
        raise ValueError(f'dtype must be "float32" or "float16"; got {dtype!r}.')
    only = check_words(sentences_of_words, only)
    windows = make_windows(tokenizer, sentences_of_words, only, *window_size(model, max_length, overlap))

    device = next(model.parameters()).device
    counts = [len(indices) for indices in only]
    array = np.zeros((sum(counts), *vector_shape(model, layers, pooling)), dtype)
    buckets = length_buckets([len(window.ids) for window in windows], max_tokens)
    with evaluation_mode(model), np.errstate(over="ignore"):  # what is too large for float16 is refused below
        for bucket in tqdm(buckets, desc="word vectors", unit=" batches", leave=False, disable=None):
            batch = [windows[i] for i in bucket]
            inputs = pad_rows([window.ids for window in batch], [[0] * len(window.ids) for window in batch])
            hidden_states = model(*(part.to(device) for part in inputs), output_hidden_states=True).hidden_states
            states = pool([hidden_states[layer].float() for layer in layers], pooling).cpu().numpy()  # (B, L, …)
            for window, tokens in zip(batch, states):
                for row, (first, end) in zip(window.rows, window.spans):
                    array[row] = tokens[first:end].mean(axis=0)
    if not np.isfinite(array).all():
        raise ValueError(
            "every vector must be finite; got NaN or infinity. Are the model's weights? Or is a vector too large for "
            'float16: ask for dtype="float32".'
        )
    return WordVectors(array, counts)


def pool(states: Sequence[Tensor], pooling: str) -> Tensor:
    """The states of several layers, (B, L, D) each, as (B, L, D), (B, L, layers × D) or (B, L, layers, D)."""
    if pooling == "concat":
        return torch.cat(list(states), dim=2)
    if pooling == "stack":
        return torch.stack(list(states), dim=2)
    return sum(states) / (len(states) if pooling == "mean" else 1)


def vector_shape(model: BertModel | BertForPreTraining, layers: Sequence[int], pooling: str) -> tuple[int, ...]:
    """The shape of one word's vector, as ``pool`` makes it."""
    hidden_size = model.config.hidden_size
    return {"concat": (len(layers) * hidden_size,), "stack": (len(layers), hidden_size)}.get(pooling, (hidden_size,))


class Window(NamedTuple):
    """Tokens that the model reads at once: a sentence, or a part of one that is too long.

    Attributes:
        ids: token ids with [CLS] and [SEP].
        sentence: the index of the sentence.
        rows: the words it gives vectors for, as rows of the result.
        spans: for each of them, (first, last + 1) among ``ids``.
    """

    ids: list[int]
    sentence: int
    rows: list[int]
    spans: list[tuple[int, int]]


def make_windows(
    tokenizer: Tokenizer,
    sentences_of_words: Sequence[Sequence[str]],
    only: Sequence[Sequence[int]],
    max_length: int,
    overlap: int,
) -> list[Window]:
    """Tokenize sentences, cut the long ones into windows, and choose a window for each wanted word.

    The windows of ``tokenizers`` (truncation with a stride) end with a short one; here the last one, too, is full, so
    that the words at the end of a text have as much context as others.

    Args:
        tokenizer: as ``load_pretrained`` returns it.
        sentences_of_words: for each sentence its words.
        only: for each sentence the indices of the wanted words.
        max_length: tokens of a window at most, with [CLS] and [SEP].
        overlap: tokens that two windows share.

    Returns:
        The windows that give a vector for a word, sentence by sentence.

    Source: the sliding window of Devlin et al.'s ``run_squad.py``, with its "maximum context".
    """
    check_tokenizer(tokenizer)
    if tokenizer.num_special_tokens_to_add(is_pair=False) != 2:
        raise ValueError("the tokenizer must put [CLS] and [SEP] around a text; take the one of load_pretrained.")
    uncut = row_tokenizer(tokenizer, max_length=sys.maxsize)
    encodings = uncut.encode_batch([list(words) for words in sentences_of_words], is_pretokenized=True)
    size, row, windows = max_length - 2, 0, []
    for number, (words, indices, encoding) in enumerate(zip(sentences_of_words, only, encodings)):
        cls, *ids, sep = encoding.ids
        places = word_places(encoding.word_ids[1:-1])
        starts = window_starts(len(ids), size, overlap)
        in_window = [Window([cls, *ids[start : start + size], sep], number, [], []) for start in starts]
        for index in indices:
            if index not in places:
                raise ValueError(
                    f"every word must give at least one token; word {index} of sentence {number}, {words[index]!r}, "
                    f"gives none. Leave it out, or put [UNK] in its place."
                )
            first, end = places[index]
            best = best_window(starts, size, len(ids), first, end)
            in_window[best].rows.append(row)
            in_window[best].spans.append(
                (max(first - starts[best], 0) + 1, min(end - starts[best], size) + 1)  # + 1 for [CLS]
            )
            row += 1
        windows += [window for window in in_window if window.rows]
    return windows


def word_places(word_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Where each word's tokens are: word to (first, last + 1).

    >>> word_places([0, 1, 1, 3])
    {0: (0, 1), 1: (1, 3), 3: (3, 4)}
    """
    places: dict[int, tuple[int, int]] = {}
    for position, word in enumerate(word_ids):
        places[word] = (places.get(word, (position,))[0], position + 1)
    return places


def window_starts(length: int, size: int, overlap: int) -> list[int]:
    """Where windows of ``size`` tokens begin that cover a text of ``length``; the last one ends with it.

    >>> window_starts(length=10, size=4, overlap=2)
    [0, 2, 4, 6]
    >>> window_starts(length=3, size=4, overlap=2)
    [0]
    """
    last = max(length - size, 0)
    return [*range(0, last, size - overlap), last]


def best_window(starts: Sequence[int], size: int, length: int, first: int, end: int) -> int:
    """The window that has most context on both sides of a word; of several equal ones the first.

    Args:
        starts: where windows begin.
        size: tokens of a window.
        length: tokens of the text; where the text itself ends, nothing is missing.
        first, end: the word's tokens are from ``first`` to before ``end``.

    >>> best_window([0, 2, 4, 6], size=4, length=10, first=3, end=4)
    1
    """

    def context(start: int) -> int:
        before = length if start == 0 else first - start
        after = length if start + size >= length else start + size - end
        return min(before, after)

    return max(range(len(starts)), key=lambda i: context(starts[i]))


def window_size(model: BertModel | BertForPreTraining, max_length: int | None, overlap: int | None) -> tuple[int, int]:
    """``max_length`` and ``overlap`` of ``word_vectors``, None replaced.

    Raises:
        ValueError: if one is out of range.
    """
    longest = model.config.max_position_embeddings
    max_length = longest if max_length is None else max_length
    if not 3 <= max_length <= longest:
        raise ValueError(f"max_length must be from 3 to {longest}, the model's positions; got {max_length}.")
    overlap = (max_length - 2) // 2 if overlap is None else overlap
    if not 0 <= overlap < max_length - 2:
        raise ValueError(f"overlap must be from 0 to {max_length - 3}, below the tokens of a window; got {overlap}.")
    return max_length, overlap


def check_model(model: BertModel | BertForPreTraining) -> None:
    """Refuse what is no BERT, or one with dropout on."""
    if not isinstance(model, BertModel | BertForPreTraining):
        raise TypeError(f"model must be a BERT, as load_pretrained returns it; got {type(model).__name__}.")
    if model.training:
        raise ValueError("model must be in evaluation mode, or dropout changes every vector; call model.eval() first.")


def check_layers(layers: Sequence[int], num_layers: int) -> list[int]:
    """Layers as indices from 0, the embeddings, to ``num_layers``; negative ones count from the end.

    Raises:
        ValueError: if there is none, or one that is no integer or that the model does not have.

    >>> check_layers((0, -1), num_layers=6)
    [0, 6]
    """
    layers = list(layers) if isinstance(layers, Iterable) else [layers]
    integers = all(isinstance(layer, int | np.integer) for layer in layers)
    if not layers or not integers or not all(-num_layers - 1 <= layer <= num_layers for layer in layers):
        raise ValueError(
            f"layers must be at least one index from {-num_layers - 1} to {num_layers}, as the model has {num_layers} "
            f"blocks and 0 stands for its embeddings; got {layers}. Name fewer: the default is the last four."
        )
    return [int(layer) % (num_layers + 1) for layer in layers]


def check_words(
    sentences_of_words: Sequence[Sequence[str]], only: Sequence[Sequence[int]] | None
) -> list[Sequence[int]]:
    """The indices of the words that are wanted, sentence by sentence; all if ``only`` is None.

    Raises:
        TypeError: if a word is no string.
        ValueError: if a sentence is a string, an index is not in its sentence, or the lengths differ.
    """
    check_sentences("sentences_of_words", sentences_of_words)
    if only is None:
        return [range(len(sentence)) for sentence in sentences_of_words]
    if len(only) != len(sentences_of_words):
        raise ValueError(f"only must have a list for each of the {len(sentences_of_words)} sentences; got {len(only)}.")
    for number, (sentence, indices) in enumerate(zip(sentences_of_words, only)):
        if outside := [index for index in indices if index not in range(len(sentence))]:
            raise ValueError(f"only: sentence {number} has words 0 to {len(sentence) - 1}; got {outside[0]!r}.")
    return list(only)


def check_sentences(name: str, sentences: Sequence[Sequence[str]]) -> None:
    """Refuse what is not a list of lists of words; ``name`` is what the message calls it.

    Raises:
        TypeError: if there are no sentences to go through, or a word is no string.
        ValueError: if a sentence is a string, which would be read letter by letter, or a word holds a lone surrogate.
    """
    if not isinstance(sentences, Iterable):
        raise TypeError(f'{name} must be lists of words, such as [["a", "word"]]; got {type(sentences).__name__}.')
    if isinstance(sentences, str) or any(isinstance(sentence, str) for sentence in sentences):
        raise ValueError(f'{name} must be lists of words, such as [["a", "word"]]; got a string. Split it.')
    for number, sentence in enumerate(sentences):
        for word in sentence:
            check_text(word, f"every word of sentence {number}")
