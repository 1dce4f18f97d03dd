"""Rotary positions: queries and keys are turned by their positions, and only the distance between them counts."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bertcourse_figures.interactive import Figure, significant
from bertcourse_figures.schematic import Schematic, as_numbers, paint, short, signed

FACES = 6  # pairs of columns that are drawn
REACH = 24  # the largest distance
MOST_PLACES = 512
RADIUS, SHORTEST = 46, 0.35  # of a face; of its radius, so that every hand has a visible direction
HEADING = "pairs of columns, and how far one turn takes"
NAMED = (-24, -8, -1, 0, 1, 8, 24)  # distances whose scores the words give


class Clocks(NamedTuple):
    """What the figure draws.

    Attributes:
        query, key: of d numbers each, not turned.
        frequencies: (d/2,), the angle by which each pair of columns turns from place to place.
        shown: which pairs are drawn, from fastest to slowest.
        turns: for each of them, how many places a full turn takes.
        scores: for each distance from -reach to reach.
        most: the last position.
        start: position of the query, and distance of the key, at first.
    """

    query: np.ndarray
    key: np.ndarray
    frequencies: np.ndarray
    shown: list[int]
    turns: list[str]
    scores: np.ndarray
    most: int
    start: tuple[int, int]

    @property
    def reach(self) -> int:
        """The largest distance."""
        return len(self.scores) // 2


def explore_rotary(
    query: Tensor,
    key: Tensor,
    turn: Callable[[Tensor, Tensor, float], Tensor],
    theta: float = 10_000.0,
    most: int = 64,
    start: tuple[int, int] | None = None,
) -> Figure:
    """Move a query and a key together, and the score stays; move them apart, and it changes.

    Args:
        query, key: (d,), d even: one vector each, before any rotation.
        turn: chapter 11's function, which turns vectors (L, d) by positions (L,) and theta.
        theta: the base of the frequencies.
        most: the last position; the first is 0.
        start: where query and key stand at first; None for the middle, the key three before the query.

    Raises:
        ValueError: shapes that do not fit, numbers that are not finite, or settings out of range.

    Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.
    """
    if query.dim() != 1 or query.shape != key.shape or len(query) % 2 or not len(query):
        raise ValueError(
            f"query and key must be of the same shape (d,), d even; got {tuple(query.shape)} and {tuple(key.shape)}."
        )
    if not (theta > 1 and 1 <= most <= MOST_PLACES):
        raise ValueError(f"theta must be above 1, and most from 1 to {MOST_PLACES}; got {theta} and {most}.")
    as_numbers(torch.stack([query, key]), "query and key")
    query, key, d, reach = query.detach().cpu().float(), key.detach().cpu().float(), len(query), min(REACH, most)
    by_distance = [scores_at(query, key, turn, theta, most, distance) for distance in range(-reach, reach + 1)]
    drift = max(float(scores.max() - scores.min()) for scores in by_distance)
    frequencies = theta ** (-np.arange(d // 2) / (d // 2))
    shown = sorted({round(place) for place in np.linspace(0, d // 2 - 1, FACES)})
    at, place = start or (most // 2, most // 2 - min(3, most // 2))
    if not (min(at, place) >= 0 and max(at, place) <= most and abs(place - at) <= reach):
        raise ValueError(f"start must be two positions from 0 to {most}, at most {reach} apart; got {start}.")
    clocks = Clocks(
        as_numbers(query, "query"),
        as_numbers(key, "key"),
        frequencies,
        shown,
        [places(2 * math.pi / frequencies[pair]) for pair in shown],
        np.array([float(scores.double().mean()) for scores in by_distance]),
        most,
        (at, place - at),
    )
    low, high, ticks = axis(clocks.scores)
    words = describe(clocks, drift)
    data = {
        "query": significant(clocks.query, 8),
        "key": significant(clocks.key, 8),
        "frequencies": significant(frequencies, 9),
        "shown": shown,
        "heading": HEADING,
        "turns": clocks.turns,
        "scores": significant(clocks.scores, 6),
        "most": most,
        "start": list(clocks.start),
        "limits": [low, high],
        "ticks": ticks,
    }
    return Figure(draw_rotary(clocks, (low, high), ticks, words), words, "rotary", data)


def scores_at(query: Tensor, key: Tensor, turn: Callable, theta: float, most: int, distance: int) -> Tensor:
    """The scores q·k/√d of all pairs of positions up to ``most`` in which the key is ``distance`` after the query.

    Args:
        query, key: (d,).
        turn: as for ``explore_rotary``.
        theta: the base of the frequencies.
        most: the last position.
        distance: position of the key minus that of the query.

    Returns:
        (N,), with the query at each of N positions; they are all the same but for rounding.
    """
    positions = torch.arange(most + 1)
    asked, answers = (turn(vector.expand(most + 1, -1), positions, theta) for vector in (query, key))
    first, last = max(0, -distance), min(most, most - distance)
    pairs = asked[first : last + 1] * answers[first + distance : last + distance + 1]
    return pairs.sum(dim=-1) / math.sqrt(len(query))


def places(count: float) -> str:
    """
    >>> places(6.2832), places(35333.4)
    ('6.3 places', '35,333 places')
    """
    return f"{count:.1f} places" if count < 100 else f"{count:,.0f} places"


def axis(scores: np.ndarray) -> tuple[float, float, list[float]]:
    """The ends of an axis with all scores and 0, and at most six round numbers on it.

    >>> axis(np.array([-0.3, 1.1]))
    (-0.5, 1.5, [-0.5, 0.0, 0.5, 1.0, 1.5])
    """
    low, high = min(0.0, float(scores.min())), max(0.0, float(scores.max()))
    width = high - low or 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(step for step in (0.2 * power, 0.5 * power, power, 2 * power, 5 * power) if width / step <= 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = [round(number * step, 10) + 0.0 for number in range(first, max(last, first + 1) + 1)]
    return ticks[0], ticks[-1], ticks


def describe(clocks: Clocks, drift: float) -> str:
    """What is drawn, in words: scores by distance, and by how much they change when the pair is moved.

    Args:
        clocks: what is drawn.
        drift: the largest difference between two scores at one distance.
    """
    at, distance = clocks.start
    reach, pairs = clocks.reach, len(clocks.frequencies)
    named = [place for place in NAMED if abs(place) <= reach]
    by_distance = ", ".join(f"{signed(place, 'd')}: {signed(clocks.scores[place + reach], '.2f')}" for place in named)
    bound = 10.0 ** math.ceil(math.log10(max(drift, 1e-12)))  # the rounding itself differs from machine to machine
    return (
        f"Rotary positions: {2 * pairs} columns in {pairs} pairs; a full turn takes {clocks.turns[0]} in the fastest "
        f"pair, {clocks.turns[-1]} in the slowest. Query at {at}, key at {at + distance}: score "
        f"{signed(clocks.scores[distance + reach], '.2f')}. Score by distance: {by_distance}. Wherever from 0 "
        f"to {clocks.most} the pair stands, the score at a distance differs by less than {bound:.0e}."
    )


def draw_rotary(clocks: Clocks, limits: tuple[float, float], ticks: list[float], words: str) -> Schematic:
    """The still picture: the faces at the start, and the score over the distance."""
    alt = f"Clock faces, each with the hands of a query and a key, and their score over the distance. {words}"
    figure = Schematic(740, 372, alt, size=13)
    at, distance = clocks.start
    hands = [
        [turned(vector, clocks, pair, place) for pair in clocks.shown]
        for vector, place in ((clocks.query, at), (clocks.key, at + distance))
    ]
    longest = max(math.hypot(*hand) for kind in hands for hand in kind) or 1.0
    figure.text((6, 12), f"query (filled) at {at}, key (hollow) at {at + distance}", "bold", anchor="start")
    figure.text((6, 34), HEADING, color="soft", anchor="start", size=12)
    for number, turn in enumerate(clocks.turns):
        x, y = 60 + 120 * (number % 3), 102 + 160 * (number // 3)
        figure.box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS, corner=RADIUS, fill="none")
        for role, kind in (("query", hands[0]), ("key", hands[1])):
            draw_hand(figure, (x, y), kind[number], longest, role)
        angle = between(hands[0][number], hands[1][number])
        figure.text((x, y + 60), turn, color="soft", size=11.5)
        figure.text((x, y + 76), f"{angle:.0f}° apart", size=12)
    draw_curve(figure, clocks, limits, ticks, (420, 56, 310, 256))
    return figure


def turned(vector: np.ndarray, clocks: Clocks, pair: int, place: int) -> tuple[float, float]:
    """A pair of columns of a vector, turned by its position."""
    half, angle = len(vector) // 2, place * clocks.frequencies[pair]
    a, b, cos, sin = vector[pair], vector[pair + half], math.cos(angle), math.sin(angle)
    return a * cos - b * sin, a * sin + b * cos


def between(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The angle between two hands, from 0° to 180°.

    >>> between((1, 0), (0, 2)), round(between((1, 0.01), (1, -0.01)), 2)
    (90.0, 1.15)
    """
    apart = math.degrees(math.atan2(one[1], one[0]) - math.atan2(other[1], other[0])) % 360
    return min(apart, 360 - apart)


