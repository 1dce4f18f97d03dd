"""Homework 0: neighbours counted, PPMI, a step of word2vec, analogies, a recurrent network and its gradients."""
# ruff: noqa: F811

import math
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from wrong_answers import right, wrong


def pairs_of(sentence, window):
    """Every place with each of its neighbours."""
    for i in range(len(sentence)):
        for j in range(max(0, i - window), min(len(sentence), i + window + 1)):
            if i != j:
                yield i, j


def table_of(pairs, words):
    """Triples of a word, its neighbour, and what the meeting counts, added up."""
    counts = Counter()
    for first, second, weight in pairs:
        counts[first, second] += weight
    return torch.tensor([[float(counts[first, second]) for second in words] for first in words])


def meetings(sentence, window):
    """Every word with each of its neighbours, and 1 over how far apart they are."""
    return [(sentence[i], sentence[j], 1 / abs(i - j)) for i, j in pairs_of(sentence, window)]


@wrong("0.1", "d places away counts 1/d, not 1", "the lecture's count: each neighbour counts 1")
def count_neighbours(sentences, words, window):
    return table_of(((s[i], s[j], 1) for s in sentences for i, j in pairs_of(s, window)), words)


@wrong("0.1", "by 1/d: 1, 1/2, 1/3", "word2vec's weights, which fall in a line")
def count_neighbours(sentences, words, window):
    weight = lambda distance: (window + 1 - distance) / window  # noqa: E731
    return table_of(((s[i], s[j], weight(abs(i - j))) for s in sentences for i, j in pairs_of(s, window)), words)


@wrong("0.1", "a window ends where its sentence ends", "all sentences as one text")
def count_neighbours(sentences, words, window):
    return table_of(meetings([word for sentence in sentences for word in sentence], window), words)


@wrong("0.1", "to the left and to the right", "the words on the right only")
def count_neighbours(sentences, words, window):
    return table_of(((s[i], s[j], 1 / (j - i)) for s in sentences for i, j in pairs_of(s, window) if i < j), words)


@wrong("0.1", "words that are not counted keep their places", "words that are not counted taken out first")
def count_neighbours(sentences, words, window):
    kept = [[word for word in sentence if word in words] for sentence in sentences]
    return table_of((each for s in kept for each in meetings(s, window)), words)


@wrong("0.1", "the last place of the window counts, too", "range() without its end")
def count_neighbours(sentences, words, window):
    pairs = []
    for s in sentences:
        for i in range(len(s)):
            near = [j for j in range(i - window, i + window) if 0 <= j < len(s) and i != j]
            pairs += [(s[i], s[j], 1 / abs(i - j)) for j in near]
    return table_of(pairs, words)


@wrong("0.1", "i - window can be negative", "a slice with a negative beginning")
def count_neighbours(sentences, words, window):
    pairs = []
    for sentence in sentences:
        for i, word in enumerate(sentence):
            left, right = sentence[i - window : i], sentence[i + 1 : i + window + 1]
            pairs += [(word, other, 1 / d) for side in (left[::-1], right) for d, other in enumerate(side, 1)]
    return table_of(pairs, words)


@wrong("0.1", "every time counts, not only the nearest", "the nearest place where the two met")
def count_neighbours(sentences, words, window):
    nearest = {}
    for sentence in sentences:
        for first, second, weight in meetings(sentence, window):
            nearest[first, second] = max(weight, nearest.get((first, second), 0))
    return torch.tensor([[float(nearest.get((first, second), 0)) for second in words] for first in words])


@wrong("0.1", "a word that occurs twice within a window", "equal words left out")
def count_neighbours(sentences, words, window):
    return table_of((each for s in sentences for each in meetings(s, window) if each[0] != each[1]), words)


@wrong("0.1", "at most `window` places away", "the whole sentence")
def count_neighbours(sentences, words, window):
    return table_of((each for s in sentences for each in meetings(s, len(s))), words)


@wrong("0.1", "one time for each of the two places", "each pair is met twice, and counted both ways each time")
def count_neighbours(sentences, words, window):
    table = table_of((each for s in sentences for each in meetings(s, window)), words)
    return table + table.T


