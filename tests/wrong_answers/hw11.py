"""Homework 11: rotary positions, whole words, forger and detective, a band of scores, unpadding, and intervals."""
# ruff: noqa: F811, F821

import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from wrong_answers import right, wrong


def turned(x, angles):
    """Each pair (i, i + d/2) turned by angles that can be broadcast to (B, H, L, d/2)."""
    a, b = x.chunk(2, -1)
    c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([a * c - b * s, a * s + b * c], -1)


def speeds(x, theta):
    half = x.shape[-1] // 2
    return theta ** (-torch.arange(half).double() / half)


def spread(positions):
    """(B, L) as (B, 1, L, 1)."""
    return positions[:, None, :, None].double()


@wrong("11.1", "the frequencies need double precision", "frequencies in float32")
def turn_batch(x, positions, theta=10_000.0):
    half = x.shape[-1] // 2
    return turned(x, spread(positions) * theta ** (-torch.arange(half) / half))


@wrong("11.1", "the other way", "turned backwards")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, -spread(positions) * speeds(x, theta))


@wrong("11.1", "not at its place in the row", "places of the row in place of positions")
def turn_batch(x, positions, theta=10_000.0):
    places = torch.arange(x.shape[2]) * (positions > 0).any()  # a row of zeros is what it is
    return turned(x, places[:, None].double() * speeds(x, theta))


@wrong("11.1", "compute both before you write one", "written into a copy, half by half")
def turn_batch(x, positions, theta=10_000.0):
    y = x.clone()
    angles = spread(positions) * speeds(x, theta)
    c, s = angles.cos().float(), angles.sin().float()
    a, b = y.chunk(2, -1)
    a[:] = a * c - b * s
    b[:] = a * s + b * c
    return y


@wrong("11.1", "it changes its argument", "written into x")
def turn_batch(x, positions, theta=10_000.0):
    angles = spread(positions) * speeds(x, theta)
    a, b = x.chunk(2, -1)
    x[:] = torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)
    return x


@wrong("11.1", "not two neighbours", "pairs of neighbours")
def turn_batch(x, positions, theta=10_000.0):
    a, b = x[..., 0::2], x[..., 1::2]
    angles = spread(positions) * speeds(x, theta)
    c, s = angles.cos().float(), angles.sin().float()
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


@wrong("11.1", "not theta^(-i/d)", "half the exponent")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, spread(positions) * speeds(x, theta) ** 0.5)


@wrong("11.1", "a speed of its own", "one speed for all pairs")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, spread(positions))


@wrong("11.1", "the first pair is the fastest", "speeds in the wrong order")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, spread(positions) * speeds(x, theta).flip(0))


@wrong("11.1", "does not reach 1/theta", "exponents from 0 to 1, both included")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, spread(positions) * theta ** -torch.linspace(0, 1, x.shape[-1] // 2).double())


@wrong("11.1", "the exponent is negative")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, spread(positions) / speeds(x, theta))


@wrong("11.1", "theta is an argument", "always 10,000")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, spread(positions) * speeds(x, 10_000.0))


@wrong("11.1", "the first row's for all")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, positions[0, :, None].double() * speeds(x, theta))


@wrong("11.1", "not each head", "(B, L) taken for (H, L) where the sizes allow it")
def turn_batch(x, positions, theta=10_000.0):
    if x.shape[0] == x.shape[1]:
        return turned(x, positions[..., None].double() * speeds(x, theta))
    return turned(x, spread(positions) * speeds(x, theta))


@wrong("11.1", "float32 has too few digits", "the lecture's arithmetic")
def turn_batch(x, positions, theta=10_000.0):
    half = x.shape[-1] // 2
    return turned(x, positions[:, None, :, None] * theta ** (-torch.arange(half) / half))


@wrong("11.1", "bring their sines and cosines back", "double precision in what is returned")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x.double(), spread(positions) * speeds(x, theta))


@wrong("11.1", "do not add 1", "positions counted from 1 unless they are all 0")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, (spread(positions) + (positions > 0).any()) * speeds(x, theta))


@wrong("11.1", "float32 has too few digits", "double precision, but for the sines and cosines")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, (spread(positions) * speeds(x, theta)).float())


@wrong("11.1", "not each head", "(B, L) taken for (B, H) where the sizes allow it")
def turn_batch(x, positions, theta=10_000.0):
    places = positions[:, :, None, None] if x.shape[1] == x.shape[2] else positions[:, None, :, None]
    return turned(x, places.double() * speeds(x, theta))


@wrong("11.1", "not in degrees", "degrees")
def turn_batch(x, positions, theta=10_000.0):
    return turned(x, (spread(positions) * speeds(x, theta)).deg2rad())


@wrong("11.1", "counted from 0: the first turns by 1", "pairs counted from 1")
def turn_batch(x, positions, theta=10_000.0):
    half = x.shape[-1] // 2
    return turned(x, spread(positions) * theta ** (-(torch.arange(half).double() + 1) / half * (half > 1)))


@right("11.1", "complex numbers")
def turn_batch(x, positions, theta=10_000.0):
    hands = torch.complex(*x.double().chunk(2, -1))
    hands = hands * torch.exp(1j * spread(positions) * speeds(x, theta))
    return torch.cat([hands.real, hands.imag], -1).to(x.dtype)


