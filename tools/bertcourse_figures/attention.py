"""One query's attention in steps, the three projections, and where attention moves words in a plane."""

import functools
from collections.abc import Sequence
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from bertcourse_figures.colors import COLORS
from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.schematic import NARROW, WIDE, Box, Schematic, as_numbers, in_both_widths, signed

MARGIN = 160  # on the left of the wide form, for the names of the rows
MOST_WORDS, MOST_NUMBERS = 6, 3  # what fits with its numbers written out, on a phone too
FULL_BAR = 54  # height of a weight's bar, in pixels
LINE = 18  # height of a line of a score's products, in pixels


def attention_steps(
    words: Sequence[str], query: ArrayLike, keys: ArrayLike, values: ArrayLike, row: int, scale: float = 1.0
) -> Figure:
    """Step through the attention of one word: its query, the keys, scores, weights, weighted values, and their sum.

    Args:
        words: L names, at most 6.
        query: (d,), of one word; d is at most 3.
        keys: (L, d).
        values: (L, D), D at most 3.
        row: the word whose query it is, counted from 0.
        scale: what scores are multiplied by, such as 1/√d.

    Raises:
        ValueError: shapes that do not fit, or more than there is room for.
    """
    query, keys, values = as_numbers(query, "query"), as_numbers(keys, "keys"), as_numbers(values, "values")
    fits = keys.shape == (len(words), *query.shape) and values.ndim == 2 and len(values) == len(words)
    if not fits or len(words) > MOST_WORDS or max(query.size, values.shape[1]) > MOST_NUMBERS:
        raise ValueError(
            f"keys must be of shape (L, d) and values (L, D), with L words, at most {MOST_WORDS}, a query of d "
            f"numbers, and d and D at most {MOST_NUMBERS}; got {keys.shape}, {values.shape}, {len(words)} words and "
            f"{query.shape}."
        )
    flow = functools.partial(Flow, words, query, keys, values, row, scale)
    return show_steps(in_both_widths(lambda width: flow(width).draw()), flow(WIDE).told())