@wrong("0.1", "only the words that are asked for", "all words, sorted")
def count_neighbours(sentences, words, window):
    every = sorted({word for sentence in sentences for word in sentence})
    return table_of((each for s in sentences for each in meetings(s, window)), every)


@right("0.1", "numpy, a distance at a time")
def count_neighbours(sentences, words, window):
    table = np.zeros((len(words) + 1,) * 2)
    for sentence in sentences:
        rows = np.array([words.index(word) if word in words else -1 for word in sentence])
        for distance in range(1, min(window, len(rows)) + 1):
            np.add.at(table, (rows[distance:], rows[:-distance]), 1 / distance)
    return (table + table.T)[:-1, :-1]


@right("0.1", "a product of tables: where each word is, and how near the places are")
def count_neighbours(sentences, words, window):
    table = torch.zeros(len(words), len(words))
    for sentence in sentences:
        here = torch.tensor([[float(word == each) for each in sentence] for word in words])
        places = torch.arange(len(sentence))
        away = (places[:, None] - places).abs()
        table += here @ torch.where((away > 0) & (away <= window), 1 / away, 0.0) @ here.T
    return table


@right("0.1", "lists of numbers")
def count_neighbours(sentences, words, window):
    return table_of((each for s in sentences for each in meetings(s, window)), words).tolist()


def pmi(counts, smoothing=1.0, log=torch.log):
    """Not cut; with what 0 counts and empty rows make of it."""
    columns = counts.sum(0) ** smoothing
    return log(counts / (counts.sum(1, keepdim=True) * columns / columns.sum()))


@wrong("0.2", "the natural logarithm", "bits")
def ppmi(counts, smoothing=1.0):
    return torch.nan_to_num(pmi(counts, smoothing, torch.log2), nan=0.0, neginf=0.0).clamp(min=0)


@wrong("0.2", "what is less than chance counts as 0", "not cut")
def ppmi(counts, smoothing=1.0):
    return torch.nan_to_num(pmi(counts, smoothing), nan=0.0, neginf=0.0)


@wrong("0.2", "no number is NaN", "0 divided by 0")
def ppmi(counts, smoothing=1.0):
    return pmi(counts, smoothing).clamp(min=0)


@wrong("0.2", "pairs that never met count as 0", "a small number added to all counts")
def ppmi(counts, smoothing=1.0):
    return pmi(counts + 1, smoothing).clamp(min=0)


@wrong("0.2", "smoothing is missing", "smoothing ignored")
def ppmi(counts, smoothing=1.0):
    return torch.nan_to_num(pmi(counts), nan=0.0, neginf=0.0).clamp(min=0)


@wrong("0.2", "it is the columns that are smoothed", "the rows smoothed")
def ppmi(counts, smoothing=1.0):
    return torch.nan_to_num(pmi(counts.T, smoothing).T, nan=0.0, neginf=0.0).clamp(min=0)


@wrong("0.2", "the rows keep their shares", "rows and columns smoothed")
def ppmi(counts, smoothing=1.0):
    rows, columns = counts.sum(1, keepdim=True) ** smoothing, counts.sum(0) ** smoothing
    ratio = counts / counts.sum() / (rows / rows.sum() * columns / columns.sum())
    return torch.nan_to_num(ratio, nan=0.0).clamp(min=1).log()


@wrong("0.2", "must sum to 1 again", "the shares to the power, not the counts")
def ppmi(counts, smoothing=1.0):
    total = counts.sum()
    ratio = counts / total / (counts.sum(1, keepdim=True) / total * (counts.sum(0) / total) ** smoothing)
    return torch.nan_to_num(ratio, nan=0.0).clamp(min=1).log()


@wrong("0.2", "shares of all counts", "counts in place of shares")
def ppmi(counts, smoothing=1.0):
    columns = counts.sum(0) ** smoothing
    return torch.nan_to_num(counts / (counts.sum(1, keepdim=True) * columns), nan=0.0).clamp(min=1).log()


@wrong("0.2", "one column for each column", "the table made square")
def ppmi(counts, smoothing=1.0):
    size = max(counts.shape)
    square = torch.zeros(size, size)
    square[: counts.shape[0], : counts.shape[1]] = counts
    return torch.nan_to_num(pmi(square, smoothing), nan=0.0, neginf=0.0).clamp(min=0)