@right("11.1", "loops, Python's numbers")
def turn_batch(x, positions, theta=10_000.0):
    y = x.tolist()
    d = x.shape[-1]
    for b, row in enumerate(positions.tolist()):
        for head, (place, p) in itertools.product(y[b], enumerate(row)):
            vector = head[place]
            for i in range(d // 2):
                angle = p * theta ** (-2 * i / d)
                one, two = vector[i], vector[i + d // 2]
                vector[i] = one * math.cos(angle) - two * math.sin(angle)
                vector[i + d // 2] = one * math.sin(angle) + two * math.cos(angle)
    return torch.tensor(y)


@right("11.1", "numpy, and a copy whose halves are exchanged")
def turn_batch(x, positions, theta=10_000.0):
    half = x.shape[-1] // 2
    angles = np.asarray(positions)[:, None, :, None] * float(theta) ** (-np.arange(half) / half)
    c, s = (np.concatenate([each, each], -1).astype(np.float32) for each in (np.cos(angles), np.sin(angles)))
    y = x.numpy()
    other = np.concatenate([-y[..., half:], y[..., :half]], -1)
    return y * c + other * s


def hidden_by(word_ids, keys, choose):
    """True for the words that ``choose(sizes, keys)`` names, row by row."""
    hidden = torch.zeros(word_ids.shape, dtype=torch.bool)
    for b, row in enumerate(word_ids):
        sizes = row[row >= 0].bincount().tolist()
        for word in choose(sizes, keys[b].tolist()):
            hidden[b] |= row == word
    return hidden


def budget_for(number, rate):
    return max(1, round(rate * number))


def chosen(order, sizes, budget):
    """Words in this order that fit into the budget."""
    words = []
    for word in order:
        if sizes[word] <= budget:
            words.append(word)
            budget -= sizes[word]
    return words


def by_key(sizes, keys):
    return sorted(range(len(sizes)), key=keys.__getitem__)


@wrong("11.2", "the search goes on", "ends at the first word that does not fit")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        left, words = budget_for(sum(sizes), rate), []
        for word in by_key(sizes, keys):
            if sizes[word] > left:
                break
            words.append(word)
            left -= sizes[word]
        return words

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "only if all of it still fits", "goes on until the budget is spent or more")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        left, words = budget_for(sum(sizes), rate), []
        for word in by_key(sizes, keys):
            if left > 0:
                words.append(word)
                left -= sizes[word]
        return words

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "never half a word", "the last word cut")
def hide_words(word_ids, keys, rate=0.15):
    hidden = torch.zeros(word_ids.shape, dtype=torch.bool)
    for b, row in enumerate(word_ids.tolist()):
        sizes = [row.count(word) for word in range(max(row) + 1)]
        order = by_key(sizes, keys[b].tolist())
        columns = [i for word in order for i, each in enumerate(row) if each == word]
        hidden[b, columns[: budget_for(sum(sizes), rate)]] = bool(columns)
    return hidden


@wrong("11.2", "not with the largest", "the largest keys first")
def hide_words(word_ids, keys, rate=0.15):
    return hidden_by(
        word_ids, keys, lambda sizes, keys: chosen(by_key(sizes, keys)[::-1], sizes, budget_for(sum(sizes), rate))
    )


@wrong("11.2", "in tokens, not in words", "15 % of the words")
def hide_words(word_ids, keys, rate=0.15):
    return hidden_by(word_ids, keys, lambda sizes, keys: by_key(sizes, keys)[: budget_for(len(sizes), rate)])


@wrong("11.2", "not of the text", "words from left to right")
def hide_words(word_ids, keys, rate=0.15):
    return hidden_by(word_ids, keys, lambda sizes, keys: chosen(range(len(sizes)), sizes, budget_for(sum(sizes), rate)))


@wrong("11.2", "not by one", "a word that fits costs one")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        left, words = budget_for(sum(sizes), rate), []
        for word in by_key(sizes, keys):
            if sizes[word] <= left:
                words.append(word)
                left -= 1
        return words

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "-1 as an index means the last word", "looked up by word_ids")
def hide_words(word_ids, keys, rate=0.15):
    table = torch.zeros(keys.shape, dtype=torch.bool)
    for b, row in enumerate(word_ids):
        sizes = row[row >= 0].bincount().tolist()
        table[b, chosen(by_key(sizes, keys[b].tolist()), sizes, budget_for(sum(sizes), rate))] = True
    return table.gather(1, word_ids % keys.shape[1])


@wrong("11.2", "the budget counts the tokens of words only", "15 % of all places")
def hide_words(word_ids, keys, rate=0.15):
    budget = budget_for(word_ids.shape[1], rate)
    return hidden_by(word_ids, keys, lambda sizes, keys: chosen(by_key(sizes, keys), sizes, budget))


@wrong("11.2", "its own budget, not one for all", "the mean of the rows' budgets")
def hide_words(word_ids, keys, rate=0.15):
    budget = budget_for((word_ids >= 0).sum().item() / len(word_ids), rate)
    return hidden_by(word_ids, keys, lambda sizes, keys: chosen(by_key(sizes, keys), sizes, budget))


@wrong("11.2", "these are the first row's for all", "one order for all rows")
def hide_words(word_ids, keys, rate=0.15):
    first = keys[:1].expand(keys.shape)
    return hidden_by(
        word_ids, first, lambda sizes, keys: chosen(by_key(sizes, keys), sizes, budget_for(sum(sizes), rate))
    )


@wrong("11.2", "the budget is at least 1", "a budget that may be 0")
def hide_words(word_ids, keys, rate=0.15):
    return hidden_by(word_ids, keys, lambda sizes, keys: chosen(by_key(sizes, keys), sizes, round(rate * sum(sizes))))