class Flow:
    """A drawing of ``attention_steps``, with rows one below the other and a column for each word.

    Attributes:
        figure: what has been drawn so far.
        y: the upper edge of the next row.
        x: the middle of each word's column.
    """

    def __init__(self, words, query, keys, values, row, scale, width):
        self.words, self.query, self.keys, self.values, self.row = list(words), query, keys, values, row
        self.scale, self.small = scale, width == NARROW
        self.scores = keys @ query * scale
        powers = np.exp(self.scores - self.scores.max())
        self.weights = powers / powers.sum()
        self.output = self.weights @ values
        tall = 560 if self.small else 466 if scale != 1 else 448 + LINE * query.size
        self.figure = Schematic(width, tall, self.told(), size=12.5 if self.small else 14)
        left = 4 if self.small else MARGIN  # the names of the rows stand in a margin, on a phone between the rows
        self.step = (width - left - 4) / len(words)
        self.x = [left + self.step * (column + 0.5) for column in range(len(words))]
        most = max(query.size, values.shape[1])
        self.cell, self.tall = min(46.0, (self.step - 10) / most), 25
        self.limit = max(np.abs(part).max() for part in (query, keys, values))
        self.y = 6.0

    def told(self) -> str:
        """What is drawn, in words and numbers."""
        scores, weights = ([signed(value, ".2f") for value in part] for part in (self.scores, self.weights))
        each = ", ".join(f"{word} {s} → {w}" for word, s, w in zip(self.words, scores, weights))
        output = ", ".join(signed(value, ".2f") for value in self.output)
        return f"Attention of {self.words[self.row]}, scores and their weights: {each}. Its new vector: {output}."

    def draw(self) -> Schematic:
        """All steps."""
        query = self.draw_query()
        self.score(query, self.draw_keys())
        self.weigh()
        self.add_up(self.draw_values())
        return self.figure

    def name(self, symbol: str, name: str, color: str, height: float, room: int = 26) -> None:
        """Write what a row shows beside it, or on a phone above it, which takes up ``room``."""
        if self.small:
            self.y += room
            self.figure.text((2, self.y - 11), name, color="soft", anchor="start", size=12)
        else:
            right = MARGIN - 14
            self.figure.text((right, self.y + height / 2 - 11), symbol, "formula", color, "end", 17)
            self.figure.text((right, self.y + height / 2 + 12), name, color="soft", anchor="end", size=13)

    def strip(self, x: float, vector: np.ndarray, role: str, form: str = ".1f") -> Box:
        """A vector with its numbers, centred in a column."""
        left = x - self.cell * vector.size / 2
        return self.figure.vector(
            left,
            self.y,
            vector,
            self.cell,
            self.tall,
            limit=self.limit,
            numbers=form,
            frame=role,
            size=min(13, 0.38 * self.cell),
        )

    def draw_query(self) -> Box:
        """The words, and the query of one of them."""
        word = self.words[self.row]
        self.figure.step(f"What “{word}” looks for: its query, a vector of {self.query.size} numbers.")
        wide = min(self.step - 8, 84)
        for number, (x, name) in enumerate(zip(self.x, self.words)):
            role, fill, style = ("query", "query", "bold") if number == self.row else ("line", "panel", "")
            self.figure.box(x - wide / 2, self.y, wide, 28, name, role, fill, style)
        x = self.x[self.row]
        self.figure.arrow((x, self.y + 30), (x, self.y + (76 if self.small else 43)), color="query")
        self.y += 54 if self.small else 46
        self.name("q", "its query", "query", self.tall)
        box = self.strip(x, self.query, "query")
        self.y += self.tall + (50 if self.small else 42)
        return box

    def draw_keys(self) -> list[Box]:
        """The keys."""
        self.figure.step(f"What each word is found by: its key. “{self.words[self.row]}” has one, too.")
        self.name("k_j", "keys", "key", self.tall, room=0)
        boxes = [self.strip(x, key, "key") for x, key in zip(self.x, self.keys)]
        self.y += self.tall + (14 if self.small else 24)
        return boxes

    def score(self, query: Box, keys: list[Box]) -> None:
        """The dot products."""
        divided = " divided by √d" if self.scale != 1 else ""
        self.figure.step(f"Score: the dot product of the query with each key{divided}.")
        self.name("s_j = q·k_j" + (" / √d" if divided else ""), "scores", "ink", 34, room=22)
        for number, (x, box) in enumerate(zip(self.x, keys)):
            start = query.at(0.5, 1, dx=(number - self.row) * 6, dy=2)
            self.figure.arrow(start, box.at(0.5, 0, dy=-3), curve="down", color="query")
            self.figure.text((x, self.y + 8), signed(self.scores[number], ".2f"), "bold")
            for place, (a, b) in enumerate(zip(self.query, self.keys[number])):
                if not self.small and not divided:
                    product = f"{'+ ' if place else ''}{a:.1f}·{b:.1f}".replace("-", "−")
                    self.figure.text((x, self.y + 28 + LINE * place), product, color="soft", size=13)
        self.y += 22 if self.small else 46 if divided else 28 + LINE * self.query.size

    def weigh(self) -> None:
        """The softmax."""
        self.figure.step("The softmax turns the scores into weights: all above 0, and together 1.")
        self.name("a_j", "weights, by softmax", "plus", FULL_BAR, room=20)
        floor = self.y + FULL_BAR
        for x, weight in zip(self.x, self.weights):
            tall = FULL_BAR * weight / max(0.5, self.weights.max())
            self.figure.box(x - 18, floor - tall, 36, tall, color="plus", fill="plus", corner=2, opacity=0.55)
            self.figure.text((x, floor + 12), signed(weight, ".2f"), "bold")
        ends = (self.x[0] - 24, floor), (self.x[-1] + 24, floor)
        self.figure.arrow(*ends, head=False, color="line")
        self.y = floor + (26 if self.small else 34)

    def draw_values(self) -> list[Box]:
        """The values, and each value times its weight."""
        self.figure.step("What each word passes on: its value …")
        self.name("v_j", "values", "value", self.tall)
        values = [self.strip(x, value, "value") for x, value in zip(self.x, self.values)]
        self.y += self.tall + (12 if self.small else 30)
        self.figure.step("… times its weight.")
        self.name("a_j v_j", "" if self.small else "weight × value", "value", self.tall)  # arrows run here
        parts = []
        for x, value, weight, box in zip(self.x, self.values, self.weights, values):
            parts.append(self.strip(x, weight * value, "line", ".2f"))
            ends = box.at(0.5, 1, dy=3), parts[-1].at(0.5, 0, dy=-3)
            self.figure.arrow(*ends, color="value", width=1 + 5 * weight, opacity=0.35 + 0.65 * weight)
            if not self.small:
                beside = (x + 10 + 4 * weight, (ends[0][1] + ends[1][1]) / 2 - 1)
                self.figure.text(beside, f"× {weight:.2f}", color="soft", anchor="start", size=13)
        self.y += self.tall + (28 if self.small else 40)
        return parts

    def add_up(self, parts: list[Box]) -> None:
        """The output."""
        word, x = self.words[self.row], self.x[self.row]
        average = "a weighted average of all values. (Numbers are rounded.)"
        self.figure.step(f"The sum is the new vector of “{word}”, {average}")
        self.name("h = Σ a_j v_j", "new vector", "hot", self.tall, room=12)
        for number, (box, weight) in enumerate(zip(parts, self.weights)):
            ends = box.at(0.5, 1, dy=3), (x + (number - self.row) * 9, self.y - 4)
            how = {"width": 1 + 9 * weight, "opacity": 0.3 + 0.7 * weight}
            self.figure.arrow(*ends, curve="down", color="value", head=False, **how)
        self.strip(x, self.output, "hot", ".2f")