def draw_hand(
    figure: Schematic, middle: tuple[float, float], hand: tuple[float, float], longest: float, role: str
) -> None:
    """A hand with a point at its end: filled for a query, hollow and dashed for a key; 0° is to the right."""
    length = RADIUS * (SHORTEST + (1 - SHORTEST) * math.hypot(*hand) / longest)
    angle = math.atan2(hand[1], hand[0])
    x, y = middle[0] + length * math.cos(angle), middle[1] - length * math.sin(angle)
    dashed = ' stroke-dasharray="5 3"' if role == "key" else ""
    line = f"M{short(middle[0])} {short(middle[1])}L{short(x)} {short(y)}"
    figure.put(f'<path d="{line}" stroke="{paint(role)}" stroke-width="2.4"{dashed}/>')
    inside = paint("paper") if role == "key" else paint(role)
    figure.put(
        f'<circle cx="{short(x)}" cy="{short(y)}" r="4" fill="{inside}" stroke="{paint(role)}" stroke-width="2"/>'
    )


def draw_curve(
    figure: Schematic,
    clocks: Clocks,
    limits: tuple[float, float],
    ticks: list[float],
    place: tuple[float, float, float, float],
) -> None:
    """The score over the distance, with a dot at the first one.

    Args:
        figure: the drawing to add to.
        clocks: what is drawn.
        limits: ends of the axis of scores.
        ticks: numbers on it.
        place: left, top, width and height.
    """
    (left, top, width, height), (low, high), reach = place, limits, clocks.reach

    def at(distance: float, score: float) -> tuple[float, float]:
        return left + (distance + reach) / (2 * reach) * width, top + (high - score) / (high - low) * height

    figure.text((left + width / 2, top - 44), "score q·k/√d by distance", "bold")
    for tick in ticks:
        y = at(0, tick)[1]
        figure.arrow((left, y), (left + width, y), head=False, color="line", width=1.6 if tick == 0 else 0.8)
        figure.text((left - 6, y), f"{tick:g}".replace("-", "−"), color="soft", anchor="end", size=12)
    for distance in (-reach, 0, reach):
        figure.text((at(distance, 0)[0], top + height + 14), signed(distance, "d"), color="soft", size=12)
    figure.text((left + width / 2, top + height + 34), "position of the key − position of the query", color="soft")
    points = [at(number - reach, score) for number, score in enumerate(clocks.scores)]
    figure.arrow(*points, head=False, color="plus", width=2.2, corner=0)
    distance = clocks.start[1]
    score = clocks.scores[distance + reach]
    x, y = at(distance, score)
    upright = f"M{short(x)} {short(top)}V{short(top + height)}"
    figure.put(f'<path d="{upright}" stroke="{paint("soft")}" stroke-width="1.2" stroke-dasharray="2 4"/>')
    figure.put(f'<circle cx="{short(x)}" cy="{short(y)}" r="6" fill="{paint("plus")}" stroke="{paint("ink")}"/>')
    figure.text((x, top - 14), signed(score, ".2f"), "bold", size=14)
