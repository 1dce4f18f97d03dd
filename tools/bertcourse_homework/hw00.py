"""Homework 0: counting neighbours, PPMI, a step of word2vec, analogies, a recurrent network and its gradients."""

import math
import re
from collections.abc import Sequence

import torch

from bertcourse_homework.drawing import Drawing, no_new_figures
from bertcourse_homework.engine import Answer, exercise, random


@exercise("0.1", "count_neighbours", points=2)
def count_neighbours(answer: Answer) -> None:
    """Distances, windows that end where the sentence ends, words that are not counted, words that occur twice."""
    asked_for = "only the words that are asked for, in the order of `words`"
    row = answer([["dogs", "chase", "black", "cats"]], ["dogs", "chase", "black", "cats"], 2)
    row.has_shape(4, 4, cause=f"{asked_for}: a row and a column for each").equals(
        [[0, 1, 0.5, 0], [1, 0, 1, 0.5], [0.5, 1, 0, 1], [0, 0.5, 1, 0]],
        "the neighbours of a place are at most `window` places away, on both sides, and one d places away counts 1/d",
        mistakes={
            "a neighbour d places away counts 1/d, not 1": [[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]],
            "count to the left and to the right": [[0, 1, 0.5, 0], [0, 0, 1, 0.5], [0, 0, 0, 1], [0, 0, 0, 0]],
            "count to the right and to the left": [[0, 0, 0, 0], [1, 0, 0, 0], [0.5, 1, 0, 0], [0, 0.5, 1, 0]],
            "the last place of the window counts, too: range(a, b) stops before b": [
                [0, 1, 0, 0],
                [1, 0, 1, 0],
                [0.5, 1, 0, 1],
                [0, 0.5, 1, 0],
            ],
            "i - window can be negative, and sentence[i - window : i] then counts from the end: begin at "
            "max(0, i - window)": [[0, 1, 0.5, 0], [0, 0, 1, 0.5], [0.5, 1, 0, 1], [0, 0.5, 1, 0]],
            "at most `window` places away, not anywhere in the sentence": [
                [0, 1, 0.5, 1 / 3],
                [1, 0, 1, 0.5],
                [0.5, 1, 0, 1],
                [1 / 3, 0.5, 1, 0],
            ],
            "two words that meet count one time for each of the two places: you count both ways, twice": [
                [0, 2, 1, 0],
                [2, 0, 2, 1],
                [1, 2, 0, 2],
                [0, 1, 2, 0],
            ],
            asked_for: [[0, 1, 1, 0.5], [1, 0, 0.5, 0], [1, 0.5, 0, 1], [0.5, 0, 1, 0]],
        },
    )
    border = "a window ends where its sentence ends"
    answer([["cats", "sleep"], [], ["dogs", "bark"]], ["cats", "sleep", "dogs", "bark"], 3).equals(
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], border
    )
    places = "words that are not counted keep their places: do not take them out first"
    answer([["cats", "and", "young", "dogs"]], ["cats", "dogs"], 2).has_shape(2, 2, cause=asked_for).equals(
        [[0, 0], [0, 0]], places
    )
    answer([["very", "very", "good"]], ["very", "good"], 1).equals(
        [[2, 1], [1, 0]],
        "a word that occurs twice within a window is its own neighbour, twice",
        mistakes={
            "a word that occurs twice within a window is its own neighbour: compare places, not words": [
                [0, 1],
                [1, 0],
            ],
            "every time counts, not only the nearest": [[1, 1], [1, 0]],
        },
    )
    letters = [list(line) for line in ("abracadabra", "banana", "c", "cabbage", "aaab")]
    answer(letters, list("bca"), 3).equals_stored(
        "letters", "count every place with each of its neighbours, by 1/d: 1, 1/2, 1/3 …"
    )


LN = math.log


