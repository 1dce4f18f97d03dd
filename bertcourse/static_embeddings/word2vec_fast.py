"""Chapter 0: skip-gram with negative sampling from counts, with all draws replaced by what they are on average.

Over a whole text, the loss of ``word2vec`` depends only on how often each pair occurs. With N(w, c) the expected number
of pairs, N(w) = Σ_c N(w, c), and x = u_c · v_w, its expectation is

    L = - Σ_w Σ_c [ N(w, c) ln σ(x) + k N(w) P(c) ln σ(-x) ]

(Levy & Goldberg 2014, equations 4 to 6). The sum runs over all V² pairs, most of which never occur; matrix products
compute it one block of words at a time: no pair is drawn, and no update waits for another. With Adam (Kingma & Ba 2015)
rare words take steps as long as frequent ones. An epoch costs V² D, however long the text is.

The defaults agreed best with people, on every second pair of MEN, after less than a minute of CPU time on the table of
pairs. We tried thresholds from 1e-5 to 1e-3, 2 and 5 negatives, blocks of 300 and 600, and 15 to 30 epochs.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from tqdm import tqdm

from bertcourse.static_embeddings.counts_fast import count_pairs
from bertcourse.static_embeddings.vectors import WordVectors
from bertcourse.static_embeddings.word2vec import keep_probability, noise_distribution


class PairTable(Protocol):
    """What ``train_word2vec`` needs from a table of pairs, such as the one that ``datasets.word_pairs`` gives."""

    words: Sequence[str]
    word_counts: NDArray

    def matrix(self) -> csr_array:
        """(V, V), how often each word has each other word as a neighbour."""


def window_weights(window: int) -> list[float]:
    """How likely a neighbour at distance 1, 2, …, window is to be in a window drawn from 1 to ``window``.

    >>> window_weights(4)
    [1.0, 0.75, 0.5, 0.25]
    """
    return [(window - distance) / window for distance in range(window)]


def expected_pairs(counts: csr_array, word_counts: NDArray, threshold: float) -> csr_array:
    """How many of each pair are left, on average, after frequent words are dropped by ``keep_probability``.

    A dropped word keeps its place here; in word2vec the words around it move together, so that its windows reach
    further.

    Args:
        counts: (V, V), pairs in the text.
        word_counts: (V,), words in the text.
        threshold: t.

    Returns:
        (V, V), N(w, c).

    >>> expected_pairs(csr_array([[0, 8], [8, 0]]), np.array([96, 4]), threshold=0.24).toarray()
    array([[0., 4.],
           [4., 0.]])
    """
    keep = keep_probability(word_counts, threshold)
    pairs = csr_array(counts, dtype=np.float64).tocoo()
    return csr_array((pairs.data * keep[pairs.row] * keep[pairs.col], (pairs.row, pairs.col)), shape=counts.shape)


def expected_loss(centres: NDArray, contexts: NDArray, pairs: csr_array, noise: NDArray, negatives: int) -> float:
    """The equation of this module, as it stands: the mean loss per pair.

    Args:
        centres, contexts: (V, D), the vectors v and u.
        pairs: (V, V), N(w, c).
        noise: (V,), P(c).
        negatives: k.

    >>> pairs, noise = csr_array([[0, 4], [4, 0]]), np.ones(2) / 2
    >>> round(expected_loss(np.zeros((2, 3)), np.ones((2, 3)), pairs, noise, negatives=5), 4)  # 6 ln 2
    4.1589
    """
    x, found = centres @ contexts.T, pairs.toarray()
    noisy = negatives * found.sum(axis=1, keepdims=True) * noise
    return float((found * np.logaddexp(0, -x) + noisy * np.logaddexp(0, x)).sum() / found.sum())


def block_gradients(
    v: Tensor, u: Tensor, places: Tensor, values: Tensor, rows: Tensor, noise: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of the expected loss of a block of pairs, A centres by B neighbours.

    Args:
        v, u: (A, D) and (B, D), the vectors of centres and neighbours.
        places, values: (n,), the places in the flattened block (A · B) at which pairs occur, each once, and N(w, c)
            there.
        rows: (A,), k · N(w).
        noise: (B,), P(c).

    Returns:
        ``(gradient of v, gradient of u)``.
    """
    x = v @ u.T
    pull = values * torch.sigmoid(-x.view(-1)[places])
    g = x.sigmoid_().mul_(rows[:, None]).mul_(noise)
    g.view(-1)[places] -= pull
    return g @ u, g.T @ v


