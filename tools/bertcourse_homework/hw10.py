"""Homework 10: a search with titles, nDCG with shared places, late interaction in a batch, a loss with judgements,
clusters, the size of a library."""

import math

import torch
from torch import Tensor

from bertcourse_homework.drawing import Drawing, Line, no_new_figures
from bertcourse_homework.engine import Answer, Call, exercise, random

SQUARE = [(2, 20), (2, 20), (2, 20), (2, 20)]  # four passages of the same length


def shelf_of(number: int) -> tuple[dict[str, list[tuple[int, int, int]]], list[tuple[int, int]]]:
    """An index of so many passages with a few words each, and their lengths; the same each time."""
    title, text = (random(number, 6, seed=seed).mul(1.2).clamp(min=0).int().tolist() for seed in (11, 12))
    index: dict[str, list[tuple[int, int, int]]] = {}
    for i, (above, below) in enumerate(zip(title, text)):
        for word, one, other in zip(("ant", "bee", "cow", "dog", "elk", "fox"), above, below):
            if one or other:
                index.setdefault(word, []).append((i, one, other))
    lengths = [(1 + sum(above), 9 + i % 7 + sum(below)) for i, (above, below) in enumerate(zip(title, text))]
    return index, lengths


@exercise("10.1", "search", points=3)
def search(answer: Answer) -> None:
    """One word in one passage, then titles, lengths, several words, and the order."""
    rare, third = math.log(1 + 3.5 / 1.5), math.log(1 + 1.5 / 3.5)  # one of four passages has the word, or three have
    plain = {"k1": 1.0, "b": 0.0}
    one = answer({"bee": [(2, 0, 2)]}, SQUARE, ["bee"], 5, 3.0, **plain)
    one.is_a(list, "return a list of tuples (passage, score)").equals(
        [(2, rare * 2 / 3)],
        "one passage has the word, twice in its text: idf · 2/(2 + 1)",
        mistakes={
            "only passages with a word of the query are in the list: go through the word's own list, not through all "
            "passages": [(2, rare * 2 / 3), (0, 0.0), (1, 0.0), (3, 0.0)],
            "N is the number of all passages, len(lengths), not of those that have the word": [
                (2, math.log(1 + 0.5 / 1.5) * 2 / 3)
            ],
            "n is the number of passages that have the word, not how often it occurs": [
                (2, math.log(1 + 2.5 / 2.5) * 2 / 3)
            ],
            "the idf of the lecture has a 1 in the logarithm: ln(1 + (N - n + 0.5)/(n + 0.5))": [
                (2, math.log(3.5 / 1.5) * 2 / 3)
            ],
            "the idf of the lecture is ln(1 + (N - n + 0.5)/(n + 0.5)), not ln(N/n)": [(2, math.log(4) * 2 / 3)],
            "v multiplies what is in the title, not what is in the text": [(2, rare * 6 / 7)],
            "repetition saturates: t/(t + k1)": [(2, rare * 2)],
            "there is no factor k1 + 1 here": [(2, rare * 4 / 3)],
            "in each tuple the passage comes first, then the score": [(rare * 2 / 3, 2)],
            "each passage with its score: a list of tuples": [2],
        },
    )
    titled = {"bee": [(0, 1, 0), (2, 0, 3), (3, 1, 1)]}
    twice = [(2, third * 3 / 4), (3, third * 3 / 4), (0, third * 2 / 3)]
    answer(titled, SQUARE, ["bee"], 5, 2.0, **plain).equals(
        twice,
        "an occurrence in the title counts v times; title and text are added up, then they saturate together",
        mistakes={
            "add up title and text first, then saturate once; these are two saturated scores, added": [
                (3, third * 3 / 2),
                (0, third),
                (2, third * 3 / 4),
            ],
            "add up title and text first, then saturate once; v belongs in the sum": [
                (3, third * 7 / 6),
                (2, third * 3 / 4),
                (0, third * 2 / 3),
            ],
            "v multiplies the count in the title, not the score": [
                (3, third * 4 / 3),
                (0, third),
                (2, third * 3 / 4),
            ],
            "an occurrence in the title counts v times": [(2, third * 3 / 4), (3, third * 2 / 3), (0, third / 2)],
            "v multiplies what is in the title, not what is in the text": [
                (2, third * 6 / 7),
                (3, third * 3 / 4),
                (0, third / 2),
            ],
            "title and text both count, not only the one that counts more": [
                (2, third * 3 / 4),
                (0, third * 2 / 3),
                (3, third * 2 / 3),
            ],
            "the text counts, too": [(0, third * 2 / 3), (3, third * 2 / 3), (2, 0.0)],
            "of equal scores the passage with the smaller number comes first": [twice[1], twice[0], twice[2]],
            "the best first": twice[::-1],
            "the best first: these are in the order of their numbers": sorted(twice),
            "n is the number of passages that have the word; one that has it in title and text counts once": [
                (i, score / third * math.log(1 + 0.5 / 4.5)) for i, score in twice
            ],
            "n counts all passages with the word, in the title or in the text": [
                (i, score / third * math.log(1 + 2.5 / 2.5)) for i, score in twice
            ],
        },
    )
    lengths, half = [(1, 60), (6, 10), (2, 20), (3, 30)], math.log(2)  # the means are 3 and 30
    longer = answer({"owl": [(0, 1, 0), (1, 0, 3)]}, lengths, ["owl"], 5, 2.0, k1=1.0, b=1.0)
    longer.equals(
        [(1, half * 9 / 10), (0, half * 6 / 7)],
        "each field is divided by its own length, relative to the mean length of that field",
        mistakes={
            "b: what is in a long field counts less": [(1, half * 3 / 4), (0, half * 2 / 3)],
            "each field has its own length: the title's for the title, the text's for the text": [
                (1, half * 3 / 5),
                (0, half / 2),
            ],
            "each field has its own length, not that of both together": [
                (1, half * 99 / 115),
                (0, half * 66 / 127),
            ],
            "the mean length is that of all N titles, or texts, not only of the passages that have the word": [
                (1, half * 10.5 / 11.5),
                (0, half * 7 / 8),
            ],
            "divide by 1 - b + b·length, do not multiply": [(1, half / 2), (0, half * 2 / 5)],
            "the mean of the lengths of titles and texts, each by itself, not of both together": [
                (1, half * 4.95 / 5.95),
                (0, half * 33 / 34),
            ],
            "the length is relative: divide it by the mean": [(0, half * 2 / 3), (1, half * 0.3 / 1.3)],
            "the title's length matters to what is in the title, as the text's does to what is in the text": [
                (1, half * 9 / 10),
                (0, half * 2 / 3),
            ],
        },
    )
    # the lecture's formula, with k1 1.2 and b 0.75
    bm25 = [rare * t / (t + 1.2 * (0.25 + 0.75 * own / 30)) for t, own in ((2, 60), (5, 10))]
    index = {"elk": [(0, 0, 2)], "gnu": [(1, 0, 5)]}
    answer(index, lengths, ["elk", "gnu"], 5, 2.0).equals(
        [(1, bm25[1]), (0, bm25[0])],
        "without titles it is BM25; k1 is 1.2 and b 0.75, if nothing else is said",
        mistakes={
            "all words of the query count, not only the last": [(1, bm25[1])],
            "all words of the query count, not only the first": [(0, bm25[0])],
        },
    )
    double = {"ant": [(1, 0, 1), (3, 0, 1)], "bee": [(0, 0, 1), (1, 0, 1)]}
    answer(double, SQUARE, ["ant", "ant", "bee"], 9, 1.0, **plain).equals(
        [(1, half * 3 / 2), (3, half), (0, half / 2)],
        "the scores of a passage's words are added up; a word that the query has twice counts twice",
        mistakes={
            "a word that the query has twice counts twice: go through the query as it is, not through a set": [
                (1, half),
                (0, half / 2),
                (3, half / 2),
            ],
            "add up what the words bring; the last one must not replace the others": [
                (0, half / 2),
                (1, half / 2),
                (3, half / 2),
            ],
            "each passage is in the list once: add up its words": [
                (0, half / 2),
                (1, half / 2),
                (1, half / 2),
                (1, half / 2),
                (3, half / 2),
                (3, half / 2),
            ],
            "a word that the query has twice adds its part twice; it does not saturate": [
                (1, half * 7 / 6),
                (3, half * 2 / 3),
                (0, half / 2),
            ],
        },
    )
    found_late = {"ant": [(3, 0, 1)], "bee": [(0, 0, 1)]}
    answer(found_late, SQUARE, ["ant", "bee"], 5, 1.0, **plain).equals(
        [(0, rare / 2), (3, rare / 2)],
        "of equal scores the passage with the smaller number comes first, not the one that was found first",
    )
    answer(found_late, SQUARE, ["yak", "bee"], 5, 1.0, **plain).equals(
        [(0, rare / 2)], "a word that no passage has adds nothing: index.get(word, [])"
    )
    answer(found_late, SQUARE, ["yak"], 5, 1.0, **plain).equals([], "no passage has the word: an empty list")
    answer(found_late, SQUARE, [], 5, 1.0, **plain).equals([], "a query without words finds nothing")
    answer(titled, SQUARE, ["bee"], 2, 2.0, **plain).equals(
        twice[:2],
        "at most k passages",
        mistakes={
            "at most k passages: cut the list": twice,
            "sort first, and then keep the first k": [twice[0], twice[2]],
        },
    )
    answer({"bee": [(0, 2, 0), (1, 0, 1)]}, SQUARE, ["bee"], 2, 0.5, k1=0.0, b=0.3).equals(
        [(0, half), (1, half)], "with k1 = 0 it only counts that the word is there"
    )
    shelf, sizes = shelf_of(40)
    for query, k, weight in ((["ant", "bee", "ant", "gnu"], 8, 3.0), (["fox", "cow", "elk"], 40, 0.6)):
        large = answer(shelf, sizes, query, k, weight)
        large.equals_stored(f"forty passages, {' '.join(query)}", "BM25F of the passages with a word of the query")