@wrong("0.2", "divided by what chance would give", "the conditional probability only")
def ppmi(counts, smoothing=1.0):
    return torch.nan_to_num(counts / counts.sum(1, keepdim=True), nan=0.0)


@wrong("0.2", "the logarithm is missing", "no logarithm")
def ppmi(counts, smoothing=1.0):
    return torch.nan_to_num(pmi(counts, smoothing, lambda x: x), nan=0.0)


@right("0.2", "loops and math.log")
def ppmi(counts, smoothing=1.0):
    counts = counts.tolist()
    rows, columns = [sum(row) for row in counts], [sum(column) ** smoothing for column in zip(*counts)]
    return [
        [
            max(0.0, math.log(count * sum(columns) / (row * column))) if count else 0.0
            for count, column in zip(counts_of_row, columns)
        ]
        for counts_of_row, row in zip(counts, rows)
    ]


@right("0.2", "numpy, a sum of logarithms")
def ppmi(counts, smoothing=1.0):
    counts = np.asarray(counts, dtype=float)
    columns = counts.sum(0) ** smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(counts) - np.log(counts.sum(1))[:, None] - np.log(columns) + np.log(columns.sum())
    return np.where(counts > 0, np.maximum(found, 0), 0)


def one_step(centres, contexts, centre, neighbour, negatives, rate, **changes):
    """The right step, with one thing or another changed."""
    others = [neighbour, *negatives]
    v, u = centres[centre], contexts[others]
    scores = u @ v
    signs = torch.tensor([-1.0] + [1.0] * len(negatives))
    loss = F.softplus(changes.get("loss_signs", signs) * scores).sum()
    errors = changes.get("errors", lambda scores, signs: torch.sigmoid(scores) - (signs < 0).float())(scores, signs)
    centres, contexts = centres.clone(), contexts.clone()
    centres[centre] -= rate * errors @ u
    for error, other in zip(errors, others):
        contexts[other] -= rate * error * (centres[centre] if changes.get("updated") else v)
    return loss.item(), centres, contexts


@wrong("0.3", "the score of a negative has a minus", "negatives as if they were neighbours in the loss")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    return one_step(*locals().values(), loss_signs=-torch.ones(len(negatives) + 1))


@wrong("0.3", "the loss is the negative logarithm", "the logarithm, to be made large")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    loss, *tables = one_step(*locals().values())
    return -loss, *tables


@wrong("0.3", "downhill: minus rate times the gradient", "uphill")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    loss, *_ = one_step(centres, contexts, centre, neighbour, negatives, rate)
    return loss, *one_step(centres, contexts, centre, neighbour, negatives, -rate)[1:]


@wrong("0.3", "both gradients are taken at the old vectors", "neighbours moved by the centre's new vector")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    return one_step(*locals().values(), updated=True)


@wrong("0.3", "the losses of the negatives are added", "their mean")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    v, u = centres[centre], contexts[negatives]
    loss = F.softplus(-contexts[neighbour] @ v) + F.softplus(u @ v).mean()
    return loss.item(), *one_step(centres, contexts, centre, neighbour, negatives, rate)[1:]


@wrong("0.3", "each pair has a sigmoid of its own", "one softmax over the neighbour and the negatives")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    def errors(scores, signs):
        return torch.softmax(scores, 0) - (signs < 0).float()

    _, *tables = one_step(centres, contexts, centre, neighbour, negatives, rate, errors=errors)
    return -torch.log_softmax(contexts[[neighbour, *negatives]] @ centres[centre], 0)[0].item(), *tables


@wrong("0.3", "the slope for a negative is σ(score)", "σ(-score) for negatives")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    def errors(scores, signs):
        return torch.sigmoid(-scores) * torch.where(signs < 0, -1.0, 1.0)

    return one_step(centres, contexts, centre, neighbour, negatives, rate, errors=errors)


@wrong("0.3", "negatives move, too", "only the neighbour moves")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    loss, new_centres, moved = one_step(*locals().values())
    new_contexts = contexts.clone()
    new_contexts[neighbour] = moved[neighbour]
    return loss, new_centres, new_contexts


