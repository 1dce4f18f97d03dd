"""Homework 11: rotary positions, whole words, forger and detective, a band of scores, unpadding, and intervals."""

import math
from statistics import stdev

import torch
from torch import Tensor

from bertcourse.datasets import course_file
from bertcourse.pretraining import read_log
from bertcourse_homework.drawing import Drawing, Line, no_new_figures
from bertcourse_homework.engine import Answer, Call, exercise, random

LN2 = math.log(2)


@exercise("11.1", "turn_batch", points=3)
def turn_batch(answer: Answer) -> None:
    """Which columns turn, by which angle; each row's own positions; then positions that are large."""
    still = random(2, 3, 4, 6, seed=1)
    shape = "(B, H, L, d), as x"
    answer(still, torch.zeros(2, 4, dtype=torch.long)).has_shape(2, 3, 4, 6, cause=shape).equals(
        still, "at position 0 nothing turns"
    )

    def hands(*angles: float, back: float = 1.0) -> list:
        """The vectors (1, 0), (0, 1) and (0, 2), turned by these angles."""
        (cos_a, cos_b, cos_c), (sin_a, sin_b, sin_c) = (
            [each(angle) for angle in angles] for each in (math.cos, math.sin)
        )
        return [[[[cos_a, back * sin_a], [-back * sin_b, cos_b], [-2 * back * sin_c, 2 * cos_c]]]]

    c, s = math.cos, math.sin
    overwritten = [[c(1), c(1) * s(1)], [-s(1), c(1) - s(1) ** 2], [-2 * s(7), 2 * c(7) - 2 * s(7) ** 2]]
    two = torch.tensor([[[[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]]])
    answer(two, torch.tensor([[1, 1, 7]])).has_shape(1, 1, 3, 2, cause=shape).equals(
        hands(1, 1, 7),
        "with two columns there is one pair, and it turns by its position, in radians",
        mistakes={
            "it turns the other way: x_i cos - x_{i+d/2} sin, and x_i sin + x_{i+d/2} cos": hands(1, 1, 7, back=-1.0),
            "a token stands where `positions` says, not at its place in the row": hands(0, 1, 2),
            "a token stands at positions[b, l] itself: do not add 1": hands(2, 2, 8),
            "angles are in radians, not in degrees": hands(*map(math.radians, (1, 1, 7))),
            "the second half needs the first as it was: compute both before you write one": [[overwritten]],
        },
    )

    def four(one: float, two: float) -> list:
        """The four unit vectors, the first pair of columns turned by an angle, the second by another."""
        c, s, e, t = math.cos(one), math.sin(one), math.cos(two), math.sin(two)
        return [[[[c, 0, s, 0], [0, e, 0, t], [-s, 0, c, 0], [0, -t, 0, e]]]]

    units, places = torch.eye(4)[None, None], torch.tensor([[1, 100, 1, 100]])
    answer(units, places).has_shape(1, 1, 4, 4, cause=shape).equals(
        four(1, 1),
        "columns i and i + d/2 are a pair, and pair i turns by theta^(-2i/d) per position: here by 1 and by 0.01",
        mistakes={
            "a pair is (i, i + d/2), not two neighbours": [
                [[[c(1), s(1), 0, 0], [-s(100), c(100), 0, 0], [0, 0, c(0.01), s(0.01)], [0, 0, -s(1), c(1)]]]
            ],
            "there are d/2 pairs, and pair i turns by theta^(-2i/d), not theta^(-i/d)": four(1, 10),
            "each pair has a speed of its own: theta^(-2i/d)": four(1, 100),
            "the first pair is the fastest, not the slowest": four(0.01, 100),
            "the exponent is i/(d/2): the slowest pair does not reach 1/theta": four(1, 0.01),
            "pairs are counted from 0: the first turns by 1 per position": four(0.01, 0.01),
            "the exponent is negative: later pairs are slower": four(1, 10_000),
        },
    )
    answer(units, torch.tensor([[1, 10, 1, 10]]), 100.0).has_shape(1, 1, 4, 4, cause=shape).equals(
        four(1, 1),
        "with theta = 100 the second pair turns by 0.1 per position",
        mistakes={"theta is an argument: use it": four(1, 0.1)},
    )

    def of_each(angle_of: list) -> list:
        """(1, 0) in two rows, two heads, two places, turned by [b][h][l]."""
        return [[[[math.cos(p), math.sin(p)] for p in head] for head in row] for row in angle_of]

    ones = torch.tensor([1.0, 0.0]).expand(2, 2, 2, 2)
    answer(ones, torch.tensor([[1, 2], [3, 4]])).has_shape(2, 2, 2, 2, cause=shape).equals(
        of_each([[[1, 2], [1, 2]], [[3, 4], [3, 4]]]),
        "row b has the positions positions[b], in all its heads",
        mistakes={
            "each row has its own positions; these are the first row's for all": of_each(
                [[[1, 2], [1, 2]], [[1, 2], [1, 2]]]
            ),
            "(B, L) became (H, L): each row has its own positions, not each head": of_each(
                [[[1, 2], [3, 4]], [[1, 2], [3, 4]]]
            ),
            "(B, L) became (B, H): each token has its own position, not each head": of_each(
                [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]
            ),
        },
    )
    any_size = "does it work for any B, H, L and d, with positions in any order?"
    several = random(2, 3, 5, 8, seed=2)
    jumps = answer(several, torch.tensor([[0, 1, 2, 0, 1], [9, 9, 3, 0, 40]])).has_shape(2, 3, 5, 8, cause=shape)
    jumps.holds(
        "each vector keeps its length",
        lambda y: (y.norm(dim=-1) - several.norm(dim=-1)).abs() < 1e-3,
        "a turn changes no length: both lines of the formula, with the same angle",
    )
    jumps.equals_stored("two rows", any_size)
    pair = random(1, 1, 2, 32, seed=31)

    def score_at(first: int) -> Call:
        return answer(pair, torch.tensor([[first, first + 3]])).has_shape(1, 1, 2, 32, cause=shape)

    near = score_at(0)
    wanted = (near.value[0, 0, 0].double() @ near.value[0, 0, 1].double()).item()
    for first in (1_000_000, 1_234_567):
        far = score_at(first)
        got = (far.value[0, 0, 0].double() @ far.value[0, 0, 1].double()).item()
        far.holds(
            f"query · key is {wanted:.4f} at positions 0 and 3, so also at {first:,} and {first + 3:,}; here {got:.4f}",
            lambda _, got=got: abs(wanted - got) < 1e-3,
            "float32 has too few digits for such an angle: positions and frequencies in double precision (.double())",
        )
    angles = [1_000_000 / 10_000 ** (i / 4) for i in range(4)]
    turned = torch.zeros(1, 1, 4, 8)
    for i, angle in enumerate(angles):
        turned[0, 0, i, i], turned[0, 0, i, i + 4] = math.cos(angle), math.sin(angle)
    answer(torch.eye(8)[None, None, :4], torch.full((1, 4), 1_000_000)).has_shape(1, 1, 4, 8, cause=shape).equals(
        turned,
        "the frequencies need double precision, too: torch.arange(half) / half is float32",
    )
    near.holds(
        "the result has the type of x, float32",
        lambda y: y.dtype == torch.float32,
        "only the angles need double precision: bring their sines and cosines back, .to(x.dtype)",
    )


@exercise("11.2", "hide_words", points=3)
def hide_words(answer: Answer) -> None:
    """Which words are hidden: the order, the budget, special tokens, several rows, short rows."""

    def hides(
        word_ids: list[list[int]],
        keys: list[list[float]],
        rate: tuple,
        hidden: list[set[int]],
        cause: str,
        mistakes: dict[str, list[set[int]]] | None = None,
    ) -> None:
        """Check the places that are hidden, in each row; ``rate`` is () for the default."""

        def table(rows: list[set[int]]) -> list[list[bool]]:
            return [[column in row for column in range(len(word_ids[0]))] for row in rows]

        found = answer(torch.tensor(word_ids), torch.tensor(keys), *rate)
        found.has_shape(len(word_ids), len(word_ids[0]), cause="(B, L): True for hidden tokens").equals(
            table(hidden), cause, mistakes={words: table(rows) for words, rows in (mistakes or {}).items()}
        )

    six, order = [[0, 1, 1, 2, 3, 3, 3, 4, 5]], [[0.8, 0.1, 0.5, 0.2, 0.7, 0.3]]
    hides(
        six,
        order,
        (4 / 9,),
        [{1, 2, 3, 8}],
        "nine tokens, so a budget of 4: word 1 fits, word 3 does not, words 5 and 2 do",
        {
            "a word that does not fit is passed over, and the search goes on": [{1, 2}],
            "a word is hidden only if all of it still fits into the budget": [{1, 2, 4, 5, 6}],
            "never half a word: it is hidden as a whole, or passed over": [{1, 2, 4, 5}],
            "words with the smallest keys come first, not with the largest": [{0, 3, 7, 8}],
            "the budget is in tokens, not in words": [{1, 2, 4, 5, 6, 8}],
            "words are taken in the order of their keys, not of the text": [{0, 1, 2, 3}],
            "after a word is hidden, the budget is smaller by all its tokens, not by one": [{1, 2, 3, 4, 5, 6, 8}],
            "argsort gives the words in their order, not the place of each word in it": [{0, 1, 2, 8}],
            "True is for what is hidden, not for what stays": [{0, 4, 5, 6, 7}],
        },
    )
    with_special = [[-1, 0, 1, 2, 3, -1, -1, -1, -1, -1]]
    hides(
        with_special,
        [[0.2, 0.5, 0.9, 0.1]],
        (0.5,),
        [{1, 4}],
        "four tokens belong to words, so a budget of 2; a -1 is never hidden",
        {
            "-1 as an index means the last word: special tokens and padding are never hidden": [
                {0, 1, 4, 5, 6, 7, 8, 9}
            ],
            "the budget counts the tokens of words only: no padding, no [CLS], no [SEP]": [{1, 2, 3, 4}],
            "-1 is no word that could be hidden": [{0, 1, 5, 6, 7, 8, 9}],
        },
    )
    hides(
        [[0, 1, 2, 3, 4, 5], [0, 1, -1, -1, -1, -1]],
        [[0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.5, 0.02, 0.03, 0.04, 0.05, 0.06]],
        (0.5,),
        [{3, 4, 5}, {0}],
        "each row has its own keys and its own budget, here 3 and 1",
        {
            "each row has its own keys; these are the first row's for all": [{3, 4, 5}, {1}],
            "each row has its own budget, not one for all": [{4, 5}, {0, 1}],
            "each row has its own budget; this is the first row's for all": [{3, 4, 5}, {0, 1}],
            "a row may have fewer words than keys: the rest belongs to no word": [{4, 5}, set()],
        },
    )
    hides(
        [[0, 1, 1]],
        [[0.9, 0.1]],
        (),
        [{0}],
        "the budget is at least 1",
        {"the budget is at least 1": [set()], "the budget is 1 here: a word of two tokens does not fit": [{1, 2}]},
    )
    hides(
        [[0, 0, 1, 1], [0, 1, -1, -1], [-1, -1, -1, -1]],
        [[0.9, 0.1], [0.2, 0.3], [0.4, 0.5]],
        (),
        [set(), {0}, set()],
        "where no word fits, nothing is hidden",
        {
            "where no word fits, nothing is hidden": [{2, 3}, {0}, set()],
            "what a row leaves of its budget is lost: the next row begins with its own": [set(), {0, 1}, set()],
        },
    )
    singles = [[*range(11)], [*range(9), -1, -1]]
    falling = [[1 - i / 20 for i in range(11)]] * 2
    hides(
        singles,
        falling,
        (),
        [{9, 10}, {8}],
        "15 % of 11 and of 9 are 1.65 and 1.35, to the nearest whole number 2 and 1",
        {
            "rounded to the nearest whole number, not down": [{10}, {8}],
            "rounded to the nearest whole number, not up": [{9, 10}, {7, 8}],
        },
    )
    hides([[0, 1, 1, -1]], [[0.5, 0.1]], (1.0,), [{0, 1, 2}], "with rate 1 all words are hidden")
    hides([[*range(20)]], [[i / 20 for i in range(20)]], (), [{0, 1, 2}], "rate is 0.15 unless something else is given")
    sizes = ((random(4, 36, seed=4).abs() * 1.5).long().clamp(max=4) + 1).tolist()
    words = [sum(([word] * size for word, size in enumerate(row)), [])[: 36 - 4 * i] for i, row in enumerate(sizes)]
    large = torch.tensor([[-1, *row, *[-1] * (38 - len(row))] for row in words])
    found = answer(large, random(4, 36, seed=5), 0.3).has_shape(4, 39, cause="(B, L): True for hidden tokens")
    found.equals_stored(
        "four rows", "whole words in the order of their keys, as long as they fit into the row's budget"
    )


@exercise("11.3", "detective_loss", points=3)
def detective_loss(answer: Answer) -> None:
    """What the forger draws, what the detective reads, which answers are right, and their mean price."""
    usual = torch.full((1, 4, 4), 0.5)
    ids, hidden, real = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[0, 1, 1, 0]]).bool(), torch.ones(1, 4).long()
    scores, dice = torch.zeros(1, 4, 4), usual.clone()
    dice[0, [0, 1, 2, 3], [2, 3, 2, 1]] = 0.9  # -ln(-ln u) is 2.25 for 0.9, 0.37 for 0.5
    scores[0, 1, 0] = 1.0
    verdicts = torch.zeros(4, 4)
    verdicts[[0, 0, 3, 0, 1], [0, 3, 2, 1, 2]] = torch.tensor([1 / 3, 3, 4, 9, 1 / 9]).log()
    both = "return a tuple: what the detective reads, and the loss"
    first = answer(verdicts, ids, hidden, scores, dice, real)
    first[0].has_shape(1, 4, cause=both).equals(
        [[0, 3, 2, 3]],
        "at hidden places the token with the largest score + g, with g = -ln(-ln u); elsewhere the original",
        mistakes={
            "forgeries stand at the hidden places only": [[2, 3, 2, 1]],
            "the forger draws: the largest score + g, not the largest score; g is -ln(-ln u), with both minus signs": [
                [0, 0, 0, 3]
            ],
            "the noise is g = -ln(-ln u), not u itself, and not ln u": [[0, 0, 2, 3]],
            "at hidden places stand the forgeries, not the original": [[0, 1, 2, 3]],
            "forgeries stand where `hidden` is True": [[2, 1, 2, 1]],
        },
    )
    sure, quiet = torch.zeros(1, 2, 3), torch.full((1, 2, 3), 0.5)
    sure[0, 1, 1], quiet[0, 1, 2] = 3.0, 0.9
    answer(torch.zeros(3, 3), torch.tensor([[0, 0]]), torch.tensor([[False, True]]), sure, quiet, real[:, :2])[
        0
    ].equals(
        [[0, 1]],
        "g is added to the scores",
        mistakes={"g is added to the scores, not to their softmax": [[0, 2]]},
    )
    fine, alarm, half, four = math.log(4 / 3), math.log(5), LN2, math.log(4)

    def soft(score: float) -> float:
        """The price of log-odds, and of probabilities that are taken for log-odds."""
        return math.log1p(math.exp(score))

    asked = "the mean of -ln P(right verdict) of four tokens; a forgery that equals the original is original"
    first[1].has_shape(cause="one number: a tensor of shape ()").equals(
        (fine + fine + alarm + half) / 4,
        asked,
        mistakes={
            "a forgery that equals the original is original: compare what is read with input_ids": (
                (fine + fine + math.log(5 / 4) + half) / 4
            ),
            "the log-odds are those of a forgery: where it is one, the label is 1": (
                four + four + math.log(5 / 4) + half
            )
            / 4,
            "what the forger would draw elsewhere forges nothing: compare what is read with input_ids": (
                (four + fine + alarm + half) / 4
            ),
            "all real tokens are asked about, not only the hidden ones": (fine + alarm) / 2,
            "all real tokens are asked about, not only the forged ones": fine,
            "the mean over the tokens, not the sum": fine + fine + alarm + half,
            "without the factor 50": 50 * (fine + fine + alarm + half) / 4,
            "the detective reads the text with the forgeries in it, not the original": (
                (fine + 2 * math.log(10 / 9) + half) / 4
            ),
            "the detective reads the text with the forgeries in it, and is asked about that text": (
                (fine + math.log(10) + math.log(10 / 9) + half) / 4
            ),
            "log_odds gives log-odds: the sigmoid comes once, in the loss": sum(map(soft, (0.25, -0.75, 0.8, 0.5))) / 4,
            "in nats: the natural logarithm": (fine + fine + alarm + half) / 4 / LN2,
            "a forgery is a question as well as an original: -ln P of the right verdict, whichever it is": (
                (fine + alarm + half) / 4
            ),
        },
    )
    padded_ids, mask = torch.tensor([[0, 1, 2, 3], [0, 3, 3, 3]]), torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0]])
    weights = verdicts.clone()
    weights[0, 0] = math.log(7)  # a false alarm of 7 to 1: P(original) is 1/8
    more = answer(
        weights,
        padded_ids,
        torch.cat([hidden, torch.zeros(1, 4).bool()]),
        torch.cat([scores, torch.zeros(1, 4, 4)]),
        torch.cat([dice, usual]),
        mask,
    )
    eight, row = math.log(8), fine + alarm + half
    more[0].has_shape(2, 4, cause=both).equals([[0, 3, 2, 3], [0, 3, 3, 3]], "nothing is hidden in the second text")
    more[1].has_shape(cause="one number: a tensor of shape ()").equals(
        (row + 2 * eight) / 5,
        "five real tokens in two texts: nothing is asked about padding",
        mistakes={
            "nothing is asked about padding": (row + 2 * eight + four + 2 * half) / 8,
            "divide by the number of real tokens, not of all places": (row + 2 * eight) / 8,
            "each token counts the same, in whichever text it is: this is a mean of the texts' means": (
                ((row + eight) / 4 + eight) / 2
            ),
            "divide by the number of real tokens, not of texts": (row + 2 * eight) / 2,
            "token 0 is a token: only the mask says what is padding": (row + four + 2 * half) / 6,
        },
    )
    left = answer(
        weights,
        torch.tensor([[1, 1, 0, 0]]),
        torch.zeros(1, 4).bool(),
        scores,
        dice,
        torch.tensor([[0, 0, 1, 1]]),
    )
    left[1].has_shape(cause="one number").equals(
        (LN2 + eight) / 2,
        "padding may stand on the left",
        mistakes={"padding may stand on the left: the mask says where": LN2},
    )
    large = torch.zeros(3, 3)
    large[0, 0], large[0, 1] = 900.0, -900.0
    stable = answer(large, torch.tensor([[0, 1]]), torch.zeros(1, 2).bool(), sure, quiet, real[:, :2])
    stable[1].has_shape(cause="one number").equals(
        450.0, "the logarithm of a sigmoid that has become 0 is minus infinity: use binary_cross_entropy_with_logits"
    )
    batch = random(3, 6, seed=6), random(3, 6, 9, seed=7), random(3, 6, 9, seed=8).sigmoid()
    text = (batch[0] * 100).long() % 9
    places = torch.tensor([[0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1]]).bool()
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]])
    learns = answer((2 * random(9, 9, seed=9)).requires_grad_(), text, places, 2 * batch[1], batch[2], mask)
    learns[0].has_shape(3, 6, cause=both).equals_stored("three texts, read", "score + g at hidden places")
    loss = learns[1].has_shape(cause="one number")
    loss.equals_stored("three texts, loss", "the mean over all real tokens of the batch")
    loss.is_a(Tensor, "a tensor, not a plain number: no .item()").holds(
        "it has a gradient", lambda value: value.requires_grad, "no .item(), no numpy: the detective learns from it"
    )


