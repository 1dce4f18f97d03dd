"""Points on a plane that show a text when the mouse, or a finger, is on them."""

from collections.abc import Sequence

import numpy as np

from bertcourse_figures.colors import COLORS
from bertcourse_figures.interactive import Figure, data_uri
from bertcourse_figures.schematic import Schematic, as_numbers, in_both_widths, paint, short

# A mark for each group, so that colour is not all that tells them apart: outlines centred on (0, 0).
MARKS = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",  # disc
    "M-4.5 -4.5h9v9h-9z",  # square
    "M0 -6L5.5 4.5h-11z",  # triangle
    "M0 -6.5L5.5 0L0 6.5L-5.5 0z",  # diamond
    "M0 6L5.5 -4.5h-11z",  # triangle on its tip
    "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",  # plus
    "M-6 -2.5h12v5h-12z",  # bar
)


def hover_scatter(
    points: np.ndarray,
    groups: Sequence[str],
    texts: Sequence[str],
    title: str = "",
    alt: str = "",
    start: int | None = None,
) -> Figure:
    """Points on a plane that show a text when the mouse, or a finger, is on them, or one by one with the arrow keys.

    Args:
        points: (n, 2).
        groups: n names, at most 7 of them different; each gets a colour and a mark.
        texts: n texts.
        title: above the figure.
        alt: what one sees, in words, added to a sentence that counts the points of each group.
        start: the point whose text is shown at first; None for none.
    """
    points = as_numbers(points, "points")
    names = list(dict.fromkeys(groups))
    if points.shape != (len(texts), 2) or len(groups) != len(texts):
        raise ValueError(
            f"points must be of shape (n, 2), with n groups and n texts; got {points.shape}, {len(groups)} and "
            f"{len(texts)}."
        )
    if len(names) > len(COLORS):
        raise ValueError(f"at most {len(COLORS)} groups can be told apart; got {len(names)}.")
    counts = ", ".join(f"{list(groups).count(name)} {name}" for name in names)
    sentence = f"Scatter plot{f', {title}' if title else ''}: {len(texts)} points on a plane ({counts})."
    told = f"{sentence} {alt}".strip()
    marks = [names.index(group) for group in groups]
    wide = in_both_widths(draw, points, marks, names, title, told)
    data = {"texts": list(texts), "groups": list(groups), "narrow": data_uri(wide.narrow), "start": start}
    return Figure(wide, told, "hover", data)


def draw(points: np.ndarray, marks: list[int], names: list[str], title: str, told: str, width: int) -> Schematic:
    """The points with their legend.

    Args:
        points: (n, 2).
        marks: n indices into ``names``.
        names: of the groups.
        title: above the figure.
        told: what the picture shows.
        width: of the picture.
    """
    lines = [20.0 + 24 * bool(title)]  # of the legend; the last is the lowest
    figure = Schematic(width, 0, told, size=13)
    if title:
        figure.text((20, 16), title, "bold", anchor="start")
    left = 20.0
    for number, name in enumerate(names):
        needed = 17 + 7.4 * len(name)
        if left + needed > width and left > 20:
            lines.append(lines[-1] + 22)
            left = 20.0
        put_mark(figure, number, left + 6, lines[-1])
        figure.text((left + 17, lines[-1]), name, anchor="start")
        left += needed + 18
    tall = 0.44 * width
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    shares = (points - low) / np.where(span > 0, span, 1)
    figure.height = round(lines[-1] + tall + 40)
    for (x, y), mark in zip(shares * (width - 40, -tall) + (20, figure.height - 20), marks):
        put_mark(figure, mark, x, y, f' data-point="" data-at="{short(x)} {short(y)}"')
    return figure


def put_mark(figure: Schematic, group: int, x: float, y: float, attributes: str = "") -> None:
    """Draw a group's mark, with attributes by which the page finds it."""
    place = f'transform="translate({short(x)} {short(y)})" fill="{paint(f"group{group}")}" fill-opacity=".8"'
    figure.put(f'<path d="{MARKS[group]}" {place}{attributes}/>')
