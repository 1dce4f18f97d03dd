"""Homework 6: anisotropy."""

import torch

from bertcourse_homework.drawing import Drawing, Line, no_new_figures
from bertcourse_homework.engine import Answer, exercise, random


@exercise("6.1", "cosine_between", points=2)
def cosine_between(answer: Answer) -> None:
    """The mean cosine over all pairs of one row from each of two sets."""
    number = "one number for both sets together"
    first = torch.tensor([[5.0, 0.0], [0.0, 2.0]])
    second = torch.tensor([[3.0, 4.0], [0.0, 7.0], [-2.0, 0.0]])
    answer(first, second).has_shape(cause=number).equals(
        1.4 / 6,
        "the cosines of the six pairs are 0.6, 0, -1, 0.8, 1 and 0; their mean is asked for",
        mistakes={
            "bring the vectors to length 1 first": 27 / 6,
            "the mean of the cosines is not the cosine of the means: leave the means as long as they are": 0.536875,
            "the mean of the cosines is not the cosine of the means, and vectors come to length 1 first": 0.453926,
            "divide by the number of pairs": 1.4,
            "there are n·m pairs, of every row with every row": 1.4 / 4,
            "only pairs of a row of first with a row of second; these are all pairs of both": 0.16,
            "cosines may be negative: no absolute values": 3.4 / 6,
            "all pairs, and not only rows with the same number": 0.8,
            "no row is paired with itself here: there is nothing to subtract": -0.15,
        },
    )
    answer(torch.eye(4), torch.eye(4)).has_shape(cause=number).equals(
        0.25,
        "a row of first and an equal row of second are a pair: 4 of 16 have a cosine of 1",
        mistakes={"a row of first and an equal row of second are a pair like any other": 0.0},
    )
    answer(torch.tensor([[1.0, 0.0]]), torch.tensor([[-2.0, 0.0]])).has_shape(cause=number).equals(
        -1.0, "two opposite vectors have a cosine of -1: no absolute values"
    )
    answer(random(60, 9, seed=1) + 0.5, random(40, 9, seed=13) + 0.3).has_shape(cause=number).equals_stored(
        "sixty and forty vectors", "the sum of the cosines of all pairs, divided by the number of pairs"
    )
    lengths = torch.linspace(0.01, 100, 3000)[:, None]
    many = (random(3000, 16, seed=2) + 1) * lengths
    answer(many, random(2000, 16, seed=14) + 0.5).has_shape(cause=number).equals_stored(
        "many vectors of all lengths", "no vector counts more for being long"
    )


@exercise("6.2", "cosine_by_word", points=4)
def cosine_by_word(answer: Answer) -> None:
    """Pairs of the same word, and pairs of different words."""
    vectors = torch.tensor([[1.0, 0.0], [1.2, 1.6], [0.0, 3.0], [4.0, 0.0], [0.5, 0.0]])
    words = ["a", "a", "a", "b", "b"]
    both = answer(vectors, words)
    both[0].has_shape(cause="return two numbers, same and different").equals(
        0.6,
        "same: the four pairs have cosines 0.6, 0, 0.8 and 1",
        mistakes={
            "every pair counts alike: add up over all words first, then divide; this is a mean of the words' means": 2.2
            / 3,
            "a vector with itself is no pair": 9.8 / 13,
            "return the same-word mean first, then the other": 3.2 / 6,
            "only pairs of the same word; this is all pairs": 0.56,
            "bring the vectors to length 1 first": 2.0,
            "weight words by their pairs, not by their occurrences": 0.68,
        },
    )
    number = "two numbers, each a mean"
    both[1].has_shape(cause=number).equals(
        3.2 / 6,
        "different: the six pairs of an a and a b have cosines 1, 1, 0.6, 0.6, 0, 0",
        mistakes={
            "this is the mean of all pairs: leave out those of the same word": 0.56,
            "divide by the number of pairs of different words, not of all pairs": 0.32,
        },
    )
    apart = answer(vectors, ["a", "a", "b", "a", "b"])
    apart[0].has_shape(cause=number).equals(0.55, "occurrences of one word need not stand side by side")
    single = answer(vectors, ["x", "y", "x", "y", "z"])
    single[0].has_shape(cause=number).equals(0.3, "x has one pair, y has one, and z, which occurs once, has none")
    single[1].has_shape(cause=number).equals(
        5 / 8, "pairs of different words; a word that occurs once has pairs with all others, none with itself"
    )
    names = [f"w{i * i % 11}" for i in range(40)]
    forty = answer(random(40, 6, seed=3) + 0.4, names)
    forty[0].has_shape(cause=number).equals_stored(
        "forty, same", "same: all pairs of rows with one word, each counted alike"
    )
    forty[1].has_shape(cause=number).equals_stored(
        "forty, different", "different: all pairs of rows with two words, each counted alike"
    )


