"""Analogies as arrows in a plane, with the trick that makes them work; and words on an axis between two ends."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, rounded, show_steps
from bertcourse_figures.schematic import NARROW, Schematic, as_numbers, in_both_widths, signed

STOPS = tuple(step / 4 for step in range(7))  # how much of b − a is added to c
WHOLE = STOPS.index(1.0)
MOST_ANALOGIES, MOST_ON_AXIS = 10, 40


def explore_analogies(
    words: Sequence[str],
    vectors: ArrayLike,
    analogies: Sequence[tuple[str, str, str, str]],
    count: int = 5,
    leave_out: bool = True,
) -> Figure:
    """Pick an analogy: an arrow leads from a to b, the same arrow from c, and the words nearest its tip are listed.

    All vectors are scaled to length 1, as is usual. a, b and c span the plane that is drawn: these three and the tip
    lie in it, other words are projected onto it. The step can be taken in part, and the three words that the tip is
    made of can be left out or allowed.

    Args:
        words: V different words, in the order of the vectors.
        vectors: (V, D).
        analogies: (a, b, c, expected), such as ("man", "king", "woman", "queen"), at most 10; expected may be "".
        count: how many words are listed, not counting a, b and c.
        leave_out: whether a, b and c are left out at first. It opens with the first analogy.

    Raises:
        ValueError: other shapes, too many analogies, or a word that has no vector or occurs twice.

    Source: Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations", section 4; Linzen
    2016, "Issues in evaluating semantic spaces using word analogies", on leaving out a, b and c.

    >>> vectors = [[1.0, 0.0, 0.2], [1.0, 0.3, 1.0], [1.0, 0.0, -0.2], [1.0, 0.6, 0.2], [-1.0, 0.0, 0.0]]
    >>> explore_analogies(["man", "king", "woman", "queen", "tea"], vectors, [("man", "king", "woman", "queen")], 2)
    b − a + c in unit vectors: king − man + woman is nearest to queen 0.95, with all words allowed to queen 0.95. As \