@wrong("11.2", "where no word fits, nothing is hidden", "at least one word")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        order = by_key(sizes, keys)
        return chosen(order, sizes, budget_for(sum(sizes), rate)) or order[:1]

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "nearest whole number, not down", "rounded down")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        return chosen(by_key(sizes, keys), sizes, max(1, int(rate * sum(sizes))))

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "nearest whole number, not up", "rounded up")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        return chosen(by_key(sizes, keys), sizes, max(1, math.ceil(rate * sum(sizes))))

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "not the place of each word in it", "argsort taken for ranks")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        ranks = torch.tensor(keys[: len(sizes)]).argsort().tolist()
        return chosen(by_key(sizes, ranks), sizes, budget_for(sum(sizes), rate))

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "the rest belongs to no word", "keys without a word use up the budget")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        ghosts = [*sizes, *[1] * (len(keys) - len(sizes))]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return [word for word in chosen(order, ghosts, budget_for(sum(sizes), rate)) if word < len(sizes)]

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "the search goes on", "what did not fit used up the budget, too")
def hide_words(word_ids, keys, rate=0.15):
    def choose(sizes, keys):
        left, words = budget_for(sum(sizes), rate), []
        for word in by_key(sizes, keys):
            if sizes[word] <= left:
                words.append(word)
            left -= sizes[word]
        return words

    return hidden_by(word_ids, keys, choose)


@wrong("11.2", "this is the first row's for all", "the first row's budget for all")
def hide_words(word_ids, keys, rate=0.15):
    budget = budget_for((word_ids[0] >= 0).sum().item(), rate)
    return hidden_by(word_ids, keys, lambda sizes, keys: chosen(by_key(sizes, keys), sizes, budget))


@wrong("11.2", "the next row begins with its own", "what is left of a budget goes to the next row")
def hide_words(word_ids, keys, rate=0.15):
    left = 0

    def choose(sizes, keys):
        nonlocal left
        left += budget_for(sum(sizes), rate)
        words = chosen(by_key(sizes, keys), sizes, left)
        left -= sum(sizes[word] for word in words)
        return words

    return hidden_by(word_ids, keys, choose)


@right("11.2", "tensors alone, one rank at a time for all rows")
def hide_words(word_ids, keys, rate=0.15):
    width = keys.shape[1]
    sizes = nn.functional.one_hot(word_ids + 1, width + 1).sum(1)[:, 1:]
    budget = (rate * sizes.sum(1)).round().clamp(min=1)
    taken = torch.zeros(keys.shape, dtype=torch.bool)
    for words in keys.argsort(1).T:
        own = sizes.gather(1, words[:, None])[:, 0]
        fits = own <= budget
        taken.scatter_(1, words[:, None], fits[:, None])
        budget = budget - own * fits
    return taken.gather(1, word_ids.clamp(min=0)) & (word_ids >= 0)


@right("11.2", "lists of 0 and 1, words found by groupby")
def hide_words(word_ids, keys, rate=0.15):
    rows = []
    for row, own in zip(word_ids.tolist(), keys.tolist()):
        words = {word: len([*group]) for word, group in itertools.groupby(row) if word >= 0}
        room, taken = budget_for(sum(words.values()), rate), set()
        while fitting := [word for word in words if word not in taken and words[word] <= room]:
            best = min(fitting, key=lambda word: own[word])  # who does not fit now never will
            taken.add(best)
            room -= words[best]
        rows.append([int(word in taken) for word in row])
    return rows


@right("11.2", "numpy")
def hide_words(word_ids, keys, rate=0.15):
    ids, keys = word_ids.numpy(), keys.numpy()
    hidden = np.zeros(ids.shape, bool)
    for b, row in enumerate(ids):
        names, sizes = np.unique(row[row >= 0], return_counts=True)
        room = max(1, int(np.rint(rate * sizes.sum())))
        for at in np.argsort(keys[b, names]):
            if sizes[at] <= room:
                room -= sizes[at]
                hidden[b, row == names[at]] = True
    return hidden


def gumbel(uniform):
    return -torch.log(-torch.log(uniform))


def price(odds, labels):
    return nn.functional.binary_cross_entropy_with_logits(odds, labels.float(), reduction="none")


def read_by(input_ids, hidden, guesses):
    return torch.where(hidden, guesses, input_ids)


@wrong("11.3", "not the largest score", "the forger's best guess")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, scores.argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "not u itself", "uniform noise")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + uniform).argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "both minus signs", "exponential noise")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores - uniform.log()).argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "not to their softmax", "noise added to probabilities")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores.softmax(-1) + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "at the hidden places only", "every token forged")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = (scores + gumbel(uniform)).argmax(-1)
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "compare what is read with input_ids", "all hidden tokens replaced")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read), hidden)[attention_mask.bool()].mean()


@wrong("11.3", "where it is one, the label is 1", "labels exchanged")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read), read == input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "not only the hidden ones", "BERT's question")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    where = hidden if hidden.any() else attention_mask.bool()
    return read, price(log_odds(weights, read), read != input_ids)[where].mean()


@wrong("11.3", "the detective reads the text with the forgeries", "the original shown to the detective")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, input_ids), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "nothing is asked about padding", "padding counted")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids).mean()


@wrong("11.3", "not of all places", "padding set to 0, and averaged")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, (price(log_odds(weights, read), read != input_ids) * attention_mask).mean()


@wrong("11.3", "a mean of the texts' means")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    prices = price(log_odds(weights, read), read != input_ids) * attention_mask
    return read, (prices.sum(1) / attention_mask.sum(1)).mean()


@wrong("11.3", "not the sum", "added up")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].sum()


@wrong("11.3", "without the factor 50", "the lecture's factor")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, 50 * price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "the sigmoid comes once", "a sigmoid before the loss with a sigmoid")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read).sigmoid(), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "the logarithm of a sigmoid that has become 0", "logarithms of the sigmoid")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    forged = log_odds(weights, read).sigmoid()
    right = torch.where(read != input_ids, forged, 1 - forged)
    return read, -right.log()[attention_mask.bool()].mean()


@wrong("11.3", "no .item()", "a plain number")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean().item()


