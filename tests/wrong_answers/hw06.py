"""Homework 6: anisotropy."""
# ruff: noqa: F811, F821

import itertools

import matplotlib.pyplot as plt
import numpy as np
import torch

from wrong_answers import right, wrong


def of_length_one(vectors):
    return vectors / vectors.norm(dim=1, keepdim=True)


def in_each_group(standardize):
    """An answer to 6.4 that treats each group as ``standardize`` treats a set of its own."""

    def by_group(train, groups, test, test_groups):
        moved = torch.empty_like(test)
        for group in set(test_groups):
            known, rows = ([each == group for each in names] for names in (groups, test_groups))
            moved[rows] = torch.as_tensor(standardize(train[known], test[rows]), dtype=moved.dtype)
        return moved

    return by_group


@wrong("6.1", "bring the vectors to length 1 first")
def cosine_between(first, second):
    return (first @ second.T).mean()


@wrong("6.1", "leave the means as long as they are", "the cosine of the mean directions")
def cosine_between(first, second):
    return torch.cosine_similarity(of_length_one(first).mean(0), of_length_one(second).mean(0), dim=0)


@wrong("6.1", "and vectors come to length 1 first", "the cosine of the means")
def cosine_between(first, second):
    return torch.cosine_similarity(first.mean(0), second.mean(0), dim=0)


@wrong("6.1", "divide by the number of pairs", "the sum")
def cosine_between(first, second):
    return of_length_one(first).sum(0) @ of_length_one(second).sum(0)


@wrong("6.1", "there are n·m pairs", "divided by n squared")
def cosine_between(first, second):
    return of_length_one(first).sum(0) @ of_length_one(second).sum(0) / len(first) ** 2


@wrong("6.1", "these are all pairs of both", "the expected cosine of both sets together")
def cosine_between(first, second):
    unit = of_length_one(torch.cat([first, second]))
    return (unit.sum(0).square().sum() - len(unit)) / (len(unit) * (len(unit) - 1))


@wrong("6.1", "no absolute values")
def cosine_between(first, second):
    return (of_length_one(first) @ of_length_one(second).T).abs().mean()


@wrong("6.1", "not only rows with the same number", "row by row")
def cosine_between(first, second):
    n = min(len(first), len(second))
    return torch.cosine_similarity(first[:n], second[:n]).mean()


@wrong("6.1", "there is nothing to subtract", "n subtracted, as for one set")
def cosine_between(first, second):
    n, m = len(first), len(second)
    return (of_length_one(first).sum(0) @ of_length_one(second).sum(0) - n) / (n * m - n)


@wrong("6.1", "are a pair like any other", "equal rows left out")
def cosine_between(first, second):
    cosines = of_length_one(first) @ of_length_one(second).T
    return torch.where((first[:, None] == second).all(-1), 0.0, cosines).mean()


@wrong("6.1", "one number for both sets together", "one number a vector")
def cosine_between(first, second):
    return (of_length_one(first) @ of_length_one(second).T).mean(1)


@right("6.1", "row by row")
def cosine_between(first, second):
    total, other = 0.0, of_length_one(second.double()).sum(0)
    for row in first.double():
        total += float(row @ other / row.norm())
    return total / (len(first) * len(second))


@right("6.1", "all pairs, in numpy")
def cosine_between(first, second):
    one, other = (np.asarray(each, dtype=float) for each in (first, second))
    one, other = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))
    return (one @ other.T).mean()


@right("6.1", "by the lecture's formula, of both sets and of each")
def cosine_between(first, second):
    def pairs(vectors):
        return of_length_one(vectors.double()).sum(0).square().sum()

    both = pairs(torch.cat([first, second]))
    return (both - pairs(first) - pairs(second)) / (2 * len(first) * len(second))


@wrong("6.2", "this is a mean of the words' means")
def cosine_by_word(vectors, words):
    same = [vectors[[w == word for w in words]] for word in sorted(set(words))]
    everything = expected_cosine(vectors)
    return float(np.mean([expected_cosine(rows) for rows in same if len(rows) > 1])), everything


@wrong("6.2", "a vector with itself is no pair")
def cosine_by_word(vectors, words):
    unit = of_length_one(vectors)
    alike = torch.tensor([[a == b for a in words] for b in words])
    return (unit @ unit.T)[alike].mean(), (unit @ unit.T)[~alike].mean()