def projection_steps(words: Sequence[str], x: ArrayLike, projections: dict[str, ArrayLike]) -> Figure:
    """Step through the three products that turn the words' vectors into queries, keys and values.

    Args:
        words: L names.
        x: (L, D), a row for each word.
        projections: a (D, d) matrix each for "query", "key" and "value"; what comes out is ``x @ matrix``.

    Raises:
        ValueError: other names, or shapes that do not fit.
    """
    x = as_numbers(x, "x")
    matrices = {name: as_numbers(matrix, name) for name, matrix in projections.items()}
    shapes = [matrix.shape for matrix in matrices.values()]
    if list(matrices) != ["query", "key", "value"] or any(shape[0] != x.shape[1] for shape in shapes):
        raise ValueError(
            f"projections must be named query, key and value and have a row for each of the {x.shape[1]} numbers in "
            f"x; got {list(matrices)} of shapes {shapes}."
        )
    rows = [f"{name} {np.array2string(x @ matrix, precision=2)}" for name, matrix in matrices.items()]
    alt = f"Vectors of {', '.join(words)}, times a matrix each: " + "; ".join(row.replace("\n", "") for row in rows)
    return show_steps(in_both_widths(draw_projections, words, x, matrices, alt))


def draw_projections(words: Sequence[str], x: np.ndarray, matrices: dict, alt: str, width: int) -> Schematic:
    """The drawing of ``projection_steps``: a line for each product, with the words' vectors on the left."""
    small = width == NARROW
    cell, tall = (24, 22) if small else (40, 26)
    rows, pitch = len(words), len(words) * tall + 44
    figure = Schematic(width, 3 * pitch + 12, alt, size=12 if small else 14)
    left = 10 + max(map(len, words)) * (7 if small else 8)
    limit = max(np.abs(x @ matrix).max() for matrix in matrices.values())
    middle = 26 + pitch + rows * tall / 2

    figure.step(f"A row for each word: X has {rows} rows and {x.shape[1]} columns.")
    first = figure.matrix(left, middle - rows * tall / 2, x, cell, tall, limit, numbers=".0f")
    figure.text(first.at(0.5, 0, dy=-14), "X", "formula", size=17)
    for row, word in enumerate(words):
        figure.text((left - 8, first.y + (row + 0.5) * tall), word, anchor="end")
    does = {"query": "what it looks for", "key": "what it can be found by", "value": "what it passes on"}
    for number, (name, matrix) in enumerate(matrices.items()):
        letter, y = name[0].upper(), 26 + number * pitch
        figure.step(f"Times the {name} matrix: the {name} of each word, {does[name]}.")
        gap = (width - left - cell * (x.shape[1] + 2 * matrix.shape[1])) / (3 if small else 4)
        times = first.x + first.width + gap
        product_x = times + cell * matrix.shape[1] + gap
        centre = y + rows * tall / 2
        weights = figure.matrix(times, centre - len(matrix) * tall / 2, matrix, cell, tall, limit, numbers=".0f")
        figure.text(weights.at(0.5, 0, dy=-14), f"W_{letter}", "formula", size=17)
        figure.arrow(first.at(1, 0.5, dx=4), weights.at(0, 0.5, dx=-5), curve="across", color=name)
        out = figure.matrix(product_x, y, x @ matrix, cell, tall, limit, frame=name, numbers=".0f")
        figure.text(out.at(0.5, 0, dy=-14), f"{letter} = X W_{letter}", "formula", name, size=17)
        figure.arrow(weights.at(1, 0.5, dx=4), out.at(0, 0.5, dx=-5), color=name)
        if not small:
            figure.text(out.at(1, 0.5, dx=14), {"query": "queries"}.get(name, f"{name}s"), "bold", name, "start")
    return figure


