"""A recurrent network unrolled over a few words, step by step, with the states that it really went through."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.schematic import NARROW, Box, Schematic, as_numbers, in_both_widths, signed

MOST_WORDS, DRAWN, GUESSES = 4, 8, 3  # words, numbers per vector, and next words that there is room for
BELOW = "₀₁₂₃₄"


def show_recurrence(
    words: Sequence[str],
    vectors: ArrayLike,
    states: ArrayLike,
    outputs: Sequence[Sequence[tuple[str, float]]],
) -> Figure:
    """Step through h_t = tanh(W x_t + U h_t−1 + b), word by word, with what each state says comes next.

    Args:
        words: L words, 2 to 4.
        vectors: (L, D), x for each word.
        states: (L + 1, D), h before the first word, and then after each.
        outputs: for each word, the most probable next words, each with its probability; three are drawn.

    Raises:
        ValueError: shapes that do not fit, or a number that is not a probability.

    Source: Elman 1990, "Finding Structure in Time", figure 2.

    >>> guesses = [[("bank", 0.5)], [("lends", 0.25), ("is", 0.125)]]
    >>> show_recurrence(["the", "bank"], [[1.0], [2.0]], [[0.0], [0.5], [-0.25]], guesses)
    A recurrent network reads: the → h₁ 0.50, next bank 50 %; bank → h₂ −0.25, next lends 25 %, is 12 %.
    """
    words, vectors, states = list(words), as_numbers(vectors, "vectors"), as_numbers(states, "states")
    length = len(words)
    fits = vectors.ndim == states.ndim == 2 and len(vectors) == length == len(states) - 1 == len(outputs)
    if not fits or not 2 <= length <= MOST_WORDS:
        raise ValueError(
            f"vectors must be (L, E), states (L + 1, D) and outputs L lists, for 2 to {MOST_WORDS} words; got "
            f"{vectors.shape}, {states.shape}, {len(outputs)} and {length} words."
        )
    guesses = [[(word, float(share)) for word, share in each][:GUESSES] for each in outputs]
    if not all(guesses) or not all(0 <= share <= 1 for each in guesses for _, share in each):
        raise ValueError(f"outputs must have a word or more for each step, with probabilities of 0 to 1; got {guesses}")
    read = [
        f"{word} → h{BELOW[t]} {' '.join(signed(value, '.2f') for value in states[t][:GUESSES])}"
        f"{' …' if states.shape[1] > GUESSES else ''}, next {', '.join(in_percent(*guess) for guess in guesses[t - 1])}"
        for t, word in enumerate(words, start=1)
    ]
    told = f"A recurrent network reads: {'; '.join(read)}."
    schematic = in_both_widths(lambda width: Unrolled(words, vectors, states, guesses, told, width).draw())
    return show_steps(schematic, told)


def in_percent(word: str, share: float) -> str:
    """A next word with its probability.

    >>> in_percent("bank", 0.123), in_percent("the", 0.004)
    ('bank 12 %', 'the 0.4 %')
    """
    return f"{word} {100 * share:.{0 if share >= 0.0095 else 1}f} %"


class Unrolled:
    """A drawing of ``show_recurrence``: from left to right, or on a phone from top to bottom.

    Attributes:
        figure: what has been drawn so far.
        size: of one step, along the chain.
    """

    def __init__(self, words, vectors, states, guesses, told, width):
        self.words, self.vectors, self.states, self.guesses = words, vectors, states, guesses
        self.small = width == NARROW
        self.size = 150.0 if self.small else (width - 150) / len(words)
        height = round(86 + self.size * len(words)) if self.small else 372
        self.figure = Schematic(width, height, told, size=12.5 if self.small else 14)
        shown = states[:, :DRAWN]
        self.limits = np.abs(vectors[:, :DRAWN]).max() or 1.0, np.abs(shown).max() or 1.0

    def draw(self) -> Schematic:
        """All steps."""
        figure, count = self.figure, len(self.words)
        hidden, size = self.states.shape[1], self.vectors.shape[1]
        zeros = "all zeros" if not self.states[0].any() else "what it begins with"
        drawn = f", {DRAWN} drawn" if hidden > DRAWN else ""
        figure.step(f"Before the first word: the state h₀, {hidden} numbers{drawn}, {zeros}.")
        before = self.state(0)
        for t, word in enumerate(self.words, start=1):
            formula = f"h{BELOW[t]} = tanh(W x{BELOW[t]} + U h{BELOW[t - 1]} + b)"
            if t == 1:
                figure.step(f"“{word}” comes in as a vector of {size} numbers. The new state is {formula}.")
                before = self.cell(t, before)
                figure.step(f"A softmax over all words makes of the state what comes next: {self.told(t)}.")
            else:
                same = "The same W, U and b: " if t == 2 else ""
                figure.step(f"“{word}” and the state meet. {same}{formula}. Next: {self.told(t)}.")
                before = self.cell(t, before)
            self.output(t, before)
        figure.step(
            f"All that h{BELOW[count]} knows of “{self.words[0]}” has passed U and the tanh {count - 1} "
            f"time{'s' if count > 2 else ''}; an error finds its way back by as many steps."
        )
        self.way_back(count)
        return figure

    def told(self, t: int) -> str:
        """The most probable next words after word t."""
        return ", ".join(in_percent(*guess) for guess in self.guesses[t - 1][:2])

    def state(self, t: int) -> Box:
        """A state as a strip."""
        values = self.states[t][:DRAWN]
        name = f"h_{t}"
        if self.small:
            y = 26 + self.size * t
            box = self.figure.vector(146 - 5.5 * len(values), y, values, 11, 20, limit=self.limits[1], frame="query")
            self.figure.text(box.at(0, 0.5, dx=-14), name, "formula", "query", size=16)
        else:
            x = 40 + self.size * t
            how = {"vertical": True, "limit": self.limits[1], "frame": "query"}
            box = self.figure.vector(x - 11, 196 - 5.5 * len(values), values, 22, 11, **how)
            self.figure.text(box.at(0.5, 1, dy=15), name, "formula", "query", size=17)
        return box

    def cell(self, t: int, before: Box) -> Box:
        """A word with its vector, and the cell that turns it and the previous state into a new state."""
        return (self.cell_below if self.small else self.cell_beside)(t, before)

    def cell_beside(self, t: int, before: Box) -> Box:
        """The cell of the wide form: the state comes from the left, the word from below."""
        figure, word, values = self.figure, self.words[t - 1], self.vectors[t - 1][:DRAWN]
        x, y = before.x + 22 + (self.size - 22) / 2, 196
        across = min(self.size - 14, max(70, 8.4 * len(word) + 16))
        text = figure.box(x - across / 2, 334, across, 28, word, size=min(14, across / (0.6 * len(word))))
        vector = figure.vector(x - 5.5 * len(values), 296, values, 11, 18, limit=self.limits[0], frame="value")
        figure.text(vector.at(1, 0.5, dx=14), f"x_{t}", "formula", "value", size=16)
        figure.arrow(text.at(0.5, 0, dy=-1), vector.at(0.5, 1, dy=3), width=1.2)
        cell = figure.box(x - 27, y - 22, 54, 44, "tanh", "soft", "panel")
        figure.arrow(vector.at(0.5, 0, dy=-3), cell.at(0.5, 1, dy=3), color="value")
        figure.text((x - 15, 258), "W", "formula", "soft", size=16)
        figure.arrow(before.at(1, 0.5, dx=3), cell.at(0, 0.5, dx=-3), color="query", width=2)
        figure.text(((before.x + 22 + cell.x) / 2 - 2, y - 14), "U", "formula", "soft", size=16)
        after = self.state(t)
        figure.arrow(cell.at(1, 0.5, dx=2), after.at(0, 0.5, dx=-3), color="query", width=2)
        return after

    def cell_below(self, t: int, before: Box) -> Box:
        """The cell of the phone form: the state comes from above, the word from the left."""
        figure, word, values = self.figure, self.words[t - 1], self.vectors[t - 1][:DRAWN]
        x, y = 146, before.y + 82
        figure.box(4, y - 27, 84, 24, word, size=min(12.5, 78 / (0.6 * len(word))))
        vector = figure.vector(46 - 5 * len(values), y + 6, values, 10, 14, limit=self.limits[0], frame="value")
        figure.text(vector.at(0.5, 1, dy=11), f"x_{t}", "formula", "value", size=14)
        cell = figure.box(x - 32, y - 15, 64, 30, "tanh", "soft", "panel")
        figure.arrow((90, y), cell.at(0, 0.5, dx=-3), color="value")
        figure.text((101, y - 10), "W", "formula", "soft", size=14)
        figure.arrow(before.at(0.5, 1, dy=3), cell.at(0.5, 0, dy=-3), color="query", width=2)
        figure.text(before.at(0.5, 1, dx=13, dy=22), "U", "formula", "soft", size=14)
        after = self.state(t)
        figure.arrow(cell.at(0.5, 1, dy=2), after.at(0.5, 0, dy=-3), color="query", width=2)
        return after

    def output(self, t: int, state: Box) -> None:
        """What comes next, as bars."""
        figure, guesses = self.figure, self.guesses[t - 1]
        longest = max(len(in_percent(*guess)) for guess in guesses)
        if self.small:
            left, top, room = 238, state.y + 10 - 12 * (len(guesses) - 1), 118
            figure.arrow(state.at(1, 0.5, dx=4), (left - 6, state.y + 10), color="plus")
        else:
            room = min(0.9 * self.size, 126)
            left, top = state.x - 20, 22 + 24 * (GUESSES - len(guesses))
            figure.arrow(state.at(0.5, 0, dy=-3), (state.x + 11, 22 + 24 * GUESSES), color="plus")
            figure.text((state.x + 18, 130), "softmax", color="soft", anchor="start", size=12) if t == 1 else None
        size = min(12.5, room / (0.58 * longest))
        for number, (word, share) in enumerate(guesses):
            y = top + 24 * number
            figure.box(left, y - 10, max(1.0, share * room), 20, color="none", fill="plus", corner=2, opacity=0.4)
            figure.text((left + 3, y), in_percent(word, share), anchor="start", size=size)

    def way_back(self, count: int) -> None:
        """The path of an error from the last state to the first word."""
        if self.small:
            below, end = 26 + self.size * count + 24, 108
            points = (146, below), (146, below + 12), (214, below + 12), (214, end), (181, end)
        else:
            start, end = 40 + self.size * count, 40 + self.size / 2 + 25
            points = (start, 268), (start, 282), (end, 282), (end, 222)
        self.figure.arrow(*points, color="hot", width=2.4, flow=True)
