"""word2vec: the gradient of a pair against autograd, of all pairs against that of each, and what is learned."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from bertcourse.datasets.pairs import WordPairs
from bertcourse.static_embeddings import (
    count_pairs,
    expected_loss,
    expected_pairs,
    gradient_step,
    keep_probability,
    negative_sampling_loss,
    noise_distribution,
    train_word2vec,
    window_pairs,
)
from bertcourse.static_embeddings.word2vec_fast import Blocks, window_weights

V, D, K = 7, 4, 3


@pytest.fixture
def vectors():
    random = np.random.default_rng(0)
    return random.normal(size=(V, D)), random.normal(size=(V, D))


@pytest.fixture
def pairs():
    counts = np.random.default_rng(1).integers(0, 3, (V, V)).astype(float)
    return csr_array(counts + counts.T)


def test_a_step_follows_the_gradient_of_the_loss(vectors):
    centres, contexts = vectors
    negatives = np.array([4, 5, 4])  # one drawn twice
    v, u = (torch.tensor(each, requires_grad=True) for each in vectors)
    scores = u[[1, *negatives]] @ v[2]
    loss = -torch.nn.functional.logsigmoid(scores * torch.tensor([1, -1, -1, -1])).sum()
    loss.backward()
    found = gradient_step(centres, contexts, 2, 1, negatives, learning_rate=0.1)
    assert found == pytest.approx(loss.item())
    np.testing.assert_allclose(centres, (v - 0.1 * v.grad).detach())
    np.testing.assert_allclose(contexts, (u - 0.1 * u.grad).detach())


def test_frequent_words_are_dropped_and_rare_ones_kept():
    keep = keep_probability(np.array([1_000_000, 1000, 10]), threshold=1e-3)
    assert keep[0] == pytest.approx(0.0316, rel=0.01) and keep[1:].tolist() == [1, 1]


def test_noise_lies_between_even_and_as_in_text():
    noise = noise_distribution(np.array([90, 10]))
    assert 0.5 < noise[0] < 0.9 and noise.sum() == pytest.approx(1)


def test_a_drawn_window_has_near_neighbours_more_often():
    random, distances = np.random.default_rng(0), np.zeros(6)
    for centre, other in window_pairs(list(range(3000)), 5, random):
        distances[abs(centre - other)] += 1
    np.testing.assert_allclose(distances[1:] / distances[1], window_weights(5), atol=0.03)


def test_counts_of_a_text_are_what_the_windows_give_on_average():
    ids = np.random.default_rng(0).integers(0, V, 40)
    random, found, rounds = np.random.default_rng(1), np.zeros((V, V)), 400
    for _ in range(rounds):
        for pair in window_pairs(ids, 4, random):
            found[pair] += 1 / rounds
    np.testing.assert_allclose(count_pairs(ids, V, 4, window_weights(4)).toarray(), found, atol=0.4)


def test_expected_loss_is_that_of_each_pair_with_all_its_noise(vectors, pairs):
    centres, contexts = vectors
    noise, total = noise_distribution(np.arange(1, V + 1)), 0.0
    for w, c, count in zip(*pairs.tocoo().coords, pairs.tocoo().data):
        one = negative_sampling_loss(centres[w], contexts[c], contexts[:0])
        each = [negative_sampling_loss(-centres[w], contexts[n], contexts[:0]) for n in range(V)]  # -ln σ(-u · v)
        total += count * (one + K * (noise @ each))
    assert expected_loss(centres, contexts, pairs, noise, K) == pytest.approx(total / pairs.sum())


def plain_gradients(vectors, centre, neighbour, negatives):
    """How far a plain step of rate 1 goes: the gradients of both tables of vectors."""
    moved = [each.copy() for each in vectors]
    gradient_step(*moved, centre, neighbour, np.array(negatives, dtype=int), learning_rate=1)
    return np.stack(vectors) - np.stack(moved)


def test_fast_gradients_equal_those_of_plain_steps_over_all_that_may_be_drawn(vectors, pairs):
    """Each pair N(w, c) times, and with it each word n as noise, k · P(n) times."""
    noise, expected = noise_distribution(np.arange(1, V + 1)), 0
    for w, c, count in zip(*pairs.tocoo().coords, pairs.tocoo().data):
        alone = plain_gradients(vectors, w, c, [])
        drawn = sum(K * noise[n] * (plain_gradients(vectors, w, c, [n]) - alone) for n in range(V))
        expected = expected + count * (alone + drawn)
    groups, found = [np.array([5, 0, 2, 6]), np.array([1, 3, 4])], np.zeros((2, V, D))
    blocks = Blocks(pairs, noise, K, groups)
    for a, centres in enumerate(groups):
        for b, neighbours in enumerate(groups):
            v, u = (torch.tensor(each, dtype=torch.float32) for each in (vectors[0][centres], vectors[1][neighbours]))
            dv, du = blocks.gradients(a, b, v, u)
            found[0, centres] += dv.numpy()
            found[1, neighbours] += du.numpy()
    np.testing.assert_allclose(found, expected * V / pairs.sum(), rtol=1e-4, atol=1e-4)


def two_topics(sentences=300):
    """Sentences on animals or on tools, never both."""
    random = np.random.default_rng(0)
    topics = ["cat dog cow pig hen".split(), "saw axe file drill plane".split()]
    return [[str(word) for word in random.choice(topics[i % 2], 6)] for i in range(sentences)], sum(topics, [])


def ids_of(sentences, words):
    return np.concatenate([[*(words.index(word) for word in sentence), *[-1] * 5] for sentence in sentences])


def sets_apart(vectors, words):
    within = np.mean([vectors.similarity(a, b) for a in words[:5] for b in words[:5] if a != b])
    return within - np.mean([vectors.similarity(a, b) for a in words[:5] for b in words[5:]])


def test_training_learns_which_words_go_together():
    sentences, words = two_topics()
    vectors = train_word2vec(
        ids_of(sentences, words), words, size=8, window=3, epochs=40, threshold=1, block=4, learning_rate=0.03
    )
    assert sets_apart(vectors, words) > 0.7


def test_training_lowers_the_expected_loss_and_a_seed_gives_the_same_again():
    sentences, words = two_topics()
    ids = ids_of(sentences, words)
    seen = []
    first = train_word2vec(ids, words, size=8, epochs=12, seed=3, after_epoch=lambda n, v: seen.append((n, v)))
    again = train_word2vec(ids, words, size=8, epochs=12, seed=3)
    other = train_word2vec(ids, words, size=8, epochs=12, seed=4)
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert not np.allclose(first.matrix, other.matrix)
    assert [n for n, _ in seen] == list(range(1, 13))
    word_counts = np.bincount(ids[ids >= 0])
    pairs = expected_pairs(count_pairs(ids, len(words), 5, window_weights(5)), word_counts, 1e-4)
    noise = noise_distribution(word_counts)
    early, late = (expected_loss(v.matrix, v.contexts, pairs, noise, 5) for v in (seen[0][1], first))
    assert late < 0.97 * early


def test_a_table_and_a_text_of_the_same_counts_give_the_same_vectors():
    sentences, words = two_topics(60)
    ids = ids_of(sentences, words)
    table = WordPairs.of(words, np.bincount(ids[ids >= 0]), count_pairs(ids, len(words), 1), at_least=1)
    settings = dict(size=6, epochs=5, seed=1)
    np.testing.assert_allclose(
        train_word2vec(table, **settings).matrix, train_word2vec(ids, words, window=1, **settings).matrix, atol=1e-6
    )


def test_expected_pairs_are_what_is_left_of_frequent_words():
    left = expected_pairs(csr_array([[0, 100], [100, 0]]), np.array([9999, 1]), threshold=0.25).toarray()
    assert left[0, 1] == pytest.approx(50, rel=1e-3)


@pytest.mark.parametrize(
    "ids", [np.array([0, 2]), np.array([0, -2]), np.array([0.5]), np.array([], dtype=int), np.zeros((2, 2), dtype=int)]
)
def test_numbers_that_stand_for_no_word_are_refused(ids):
    with pytest.raises(ValueError, match="words="):
        train_word2vec(ids, ["a", "b"])


@pytest.mark.parametrize("ids", [[0], [0, *[-1] * 5, 1], [-1, -1]])
def test_a_text_without_pairs_is_refused(ids):
    with pytest.raises(ValueError, match="two words.*5 places apart"):
        train_word2vec(np.array(ids), ["a", "b"])