def at_real(call: Call, mask: Tensor) -> Call:
    """The part of a result (B, H, L, …) that is at real tokens: (tokens, H, …)."""
    return Call(call.answer, f"{call.text} at real tokens", call.value.transpose(1, 2)[mask.bool()])


@exercise("11.4", "band_attention", points=4)
def band_attention(answer: Answer) -> None:
    """Which places are seen, with which weights, and what comes out; ends, padding, any reach."""
    pair = "return a tuple: output (B, H, L, d), and weights (B, H, L, 2w + 1)"

    def is_finite(call: Call) -> None:
        call.holds(
            "all of it is a number",
            lambda value: value.isfinite(),
            "a softmax of nothing but minus infinity is NaN: padding that sees no token needs a number, too",
        )

    def shown(rows: list[list[float]]) -> list:
        return [[rows]]

    nothing, values = torch.zeros(1, 1, 5, 1), torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])[None, None, :, None]
    third, ones = [1 / 3] * 3, torch.ones(1, 5, dtype=torch.long)
    even = answer(nothing, nothing, values, ones, 1)
    even[1].has_shape(1, 1, 5, 3, cause=pair).equals(
        shown([[0, 0.5, 0.5], third, third, third, [0.5, 0.5, 0]]),
        "with equal scores the places that exist share the weight: weights[i][k] is for place i - w + k",
        mistakes={
            "before the first and after the last token there is nothing to see: these scores are no scores of 0": shown(
                [third] * 5
            ),
            "hide places before the softmax: weights that are set to 0 after it do not sum to 1": shown(
                [[0, 1 / 3, 1 / 3], third, third, third, [1 / 3, 1 / 3, 0]]
            ),
            "weights[i][k] is for place i - w + k, so place i - w comes first": shown(
                [[0.5, 0.5, 0], third, third, third, [0, 0.5, 0.5]]
            ),
            "a token sees w places on either side, not only those before it": shown([[0, 1, 0]] + [[0.5, 0.5, 0]] * 4),
            "the softmax is over the window alone, not over all L places": shown(
                [[0, 0.2, 0.2], [0.2] * 3, [0.2] * 3, [0.2] * 3, [0.2, 0.2, 0]]
            ),
            "a token sees itself, too": shown([[0, 0, 1], *[[0.5, 0, 0.5]] * 3, [1, 0, 0]]),
        },
    )
    even[0].has_shape(1, 1, 5, 1, cause=pair).equals(
        [[[[1.5], [7 / 3], [14 / 3], [28 / 3], [12]]]],
        "the output is the mean of the values that are seen, by their weights",
        mistakes={
            "after the last token comes nothing, not the first one": [
                [[[19 / 3], [7 / 3], [14 / 3], [28 / 3], [25 / 3]]]
            ],
            "it is attention, with weights that sum to 1: do not add values up": [[[[3], [7], [14], [28], [24]]]],
            "each weight belongs to its own value: place i - w + k, in the same order": [
                [[[0.5], [7 / 3], [14 / 3], [28 / 3], [8]]]
            ],
        },
    )
    ask = torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(1, 1, 3, 4)
    keys = torch.zeros(1, 1, 3, 4)
    keys[0, 0, :, 0] = 2 * LN2 * torch.tensor([0.0, 1.0, 2.0])  # over √d: 0, ln 2, 2 ln 2
    keys[0, 0, :, 1] = 5.0
    vectors = torch.tensor([[7.0, 0, 0, 0], [0, 7.0, 0, 0], [0, 0, 7.0, 0]])[None, None]
    doubled = answer(ask, keys, vectors, torch.ones(1, 3).long(), 1)
    doubled[1].has_shape(1, 1, 3, 3, cause=pair).equals(
        shown([[0, 1 / 3, 2 / 3], [1 / 7, 2 / 7, 4 / 7], [1 / 3, 2 / 3, 0]]),
        "the softmax of the products with the keys of the window, over √d",
        mistakes={
            "divide the scores by √d": shown([[0, 1 / 5, 4 / 5], [1 / 21, 4 / 21, 16 / 21], [1 / 5, 4 / 5, 0]]),
            "divide the scores by √d, not by d": shown(
                [[0, 0.41421, 0.58579], [0.22654, 0.32038, 0.45308], [0.41421, 0.58579, 0]]
            ),
            "weights[i][k] is for place i - w + k, so place i - w comes first": shown(
                [[2 / 3, 1 / 3, 0], [4 / 7, 2 / 7, 1 / 7], [0, 2 / 3, 1 / 3]]
            ),
            "all that are seen share the weight by their scores, not evenly": shown(
                [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]]
            ),
        },
    )
    doubled[0].has_shape(1, 1, 3, 4, cause=pair).equals(
        [[[[7 / 3, 14 / 3, 0, 0], [1, 2, 4, 0], [0, 7 / 3, 14 / 3, 0]]]],
        "the output is the sum of weight times value, of each place its own",
    )
    mask = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]])
    wild = torch.cat([values, values]).masked_fill(mask[:, None, :, None] == 0, 7000.0)
    zeros = torch.zeros(2, 1, 5, 1)
    padded = answer(zeros, 1000 * (1 - mask[:, None, :, None].float()), wild, mask, 1)
    for i, size in ((1, 3), (0, 1)):
        is_finite(padded[i].has_shape(2, 1, 5, size, cause=pair))
    seen = [[0, 0.5, 0.5], third, [0.5, 0.5, 0]]
    at_real(padded[1].has_shape(2, 1, 5, 3), mask).equals(
        [[row] for row in (*seen, *seen)],
        "nobody sees padding, on the left or on the right",
        mistakes={
            "nobody sees padding: ask attention_mask about the place that is seen": [
                [row] for row in ([0, 0.5, 0.5], third, third, third, third, [0.5, 0.5, 0])
            ],
            "padding may stand on the left: the mask says where, not only how many tokens are real": [
                [row] for row in (*seen, [0.5, 0.5, 0], [1, 0, 0], [0, 0, 0])
            ],
        },
    )
    at_real(padded[0].has_shape(2, 1, 5, 1), mask).equals(
        [[[1.5]], [[7 / 3]], [[3]], [[6]], [[28 / 3]], [[12]]], "what stands at padding must not matter"
    )
    alone = answer(nothing, nothing, values, ones, 0)
    alone[1].has_shape(1, 1, 5, 1, cause="with reach 0 a token sees itself only").equals(
        shown([[1]] * 5), "with reach 0 a token sees itself only"
    )
    alone[0].has_shape(1, 1, 5, 1, cause=pair).equals(values, "with reach 0 a token sees itself only")
    beyond = "the reach may be larger than the text"
    far = answer(nothing[:, :, :2], nothing[:, :, :2], values[:, :, :2], ones[:, :2], 4)
    far[1].has_shape(1, 1, 2, 9, cause=beyond).equals(
        shown([[0, 0, 0, 0, 0.5, 0.5, 0, 0, 0], [0, 0, 0, 0.5, 0.5, 0, 0, 0, 0]]), beyond
    )
    far[0].has_shape(1, 1, 2, 1, cause=beyond).equals([[[[1.5], [1.5]]]], beyond)
    huge = answer(100 * ask, 300 * keys, vectors, torch.ones(1, 3).long(), 1)
    huge[1].has_shape(1, 1, 3, 3, cause=pair).equals(
        shown([[0, 0, 1], [0, 0, 1], [0, 1, 0]]), "scores may be large: torch.softmax does not overflow"
    )
    q, k, v = (2 * random(2, 3, 9, 4, seed=seed) for seed in (10, 11, 12))
    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1, 1, 1, 1]])
    large, any_size = answer(q, k, v, mask, 2), "does it work for any B, H, L, d and reach, each head for itself?"
    for i, name, size in ((1, "weights", 5), (0, "output", 4)):
        part = at_real(large[i].has_shape(2, 3, 9, size, cause=pair), mask)
        part.equals_stored(name, any_size)