@exercise("0.2", "ppmi", points=3)
def ppmi(answer: Answer) -> None:
    """Natural logarithms of shares, cut off at 0; smoothed columns; zeros."""
    met = answer(torch.tensor([[6.0, 0.0, 2.0], [0.0, 4.0, 4.0]]))
    met.has_shape(2, 3, cause="one row for each row, one column for each column of `counts`").equals(
        [[LN(2), 0, 0], [0, LN(2), LN(4 / 3)]],
        "the logarithm of P(w, c) over P(w) · P(c), shares of all counts",
        mistakes={
            "the natural logarithm: torch.log": [[1, 0, 0], [0, 1, 0.41504]],
            "what is less than chance counts as 0": [[LN(2), 0, LN(2 / 3)], [0, LN(2), LN(4 / 3)]],
            "pairs that never met count as 0: nothing is added to the counts": [
                [LN(7 / 4), 0, 0],
                [0, LN(5 / 3), LN(5 / 4)],
            ],
            "pairs that never met count as 0: the logarithm of 0 is -inf": [
                [LN(2), -math.inf, LN(2 / 3)],
                [-math.inf, LN(2), LN(4 / 3)],
            ],
            "P(w, c), P(w) and P(c) are shares of all counts: divide by the sum of the table": [[0, 0, 0]] * 2,
            "P(w, c) is divided by what chance would give, P(w) · P(c)": [[0.75, 0, 0.25], [0, 0.5, 0.5]],
            "the logarithm is missing": [[2, 0, 2 / 3], [0, 2, 4 / 3]],
        },
    )
    empty = answer(torch.tensor([[0.0, 0.0, 0.0], [3.0, 0.0, 1.0], [1.0, 0.0, 3.0]]))
    zeros = "0 divided by 0 is not a number: a word without any count has zeros"
    empty.holds("no number is NaN", lambda table: ~torch.isnan(torch.as_tensor(table)), zeros)
    empty.equals([[0, 0, 0], [LN(1.5), 0, 0], [0, 0, LN(1.5)]], zeros)
    answer(torch.tensor([[12.0, 0.0], [4.0, 4.0]]), smoothing=0.5).equals(
        [[LN(1.5), 0], [0, LN(1.5)]],
        "the sums of the columns to the power of `smoothing`, divided by the sum of these powers",
        mistakes={
            "smoothing is missing": [[0.22314, 0], [0, 0.91629]],
            "it is the columns that are smoothed, the contexts": [[0.30922, 0], [0, 0.79958]],
            "the rows keep their shares: only columns are smoothed": [[0.49149, 0], [0, 0.28880]],
            "smoothed shares must sum to 1 again": [[0.11157, 0], [0, 0.11157]],
        },
    )
    counts = (3 * random(5, 7, seed=0)).clamp(min=0).round()
    answer(counts, 0.75).equals_stored("smoothed", "does it work for any V, C and smoothing?")


@exercise("0.3", "negative_sampling_step", points=4)
def negative_sampling_step(answer: Answer) -> None:
    """The loss, the centre, the neighbour and the negatives, all from the old vectors."""
    centres = torch.tensor([[5.0, 5.0], [1.0, 2.0], [6.0, 6.0], [7.0, 7.0]])
    contexts = torch.tensor([[-2.0, 1.0], [9.0, 9.0], [2.0, -1.0], [0.0, 0.0]])
    first = answer(centres, contexts, 1, 2, [0, 3], 0.5)
    first[1].has_shape(4, 2, cause="return the loss, the table of centres, and the table of contexts: whole tables")
    first[2].has_shape(4, 2, cause="return the loss, the table of centres, and the table of contexts: whole tables")
    first[0].equals(
        3 * LN(2),
        "with scores of 0 each of the three sigmoids is 1/2",
        mistakes={
            "the loss is the negative logarithm": -3 * LN(2),
            "the losses of the negatives are added: no mean": 2 * LN(2),
            "each pair has a sigmoid of its own: no softmax over them": LN(3),
            "the loss before the step": 0.2984,
            "u is the row of `contexts`, v that of `centres`": 36.0,
        },
    )

    def moved(table: Sequence, row: int, to: list[float]) -> list[list[float]]:
        """The table with one row replaced."""
        return [to if place == row else each for place, each in enumerate(table.tolist())]

    first[1].equals(
        moved(centres, 1, [2.0, 1.5]),
        "the centre moves by -rate · Σ error · u; all other rows stay",
        mistakes={
            "downhill: minus rate times the gradient": moved(centres, 1, [0.0, 2.5]),
            "negatives pull at the centre, too": moved(centres, 1, [1.5, 1.75]),
            "the rate is missing": moved(centres, 1, [3.0, 1.0]),
        },
    )
    first[2].equals(
        [[-2.25, 0.5], [9, 9], [2.25, -0.5], [-0.25, -0.5]],
        "each context moves by -rate · error · v; all other rows stay",
        mistakes={
            "both gradients are taken at the old vectors: keep v before you change it": [
                [-2.5, 0.625],
                [9, 9],
                [2.5, -0.625],
                [-0.5, -0.375],
            ],
            "negatives move, too": [[-2, 1], [9, 9], [2.25, -0.5], [0, 0]],
        },
    )
    tilted = answer(torch.tensor([[LN(3), 0.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [1.0, 4.0]]), 0, 0, [1], 1.0)
    tilted[0].equals(
        LN(4 / 3) + LN(4),
        "-ln σ(u · v) for the neighbour, -ln σ(-u · v) for a negative",
        mistakes={"the score of a negative has a minus: -ln σ(-u · v)": 2 * LN(4 / 3)},
    )
    errors = "the slope for the neighbour is σ(score) - 1, the slope for a negative is σ(score)"
    tilted[1].equals([[LN(3) - 0.5, -3], [0, 0]], errors)
    tilted[2].equals([[1 + 0.25 * LN(3), 0], [1 - 0.75 * LN(3), 4]], errors)
    twice = "a word that was drawn twice moves twice: table[indices] -= … keeps one of the two"
    double = answer(centres, contexts, 1, 2, [3, 3], 0.5)
    double[0].equals(3 * LN(2), "a negative that was drawn twice counts twice")
    double[1].equals(moved(centres, 1, [1.5, 1.75]), "a negative that was drawn twice counts twice")
    double[2].equals([[-2, 1], [9, 9], [2.25, -0.5], [-0.5, -1]], twice)
    answer(centres, contexts, 1, 2, [2], 0.5)[2].equals(
        contexts, "the neighbour may be among the negatives: what pulls and what pushes adds up"
    )
    far = answer(torch.tensor([[200.0, 0.0]]), torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), 0, 0, [1], 0.001)
    finite = "σ(-200) is 0 in single precision, and its logarithm -inf: logsigmoid, softplus and logaddexp know better"
    far[0].holds("the loss stays finite", lambda loss: torch.as_tensor(loss).isfinite(), finite)
    far[0].equals(400.0, finite)
    tables = random(9, 5, seed=1), random(9, 5, seed=2)
    large = answer(*tables, 4, 7, [0, 2, 2, 8, 5], 0.3)
    for place, name in enumerate(("loss", "centres", "contexts")):
        large[place].equals_stored(name, "does it work for any V, D and k?")


