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


@wrong("1.1", "do not cut scores off", "scores cut off at 80")
def softmax(scores):
    powers = scores.clamp(-80, 80).exp()
    return powers / powers.sum(-1, keepdim=True)


@wrong("1.1", "a score of minus infinity", "the mean subtracted, in double precision")
def softmax(scores):
    powers = torch.exp(scores.double() - scores.double().mean(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


@wrong("1.1", "exp(1000) is infinite", "NaN replaced by 0")
def softmax(scores):
    return torch.nan_to_num(scores.exp() / scores.exp().sum(-1, keepdim=True))


@wrong("1.1", "use axis -1", "one axis is one too few")
def softmax(scores):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(max(1, scores.dim() - 1), keepdim=True) if scores.dim() > 1 else powers


@right("1.1", "as lists")
def softmax(scores):
    return torch.softmax(scores, -1).tolist()


@right("1.1", "a loop over rows, with math.exp")
def softmax(scores):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]).tolist():
        powers = [math.exp(score - max(row)) for score in row]
        rows.append([power / sum(powers) for power in powers])
    return torch.tensor(rows).reshape(scores.shape)


@wrong("1.2", "the halves do not count alike", "the mean of the two outputs")
def join_halves(output_a, log_a, output_b, log_b):
    return (output_a + output_b) / 2, torch.logaddexp(log_a, log_b)


@wrong("1.2", "subtract the larger of the two log-sums", "exponentiated as they are")
def join_halves(output_a, log_a, output_b, log_b):
    sum_a, sum_b = log_a.exp()[..., None], log_b.exp()[..., None]
    part_a, part_b = (torch.where(each > 0, each * o, 0) for each, o in ((sum_a, output_a), (sum_b, output_b)))
    return (part_a + part_b) / (sum_a + sum_b), (sum_a + sum_b).log().squeeze(-1)


@wrong("1.2", "0 times NaN is NaN", "an empty half multiplied by 0")
def join_halves(output_a, log_a, output_b, log_b):
    share = torch.sigmoid(log_a - log_b)[..., None]
    return share * output_a + (1 - share) * output_b, torch.logaddexp(log_a, log_b)


@wrong("1.2", "the shares are exchanged")
def join_halves(output_a, log_a, output_b, log_b):
    share = torch.sigmoid(log_b - log_a)[..., None]
    parts = torch.where(share > 0, share * output_a, 0) + torch.where(share < 1, (1 - share) * output_b, 0)
    return parts, torch.logaddexp(log_a, log_b)


@wrong("1.2", "not of the log-sums themselves")
def join_halves(output_a, log_a, output_b, log_b):
    share = (log_a / (log_a + log_b))[..., None]
    return share * output_a + (1 - share) * output_b, torch.logaddexp(log_a, log_b)


@wrong("1.2", "their logarithms do not", "log-sums added")
def join_halves(output_a, log_a, output_b, log_b):
    share = torch.sigmoid(log_a - log_b)[..., None]
    parts = torch.where(share > 0, share * output_a, 0) + torch.where(share < 1, (1 - share) * output_b, 0)
    return parts, log_a + log_b


@wrong("1.2", "raised RuntimeError", "two axes only")
def join_halves(output_a, log_a, output_b, log_b):
    share = torch.sigmoid(log_a - log_b).reshape(-1, 1)
    parts = torch.where(share > 0, share * output_a, 0) + torch.where(share < 1, (1 - share) * output_b, 0)
    return parts, torch.logaddexp(log_a, log_b).flatten()


@right("1.2", "a softmax of the two log-sums, and empty halves filled with zeros")
def join_halves(output_a, log_a, output_b, log_b):
    shares = softmax(torch.stack([log_a, log_b], -1))
    outputs = torch.stack([output_a, output_b], -2).nan_to_num(0.0)
    return (shares[..., None] * outputs).sum(-2), torch.stack([log_a, log_b]).logsumexp(0)