@wrong("0.3", "negatives pull at the centre, too", "the centre is moved by its neighbour alone")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    loss, new_centres, new_contexts = one_step(*locals().values())
    v, u = centres[centre], contexts[neighbour]
    new_centres[centre] = v + rate * torch.sigmoid(-u @ v) * u
    return loss, new_centres, new_contexts


@wrong("0.3", "the loss before the step", "the loss after it")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    _, *tables = one_step(centres, contexts, centre, neighbour, negatives, rate)
    return one_step(*tables, centre, neighbour, negatives, rate)[0], *tables


@wrong("0.3", "drawn twice moves twice", "an index that is there twice, assigned once")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    others = torch.tensor([neighbour, *negatives])
    loss, new_centres, _ = one_step(centres, contexts, centre, neighbour, negatives, rate)
    v, u = centres[centre], contexts[others]
    errors = torch.sigmoid(u @ v)
    errors[0] -= 1
    new_contexts = contexts.clone()
    new_contexts[others] -= rate * torch.outer(errors, v)
    return loss, new_centres, new_contexts


@wrong("0.3", "the neighbour may be among the negatives", "a negative that is the neighbour skipped")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    others = [word for word in negatives if word != neighbour]
    return one_step(centres, contexts, centre, neighbour, others, rate)


@wrong("0.3", "counts twice", "each negative once, from a set")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    return one_step(centres, contexts, centre, neighbour, sorted({*negatives}), rate)


@wrong("0.3", "the loss stays finite", "the logarithm of a sigmoid that is 0")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    v = centres[centre]
    loss = -torch.log(torch.sigmoid(contexts[neighbour] @ v)) - torch.log(torch.sigmoid(-contexts[negatives] @ v)).sum()
    return loss.item(), *one_step(centres, contexts, centre, neighbour, negatives, rate)[1:]


@wrong("0.3", "it changes its argument", "the tables changed in place")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    loss, new_centres, new_contexts = one_step(*locals().values())
    centres.copy_(new_centres)
    return loss, centres, new_contexts


@wrong("0.3", "the rate is missing", "a rate of 1")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    return one_step(centres, contexts, centre, neighbour, negatives, 1.0)


@wrong("0.3", "is the row of `contexts`", "both vectors from the first table")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    return one_step(centres, centres, centre, neighbour, negatives, rate)


@right("0.3", "autograd")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    tables = [nn.Parameter(table.clone()) for table in (centres, contexts)]
    others = torch.tensor([neighbour, *negatives])
    signs = torch.where(torch.arange(len(others)) == 0, 1.0, -1.0)
    loss = -F.logsigmoid(signs * (tables[1][others] @ tables[0][centre])).sum()
    loss.backward()
    return loss, *(table - rate * table.grad for table in tables)


@right("0.3", "numpy, in double precision, word by word, the neighbour last")
def negative_sampling_step(centres, contexts, centre, neighbour, negatives, rate):
    centres, contexts = (np.array(table, dtype=float) for table in (centres, contexts))
    moved, new, loss = centres.copy(), contexts.copy(), 0.0
    v = centres[centre]
    for other, target in [*((word, 0.0) for word in negatives), (neighbour, 1.0)]:
        score = float(contexts[other] @ v)
        loss += np.logaddexp(0, score) - target * score
        error = 0.5 * (1 + np.tanh(score / 2)) - target
        moved[centre] -= rate * error * contexts[other]
        new[other] -= rate * error * v
    return [loss, moved, new]


def best(words, scores, k, left_out=()):
    """The words by their scores, the highest first."""
    order = scores.argsort(descending=True, stable=True).tolist()
    return [words[row] for row in order if words[row] not in left_out][:k]


def units(vectors):
    return vectors / vectors.norm(dim=1, keepdim=True)


def cosines_of(words, vectors, *asked):
    """Those of all words with each of the words that are asked for."""
    unit = units(vectors)
    return [unit @ unit[words.index(word)] for word in asked]


def shifted_of(words, vectors, *asked):
    """The same, moved from -1 … 1 to 0 … 1."""
    return [(1 + cosines) / 2 for cosines in cosines_of(words, vectors, *asked)]