PEOPLE = {
    "man": [1.0, 0.0, 0.0],
    "king": [0.6, 0.0, 0.8],
    "maid": [-0.48, 0.36, -0.8],
    "woman": [0.0, 1.0, 0.0],
    "prince": [0.36, -0.8, 0.48],
    "throne": [-0.48, -0.36, 0.8],
    "queen": [0.0, 0.6, 0.8],
    "girl": [-0.8, 0.36, -0.48],
    "crown": [0.0, -0.6, 0.8],
}
PLACES = {
    "london": [3.0, 0.0, 2.0],
    "england": [3.0, 0.0, -1.0],
    "baghdad": [0.0, 3.0, 2.0],
    "mosul": [0.0, 4.0, 1.0],
    "iraq": [0.0, 1.0, -3.0],
}
LETTERS = {
    "a": [1.0, 0.0, 0.0],
    "b": [0.6, 0.0, 0.8],
    "c": [0.0, 1.0, 0.0],
    "p": [-1.0, 0.0, 0.0],
    "q": [0.8, 0.36, -0.48],
    "r": [-0.8, 0.0, -0.6],
    "s": [0.8, -0.48, 0.36],
    "t": [0.0, 0.0, -1.0],
    "u": [0.0, 0.6, 0.8],
}


@exercise("0.4", "analogy", points=3)
def analogy(answer: Answer) -> None:
    """Three shifted cosines, lengths, inputs, epsilon, ties."""
    words, vectors = [*PEOPLE], torch.tensor([*PEOPLE.values()])
    ranked = answer(words, vectors, "man", "king", "woman")
    ranked.is_a((list, tuple), "return a list of words, the best first", "a list of words")
    ranked.equals(
        "queen throne girl crown prince".split(),
        "the k words with the largest cos'(d, b) · cos'(d, c) / (cos'(d, a) + ε)",
        mistakes={
            "this is the lecture's sum: multiply and divide": "queen throne girl crown maid".split(),
            "shift each cosine: (cos + 1) / 2": "queen maid girl throne prince".split(),
            "shift all three cosines, that with a as well": "queen crown prince maid girl".split(),
            "a negative cosine is shifted, not set to 0": "queen maid prince throne girl".split(),
            "near b and c, far from a: a and b are exchanged": "maid girl queen throne crown".split(),
            "near b and c, far from a: a and c are exchanged": "prince crown throne queen maid".split(),
            "divide by the cosine with a": "queen throne crown prince girl".split(),
            "divide by the cosine with a, do not subtract it": "queen throne girl maid crown".split(),
            "multiply the cosines with b and c, do not add them": "girl throne queen maid crown".split(),
            "a, b and c are left out": "queen woman throne king girl".split(),
            "all three are left out: a and b as well as c": "queen throne king girl man".split(),
            "first leave out, then take k": "queen throne girl".split(),
            "the best comes first": "maid prince crown girl throne".split(),
            "k is 5 if it is not given": "queen throne girl crown prince maid".split(),
            "it returns k words": ["queen"],
            "return the words themselves, not their rows": [6, 5, 7, 8, 4],
        },
    )
    lengths = torch.tensor([[0.5], [3.0], [1.0], [1.0], [20.0], [1.0], [0.1], [1.0], [4.0]])
    answer(words, vectors * lengths, "man", "king", "woman").equals(
        "queen throne girl crown prince".split(),
        "lengths do not matter: cosines, not dot products",
        mistakes={
            "cosines, not dot products: bring the vectors to length 1 first": "throne queen maid girl crown".split(),
            "bring all vectors to length 1, not only a, b and c": "throne queen girl maid crown".split(),
            "bring all vectors to length 1, a, b and c as well": "queen throne crown prince maid".split(),
        },
    )
    answer(words, vectors, "man", "king", "woman", k=2).equals(["queen", "throne"], "it returns k words")
    answer(words, vectors, "man", "king", "woman", k=20).equals(
        "queen throne girl crown prince maid".split(), "if fewer than k words are left, return these"
    )
    answer([*PLACES], torch.tensor([*PLACES.values()]), "london", "england", "baghdad").equals(
        ["iraq", "mosul"],
        "a product: one large cosine does not outvote two others",
        mistakes={"the lecture's sum of cosines gives this, not the product": ["mosul", "iraq"]},
    )
    ends = {"up": [1.0, 0.0], "down": [-2.0, 0.0], "top": [3.0, 0.0], "left": [0.0, 1.0], "slope": [0.6, 0.8]}
    answer([*ends], torch.tensor([*ends.values()]), "up", "top", "left").equals(
        ["slope", "down"],
        "epsilon belongs in the denominator: without it the score of `down` is 0/0, and with it 0",
    )
    words, vectors = [*LETTERS], torch.tensor([*LETTERS.values()])
    answer(words, vectors, "a", "b", "c", 9, epsilon=0.5).equals(
        "u q p s t r".split(),
        "epsilon is added to the shifted cosine with a, below the line, and nowhere else",
        mistakes={
            "add `epsilon` to the denominator: without it p wins, which points away from a": "p u q s t r".split(),
            "epsilon is added to the denominator, not to the numerator": "p r u t q s".split(),
            "epsilon is added to the denominator alone": "u p q r s t".split(),
            "epsilon is added after the shift, to (cos + 1) / 2": "u p q s t r".split(),
            "epsilon is added: it is no lower bound": "u q s p t r".split(),
        },
    )
    alike = {"one": [0.0, 1.0, 0.0], "a": [1.0, 0.0, 0.0], "two": [0.0, 0.0, 2.0], "b": [0.0, 1.0, 0.0]}
    alike |= {"c": [0.0, 0.0, 1.0], "three": [0.0, 4.0, 0.0], "four": [1.0, 0.0, 0.0]}
    answer([*alike], torch.tensor([*alike.values()]), "a", "b", "c").equals(
        "one two three four".split(),
        "words with the same score stay in the order of `words`",
        mistakes={
            "equal scores keep the order of `words`: sort the negative ones, stably": "three two one four".split()
        },
    )
    twelve = list("abcdefghijkl"), random(12, 6, seed=2), "e", "b", "k"
    answer(*twelve, 8).equals_stored("letters", "does it work for any number of words and any size?")
    answer(*twelve).equals_stored("five letters", "k is 5 if it is not given")