@right("1.2", "numpy and lists, one query at a time")
def join_halves(output_a, log_a, output_b, log_b):
    log_a, log_b = np.asarray(log_a, dtype=float), np.asarray(log_b, dtype=float)
    output_a, output_b = np.asarray(output_a, dtype=float), np.asarray(output_b, dtype=float)
    output, log = np.zeros(output_a.shape), np.zeros(log_a.shape)
    for place in np.ndindex(*log_a.shape):
        most = max(log_a[place], log_b[place])
        for one, each in ((output_a, log_a), (output_b, log_b)):
            if each[place] > -np.inf:
                output[place] += one[place] * math.exp(each[place] - most)
                log[place] += math.exp(each[place] - most)
        output[place] /= log[place]
        log[place] = most + math.log(log[place])
    return output.tolist(), log


@wrong("1.3", "at most the radius: <=, not <")
def window_mask(length, radius):
    places = torch.arange(length)
    return (places[:, None] - places).abs() < max(radius, 0.5)


@wrong("1.3", "left and right count alike", "no absolute value")
def window_mask(length, radius):
    places = torch.arange(length)
    return places[:, None] - places <= radius


@wrong("1.3", "of words to the right, too", "only to the left")
def window_mask(length, radius):
    return torch.ones(length, length).tril().triu(-radius).bool()


@wrong("1.3", "compare, and return what the comparison gives", "ones and zeros")
def window_mask(length, radius):
    return torch.ones(length, length).tril(radius).triu(-radius)


@wrong("1.3", "the radius is to either side, not twice that", "twice the radius")
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


@wrong("1.3", "True means: may attend", "True for what is hidden")
def window_mask(length, radius):
    places = torch.arange(length)
    return (places[:, None] - places).abs() > radius


@wrong("1.3", "a sentence is no circle", "the window goes round at the ends")
def window_mask(length, radius):
    places = torch.arange(length)
    around = (places[:, None] - places) % length
    return (around <= radius) | (length - around <= radius)


@wrong("1.3", "of words to the left, too", "only to the right")
def window_mask(length, radius):
    return torch.ones(length, length).triu().tril(radius).bool()


@wrong("1.3", "raised", "a radius larger than the sentence")
def window_mask(length, radius):
    mask = torch.eye(length, dtype=torch.bool)
    for away in range(1, radius + 1):
        mask |= torch.diag(torch.ones(length - away), away).bool() | torch.diag(torch.ones(length - away), -away).bool()
    return mask


@right("1.3", "lists of True and False")
def window_mask(length, radius):
    return [[j in range(i - radius, i + radius + 1) for j in range(length)] for i in range(length)]


@right("1.3", "numpy, by a distance matrix and a condition the other way round")
def window_mask(length, radius):
    rows, columns = np.indices((length, length))
    return ~(np.abs(rows - columns) > radius)


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


@wrong("1.4", "the distance has a sign", "|j - i|")
def relative_bias(table, length):
    places, reach = torch.arange(length), len(table) // 2
    return table[(places - places[:, None]).abs().clamp(max=reach) + reach]


@wrong("1.4", "clip distances", "0 for what is farther than the table")
def relative_bias(table, length):
    places, reach = torch.arange(length), len(table) // 2
    distances = places - places[:, None]
    return torch.where(distances.abs() <= reach, table[distances.clamp(-reach, reach) + reach], 0.0)


@wrong("1.4", "n is the second argument", "as many words as the table has distances to one side")
def relative_bias(table, length):
    reach = len(table) // 2
    places = torch.arange(reach + 1)
    return table[places - places[:, None] + reach]


@right("1.4", "slices of the table with its ends repeated")
def relative_bias(table, length):
    numbers, reach = table.tolist(), len(table) // 2
    long = [numbers[0]] * length + numbers + [numbers[-1]] * length
    return [long[length + reach - i : 2 * length + reach - i] for i in range(length)]


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