@exercise("6.3", "rogue_dimensions", points=3)
def rogue_dimensions(answer: Answer) -> None:
    """The dimensions that contribute most of the expected cosine."""
    shift = torch.tensor([0.0, 1.5, 0.0, -3.0, 1.0, 0.0])
    vectors = random(300, 6, seed=4) * torch.tensor([0.2, 0.2, 2.0, 0.2, 0.2, 0.2]) + shift
    one = answer(vectors).is_a(object)
    one.holds("there is at least one", lambda found: len(found) >= 1, "return a list of indices")
    one.holds("they are numbers from 0 to 5", lambda found: all(0 <= d < 6 for d in found), "return a list of indices")
    one.equals(
        [3],
        "dimension 3, at about -3 in all vectors, makes more than half",
        mistakes={
            "a contribution is a square: negative values count like positive ones": [1, 4],
            "what is loud is not what is alike: dimension 2 has the largest spread, and a mean of 0": [2],
            "one is too many: stop where the sum reaches the share": [3, 1],
        },
    )
    answer(vectors, 0.8).equals(
        [3, 1],
        "the fewest dimensions that together reach the share, the largest contribution first",
        mistakes={
            "the sum must reach the share: one more is needed": [3],
            "the largest contribution first": [1, 3],
            "add contributions up until they reach the share together": [],
        },
    )
    answer(vectors, 0.95).equals([3, 1, 4], "the fewest that together reach the share, the largest contribution first")
    rows = [[0.0, 1.0, 0.2], [0.0, 1.0, -0.2], [900.0, 9.0, 0.0], [800.0, 9.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.1]]
    long = torch.tensor(rows)
    answer(long, 0.6).equals([1], "bring the vectors to length 1 first: two long vectors must not decide")
    few = torch.tensor([[2.0, 0.0, 3.0], [2.0, 3.0, 0.0], [2.0, 0.0, -3.0]])
    answer(few, 0.9).equals(
        [0],
        "subtract each vector's product with itself: a dimension used by one vector alone makes nothing alike",
        mistakes={"dimension 2 has a negative contribution, which is not large: no absolute values": [0, 2]},
    )
    square = torch.tensor([[2.0, 1.0, 1.0, 3.0, 1.0], [4.0, 2.0, 2.0, 6.0, 2.0]])  # squares 4, 1, 1, 9, 1 of 16
    reached = "`at least` the share: where the sum is just the share, it is enough (>=, not >)"
    answer(square, 9 / 16).equals([3], reached, mistakes={"largest first, and at least one": []})
    answer(square, 13 / 16).equals([3, 0], reached)
    against = torch.tensor([[5.0, 4.0, 3.5, 3.0, 2.5], [5.0, -4.0, 3.5, 3.0, 2.5]])
    answer(against, 0.9).equals(
        [0, 2],
        "order by the contribution as it is: dimension 1 has a negative one, and comes last",
        mistakes={"a negative contribution is not large: no absolute values": [0, 1, 2, 3, 4]},
    )
    even = random(300, 4, seed=12) * 0.1 + torch.tensor([2.0, 0.0, -2.2, 1.8])
    answer(even).equals([2, 0], "the default share is a half, which no dimension reaches alone here")
    for share in (0.3, 0.6, 0.9):
        answer(random(30, 12, seed=5) + random(12, seed=6), share).equals_stored(
            f"thirty vectors, {share}", "the fewest that together reach the share, the largest contribution first"
        )