@exercise("11.5", "lay_end_to_end", points=2)
def lay_end_to_end(answer: Answer) -> None:
    """Four parts of one long row: tokens, positions, bounds, mask; padding on either side, rows without a token."""
    names = ("ids", "positions", "bounds", "may_attend")

    def parts(
        ids: Tensor,
        mask: Tensor,
        reach: int | None,
        expected: tuple,
        cause: str,
        mistakes: tuple[dict, ...] = ({},) * 4,
    ) -> None:
        """Check the four results in their order."""
        call = answer(ids, mask) if reach is None else answer(ids, mask, reach)
        total = len(expected[0])
        shapes = (total,), (total,), (len(ids) + 1,), (total, total)
        sizes = (
            "return (ids, positions, bounds, may_attend); ids: the T real tokens of all texts",
            "positions: one for each of the T real tokens",
            "bounds: B + 1 numbers, 0 and then where each text ends; a row without a token is a text, too",
            "may_attend: a row and a column for each of the T real tokens",
        )
        for i, name in enumerate(names):
            part = call[i].has_shape(*shapes[i], cause=sizes[i])
            part.equals(expected[i], f"{name}: {cause}", mistakes=mistakes[i])

    def blocks(*sizes: int) -> list[list[bool]]:
        owner = sum(([i] * size for i, size in enumerate(sizes)), [])
        return [[a == b for b in owner] for a in owner]

    ids = torch.tensor([[5, 0, 7, 7], [0, 6, 0, 8]])
    right = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    causal = [[a and j <= i for j, a in enumerate(row)] for i, row in enumerate(blocks(3, 2))]
    parts(
        ids,
        right,
        None,
        ([5, 0, 7, 0, 6], [0, 1, 2, 0, 1], [0, 3, 5], blocks(3, 2)),
        "five real tokens, of two texts",
        (
            {
                "text after text, not column after column": [5, 0, 0, 6, 7],
                "token 0 is a token: only the mask says what is padding": [5, 7, 7, 6, 8],
            },
            {
                "positions start again with each text": [0, 1, 2, 3, 4],
                "positions are counted from 0": [1, 2, 3, 1, 2],
            },
            {
                "where each text begins, not how long it is": [0, 3, 2],
                "counted from the beginning of the long row, without padding": [0, 4, 8],
                "bounds[b + 1] is the first token that is not of text b any more": [0, 2, 4],
            },
            {
                "a token sees its own text only": [[True] * 5] * 5,
                "a token sees what comes after it, too: this is an encoder": causal,
                "True is for what may be seen, not for what is hidden": [[not a for a in row] for row in blocks(3, 2)],
            },
        ),
    )
    left = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]])
    parts(
        ids,
        left,
        None,
        ([7, 7, 6, 0, 8], [0, 1, 0, 1, 2], [0, 2, 5], blocks(2, 3)),
        "padding may stand on the left: the first real token is at position 0",
        (
            {"padding may stand on the left: the mask says where": [5, 0, 0, 6, 0]},
            {"the first real token is at position 0, wherever it stands in its row": [2, 3, 1, 2, 3]},
            {},
            {"tokens are of one text if they come from one row, not if they have one id": blocks(2, 1, 1, 1)},
        ),
    )
    empty = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    parts(
        torch.tensor([[3, 4, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0]]),
        empty,
        None,
        ([3, 4, 3], [0, 1, 0], [0, 2, 2, 3], blocks(2, 1)),
        "a row without a token is a text of length 0, and keeps its place in bounds",
    )
    nearby = [[a and abs(i - j) <= 1 for j, a in enumerate(row)] for i, row in enumerate(blocks(4, 3))]
    across = [[abs(i - j) <= 1 for j in range(7)] for i in range(7)]
    two = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 0]])
    both = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    own_positions = [0, 1, 2, 3, 0, 1, 2]
    parts(
        two,
        both,
        1,
        ([1, 2, 3, 4, 5, 6, 7], own_positions, [0, 4, 7], nearby),
        "in a local layer the same text, and at most `reach` positions apart",
        (
            {},
            {},
            {},
            {
                "reach is for a local layer: at most so many positions apart": blocks(4, 3),
                "neighbours in the long row may be of two texts": across,
                "the same position in another text is not nearby": [
                    [abs(a - b) <= 1 for b in own_positions] for a in own_positions
                ],
                "at most reach positions apart, reach included": blocks(*[1] * 7),
                "a local layer looks in both directions": [
                    [a and j <= i for j, a in enumerate(row)] for i, row in enumerate(nearby)
                ],
            },
        ),
    )
    parts(
        two,
        both,
        0,
        ([1, 2, 3, 4, 5, 6, 7], own_positions, [0, 4, 7], blocks(*[1] * 7)),
        "0 is a reach, too: each token sees itself only; ask reach is None",
    )
    texts = (random(5, 12, seed=13) * 100).long().abs() % 50
    lengths, starts = [12, 3, 0, 7, 5], [0, 9, 0, 0, 4]
    mask = torch.tensor([[int(a <= i < a + n) for i in range(12)] for a, n in zip(starts, lengths)])
    large = answer(texts, mask, 3)
    for i, name in enumerate(names):
        large[i].equals_stored(name, f"{name}: does it work for any B and L?")


