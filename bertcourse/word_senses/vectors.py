"""Chapter 5: a vector for each word of a text, from any layers of BERT.

BERT reads tokens; a word is one or several of them, and its vector is the mean of theirs, with the chosen layers added
up (Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019 for the sum of the last four):

    v_word = 1/|tokens| Σ_t Σ_l h_t^(l)
"""

from collections.abc import Sequence

import numpy as np
import torch
from tokenizers import Tokenizer

from bertcourse.bert import BertForPreTraining, BertModel, length_buckets, pad_rows
from bertcourse.bert.windows import make_windows


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


@torch.inference_mode()
def word_vectors(
    model: BertModel | BertForPreTraining,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    layers: Sequence[int] = (-4, -3, -2, -1),
    pooling: str = "sum",
    only: Sequence[Sequence[int]] | None = None,
    max_tokens: int = 2048,
) -> ContextualVectors:
    """Contextual vectors of words: the mean over a word's tokens of the sum of the last four layers.

    Args:
        model: any BERT, in evaluation mode; its device is used.
        tokenizer: its tokenizer, as ``load_pretrained`` returns it.
        sentences: for each sentence its words. "New York" may be one of them. A sentence that is too long for the
            model is read in windows that overlap by half; each word is taken from the one with most text around it.
        layers: which layers to take; 0 is the embeddings, 1 what leaves the first block, -1 the last.
        pooling: "sum" adds the layers up, D numbers per word; "stack" keeps them apart, an array (layers, D).
        only: for each sentence the indices of the words that are wanted; None for all. The model reads the others, too.
        max_tokens: B × L of a batch.

    Returns:
        ``ContextualVectors``, whose ``array`` has a row for each word.

    Source: Devlin et al. 2019, section 5.3; Loureiro & Jorge 2019, "Language Modelling Makes Sense", section 4.1.
    """
    only = [range(len(words)) for words in sentences] if only is None else only
    longest = model.config.max_position_embeddings
    windows = make_windows(tokenizer, sentences, only, longest, longest // 2 - 1)
    device = next(model.parameters()).device
    vectors = {}
    for rows in length_buckets([len(window.ids) for window in windows], max_tokens):
        ids = [windows[i].ids for i in rows]
        batch = pad_rows(ids, [[0] * len(row) for row in ids])
        hidden = model(*(part.to(device) for part in batch)).hidden_states
        states = torch.stack([hidden[layer] for layer in layers], dim=2)
        states = states.sum(dim=2) if pooling == "sum" else states
        for i, tokens in zip(rows, states.cpu().numpy()):
            for word, (first, end) in zip(windows[i].rows, windows[i].spans):
                vectors[word] = tokens[first:end].mean(axis=0)
    array = np.array([vectors[word] for word in range(len(vectors))])
    return ContextualVectors(array, [len(indices) for indices in only])
