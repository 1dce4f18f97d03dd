"""What a figure shows, as plain values: all that a check needs to know of the axes that an answer returns."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


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
        points = ", ".join(f"{x:.4g}: {y:.4g}" for x, y in zip(self.xs[:8], self.ys))
        return f"{self.label or 'a line without a name'} ({points}{', …' if len(self.xs) > 8 else ''})"


@dataclass(frozen=True)
class Drawing:
    """What axes show.

    Attributes:
        lines: in the order in which they were drawn.
        xlabel, ylabel, title: empty where there is none.
        legend: its texts; empty where there is none.
    """

    lines: tuple[Line, ...]
    xlabel: str = ""
    ylabel: str = ""
    title: str = ""
    legend: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = "; ".join(map(str, self.lines[:6])) or "no line"
        return f"axes with {lines}{'; …' if len(self.lines) > 6 else ''}"

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

    A line is called what the legend calls it, be it by ``plot(…, label=…)`` or by ``legend(names)``.

    Args:
        axes: ``matplotlib.axes.Axes``.
    """
    legends = [legend for legend in (axes.get_legend(), *axes.figure.legends) if legend is not None]
    texts = tuple(text.get_text() for legend in legends for text in legend.get_texts())
    lines = axes.get_lines()
    own = ["" if str(line.get_label()).startswith("_") else str(line.get_label()) for line in lines]
    if not any(own) and len(texts) <= len(lines):  # legend(names) names them in order
        own = [*texts, *own[len(texts) :]]
    places = [tuple(map(float, line.get_xdata())) for line in lines]
    values = [tuple(map(float, line.get_ydata())) for line in lines]
    drawn = tuple(map(Line, own, places, values))
    return Drawing(drawn, axes.get_xlabel(), axes.get_ylabel(), axes.get_title(), texts)


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