@exercise("0.5", "run_rnn", points=3)
def run_rnn(answer: Answer) -> None:
    """The states, and how far back the last one depends on the inputs."""
    inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    W, U = torch.tensor([[1.0, 0.5], [0.0, 0.5]]), torch.tensor([[0.5, -1.0], [0.5, 1.0]])
    ran = answer(inputs, W, U, torch.tensor([0.2, -0.2]))
    ran[0].has_shape(3, 2, cause="one state for each input: those after the first, the second, …").equals(
        [[0.8337, -0.1974], [0.8653, 0.4773], [-0.3316, 0.8367]],
        "h_t = tanh(W x_t + U h_(t-1) + b), from a state of zeros",
        1e-3,
        {
            "tanh, not the sigmoid": [[0.7685, 0.4502], [0.6534, 0.7567], [0.3252, 0.7995]],
            "W belongs to the input, U to the state": [[0.6044, 0.2913], [-0.0499, 0.7378], [-0.7535, 0.5843]],
            "it is U times the state, U @ h, not h @ U": [[0.8337, -0.1974], [0.7691, -0.6237], [-0.2235, -0.7979]],
            "it is W times the input, W @ x, not x @ W": [[0.8337, 0.2913], [0.3145, 0.7650], [-0.8870, 0.6183]],
            "the bias is missing": [[0.7616, 0.0], [0.7068, 0.7068], [-0.6928, 0.9155]],
            "the state before the first input is 0": [[0.6044, 0.8617], [0.1395, 0.8984], [-0.8106, 0.8533]],
            "tanh of the whole sum, the state's part included": [
                [0.8337, -0.1974],
                [1.2186, 0.5108],
                [-0.1928, 1.4114],
            ],
        },
    )
    squares = "the size of a gradient is its length, the root of the sum of its squares"
    ran[1].has_shape(3, cause="a size for each input: one number").equals(
        [1.0706, 0.2140, 0.3176],
        "the length of the gradient of the sum of the last state's numbers with respect to each input",
        1e-3,
        {
            "sizes[0] is of the last input, sizes[1] of the one before it": [0.3176, 0.2140, 1.0706],
            "the last state depends on earlier inputs through all states: do not detach them": [1.0706, 0, 0],
            "it is the gradient of the last state only": [1.0706, 0.5377, 0.7686],
            squares: [1.1462, 0.0458, 0.1008],
            f"{squares}, and no mean": [0.7425, 0.1513, 0.1804],
            "the gradient with respect to the inputs, not to the states": [1.4142, 0.8380, 0.6242],
            "the sum of the last state's numbers, not their mean": [0.5353, 0.1070, 0.1588],
        },
    )
    larger = answer(random(6, 3, seed=4), random(4, 3, seed=5), random(4, 4, seed=6), random(4, seed=7))
    any_size = "does it work for any L, D and H?"
    larger[0].has_shape(6, 4, cause=any_size).equals_stored("states", any_size)
    larger[1].has_shape(6, cause=any_size).equals_stored("sizes", any_size)
    leaky = answer(inputs, W, U, torch.tensor([0.2, -0.2]), 0.25)
    leaky[0].equals(
        [[0.2084, -0.0493], [0.3295, 0.0482], [0.2018, 0.1542]],
        "a leaky state keeps 1 - leak of what it was, and takes leak of what is new",
        1e-3,
        {
            "leak is what is new, 1 - leak what is kept": [[0.6252, -0.1480], [0.7722, 0.2884], [0.0434, 0.6351]],
            "of the old state only 1 - leak is kept": [[0.2084, -0.0493], [0.3816, 0.0358], [0.3456, 0.1565]],
            "the old state is kept as it is, outside the tanh": [[0.2913, -0.0500], [0.4156, 0.0614], [0.2667, 0.1861]],
            "leak is missing": [[0.8337, -0.1974], [0.8653, 0.4773], [-0.3316, 0.8367]],
        },
    )
    leaky[1].equals([0.3256, 0.1886, 0.1197], "the gradient goes both ways: through the tanh and past it", 1e-3)
    answer(random(1, 3, seed=8), random(2, 3, seed=9), random(2, 2, seed=10), random(2, seed=11))[1].has_shape(
        1, cause="a single input has one size"
    )