@wrong("6.2", "return the same-word mean first")
def cosine_by_word(vectors, words):
    unit = of_length_one(vectors)
    alike = torch.tensor([[a == b for a in words] for b in words])
    same = alike & ~torch.eye(len(unit), dtype=torch.bool)
    return (unit @ unit.T)[~alike].mean(), (unit @ unit.T)[same].mean()


@wrong("6.2", "this is the mean of all pairs", "two random words instead of two different ones")
def cosine_by_word(vectors, words):
    unit = of_length_one(vectors)
    alike = torch.tensor([[a == b for a in words] for b in words])
    same = alike & ~torch.eye(len(unit), dtype=torch.bool)
    return (unit @ unit.T)[same].mean(), expected_cosine(vectors)


@wrong("6.2", "not of all pairs", "a sum over different words, divided by all pairs")
def cosine_by_word(vectors, words):
    unit = of_length_one(vectors)
    alike = torch.tensor([[a == b for a in words] for b in words])
    same = alike & ~torch.eye(len(unit), dtype=torch.bool)
    return (unit @ unit.T)[same].mean(), (unit @ unit.T)[~alike].sum() / (len(unit) * (len(unit) - 1))


@wrong("6.2", "bring the vectors to length 1 first")
def cosine_by_word(vectors, words):
    products = vectors @ vectors.T
    alike = torch.tensor([[a == b for a in words] for b in words])
    same = alike & ~torch.eye(len(words), dtype=torch.bool)
    return products[same].mean(), products[~alike].mean()


@wrong("6.2", "need not stand side by side", "neighbouring rows only")
def cosine_by_word(vectors, words):
    runs = [[i for i, _ in run] for _, run in itertools.groupby(enumerate(words), key=lambda pair: pair[1])]
    pairs = [expected_cosine(vectors[run]) for run in runs for _ in range(len(run) * (len(run) - 1))]
    unit = of_length_one(vectors)
    alike = torch.tensor([[a == b for a in words] for b in words])
    return sum(pairs) / len(pairs), (unit @ unit.T)[~alike].mean()


@wrong("6.2", "it must return several values", "one number")
def cosine_by_word(vectors, words):
    return torch.tensor(0.5)


@wrong("6.2", "not by their occurrences", "the words' means, weighted by occurrences")
def cosine_by_word(vectors, words):
    unit, same, number = of_length_one(vectors), 0.0, 0
    alike = torch.tensor([[a == b for a in words] for b in words])
    for word in sorted(set(words)):
        own = unit[[each == word for each in words]]
        if len(own) > 1:
            same += len(own) * expected_cosine(own)
            number += len(own)
    return same / number, (unit @ unit.T)[~alike].mean()


@wrong("6.2", "two numbers, each a mean", "the cosines themselves")
def cosine_by_word(vectors, words):
    unit = of_length_one(vectors)
    alike = torch.tensor([[a == b for a in words] for b in words])
    same = alike & ~torch.eye(len(unit), dtype=torch.bool)
    return (unit @ unit.T)[same].mean(), (unit @ unit.T)[~alike]


@wrong("6.2", "pairs of different words", "the mean over pairs of words of their means")
def cosine_by_word(vectors, words):
    unit, found = of_length_one(vectors), []
    alike = torch.tensor([[a == b for a in words] for b in words])
    same = alike & ~torch.eye(len(unit), dtype=torch.bool)
    for one, other in itertools.combinations(sorted(set(words)), 2):
        rows, columns = ([each == word for each in words] for word in (one, other))
        found.append(float((unit[rows] @ unit[columns].T).mean()))
    return (unit @ unit.T)[same].mean(), sum(found) / len(found)


@right("6.2", "sums of each word, in double precision")
def cosine_by_word(vectors, words):
    unit = of_length_one(vectors.double()).numpy()
    sums = {}
    for row, word in zip(unit, words):
        total, number = sums.get(word, (0.0, 0))
        sums[word] = (total + row, number + 1)
    same = sum(total @ total - number for total, number in sums.values())
    pairs = sum(number * (number - 1) for _, number in sums.values())
    everything = unit.sum(0) @ unit.sum(0) - len(unit)
    return same / pairs, (everything - same) / (len(unit) * (len(unit) - 1) - pairs)