T95 = {2: 12.706, 3: 4.303, 5: 2.776}


def losses_of(arm: str) -> Tensor:
    """(3, T): the held-out losses of the study's three seeds."""
    logs = [read_log(course_file(f"runs/recipes/screen-{arm}-seed{seed}.jsonl")) for seed in range(3)]
    rows = [[line["mlm_loss"] for line in log if line["event"] == "evaluation"] for log in logs]
    return torch.tensor(rows, dtype=torch.float64)[:, 1:]


def line_called(axes: Drawing, name: str, xs: list[float]) -> Line | None:
    """The line over these places with this word in its name, and neither of the ends; None if there is none."""
    names = [word for word in ("lower", "upper", "difference") if name in (word, "difference")]
    lines = axes.lines_over(xs, len(axes.lines))
    return next((line for line in lines if next((w for w in names if w in line.label.lower()), "") == name), None)


def has_verdict(drawn: Call, verdict: str, causes: dict[str, str], usual: str) -> None:
    """Check the word in the title; ``causes`` are those of other words."""

    def words(axes: Drawing) -> list[str]:
        return [word for word in ("better", "worse", "null") if word in axes.title.lower()]

    drawn.holds(
        f"the title has exactly one of the words better, worse, null; yours: {', '.join(words(drawn.value)) or 'none'}",
        lambda axes: len(words(axes)) == 1,
        "axes.set_title, with the verdict at the last evaluation and neither of the other words",
    )
    found = words(drawn.value)[0]
    drawn.holds(
        f"the title must say {verdict}; yours says {found}", lambda _: found == verdict, causes.get(found, usual)
    )


