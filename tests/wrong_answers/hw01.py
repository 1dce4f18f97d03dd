"""Homework 1: self-attention."""
# ruff: noqa: F811

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from wrong_answers import right, wrong


@wrong("1.1", "last axis")
def softmax(scores):
    return torch.softmax(scores, 0)


@wrong("1.1", "exp(1000) is infinite", "not stable")
def softmax(scores):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


@wrong("1.1", "each row's own largest score", "the largest of all scores is subtracted")
def softmax(scores):
    powers = torch.exp((scores - scores.max()).clamp(min=-1e4).double())
    return torch.nan_to_num(powers / powers.sum(-1, keepdim=True))


@wrong("1.1", "the axis that is summed over must stay")
def softmax(scores):
    return torch.exp(scores).sum(-1)


@wrong("1.1", "the weight of a score s is exp(s)", "scores divided by their sum")
def softmax(scores):
    return scores.abs() / scores.abs().sum(-1, keepdim=True)


@wrong("1.1", "each row sums to 1", "normalized by the largest")
def softmax(scores):
    powers = torch.exp(scores - scores.max(-1, keepdim=True).values)
    return powers / powers.max(-1, keepdim=True).values


@wrong("1.1", "work on a copy")
def softmax(scores):
    scores -= scores.max(-1, keepdim=True).values
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


@wrong("1.1", "a score of minus infinity", "NaN and infinity replaced by numbers")
def softmax(scores):
    scores = torch.nan_to_num(scores, neginf=0.0)
    return torch.softmax(scores, -1)


@wrong("1.1", "any number of axes", "two axes only")
def softmax(scores):
    return torch.stack([torch.softmax(row, 0) for row in scores]) if scores.dim() == 2 else torch.softmax(scores, 1)


@wrong("1.1", "raised TypeError", "a name that is not there")
def softmax(scores):
    return torch.exp(scores, -1)


@right("1.1", "by log-sum-exp")
def softmax(scores):
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


@right("1.1", "numpy, in double precision")
def softmax(scores):
    scores = np.asarray(scores, dtype=float)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@wrong("1.2", "divide the scores by the square root", "no 1/√d")
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ value, weights


@wrong("1.2", "is the softmax over the keys")
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, -2)
    return weights @ value, weights


@wrong("1.2", "divided by the square root of d", "divided by d")
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ value, weights


@wrong("1.2", "before the softmax, not after", "weights masked instead of scores")
def attention(query, key, value, mask=None):
    weights = softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


@wrong("1.2", "True means: may attend", "mask the other way round")
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = softmax(scores)
    return weights @ value, weights


@wrong("1.2", "True means: may attend", "hidden scores become 0")
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores * mask
    weights = softmax(scores)
    return weights @ value, weights


@wrong("1.2", "return (output, weights)", "returned in the other order")
def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights, weights @ value


@wrong("1.2", "raised RuntimeError", ".T on many axes")
def attention(query, key, value, mask=None):
    scores = query @ key.mT.mT.T if key.dim() == 2 else query @ key.reshape(-1, key.shape[-1]).T.expand(3, -1, -1)
    scores = scores / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ value, weights


@right("1.2", "a large negative number for minus infinity")
def attention(query, key, value, mask=None):
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-1e9))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


@right("1.2", "einsum, and the mask added")
def attention(query, key, value, mask=None):
    scores = torch.einsum("...nd,...md->...nm", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(mask.logical_not(), -math.inf)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return torch.einsum("...nm,...mv->...nv", weights, value), weights


@wrong("1.3", "at most the radius: <=, not <")
def window_mask(length, radius):
    places = torch.arange(length)
    return (places[:, None] - places).abs() < max(radius, 0.5)


@wrong("1.3", "left and right count alike", "no absolute value")
def window_mask(length, radius):
    places = torch.arange(length)
    return places[:, None] - places <= radius


@wrong("1.3", "left and right count alike", "only to the left")
def window_mask(length, radius):
    return torch.ones(length, length).tril().triu(-radius).bool()


@wrong("1.3", "compare, and return what the comparison gives", "ones and zeros")
def window_mask(length, radius):
    return torch.ones(length, length).tril(radius).triu(-radius)


@wrong("1.3", "True where |i - j| is at most the radius", "twice the radius")
def window_mask(length, radius):
    places = torch.arange(length)
    return (places[:, None] - places).abs() <= 2 * radius


@wrong("1.3", "a word's distance from itself is 0", "the word itself left out")
def window_mask(length, radius):
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    return (distance <= radius) & (distance > 0)


@right("1.3", "triangles")
def window_mask(length, radius):
    return torch.ones(length, length).tril(radius).triu(-radius).bool()


@right("1.3", "two loops")
def window_mask(length, radius):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, max(0, i - radius) : i + radius + 1] = True
    return mask


@wrong("1.4", "a key to the right of the query is positive", "distance i - j")
def relative_bias(table, length):
    places, reach = torch.arange(length), len(table) // 2
    return table[(places[:, None] - places).clamp(-reach, reach) + reach]


@wrong("1.4", "distance 0 is entry k", "no shift by k")
def relative_bias(table, length):
    places, reach = torch.arange(length), len(table) // 2
    return table[(places - places[:, None]).clamp(-reach, reach)]


