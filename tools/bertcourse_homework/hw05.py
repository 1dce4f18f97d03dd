"""Homework 5: word senses."""

import torch

from bertcourse_homework.drawing import Drawing, Line
from bertcourse_homework.engine import Answer, exercise, random


@exercise("5.1", "pool_words", points=3)
def pool_words(answer: Answer) -> None:
    """One vector per word, from those of its tokens."""
    tokens = torch.tensor([[9.0, 9.0], [1.0, 0.0], [3.0, 2.0], [2.0, 7.0], [0.0, 4.0], [7.0, 7.0]])
    word_ids = [None, 0, 0, 0, 1, None]
    means = answer(tokens, word_ids).has_shape(
        2,
        2,
        cause="a row for each word: none for [CLS] and [SEP], whose word is None, and one for word 0, which an "
        "`if word` would leave out: ask `is not None`",
    )
    means.equals(
        [[2.0, 3.0], [0.0, 4.0]],
        "the mean of the vectors of a word's own tokens",
        mistakes={
            "this is the sum: divide by the word's number of tokens": [[6.0, 9.0], [0.0, 4.0]],
            "this is the first token of each word; the default is the mean": [[1.0, 0.0], [0.0, 4.0]],
            "divide by the number of the word's tokens, not of all tokens": [[1.0, 1.5], [0.0, 4 / 6]],
            "[CLS] and [SEP] are no part of a word": [[3.75, 4.5], [3.5, 5.5]],
        },
    )
    rows = "a row for each word, whatever the pooling"
    answer(tokens, word_ids, "sum").has_shape(2, 2, cause=rows).equals(
        [[6.0, 9.0], [0.0, 4.0]],
        "sum: all tokens, added up",
        mistakes={"this is the mean: use the argument pooling": [[2.0, 3.0], [0.0, 4.0]]},
    )
    answer(tokens, word_ids, "first").has_shape(2, 2, cause=rows).equals(
        [[1.0, 0.0], [0.0, 4.0]],
        "first: the vector of the word's first token, whatever comes after",
        mistakes={"this is the word's last token": [[2.0, 7.0], [0.0, 4.0]]},
    )
    answer(tokens, [0, 1, 1, 2, 3, 3], "mean").has_shape(
        4, 2, cause="a sentence may come without [CLS] and [SEP]"
    ).equals([[9.0, 9.0], [2.0, 1.0], [2.0, 7.0], [3.5, 5.5]], "a sentence may come without [CLS] and [SEP]")
    between = "[SEP] may stand between words, too: None is no word, wherever it is"
    answer(tokens, [None, 0, 0, None, 1, None], "sum").has_shape(2, 2, cause=between).equals(
        [[4.0, 2.0], [0.0, 4.0]], between
    )
    many = [None, *(word for word in range(7) for _ in range(1 + word % 3)), None]
    for pooling in ("mean", "sum", "first"):
        found = answer(random(len(many), 5, seed=1), many, pooling).has_shape(7, 5, cause=rows)
        found.equals_stored(f"seven words, {pooling}", f"{pooling}: of a word's own tokens, one, two or three of them")


@exercise("5.2", "mix_layers", points=2)
def mix_layers(answer: Answer) -> None:
    """Layers summed, or concatenated."""
    states = [torch.tensor([[[3.0**layer, 1.0], [0.0, layer]]]) for layer in range(7)]
    four = answer(states).has_shape(1, 2, 2, cause="a sum of tensors has their shape")
    four.equals(
        [[[1080.0, 4.0], [0.0, 18.0]]],
        "the sum of the last four tensors of the list",
        mistakes={
            "this is the mean; add up": [[[270.0, 1.0], [0.0, 4.5]]],
            "these are the first four: -4 counts from the end": [[[40.0, 4.0], [0.0, 6.0]]],
            "this is one layer alone": states[-1],
        },
    )
    chosen = answer(states, (0, 5)).has_shape(1, 2, 2, cause="a sum of tensors has their shape")
    chosen.equals(
        [[[244.0, 2.0], [0.0, 5.0]]],
        "hidden_states[0] is layer 0, the embeddings; take the layers that are asked for",
        mistakes={
            "use the argument layers; these are always the last four": [[[1080.0, 4.0], [0.0, 18.0]]],
            "take the layers themselves, not all between them": [[[364.0, 6.0], [0.0, 15.0]]],
        },
    )
    side = answer(states, (2, -1), "concat").has_shape(
        1, 2, 4, cause="concat: those in layers, along the last axis, which gets longer"
    )
    side.equals([[[9.0, 1.0, 729.0, 1.0], [0.0, 2.0, 0.0, 6.0]]], "in the order of layers, the first to the left")
    answer(states, (6, 0), "concat").equals(
        [[[729.0, 1.0, 1.0, 1.0], [0.0, 6.0, 0.0, 0.0]]], "in the order of layers, which need not rise"
    )
    last = "concat: along the last axis, which is -1 for any number of axes"
    rows = [torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0], [7.0, 8.0]])]
    answer(rows, (1, 0), "concat").has_shape(2, 4, cause=last).equals(
        [[5.0, 6.0, 1.0, 2.0], [7.0, 8.0, 3.0, 4.0]], last
    )
    answer(list(rows[0]), (0, 1), "concat").has_shape(4, cause=last).equals([1.0, 2.0, 3.0, 4.0], last)
    answer(states, how="concat").has_shape(1, 2, 8, cause="the last four layers, side by side, too, if none are named")
    answer([random(3, 4, seed=seed) for seed in range(5)]).has_shape(3, 4, cause="any number of axes").equals_stored(
        "sum", "the sum of the last four tensors of the list"
    )