@wrong("1.5", "the sum over the keys, not the mean", "mean in place of sum")
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


@wrong("1.5", "not that of base 10", "log10")
def entropy(weights):
    return -torch.where(weights > 0, weights * torch.log10(weights.clamp(min=1e-30)), 0.0).sum(-1)


@wrong("1.5", "do not divide by ln n", "between 0 and 1")
def entropy(weights):
    return -torch.special.xlogy(weights, weights).sum(-1) / math.log(weights.shape[-1])


@wrong("1.5", "sum over the last axis", "sum over the first axis")
def entropy(weights):
    return -torch.special.xlogy(weights, weights).sum(0)


@wrong("1.5", "whatever comes before it", "sum over the second axis")
def entropy(weights):
    return -torch.special.xlogy(weights, weights).sum(1)


@wrong("1.5", "one number for each row", "zeros left out of all rows at once")
def entropy(weights):
    some = weights[weights > 0]
    return -(some * some.log()).sum()


@wrong("1.5", "add nothing to the others", "a ten-thousandth added inside the logarithm")
def entropy(weights):
    return -(weights * (weights + 1e-5).log()).sum(-1)


@right("1.5", "NaN replaced after the product")
def entropy(weights):
    return torch.nan_to_num(weights * -weights.log(), nan=0.0).sum(-1)


@right("1.5", "row by row, without the zeros, with math.log")
def entropy(weights):
    rows = weights.reshape(-1, weights.shape[-1])
    values = [-sum(w * math.log(w) for w in row.tolist() if w > 0) for row in rows]
    return np.array(values).reshape(weights.shape[:-1])


@right("1.5", "a very small number added inside the logarithm")
def entropy(weights):
    return -(weights * torch.log(weights + 1e-12)).sum(-1)


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


def experiment(dims, weigh, seed=0, draw=torch.randn, queries=200, keys=32, names=("divided", "not divided")):
    """A figure with all that is asked for, of what ``weigh`` makes of scores, d and whether to divide."""
    axes = plt.figure().add_subplot()
    for name in names:
        if seed is not None:
            torch.manual_seed(seed)
        ys = []
        for d in dims:
            scores = draw(queries, d) @ draw(keys, d).T
            ys.append(float(weigh(scores, d, name.startswith("divided"))))
        axes.plot(dims, ys, label=name)
    axes.set(xlabel="d", ylabel="nats")
    axes.legend()
    return axes


def mean_entropy(scores, d, divided):
    """As it is asked for."""
    weights = torch.softmax(scores / math.sqrt(d) if divided else scores, -1)
    return -torch.special.xlogy(weights, weights).sum(-1).mean()


@wrong("1.6", "divide by the square root of d, not by d")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: mean_entropy(scores / d if divided else scores, d, False))


@wrong("1.6", "divide by the square root of d, do not multiply")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: mean_entropy(scores * d**0.5 if divided else scores, d, False))


@wrong("1.6", "one of the lines is of the same scores, not divided", "both divided")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: mean_entropy(scores, d, True))


@wrong("1.6", "one of the lines is of the same scores, divided by √d", "none divided")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: mean_entropy(scores, d, False))


@wrong("1.6", "the lines have each other's names")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: mean_entropy(scores, d, not divided))


@wrong("1.6", "set a seed in the function", "no seed")
def plot_entropy(dims):
    return experiment(dims, mean_entropy, seed=None)


@wrong("1.6", "with torch.randn", "numbers between 0 and 1")
def plot_entropy(dims):
    return experiment(dims, mean_entropy, draw=torch.rand)


@wrong("1.6", "200 queries and 32 keys", "32 queries and 200 keys")
def plot_entropy(dims):
    return experiment(dims, mean_entropy, queries=32, keys=200)