SECOND, THIRD, FOURTH = (math.log(2) / math.log(place + 1) for place in (2, 3, 4))  # what these places are worth


@exercise("10.2", "shared_ndcg", points=3)
def shared_ndcg(answer: Answer) -> None:
    """Without equal scores, with two, with a group that goes beyond place k, then what was not found."""
    usual = answer({"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 1, "b": 3}, 10)
    usual.has_shape(cause="return a number").equals(
        (1 + 3 * SECOND) / (3 + SECOND),
        "without equal scores it is the lecture's nDCG",
        mistakes={
            "the grade itself counts, not 2 to its power, minus 1": (1 + 7 * SECOND) / (7 + SECOND),
            "grades count, not only whether a passage is relevant": 1.0,
            "divide by what the best ranking gets: grades in falling order": 1 + 3 * SECOND,
            "a place is worth 1/log2(r + 1), not 1/r": (1 + 3 / 2) / (3 + 1 / 2),
            "divide by what the best ranking gets, not by the sum of the grades": (1 + 3 * SECOND) / 4,
            "divide by what the best ranking gets, not by the number of relevant passages": (1 + 3 * SECOND) / 2,
            "the highest score comes first, not the lowest": (3 * SECOND + THIRD) / (3 + SECOND),
            "places count from 1: the first is worth 1/log2(2), which is 1": (SECOND + 3 * THIRD) / (3 + SECOND),
        },
    )
    answer({"x": 5.0, "a": 2.0}, {"a": 1}, 10).has_shape(cause="return a number").equals(
        SECOND,
        "a passage without a grade takes a place",
        mistakes={"a passage without a grade takes a place, too: do not leave it out": 1.0},
    )
    pair = answer({"x": 2.0, "a": 2.0}, {"a": 1}, 10).has_shape(cause="return a number")
    pair.equals(
        (1 + SECOND) / 2,
        "two passages with the same score share the places 1 and 2: each gets the mean of 1 and 0.63",
        mistakes={
            "equal scores share what their places are worth; here a has the second place, as if x were better": SECOND,
            "equal scores share what their places are worth; here a has the first place, with or without x": 1.0,
            "share what the places are worth, not the places: the mean of 1 and 0.63 is not what place 1.5 is worth": (
                1 / math.log2(2.5)
            ),
            "each gets the mean of what the places are worth, not the sum": 1 + SECOND,
        },
    )
    answer({"a": 2.0, "x": 2.0}, {"a": 1}, 10).equals(
        (1 + SECOND) / 2,
        "two passages with the same score share the places 1 and 2, in whatever order they come",
        mistakes={
            "equal scores share what their places are worth; here a has the first place, as it was named first": 1.0
        },
    )
    answer({"x": 2, "y": 2.0, "a": 1}, {"a": 2}, 10).equals(
        THIRD,
        "two passages share the places 1 and 2, so the next one has place 3",
        mistakes={"after two passages that share the places 1 and 2 comes place 3, not 2": SECOND},
    )
    cut = "places beyond k are worth nothing: three passages share 1, 0 and 0, if k is 1"
    answer({"x": 1.0, "a": 1.0, "y": 1.0}, {"a": 1}, 1).has_shape(cause="return a number").equals(
        1 / 3,
        cut,
        mistakes={
            "places beyond k are worth nothing, in a group that goes beyond k, too": (1 + SECOND + THIRD) / 3,
            f"{cut}: divide by 3, not only by the places up to k": 1.0,
            f"{cut}: a group that goes beyond k still gets what its first places are worth": 0.0,
        },
    )
    wide = {"x": 9.0, "a": 4.0, "b": 4.0, "y": 4.0, "c": 1.0}
    answer(wide, {"a": 4, "b": 1, "c": 1}, 3).has_shape(cause="return a number").equals(
        5 * (SECOND + THIRD) / 3 / (4 + SECOND + THIRD),
        "a, b and y share the places 2, 3 and 4, of which the last is worth nothing, as k is 3",
        mistakes={
            "place 4 is worth nothing, as k is 3; a, b and y share what is left": (
                5 * (SECOND + THIRD + FOURTH) / 3 / (4 + SECOND + THIRD)
            ),
            "the three passages share the places; divide what these are worth by 3, not by the two places up to k": (
                5 * (SECOND + THIRD) / 2 / (4 + SECOND + THIRD)
            ),
            "each passage has its own grade; the best grade is not for all that are relevant": (
                8 * (SECOND + THIRD) / 3 / (4 + SECOND + THIRD)
            ),
        },
    )
    missed = answer({"x": 2.0, "a": 1.0}, {"a": 1, "b": 1}, 10).has_shape(cause="return a number")
    missed.equals(
        SECOND / (1 + SECOND),
        "what was not found gains nothing, and is part of the best ranking",
        mistakes={
            "the best ranking has all grades, those that were not found included": SECOND,
            "what was not found gains nothing; here it comes after the others": (SECOND + THIRD) / (1 + SECOND),
        },
    )
    answer({"a": 1.0}, {"a": 1, "b": 1, "c": 1}, 2).has_shape(cause="return a number").equals(
        1 / (1 + SECOND),
        "the best ranking ends at place k, too",
        mistakes={"the best ranking ends at place k, too; this one goes on": 1 / (1 + SECOND + THIRD)},
    )
    answer({"x": -2.0, "a": -1.0, "y": -3.0}, {"a": 1}, 5).equals(1.0, "scores may be negative: -1 is the highest here")
    answer({"x": 1.0, "a": 0.0, "y": 0.0}, {"a": 1}, 5).equals(
        (SECOND + THIRD) / 2,
        "a score of 0 is a score like any other: a was found",
        mistakes={"a score of 0 is a score like any other: a was found, and shares its place with y": 0.0},
    )
    answer({}, {"a": 1}, 5).equals(0.0, "a search that returns nothing gains nothing")
    answer({"x": 1.0, "a": 0.5}, {"a": 2, "x": 0, "b": 0}, 5).equals(SECOND, "a grade of 0 is no gain")
    steps, marks = (random(60, seed=seed).mul(2).int().tolist() for seed in (21, 22))
    names = [f"p{i}" for i in range(60)]
    many = {name: step / 2 for name, step in zip(names[:50], steps)}
    judged = {name: abs(mark) for name, mark in zip(names, marks) if mark >= 0}
    for k in (5, 40):
        large = answer(many, judged, k).has_shape(cause="return a number")
        large.equals_stored(f"fifty passages, k = {k}", "equal scores share what their places up to k are worth")


@exercise("10.3", "late_scores", points=3)
def late_scores(answer: Answer) -> None:
    """A question and a passage by hand, then padding in either, then batches."""

    def one_score(ask: Tensor, ask_mask: list[int], tell: Tensor, tell_mask: list[int]) -> Call:
        """The answer for one question and one passage."""
        found = answer(ask, torch.tensor([ask_mask]), tell, torch.tensor([tell_mask]))
        return found.has_shape(1, 1, cause="a score for each question and passage: (Q, P)").holds(
            "no score is NaN",
            lambda value: ~torch.isnan(value),
            "padding may be zeros, whose length is 0: nn.functional.normalize does not divide by it; and 0 times "
            "infinity is no number",
        )

    ask = torch.tensor([[[2.0, 0.0], [0.0, 3.0]]])
    tell = torch.tensor([[[5.0, 0.0], [0.6, 0.8], [-0.6, 0.8]]])  # cosines 1, 0.6, -0.6; 0, 0.8, 0.8
    one_score(ask, [1, 1], tell, [1, 1, 1]).equals(
        [[0.9]],
        "the largest cosines of the two tokens are 1 and 0.8",
        mistakes={
            "the mean over the question's tokens, not the sum": [[1.8]],
            "cosines: bring the vectors to length 1 first": [[6.2]],
            "cosines: bring the passages' vectors to length 1, too": [[(5 + 0.8) / 2]],
            "cosines: bring the questions' vectors to length 1, too": [[(2 + 2.4) / 2]],
            "each token of the question looks for the best token of the passage, not the other way round": [[2.6 / 3]],
            "the largest cosine of each token, not the mean of all": [[2.6 / 6]],
            "the mean over all tokens of the question, not only the best one": [[1.0]],
            "divide by the number of the question's tokens, not of the passage's": [[1.8 / 3]],
            "the largest cosine, not the smallest": [[-0.3]],
        },
    )
    short = torch.tensor([[[2.0, 0.0], [0.0, 3.0], [0.0, 900.0], [0.0, 0.0]]])
    one_score(short, [1, 0, 0, 0], tell, [1, 1, 1]).equals(
        [[1.0]],
        "the question has one token, and three vectors of padding",
        mistakes={
            "the question's padding must not score": [[(1 + 0.8 + 0.8 + 0) / 4]],
            "divide by the number of the question's tokens, without padding": [[1 / 4]],
            "zeros do not say what is padding, the mask does": [[(1 + 0.8 + 0.8) / 3]],
        },
    )
    away = torch.tensor([[[-1.0, 0.0], [0.0, 0.0], [7.0, 0.0]]])
    one_score(ask[:, :1], [1], away, [1, 0, 0]).equals(
        [[-1.0]],
        "the passage's only token has a cosine of -1; padding is never chosen",
        mistakes={
            "the passage's padding must not be found: the third vector is left over from another text": [[1.0]],
            "padding is never chosen: a cosine of 0 in its place is larger than -1, so put minus infinity": [[0.0]],
        },
    )
    where = "padding may come before the tokens: the masks say where"
    one_score(ask, [0, 1], tell, [0, 1, 1]).equals(
        [[0.8]], where, mistakes={f"{where}, not just how many tokens there are": [[1.0]]}
    )
    one_score(ask, [1, 0], tell, [0, 0, 1]).equals([[-0.6]], where)
    pair = torch.tensor([[[2.0, 0.0], [0.0, 3.0]], [[0.0, 1.0], [4.0, 4.0]]])
    shelf = torch.tensor(
        [
            [[5.0, 0.0], [0.0, 2.0], [1.0, 1.0]],
            [[0.0, -1.0], [3.0, 0.0], [8.0, 8.0]],
            [[-2.0, 0.0], [0.0, 6.0], [9.0, 9.0]],
        ]
    )
    own, theirs = torch.tensor([[1, 1], [1, 0]]), torch.tensor([[1, 1, 1], [1, 0, 0], [1, 0, 0]])
    batch = answer(pair, own, shelf, theirs).has_shape(2, 3, cause="a row for each question: (Q, P)")
    each = "each question with its own mask, each passage with its own"
    batch.equals(
        [[1.0, -0.5, -0.5], [1.0, -1.0, 0.0]],
        each,
        mistakes={
            "each question has its own number of tokens: divide each row by its own": [
                [1.0, -0.5, -0.5],
                [0.5, -0.5, 0.0],
            ],
            f"{each}; here the passages' padding is found": [
                [1.0, (1 + 2**-0.5) / 2, (2**-0.5 + 1) / 2],
                [1.0, 2**-0.5, 1.0],
            ],
        },
    )
    q, p = random(3, 4, 5, seed=31), random(6, 7, 5, seed=32) - 0.4
    q_mask = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 0]])
    p_mask = (torch.arange(7) < torch.tensor([7, 1, 3, 2, 6, 4])[:, None]).long()
    p_mask[3] = p_mask[3].flip(0)
    large = answer(q, q_mask, 9 * p, p_mask).has_shape(3, 6, cause="(Q, P)")
    large.equals_stored("three questions, six passages", "the mean over a question's tokens of the largest cosines")