@exercise("5.3", "sense_embeddings", points=3)
def sense_embeddings(answer: Answer) -> None:
    """The mean of each sense's examples."""
    vectors = torch.tensor([[4.0, 0.0], [1.0, 1.0], [0.0, 2.0], [2.0, 4.0], [3.0, 5.0]])
    senses = ["die%1", "die%2", "die%1", "die%1", "die%2"]
    found = answer(vectors, senses).is_a(dict, "return a dictionary from key to vector")
    found.holds(
        "there is an entry for each sense, and no other",
        lambda found: set(found) == {"die%1", "die%2"},
        "the keys are those in senses, each once",
    )
    found.holds(
        "each embedding has D numbers",
        lambda found: all(len(vector) == 2 for vector in found.values()),
        "the mean over the examples, the first axis, has D numbers",
    )
    found.equals(
        {"die%1": [2.0, 2.0], "die%2": [2.0, 3.0]},
        "the mean of the vectors of the sense's own examples",
        mistakes={
            "these are sums: divide by the number of the sense's examples": {"die%1": [6.0, 6.0], "die%2": [4.0, 6.0]},
            "divide by the number of the sense's examples, not of all": {"die%1": [1.2, 1.2], "die%2": [0.8, 1.2]},
            "this is the mean of all examples: choose the rows of the sense": {
                "die%1": [2.0, 2.4],
                "die%2": [2.0, 2.4],
            },
            "this is the last example of each sense: the ones before are lost": {
                "die%1": [2.0, 4.0],
                "die%2": [3.0, 5.0],
            },
            "a sense's examples need not stand side by side: collect them all": {
                "die%1": [1.0, 3.0],
                "die%2": [3.0, 5.0],
            },
            "(old + new) / 2 gives the last example half of the weight": {"die%1": [2.0, 2.5], "die%2": [2.0, 3.0]},
            "take the mean of the vectors as they are, not divided by their lengths": {
                "die%1": [0.482404, 0.631476],
                "die%2": [0.610801, 0.7823],
            },
        },
    )
    skewed = torch.tensor([[0.0, 8.0], [0.0, 1.0], [9.0, 0.0]])
    answer(skewed, ["a", "a", "a"]).equals(
        {"a": [3.0, 3.0]},
        "all examples may have one sense",
        mistakes={"this is the median: take the mean": {"a": [0.0, 1.0]}},
    )
    answer(vectors, ["c", "a", "a", "b", "a"]).equals(
        {"a": [4 / 3, 8 / 3], "b": [2.0, 4.0], "c": [4.0, 0.0]}, "a sense may have a single example"
    )
    several = ["die%1", "die%1 die%10", "die%10", "die%10 die%2 die%1"]
    found = answer(vectors[[0, 2, 3, 4]], several)
    found.holds(
        "each key has its own entry",
        lambda found: set(found) == {"die%1", "die%10", "die%2"},
        'an example with several keys, "die%1 die%10", counts for each of them: split the string',
    )
    found.equals(
        {"die%1": [7 / 3, 7 / 3], "die%10": [5 / 3, 11 / 3], "die%2": [3.0, 5.0]},
        "the mean of all examples that have the key, alone or among others",
        mistakes={
            "an example with several keys counts fully for each of them": {
                "die%1": [30 / 11, 16 / 11],
                "die%10": [18 / 11, 40 / 11],
                "die%2": [3.0, 5.0],
            },
            "compare whole keys: die%1 is in die%10, and is another sense": {
                "die%1": [2.25, 2.75],
                "die%10": [5 / 3, 11 / 3],
                "die%2": [3.0, 5.0],
            },
        },
    )
    names = [f"s{i * i % 7}" for i in range(30)]
    answer(random(30, 6, seed=2), names).is_a(dict).equals_stored(
        "thirty examples", "the mean of the vectors of the sense's own examples"
    )