def columns_of(ours: list[list[float]], theirs: list[list[float]]) -> list[tuple[list[float], list[float]]]:
    """For each evaluation the losses of both arms, over seeds."""
    return [([*map(float, a)], [*map(float, b)]) for a, b in zip(zip(*ours), zip(*theirs))]


def known_lines(ours: list[list[float]], theirs: list[list[float]]) -> dict[str, list[tuple[float, float]]]:
    """For each known mistake the mean and the margin that it gives, at each evaluation; "" is for what is right."""
    n, found = len(ours), {}
    root, t = n**0.5, T95[n]
    for a, b in columns_of(ours, theirs):
        gaps = [x - y for x, y in zip(a, b)]
        mean, spread = sum(gaps) / n, stdev(gaps)
        other = {2: 4.303, 3: 2.776, 5: 2.306}[n]  # Student's t for two samples
        for words, line in {
            "": (mean, t * spread / root),
            "ours minus theirs, not theirs minus ours": (-mean, t * spread / root),
            "half of the interval is t · s / √n: divide by √n": (mean, t * spread),
            "divide by √n, not by n": (mean, t * spread / n),
            "s divides by n - 1 (torch.std does), not by n": (mean, t * spread * ((n - 1) / n) ** 0.5 / root),
            "t depends on the number of seeds: STUDENT[n], not 1.96": (mean, 1.96 * spread / root),
            "t depends on the number of seeds: STUDENT[n], not 2": (mean, 2 * spread / root),
            "t depends on the number of seeds: STUDENT[n], not always that of three": (mean, 4.303 * spread / root),
            "STUDENT is asked by the number of seeds, n, not by n - 1": (
                mean,
                {2: t, 3: 12.706, 5: 3.182}[n] * spread / root,
            ),
            "√n is the root of the number of seeds, not of evaluations": (mean, t * spread / len(ours[0]) ** 0.5),
            "this is s/√n, one standard error: half of the interval is t times that": (mean, spread / root),
            "this is s, the spread of the seeds: half of the interval is t · s / √n": (mean, spread),
            "h is half of the interval: it goes from m - h to m + h": (mean, t * spread / root / 2),
            "compare runs of one seed: the spread of the differences, not of both arms' losses": (
                mean,
                t * ((stdev(a) ** 2 + stdev(b) ** 2) / n) ** 0.5,
            ),
            "compare runs of one seed: s is that of the differences; these are two unpaired samples": (
                mean,
                other * ((stdev(a) ** 2 + stdev(b) ** 2) / n) ** 0.5,
            ),
            "s is the spread of the differences, not of our losses alone": (mean, t * stdev(a) / root),
            "differences seed by seed, not a mean that ignores the seeds' signs": (
                sum(map(abs, gaps)) / n,
                t * spread / root,
            ),
            "the difference of the losses in nats, not relative to theirs": (
                sum(x / y - 1 for x, y in zip(a, b)) / n,
                t * stdev([x / y - 1 for x, y in zip(a, b)]) / root,
            ),
        }.items():
            found.setdefault(words, []).append(line)
    return found


