"""Chapter 5: a vector for each word of a text, from any layers of BERT.

BERT reads tokens; a word is one or several of them, and its vector is the mean of theirs, taken from one layer or from
several, added up or side by side (Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019 for the sum of the last four):

    v_word = 1/|tokens| Σ_t Σ_l h_t^(l)

``word_vectors`` reads sentences in batches, and one that is too long for the model in windows
(``bertcourse.bert.windows``). ``vector_cache`` keeps what it computes.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from bertcourse.bert import BertForPreTraining, BertModel, length_buckets, pad_rows
from bertcourse.bert.windows import make_windows, window_size
from bertcourse.tokenization.encoding import check_text
from bertcourse.training.modes import evaluation_mode

POOLINGS = ("sum", "mean", "concat", "stack")


class ContextualVectors(Sequence):
    """A vector for each word: ``vectors[3][0]`` is that of the first word of the fourth sentence.

    Args:
        array: (words, …), the vectors of all sentences one after the other.
        counts: how many words each sentence has.

    >>> vectors = ContextualVectors(np.arange(6.0).reshape(3, 2), counts=[1, 2])
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
) -> ContextualVectors:
    """Contextual vectors of words: the mean over a word's tokens of the sum of the last four layers.

    Args:
        model: any BERT, in evaluation mode; its device is used.
        tokenizer: its tokenizer, as ``load_pretrained`` returns it.
        sentences_of_words: for each sentence its words. "New York" may be one of them.
        layers: which layers to take; 0 is the embeddings, 1 the first block, -1 the last.
        pooling: how several layers are combined: "sum" or "mean", D numbers per word; "concat", layers × D numbers;
            "stack", an array (layers, D).
        only: for each sentence the indices of the words that are wanted; None for all. The model reads the others, too.
        dtype: "float32" or "float16", of the result.
        max_length: the longest sequence to read, with [CLS] and [SEP]; None for the longest that the model can. A
            longer sentence is read in windows; each word's vector is from the window with most text on both sides.
        overlap: tokens that two windows share; None for half a window. If a word is longer than that, only its tokens
            in one window count.
        max_tokens: B × L of a batch.

    Returns:
        ``ContextualVectors``, whose ``array`` has a row for each word.

    Source: Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019, "Language Modelling Makes Sense", section 4.1.
    """
    check_model(model)
    layers = check_layers(layers, model.config.num_hidden_layers)
    check_form(pooling, dtype)
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
            hidden_states = model(*(part.to(device) for part in inputs)).hidden_states
            states = pool([hidden_states[layer].float() for layer in layers], pooling).cpu().numpy()  # (B, L, …)
            for window, tokens in zip(batch, states):
                for row, (first, end) in zip(window.rows, window.spans):
                    array[row] = tokens[first:end].mean(axis=0)
    if not np.isfinite(array).all():
        raise ValueError(
            "every vector must be finite; got NaN or infinity. Check that the model's weights are finite; if a vector "
            'is too large for float16, pass dtype="float32".'
        )
    return ContextualVectors(array, counts)


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


def check_form(pooling: str, dtype: str) -> None:
    """Refuse an unknown pooling or an unknown type of numbers."""
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
    if dtype not in ("float32", "float16"):
        raise ValueError(f'dtype must be "float32" or "float16"; got {dtype!r}.')


def check_model(model: BertModel | BertForPreTraining) -> None:
    """Refuse anything that is not a BERT, and a BERT with dropout on."""
    if not isinstance(model, BertModel | BertForPreTraining):
        raise TypeError(f"model must be a BERT, as load_pretrained returns it; got {type(model).__name__}.")
    if model.training:
        raise ValueError("model must be in evaluation mode, or dropout changes every vector; call model.eval() first.")


def check_layers(layers: Sequence[int], num_layers: int) -> list[int]:
    """Layers as indices from 0, the embeddings, to ``num_layers``; negative ones count from the end.

    Raises:
        ValueError: if there are none, or one of them is not an integer or not in the model.

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
        TypeError: if a word is not a string.
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
    """Refuse anything but a list of lists of words; ``name`` is what the message calls it.

    Raises:
        TypeError: if ``sentences`` is not a sequence (a generator would be empty the second time), or a word is not a
            string.
        ValueError: if a sentence is a string, which would be read letter by letter, or a word holds a lone surrogate.
    """
    for each in (sentences, *sentences) if isinstance(sentences, Sequence) else [sentences]:
        if not isinstance(each, Sequence | np.ndarray):
            raise TypeError(f'{name} must be lists of words, such as [["a", "word"]]; got {type(each).__name__}.')
    if isinstance(sentences, str) or any(isinstance(sentence, str) for sentence in sentences):
        raise ValueError(f'{name} must be lists of words, such as [["a", "word"]]; got a string. Split it.')
    for number, sentence in enumerate(sentences):
        for word in sentence:
            check_text(word, f"every word of sentence {number}")