@exercise("10.4", "judged_loss", points=3)
def judged_loss(answer: Answer) -> None:
    """A right passage against a wrong one, then several right ones, doubts, the batch, and small temperatures."""
    log = math.log
    ask = torch.tensor([[3.0, 0.0]])
    # cosines 1, 1/2, 0 and -1, which 1/t = ln 4 makes 4, 2, 1 and 1/4
    tell = torch.tensor([[0.5, 0.0], [1.0, 3**0.5], [0.0, 2.0], [-1.0, 0.0]])
    t, number = 1 / log(4), "one number: a tensor of shape ()"

    def loss_of(*judgements: int) -> Call:
        """The answer for the question and all four passages, with these judgements."""
        return answer(ask, tell, torch.tensor([judgements]), t).has_shape(cause=number)

    loss_of(1, -1, 0, -1).equals(
        log(5 / 4),
        "4 of the right passage against 1 of the wrong one: -ln(4/5)",
        mistakes={
            "cosines: bring the vectors to length 1 first": log(1 + 4**-1.5),
            "divide the cosines by the temperature, do not multiply": log(1 + math.exp(-t)),
            "divide the cosines by the temperature": log(1 + math.exp(-1)),
            "-log, not log": -log(5 / 4),
            "in nats: the natural logarithm": log(5 / 4) / log(2),
            "passages of which nobody knows are left out; here they count as wrong": log(1 + 3.25 / 4),
            "judgements are no weights: those of -1 must not be used as numbers": log(5 / 4) - log(3 / 2) - log(5),
            "judgements are no weights: those of -1 must not be used as numbers; and divide by the number of the right "
            "ones": (log(5 / 4) - log(3 / 2) - log(5)) / 4,
            "passages of which nobody knows are left out; here they count as right": (
                (log(5 / 4) + log(3 / 2) + log(5)) / 3
            ),
            "the right passage is in the denominator, too: it cannot be won more than certainly": log(1 / 4),
            "the mean over the right passages, not over all": log(5 / 4) / 4,
            "the loss of a question compares passages: the sum goes along a row": 0.0,
            "what is left out gets minus infinity before the logsumexp; a 0 is a number, too": log(2),
        },
    )
    loss_of(1, 0, 1, -1).equals(
        (log(6 / 4) + log(3)) / 2,
        "two right passages, with 4 and 1, each against the wrong one, with 2: the mean of ln(6/4) and ln(3/1)",
        mistakes={
            "a right passage is not in the denominator of another one": (log(7 / 4) + log(7)) / 2,
            "the mean over the question's right passages, not the sum": log(6 / 4) + log(3),
            "each right passage has a loss of its own; this is one for all of them together": log(7 / 5),
            "all right passages count, not only the first or the easiest": log(6 / 4),
            "all right passages count, not only the hardest": log(3),
            "the mean of the losses: first each passage's own logarithm, then the mean": log(2),
            "the mean over the right passages, not over all": (log(6 / 4) + log(3)) / 4,
            "the mean over the right passages, not over all that were judged": (log(6 / 4) + log(3)) / 3,
        },
    )
    loss_of(-1, 1, 0, 0).equals(
        log(1 + 1.25 / 2),
        "one right passage, with 2, against 1 and 1/4; nobody knows about the first",
        mistakes={
            "passages of which nobody knows are left out; here they count as wrong": log(1 + 5.25 / 2),
            "the sum over the wrong passages, not their mean": log(1 + 0.625 / 2),
            "all wrong passages count, not only the one that is most like the question": log(1 + 1 / 2),
        },
    )
    copies = torch.cat([tell, tell[:1]])
    answer(ask, copies, torch.tensor([[1, -1, 0, -1, 1]]), t).has_shape(cause=number).equals(
        log(5 / 4), "a second copy of the right passage, known as right, changes nothing"
    )
    alone = answer(ask, tell, torch.tensor([[1, 1, -1, -1]]), t).has_shape(cause=number)
    alone.holds("the loss is not NaN", lambda value: ~torch.isnan(value), "without a wrong passage the loss is 0")
    alone.equals(0.0, "without a wrong passage there is nothing to confuse: the loss is 0")
    two = torch.tensor([[3.0, 0.0], [0.0, 0.2]])  # the second has cosines 0, √3/2, 1 and 0
    judged = torch.tensor([[1, 0, 1, 0], [0, -1, 1, 0]])
    first, second = (log(6.25 / 4) + log(3.25)) / 2, log(6 / 4)
    rows = answer(two, tell, judged, t).has_shape(cause=number)
    rows.equals(
        (first + second) / 2,
        "the mean over the questions of the means over their right passages",
        mistakes={
            "each question counts the same: this is a mean over all right passages of the batch": (
                (2 * first + second) / 3
            ),
            "the mean over the questions, not the sum": first + second,
            "the mean over the questions, not over the passages": (first + second) / 4,
        },
    )
    sharp = answer(ask, tell, torch.tensor([[0, -1, -1, 1]]), 0.01).has_shape(cause=number)
    sharp.equals(
        200.0,
        "with a temperature of 0.01 the right passage has -100, the wrong one 100: stay with logarithms (logsumexp), "
        "as exp(100) is more than a float32 can hold",
    )
    calm = answer(ask, tell, torch.tensor([[1, -1, -1, 0]]), 0.01).has_shape(cause=number)
    calm.equals(0.0, "with a temperature of 0.01 the right passage has 100, the wrong one -100: stay with logarithms")
    ours, theirs = random(5, 6, seed=41), 3 * random(8, 6, seed=42)
    table = (random(5, 8, seed=43) * 1.3).round().clamp(-1, 1).int()
    table[:, 3], table[4] = 1, torch.tensor([1, -1, -1, 1, 1, -1, -1, 1])
    learns = answer(ours.requires_grad_(), theirs, table, 0.1).has_shape(cause=number)
    learns.equals_stored("five questions, eight passages", "each right passage against the wrong ones of its question")
    learns.is_a(Tensor, "a tensor, not a plain number: no .item()").holds(
        "it has a gradient", lambda value: value.requires_grad, "no .item(), no numpy: an encoder learns from it"
    )


