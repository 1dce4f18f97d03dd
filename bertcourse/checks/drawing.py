"""What a figure shows, as plain values: all that a check needs to know of the axes that an answer returns."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bertcourse.checks.values import short


@dataclass(frozen=True)
class Line:
    """A line of a figure.

    Attributes:
        label: its name in the legend; empty if it has none.
        xs, ys: its points.
    """

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def __str__(self) -> str:
        return self.described(short([*self.ys]))

    def described(self, ys: Sequence[float]) -> str:
        """Its name and its first points, with these values."""
        points = ", ".join(f"{x:g}: {y:.4g}" for x, y in zip(short([*self.xs[:8]]), ys))
        return f"{self.label or 'a line without a name'} ({points}{', …' if len(self.xs) > 8 else ''})"


@dataclass(frozen=True)
class Drawing:
    """What axes show.

    Attributes:
        lines: in the order in which they were drawn.
        xlabel, ylabel, title: empty where there is none.
        legend: its texts; empty where there is none.
        yscale: of the vertical axis, "linear" or "log".
    """

    lines: tuple[Line, ...]
    xlabel: str = ""
    ylabel: str = ""
    title: str = ""
    legend: tuple[str, ...] = ()
    yscale: str = "linear"

    def __repr__(self) -> str:
        # on a logarithmic axis no value is so small beside others that it could be taken for 0
        texts = [line.described(line.ys) if self.yscale == "log" else str(line) for line in self.lines[:6]]
        return f"axes with {'; '.join(texts) or 'no line'}{'; …' if len(self.lines) > 6 else ''}"

    def over(self, xs: Sequence[float], number: int) -> list[list[float]]:
        """The values of the first ``number`` lines over just these places; others, such as chance, are left aside."""
        return [list(line.ys) for line in self.lines_over(xs, number)]

    def lines_over(self, xs: Sequence[float], number: int) -> list["Line"]:
        """As ``over``, the lines; one whose points come in another order counts, and is put into that of ``xs``."""
        lines = [line for line in self.lines if sorted(line.xs) == sorted(xs) and len(line.xs) == len(line.ys)]
        values = [dict(zip(line.xs, line.ys)) for line in lines[:number]]
        return [Line(line.label, tuple(xs), tuple(own[x] for x in xs)) for line, own in zip(lines, values)]


def is_axes(value: Any) -> bool:
    """Whether it is what matplotlib draws on; asked without importing matplotlib."""
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
    drawn = tuple(map(Line, names_of(lines, texts, samples), places, values))
    return Drawing(drawn, axes.get_xlabel(), axes.get_ylabel(), axes.get_title(), tuple(texts), axes.get_yscale())


def names_of(lines: Sequence[Any], texts: Sequence[str], samples: Sequence[Any]) -> list[str]:
    """What a legend calls each line, whatever ``plot(…, label=…)`` called it; "" for one that it does not show.

    A reader finds a line by the sample beside the text. Of lines that look alike the one of that label comes first. If
    no line looks like any sample, the texts are those of the lines in order.

    Args:
        lines: of the axes.
        texts: of the legend.
        samples: what the legend draws beside each text.
    """
    names = [""] * len(lines)
    for text, sample in zip(texts, samples):
        alike = [i for i, line in enumerate(lines) if not names[i] and look_of(line) == look_of(sample)]
        mine = [i for i in alike if lines[i].get_label() == text] or alike
        if mine:
            names[mine[0]] = text
    return names if any(names) else [*texts, *names][: len(lines)]


def look_of(drawn: Any) -> str:
    """Colour, dashes and marks of a line, or of a legend's sample of one; "" for what is no line."""
    if not hasattr(drawn, "get_marker"):
        return ""
    return str((drawn.get_color(), drawn.get_linestyle(), drawn.get_marker()))


@contextlib.contextmanager
def no_new_figures() -> Iterator[None]:
    """Figures that open within it are closed after it, so that a notebook shows each check's first one only."""
    plt = sys.modules.get("matplotlib.pyplot")
    before = plt.get_fignums() if plt else []
    try:
        yield
    finally:
        for number in set(plt.get_fignums() if plt else []) - set(before):
            plt.close(number)