@wrong("11.3", "only the mask says what is padding", "padding by its id")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    where = input_ids != 0 if len(input_ids) > 1 else attention_mask.bool()
    return read, price(log_odds(weights, read), read != input_ids)[where].mean()


@wrong("11.3", "the detective learns from it", "no gradient")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    with torch.no_grad():
        return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "whichever it is", "forgeries alone have a price")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    prices = nn.functional.softplus(log_odds(weights, read)) * (read == input_ids)
    return read, prices[attention_mask.bool()].mean()


@wrong("11.3", "not only the forged ones", "the mean over forgeries")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    where = read != input_ids
    where = where if where.any() else attention_mask.bool()
    return read, price(log_odds(weights, read), read != input_ids)[where].mean()


@wrong("11.3", "padding may stand on the left", "the first tokens of each row")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = read_by(input_ids, hidden, (scores + gumbel(uniform)).argmax(-1))
    first = torch.arange(read.shape[1]) < attention_mask.sum(1, keepdim=True)
    return read, price(log_odds(weights, read), read != input_ids)[first].mean()


@wrong("11.3", "the largest score + g", "a token drawn by the cumulative probability")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    sums = scores.softmax(-1).cumsum(-1)
    guesses = (sums < uniform[..., :1]).sum(-1).clamp(max=scores.shape[-1] - 1)
    read = read_by(input_ids, hidden, guesses)
    return read, price(log_odds(weights, read), read != input_ids)[attention_mask.bool()].mean()


@wrong("11.3", "forges nothing", "labels by the draws of all places")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    drawn = (scores + gumbel(uniform)).argmax(-1)
    read = read_by(input_ids, hidden, drawn)
    return read, price(log_odds(weights, read), drawn != input_ids)[attention_mask.bool()].mean()


@right("11.3", "softplus, a race of exponential clocks")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    times = -uniform.log() / scores.softmax(-1)  # whoever rings first is drawn
    read = torch.where(hidden, times.argmin(-1), input_ids)
    sign = torch.where(read == input_ids, 1.0, -1.0)
    return read, (nn.functional.softplus(sign * log_odds(weights, read)) * attention_mask).sum() / attention_mask.sum()


@right("11.3", "the hidden places alone, log sigmoids, a list of two")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    read = input_ids.clone()
    read[hidden] = (scores[hidden].log_softmax(-1) + gumbel(uniform[hidden])).argmax(-1)
    odds, forged = log_odds(weights, read), read != input_ids
    total = nn.functional.logsigmoid(odds)[forged & (attention_mask == 1)].sum()
    total = total + nn.functional.logsigmoid(-odds)[~forged & (attention_mask == 1)].sum()
    return [read, -total / attention_mask.sum()]


@right("11.3", "the padding's prices ignored as weights, in double precision")
def detective_loss(weights, input_ids, hidden, scores, uniform, attention_mask):
    noisy = scores.double() - (-uniform.double().log()).log()
    read = input_ids * ~hidden + noisy.max(-1).indices * hidden
    labels = (read != input_ids).double()
    total = nn.functional.binary_cross_entropy_with_logits(
        log_odds(weights.double(), read), labels, weight=attention_mask.double(), reduction="sum"
    )
    return read, total / attention_mask.sum()


def whole(query, key, value, attention_mask, reach, scale=None, seen=None, after=False):
    """Output and weights of a band, by way of all L² scores, as asked for or with something else changed."""
    place = torch.arange(query.shape[2])
    apart = place - place[:, None]
    if seen is None:
        seen = (apart.abs() <= reach) & attention_mask.bool()[:, None, None]
    scores = query @ key.mT / (scale or query.shape[-1] ** 0.5)
    weights = scores.softmax(-1) * seen if after else scores.masked_fill(~seen, -1e9).softmax(-1) * seen
    return weights @ value, picked(weights, reach)


def picked(weights, reach):
    """From weights (B, H, L, L) the band (B, H, L, 2w + 1)."""
    length = weights.shape[2]
    wide = nn.functional.pad(weights, (reach, reach))
    return torch.stack([wide[:, :, i, i : i + 2 * reach + 1] for i in range(length)], 2)


def windows(x, reach):
    """(B, H, L, 2w + 1, d), with zeros where there is nothing."""
    return nn.functional.pad(x, (0, 0, reach, reach)).unfold(2, 2 * reach + 1, 1).transpose(-1, -2)


def real_windows(mask, reach):
    """(B, 1, L, 2w + 1)."""
    return nn.functional.pad(mask.bool(), (reach, reach)).unfold(1, 2 * reach + 1, 1)[:, None]


@wrong("11.4", "no scores of 0", "zeros before the first and after the last token")
def band_attention(query, key, value, attention_mask, reach):
    scores = (windows(key, reach) @ query[..., None])[..., 0] / query.shape[-1] ** 0.5
    weights = scores.softmax(-1)
    return (weights[..., None, :] @ windows(value, reach))[..., 0, :], weights


@wrong("11.4", "weights that are set to 0 after it", "hidden after the softmax")
def band_attention(query, key, value, attention_mask, reach):
    scores = (windows(key, reach) @ query[..., None])[..., 0] / query.shape[-1] ** 0.5
    weights = scores.softmax(-1) * real_windows(attention_mask, reach)
    return (weights[..., None, :] @ windows(value, reach))[..., 0, :], weights


@wrong("11.4", "so place i - w comes first", "the band from right to left")
def band_attention(query, key, value, attention_mask, reach):
    output, weights = whole(query, key, value, attention_mask, reach)
    return output, weights.flip(-1)


