"""What a figure shows, as plain values: everything that a check needs to know about the axes that an answer returns."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bertcourse_homework.values import short


@dataclass(frozen=True)
class Line:
    """A line in a figure.

    Attributes:
        label: its name in the legend; empty if it has none.
        xs, ys: the coordinates of its points.
    """

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def __str__(self) -> str:
        return self.described(short([*self.ys]))

    def described(self, ys: Sequence[float]) -> str:
        """Its name and its first points, with the given values."""
        points = ", ".join(f"{x:g}: {y:.4g}" for x, y in zip(short([*self.xs[:8]]), ys))
        return f"{self.label or 'a line without a name'} ({points}{', …' if len(self.xs) > 8 else ''})"


@dataclass(frozen=True)
class Drawing:
    """What axes show.

    Attributes:
        lines: in the order in which they were drawn.
        xlabel, ylabel, title: empty if there is none.
        legend: its texts; empty if there is none.
        yscale: the scale of the vertical axis, "linear" or "log".
    """

    lines: tuple[Line, ...]
    xlabel: str = ""
    ylabel: str = ""
    title: str = ""
    legend: tuple[str, ...] = ()
    yscale: str = "linear"

    def __repr__(self) -> str:
        # on a logarithmic axis, no value counts as 0, however small it is beside the others
        texts = [line.described(line.ys) if self.yscale == "log" else str(line) for line in self.lines[:6]]
        return f"axes with {'; '.join(texts) or 'no line'}{'; …' if len(self.lines) > 6 else ''}"

    def over(self, xs: Sequence[float], number: int) -> list[list[float]]:
        """The values of the first ``number`` lines over exactly these places; others, such as chance, are ignored."""
        return [list(line.ys) for line in self.lines_over(xs, number)]

    def lines_over(self, xs: Sequence[float], number: int) -> list["Line"]:
        """As ``over``, but returns the lines; points in another order are accepted, and put into that of ``xs``."""
        lines = [line for line in self.lines if sorted(line.xs) == sorted(xs) and len(line.xs) == len(line.ys)]
        values = [dict(zip(line.xs, line.ys)) for line in lines[:number]]
        return [Line(line.label, tuple(xs), tuple(own[x] for x in xs)) for line, own in zip(lines, values)]


def is_axes(value: Any) -> bool:
    """Whether a value is matplotlib's axes, decided without importing matplotlib."""
    return all(hasattr(value, name) for name in ("get_lines", "get_xlabel", "get_legend", "figure"))


def drawing_of(axes: Any) -> Drawing:
    """What matplotlib's axes show.

    Args:
        axes: ``matplotlib.axes.Axes``.
    """
    legends = [legend for legend in (axes.get_legend(), *axes.figure.legends) if legend is not None]
    texts = [text.get_text() for legend in legends for text in legend.get_texts()]
    samples = [sample for legend in legends for sample in legend.legend_handles]
    lines = axes.get_lines()
    places = [tuple(map(float, line.get_xdata(orig=False))) for line in lines]
    values = [tuple(map(float, line.get_ydata(orig=False))) for line in lines]
    bars = {id(bar[0]): bar.get_label() for bar in axes.containers if len(bar)}  # a bar has the label, not its line
    barred = [bars.get(id(line)) for line in lines]
    drawn = tuple(map(Line, names_of(lines, barred, texts, samples), places, values))
    title = " ".join(filter(None, (axes.get_title(loc) for loc in ("left", "center", "right"))))
    return Drawing(drawn, axes.get_xlabel(), axes.get_ylabel(), title, tuple(texts), axes.get_yscale())


def names_of(
    lines: Sequence[Any], barred: Sequence[str | None], texts: Sequence[str], samples: Sequence[Any]
) -> list[str]:
    """The name of each line in the legend, whatever ``plot(…, label=…)`` called it; "" for a line not in the legend.

    A reader finds a line by the sample beside the text. Among lines that look alike, one with that label comes first.
    The sample of an error bar is no line: there the bar's label decides. If no line looks like any sample, the texts
    belong to the lines in order.

    Args:
        lines: of the axes.
        barred: the label of the error bar that each belongs to; None for most.
        texts: of the legend.
        samples: what the legend draws beside each text.
    """
    names = [""] * len(lines)
    for text, sample in zip(texts, samples):
        is_line = bool(look_of(sample))
        alike = [
            i
            for i, line in enumerate(lines)
            if not names[i] and (look_of(line) == look_of(sample) if is_line else barred[i] == text)
        ]
        mine = [i for i in alike if lines[i].get_label() == text] or alike
        if mine:
            names[mine[0]] = text
    return names if any(names) else [*texts, *names][: len(lines)]


def look_of(drawn: Any) -> str:
    """The colour, dashes and markers of a line, or of its sample in a legend; "" for what is not a line."""
    if not hasattr(drawn, "get_marker"):
        return ""
    return str((drawn.get_color(), drawn.get_linestyle(), drawn.get_marker()))


@contextlib.contextmanager
def no_new_figures() -> Iterator[None]:
    """Close figures opened inside the block when it ends, so that a notebook only shows each check's first figure."""
    plt = sys.modules.get("matplotlib.pyplot")
    before = plt.get_fignums() if plt else []
    try:
        yield
    finally:
        for number in set(plt.get_fignums() if plt else []) - set(before):
            plt.close(number)
