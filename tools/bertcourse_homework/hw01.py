"""Homework 1: self-attention."""

import math

import torch

from bertcourse_homework.drawing import Drawing, no_new_figures
from bertcourse_homework.engine import Answer, exercise, random


def is_close(a: torch.Tensor, b: torch.Tensor | float) -> torch.Tensor:
    """Whether elements are equal, up to 1e-4."""
    return (a - b).abs() <= 1e-4


@exercise("1.1", "softmax", points=3)
def softmax(answer: Answer) -> None:
    """Probabilities over the last axis, for any scores."""
    scores = torch.tensor([[0.0, math.log(2), math.log(5)], [1.0, 1.0, 1.0]])
    weights = answer(scores).has_shape(2, 3, cause="a weight for each score: the axis that is summed over must stay")
    weights.holds(
        "all weights are between 0 and 1", lambda w: (w >= 0) & (w <= 1), "exponentiate, then divide by the sum"
    )
    weights.holds("each row sums to 1", lambda w: is_close(w.sum(-1), 1.0), "is the softmax over the last axis?")
    weights.equals(
        [[0.125, 0.25, 0.625], [1 / 3, 1 / 3, 1 / 3]], "the weight of a score s is exp(s) over the sum of all exp"
    )
    large = answer(torch.tensor([[1000.0, 1000.0, 0.0], [950.0, 950.0, 0.0]])).has_shape(2, 3)
    cause = "exp(1000) is infinite: subtract the largest score of each row first"
    large.holds("no weight is NaN", lambda w: ~torch.isnan(w), cause).equals([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], cause)
    rows = torch.tensor([[0.0, 0.0], [-2000.0, -2000.0], [3000.0, 3000.0]])
    answer(rows).equals(
        [[0.5, 0.5]] * 3, "one row's scores must not touch another's: subtract each row's own largest score"
    )
    answer(torch.tensor([[2000.0, 2001.0], [-2001.0, -2000.0]])).equals(
        [[0.268941, 0.731059]] * 2,
        "only the difference of two scores counts, however large they are: subtract the largest, do not cut scores off",
    )
    hidden = answer(torch.tensor([[0.0, -math.inf, 0.0]]))
    hidden.equals([[0.5, 0.0, 0.5]], "a score of minus infinity means: weight 0")
    batch = answer(random(2, 3, 4, 5, seed=1)).has_shape(2, 3, 4, 5, cause="a weight for each score")
    batch.equals_stored("four axes", "does it work for any number of axes before the last one?")
    answer(torch.tensor([0.0, math.log(3)])).equals([0.25, 0.75], "one row, of shape (n,), is allowed: use axis -1")


