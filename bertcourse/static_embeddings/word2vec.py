"""Chapter 0: skip-gram with negative sampling, as word2vec minimizes it, from counts of pairs.

Each word w has two vectors, v_w where it is the centre of a window and u_w where it is a neighbour. For a centre w, its
neighbour c, and k words n drawn from the noise distribution, the loss is

    L = - ln σ(u_c · v_w) - Σ_n ln σ(-u_n · v_w),        P(n) ∝ #(n)^0.75

(Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", equation 4). Over
a whole text it depends only on how often each pair occurs. With N(w, c) the number of pairs and N(w) = Σ_c N(w, c),
the draws cost on average (Levy & Goldberg 2014, equations 4 to 6)

    L = - Σ_w Σ_c [ N(w, c) ln σ(u_c · v_w) + k N(w) P(c) ln σ(-u_c · v_w) ]
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array


def thinned(pairs: csr_array, word_counts: NDArray, threshold: float = 1e-4) -> csr_array:
    """How many of each pair are left, on average, when frequent words are dropped from the text.

    An occurrence of a word with share f of the text is kept with probability min(1, √(t / f)) (Mikolov et al. 2013,
    section 2.3). A dropped word keeps its place here; in word2vec's program the words around it move together.

    Args:
        pairs: (V, V), how often each word has each other word as a neighbour.
        word_counts: (V,), how often each word occurs.
        threshold: t.

    >>> thinned(csr_array([[0, 8], [8, 0]]), np.array([96, 4]), threshold=0.24).toarray()
    array([[0., 4.],
           [4., 0.]])
    """
    keep = np.minimum(1, np.sqrt(threshold * word_counts.sum() / word_counts))
    return csr_array(pairs * keep * keep[:, None])


def train_word2vec(
    pairs: csr_array,
    word_counts: NDArray,
    size: int = 100,
    negatives: int = 5,
    epochs: int = 7,
    rate: float = 0.03,
    parts: int = 30,
    seed: int = 0,
    watch: Callable[[int, NDArray], None] = lambda *_: None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Word vectors from the counts of pairs, one block of centres and neighbours at a time, by Adam.

    Args:
        pairs: (V, V), N(w, c), how often each word has each other word as a neighbour; from a text ``thinned``.
        word_counts: (V,), how often each word occurs; none of them 0.
        size: D.
        negatives: k, noise words per pair.
        epochs: how many times to go through all V² pairs.
        rate: Adam's, at the first step; it falls linearly to 0.
        parts: how many parts the words are dealt into; a step takes the centres of one and the neighbours of another.
        seed: of the initial vectors and the order of the blocks.
        watch: called after each epoch with its number and the centres' vectors so far.

    Returns:
        ``(v, u)``, each (V, D): the vectors of centres and of neighbours.
    """
    chance = torch.Generator().manual_seed(seed)
    noise = torch.tensor(word_counts**0.75 / (word_counts**0.75).sum()).float()
    v, u = torch.randn(2, len(noise), size, generator=chance) / 10
    centres, contexts = ([t[i::parts] for i in range(parts)] for t in (v, u))
    optimizer = torch.optim.Adam([*centres, *contexts], rate, betas=(0.9, 0.99))
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, epochs * parts**2)
    for epoch in range(1, epochs + 1):
        for a in torch.randperm(parts, generator=chance).tolist():
            met = torch.from_numpy(pairs[a::parts].toarray()).float()
            for b in torch.randperm(parts, generator=chance).tolist():
                N = met[:, b::parts]  # N(w, c)
                made_up = negatives * met.sum(1, keepdim=True) * noise[b::parts]
                g = torch.sigmoid(centres[a] @ contexts[b].T) * (N + made_up) - N
                centres[a].grad = g @ contexts[b]
                contexts[b].grad = g.T @ centres[a]
                optimizer.step(), decay.step(), optimizer.zero_grad()
        watch(epoch, v.numpy())
    return v.numpy(), u.numpy()