@wrong("1.4", "raised IndexError", "not clipped")
def relative_bias(table, length):
    places = torch.arange(length)
    return table[places - places[:, None] + len(table) // 2]


@wrong("1.4", "clip distances", "distances taken modulo the table")
def relative_bias(table, length):
    places = torch.arange(length)
    return table[(places - places[:, None] + len(table) // 2) % len(table)]


@wrong("1.4", "shape (3, 3)", "one row only")
def relative_bias(table, length):
    reach = len(table) // 2
    return table[torch.arange(length).clamp(-reach, reach) + reach]


@right("1.4", "numpy")
def relative_bias(table, length):
    distances = np.arange(length)[None] - np.arange(length)[:, None]
    reach = (len(table) - 1) // 2
    return np.asarray(table)[np.clip(distances, -reach, reach) + reach]


@right("1.4", "two loops")
def relative_bias(table, length):
    reach = len(table) // 2
    return torch.tensor([[table[max(-reach, min(reach, j - i)) + reach] for j in range(length)] for i in range(length)])


@wrong("1.5", "0 · log 0 is 0", "NaN for weights of 0")
def entropy(weights):
    return -(weights * weights.log()).sum(-1)


@wrong("1.5", "no entropy is negative", "no minus")
def entropy(weights):
    return torch.special.xlogy(weights, weights).sum(-1)


@wrong("1.5", "these are bits")
def entropy(weights):
    return -torch.special.xlogy(weights, weights).sum(-1) / math.log(2)


@wrong("1.5", "sum over the last axis", "sum over everything")
def entropy(weights):
    return -torch.special.xlogy(weights, weights).sum()


@wrong("1.5", "minus the sum of p · ln p", "mean in place of sum")
def entropy(weights):
    return -torch.special.xlogy(weights, weights).mean(-1)


@wrong("1.5", "small weights count, too", "weights below a thousandth left out")
def entropy(weights):
    return -torch.where(weights > 1e-3, weights * weights.clamp(min=1e-3).log(), 0.0).sum(-1)


@right("1.5", "torch.distributions")
def entropy(weights):
    return torch.distributions.Categorical(probs=weights, validate_args=False).entropy()


@right("1.5", "zeros replaced inside the logarithm")
def entropy(weights):
    return (-weights * weights.masked_fill(weights == 0, 1).log()).sum(dim=-1)


@wrong("1.6", "end with: return axes", "nothing returned")
def plot_entropy(dims):
    plt.plot(dims, dims)


@wrong("1.6", "one with scores divided by √d, and one without", "one line")
def plot_entropy(dims):
    axes = plt.figure().add_subplot()
    axes.plot(dims, [3.0] * len(dims), label="divided")
    return axes


@wrong("1.6", "set_xlabel", "no labels")
def plot_entropy(dims):
    axes = plt.figure().add_subplot()
    for factor in (0, 1):
        axes.plot(dims, [3.0 - factor * math.log(d) / 2 for d in dims], label="line")
    axes.legend()
    return axes


@wrong("1.6", "divide by the square root of d, not by d")
def plot_entropy(dims):
    generator, rows = torch.Generator().manual_seed(0), [[], []]
    for d in dims:
        scores = torch.randn(200, d, generator=generator) @ torch.randn(32, d, generator=generator).T
        rows[0].append(entropy(softmax(scores / d)).mean().item())
        rows[1].append(entropy(softmax(scores)).mean().item())
    axes = plt.figure().add_subplot()
    for ys, label in zip(rows, ("divided", "plain")):
        axes.plot(dims, ys, label=label)
    axes.set(xlabel="d", ylabel="nats")
    axes.legend()
    return axes


@wrong("1.6", "the second line is of the same scores, not divided", "both divided")
def plot_entropy(dims):
    generator, axes = torch.Generator().manual_seed(0), plt.figure().add_subplot()
    for label in ("divided", "plain"):
        ys = []
        for d in dims:
            scores = torch.randn(200, d, generator=generator) @ torch.randn(32, d, generator=generator).T
            ys.append(entropy(softmax(scores / math.sqrt(d))).mean().item())
        axes.plot(dims, ys, label=label)
    axes.set(xlabel="d", ylabel="nats")
    axes.legend()
    return axes


@right("1.6", "lines in the other order, many draws, pyplot")
def plot_entropy(dims):
    plt.figure()
    torch.manual_seed(3)
    for scale in (0.0, 0.5):
        ys = [float(entropy(softmax(torch.randn(500, d) @ torch.randn(d, 32) / d**scale)).mean()) for d in dims]
        plt.plot(dims, ys, label=f"divided by d to the {scale}")
    plt.xlabel("dimensions")
    plt.ylabel("entropy (nats)")
    plt.legend()
    return plt.gca()


@right("1.6", "numpy, one generator per d")
def plot_entropy(dims):
    axes = plt.figure().add_subplot()
    for divided in (True, False):
        ys = []
        for d in dims:
            random = np.random.default_rng(d)
            scores = random.normal(size=(200, d)) @ random.normal(size=(d, 32)) / (np.sqrt(d) if divided else 1)
            ys.append(np.mean(entropy(torch.softmax(torch.tensor(scores), -1)).numpy()))
        axes.plot(dims, ys, label=str(divided))
    axes.set_xlabel("d")
    axes.set_ylabel("nats")
    axes.legend()
    return axes