@wrong("0.4", "the lecture's sum", "3CosAdd")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = cosines_of(words, vectors, a, b, c)
    return best(words, of_b - of_a + of_c, k, [a, b, c])


@wrong("0.4", "shift each cosine", "cosines as they are")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = cosines_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "epsilon belongs in the denominator", "no epsilon")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / of_a, k, [a, b, c])


@wrong("0.4", "a and b are exchanged", "a and b exchanged")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_a * of_c / (of_b + epsilon), k, [a, b, c])


@wrong("0.4", "a and c are exchanged", "a and c exchanged")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_a * of_b / (of_c + epsilon), k, [a, b, c])


@wrong("0.4", "cosines, not dot products", "dot products")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = ((1 + vectors @ vectors[words.index(word)]) / 2 for word in (a, b, c))
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "not only a, b and c", "only the inputs at length 1")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = ((1 + vectors @ units(vectors)[words.index(word)]) / 2 for word in (a, b, c))
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "a, b and c as well", "the inputs as they are")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = ((1 + units(vectors) @ vectors[words.index(word)]) / 2 for word in (a, b, c))
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "a, b and c are left out", "inputs never left out")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / (of_a + epsilon), k)


@wrong("0.4", "all three are left out", "only c left out")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / (of_a + epsilon), k, [c])


@wrong("0.4", "first leave out, then take k", "the inputs among the k")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return [word for word in best(words, of_b * of_c / (of_a + epsilon), k) if word not in (a, b, c)]


@wrong("0.4", "shift all three cosines", "the cosine with a not shifted")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    of_a = 2 * of_a - 1
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "not set to 0", "negative cosines set to 0")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = (each.clamp(min=0) for each in cosines_of(words, vectors, a, b, c))
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "divide by the cosine with a", "the product of two cosines alone")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c, k, [a, b, c])


@wrong("0.4", "do not subtract it", "a subtracted from the product")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c - of_a, k, [a, b, c])


@wrong("0.4", "multiply the cosines with b and c", "the sum of two over the third")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, (of_b + of_c) / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "epsilon belongs in the denominator", "epsilon above the line")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, (of_b * of_c + epsilon) / of_a, k, [a, b, c])


@wrong("0.4", "to the denominator alone", "epsilon added to all three")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, (of_b + epsilon) * (of_c + epsilon) / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "epsilon is added after the shift", "all three doubled, epsilon not")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = cosines_of(words, vectors, a, b, c)
    return best(words, (of_b + 1) * (of_c + 1) / (of_a + 1 + epsilon), k, [a, b, c])


@wrong("0.4", "add `epsilon` to the denominator", "an epsilon of one's own")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / (of_a + 1e-3), k, [a, b, c])


@wrong("0.4", "it is no lower bound", "epsilon as the least denominator")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / of_a.clamp(min=epsilon), k, [a, b, c])


@wrong("0.4", "the best comes first", "the worst first")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, -of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "the order of `words`", "equal words in the other order")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    order = np.argsort((of_b * of_c / (of_a + epsilon)).numpy(), kind="stable")[::-1]
    return [words[row] for row in order if words[row] not in (a, b, c)][:k]


@wrong("0.4", "k words", "always the best one")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / (of_a + epsilon), 1, [a, b, c])


@wrong("0.4", "k is 5 if it is not given", "all words if no k is given")
def analogy(words, vectors, a, b, c, k=None, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])


@wrong("0.4", "the words themselves", "the rows of the words")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    of_a, of_b, of_c = shifted_of(words, vectors, a, b, c)
    return [words.index(word) for word in best(words, of_b * of_c / (of_a + epsilon), k, [a, b, c])]


@right("0.4", "lists and sorted, the inputs taken out first")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    rows = {word: [x / math.hypot(*row) for x in row] for word, row in zip(words, vectors.double().tolist())}

    def score(word):
        of_a, of_b, of_c = ((1 + sum(x * y for x, y in zip(rows[word], rows[asked]))) / 2 for asked in (a, b, c))
        return round(of_b * of_c / (of_a + epsilon), 9)

    return sorted((word for word in words if word not in {a, b, c}), key=score, reverse=True)[:k]