@exercise("1.2", "join_halves", points=4)
def join_halves(answer: Answer) -> None:
    """Attention over all keys, from the outputs and log-sums of two halves."""
    output_a = torch.tensor([[4.0, 0.0], [1.0, 1.0], [0.0, 8.0]])
    output_b = torch.tensor([[0.0, 4.0], [3.0, 5.0], [4.0, 0.0]])
    log_a, log_b = torch.tensor([6.0, 2.0, 2.0]).log(), torch.tensor([2.0, 2.0, 14.0]).log()
    output, log = torch.tensor([[3.0, 1.0], [2.0, 3.0], [3.5, 1.0]]), torch.tensor([8.0, 4.0, 16.0]).log()
    both = answer(output_a, log_a, output_b, log_b)
    both[0].has_shape(3, 2, cause="return (output, log_sum): first a row for each query, as long as a value").equals(
        output,
        "each half counts by its share of the sum of all exp(score), and exp(log-sum) is the sum of one half",
        mistakes={
            "the halves do not count alike: each counts by its share of exp(log-sum)": (output_a + output_b) / 2,
            "outputs are averages: weigh them with shares that sum to 1, do not add them": output_a + output_b,
            "the shares are exchanged: the half with the larger log-sum counts more": output_a + output_b - output,
            "the shares are those of exp(log-sum), not of the log-sums themselves": (
                (log_a[:, None] * output_a + log_b[:, None] * output_b) / (log_a + log_b)[:, None]
            ),
            "outputs are averages: divide by the sum of both halves": 8 * output * torch.tensor([[1.0], [0.5], [2.0]]),
        },
    )
    both[1].has_shape(3, cause="the log-sum is one number for each query").equals(
        log,
        "the log-sum over all keys is the logarithm of exp(log_a) + exp(log_b)",
        mistakes={
            "sums add up, their logarithms do not: ln(exp(log_a) + exp(log_b))": log_a + log_b,
            "this is the sum: take its logarithm": log.exp(),
            "the logarithm of a sum is larger than the larger logarithm": torch.maximum(log_a, log_b),
        },
    )
    cause = "exp(1000) is infinite and exp(-1000) is 0: subtract the larger of the two log-sums first"
    for shift in (1000.0, -1000.0):
        large = answer(output_a, log_a + shift, output_b, log_b + shift)
        large[0].holds("no number is NaN", lambda o: ~torch.isnan(torch.as_tensor(o)), cause).equals(output, cause)
        large[1].equals(log + shift, cause, tolerance=1e-6)
    empty, nothing = torch.full((3, 2), math.nan), torch.full((3,), -math.inf)
    cause = "a half without a key that the query may see does not count, and 0 times NaN is NaN: see torch.where"
    for there in ((output_a, log_a, empty, nothing), (empty, nothing, output_a, log_a)):
        one = answer(*there)
        one[0].equals(output_a, cause)
        one[1].equals(log_a, "with a log-sum of minus infinity on one side, that of the other side is left")
    some_b, some_log = output_b.clone(), log_b.clone()
    some_b[1], some_log[1] = math.nan, -math.inf
    some = answer(output_a, log_a, some_b, some_log)
    some[0].equals([[3.0, 1.0], [1.0, 1.0], [3.5, 1.0]], "each query has its own two log-sums, and its own shares")
    query, key, value = (random(2, 3, n, size, seed=n) for n, size in ((4, 9), (10, 9), (11, 5)))
    scores, value = query @ key.mT / 3, value[..., 1:, :]
    halves = []
    for part in (slice(0, 7), slice(7, 10)):
        halves += [torch.softmax(scores[..., part], -1) @ value[..., part, :], scores[..., part].logsumexp(-1)]
    heads = answer(*halves)
    axes = "only the last axis is new: any number of axes (batch, heads) may stand in front"
    heads[0].has_shape(2, 3, 4, 5, cause=axes).equals(torch.softmax(scores, -1) @ value, axes)
    heads[1].has_shape(2, 3, 4, cause=axes).equals(scores.logsumexp(-1), axes)


@exercise("1.3", "window_mask", points=2)
def window_mask(answer: Answer) -> None:
    """Which words are at most a given number of places away."""
    mask = answer(5, 1).has_shape(5, 5, cause="a row for each word that looks, a column for each that is seen")
    mask.holds(
        "all entries are True or False",
        lambda m: m.dtype == torch.bool,
        "compare, and return what the comparison gives",
    )
    far = torch.arange(5)[:, None] - torch.arange(5)
    sides = "left and right count alike: take the absolute distance |i - j|"
    mask.equals(
        far.abs() <= 1,
        "True where |i - j| is at most the radius, and nowhere else",
        mistakes={
            "True means: may attend; this is True for all others": far.abs() > 1,
            "a word's distance from itself is 0, which is at most any radius": far.abs() == 1,
            "at most the radius: <=, not <": far == 0,
            sides: far <= 1,
            f"{sides}, of words to the right, too": (far >= 0) & (far <= 1),
            f"{sides}, of words to the left, too": (far <= 0) & (far >= -1),
            f"{sides}; this is j - i": far >= -1,
            "the first word and the last are not neighbours: a sentence is no circle": (far + 1) % 5 <= 2,
            "the radius is to either side, not twice that": far.abs() <= 2,
        },
    )
    answer(3, 0).equals([[i == j for j in range(3)] for i in range(3)], "with radius 0 each word sees itself alone")
    answer(4, 9).equals([[True] * 4] * 4, "a radius larger than the sentence is no error: everyone sees all")