SCALES = [0.5, 1.0, 2.0, 4.0]
DISTANCES = [*range(30)]
FROM, TO = 3, 13  # slopes are measured between these distances
RIGHT = [(1.67, -1.1), (1.61, -0.47), (1.42, 0.03), (1.08, 0.37)]  # ln of the size at distance 0; its slope
STEEP, ROOM = 0.8, 3  # a slope above which lines differ more: over four standard deviations on different processors
CHANCE = [(0.15, 0.07), (0.15, 0.07), (0.15, 0.07), (0.18, 0.12)]  # tolerances: over four standard deviations
OTHERS = {  # the results of known mistakes
    "the lines have each other's names": RIGHT[::-1],
    "U has a standard deviation of g/√64: divide by √64": [(1.09, 0.38), (0.72, 0.67), (0.35, 0.92), (-0.05, 1.05)],
    "U has a standard deviation of g/√64: divide by √64, not by 64": [
        (1.69, -3.14),
        (1.65, -2.47),
        (1.67, -1.75),
        (1.61, -1.1),
    ],
    "g belongs to U, not to W": [(1.09, -0.27), (1.59, -0.46), (2.03, -0.73), (2.4, -1.06)],
    "g belongs to U alone, not to W as well": [(1.19, -0.87), (1.59, -0.46), (1.97, -0.13), (2.2, 0.18)],
    "the network has a tanh, and the inputs are normal numbers, not 0": [
        (2.07, -0.68),
        (2.07, 0.01),
        (2.06, 0.72),
        (2.06, 1.39),
    ],
    "W has a standard deviation of 1/√64, whatever g is": [(2.75, -2.08), (2.7, -1.41), (2.75, -0.73), (2.7, -0.06)],
}