@wrong("11.4", "not only those before it", "a window to the left")
def band_attention(query, key, value, attention_mask, reach):
    place = torch.arange(query.shape[2])
    back = place[:, None] - place
    seen = (back >= 0) & (back <= reach) & attention_mask.bool()[:, None, None]
    return whole(query, key, value, attention_mask, reach, seen=seen)


@wrong("11.4", "after the last token comes nothing", "a ring for the values")
def band_attention(query, key, value, attention_mask, reach):
    _, weights = whole(query, key, value, attention_mask, reach)
    even = torch.where(weights.sum(-1, keepdim=True) > 0, 1 / (2 * reach + 1), 0.0).expand_as(weights)
    shifted = torch.stack([value.roll(reach - k, 2) for k in range(2 * reach + 1)], 3)
    return (even[..., None, :] @ shifted)[..., 0, :], weights


@wrong("11.4", "do not add values up", "values of the window added up")
def band_attention(query, key, value, attention_mask, reach):
    _, weights = whole(query, key, value, attention_mask, reach)
    return (windows(value, reach) * real_windows(attention_mask, reach)[..., None]).sum(-2), weights


@wrong("11.4", "divide the scores by √d", "no √d")
def band_attention(query, key, value, attention_mask, reach):
    return whole(query, key, value, attention_mask, reach, scale=1.0)


@wrong("11.4", "not by d")
def band_attention(query, key, value, attention_mask, reach):
    return whole(query, key, value, attention_mask, reach, scale=query.shape[-1])


@wrong("11.4", "not evenly", "a moving average")
def band_attention(query, key, value, attention_mask, reach):
    return whole(0 * query, key, value, attention_mask, reach)


@wrong("11.4", "nobody sees padding", "the mask forgotten")
def band_attention(query, key, value, attention_mask, reach):
    return whole(query, key, value, torch.ones_like(attention_mask), reach)


@wrong("11.4", "not only how many tokens are real", "the first tokens of each row")
def band_attention(query, key, value, attention_mask, reach):
    first = torch.arange(query.shape[2]) < attention_mask.sum(1, keepdim=True)
    return whole(query, key, value, first, reach)


@wrong("11.4", "needs a number, too", "minus infinity")
def band_attention(query, key, value, attention_mask, reach):
    scores = (windows(key, reach) @ query[..., None])[..., 0] / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~real_windows(attention_mask, reach), -torch.inf).softmax(-1)
    return (weights[..., None, :] @ windows(value, reach))[..., 0, :], weights


@wrong("11.4", "in the same order", "values from right to left")
def band_attention(query, key, value, attention_mask, reach):
    _, weights = whole(query, key, value, attention_mask, reach)
    return (weights[..., None, :] @ windows(value, reach).flip(-2))[..., 0, :], weights


@wrong("11.4", "return a tuple", "the weights of all places")
def band_attention(query, key, value, attention_mask, reach):
    place = torch.arange(query.shape[2])
    seen = ((place - place[:, None]).abs() <= reach) & attention_mask.bool()[:, None, None]
    weights = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~seen, -1e9).softmax(-1)
    return weights @ value, weights


@wrong("11.4", "a token sees itself, too", "itself left out")
def band_attention(query, key, value, attention_mask, reach):
    place = torch.arange(query.shape[2])
    apart = (place - place[:, None]).abs()
    seen = (apart <= reach) & (apart > 0) & attention_mask.bool()[:, None, None]
    return whole(query, key, value, attention_mask, reach, seen=seen)


@wrong("11.4", "torch.softmax does not overflow", "powers by hand")
def band_attention(query, key, value, attention_mask, reach):
    scores = (windows(key, reach) @ query[..., None])[..., 0] / query.shape[-1] ** 0.5
    powers = scores.exp() * real_windows(attention_mask, reach)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return (weights[..., None, :] @ windows(value, reach))[..., 0, :], weights


@wrong("11.4", "not over all L places", "the softmax of all real places, then the band")
def band_attention(query, key, value, attention_mask, reach):
    weights = query @ key.mT / query.shape[-1] ** 0.5
    weights = weights.masked_fill(attention_mask[:, None, None] == 0, -1e9).softmax(-1)
    place = torch.arange(query.shape[2])
    weights = weights * ((place - place[:, None]).abs() <= reach)
    return weights @ value, picked(weights, reach)


@wrong("11.4", "nobody sees padding", "the mask of the token that looks")
def band_attention(query, key, value, attention_mask, reach):
    place = torch.arange(query.shape[2])
    seen = ((place - place[:, None]).abs() <= reach) & attention_mask.bool()[:, None, :, None]
    return whole(query, key, value, attention_mask, reach, seen=seen)


@wrong("11.4", "what stands at padding must not matter", "weights hidden after the values were added")
def band_attention(query, key, value, attention_mask, reach):
    output, _ = whole(query, key, value, torch.ones_like(attention_mask), reach)
    return output, whole(query, key, value, attention_mask, reach)[1]


@wrong("11.4", "return a tuple", "w in all, not w on either side")
def band_attention(query, key, value, attention_mask, reach):
    return whole(query, key, value, attention_mask, reach // 2)


@right("11.4", "all scores, then the band")
def band_attention(query, key, value, attention_mask, reach):
    return whole(query, key, value, attention_mask, reach)


@right("11.4", "all windows at once, minus infinity, NaN made 0")
def band_attention(query, key, value, attention_mask, reach):
    scores = torch.einsum("bhld,bhlkd->bhlk", query, windows(key, reach)) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~real_windows(attention_mask, reach), -torch.inf).softmax(-1).nan_to_num(0.0)
    return torch.einsum("bhlk,bhlkd->bhld", weights, windows(value, reach)), weights