@exercise("10.5", "visit_clusters", points=3)
def visit_clusters(answer: Answer) -> None:
    """Four clusters in the plane, by hand; then what is long, equal or missing."""

    def both(call: Call, numbers: list[int], compared: int, cause: str, mistakes: dict | None = None) -> None:
        """Check what was found, and the count of passages; mistakes are pairs of the two, or what was found alone."""
        known = {words: pair if isinstance(pair, tuple) else (pair, 0) for words, pair in (mistakes or {}).items()}
        found = {words: pair[0] for words, pair in known.items() if pair[0] != numbers}
        counts = {words: pair[1] for words, pair in known.items() if pair[0] == numbers}
        call[0].equals(numbers, f"the passages: {cause}", mistakes=found)
        call[1].equals(compared, "the number of passages in the visited clusters", mistakes=counts)

    centres = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])  # north, east, west, south
    # all of length 1: 0 is in the west, 1 and 3 in the north, 2, 4 and 5 in the east
    passages = torch.tensor([[-0.8, 0.6], [0.28, 0.96], [0.96, 0.28], [0.0, 1.0], [0.8, -0.6], [0.8, 0.6]])
    ask = torch.tensor([4.0, 3.0])  # most like 5, then 2, 1, 3, 4, 0; most like the east, then the north
    one = answer(ask, passages, centres, 1, 2)
    one.holds(
        "it returns a list of passages and a number",
        lambda value: len(value) == 2 and not isinstance(value[0], int),
        "return a tuple of the passages' numbers and of how many were compared",
    )
    both(
        one,
        [5, 2],
        3,
        "the east has 2, 4 and 5, and the question is most like 5 and 2",
        {
            "numbers among all passages, not among those of the cluster": [2, 0],
            "the best first: the largest cosine, not the smallest": [4, 2],
            "these are in the order of their numbers: the best come first": [2, 5],
            "the best of the cluster, not those with the smallest numbers": [2, 4],
            "at most k passages": [5, 2, 4],
            "visit the centres that are most like the question, not those that come first": [1, 3],
            "visit the centres that are most like the question, not least": [0],
            "the number of passages that were compared, not of those that are returned": ([5, 2], 2),
            "only the passages of the visited clusters are compared, not all": ([5, 2], 6),
            "count the passages of step 3; the centres are compared in step 2": ([5, 2], 7),
            "how many passages, not how many clusters": ([5, 2], 1),
        },
    )
    both(
        answer(ask, passages, centres, 1, 9),
        [5, 2, 4],
        3,
        "all that the cluster has, if it has fewer than k",
        {"one cluster is visited, as probes is 1; others are not, though k passages are wanted": [5, 2, 1, 3, 4, 0]},
    )
    both(
        answer(ask, passages, centres, 2, 4),
        [5, 2, 1, 3],
        5,
        "the second cluster is that in the north, with 1 and 3",
        {
            "visit as many centres as probes says": [5, 2, 4],
            "the best of all visited clusters together, not one cluster after the other": [5, 2, 4, 1],
        },
    )
    both(
        answer(torch.tensor([0.2, -1.0]), passages, centres, 1, 3),
        [],
        0,
        "the south has no passages, and counts as visited",
        {"a centre without passages counts as visited: here the next one was visited in its place": [4, 2, 5]},
    )
    both(
        answer(torch.tensor([-0.2, -1.0]), passages, centres, 2, 3),
        [0],
        1,
        "the south has no passages and counts as visited; the west has one",
        {"a centre without passages counts as visited: here another one was visited in its place": [4, 0, 2]},
    )
    both(answer(ask, passages, centres, 9, 3), [5, 2, 1], 6, "with more probes than centres all passages are compared")
    far = torch.tensor([[0.0, 1.0], [9.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    both(
        answer(ask, passages, far, 1, 9),
        [5, 2, 4],
        3,
        "cosines do not depend on the length of a centre",
        {
            "cosines: bring the centres to length 1 before you ask where a passage belongs": [5, 2, 1, 4],
            "most like means the largest cosine, not the smallest distance": [5, 2, 1, 3],
        },
    )
    tall = torch.tensor([[0.0, 10.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    both(
        answer(ask, passages, tall, 1, 9),
        [5, 2, 4],
        3,
        "cosines do not depend on the length of a centre",
        {"cosines: bring the centres to length 1 before you compare them with the question": [1, 3]},
    )
    heavy = passages * torch.tensor([1.0, 1.0, 9.0, 1.0, 50.0, 1.0])[:, None]
    both(
        answer(ask, heavy, centres, 2, 3),
        [5, 2, 1],
        5,
        "cosines do not depend on the length of a passage",
        {"cosines: bring the passages to length 1 before you compare them with the question": [4, 2, 5]},
    )
    twins = torch.tensor([[0.0, 4.0], [2.0, 0.0], [0.0, 1.0], [8.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    order = "of equal cosines the smaller number comes first"
    both(
        answer(torch.tensor([1.0, 1.0]), twins, centres[[2, 0, 1, 0]], 1, 9),
        [0, 2, 5],
        3,
        f"{order}, of centres and of passages: centre 1 is visited, not its equals 2 and 3",
        {f"{order}: argsort(descending=True, stable=True)": [5, 2, 0]},
    )
    both(answer(torch.tensor([2.0, 1.0]), twins, centres[:2], 2, 4), [1, 3, 4, 0], 6, order)
    both(answer(ask, twins[:1], centres[:1], 1, 1), [0], 1, "one passage, one centre")
    alike = torch.ones(500, 2)  # so many equal ones do not stay in order by chance
    both(answer(ask, alike, alike[:1], 1, 4), [0, 1, 2, 3], 500, f"{order}: argsort(descending=True, stable=True)")
    q, p, c = random(8, seed=51), random(60, 8, seed=52), 2 * random(7, 8, seed=53)
    for probes in (1, 3):
        large = answer(q, p, c, probes, 12)
        rule = "the best passages of the clusters whose centres are most like the question"
        large[0].equals_stored(f"sixty passages, {probes} probes", rule)
        large[1].equals_stored(f"sixty passages, {probes} probes, compared", "how many passages these clusters have")


SIZES = [2, 5, 10, 20, 40, 80]
SHARES = {
    "exact words": [0.7283623, 0.5446403, 0.4572944, 0.3899331, 0.3344922, 0.2875000],
    "word vectors": [0.8443038, 0.6580582, 0.5253779, 0.4000479, 0.2779017, 0.1562500],
}
OTHERS: dict[str, tuple[list[float], ...]] = {  # the results of known mistakes, for exact words and for word vectors
    "the two lines have each other's names": (SHARES["word vectors"], SHARES["exact words"]),
    "an equal score counts as lost: m counts the others that score at least as high": (
        [0.7506, 0.5603, 0.4696, 0.4007, 0.3454, 0.3000],
        [0.8443, 0.6582, 0.5257, 0.4006, 0.2787, 0.1562],
    ),
    "the right paragraph is one of the n: only n - 1 others are drawn": (
        [0.6326, 0.5190, 0.4471, 0.3857, 0.3327, 0.0000],
        [0.7600, 0.6225, 0.5077, 0.3914, 0.2735, 0.0000],
    ),
    "the others are drawn from 79: the right paragraph is not one of them": (
        [0.7318, 0.5464, 0.4586, 0.3910, 0.3354, 0.2883],
        [0.8463, 0.6603, 0.5276, 0.4022, 0.2801, 0.1583],
    ),
    "no paragraph is drawn twice: these are draws with replacement": (
        [0.7284, 0.5473, 0.4626, 0.3996, 0.3518, 0.3170],
        [0.8443, 0.6614, 0.5343, 0.4193, 0.3181, 0.2344],
    ),
    "m counts others, not the right paragraph itself": (
        [0.7161, 0.5154, 0.4040, 0.2953, 0.1689, 0.0000],
        [0.8316, 0.6226, 0.4635, 0.3022, 0.1396, 0.0000],
    ),
    "m counts others, not the right paragraph itself; and there are 79 of them": (
        [0.7193, 0.5174, 0.4058, 0.2973, 0.1714, 0.0036],
        [0.8338, 0.6252, 0.4663, 0.3050, 0.1424, 0.0020],
    ),
    "the right paragraph comes first if none of the m is drawn; this is the chance that one of them is": (
        [0.2716, 0.4554, 0.5427, 0.6101, 0.6655, 0.7125],
        [0.1557, 0.3419, 0.4746, 0.6000, 0.7221, 0.8438],
    ),
    "a share, from 0 to 1, not in per cent": tuple([100 * each for each in shares] for shares in SHARES.values()),
    "the mean over the questions, not the sum": tuple([320 * each for each in shares] for shares in SHARES.values()),
    "in a smaller library fewer others are ahead: these are the shares among all 80": ([0.2875] * 6, [0.15625] * 6),
    "n is the size of the library; this is how often the right one is among the first n of all 80": (
        [0.3500, 0.4437, 0.5062, 0.6219, 0.7344, 1.0000],
        [0.3187, 0.5156, 0.6406, 0.7937, 0.8969, 1.0000],
    ),
    "how often the right one comes first is asked, not the reciprocal rank": (
        [0.8642, 0.6970, 0.5912, 0.5032, 0.4301, 0.3686],
        [0.9222, 0.7929, 0.6818, 0.5653, 0.4472, 0.3275],
    ),
    "the mean of the chances, not the chance of the mean m": (
        [0.7342, 0.2824, 0.0517, 0.0011, 0.0000, 0.0000],
        [0.8481, 0.5101, 0.2078, 0.0273, 0.0001, 0.0000],
    ),
    "the others are drawn at random, they are not those that stand first on the shelf": (
        [0.7219, 0.6000, 0.4156, 0.3656, 0.3312, 0.2875],
        [0.9125, 0.7188, 0.5469, 0.4250, 0.3719, 0.1562],
    ),
}


@exercise("10.6", "plot_sizes", points=3)
def plot_sizes(answer: Answer) -> None:
    """The student's own figure: how often the right paragraph comes first, by the size of the library."""
    drawn = answer(SIZES)
    drawn.is_plot(2, "one for exact words, one for word vectors", SIZES, "n in sizes", "axes.plot(sizes, shares)")

    def line_called(axes: Drawing, name: str) -> Line | None:
        """The line over all sizes with these words in its name; None if there is none."""
        return next((line for line in axes.lines_over(SIZES, len(axes.lines)) if name in line.label.lower()), None)

    drawn.holds(
        'the legend calls the lines "exact words" and "word vectors"',
        lambda axes: all(line_called(axes, name) for name in SHARES),
        "axes.plot(…, label=name) for each name in scores, then axes.legend()",
    )
    drawn.holds(
        "the two lines are not the same",
        lambda axes: len({line_called(axes, name).ys for name in SHARES}) > 1,
        "one line from each table in scores",
    )
    for i, (name, shares) in enumerate(SHARES.items()):
        drawn.draws(
            name,
            lambda axes, name=name: line_called(axes, name).ys,
            shares,
            0.0003,
            "the mean over all 320 questions of the chance that none of the m others is among n - 1 drawn from 79",
            mistakes={cause: lines[i] for cause, lines in OTHERS.items() if lines[i] != shares},
        )
    with no_new_figures():
        answer([1]).holds(
            "with n = 1 the right paragraph is alone, and always first",
            lambda axes: sum(abs(line.ys[0] - 1) < 1e-6 for line in axes.lines_over([1], len(axes.lines))) >= 2,
            "one point for each n in sizes, whatever is in it",
        )