def line_of(drawn: Drawing, scale: float) -> list[float]:
    """The values, over all distances, of the line with this number in its name; empty if there is none."""
    for line in drawn.lines_over(DISTANCES, len(drawn.lines)):
        if any(float(number) == scale for number in re.findall(r"\d*\.?\d+", line.label)):
            return list(line.ys)
    return []


def start_and_slope(line: Sequence[float]) -> tuple[float, float]:
    """The logarithm of the first size, and how much the logarithm rises with each step back."""
    logs = [math.log(max(line[place], 1e-44)) for place in (0, FROM, TO)]
    return logs[0], (logs[2] - logs[1]) / (TO - FROM)


@exercise("0.6", "plot_gradients", points=3)
def plot_gradients(answer: Answer) -> None:
    """The student's own figure: gradients that vanish, stay, and explode."""
    drawn = answer(SCALES)
    drawn.is_plot(4, "one for each g", DISTANCES, "distance, 0 to 29", "axes.plot(range(30), sizes)")
    drawn.holds(
        "the vertical axis is logarithmic",
        lambda axes: axes.yscale == "log",
        'axes.set_yscale("log"), and draw the sizes themselves, not their logarithms',
    )
    drawn.holds(
        "each line has its number in its name",
        lambda axes: all(line_of(axes, scale) for scale in SCALES),
        'each line has its number in its name: axes.plot(…, label=f"g = {g}"), then axes.legend()',
    )
    found = [start_and_slope(line_of(drawn.value, scale)) for scale in SCALES]

    def farthest(known: list[tuple[float, float]]) -> float:
        """The largest distance of the lines from known ones, relative to what chance allows.

        Rounding errors grow with exploding gradients, so steep lines may be ``ROOM`` times as far off.
        """
        return max(
            max(abs(a[0] - b[0]) / 0.25, abs(a[1] - b[1]) / 0.15) / (ROOM if b[1] > STEEP else 1)
            for a, b in zip(found, known)
        )

    likely = min(OTHERS, key=lambda cause: farthest(OTHERS[cause]))
    if not farthest(OTHERS[likely]) < 1:
        backwards = all(abs(slope + right) < 0.15 for (_, slope), (_, right) in zip(found, RIGHT))
        likely = (
            "distance 0 is the last input: these lines run from right to left"
            if backwards
            else "W and U are normal numbers, with mean 0 and standard deviations of 1/√64 and g/√64; the inputs are "
            "normal numbers, too; the bias is 0; everything is new in each of the 20 runs"
        )
    drawn.holds(
        "the size at distance 0 is about 5 for g = 0.5 and g = 1, 4 for g = 2, and 3 for g = 4",
        lambda axes: all(abs(mine[0] - right[0]) < off[0] for mine, right, off in zip(found, RIGHT, CHANCE)),
        likely,
    )
    drawn.holds(
        "with each step back the size is multiplied by about 0.34 for g = 0.5, 0.63 for g = 1, 1.0 for g = 2 and 1.4 "
        "for g = 4",
        lambda axes: all(abs(mine[1] - right[1]) < off[1] for mine, right, off in zip(found, RIGHT, CHANCE)),
        likely,
    )
    with no_new_figures():
        answer([0.25, 0.75]).holds(
            "two other numbers have two lines with their names",
            lambda axes: all(line_of(axes, scale) for scale in (0.25, 0.75)),
            "the lines are those of `scales`, which may hold any numbers",
        )
