"""Homework 2: heads, layer norm, parameters, cached keys and values, and the two orders of a block."""

import math
from statistics import mean

import torch

from bertcourse_homework.drawing import Drawing, no_new_figures
from bertcourse_homework.engine import Answer, exercise, random


@exercise("2.1", "split_heads", points=3)
def split_heads(answer: Answer) -> None:
    """Queries, keys and values of all heads, from one product."""
    x = torch.arange(24.0).reshape(1, 2, 12)
    three = answer(x, 2)
    names = ("queries", "keys", "values")
    axes = "each must be (B, H, L, D/H), with D a third of the numbers of a word"
    parts = [three[i].has_shape(1, 2, 2, 2, cause=axes) for i in range(3)]
    owner = answer(torch.arange(3.0)[:, None].expand(1, 3, 12), 2)
    for i in range(3):
        owner[i].has_shape(1, 2, 3, 2, cause=axes).equals(
            [[[[0, 0], [1, 1], [2, 2]]] * 2],
            "row l of each head must come from word l: move the head's axis before the words' (transpose, permute); "
            "a view or reshape alone scrambles the words",
        )
    first = [[[[0, 1], [12, 13]], [[2, 3], [14, 15]]]]
    scattered = {
        "head h has the h-th slice of neighbouring numbers, not every H-th number": [
            [[[0, 2], [12, 14]], [[1, 3], [13, 15]]]
        ],
        "first the queries of all heads, then all keys: cut into three, then into heads": [
            [[[0, 1], [12, 13]], [[6, 7], [18, 19]]]
        ],
        "the first D numbers are the query, not every third": [[[[0, 3], [12, 15]], [[6, 9], [18, 21]]]],
    }
    parts[0].equals(first, "the queries are the first third of each word's numbers", mistakes=scattered)
    for i, name in ((1, "keys"), (2, "values")):
        order = "the order is queries, keys, values"
        parts[i].equals(
            [[[[e + 4 * i for e in row] for row in head] for head in first[0]]],
            f"the {name} are the {'middle' if i == 1 else 'last'} third of each word's numbers",
            mistakes={order: [[[[e + 4 * (3 - i) for e in row] for row in head] for head in first[0]]]},
        )
    large = answer(random(3, 5, 36, seed=1), 4)
    for place, name in enumerate(names):
        any_size = "does it work for any B, L, D and H?"
        large[place].has_shape(3, 4, 5, 3, cause=any_size).equals_stored(name, any_size)


@exercise("2.2", "keep_heads", points=3)
def keep_heads(answer: Answer) -> None:
    """Weights of the heads that stay: rows of a projection, columns of the output."""
    weight = torch.arange(6.0)[:, None] * 10 + torch.arange(6.0)
    bias, output = torch.arange(6.0), weight + 100

    def rows(*numbers: int) -> list[list[int]]:
        return [[10 * r + c for c in range(6)] for r in numbers]

    def columns(*numbers: int) -> list[list[int]]:
        return [[100 + 10 * r + c for c in numbers] for r in range(6)]

    kept = answer(weight, bias, output, 3, [0, 2])
    shapes = (
        "k heads of d numbers stay: k·d rows of weight (outputs × inputs), k·d numbers of bias, k·d columns of output"
    )
    smaller = [kept[i].has_shape(*shape, cause=shapes) for i, shape in enumerate([(4, 6), (4,), (6, 4)])]
    smaller[0].equals(
        rows(0, 1, 4, 5),
        "head h has rows h·d to (h+1)·d - 1 of weight, with d = D/H",
        mistakes={
            "a head's rows are neighbours, not every H-th": rows(0, 2, 3, 5),
            "head h has d rows, from h·d on": rows(0, 1, 2, 3),
        },
    )
    smaller[1].equals([0, 1, 4, 5], "the bias has the same places as the rows of weight")
    smaller[2].equals(columns(0, 1, 4, 5), "head h meets columns h·d to (h+1)·d - 1 of output")
    order = "in the order of the list"
    turned = answer(weight, bias, output, 3, [2, 0])
    turned[0].has_shape(4, 6, cause=shapes).equals(rows(4, 5, 0, 1), order)
    turned[1].has_shape(4, cause=shapes).equals([4, 5, 0, 1], order)
    turned[2].has_shape(6, 4, cause=shapes).equals(columns(4, 5, 0, 1), order)
    any_size = "does it work for any D and H?"
    large = answer(random(12, 12, seed=2), random(12, seed=3), random(12, 12, seed=4), 4, [3])
    for place, (name, shape) in enumerate({"weight": (3, 12), "bias": (3,), "output": (12, 3)}.items()):
        large[place].has_shape(*shape, cause=any_size).equals_stored(name, any_size)