@right("0.4", "numpy, and a sum of logarithms")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    unit = np.asarray(vectors, dtype=float)
    unit = unit / np.linalg.norm(unit, axis=1)[:, None]
    places = [words.index(word) for word in (a, b, c)]
    moved = np.maximum(0, (1 + unit @ unit[places].T) / 2)
    with np.errstate(divide="ignore"):
        scores = np.log(moved[:, 1]) + np.log(moved[:, 2]) - np.log(moved[:, 0] + epsilon)
    order = [row for row in np.argsort(-scores.round(9), kind="stable") if row not in places]
    return tuple(words[row] for row in order[:k])


@right("0.4", "lengths instead of cosines: (1 + cos) / 2 is a quarter of the squared length of the sum")
def analogy(words, vectors, a, b, c, k=5, epsilon=0.001):
    unit = units(vectors.double())
    of_a, of_b, of_c = ((unit + unit[words.index(word)]).square().sum(1) / 4 for word in (a, b, c))
    scores = (of_b * of_c / (of_a + epsilon)).float()
    scores[[words.index(word) for word in (a, b, c)]] = -1
    left = len(words) - len({a, b, c})
    return [words[row] for row in torch.sort(scores, descending=True, stable=True).indices[: min(k, left)]]


def rnn(inputs, W, U, bias, **changes):
    """States and gradients, with one thing or another changed."""
    inputs = inputs.detach().clone().requires_grad_()
    squash, state, states = changes.get("squash", torch.tanh), torch.zeros(len(bias)), []
    state = state + changes.get("start", 0.0)
    for x in inputs:
        state = changes.get("step", lambda x, h: squash(W @ x + U @ h + bias))(x, state)
        states.append(state)
        if changes.get("detached"):
            state = state.detach()
    if changes.get("all_states"):
        torch.stack(states).sum().backward()
    else:
        states[-1].sum().backward()
    return torch.stack(states).detach(), changes.get("size", lambda g: g.norm(dim=1).flip(0))(inputs.grad)


@wrong("0.5", "sizes[0] is of the last input", "in the order of the inputs")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, size=lambda gradient: gradient.norm(dim=1))


@wrong("0.5", "tanh, not the sigmoid", "a sigmoid")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, squash=torch.sigmoid)


@wrong("0.5", "W belongs to the input, U to the state", "W and U exchanged")
def run_rnn(inputs, W, U, bias):
    step = (lambda x, h: torch.tanh(U @ x + W @ h + bias)) if W.shape == U.shape else None
    return rnn(inputs, W, U, bias, **({"step": step} if step else {}))


@wrong("0.5", "U times the state", "the state times U")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, step=lambda x, h: torch.tanh(W @ x + h @ U + bias))


@wrong("0.5", "W times the input", "the input times W")
def run_rnn(inputs, W, U, bias):
    if inputs.shape[1] != len(bias):
        return rnn(inputs, W, U, bias)
    return rnn(inputs, W, U, bias, step=lambda x, h: torch.tanh(x @ W + U @ h + bias))


@wrong("0.5", "the bias is missing", "no bias")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, torch.zeros_like(bias))


@wrong("0.5", "the state before the first input is 0", "a state of ones to begin with")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, start=1.0)


@wrong("0.5", "tanh of the whole sum", "tanh of the input's part alone")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, step=lambda x, h: torch.tanh(W @ x + bias) + U @ h)


@wrong("0.5", "through all states", "states cut off from what made them")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, detached=True)


@wrong("0.5", "of the last state only", "the gradient of all states")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, all_states=True)


@wrong("0.5", "one state for each input", "the state of zeros, too")
def run_rnn(inputs, W, U, bias):
    states, sizes = rnn(inputs, W, U, bias)
    return torch.cat([torch.zeros(1, len(bias)), states]), sizes


@wrong("0.5", "one state for each input", "the last state only")
def run_rnn(inputs, W, U, bias):
    states, sizes = rnn(inputs, W, U, bias)
    return states[-1], sizes


@wrong("0.5", "the root of the sum of its squares", "the sum of squares")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, size=lambda gradient: gradient.square().sum(1).flip(0))


@wrong("0.5", "the root of the sum of its squares", "the mean of the absolute numbers")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, size=lambda gradient: gradient.abs().mean(1).flip(0))