@exercise("1.4", "relative_bias", points=3)
def relative_bias(answer: Answer) -> None:
    """A learned number for each distance, clipped."""
    table = torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0])
    square = "a row for each query, a column for each key: n is the second argument, not the table's length"
    bias = answer(table, 3).has_shape(3, 3, cause=square)
    bias.holds(
        "the diagonal has the table's middle",
        lambda b: b.diagonal() == 30.0,
        "distance 0 is entry k of a table of 2k + 1",
    )
    bias.holds(
        "all words one to the right have the same bias", lambda b: b.diagonal(1) == b[0, 1], "it depends on j - i alone"
    )
    bias.equals(
        [[30.0, 40.0, 50.0], [20.0, 30.0, 40.0], [10.0, 20.0, 30.0]],
        "entry (i, j) is number j - i + k of the table, counted from 0",
        mistakes={
            "the distance is j - i: a key to the right of the query is positive": [
                [30.0, 20.0, 10.0],
                [40.0, 30.0, 20.0],
                [50.0, 40.0, 30.0],
            ],
            "the distance has a sign: j - i, not |j - i|": [[30.0, 40.0, 50.0], [40.0, 30.0, 40.0], [50.0, 40.0, 30.0]],
        },
    )
    far = answer(table, 5).has_shape(5, 5, cause=square)
    far.holds(
        "the ends of the table are for all that is farther",
        lambda b: (b[0, 2:] == 50.0) & (b[2:, 0] == 10.0),
        "clip distances to -k … k first",
    )
    far.equals_stored("five words", "clip distances to -k … k, and change nothing between")
    answer(torch.tensor([7.0]), 2).equals([[7.0, 7.0], [7.0, 7.0]], "k may be 0: then all distances are alike")
    answer(random(9, seed=5), 12).has_shape(12, 12, cause=square).equals_stored(
        "twelve words", "k is half of the table's length, rounded down: 4 for a table of 9"
    )