expected: 1 of 1; with all words allowed, 1.
    """
    words, vectors = list(words), as_numbers(vectors, "vectors")
    row = {word: number for number, word in enumerate(words)}
    if vectors.ndim != 2 or len(vectors) != len(words) or len(row) != len(words) or count < 1:
        raise ValueError(
            f"vectors must be of shape (V, D) for V different words, and count at least 1; got {vectors.shape}, "
            f"{len(words)} words, {len(row)} of them different, and {count}."
        )
    if not 1 <= len(analogies) <= MOST_ANALOGIES or any(len(each) != 4 for each in analogies):
        raise ValueError(f"analogies must be 1 to {MOST_ANALOGIES} of (a, b, c, expected); got {list(analogies)}.")
    if missing := sorted({word for each in analogies for word in each if word} - set(row)):
        raise ValueError(f"all words of the analogies must have vectors; got none for {missing[:5]}.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    items = [analogy(words, unit, [row[word] for word in each if word], count) for each in analogies]
    data = {"analogies": items, "stops": list(STOPS), "leaveOut": leave_out}
    still, told = draw(data)
    return Figure(still, told, "analogies", data)


def analogy(words: list[str], unit: np.ndarray, rows: list[int], count: int) -> dict:
    """The data of one analogy, as the scene takes it.

    Args:
        words: V.
        unit: (V, D), of length 1.
        rows: of a, b, c, and of the expected word if there is one.
        count: how many words are listed beside a, b and c.

    Returns:
        The words and their points in the plane, a, b, c first; where among them the expected one is, -1 if there is
        none; and for each stop the words nearest to the tip, the nearest first, and their cosines.
    """
    a, b, c = unit[rows[:3]]
    across = c - a
    up = (b - a) - (b - a) @ across / (across @ across or 1) * across
    if min(np.linalg.norm(across), np.linalg.norm(up)) < 1e-6:
        raise ValueError(f"a, b and c must have vectors that span a plane; got {[words[row] for row in rows[:3]]}.")
    plane = np.stack([across / np.linalg.norm(across), up / np.linalg.norm(up)])
    shown, lists = list(rows), []
    for stop in STOPS:
        tip = c + stop * (b - a)
        cosines = unit @ tip / np.linalg.norm(tip)
        order = np.argsort(-cosines, kind="stable")[: count + 3].tolist()
        while sum(place not in rows[:3] for place in order) > count:
            order.pop()
        shown += [place for place in order if place not in shown]
        lists.append([[shown.index(place), cosines[place]] for place in order])
    return {
        "words": [words[place] for place in shown],
        "points": rounded((unit[shown] - a) @ plane.T),
        "expected": 3 if len(rows) == 4 else -1,
        "nearest": [[[place, round(float(cosine), 4)] for place, cosine in each] for each in lists],
    }


def winners(item: dict, stop: int = WHOLE) -> tuple[list, list]:
    """The nearest word that is not a, b or c, and the nearest of all, each as its place and cosine."""
    nearest = item["nearest"][stop]
    return next(each for each in nearest if each[0] > 2), nearest[0]


def draw(data: dict) -> tuple[Schematic, str]:
    """The still picture, which shows the first analogy's arrows and words, and a text about all of them."""
    told, right = [], [0, 0]
    for item in data["analogies"]:
        (a, b, c), (best, first) = item["words"][:3], winners(item)
        told.append(
            f"{b} − {a} + {c} is nearest to {item['words'][best[0]]} {signed(best[1], '.2f')}, with all words "
            f"allowed to {item['words'][first[0]]} {signed(first[1], '.2f')}"
        )
        right = [number + (place[0] == item["expected"]) for number, place in zip(right, (best, first))]
    asked = sum(item["expected"] > 0 for item in data["analogies"])
    data["right"] = [*right, asked]
    words = f"b − a + c in unit vectors: {'; '.join(told)}. "
    words += f"As expected: {right[0]} of {asked}; with all words allowed, {right[1]}." if asked else ""
    item = data["analogies"][0]
    figure = Schematic(740, 346, words)
    points = np.array(item["points"])
    tip = points[2] + points[1] - points[0]
    marked = [0, 1, 2, *([3] if item["expected"] > 0 else [])]
    corners = np.vstack([points[marked], tip])
    low, spread = corners.min(axis=0), np.ptp(corners, axis=0).max() or 1.0

    def at(point: np.ndarray) -> tuple[float, float]:
        x, y = 60 + 250 * (point - low) / spread
        return float(x), float(320 - y)

    figure.arrow(at(points[0]), at(points[2]), color="line", head=False)
    figure.arrow(at(points[0]), at(points[1]), color="plus", width=2.2)
    figure.arrow(at(points[2]), at(tip), color="hot", width=2.6)
    for place in marked:
        x, y = at(points[place])
        role = "value" if place == 3 else "ink"
        figure.box(x - 5, y - 5, 10, 10, color=role, fill=role, corner=5, opacity=0.9)
        figure.text((x, y + (18 if place in (0, 2) else -14)), item["words"][place], "bold", role)
    a, b, c = item["words"][:3]
    figure.text((420, 30), f"nearest to {b} − {a} + {c}", "bold", anchor="start")
    for number, (place, cosine) in enumerate(item["nearest"][WHOLE]):
        y, is_input = 62 + 28 * number, place < 3
        figure.box(420, y - 11, 200 * max(0.0, cosine), 22, color="none", fill="soft" if is_input else "plus",
                   corner=2, opacity=0.35)  # fmt: skip
        named = f"{item['words'][place]}{' (made of it)' if is_input else ''}"
        figure.text((426, y), named, anchor="start")
        figure.text((720, y), f"{cosine:.2f}", anchor="end")
    return figure, words