@right("6.2", "two loops over pairs")
def cosine_by_word(vectors, words):
    sums = {True: [], False: []}
    for i, j in itertools.combinations(range(len(words)), 2):
        cosine = torch.cosine_similarity(vectors[i].double(), vectors[j].double(), dim=0).item()
        sums[words[i] == words[j]].append(cosine)
    return [sum(sums[same]) / len(sums[same]) for same in (True, False)]


@right("6.2", "a matrix and a mask")
def cosine_by_word(vectors, words):
    ids = np.unique(words, return_inverse=True)[1]
    cosines = of_length_one(vectors) @ of_length_one(vectors).T
    same = torch.tensor(ids[:, None] == ids)
    return cosines[same & ~torch.eye(len(ids), dtype=torch.bool)].mean(), cosines[~same].mean()


@wrong("6.3", "a contribution is a square", "ranked by the signed mean")
def rogue_dimensions(vectors, share=0.5):
    c, order = of_length_one(vectors).mean(0).sort(descending=True)
    return order[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "what is loud is not what is alike", "ranked by variance")
def rogue_dimensions(vectors, share=0.5):
    c, order = vectors.var(0).sort(descending=True)
    return order[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "the sum must reach the share")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c, order = (unit.sum(0).square() - unit.square().sum(0)).sort(descending=True)
    return order[: max(1, int((c.cumsum(0) < share * c.sum()).sum()))].tolist()


@wrong("6.3", "one is too many")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c, order = (unit.sum(0).square() - unit.square().sum(0)).sort(descending=True)
    return order[: int((c.cumsum(0) < share * c.sum()).sum()) + 2].tolist()