@exercise("2.3", "layer_norm", points=3)
def layer_norm(answer: Answer) -> None:
    """Mean 0 and variance 1 for each word, computed in a stable way."""
    one, zero = torch.ones(4), torch.zeros(4)
    rows = torch.tensor([[1.0, 3.0, 1.0, 3.0], [10.0, 10.0, 10.0, 50.0]])
    plain = answer(rows, one, zero).has_shape(2, 4, cause="a number for each number: the same shape as x")
    plain.holds(
        "each word has mean 0",
        lambda y: y.mean(-1).abs() <= 1e-4,
        "subtract the mean of the last axis, not of the others: keepdim=True",
    )
    r = 3**0.5
    unbiased = torch.tensor([[-1.0, 1.0, -1.0, 1.0], [-1 / r, -1 / r, -1 / r, r]]) * (3 / 4) ** 0.5
    plain.equals(
        [[-1, 1, -1, 1], [-1 / r, -1 / r, -1 / r, r]],
        "divide by the root of the variance of each word",
        mistakes={
            "the variance is divided by D, not by D - 1: unbiased=False": unbiased,
            "divide by the root of the variance, not by the variance": [
                [-1, 1, -1, 1],
                [-1 / 30, -1 / 30, -1 / 30, 0.1],
            ],
        },
    )
    far = answer(torch.tensor([[10001.0, 10003.0, 10001.0, 10003.0], [-9e3, -9002.0, -9e3, -9002.0]]), one, zero)
    far = far.has_shape(2, 4)
    cause = "the mean of squares minus the square of the mean loses all digits here: subtract the mean, then square"
    far.holds("no number is NaN", lambda y: ~torch.isnan(y), cause)
    far.equals([[-1, 1, -1, 1], [1, -1, 1, -1]], cause)
    gain, bias = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, 0.0, 10.0, 10.0])
    answer(rows[:1], gain, bias).equals(
        [[-1, 2, 7, 14]],
        "first normalize, then times gain, then plus bias",
        mistakes={
            "the bias is not multiplied by the gain: gain · y + bias": [[-1, 2, 27, 44]],
            "the bias is added in the end": [[-1, 2, -3, 4]],
            "times gain is missing": [[-1, 1, 9, 11]],
        },
    )
    small = torch.tensor([[0.3, -0.3, 0.3, -0.3]])
    answer(small, one, zero, 0.16).equals(
        [[0.6, -0.6, 0.6, -0.6]],
        "eps is added to the variance, under the root",
        mistakes={"eps belongs under the root: it is added to the variance": small / 0.46},
    )
    alike = answer(torch.full((2, 4), 7.0), one, bias)
    alike.equals(
        [[0, 0, 10, 10]] * 2, "if all numbers of a word are alike, the variance is 0, and eps keeps it from 0/0"
    )
    each = "each word by itself: mean and variance over the last axis alone"
    batch = answer(5 + random(2, 3, 6, seed=4), random(6, seed=5), random(6, seed=6)).has_shape(2, 3, 6, cause=each)
    batch.equals_stored("three axes", each)