@exercise("5.4", "nearest_sense", points=3)
def nearest_sense(answer: Answer) -> None:
    """The largest cosine among a word's senses; for a word without any, the first sense."""
    senses = {
        "light%1": [8.0, 6.0],
        "light%3": [0.6, -0.8],
        "light%5": [-1.0, -0.6],
        "light-year%1": [0.0, 1.0],
        "die%1": [1.0, 0.0],
        "die%2": [0.0, -5.0],
        "moonlight%1": [0.9, -0.3],
    }
    senses = {sense: torch.tensor(vector) for sense, vector in senses.items()}
    first = {"light": "light%5", "die": "die%9", "lig": "lig%9", "seal": "seal%4"}
    found = answer(torch.tensor([0.9, -0.3]), "light", senses, first).is_a(str, "return the sense's key")
    found.equals(
        "light%3",
        "take the sense with the largest cosine",
        mistakes={
            "compare with the senses of this word only: a key begins with it": "moonlight%1",
            "a dot product favours long vectors: divide by the lengths": "light%1",
            "the first sense is for words without any embedding": "light%5",
        },
    )
    up = answer(torch.tensor([0.05, 1.0]), "light", senses, first)
    up.equals(
        "light%1",
        "take the sense with the largest cosine",
        mistakes={
            "light-year%1 is no sense of light: a key begins with its word and a percent sign": "light-year%1",
            "the largest cosine, neither the smallest distance nor the largest absolute value": "light%3",
        },
    )
    answer(torch.tensor([-3.0, 1.0]), "die", senses, first).equals(
        "die%2",
        "the largest cosine wins, even if all are negative: begin below -1, not at 0",
        mistakes={
            "the largest cosine wins, not the largest absolute value": "die%1",
            "the first sense is for words without any embedding: cosines begin below -1, not at 0": "die%9",
        },
    )
    answer(torch.tensor([-0.5, 3.0]), "die", senses, first).equals(
        "die%1", "the largest cosine wins, not the largest absolute value, even if all are negative"
    )
    answer(torch.tensor([1.0, 0.0]), "seal", senses, first).equals(
        "seal%4", "no sense of seal is known: answer with first_sense[lemma]"
    )
    answer(torch.tensor([1.0, 0.0]), "lig", senses, first).equals(
        "lig%9", "light%1 is no sense of lig: a key begins with its word and a percent sign"
    )
    many = {f"run%{i}": vector for i, vector in enumerate(random(20, 8, seed=3))}
    for seed in range(4, 9):
        answer(random(8, seed=seed), "run", many, {"run": "run%0"}).equals_stored(
            f"twenty senses, seed {seed}", "the largest cosine among the twenty senses of run"
        )


@exercise("5.5", "vote", points=4)
def vote(answer: Answer) -> None:
    """The k nearest examples vote; the nearest decides a tie."""
    cosines = torch.tensor([0.8, 0.9, 0.5, -0.6, 0.2, 0.7, 0.4])
    senses = ["b", "a", "b", "c", "b", "c", "c"]  # nearest first: a b c b c b c
    winner = answer(cosines, senses, 1).is_a(str, "return the sense")
    winner.equals(
        "a",
        "with k = 1 the nearest example decides",
        mistakes={"the nearest example has the largest cosine, not the smallest: descending=True": "c"},
    )
    answer(cosines, senses, 4).equals(
        "b",
        "the k nearest vote, and most votes win: here a, b, c, b",
        mistakes={
            "exactly k examples vote, not one less, and not the nearest alone": "a",
        },
    )
    answer(cosines, senses, 3).equals(
        "a",
        "a, b, c have a vote each: the tie goes to the nearest, which is a",
        mistakes={
            "all have a vote each: the tie goes to the nearest, not to the first in the list": "b",
            "all have a vote each: the tie goes to the nearest, not to the farthest": "c",
        },
    )
    answer(cosines, senses, 5).equals(
        "b",
        "b and c have two votes each; of these two, b has the nearest example",
        mistakes={
            "two against two, and a has one vote: only those that share the first place take part in the tie": "a",
        },
    )
    answer(cosines, senses, 7).equals("b", "b and c have three votes each, and b has the nearest example")
    answer(torch.tensor([0.1, 0.99, 0.2, 0.3]), ["z", "a", "z", "z"], 4).equals(
        "z",
        "every vote counts alike: three votes beat one, however near it is",
    )
    answer(torch.tensor([0.4, 0.35, 0.38, 0.1]), ["y", "x", "x", "y"], 4).equals(
        "y",
        "a tie of all four: it goes to the sense whose nearest example is nearest, not to the first in the alphabet",
    )
    fewer = "with fewer than k examples, all vote, by the same rule"
    answer(cosines, senses, 50).equals("b", fewer, mistakes={f"{fewer}: not the nearest alone": "a"})
    answer(torch.tensor([0.2, 0.9, 0.3, 0.4]), ["x", "z", "y", "y"], 9).equals(
        "y", fewer, mistakes={f"{fewer}: not the nearest alone": "z"}
    )
    answer(torch.tensor([0.2, 0.3, 0.4]), ["z", "z", "x"], 4).equals(
        "z", fewer, mistakes={f"{fewer}: the farthest among them": "x"}
    )
    answer(torch.tensor([0.2, 0.9, 0.3, 0.1]), ["x", "y", "x", "y"], 5).equals(
        "y", f"{fewer}: x and y have two votes each, and y has the nearest example"
    )
    answer(torch.tensor([-0.5]), ["x"], 3).equals("x", f"{fewer}; here a single one, whose cosine is negative")
    names = [f"s{i % 6}" for i in range(40)]
    for k in (5, 6, 11, 20):
        answer(random(40, seed=9), names, k).equals_stored(
            f"forty examples, {k}", "most votes of the k nearest; of those that share the first place, the nearest"
        )