def shift_map(
    sentences: dict[str, tuple[ArrayLike, ArrayLike]], axes: tuple[str, str], marked: str = "", limits=(-0.25, 2.6)
) -> str:
    """Draw where attention moves words in a plane: a panel for each sentence, an arrow for each word.

    Args:
        sentences: for each text, its (L, 2) vectors before and after; a word that occurs twice is drawn once.
        axes: names of the two numbers.
        marked: the word to highlight.
        limits: of both axes.

    Returns:
        Where the marked word starts and ends in each sentence: "the bank lends money: (1.3, 1.3) → (1.7, 0.6); …".
    """
    figure, panels = plt.subplots(
        1, len(sentences), figsize=(3.9 * len(sentences), 4.1), sharey=True, squeeze=False, layout="constrained"
    )
    told = []
    for ax, (sentence, vectors) in zip(panels[0], sentences.items()):
        before, after = (as_numbers(part, "vectors") for part in vectors)
        if before.shape != (len(sentence.split()), 2) or after.shape != before.shape:
            raise ValueError(f"{sentence!r} must have (L, 2) vectors; got {before.shape} and {after.shape}.")
        ax.set(title=sentence, xlabel=axes[0], xlim=limits, ylim=limits, aspect="equal")
        figure.canvas.draw()  # settles where the axes are, on which the room for names depends
        draw_shifts(ax, {word: ends for word, *ends in zip(sentence.split(), before, after)}, marked)
        if marked in sentence.split():
            place = sentence.split().index(marked)
            start, end = (", ".join(signed(value, ".1f") for value in part[place]) for part in (before, after))
            told.append(f"{sentence}: ({start}) → ({end})")
    panels[0][0].set_ylabel(axes[1])
    return "; ".join(told)


def draw_shifts(ax: Axes, ends: dict[str, Sequence[np.ndarray]], marked: str) -> None:
    """Draw the arrows, with a name at the start of each."""
    taken: list[Bbox] = []
    look = {"arrowstyle": "->, head_length=0.32, head_width=0.16", "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
    for start, end in ends.values():
        way = ax.transData.transform(np.linspace(start, end, 12))
        taken += [Bbox.from_extents(*(point - 3), *(point + 3)) for point in way]
    for word, (start, end) in ends.items():
        color, weight = (COLORS[1], "bold") if word == marked else (COLORS[0], "normal")
        ax.annotate("", end, start, arrowprops=look | {"color": color})
        ax.plot(*start, ".", color=color)
        taken.append(place_name(ax, word, start, taken, color=color, fontweight=weight))


def place_name(ax: Axes, word: str, at: np.ndarray, taken: list[Bbox], **look) -> Bbox:
    """Write a word beside a point, on the first side where it covers nothing, or else on the last that was tried."""
    renderer = ax.figure.canvas.get_renderer()
    sides = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
    text = None
    for distance, (across, up) in product((5, 12, 20), sides):
        if text:
            text.remove()
        anchor = {"ha": ("right", "center", "left")[across + 1], "va": ("top", "center", "bottom")[up + 1]}
        text = ax.annotate(word, at, (distance * across, distance * up), textcoords="offset points", **anchor, **look)
        box = text.get_window_extent(renderer)
        inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
        if inside and not any(box.overlaps(other) for other in taken):
            break
    return box