@exercise("6.4", "standardize_by_group", points=3)
def standardize_by_group(answer: Answer) -> None:
    """The mean and standard deviation of a group in one set, applied to its rows in another."""
    train = torch.tensor([[1.0, 2.5, 8.0], [5.0, 2.5, -8.0], [1.0, 2.5, 8.0], [5.0, 2.5, -8.0]])
    test = torch.tensor([[7.0, 2.5, 16.0], [3.0, 5.5, 4.0]])
    four, two = ["en"] * 4, ["en"] * 2
    moved = answer(train, four, test, two).has_shape(2, 3, cause="transform the test vectors: as many come back")
    moved.holds(
        "no number is NaN or infinite",
        lambda z: torch.isfinite(z),
        "σ is 0 in a dimension that is the same everywhere: do not divide there",
    )
    moved.holds(
        "no number is huge",
        lambda z: abs(z) < 1000,
        "σ is 0 in a dimension that is the same everywhere: shift there, and do not divide, by a tiny number neither",
    )
    dead = [[2.0, 0.0, 2.0], [0.0, 3.0, 0.5]]
    moved.equals(
        dead,
        "(x - μ) / σ, with μ and σ of train, each dimension's own",
        mistakes={
            "divide by the standard deviation, not by the variance": [[1.0, 0.0, 0.25], [0.0, 3.0, 0.0625]],
            "divide by n, not n - 1: correction=0": [[1.732051, 0.0, 1.732051], [0.0, 3.0, 0.433013]],
            "μ and σ must come from train, not from test": [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]],
            "divide by σ, too": [[4.0, 0.0, 16.0], [0.0, 3.0, 4.0]],
            "subtract μ, too": [[3.5, 2.5, 2.0], [1.5, 5.5, 0.5]],
            "a dimension with σ = 0 is shifted, not set to 0": [[2.0, 0.0, 2.0], [0.0, 0.0, 0.5]],
            "a dimension with σ = 0 is shifted like all others, but not divided": [[2.0, 2.5, 2.0], [0.0, 5.5, 0.5]],
        },
    )
    answer(train, four, test[1:], ["en"]).has_shape(1, 3, cause="as many vectors come back as test has").equals(
        dead[1:], "a vector's result must not depend on which others are tested with it: μ and σ are those of train"
    )
    mixed = torch.tensor([[1.0, 8.0], [10.0, 0.0], [5.0, -8.0], [30.0, 4.0]])
    asked = torch.tensor([[40.0, 4.0], [7.0, 16.0], [10.0, 2.0]])
    answer(mixed, ["de", "fi", "de", "fi"], asked, ["fi", "de", "fi"]).has_shape(
        3, 2, cause="as many vectors come back as test has"
    ).equals(
        [[2.0, 1.0], [2.0, 2.0], [-1.0, 0.0]],
        "de has μ = (3, 0), σ = (2, 8); fi has μ = (20, 2), σ = (10, 2); the rows stay where they are",
        mistakes={
            "μ and σ are those of the row's own group, not of all training vectors": [
                [2.556799, 0.507093],
                [-0.403705, 2.535463],
                [-0.134568, 0.169031],
            ],
            "the results belong into the rows of test, in their order": [[2.0, 2.0], [2.0, 1.0], [-1.0, 0.0]],
            "the results belong into the rows of test, in their order; here group follows group": [
                [2.0, 1.0],
                [-1.0, 0.0],
                [2.0, 2.0],
            ],
        },
    )
    quiet = torch.tensor([[1.0, 2.0], [-1.0, -2.0]]) / 8192
    answer(quiet, two, 2 * quiet, two).has_shape(2, 2, cause="as many vectors come back as test has").equals(
        [[2.0, 2.0], [-2.0, -2.0]],
        "a small σ is not 0: divide by it, and by nothing but it",
        mistakes={"a small σ is not 0: shift without dividing only where it is exactly 0": 2 * quiet},
    )
    own, fifty = random(50, 4, seed=7) * torch.tensor([0.01, 1.0, 30.0, 1.0]) + 2, ["en"] * 50
    itself = answer(own, fifty, own, fifty).has_shape(50, 4, cause="as many vectors come back as test has")
    itself.holds(
        "train itself has mean 0 and standard deviation 1 in each dimension",
        lambda z: (z.double().mean(0).abs() < 1e-3) & ((z.double().std(0, correction=0) - 1).abs() < 1e-3),
        "one μ and one σ for each dimension: over axis 0, the vectors; σ with n, not n - 1",
    )
    groups = [["en", "de", "fi"][i * i % 3] for i in range(50)]
    answer(own, groups, random(5, 4, seed=8), ["de", "en", "de", "de", "en"]).has_shape(
        5, 4, cause="as many vectors come back as test has"
    ).equals_stored("five vectors", "(x - μ) / σ, with μ and σ of the row's group in train", tolerance=1e-3)