@wrong("6.3", "the largest contribution first", "in the order of indices")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c, order = (unit.sum(0).square() - unit.square().sum(0)).sort(descending=True)
    return sorted(order[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist())


@wrong("6.3", "two long vectors must not decide", "not brought to length 1")
def rogue_dimensions(vectors, share=0.5):
    c, order = (vectors.sum(0).square() - vectors.square().sum(0)).sort(descending=True)
    return order[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "a dimension used by one vector alone", "each vector with itself counted")
def rogue_dimensions(vectors, share=0.5):
    c, order = of_length_one(vectors).sum(0).square().sort(descending=True)
    return order[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "until they reach the share together", "only dimensions that reach the share alone")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c = unit.sum(0).square() - unit.square().sum(0)
    return [d for d in range(len(c)) if c[d] >= share * c.sum()]


@wrong("6.3", "(>=, not >)", "one more where the share is just reached")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c, order = (unit.sum(0).square() - unit.square().sum(0)).sort(descending=True)
    return order[: int((c.cumsum(0) <= share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "no absolute values", "ordered by the absolute contribution")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c = unit.sum(0).square() - unit.square().sum(0)
    order = c.abs().argsort(descending=True)
    return order[: int((c[order].cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "no absolute values", "absolute contributions, added up")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c, order = (unit.sum(0).square() - unit.square().sum(0)).abs().sort(descending=True)
    return order[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@wrong("6.3", "return a list of indices", "contributions in place of indices")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors)
    c, order = (unit.sum(0).square() - unit.square().sum(0)).sort(descending=True)
    return c[: int((c.cumsum(0) < share * c.sum()).sum()) + 1].tolist()


@right("6.3", "half precision is not needed, single is enough: divided by n(n - 1)")
def rogue_dimensions(vectors, share=0.5):
    unit = torch.nn.functional.normalize(vectors, dim=-1)
    n = len(unit)
    c = ((unit.sum(0) ** 2 - (unit**2).sum(0)) / (n * (n - 1))).tolist()
    chosen, left = [], sorted(range(len(c)), key=lambda d: -c[d])
    while sum(c[d] for d in chosen) < share * sum(c):
        chosen.append(left.pop(0))
    return np.array(chosen)


@right("6.3", "numpy, a loop")
def rogue_dimensions(vectors, share=0.5):
    unit = np.asarray(vectors, dtype=float)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    c = unit.sum(0) ** 2 - (unit**2).sum(0)
    found, total = [], 0.0
    for d in np.argsort(-c):
        found.append(d)
        total += c[d]
        if total >= share * c.sum():
            return found
    return None


@right("6.3", "all pairs, a tensor of indices")
def rogue_dimensions(vectors, share=0.5):
    unit = of_length_one(vectors.double())
    c = torch.einsum("id,jd->d", unit, unit) - (unit * unit).sum(0)
    order = torch.argsort(c, descending=True)
    reached = torch.cumsum(c[order], 0) / c.sum() >= share
    return order[: int(reached.int().argmax()) + 1]


@wrong("6.4", "not by the variance")
@in_each_group
def standardize_by_group(train, test):
    spread = train.var(0, correction=0)
    return (test - train.mean(0)) / torch.where(spread == 0, 1.0, spread)


@wrong("6.4", "correction=0", "divided by n - 1")
@in_each_group
def standardize_by_group(train, test):
    spread = train.std(0)
    return (test - train.mean(0)) / torch.where(spread == 0, 1.0, spread)


@wrong("6.4", "not from test", "fitted to test")
@in_each_group
def standardize_by_group(train, test):
    spread = test.std(0, correction=0)
    return (test - test.mean(0)) / torch.where(spread == 0, 1.0, spread)


@wrong("6.4", "do not divide there", "NaN")
@in_each_group
def standardize_by_group(train, test):
    return (test - train.mean(0)) / train.std(0, correction=0)


@wrong("6.4", "divide by σ, too", "centred only")
@in_each_group
def standardize_by_group(train, test):
    return test - train.mean(0)


@wrong("6.4", "subtract μ, too", "scaled only")
@in_each_group
def standardize_by_group(train, test):
    spread = train.std(0, correction=0)
    return test / torch.where(spread == 0, 1.0, spread)


@wrong("6.4", "is shifted, not set to 0")
@in_each_group
def standardize_by_group(train, test):
    spread = train.std(0, correction=0)
    return torch.where(spread == 0, 0.0, (test - train.mean(0)) / spread)


@wrong("6.4", "as many come back", "train transformed")
def standardize_by_group(train, groups, test, test_groups):
    spread = train.std(0, correction=0)
    return (train - train.mean(0)) / torch.where(spread == 0, 1.0, spread)


@wrong("6.4", "not of all training vectors", "the groups forgotten")
def standardize_by_group(train, groups, test, test_groups):
    spread = train.std(0, correction=0)
    return (test - train.mean(0)) / torch.where(spread == 0, 1.0, spread)


@wrong("6.4", "in their order", "group after group")
def standardize_by_group(train, groups, test, test_groups):
    moved = []
    for group in sorted(set(test_groups)):
        known = train[[each == group for each in groups]]
        spread = known.std(0, correction=0)
        rows = test[[each == group for each in test_groups]]
        moved.append((rows - known.mean(0)) / torch.where(spread == 0, 1.0, spread))
    return torch.cat(moved)


@wrong("6.4", "here group follows group", "group after group, as they come in test")
def standardize_by_group(train, groups, test, test_groups):
    moved = []
    for group in dict.fromkeys(test_groups):
        known = train[[each == group for each in groups]]
        spread = known.std(0, correction=0)
        rows = test[[each == group for each in test_groups]]
        moved.append((rows - known.mean(0)) / torch.where(spread == 0, 1.0, spread))
    return torch.cat(moved)


@wrong("6.4", "each dimension's own", "one μ and one σ for the whole matrix")
@in_each_group
def standardize_by_group(train, test):
    return (test - train.mean()) / train.std(correction=0)


@wrong("6.4", "by a tiny number neither", "a tiny number added to σ")
@in_each_group
def standardize_by_group(train, test):
    return (test - train.mean(0)) / (train.std(0, correction=0) + 1e-8)


@wrong("6.4", "and by nothing but it", "a small number added where σ is not 0")
@in_each_group
def standardize_by_group(train, test):
    spread = train.std(0, correction=0)
    return (test - train.mean(0)) / torch.where(spread == 0, 1.0, spread + 1e-5)


@wrong("6.4", "only where it is exactly 0", "not divided where σ is small")
@in_each_group
def standardize_by_group(train, test):
    spread = train.std(0, correction=0)
    return (test - train.mean(0)) / torch.where(spread < 1e-3, 1.0, spread)


@wrong("6.4", "with μ and σ of train", "train and test together")
@in_each_group
def standardize_by_group(train, test):
    both = torch.cat([train, test])
    spread = both.std(0, correction=0)
    return (test - both.mean(0)) / torch.where(spread == 0, 1.0, spread)


@right("6.4", "lists, one dimension after the other")
@in_each_group
def standardize_by_group(train, test):
    columns = []
    for known, new in zip(train.double().T.tolist(), test.double().T.tolist()):
        mean = sum(known) / len(known)
        spread = (sum((x - mean) ** 2 for x in known) / len(known)) ** 0.5
        columns.append([(x - mean) / spread if spread else x - mean for x in new])
    return [list(row) for row in zip(*columns)]


@right("6.4", "scikit-learn's, forbidden but right")
@in_each_group
def standardize_by_group(train, test):
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit(train.double().numpy()).transform(test.double().numpy())


@right("6.4", "σ by the mean of squares")
@in_each_group
def standardize_by_group(train, test):
    mean = train.double().mean(0)
    variance = (train.double() - mean).square().mean(0)
    return (test - mean) / torch.where(variance > 0, variance, 1).sqrt()


@wrong("6.5", "keep the rest", "only the part along the directions kept")
def remove_directions(train, test, k):
    mean = train.mean(0)
    top = torch.linalg.svd(train - mean, full_matrices=False)[2][:k]
    return (test - mean) @ top.T @ top if k else test - mean


@wrong("6.5", "centre train before the SVD")
def remove_directions(train, test, k):
    top = torch.linalg.svd(train, full_matrices=False)[2][:k]
    return (test - train.mean(0)) - (test - train.mean(0)) @ top.T @ top


@wrong("6.5", "with the largest singular value", "the last directions removed")
def remove_directions(train, test, k):
    mean = train.mean(0)
    last = torch.linalg.svd(train - mean, full_matrices=False)[2].flip(0)[:k]
    return (test - mean) - (test - mean) @ last.T @ last


@wrong("6.5", "do not add it again")
def remove_directions(train, test, k):
    mean = train.mean(0)
    top = torch.linalg.svd(train - mean, full_matrices=False)[2][:k]
    return test - (test - mean) @ top.T @ top


@wrong("6.5", "not of test", "the mean of test")
def remove_directions(train, test, k):
    mean = test.mean(0)
    top = torch.linalg.svd(train - train.mean(0), full_matrices=False)[2][:k]
    return (test - mean) - (test - mean) @ top.T @ top


@wrong("6.5", "nothing is removed yet but the mean")
def remove_directions(train, test, k):
    return test - train.mean(0)


@wrong("6.5", "directions are the rows of Vh", "columns in place of rows")
def remove_directions(train, test, k):
    mean = train.mean(0)
    top = torch.linalg.svd(train - mean, full_matrices=False)[2][:, :k].T
    return (test - mean) - (test - mean) @ top.T @ top


@wrong("6.5", "keep their D numbers", "coordinates in place of vectors")
def remove_directions(train, test, k):
    mean = train.mean(0)
    if k == 0:
        return test - mean
    return (test - mean) @ torch.linalg.svd(train - mean, full_matrices=False)[2][k:].T


@wrong("6.5", "and not a dimension", "the dimensions of the largest variance set to 0")
def remove_directions(train, test, k):
    moved = test - train.mean(0)
    moved[:, train.var(0).argsort(descending=True)[:k]] = 0
    return moved


@wrong("6.5", "not the k-th alone")
def remove_directions(train, test, k):
    mean = train.mean(0)
    top = torch.linalg.svd(train - mean, full_matrices=False)[2][max(0, k - 1) : k]
    return (test - mean) - (test - mean) @ top.T @ top


@wrong("6.5", "not always one")
def remove_directions(train, test, k):
    mean = train.mean(0)
    top = torch.linalg.svd(train - mean, full_matrices=False)[2][: min(k, 1)]
    return (test - mean) - (test - mean) @ top.T @ top


@wrong("6.5", "of the centred train", "the directions of test, too")
def remove_directions(train, test, k):
    mean = train.mean(0)
    top = torch.linalg.svd(torch.cat([test, test.flip(0), train]) - mean, full_matrices=False)[2][:k]
    return (test - mean) - (test - mean) @ top.T @ top


@right("6.5", "a projection built up, in double precision")
def remove_directions(train, test, k):
    train, test = train.double(), test.double()
    mean = train.mean(dim=0, keepdim=True)
    vectors = torch.linalg.svd((train - mean).T, full_matrices=False).U
    keep = torch.eye(train.shape[1], dtype=torch.float64)
    for i in range(k):
        keep -= torch.outer(vectors[:, i], vectors[:, i])
    return (test - mean) @ keep


@right("6.5", "eigenvectors of the covariance")
def remove_directions(train, test, k):
    mean = train.double().mean(0)
    _, directions = torch.linalg.eigh(torch.cov((train.double() - mean).T))
    rest = directions[:, : directions.shape[1] - k]
    return (test.double() - mean) @ rest @ rest.T


@right("6.5", "numpy, one direction after the other")
def remove_directions(train, test, k):
    train, test = np.asarray(train, dtype=float), np.asarray(test, dtype=float)
    found = test - train.mean(0)
    for direction in np.linalg.svd(train - train.mean(0))[2][:k]:
        found = found - np.outer(found @ direction, direction)
    return found


def without_largest(states):
    """With the dimension of the largest contribution set to 0."""
    unit, cut = of_length_one(states), states.clone()
    cut[:, (unit.sum(0).square() - unit.square().sum(0)).argmax()] = 0
    return cut


def drawing(layers, *lines):
    axes = plt.figure().add_subplot()
    for number, line in enumerate(lines):
        axes.plot(layers, line, label=f"line {number}")
    axes.set(xlabel="layer", ylabel="cosine")
    axes.legend()
    return axes


@wrong("6.6", "end with: return axes", "nothing returned")
def plot_layers(layers):
    plt.plot(layers, layers)


@wrong("6.6", "as they are, without the largest dimension, centred", "two lines")
def plot_layers(layers):
    return drawing(layers, layers, layers)


@wrong("6.6", "axes.set_xlabel", "no labels")
def plot_layers(layers):
    axes = drawing(layers, layers, layers, layers)
    axes.set(xlabel="", ylabel="")
    return axes


@wrong("6.6", "each layer's own", "the mean of another layer")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    raw, cut = ([expected_cosine(each) for each in kind] for kind in (states, map(without_largest, states)))
    return drawing(layers, raw, cut, [expected_cosine(each - hidden_states[0].mean(0)) for each in states])


@wrong("6.6", "in this very layer", "the same dimension in all layers")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    without = [each.clone() for each in states]
    for each in without:
        each[:, 63] = 0
    kinds = (states, without, [each - each.mean(0) for each in states])
    return drawing(layers, *([expected_cosine(each) for each in kind] for kind in kinds))


@wrong("6.6", "not more", "half of the dimensions")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    without = [each.clone() for each in states]
    for each in without:
        each[:, rogue_dimensions(each, 0.5)] = 0
    kinds = (states, without, [each - each.mean(0) for each in states])
    return drawing(layers, *([expected_cosine(each) for each in kind] for kind in kinds))


@wrong("6.6", "work on a clone where you cut", "cut in the first line's vectors")
def plot_layers(layers):
    states = [hidden_states[layer].clone() for layer in layers]
    for each in states:
        each[:, rogue_dimensions(each, 0.01)[0]] = 0
    kinds = (states, states, [each - each.mean(0) for each in states])
    return drawing(layers, *([expected_cosine(each) for each in kind] for kind in kinds))


@wrong("6.6", "set the dimension to 0 in a clone", "cut in place after the raw value was taken")
def plot_layers(layers, own=[]):  # noqa: B006 - the notebook's vectors, which other answers need as they are
    own.extend(each.clone() for each in hidden_states[len(own) :])
    lines = [], [], []
    for layer in layers:
        states = own[layer]
        lines[0].append(expected_cosine(states))
        lines[2].append(expected_cosine(states - states.mean(0)))
        states[:, rogue_dimensions(states, 0.01)[0]] = 0
        lines[1].append(expected_cosine(states))
    return drawing(layers, *lines)


@wrong("6.6", "here nothing is missing", "the last layer's dimension in all layers")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    without = [each.clone() for each in states]
    for each in without:
        each[:, rogue_dimensions(hidden_states[6], 0.01)[0]] = 0
    kinds = (states, without, [each - each.mean(0) for each in states])
    return drawing(layers, *([expected_cosine(each) for each in kind] for kind in kinds))


@wrong("6.6", "of the largest variance")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    without = [each.clone() for each in states]
    for each in without:
        each[:, each.var(0).argmax()] = 0
    kinds = (states, without, [each - each.mean(0) for each in states])
    return drawing(layers, *([expected_cosine(each) for each in kind] for kind in kinds))


@wrong("6.6", "so it is not a subtraction", "the largest contribution subtracted")
def plot_layers(layers):
    lines = [], [], []
    for layer in layers:
        states, unit = hidden_states[layer], of_length_one(hidden_states[layer].double())
        made = (unit.sum(0).square() - unit.square().sum(0)) / (len(unit) * (len(unit) - 1))
        for line, value in zip(lines, (made.sum(), made.sum() - made.max(), expected_cosine(states - states.mean(0)))):
            line.append(float(value))
    return drawing(layers, *lines)


@wrong("6.6", "names in the legend are exchanged")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    kinds = (states, [each - each.mean(0) for each in states], [without_largest(each) for each in states])
    axes = plt.figure().add_subplot()
    for name, kind in zip(("as they are", "without the largest dimension", "centred"), kinds):
        axes.plot(layers, [expected_cosine(each) for each in kind], label=name)
    axes.set(xlabel="layer", ylabel="cosine")
    axes.legend()
    return axes


@wrong("6.6", "each dimension's", "minus one mean for all dimensions")
def plot_layers(layers):
    states = [hidden_states[layer] for layer in layers]
    kinds = (states, [without_largest(each) for each in states], [each - each.mean() for each in states])
    return drawing(layers, *([expected_cosine(each) for each in kind] for kind in kinds))


@right("6.6", "layers in rising order, names handed to the legend")
def plot_layers(layers):
    axes = plt.figure().add_subplot()
    for kind in (lambda x: x, without_largest, lambda x: x - x.mean(0)):
        values = {layer: expected_cosine(kind(hidden_states[layer])) for layer in layers}
        axes.plot(sorted(values), [values[layer] for layer in sorted(values)])
    axes.set(xlabel="layer", ylabel="cosine")
    axes.legend(["As they are", "Without the rogue dimension", "Centered"])
    return axes


@right("6.6", "layers from the last to the first")
def plot_layers(layers):
    backwards = sorted(layers, reverse=True)
    kinds = (lambda x: x - x.mean(0), lambda x: x, without_largest)
    return drawing(backwards, *([expected_cosine(kind(hidden_states[i])) for i in backwards] for kind in kinds))


@right("6.6", "pyplot, numpy, all pairs")
def plot_layers(layers):
    plt.figure()
    for kind in ("centred", "raw", "cut"):
        line = []
        for layer in layers:
            x = hidden_states[layer].double().numpy()
            if kind == "centred":
                x = x - x.mean(0)
            u = x / np.linalg.norm(x, axis=1, keepdims=True)
            if kind == "cut":
                x = np.delete(x, (u.mean(0) ** 2).argmax(), axis=1)
                u = x / np.linalg.norm(x, axis=1, keepdims=True)
            cosines = u @ u.T
            line.append((cosines.sum() - len(u)) / (len(u) * (len(u) - 1)))
        plt.plot(layers, line, label=kind)
    plt.xlabel("layer")
    plt.ylabel("cosine")
    plt.legend()
    return plt.gca()


@right("6.6", "a function for each line")
def plot_layers(layers):
    def cut(x):
        keep = torch.arange(x.shape[1]) != rogue_dimensions(x, 0.001)[0]
        return x[:, keep]

    kinds = (cut, lambda x: x - x.mean(0, keepdim=True), lambda x: x)
    return drawing(layers, *([expected_cosine(kind(hidden_states[layer])) for layer in layers] for kind in kinds))