class Blocks:
    """N(w, c) cut into blocks of words by words, with what ``block_gradients`` needs for each.

    Args:
        pairs: (V, V), N(w, c).
        noise: (V,), P(c).
        negatives: k.
        groups: the word numbers in each group; a block is a group of centres by a group of neighbours.
    """

    def __init__(self, pairs: csr_array, noise: NDArray, negatives: int, groups: Sequence[NDArray]):
        scale = pairs.shape[0] / pairs.sum()  # so that the size of gradients does not depend on the text
        self.rows = [
            torch.tensor(negatives * scale * pairs.sum(axis=1)[group], dtype=torch.float32) for group in groups
        ]
        self.noise = [torch.tensor(noise[group], dtype=torch.float32) for group in groups]
        self.cells = {}
        for a, centres in enumerate(groups):
            band = pairs[centres].tocsc()
            for b, neighbours in enumerate(groups):
                block = band[:, neighbours].tocoo()
                places = torch.from_numpy(block.row.astype(np.int64) * len(neighbours) + block.col)
                self.cells[a, b] = places, torch.tensor(scale * block.data, dtype=torch.float32)

    def gradients(self, a: int, b: int, v: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of block (a, b), at the vectors v of its centres and u of its neighbours."""
        return block_gradients(v, u, *self.cells[a, b], self.rows[a], self.noise[b])


def train_word2vec(
    pairs_or_ids: PairTable | NDArray,
    words: Sequence[str] | None = None,
    size: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 20,
    learning_rate: float = 0.02,
    threshold: float = 1e-4,
    block: int = 300,
    seed: int = 0,
    after_epoch: Callable[[int, WordVectors], None] | None = None,
) -> WordVectors:
    """Word vectors by skip-gram with negative sampling, from a table of pairs or from a text given as numbers.

    Args:
        pairs_or_ids: a table of pairs, such as ``datasets.word_pairs()``; or (N,), a text as numbers, with -1 for
            unknown words and between texts (``word_ids``).
        words: the V words that the numbers stand for; a table brings its own.
        size: D.
        window: how far away a neighbour in a text may be; near ones count more, by ``window_weights``. A table has
            been counted with a window of its own.
        negatives: k, noise words per pair.
        epochs: how many times to go through all V² pairs.
        learning_rate: Adam's, at the first step; it falls linearly to 0.
        threshold: for ``keep_probability``.
        block: words in a group; a step takes one group of centres and one of neighbours.
        seed: of the initial vectors, the groups, and the order of the blocks.
        after_epoch: called with the number of epochs done and the vectors at that point.

    Returns:
        The centres' vectors; ``contexts`` are those of the neighbours.
    """
    words, counts, word_counts = read_source(pairs_or_ids, words, window)
    pairs, noise = expected_pairs(counts, word_counts, threshold), noise_distribution(word_counts)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(words), generator=generator).numpy()
    groups = np.array_split(order, -(-len(words) // block))
    blocks = Blocks(pairs, noise, negatives, groups)
    centres, contexts = (
        [torch.empty(len(group), size).normal_(0, 0.1, generator=generator) for group in groups] for _ in range(2)
    )
    optimizer = torch.optim.Adam([*centres, *contexts], lr=learning_rate, betas=(0.9, 0.99))
    steps, done = epochs * len(groups) ** 2, 0
    for epoch in tqdm(range(epochs), desc="word2vec", unit=" epochs", disable=None):
        for cell in torch.randperm(len(groups) ** 2, generator=generator).tolist():
            a, b = divmod(cell, len(groups))
            optimizer.param_groups[0]["lr"] = learning_rate * (1 - done / steps)
            centres[a].grad, contexts[b].grad = blocks.gradients(a, b, centres[a], contexts[b])
            optimizer.step()  # moves only these two, as the others have no gradient
            centres[a].grad = contexts[b].grad = None
            done += 1
        if after_epoch:
            after_epoch(epoch + 1, gathered(words, order, centres, contexts))
    return gathered(words, order, centres, contexts)


def gathered(words: Sequence[str], order: NDArray, *tables: Sequence[Tensor]) -> WordVectors:
    """The vectors of all groups, of centres and of neighbours, in the order of the words."""
    place = np.argsort(order)
    return WordVectors(words, *(torch.cat(list(table)).numpy()[place] for table in tables))


def read_source(
    source: PairTable | NDArray, words: Sequence[str] | None, window: int
) -> tuple[Sequence[str], csr_array, NDArray]:
    """The words, the counts of their pairs and the words' own counts, from a table or from a text given as numbers."""
    if hasattr(source, "matrix"):
        return source.words, source.matrix(), source.word_counts
    ids = np.asarray(source)
    are_numbers = words is not None and ids.ndim == 1 and ids.dtype.kind in "iu" and ids.size > 0
    if not are_numbers or not -1 <= ids.min() <= ids.max() < len(words):
        raise ValueError(
            "pairs_or_ids must be a table such as word_pairs(), or a row of numbers from -1 to V - 1, with words=, the "
            f"V words that they stand for; got {type(source).__name__} of shape {ids.shape}, words={words!r:.40}."
        )
    word_counts = np.bincount(ids[ids >= 0], minlength=len(words))
    counts = count_pairs(ids, len(words), window, window_weights(window))
    if not counts.sum() > 0:
        raise ValueError(f"a text must have two words (no -1) at most {window} places apart; got none.")
    return words, counts, word_counts