@exercise("6.5", "remove_directions", points=3)
def remove_directions(answer: Answer) -> None:
    """Vectors that are centred and lose their first principal directions."""
    arms = torch.tensor([[3.0, 0, 0], [-3.0, 0, 0], [0, 2.0, 0], [0, -2.0, 0], [0, 0, 1.0], [0, 0, -1.0]])
    train, test = arms + torch.tensor([0.0, 10.0, 0.0]), torch.tensor([[5.0, 14.0, 7.0], [-2.0, 10.0, 1.0]])
    none = answer(train, test, 0).has_shape(2, 3, cause="the vectors keep their D numbers")
    none.equals(
        [[5.0, 4.0, 7.0], [-2.0, 0.0, 1.0]],
        "with k = 0, subtract the mean of train, and nothing else",
        mistakes={
            "the vectors stay centred: subtract the mean, and do not add it again": test,
            "the mean is that of train, not of test": [[3.5, 2.0, 3.0], [-3.5, -2.0, -3.0]],
        },
    )
    one = answer(train, test, 1).has_shape(2, 3, cause="the vectors keep their D numbers")
    one.equals(
        [[0.0, 4.0, 7.0], [0.0, 0.0, 1.0]],
        "remove what lies along the first principal direction of the centred train, which is x here",
        mistakes={
            "remove the part along the directions, and keep the rest": [[5.0, 0.0, 0.0], [-2.0, 0.0, 0.0]],
            "centre train before the SVD, or the first direction is that of its mean": [
                [5.0, 0.0, 7.0],
                [-2.0, 0.0, 1.0],
            ],
            "the first direction is the one with the largest singular value": [[5.0, 4.0, 0.0], [-2.0, 0.0, 0.0]],
            "the vectors stay centred: subtract the mean, and do not add it again": [
                [0.0, 14.0, 7.0],
                [0.0, 10.0, 1.0],
            ],
            "nothing is removed yet but the mean": [[5.0, 4.0, 7.0], [-2.0, 0.0, 1.0]],
        },
    )
    answer(train, test[:1], 2).has_shape(1, 3, cause="the vectors keep their D numbers").equals(
        [[0.0, 0.0, 7.0]],
        "k directions are removed, from a single vector, too",
        mistakes={
            "all of the first k directions, not the k-th alone": [[5.0, 0.0, 7.0]],
            "k directions are removed, not always one": [[0.0, 4.0, 7.0]],
        },
    )
    slanted = torch.tensor([[6.0, 8.0], [-6.0, -8.0], [3.0, 4.0], [-3.0, -4.0]]) + 1
    answer(slanted, torch.tensor([[5.0, 4.0]]), 1).has_shape(1, 2, cause="the vectors keep their D numbers").equals(
        [[1.12, -0.84]],
        "remove the part along the direction (0.6, 0.8)",
        mistakes={
            "a direction may point anywhere: remove the part along it, and not a dimension": [[4.0, 0.0]],
            "subtract the part along the direction, (x·v) v, and not v": [[3.4, 2.2]],
        },
    )
    cloud = random(40, 6, seed=9) @ random(6, 6, seed=10) + 3
    for k in (1, 3):
        left = answer(cloud, random(7, 6, seed=11), k).has_shape(7, 6, cause="the vectors keep their D numbers")
        left.equals_stored(
            f"cloud, {k}",
            "directions are the rows of Vh, the third result of torch.linalg.svd, and those of train",
            tolerance=1e-3,
        )


