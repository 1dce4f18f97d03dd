"""Homework 1: self-attention."""

import math

import torch

from bertcourse.checks.drawing import Drawing
from bertcourse.checks.engine import Answer, exercise, random


def is_close(a: torch.Tensor, b: torch.Tensor | float) -> torch.Tensor:
    """Elementwise, up to 1e-4."""
    return (a - b).abs() <= 1e-4


@exercise("1.1", "softmax", points=3)
def softmax(answer: Answer) -> None:
    """Probabilities over the last axis, of any scores."""
    scores = torch.tensor([[0.0, math.log(2), math.log(5)], [1.0, 1.0, 1.0]])
    weights = answer(scores).has_shape(2, 3, cause="a weight for each score: the axis that is summed over must stay")
    weights.holds(
        "all weights are between 0 and 1", lambda w: (w >= 0) & (w <= 1), "exponentiate, then divide by the sum"
    )
    weights.holds("each row sums to 1", lambda w: is_close(w.sum(-1), 1.0), "is the softmax over the last axis?")
    weights.equals(
        [[0.125, 0.25, 0.625], [1 / 3, 1 / 3, 1 / 3]], "the weight of a score s is exp(s) over the sum of all exp"
    )
    large = answer(torch.tensor([[1000.0, 1000.0, 0.0], [950.0, 950.0, 0.0]]))
    cause = "exp(1000) is infinite: subtract the largest score of each row first"
    large.holds("no weight is NaN", lambda w: ~torch.isnan(w), cause).equals([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], cause)
    rows = torch.tensor([[0.0, 0.0], [-2000.0, -2000.0], [3000.0, 3000.0]])
    answer(rows).equals(
        [[0.5, 0.5]] * 3, "one row's scores must not touch another's: subtract each row's own largest score"
    )
    hidden = answer(torch.tensor([[0.0, -math.inf, 0.0]]))
    hidden.equals([[0.5, 0.0, 0.5]], "a score of minus infinity means: weight 0")
    batch = answer(random(2, 3, 4, 5, seed=1)).has_shape(2, 3, 4, 5)
    batch.equals_stored("four axes", "does it work for any number of axes before the last one?")


@exercise("1.2", "attention", points=4)
def attention(answer: Answer) -> None:
    """Scaled dot products, a mask before the softmax, an average of values."""
    query = torch.tensor([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]) * math.log(2) / math.sqrt(2)
    value = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    both = answer(query, key, value)
    weights = both[1].has_shape(3, 4, cause="return (output, weights), one row of weights a query")
    weights.holds(
        "each query's weights sum to 1",
        lambda w: is_close(w.sum(-1), 1.0),
        "is the softmax over the keys, the last axis?",
    )
    r = 2 ** math.sqrt(2)
    undivided = [[r / (2 * r + 2), 1 / (2 * r + 2)] * 2, [1 / (2 * r + 2), *[r / (2 * r + 2)] * 2, 1 / (2 * r + 2)]]
    undivided.append([r / (2 * r + r * r + 1)] * 2 + [r * r / (2 * r + r * r + 1), 1 / (2 * r + r * r + 1)])
    weights.equals(
        [[1 / 3, 1 / 6, 1 / 3, 1 / 6], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [2 / 9, 2 / 9, 4 / 9, 1 / 9]],
        "scores are dot products of queries and keys, divided by the square root of d, the number of dimensions of "
        "a key (2 here)",
        mistakes={"divide the scores by the square root of d, the number of dimensions of a key": undivided},
    )
    both[0].has_shape(3, 3, cause="the output has a row for each query, as long as a value").equals(
        [[1 / 2, 1 / 3, 1 / 2], [1 / 3, 1 / 2, 1 / 2], [1 / 3, 1 / 3, 5 / 9]],
        "the output is the weighted average of the values: weights @ value",
    )
    mask = torch.tensor([[True, False, False, True], [True, True, False, False], [False, False, True, False]])
    masked = answer(query, key, value, mask)[1]
    masked.holds(
        "hidden keys have weight 0",
        lambda w: ~((w != 0) & ~mask),
        "True means: may attend. Give the others a score of minus infinity",
    )
    masked.holds(
        "the weights of what is left sum to 1",
        lambda w: is_close(w.sum(-1), 1.0),
        "hide before the softmax, not after: the scores, not the weights",
    )
    masked.equals([[2 / 3, 0, 0, 1 / 3], [1 / 3, 2 / 3, 0, 0], [0, 0, 1, 0]], "the mask decides for each query and key")
    q, k, v = (random(2, 3, length, size, seed=seed) for seed, length, size in ((2, 4, 16), (3, 5, 16), (4, 5, 6)))
    large = answer(q, k, v)
    large[0].has_shape(2, 3, 4, 6, cause="only the last two axes take part: key.transpose(-2, -1)").equals_stored(
        "output of heads"
    )
    padding = torch.tensor([[True, True, True, False, False], [True, True, True, True, True]])[:, None, None, :]
    answer(q, k, v, padding)[0].equals_stored(
        "output with padding", "a mask of shape (2, 1, 1, 5) is broadcast to the scores"
    )