@exercise("11.6", "plot_difference", points=3)
def plot_difference(answer: Answer) -> None:
    """The student's own figure: a difference with its interval, over time; then the verdict at its end."""
    log = read_log(course_file("runs/recipes/screen-plain-seed0.jsonl"))
    millions = [round(line["tokens"] / 1e6, 1) for line in log if line["event"] == "evaluation"][1:]
    drawn = answer(millions, losses_of("plain-muon"), losses_of("plain"))
    whole = "axes.plot(millions, …): one value for each evaluation"
    drawn.is_plot(3, "difference, lower and upper", millions, "evaluation", whole)
    drawn.holds(
        'the legend calls the lines "difference", "lower" and "upper"',
        lambda axes: all(line_called(axes, name, millions) for name in ("difference", "lower", "upper")),
        'axes.plot(…, label="difference") and so on, then axes.legend()',
    )

    def draws(drawn: Call, xs: list[float], ours: list[list[float]], theirs: list[list[float]], cause: str) -> None:
        """Check the three lines, the mean first."""
        known = known_lines(ours, theirs)
        for name, sign in (("difference", 0), ("lower", -1), ("upper", 1)):
            lines = {words: [m + sign * h for m, h in points] for words, points in known.items()}
            right = lines.pop("")
            lines = {
                words: line for words, line in lines.items() if max(abs(a - b) for a, b in zip(line, right)) > 0.002
            }
            if sign:
                lines[f"{name} is the other one: lower is m - h, upper is m + h"] = [m - sign * h for m, h in known[""]]
                ends = [(min if sign < 0 else max)(x - y for x, y in zip(a, b)) for a, b in columns_of(ours, theirs)]
                lines["the ends are m - h and m + h, not the lowest and the highest seed"] = ends
                lines["m - h and m + h: h itself is no end of the interval"] = [sign * h for _, h in known[""]]
            drawn.draws(
                name, lambda axes, name=name: line_called(axes, name, xs).ys, right, 0.001, cause, mistakes=lines
            )

    with no_new_figures():
        xs = [1.0, 2.0, 3.0, 4.0]
        theirs = [[5.0, 8.0, 4.0, 3.0], [7.0, 8.0, 4.0, 3.5], [6.0, 8.5, 4.5, 2.0]]
        ours = [[4.0, 9.0, 5.0, 1.0], [5.0, 8.0, 5.2, 2.5], [3.0, 9.0, 3.5, 0.25]]
        small = answer(xs, torch.tensor(ours), torch.tensor(theirs))
        has_lines = "one value for each evaluation, whatever their number"
        small.is_plot(3, "difference, lower and upper", xs, "evaluation", has_lines)
        draws(
            small, xs, ours, theirs, "for each evaluation m and m ± h, with h = t · s / √n over the seeds' differences"
        )
        has_verdict(
            small,
            "better",
            {
                "worse": "a lower loss is better: ours minus theirs is below 0",
                "null": "the verdict at the last evaluation: there the whole interval is below 0",
            },
            "the verdict at the last evaluation",
        )
        two = [row[:3] for row in ours[:2]], [row[:3] for row in theirs[:2]]
        pair = answer(xs[:3], *map(torch.tensor, two))
        pair.is_plot(3, "difference, lower and upper", xs[:3], "evaluation", has_lines)
        draws(pair, xs[:3], *two, "with two seeds t is 12.706: STUDENT[n]")
        sign = "the whole interval must be on one side of 0, not only the mean"
        has_verdict(pair, "null", {"better": sign, "worse": sign}, sign)
        level = [[4.0, 3.0], [5.0, 4.0], [3.5, 2.5], [4.5, 3.5], [9.0, 8.0]]
        above = [[row[0] - 0.5, row[1] + 0.25] for row in level]
        above[0][1] += 0.02
        five = answer(xs[:2], torch.tensor(above), torch.tensor(level))
        five.is_plot(3, "difference, lower and upper", xs[:2], "evaluation", has_lines)
        draws(five, xs[:2], above, level, "what the runs of one seed have in common drops out of their difference")
        has_verdict(
            five,
            "worse",
            {
                "better": "the verdict at the last evaluation: there the whole interval is above 0",
                "null": "the interval of the differences is narrow: its lower end is above 0",
            },
            "the verdict at the last evaluation",
        )
    draws(
        drawn, millions, losses_of("plain-muon").tolist(), losses_of("plain").tolist(), "m and m ± h at each evaluation"
    )
    has_verdict(drawn, "worse", {}, "the verdict at the last evaluation: there the whole interval is above 0")