@exercise("5.6", "plot_neighbours", points=3)
def plot_neighbours(answer: Answer) -> None:
    """The student's own figure: accuracy against k, with and without context."""
    ks = [1, 3, 5, 9, 17, 33, 48, 150]
    drawn = answer(ks)
    drawn.is_plot(2, "one for the last four layers, one for layer 0", ks, "k", "axes.plot(ks, accuracies)")

    def lines(axes: Drawing) -> list[Line]:
        """The lines: layer 0, then the last four layers, which lie above it."""
        return sorted(axes.lines_over(ks, 2), key=lambda line: sum(line.ys))

    def low(axes: Drawing) -> tuple[float, ...]:
        return lines(axes)[0].ys

    def high(axes: Drawing) -> tuple[float, ...]:
        return lines(axes)[1].ys

    drawn.holds(
        "accuracies are in percent", lambda axes: 1 < max(high(axes)) <= 100, "100 times the share of right answers"
    )
    drawn.holds(
        "more or fewer neighbours give other answers",
        lambda axes: all(max(line.ys) > min(line.ys) for line in lines(axes)),
        "vote with the k at which the point is drawn, vote(cosines, theirs, k), and not with always the same",
    )
    drawn.holds(
        "no line is at 95 % or more",
        lambda axes: max(high(axes)) < 95,
        "a sentence must not be among its own voters: test sentences ask, training sentences vote",
    )
    drawn.holds(
        "150 neighbours answer as 48 do, as there are no more",
        lambda axes: all(abs(line.ys[-1] - line.ys[-2]) < 1e-6 for line in lines(axes)),
        "let only training examples of the same word vote: there are 48 of each",
    )
    added = [80.2, 80.2, 78.1, 77.1, 75.0, 67.7, 80.2, 80.2]
    side_by_side = [82.3, 79.2, 79.2, 77.1, 75.0, 67.7, 82.3, 82.3]
    drawn.draws(
        "the last four layers",
        high,
        side_by_side if abs(high(drawn.value)[0] - side_by_side[0]) < 1 else added,
        2.1,
        "the sum of the last four layers: mix_layers(hidden_states); of the examples of the same word, the k with the "
        "largest cosines vote",
        mistakes={
            "these are the first four tensors, not the last": [72.9, 78.1, 78.1, 75.0, 69.8, 60.4, 72.9, 72.9],
            "this is the last layer alone": [84.4, 81.2, 81.2, 77.1, 78.1, 62.5, 84.4, 84.4],
            "these are dot products: divide vectors by their lengths": [82.3, 79.2, 80.2, 67.7, 62.5, 62.5, 82.3, 82.3],
            "these are distances; compare cosines": [80.2, 80.2, 78.1, 79.2, 76.0, 74.0, 80.2, 80.2],
            "with all 48, each sense has 16 votes: the tie goes to the sense of the nearest, as with k = 1": [
                *(80.2, 80.2, 79.2, 75.0, 75.0, 60.4, 33.3, 33.3)
            ],
            "test sentences ask, training sentences vote; these are exchanged": [
                *(78.1, 78.1, 80.2, 76.0, 71.9, 78.1, 78.1, 78.1)
            ],
        },
    )
    drawn.holds(
        "layer 0 has 36 to 66 %, less than with context, but more than guessing one of three: it sees the word's form",
        lambda axes: 36 < min(low(axes)) <= max(low(axes)) < 66,
        "the second line is of hidden_states[0], not of what the first layer makes of it; of the examples of the same "
        "word, the k with the largest cosines vote",
    )
    drawn.holds(
        "each accuracy is a whole number of right answers of 96",
        lambda axes: all(abs(96 * y / 100 - round(96 * y / 100)) < 0.06 for line in lines(axes) for y in line.ys),
        "100 times the number of right answers, divided by the 96 test rows, and not rounded to whole numbers",
    )
    drawn.has_names(lines, ("layer 0", "four"))