@exercise("1.5", "entropy", points=3)
def entropy(answer: Answer) -> None:
    """How spread out each row of weights is."""
    rows = [[0.25, 0.25, 0.25, 0.25], [0.5, 0.25, 0.125, 0.125], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    values = answer(torch.tensor([*rows, [0.25, 0.0, 0.5, 0.25]])).has_shape(
        5, cause="one number for each row: sum over the last axis"
    )
    values.holds(
        "no entropy is NaN",
        lambda h: ~torch.isnan(h),
        "0 · log 0 is 0 here, but NaN to a computer: leave the zeros out, or put ones in their place inside the "
        "logarithm",
    )
    values.holds("no entropy is negative", lambda h: h > -1e-3, "it is minus the sum of p log p")
    bits = torch.tensor([2.0, 1.75, 1.0, 0.0, 1.5])
    nats = math.log(2) * bits
    values.equals(
        nats,
        "minus the sum of p · ln p",
        mistakes={
            "these are bits: take the natural logarithm, for nats": bits,
            "take the natural logarithm, not that of base 10": nats / math.log(10),
            "the sum over the keys, not the mean": nats / 4,
            "do not divide by ln n: uniform weights have ln n": bits / 2,
        },
    )
    axes = answer(torch.softmax(random(2, 3, 7, seed=6), -1))
    each = "one number for each row of weights: sum over the last axis, whatever comes before it"
    axes.has_shape(2, 3, cause=each).equals_stored("three axes", each)
    answer(torch.softmax(4 * random(2, 40, seed=7), -1)).equals_stored(
        "sharp rows",
        "small weights count, too: leave out only what is exactly 0, and add nothing to the others in the logarithm",
    )


DIMS = [4, 16, 64, 256]
NAMES = "divided", "not divided"
DIVIDED, PLAIN = [3.03, 3.02, 3.01, 3.01], [2.27, 1.14, 0.50, 0.23]  # mean entropies in nats, over 300 experiments
CHANCE = [0.40, 0.22, 0.14, 0.11, 0.82, 0.44, 0.24, 0.17]  # seven standard deviations of one experiment
OTHERS = {  # the results of known mistakes
    "the lines have each other's names": (PLAIN, DIVIDED),
    "divide by the square root of d, not by d": ([3.35, 3.44, 3.46, 3.46], PLAIN),
    "divide by the square root of d, do not multiply": ([1.30, 0.24, 0.06, 0.01], PLAIN),
    "one of the lines is of the same scores, not divided": (DIVIDED, DIVIDED),
    "one of the lines is of the same scores, divided by √d": (PLAIN, PLAIN),
    "draw from a normal distribution, with torch.randn": ([3.45] * 4, [3.41, 3.26, 2.71, 1.64]),
    "200 queries and 32 keys, and the softmax over the keys": ([4.82, 4.81, 4.81, 4.81], [3.75, 1.81, 0.72, 0.32]),
    "the mean of the 200 entropies, not the entropy of the mean weights": (
        [3.43, 3.45, 3.46, 3.46],
        [3.26, 3.28, 3.36, 3.39],
    ),
    "in nats, which are of the natural logarithm": ([4.37, 4.36, 4.35, 4.35], [3.27, 1.64, 0.72, 0.33]),
    "the mean of the 200 entropies, not their sum": ([606.0, 604.0, 603.0, 603.0], [454.0, 228.0, 100.0, 46.0]),
}


def line_called(drawn: Drawing, name: str, dims: list[int]) -> list[float]:
    """The values over ``dims`` of the line "divided" or "not divided", whose name may contain further words."""
    for line in drawn.lines:
        label = line.label.lower()
        if list(line.xs) == dims and name in label and ("not" in label) == ("not" in name):
            return list(line.ys)
    return []


def lines_over(drawn: Drawing, dims: list[int]) -> set[tuple[float, ...]]:
    """The values of all lines over ``dims``; those of two calls if both draw on the same axes."""
    return {line.ys for line in drawn.lines if list(line.xs) == dims}


@exercise("1.6", "plot_entropy", points=3)
def plot_entropy(answer: Answer) -> None:
    """The student's own figure: entropy against d, with and without the root."""
    drawn = answer(DIMS)
    drawn.is_plot(2, "one with scores divided by √d, and one without", DIMS, "d", "axes.plot(dims, entropies)")
    drawn.holds(
        'the legend calls the lines "divided" and "not divided"',
        lambda axes: all(line_called(axes, name, DIMS) for name in NAMES),
        'axes.plot(…, label="divided") and axes.plot(…, label="not divided"), then axes.legend()',
    )
    found = [y for name in NAMES for y in line_called(drawn.value, name, DIMS)]

    def farthest(lines: tuple[list[float], list[float]]) -> float:
        """The largest distance of the figure from two given lines, relative to their height."""
        return max(abs(a - b) / max(b, 1) for a, b in zip(found, lines[0] + lines[1]))

    likely = min(OTHERS, key=lambda cause: farthest(OTHERS[cause]))
    if not farthest(OTHERS[likely]) < 0.6:
        likely = "entropies in nats of a softmax over 32 keys, the mean over 200 queries; normal numbers for both"
    drawn.holds(
        "the entropies are about 3.03, 3.02, 3.01, 3.01 divided, and 2.27, 1.14, 0.50, 0.23 not divided",
        lambda axes: all(abs(a - b) <= most for a, b, most in zip(found, DIVIDED + PLAIN, CHANCE)),
        likely,
    )
    with no_new_figures():
        answer(DIMS).holds(
            "the same call draws the same lines",
            lambda axes: lines_over(axes, DIMS) == lines_over(drawn.value, DIMS),
            "set a seed in the function: torch.Generator().manual_seed(0), or torch.manual_seed(0)",
        )
        answer([8, 128]).holds(
            "lines have a point for each d of [8, 128]",
            lambda axes: all(line_called(axes, name, [8, 128]) for name in NAMES),
            "take the numbers of dimensions from dims",
        )