def show_axis(words: Sequence[str], positions: ArrayLike, ends: tuple[str, str], marked: Sequence[str] = ()) -> Figure:
    """Words between two ends, sorted, with a row for each so that no name covers another.

    Args:
        words: N different words, at most 40.
        positions: (N,), or (R, N) from R runs: dots are their medians, lines reach from the smallest to the largest.
        ends: what negative and positive numbers mean, such as ("he", "she").
        marked: words to highlight.

    Raises:
        ValueError: shapes that do not fit, or more words than there is room for.

    Source: Bolukbasi et al. 2016, "Man is to Computer Programmer as Woman is to Homemaker?", for the axis.

    >>> show_axis(["clerk", "governess", "tea"], [-0.25, 0.5, 0.0], ("he", "she"))
    3 words from he (−) to she (+): clerk −0.25, tea 0.00, governess 0.50.
    """
    words, runs = list(words), np.atleast_2d(as_numbers(positions, "positions"))
    if runs.ndim != 2 or runs.shape[1] != len(words) or len(set(words)) != len(words):
        raise ValueError(
            f"positions must be (N,) or (R, N) for N different words; got {runs.shape}, {len(words)} words."
        )
    if not 1 <= len(words) <= MOST_ON_AXIS or not set(marked) <= set(words):
        raise ValueError(
            f"there is room for 1 to {MOST_ON_AXIS} words, and marked must be of them; got {len(words)}, {marked}."
        )
    middle = np.median(runs, axis=0)
    order = np.argsort(middle, kind="stable").tolist()
    each = [f"{words[i]} {signed(middle[i], '.2f')}" for i in range(len(words))]
    if len(runs) > 1:
        spans = zip(each, runs.min(axis=0), runs.max(axis=0))
        each = [f"{word} ({signed(low, '.2f')} to {signed(high, '.2f')})" for word, low, high in spans]
    listed = ", ".join(each[i] for i in order)
    told = f"{len(words)} words from {ends[0]} (−) to {ends[1]} (+): {listed}."
    told += f" Medians of {len(runs)} sets of vectors, which lines span." if len(runs) > 1 else ""
    sorted_words = [words[i] for i in order]
    schematic = in_both_widths(draw_axis, sorted_words, runs[:, order], ends, set(marked), told)
    return show_steps(schematic, told)


def draw_axis(
    words: list[str], runs: np.ndarray, ends: tuple[str, str], marked: set[str], told: str, width: int
) -> Schematic:
    """One form of ``show_axis``.

    Args:
        words: N, sorted.
        runs: (R, N).
        ends: names of the axis's ends.
        marked: words to highlight.
        told: what is drawn, in words.
        width: of the drawing.
    """
    small, tall, top, margin = width == NARROW, 22, 48, 14
    bottom, half = top + tall * len(words), width / 2
    figure = Schematic(width, bottom + 26, told, size=12.5 if small else 13.5)
    limit = float(np.abs(runs).max()) or 1.0

    def x(value: float) -> float:
        return half + value / limit * (half - margin)

    for side, name, anchor in ((-1, ends[0], "start"), (1, ends[1], "end")):
        figure.text((half + side * (half - 4), 16), name, "bold", anchor=anchor)
        reach = half - 16 - 0.62 * figure.size * len(name)
        figure.arrow((half + side * 8, 16), (half + side * reach, 16), color="soft")
    figure.arrow((half, 30), (half, bottom), head=False, color="line", width=1.2)
    power = 10 ** np.floor(np.log10(limit))
    step = max(size * power for size in (1, 2, 5) if size * power <= limit)
    for tick in (-step, 0.0, step):
        figure.text((x(tick), bottom + 13), signed(tick, ".1g") if tick else "0", color="soft", size=12)
        figure.arrow((x(tick), bottom - 3), (x(tick), bottom + 3), head=False, color="soft", width=1)
    for number, (word, values) in enumerate(zip(words, runs.T)):
        y, middle = top + tall * number, float(np.median(values))
        low, high = float(values.min()), float(values.max())
        role = "hot" if word in marked else "plus"
        figure.arrow((half, y), (x(middle), y), head=False, color="line", width=1)
        if high > low:
            figure.arrow((x(low), y), (x(high), y), head=False, color=role, width=3, opacity=0.45)
        figure.box(x(middle) - 4.5, y - 4.5, 9, 9, color=role, fill=role, corner=4.5, opacity=0.95)
        # A name stands across the middle line from its dot, where there is room for it.
        place, anchor = (x(max(high, 0.0)) + 9, "start") if middle < 0 else (x(min(low, 0.0)) - 9, "end")
        room = width - 4 - place if middle < 0 else place - 4
        size = min(figure.size, max(9.0, room / (0.6 * len(word))))
        figure.text((place, y), word, "bold" if word in marked else "", anchor=anchor, size=size)
    return figure