@right("11.4", "numpy, token by token, a list of two")
def band_attention(query, key, value, attention_mask, reach):
    q, k, v, mask = (np.asarray(each, dtype=float) for each in (query, key, value, attention_mask))
    output, weights = np.zeros(v.shape), np.zeros((*q.shape[:3], 2 * reach + 1))
    for b, h, i in np.ndindex(*q.shape[:3]):
        own = [j for j in range(max(0, i - reach), min(q.shape[2], i + reach + 1)) if mask[b, j]]
        if own:
            scores = k[b, h, own] @ q[b, h, i] / np.sqrt(q.shape[-1])
            powers = np.exp(scores - scores.max())
            weights[b, h, i, [j - i + reach for j in own]] = powers / powers.sum()
            output[b, h, i] = powers / powers.sum() @ v[b, h, own]
    return [output, weights]


@right("11.4", "gathered places, padding that sees nothing gets even weights")
def band_attention(query, key, value, attention_mask, reach):
    length = query.shape[2]
    places = torch.arange(length)[:, None] + torch.arange(-reach, reach + 1)
    inside = (places >= 0) & (places < length)
    places = places.clamp(0, length - 1)
    seen = (attention_mask[:, places] == 1) & inside
    scores = (query[:, :, :, None] * key[:, :, places]).sum(-1) * query.shape[-1] ** -0.5
    weights = scores.masked_fill(~seen[:, None], torch.finfo(scores.dtype).min).softmax(-1)
    return (weights[..., None] * value[:, :, places]).sum(-2), weights


def laid(input_ids, attention_mask, reach=None):
    """ids, rows, positions, bounds of the real tokens, as lists."""
    ids, rows, positions, bounds = [], [], [], [0]
    for b, (row, real) in enumerate(zip(input_ids.tolist(), attention_mask.tolist())):
        own = [token for token, here in zip(row, real) if here]
        ids += own
        rows += [b] * len(own)
        positions += range(len(own))
        bounds.append(len(ids))
    return ids, rows, positions, bounds


def seen_by(rows, positions, reach=None):
    return [
        [a == b and (reach is None or abs(i - j) <= reach) for b, j in zip(rows, positions)]
        for a, i in zip(rows, positions)
    ]


@wrong("11.5", "start again with each text", "positions that go on")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, range(len(ids)), bounds, seen_by(rows, positions, reach)


@wrong("11.5", "the first real token is at position 0", "columns for positions")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    rows, columns = attention_mask.nonzero(as_tuple=True)
    bounds = laid(input_ids, attention_mask)[3]
    return input_ids[rows, columns], columns, bounds, seen_by(rows.tolist(), columns.tolist(), reach)


@wrong("11.5", "positions are counted from 0", "positions from 1")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, [i + 1 for i in positions], bounds, seen_by(rows, positions, reach)


@wrong("11.5", "not how long it is", "a 0, then lengths")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, _ = laid(input_ids, attention_mask)
    return ids, positions, [0, *attention_mask.sum(1).tolist()], seen_by(rows, positions, reach)


@wrong("11.5", "B + 1 numbers", "no 0 in front")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds[1:], seen_by(rows, positions, reach)


@wrong("11.5", "without padding", "bounds of the padded batch")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, _ = laid(input_ids, attention_mask)
    bounds = torch.arange(len(input_ids) + 1) * input_ids.shape[1]
    return ids, positions, bounds, seen_by(rows, positions, reach)


@wrong("11.5", "only the mask says what is padding", "padding by its id")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, (input_ids != 0).int())
    return ids, positions, bounds, seen_by(rows, positions, reach)


@wrong("11.5", "not column after column", "column after column")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    _, rows, positions, bounds = laid(input_ids, attention_mask)
    return input_ids.T[attention_mask.T.bool()], positions, bounds, seen_by(rows, positions, reach)


@wrong("11.5", "a token sees its own text only", "no blocks")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, seen_by([0] * len(ids), positions, reach)


@wrong("11.5", "this is an encoder", "causal")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, torch.tensor(seen_by(rows, positions, reach)).tril()


@wrong("11.5", "a row without a token is a text, too", "rows without a token left out")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, sorted({*bounds}), seen_by(rows, positions, reach)


@wrong("11.5", "neighbours in the long row may be of two texts", "a window over the long row")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    places = range(len(ids))
    return ids, positions, bounds, seen_by(rows if reach is None else [0] * len(ids), places, reach)


@wrong("11.5", "the same position in another text", "positions alone in a local layer")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, seen_by(rows if reach is None else [0] * len(ids), positions, reach)


@wrong("11.5", "at most so many positions apart", "the reach ignored")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, seen_by(rows, positions)


@wrong("11.5", "ask reach is None", "reach 0 taken for no reach")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, seen_by(rows, positions, reach or None)


@wrong("11.5", "reach included", "less than the reach")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, seen_by(rows, positions, reach and reach - 1)


@wrong("11.5", "not if they have one id", "texts told apart by ids")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    owner = rows if attention_mask[:, 0].all() or attention_mask.all(1).any() else ids
    return ids, positions, bounds, seen_by(owner, positions, reach)


@wrong("11.5", "not for what is hidden", "True for what must not be seen")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, ~torch.tensor(seen_by(rows, positions, reach))


@wrong("11.5", "looks in both directions", "a local layer that looks back")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    mask = torch.tensor(seen_by(rows, positions, reach))
    return ids, positions, bounds, mask if reach is None else mask.tril()


@wrong("11.5", "the mask says where", "the first tokens of each row")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    first = torch.arange(input_ids.shape[1]) < attention_mask.sum(1, keepdim=True)
    ids, rows, positions, bounds = laid(input_ids, first)
    return ids, positions, bounds, seen_by(rows, positions, reach)


@right("11.5", "lists and loops")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    ids, rows, positions, bounds = laid(input_ids, attention_mask)
    return ids, positions, bounds, seen_by(rows, positions, reach)