@exercise("2.4", "count_parameters", points=3)
def count_parameters(answer: Answer) -> None:
    """BERT base, MiniLM, ALBERT, and a small one with odd sizes."""
    small = {"vocab_size": 100, "hidden_size": 10, "num_hidden_layers": 2, "intermediate_size": 30}
    small |= {"max_position_embeddings": 7, "type_vocab_size": 3}
    right = {"embeddings": 1120, "attention": 920, "feed_forward": 1320, "pooler": 110}
    call = answer(small)
    call.is_a(dict, "return a dictionary").holds(
        "its keys are the four parts",
        lambda parts: set(parts) == set(right),
        f"return {{{', '.join(map(repr, right))}}}",
    )

    def known(part: str, cause: str, mistakes: dict[str, int]) -> None:
        """Check one of the parts."""
        call.holds(f"{part} is a number", lambda parts: parts[part] + 0 == parts[part], "count with whole numbers")
        found = {value: what for what, value in mistakes.items()}.get(call.value[part], cause)
        call.holds(f"{part} has {right[part]:,} numbers", lambda parts: parts[part] == right[part], found)

    known(
        "embeddings",
        "a row of D numbers for each word, each position and each segment, and 2·D for the norm",
        {
            "the norm after the embeddings has 2·D numbers": 1100,
            "a norm has a gain and a bias: 2·D numbers": 1110,
            "positions have rows, too": 1050,
            "segments have rows, too": 1090,
        },
    )
    known(
        "attention",
        "in each layer: four maps from D to D with biases, and a norm of 2·D",
        {
            "linear maps have a bias: D·D + D": 840,
            "the norm after attention has 2·D numbers": 880,
            "four maps: query, key, value, and the output": 700,
            "this is one layer: multiply by how many there are": 460,
        },
    )
    known(
        "feed_forward",
        "in each layer: a map from D to the intermediate size and one back, with biases, and a norm of 2·D",
        {
            "both maps have a bias: one of the intermediate size, one of D": 1240,
            "the norm after the feed-forward network has 2·D numbers": 1280,
            "the width is intermediate_size, which need not be 4·D": 1740,
            "this is one layer: multiply by how many there are": 660,
        },
    )
    known("pooler", "a linear map from D to D, with its bias", {"linear maps have a bias": 100})
    base = {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072}
    base |= {"max_position_embeddings": 512, "type_vocab_size": 2}
    answer(base).equals(
        {"embeddings": 23837184, "attention": 28366848, "feed_forward": 56687616, "pooler": 590592},
        "BERT base has 109,482,240 in all",
        1e-12,
    )
    albert = {**base, "vocab_size": 30000}
    answer(albert, shared=True).equals(
        {"embeddings": 23436288, "attention": 2363904, "feed_forward": 4723968, "pooler": 590592},
        "shared layers count once",
        1e-12,
    )
    thin = {"embeddings": 4005120, "attention": 2363904, "feed_forward": 4723968, "pooler": 590592}
    mistakes = {
        "the map from E to D has a bias of D numbers": 4004352,
        "the norm of the embeddings comes before the map: 2·E numbers": 4006400,
        "there is a map from E to D, with a bias": 3906048,
        "rows of positions and segments have E numbers, too": 4334080,
    }
    answer(albert, 128, True).equals(
        thin,
        "rows of E numbers, a norm of 2·E, and a map from E to D with a bias of D",
        1e-12,
        mistakes={cause: {**thin, "embeddings": number} for cause, number in mistakes.items()},
    )
    answer(small, 10).equals(
        {**right, "embeddings": 1230},
        "a map whenever a size is given, also if E = D: embedding_size is not None",
        1e-12,
    )


@exercise("2.5", "attend_with_cache", points=3)
def attend_with_cache(answer: Answer) -> None:
    """The same result step by step as in one go."""
    zeros = torch.zeros(1, 1, 3, 2)
    values = torch.tensor([[[[3.0], [9.0], [0.0]]]])
    whole = answer(zeros, zeros, values)
    output = whole[0].has_shape(1, 1, 3, 1, cause="return (output, (keys, values)); a row of output for each new word")
    output.equals(
        [[[[3], [6], [4]]]],
        "with equal scores each word's output is the mean of the values up to its own",
        mistakes={
            "a word must not see the words after it: hide them with a causal mask": [[[[4], [4], [4]]]],
            "a word sees itself, too": [[[[4], [3], [6]]]],
        },
    )
    double = torch.full((1, 1, 2, 4), math.log(2) ** 0.5)
    double[:, :, 0] = 0  # the product of the second word's query and key is 4 ln 2, and √d is 2
    answer(double, double, values[:, :, :2])[0].equals(
        [[[[3], [7.8]]]],
        "attention as in lecture 1: softmax of the scores over √d, times the values",
        mistakes={"divide the scores by √d": [[[[3], [3 / 17 + 9 * 16 / 17]]]]},
    )
    keys = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    whole[1][0].has_shape(1, 1, 3, 2, cause="the cache is the pair (keys, values)")
    whole[1][1].has_shape(1, 1, 3, 1, cause="the cache is the pair (keys, values)").equals(
        values, "the cache has the values as they came"
    )
    step = answer(
        torch.tensor([[[[50.0, 0.0]]]]), torch.tensor([[[[0.0, 7.0]]]]), values[:, :, 2:], (keys, values[:, :, :2])
    )
    step[1][0].has_shape(1, 1, 3, 2, cause="the new cache has the old keys and the new ones").equals(
        [[[[1, 0], [0, 1], [0, 7]]]], "new keys come after the cached ones"
    )
    step[1][1].has_shape(1, 1, 3, 1, cause="the new cache has the old values and the new ones").equals(
        values, "new values come after the cached ones"
    )
    step[0].has_shape(1, 1, 1, 1, cause="output is for the new words only").equals(
        [[[[3]]]], "a new word sees all cached words: its keys and values are the cached ones and its own"
    )
    later = answer(zeros[:, :, :2], zeros[:, :, :2], values[:, :, 1:], (zeros[:, :, :1], values[:, :, :1]))
    later[0].has_shape(1, 1, 2, 1, cause="output is for the new words only").equals(
        [[[[6], [4]]]],
        "new word i may see all m cached words and the new ones up to i: the mask is (n, m + n), its border moved by m",
        mistakes={"new words must not see those after them, also if there is a cache": [[[[4], [4]]]]},
    )
    q, k, v = (random(2, 3, 6, 4, seed=seed) for seed in (7, 8, 9))
    for cuts in ((0, 6), (0, 1, 2, 3, 4, 5, 6), (0, 3, 4, 6)):
        cache, rows = None, []
        for start, end in zip(cuts, cuts[1:]):
            call = answer(q[:, :, start:end], k[:, :, start:end], v[:, :, start:end], cache)
            rows.append(call[0].has_shape(2, 3, end - start, 4, cause="a row of output for each new word").value)
            cache = tuple(call[1][i].has_shape(2, 3, end, 4, cause="all keys and values so far").value for i in (0, 1))
        joined = type(call)(
            answer, f"{answer.name}, in steps of {[b - a for a, b in zip(cuts, cuts[1:])]}", torch.cat(rows, 2)
        )
        joined.equals_stored("causal pass", "each word's output is the same in one go and step by step")


