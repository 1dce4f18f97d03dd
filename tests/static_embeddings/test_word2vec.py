"""word2vec: a step of the formula against autograd, and what is learned."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from bertcourse.static_embeddings import WordVectors, count_neighbours, thinned, train_word2vec

WORDS = "cat dog cow pig hen saw axe file drill plane".split()


@pytest.fixture
def pairs():
    """Counts from sentences on animals or on tools, never both."""
    random = np.random.default_rng(0)
    sentences = [random.choice(WORDS[5 * (i % 2) :][:5], 6).tolist() for i in range(300)]
    return csr_array(count_neighbours(sentences, WORDS, 3)), np.full(len(WORDS), 180)


def test_a_step_follows_the_gradient_of_the_expected_loss(pairs, monkeypatch):
    """One step of plain descent over one block of all words, against autograd on the equation."""
    counts, word_counts = pairs
    monkeypatch.setattr(torch.optim, "Adam", lambda tables, lr, betas: torch.optim.SGD(tables, lr))
    settings = dict(size=4, negatives=3, epochs=1, parts=1)
    start = torch.randn(2, 10, 4, generator=torch.Generator().manual_seed(0)) / 10
    v, u = start.clone().requires_grad_()
    N, x = torch.tensor(counts.toarray(), dtype=torch.float32), v @ u.T
    made_up = 3 * N.sum(1, keepdim=True) / 10  # all words are equally frequent
    gradient = torch.autograd.grad(-(N * logsigmoid(x) + made_up * logsigmoid(-x)).sum(), (v, u))
    moved = train_word2vec(counts, word_counts, rate=1e-4, **settings)
    for before, after, slope in zip(start, moved, gradient):
        np.testing.assert_allclose(after, before - 1e-4 * slope, atol=1e-5)


def test_training_learns_which_words_go_together_and_a_seed_gives_the_same_again(pairs):
    settings = dict(size=8, epochs=60, parts=2)
    v, _ = train_word2vec(*pairs, **settings)
    cosines = WordVectors(WORDS, v).unit @ WordVectors(WORDS, v).unit.T
    assert cosines[:5, :5].mean() - cosines[:5, 5:].mean() > 0.7
    np.testing.assert_array_equal(v, train_word2vec(*pairs, **settings)[0])
    assert not np.allclose(v, train_word2vec(*pairs, seed=1, **settings)[0])


def test_each_pass_is_watched(pairs):
    seen = []
    train_word2vec(*pairs, size=4, epochs=2, parts=1, watch=lambda epoch, v: seen.append((epoch, v.shape)))
    assert seen == [(1, (10, 4)), (2, (10, 4))]


def test_frequent_words_are_thinned_out_and_rare_ones_kept():
    left = thinned(csr_array([[0, 100], [100, 4]]), np.array([9999, 1]), threshold=0.25).toarray()
    assert left[0, 1] == pytest.approx(50, rel=1e-3) and left[1, 1] == 4