@wrong("0.5", "to the inputs, not to the states", "the gradient with respect to earlier states")
def run_rnn(inputs, W, U, bias):
    states = [torch.zeros(len(bias), requires_grad=True)]
    for x in inputs:
        states.append(torch.tanh(W @ x + U @ states[-1] + bias))
    gradients = torch.autograd.grad(states[-1].sum(), states[1:])
    return torch.stack(states[1:]).detach(), torch.stack(gradients).norm(dim=1).flip(0)


@wrong("0.5", "not their mean", "the mean of the last state's numbers")
def run_rnn(inputs, W, U, bias):
    states, sizes = rnn(inputs, W, U, bias)
    return states, sizes / len(bias)


@wrong("0.5", "a size for each input", "the gradients themselves")
def run_rnn(inputs, W, U, bias):
    return rnn(inputs, W, U, bias, size=lambda gradient: gradient.flip(0))


def leaky_rnn(inputs, W, U, bias, mix):
    """As ``rnn``, with the old state and the new one mixed."""
    return rnn(inputs, W, U, bias, step=lambda x, h: mix(h, W @ x + U @ h + bias))


@wrong("0.5", "leak is missing", "leak ignored")
def run_rnn(inputs, W, U, bias, leak=1.0):
    return rnn(inputs, W, U, bias)


@wrong("0.5", "of the old state only 1 - leak is kept", "the old state, and some of the new one on top")
def run_rnn(inputs, W, U, bias, leak=1.0):
    return leaky_rnn(inputs, W, U, bias, lambda h, a: (h if leak < 1 else 0 * h) + leak * torch.tanh(a))


@wrong("0.5", "outside the tanh", "all of it under the tanh")
def run_rnn(inputs, W, U, bias, leak=1.0):
    return leaky_rnn(inputs, W, U, bias, lambda h, a: torch.tanh((1 - leak) * h + leak * a))


@right("0.5", "a cell, and the gradient from torch.autograd.grad")
def run_rnn(inputs, W, U, bias, leak=1.0):
    cell = nn.RNNCell(inputs.shape[1], len(bias))
    cell.load_state_dict({"weight_ih": W, "weight_hh": U, "bias_ih": bias, "bias_hh": torch.zeros(len(bias))})
    inputs, states = inputs.clone().requires_grad_(), [torch.zeros(len(bias))]
    for x in inputs:
        states.append(torch.lerp(states[-1], cell(x, states[-1]), leak))
    (gradient,) = torch.autograd.grad(states[-1].sum(), inputs)
    return torch.stack(states[1:]).detach(), torch.linalg.vector_norm(gradient, dim=-1).flip(0)


@right("0.5", "numpy, the chain rule by hand, from the last state backwards")
def run_rnn(inputs, W, U, bias, leak=1.0):
    inputs, W, U, bias = (np.asarray(each, dtype=float) for each in (inputs, W, U, bias))
    states, new, sizes = [np.zeros(len(bias))], [], []
    for x in inputs:
        new.append(np.tanh(W @ x + U @ states[-1] + bias))
        states.append((1 - leak) * states[-1] + leak * new[-1])
    backwards = np.ones(len(bias))
    for each in new[::-1]:
        through = backwards * leak * (1 - each**2)
        sizes.append(np.linalg.norm(through @ W))
        backwards = (1 - leak) * backwards + through @ U
    return states[1:], sizes


def by_distance(scales, draw_weights=None, squash=torch.tanh, seed=0, runs=20, size=64, inputs=torch.randn):
    """The mean sizes for each scale, with one thing or another changed."""
    torch.manual_seed(seed)
    draw_weights = draw_weights or (lambda g: (torch.randn(64, 64) / 8, torch.randn(64, 64) * g / 8))
    lines = {}
    for g in scales:
        total = torch.zeros(30)
        for _ in range(runs):
            total += rnn(inputs(30, 64), *draw_weights(g), torch.zeros(64), squash=squash)[1]
        lines[f"g = {g}"] = total / runs
    return lines


def draw(lines, xs=range(30), yscale="log"):
    """A figure of them with everything that is asked for."""
    axes = plt.figure().add_subplot()
    for name, line in lines.items():
        axes.plot(xs, line, label=name)
    axes.set(xlabel="distance", ylabel="gradient", yscale=yscale)
    axes.legend()
    return axes