@exercise("6.6", "plot_layers", points=3)
def plot_layers(answer: Answer) -> None:
    """The student's own figure: anisotropy by layer, and what removes it."""
    layers = list(range(7))
    drawn = answer(layers)
    drawn.is_plot(
        3, "as they are, without the largest dimension, centred", layers, "layer", "axes.plot(layers, values)"
    )

    def lines(axes: Drawing) -> list[Line]:
        """The three lines, the highest first."""
        return sorted(axes.lines_over(layers, 3), key=lambda line: sum(line.ys), reverse=True)

    with no_new_figures():
        first, again = (figure.value.over(layers, 3) for figure in (drawn, answer(layers)))
    drawn.holds(
        "called once more, it draws the same",
        lambda axes: all(abs(a - b) < 1e-6 for one, other in zip(first, again) for a, b in zip(one, other)),
        "it changes hidden_states: set the dimension to 0 in a clone",
    )
    drawn.draws(
        "the lowest, minus the mean",
        lambda axes: lines(axes)[2].ys,
        [0.0038, 0.0007, 0.0, 0.0003, 0.002, 0.0195, 0.0011],
        0.006,
        "the third line is of the vectors minus their mean, each layer's own, and each dimension's: "
        "states - states.mean(0)",
    )
    raw = [0.0758, 0.1549, 0.1812, 0.1929, 0.2138, 0.2594, 0.0459]
    without = [0.0518, 0.1265, 0.1358, 0.1338, 0.1458, 0.1422, 0.0448]
    drawn.draws(
        "the highest, the vectors as they are",
        lambda axes: lines(axes)[0].ys,
        raw,
        0.006,
        "the first line is of hidden_states[layer], unchanged: work on a clone where you cut",
    )
    cut = "set one dimension to 0, the one with the largest contribution in this very layer"
    drawn.draws(
        "the middle, without the largest dimension",
        lambda axes: lines(axes)[1].ys,
        without,
        0.006,
        cut,
        mistakes={
            f"{cut}; here it is layer 0's in all": [0.0518, 0.1544, 0.1841, 0.1964, 0.2172, 0.2639, 0.0462],
            f"{cut}; here nothing is missing, or next to nothing": raw,
            f"{cut}; here it is layer 5's in all": [0.0763, 0.1459, 0.1358, 0.1338, 0.1458, 0.1422, 0.0464],
            f"{cut}, not the one of the largest variance": [0.0518, 0.1544, 0.1841, 0.1964, 0.2172, 0.251, 0.0462],
            "set one dimension to 0, not more": [0.042, 0.082, 0.091, 0.091, 0.105, 0.142, 0.027],
            "set it to 0 and compute the cosines again: lengths change, so it is not a subtraction": [
                *(0.044, 0.122, 0.126, 0.122, 0.130, 0.098, 0.045)
            ],
        },
    )
    drawn.has_names(lines, ("as they are", "without", "cent"))