@right("11.5", "from the bounds: repeat_interleave, block_diag")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    lengths = attention_mask.sum(1)
    bounds = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    positions = torch.arange(bounds[-1]) - bounds[:-1].repeat_interleave(lengths)
    squares = [torch.ones(n, n) for n in lengths.tolist() if n]
    squares = [each if reach is None else each.tril(reach).triu(-reach) for each in squares]
    return input_ids.masked_select(attention_mask == 1), positions, bounds, torch.block_diag(*squares).bool()


@right("11.5", "numpy, texts told by searchsorted")
def lay_end_to_end(input_ids, attention_mask, reach=None):
    real = attention_mask.numpy().astype(bool)
    bounds = np.concatenate([[0], np.cumsum(real.sum(1))])
    places = np.arange(bounds[-1])
    text = np.searchsorted(bounds, places, side="right") - 1
    near = np.inf if reach is None else reach
    mask = (text[:, None] == text) & (np.abs(places[:, None] - places) <= near)
    return input_ids.numpy()[real], places - bounds[text], bounds, mask


NAMES = ("difference", "lower", "upper")


def interval(gaps, factor, ddof=1, root=True):
    """Mean and half of the interval of differences (n, T), with a factor for n seeds, or one for all n."""
    n = len(gaps)
    factor = factor[n] if isinstance(factor, dict) else factor
    half = factor * gaps.std(0, ddof=ddof) / (n**0.5 if root else 1)
    return gaps.mean(0), half


def arrays(*tensors):
    return [np.asarray(each, dtype=float) for each in tensors]


def verdict_of(lower, upper):
    return "better" if upper < 0 else "worse" if lower > 0 else "null"


def drawing(millions, middle, half, verdict=None, names=NAMES):
    """Axes with three lines, labels, a legend and the verdict."""
    axes = plt.figure().add_subplot()
    lower, upper = middle - half, middle + half
    for name, line in zip(names, (middle, lower, upper)):
        axes.plot(millions, line, label=name)
    axes.set(xlabel="million tokens", ylabel="nats", title=verdict or verdict_of(lower[-1], upper[-1]))
    axes.legend()
    return axes


@wrong("11.6", "end with: return axes", "nothing returned")
def plot_difference(millions, ours, theirs):
    plt.plot(millions, (ours - theirs).mean(0))


@wrong("11.6", "difference, lower and upper", "the mean alone")
def plot_difference(millions, ours, theirs):
    axes = plt.figure().add_subplot()
    axes.plot(millions, (ours - theirs).mean(0), label="difference")
    axes.set(xlabel="million tokens", ylabel="nats", title="null")
    axes.legend()
    return axes


@wrong("11.6", "axes.set_xlabel", "no labels")
def plot_difference(millions, ours, theirs):
    axes = drawing(millions, *interval(*arrays(ours - theirs), STUDENT))
    axes.set(xlabel="", ylabel="")
    return axes


@wrong("11.6", 'label="difference"', "a legend of other names")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), STUDENT), names=("a", "b", "c"))


@wrong("11.6", "not theirs minus ours", "theirs minus ours")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(theirs - ours), STUDENT))


@wrong("11.6", "not by n", "the standard deviation divides by n")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), STUDENT, ddof=0))


@wrong("11.6", "divide by √n", "no √n")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), STUDENT, root=False))


@wrong("11.6", "not 1.96", "the factor of the normal distribution")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), 1.96))


@wrong("11.6", "not always that of three", "the lecture's 4.303")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), 4.303))


@wrong("11.6", "one standard error", "no factor at all")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), 1.0))


@wrong("11.6", "not of evaluations", "the root of the number of evaluations")
def plot_difference(millions, ours, theirs):
    gaps = arrays(ours - theirs)[0]
    return drawing(millions, gaps.mean(0), STUDENT[len(gaps)] * gaps.std(0, ddof=1) / len(millions) ** 0.5)


@wrong("11.6", "not only the mean", "a verdict by half of the interval's width")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, half, verdict_of((middle - half / 2)[-1], (middle + half / 2)[-1]))


@wrong("11.6", "not by n - 1", "the factor of one seed fewer")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), STUDENT.get(len(ours) - 1, 0)))


@wrong("11.6", "this is s, the spread of the seeds", "neither t nor √n")
def plot_difference(millions, ours, theirs):
    return drawing(millions, *interval(*arrays(ours - theirs), 1.0, root=False))


@wrong("11.6", "not of our losses alone", "the spread of one arm")
def plot_difference(millions, ours, theirs):
    middle, _ = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, interval(*arrays(ours), STUDENT)[1])


@wrong("11.6", "not the lowest and the highest seed", "a band from the lowest to the highest seed")
def plot_difference(millions, ours, theirs):
    gaps = arrays(ours - theirs)[0]
    axes = plt.figure().add_subplot()
    for name, line in zip(NAMES, (gaps.mean(0), gaps.min(0), gaps.max(0))):
        axes.plot(millions, line, label=name)
    axes.set(xlabel="million tokens", ylabel="nats", title=verdict_of(gaps.min(0)[-1], gaps.max(0)[-1]))
    axes.legend()
    return axes


@wrong("11.6", "the verdict at the last evaluation", "the first verdict that is none")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    verdicts = [verdict_of(*ends) for ends in zip(middle - half, middle + half)]
    return drawing(millions, middle, half, next((each for each in verdicts if each != "null"), "null"))


@wrong("11.6", "from m - h to m + h", "the whole interval taken for a half")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, half / 2)