@wrong("1.6", "not the entropy of the mean weights")
def plot_entropy(dims):
    def weigh(scores, d, divided):
        return entropy(torch.softmax(scores / math.sqrt(d) if divided else scores, -1).mean(0))

    return experiment(dims, weigh)


@wrong("1.6", "not their sum", "the sum of the entropies")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: 200 * mean_entropy(scores, d, divided))


@wrong("1.6", "which are of the natural logarithm", "in bits")
def plot_entropy(dims):
    return experiment(dims, lambda scores, d, divided: mean_entropy(scores, d, divided) / math.log(2))


@wrong("1.6", "axes.plot(dims, entropies)", "the entropies over 0, 1, 2, …")
def plot_entropy(dims):
    axes = experiment(dims, mean_entropy)
    for line in axes.get_lines():
        line.set_xdata(range(len(dims)))
    return axes


@wrong("1.6", 'label="not divided"', "other names for the lines")
def plot_entropy(dims):
    axes = experiment(dims, mean_entropy)
    for line, name in zip(axes.get_lines(), ("with the root", "without")):
        line.set_label(name)
    axes.legend()
    return axes


@wrong("1.6", "the lines have each other's names", "names exchanged in the legend alone")
def plot_entropy(dims):
    axes = experiment(dims, mean_entropy)
    axes.legend(["not divided", "divided"])
    return axes


@wrong("1.6", 'label="not divided"', "a legend that shows one of the lines only")
def plot_entropy(dims):
    axes = experiment(dims, mean_entropy)
    axes.legend(handles=axes.get_lines()[:1])
    return axes


@wrong("1.6", "take the numbers of dimensions from dims", "always the same dimensions")
def plot_entropy(dims):
    return experiment([4, 16, 64, 256], mean_entropy)


@right("1.6", "lines in the other order, many draws, pyplot")
def plot_entropy(dims):
    plt.figure()
    torch.manual_seed(3)
    for scale, name in ((0.0, "not divided by √d"), (0.5, "divided by √d")):
        ys = [float(entropy(softmax(torch.randn(500, d) @ torch.randn(d, 32) / d**scale)).mean()) for d in dims]
        plt.plot(dims, ys, label=name)
    plt.xlabel("dimensions")
    plt.ylabel("entropy (nats)")
    plt.legend()
    return plt.gca()


@right("1.6", "numpy, one generator per d, a line at ln 32, the names given to legend")
def plot_entropy(dims):
    axes = plt.figure().add_subplot()
    for divided in (True, False):
        ys = []
        for d in dims:
            random = np.random.default_rng(d)
            scores = random.normal(size=(200, d)) @ random.normal(size=(d, 32)) / (np.sqrt(d) if divided else 1)
            ys.append(np.mean(entropy(torch.softmax(torch.tensor(scores), -1)).numpy()))
        axes.plot(dims, ys)
    axes.axhline(math.log(32))
    axes.set_xlabel("d")
    axes.set_ylabel("nats")
    axes.legend(["Divided", "Not divided", "ln 32"])
    return axes


@right("1.6", "other labels, and the legend's own texts")
def plot_entropy(dims):
    axes = experiment(dims, mean_entropy, names=("divided", "plain"))
    axes.legend(axes.get_lines()[::-1], ["not divided", "divided"])
    return axes


@right("1.6", "always on the same axes, which another call draws on once more")
def plot_entropy(dims):
    plt.figure("entropy")
    random = np.random.RandomState(1)
    lines = np.zeros((2, len(dims)))
    for i, d in enumerate(dims):
        scores = torch.tensor(random.standard_normal((200, d)) @ random.standard_normal((d, 32)))
        lines[:, i] = [entropy(softmax(each)).mean().item() for each in (scores / d**0.5, scores)]
    plt.plot(dims, lines[0], label="divided")
    plt.plot(dims, lines[1], label="not divided")
    plt.xlabel("d")
    plt.ylabel("nats")
    plt.legend()
    return plt.gca()