LAYERS = [*range(1, 13)]
PRE, POST = [0.71, 0.89, 0.96], [0.71, 0.71, 0.71]
OTHERS = {  # the results of known mistakes, in layers 1, 4 and 12
    "the lines have each other's names": (POST, PRE),
    "in pre-LN order only what goes into f is normalized, the stream goes on as it is: x = x + f(norm(x))": (
        POST,
        POST,
    ),
    "in post-LN order the sum is normalized, and goes on normalized: x = norm(x + f(x))": (PRE, PRE),
    "compare the layer's output, x + f, with its input, not f alone": ([0.0] * 3, [0.0] * 3),
    "new A and B in each layer": ([0.70, 0.99, 1.0], [0.71, 0.96, 0.99]),
    "f has a relu: relu(x A) B": ([0.57, 0.88, 0.96], [0.57, 0.58, 0.58]),
    "B has a standard deviation of 1/√128": ([0.81, 0.91, 0.97], [0.81, 0.82, 0.82]),
}


def line_called(drawn: Drawing, name: str, layers: list[int]) -> list[float]:
    """The values over ``layers`` of the line with "pre" or "post" in its name."""
    for line in drawn.lines:
        if list(line.xs) == layers and name in line.label.lower():
            return list(line.ys)
    return []


@exercise("2.6", "plot_turns", points=3)
def plot_turns(answer: Answer) -> None:
    """The student's own figure: how much each layer turns a vector."""
    drawn = answer(12)
    drawn.is_plot(
        2,
        "one for pre-LN, and one for post-LN",
        LAYERS,
        "layer, 1 to depth",
        "axes.plot(range(1, depth + 1), cosines)",
    )
    drawn.holds(
        'the legend calls the lines "pre-LN" and "post-LN"',
        lambda axes: line_called(axes, "pre", LAYERS) and line_called(axes, "post", LAYERS),
        'axes.plot(…, label="pre-LN") and axes.plot(…, label="post-LN"), then axes.legend()',
    )
    pre, post = line_called(drawn.value, "pre", LAYERS), line_called(drawn.value, "post", LAYERS)

    def farthest(lines: tuple[list[float], list[float]]) -> float:
        """The largest distance of the figure from two given lines, relative to what chance allows."""
        found = [line[layer] for line in (pre, post) for layer in (0, 3, 11)]
        return max(abs(a - b) / most for a, b, most in zip(found, lines[0] + lines[1], [0.06, 0.1, 0.15] * 2))

    likely = min(OTHERS, key=lambda cause: farthest(OTHERS[cause]))
    if not farthest(OTHERS[likely]) < 1:
        likely = ""
    drawn.holds(
        "the first layer's cosine is about 0.71, in both orders",
        lambda axes: all(abs(line[0] - 0.707) < 0.09 for line in (pre, post)),
        likely
        or "x and f(x) are of equal size then, and unrelated: check the standard deviations of A and B, and that the "
        "cosine is that of the layer's input and output",
    )
    drawn.holds(
        "post-LN stays where it is: 0.71 on average",
        lambda axes: abs(mean(post) - 0.71) < 0.075,
        likely or "in post-LN order the sum is normalized, and goes on normalized: x = norm(x + f(x))",
    )
    drawn.holds(
        "pre-LN rises: 0.90 on average, and over 0.92 in the twelfth layer",
        lambda axes: abs(mean(pre) - 0.9) < 0.025 and pre[-1] > 0.92,
        likely
        or "in pre-LN order only what goes into f is normalized, the stream goes on as it is: x = x + f(norm(x))",
    )
    with no_new_figures():
        layers = [*range(1, 61)]
        answer(60).holds(
            "with a depth of 60 the lines have sixty points each",
            lambda axes: line_called(axes, "pre", layers) and line_called(axes, "post", layers),
            "there are as many layers as depth says",
        ).holds(
            "post-LN stays at 0.71 on average of 60 layers",
            lambda axes: abs(mean(line_called(axes, "post", layers)) - 0.71) < 0.055,
            "the cosine is over the 64 numbers of a word, dim=-1, then the mean over words",
        )