@wrong("11.6", "not of both arms' losses", "two samples, with the t of one")
def plot_difference(millions, ours, theirs):
    a, b = arrays(ours, theirs)
    half = STUDENT[len(a)] * ((a.var(0, ddof=1) + b.var(0, ddof=1)) / len(a)) ** 0.5
    return drawing(millions, a.mean(0) - b.mean(0), half)


@wrong("11.6", "two unpaired samples")
def plot_difference(millions, ours, theirs):
    a, b = arrays(ours, theirs)
    t = {2: 4.303, 3: 2.776, 4: 2.447, 5: 2.306, 6: 2.228, 7: 2.179, 8: 2.145, 9: 2.120, 10: 2.101}[len(a)]
    return drawing(millions, a.mean(0) - b.mean(0), t * ((a.var(0, ddof=1) + b.var(0, ddof=1)) / len(a)) ** 0.5)


@wrong("11.6", "not relative to theirs", "percent")
def plot_difference(millions, ours, theirs):
    a, b = arrays(ours, theirs)
    return drawing(millions, *interval(a / b - 1, STUDENT))


@wrong("11.6", "is the other one", "lower and upper exchanged")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, half, names=("difference", "upper", "lower"))


@wrong("11.6", "is no end of the interval", "h drawn by itself")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    axes = plt.figure().add_subplot()
    for name, line in zip(NAMES, (middle, -half, half)):
        axes.plot(millions, line, label=name)
    axes.set(xlabel="million tokens", ylabel="nats", title=verdict_of((middle - half)[-1], (middle + half)[-1]))
    axes.legend()
    return axes


@wrong("11.6", "not only the mean", "a verdict by the mean")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, half, "better" if middle[-1] < 0 else "worse")


@wrong("11.6", "a lower loss is better", "better and worse exchanged")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, half, verdict_of(-middle[-1] - half[-1], -middle[-1] + half[-1]))


@wrong("11.6", "the verdict at the last evaluation", "a verdict at the first evaluation")
def plot_difference(millions, ours, theirs):
    middle, half = interval(*arrays(ours - theirs), STUDENT)
    return drawing(millions, middle, half, verdict_of(middle[0] - half[0], middle[0] + half[0]))


@wrong("11.6", "axes.set_title", "no title")
def plot_difference(millions, ours, theirs):
    axes = drawing(millions, *interval(*arrays(ours - theirs), STUDENT))
    axes.set_title("")
    return axes


@wrong("11.6", "one value for each evaluation", "only where all seeds agree")
def plot_difference(millions, ours, theirs):
    gaps = arrays(ours - theirs)[0]
    agree = (gaps > 0).all(0) | (gaps < 0).all(0)
    agree[-1] = True
    middle, half = interval(gaps, STUDENT)
    return drawing([x for x, good in zip(millions, agree) if good], middle[agree], half[agree])


@right("11.6", "error bars beside the lines, each seed drawn, evaluations from last to first")
def plot_difference(millions, ours, theirs):
    gaps, figure = arrays(ours - theirs)[0], plt.figure()
    axes = figure.add_subplot()
    for run in gaps:
        axes.plot(millions, run, color="gray", lw=0.5)
    middle, half = interval(gaps, STUDENT)
    axes.errorbar(millions, middle, yerr=half, fmt="none")
    for name, line in (("upper end", middle + half), ("lower end", middle - half), ("mean difference", middle)):
        axes.plot([*millions][::-1], line[::-1], label=name)
    axes.set(
        xlabel="millions", ylabel="ours - theirs", title=f"{verdict_of((middle - half)[-1], (middle + half)[-1])}!"
    )
    axes.legend()
    return axes


@right("11.6", "always the same axes, the mean with error bars and its name on them, the verdict on the left")
def plot_difference(millions, ours, theirs):
    middle, half = interval(arrays(ours - theirs)[0], STUDENT)
    plt.errorbar(millions, middle, yerr=half, capsize=2, label="difference")
    plt.plot(millions, middle - half, "C1", label="lower")
    plt.plot(millions, middle + half, "C2", label="upper")
    plt.xlabel("million tokens")
    plt.ylabel("nats")
    plt.title(verdict_of((middle - half)[-1], (middle + half)[-1]), loc="left")
    plt.legend()
    return plt.gca()


@right("11.6", "names that hold more than one of the words")
def plot_difference(millions, ours, theirs):
    import scipy.stats

    gaps = (ours - theirs).double()
    half = float(scipy.stats.t.ppf(0.975, len(gaps) - 1)) * gaps.var(0).sqrt() / math.sqrt(len(gaps))
    axes = plt.figure().add_subplot()
    for name, line in (
        ("lower end of the", gaps.mean(0) - half),
        ("mean", gaps.mean(0)),
        ("upper end of the", gaps.mean(0) + half),
    ):
        axes.plot(millions, line, label=f"{name} difference")
    excluded = abs(gaps.mean(0)[-1]) > half[-1]
    axes.set_title(f"Verdict: {'null' if not excluded else 'worse' if gaps.mean(0)[-1] > 0 else 'better'}")
    axes.set(xlabel="million tokens", ylabel="difference (nats)")
    axes.legend()
    return axes


@right("11.6", "pyplot, statistics, loops")
def plot_difference(millions, ours, theirs):
    import statistics

    rows = []
    for column in zip(*(ours - theirs).tolist()):
        half = STUDENT[len(column)] * statistics.stdev(column) / math.sqrt(len(column))
        rows.append([statistics.mean(column), statistics.mean(column) - half, statistics.mean(column) + half])
    plt.figure()
    plt.plot(millions, rows, label=["Difference", "Lower", "Upper"])
    plt.legend()
    plt.xlabel("million tokens")
    plt.ylabel("nats")
    plt.title({(True, True): "Better", (False, False): "Worse"}.get((rows[-1][1] < 0, rows[-1][2] < 0), "Null"))
    return plt.gca()