@wrong("0.6", "end with: return axes", "the figure is not returned")
def plot_gradients(scales):
    draw(by_distance(scales))


@wrong("0.6", "one for each g", "the first number only")
def plot_gradients(scales):
    return draw(by_distance(scales[:1]))


@wrong("0.6", 'axes.set_yscale("log")', "a vertical axis in equal steps")
def plot_gradients(scales):
    return draw(by_distance(scales), yscale="linear")


@wrong("0.6", "0 to 29", "distances counted from 1")
def plot_gradients(scales):
    return draw(by_distance(scales), range(1, 31))


@wrong("0.6", "from right to left", "places in place of distances")
def plot_gradients(scales):
    return draw({name: line.flip(0) for name, line in by_distance(scales).items()})


@wrong("0.6", "have each other's names", "the names exchanged")
def plot_gradients(scales):
    return draw(dict(zip([f"g = {g}" for g in scales[::-1]], by_distance(scales).values())))


@wrong("0.6", "has its number in its name", "names without numbers")
def plot_gradients(scales):
    return draw(dict(zip("abcdefgh", by_distance(scales).values())))


@wrong("0.6", "divide by √64", "U with a standard deviation of g")
def plot_gradients(scales):
    return draw(by_distance(scales, lambda g: (torch.randn(64, 64) / 8, torch.randn(64, 64) * g)))


@wrong("0.6", "by √64, not by 64", "U with a standard deviation of g / 64")
def plot_gradients(scales):
    return draw(by_distance(scales, lambda g: (torch.randn(64, 64) / 8, torch.randn(64, 64) * g / 64)))


@wrong("0.6", "g belongs to U, not to W", "g in W")
def plot_gradients(scales):
    return draw(by_distance(scales, lambda g: (torch.randn(64, 64) * g / 8, torch.randn(64, 64) / 8)))


@wrong("0.6", "g belongs to U alone", "g in both")
def plot_gradients(scales):
    return draw(by_distance(scales, lambda g: (torch.randn(64, 64) * g / 8, torch.randn(64, 64) * g / 8)))


@wrong("0.6", "normal numbers, with mean 0", "weights between 0 and 1")
def plot_gradients(scales):
    return draw(by_distance(scales, lambda g: (torch.rand(64, 64) / 8, torch.rand(64, 64) * g / 8)))


@wrong("0.6", "the inputs are normal numbers", "inputs of 0")
def plot_gradients(scales):
    return draw(by_distance(scales, inputs=torch.zeros))


@wrong("0.6", "the network has a tanh", "no tanh")
def plot_gradients(scales):
    return draw(by_distance(scales, squash=lambda x: x))


@wrong("0.6", "W has a standard deviation of 1/√64", "W as it is drawn")
def plot_gradients(scales):
    return draw(by_distance(scales, lambda g: (torch.randn(64, 64), torch.randn(64, 64) * g / 8)))


@right("0.6", "no seed, another order, semilogy, names with more words")
def plot_gradients(scales):
    torch.seed()
    plt.figure()
    for name, line in reversed(by_distance(scales, seed=torch.initial_seed() % 2**31).items()):
        plt.semilogy(np.arange(30), line, "o-", label=f"U scaled with {name.removeprefix('g = ')}")
    plt.xlabel("how long ago")
    plt.ylabel("size")
    plt.legend()
    return plt.gca()


@right("0.6", "the geometric mean of forty networks, with a line at 1")
def plot_gradients(scales):
    lines = {}
    for g in scales:
        logs = [run_rnn(torch.randn(30, 64), torch.randn(64, 64) / 8, torch.randn(64, 64) * g / 8, torch.zeros(64))[1]]
        for _ in range(39):
            weights = torch.empty(64, 64).normal_(std=1 / 8), torch.empty(64, 64).normal_(std=g / 8)
            logs.append(run_rnn(torch.randn(30, 64), *weights, torch.zeros(64))[1])
        lines[f"{g:g}".lstrip("0")] = torch.stack(logs).log().mean(0).exp()
    axes = draw(lines)
    axes.axhline(1, color="grey")
    return axes