@exercise("1.3", "window_mask", points=2)
def window_mask(answer: Answer) -> None:
    """Who is at most so many places away."""
    mask = answer(5, 1).has_shape(5, 5)
    mask.holds(
        "all entries are True or False",
        lambda m: m.dtype == torch.bool,
        "compare, and return what the comparison gives",
    )
    mask.holds(
        "each word sees itself",
        lambda m: m.diagonal(),
        "a word's distance from itself is 0, which is at most any radius",
    )
    mask.holds(
        "j sees i if i sees j", lambda m: m == m.T, "left and right count alike: take the absolute distance |i - j|"
    )
    mask.holds("neighbours see each other", lambda m: m.diagonal(1), "at most the radius: <=, not <")
    band = [[abs(i - j) <= 1 for j in range(5)] for i in range(5)]
    mask.equals(band, "True where |i - j| is at most the radius, and nowhere else")
    answer(3, 0).equals([[i == j for j in range(3)] for i in range(3)], "with radius 0 each word sees itself alone")
    answer(4, 9).equals([[True] * 4] * 4, "a radius larger than the sentence is no error: everyone sees all")


@exercise("1.4", "relative_bias", points=3)
def relative_bias(answer: Answer) -> None:
    """A learned number for each distance, clipped."""
    table = torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0])
    bias = answer(table, 3).has_shape(3, 3)
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
        mistakes={
            "the distance is j - i: a key to the right of the query is positive": [
                [30.0, 20.0, 10.0],
                [40.0, 30.0, 20.0],
                [50.0, 40.0, 30.0],
            ]
        },
    )
    far = answer(table, 5).has_shape(5, 5)
    far.holds(
        "the ends of the table are for all that is farther",
        lambda b: (b[0, 2:] == 50.0) & (b[4, 0] == 10.0),
        "clip distances to -k … k first",
    )
    far.equals_stored("five words")
    answer(torch.tensor([7.0]), 2).equals([[7.0, 7.0], [7.0, 7.0]], "k may be 0: then all distances are alike")
    answer(random(9, seed=5), 12).equals_stored("twelve words")


@exercise("1.5", "entropy", points=3)
def entropy(answer: Answer) -> None:
    """How undecided each row of weights is."""
    weights = torch.tensor(
        [[0.25, 0.25, 0.25, 0.25], [0.5, 0.25, 0.125, 0.125], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    )
    values = answer(weights).has_shape(4, cause="one number for each row: sum over the last axis")
    values.holds(
        "no entropy is NaN",
        lambda h: ~torch.isnan(h),
        "0 · log 0 is 0 here, but NaN to a computer: leave the zeros out, or put ones in their place inside the "
        "logarithm",
    )
    values.holds("no entropy is negative", lambda h: h > -1e-6, "it is minus the sum of p log p")
    bits, ln2 = [2.0, 1.75, 1.0, 0.0], math.log(2)
    values.equals(
        [b * ln2 for b in bits],
        "minus the sum of p · ln p",
        mistakes={"these are bits: take the natural logarithm, for nats": bits},
    )
    answer(torch.softmax(random(2, 3, 7, seed=6), -1)).has_shape(2, 3).equals_stored("three axes")
    answer(torch.softmax(4 * random(2, 40, seed=7), -1)).equals_stored(
        "sharp rows", "small weights count, too: leave out only what is exactly 0"
    )


@exercise("1.6", "plot_entropy", points=3)
def plot_entropy(answer: Answer) -> None:
    """The student's own figure: entropy against d, with and without the root."""
    drawn = answer([4, 16, 64, 256])
    drawn.is_plot(
        2, "one with scores divided by √d, and one without", [4, 16, 64, 256], "d", "axes.plot(dims, entropies)"
    )

    def ends(axes: Drawing) -> list[tuple[float, float]]:
        """First and last value of each line, the flatter line first."""
        lines = axes.over([4, 16, 64, 256], 2)
        return sorted(((line[0], line[-1]) for line in lines), key=lambda two: two[0] - two[1])

    drawn.holds(
        "divided by √d, the entropy hardly depends on d",
        lambda axes: abs(ends(axes)[0][0] - ends(axes)[0][1]) < 0.25,
        "draw queries and keys from a normal distribution, at least 100 queries, and divide their dot products by √d",
    )
    drawn.holds(
        "divided by √d, some keys get more than others: below 3.3, where all alike would have ln 32 = 3.47",
        lambda axes: max(ends(axes)[0]) < 3.3,
        "divide by the square root of d, not by d",
    )
    drawn.holds(
        "without the root, the entropy falls with d",
        lambda axes: ends(axes)[1][0] - ends(axes)[1][1] > 0.6,
        "the second line is of the same scores, not divided",
    )
