"""Schematics with real numbers in them: SVG that takes its page's colours, builds up step by step, and prints.

A drawing is made in reading order at explicit coordinates. Methods return what they drew as a ``Box``, to attach the
next thing to. A value's sign sets its colour and its size the opacity, so 0 looks like the paper, whatever its colour.
Nothing in the file has an id, nothing is fetched, and the same numbers make the same bytes.
"""

import html
import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.colors import COLORS

# What a role looks like in a picture file: Okabe & Ito 2008, dark enough for text on a panel. On a page, kit.js gives
# the same roles colours mixed from the page's own text colour.
ROLES = {
    "ink": "#1f2328",
    "soft": "#5a636e",
    "line": "#c9ced6",
    "panel": "#f3f5f8",
    "paper": "#ffffff",
    "plus": "#0072b2",
    "minus": "#b54a00",
    "hot": "#b54a00",
    "query": "#a8448c",
    "key": "#986000",
    "value": "#00805c",
} | {f"group{number}": color for number, color in enumerate(COLORS)}
STYLE = (
    "text{text-anchor:middle;font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif}"
    ".bold{font-weight:650}"
    ".formula{font-family:STIX Two Text,Cambria,Georgia,serif;font-style:italic}"
    ".code{font-family:ui-monospace,Menlo,Consolas,monospace}"
)
SHADES = 12  # cells of one shade form one path, which keeps a large matrix small: about 6 bytes per cell
WIDE, NARROW = 740, 360  # pixels: a page's column, and a phone's
Point = tuple[float, float]


def paint(role: str) -> str:
    """The colour of a role: the page's, or else the one in ``ROLES``."""
    return "none" if role == "none" else f"var(--{role},{ROLES[role]})"


def short(value: float) -> str:
    """A coordinate, with at most two decimals.

    >>> short(3), short(-0.001), short(1 / 3)
    ('3', '0', '0.33')
    """
    return f"{round(float(value), 2) + 0:g}"


def as_numbers(values: ArrayLike, name: str) -> np.ndarray:
    """An array or tensor as float64. NaN and infinities, which cannot be drawn, are refused."""
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must hold finite numbers to be drawn; got {array[place]} at {place}.")
    return array


class Box(NamedTuple):
    """A rectangle that was drawn: its upper left corner, width and height."""

    x: float
    y: float
    width: float
    height: float

    def at(self, across: float = 0.5, down: float = 0.5, dx: float = 0, dy: float = 0) -> Point:
        """A point of the box, given as shares of its sides, and moved by (dx, dy).

        >>> Box(10, 10, 40, 20).at(0, 0.5, dx=-3)
        (7, 20.0)
        """
        return self.x + across * self.width + dx, self.y + down * self.height + dy


class Schematic:
    """A drawing, in steps if ``step`` is called.

    Args:
        width, height: of the drawing, in pixels; ``WIDE`` is the width of a page's column.
        alt: what it shows, in words.
        narrow: the same for a phone, ``NARROW`` wide; None shrinks this one.
        size: height of the text.

    >>> figure = Schematic(120, 40, "A box with the word bank in it.")
    >>> figure.box(10, 5, 100, 30, "bank").at(1, 0.5)
    (110, 20.0)
    """

    def __init__(self, width: int, height: int, alt: str, narrow: "Schematic | None" = None, size: float = 14):
        if not alt.strip():
            raise ValueError("alt must say in words what the schematic shows; got nothing.")
        self.width, self.height, self.alt, self.narrow, self.size = width, height, alt, narrow, size
        self.groups: list[tuple[str, list[str]]] = [("", [])]

    @property
    def captions(self) -> list[str]:
        """A caption for each step."""
        return [caption for caption, _ in self.groups[1:]]

    def step(self, caption: str) -> None:
        """Begin a step: what is drawn from here on appears with this caption."""
        self.groups.append((caption, []))

    def put(self, element: str) -> None:
        """Add an SVG element as it is."""
        self.groups[-1][1].append(element)

    def text(
        self,
        at: Point,
        text: str,
        style: str = "",
        color: str = "ink",
        anchor: str = "middle",
        size: float | None = None,
        turn: float = 0,
    ) -> None:
        """Write lines of text, centred on the point's height.

        Args:
            at: the point.
            text: with ``\\n`` between lines.
            style: "bold", "code", or "formula", in which ``a_j`` has a subscript.
            color: a role of ``ROLES``.
            anchor: which part of the text is at the point: "start", "middle" or "end".
            size: height; the drawing's if None.
            turn: degrees, clockwise about the point.
        """
        size, lines = size or self.size, str(text).split("\n")
        how = f' class="{style}"' if style else ""
        how += f' transform="rotate({short(turn)} {short(at[0])} {short(at[1])})"' if turn else ""
        for number, line in enumerate(lines):
            down = (number - (len(lines) - 1) / 2) * 1.25 + 0.35  # .35: half of a small letter
            y = at[1] + down * size
            looks = [f"text-anchor:{anchor}"] if anchor != "middle" else []
            looks += [f"--down:{short(down)}"] if len(lines) > 1 else []  # for a page that enlarges it
            own = f' style="{";".join(looks)}"' if looks else ""
            line = html.escape(line, quote=False)
            if style == "formula":
                line = re.sub(r"_(\w+)", lambda found: subscript(found[1], size), line)
            place = f'x="{short(at[0])}" y="{short(y)}" font-size="{short(size)}" fill="{paint(color)}"'
            self.put(f"<text {place}{how}{own}>{line}</text>")

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        text: str = "",
        color: str = "line",
        fill: str = "panel",
        style: str = "",
        size: float | None = None,
        corner: float = 7,
        line: float = 1.3,
        opacity: float = 0.13,
    ) -> Box:
        """Draw a box with rounded corners and a text in its middle.

        Args:
            x, y, width, height: where it is.
            text, style, size: as in ``text``.
            color: role of its outline, "none" for none.
            fill: role of its inside; ``opacity`` applies to all but "panel", "paper" and "none".
            corner: radius.
            line: width of the outline.
        """
        thin = "" if fill in ("panel", "paper", "none") else f' fill-opacity="{short(opacity)}"'
        self.put(
            f'<rect x="{short(x)}" y="{short(y)}" width="{short(width)}" height="{short(height)}" rx="{short(corner)}" '
            f'fill="{paint(fill)}"{thin} stroke="{paint(color)}" stroke-width="{short(line)}"/>'
        )
        if text:
            self.text((x + width / 2, y + height / 2), text, style, size=size)
        return Box(x, y, width, height)

    def matrix(
        self,
        x: float,
        y: float,
        values: ArrayLike,
        cell: float,
        cell_height: float | None = None,
        limit: float | None = None,
        color: str = "",
        numbers: str = "",
        frame: str = "line",
        size: float | None = None,
    ) -> Box:
        """Draw numbers as coloured cells.

        Args:
            x, y: upper left corner.
            values: (rows, columns), finite.
            cell, cell_height: width and height of a cell; a square if only the first is given.
            limit: the number with the full colour; the largest absolute value if None.
            color: role for numbers from 0 to ``limit``; "" takes "plus" above 0 and "minus" below.
            numbers: a format, such as ".2f", to write each number into its cell; "" writes none.
            frame: role of the outline.
            size: height of the numbers.
        """
        array = np.atleast_2d(as_numbers(values, "values"))
        (rows, columns), tall = array.shape, cell_height or cell
        limit = limit or float(np.abs(array).max()) or 1.0
        to_cells = f"translate({short(x)} {short(y + tall / 2)})scale({short(cell)} {short(tall)})"
        strongest = 0.6 if numbers else 1  # the numbers on the cells must be legible
        self.put(f'<g transform="{to_cells}">{shaded(array, limit, color, strongest)}</g>')
        width, height = columns * cell, rows * tall
        if min(cell, tall) >= 5:  # smaller cells need no lines between them
            down = "".join(f"M{short(x)} {short(y + i * tall)}h{short(width)}" for i in range(1, rows))
            across = "".join(f"M{short(x + i * cell)} {short(y)}v{short(height)}" for i in range(1, columns))
            self.put(f'<path d="{down}{across}" stroke="{paint("line")}" stroke-width=".6"/>')
        self.box(x, y, width, height, color=frame, fill="none", corner=0, line=1 if frame == "line" else 1.8)
        for (row, column), value in np.ndenumerate(array) if numbers else ():
            place = (x + (column + 0.5) * cell, y + (row + 0.5) * tall)
            style = "bold" if abs(value) > 0.72 * limit else ""
            self.text(place, signed(value, numbers), style, size=size or min(0.46 * cell, 0.62 * tall))
        return Box(x, y, width, height)

    def vector(
        self,
        x: float,
        y: float,
        values: ArrayLike,
        cell: float,
        cell_height: float | None = None,
        vertical: bool = False,
        **how,
    ) -> Box:
        """Draw a vector as a row of cells, or a column; the other arguments are those of ``matrix``."""
        values = as_numbers(values, "values").ravel()
        return self.matrix(x, y, values[:, None] if vertical else values[None], cell, cell_height, **how)

    def arrow(
        self,
        *points: Point,
        color: str = "soft",
        width: float = 1.4,
        curve: str = "",
        head: bool = True,
        opacity: float = 1,
        flow: bool = False,
        corner: float = 10,
    ) -> None:
        """Draw an arrow through the points, with rounded corners.

        Args:
            points: two or more.
            color: role.
            width: of the line.
            curve: an S from the first point to the last that starts "down" or "across"; "" draws straight lines.
            head: whether it has one.
            opacity: 0 to 1.
            flow: whether dashes run along it where the page can move.
            corner: radius.
        """
        path, angle = curved(points[0], points[-1], curve) if curve else straight(points, corner)
        faint = f' opacity="{short(opacity)}"' if opacity < 1 else ""
        look = f'stroke="{paint(color)}" stroke-width="{short(width)}" stroke-linecap="round"'
        moving = ' class="flow"' if flow else ""
        self.put(f'<path d="{path}" {look}{faint}{moving}/>')
        if head:
            long, wide = 5 + 1.4 * width, 2.6 + 0.8 * width
            outline = ((0, 0), (-long, wide), (-0.7 * long, 0), (-long, -wide))
            cosine, sine = math.cos(angle), math.sin(angle)
            tip = [(a * cosine - b * sine + points[-1][0], a * sine + b * cosine + points[-1][1]) for a, b in outline]
            corners = "L".join(f"{short(a)} {short(b)}" for a, b in tip)
            self.put(f'<path d="M{corners}z" fill="{paint(color)}"{faint}/>')

    def bracket(
        self, start: float, end: float, y: float, text: str = "", over: bool = False, color: str = "soft"
    ) -> None:
        """Draw a bracket with a label under what lies between two x coordinates, or over it."""
        tick = 5 if over else -5
        path = f"M{short(start)} {short(y + tick)}V{short(y)}H{short(end)}V{short(y + tick)}"
        self.put(f'<path d="{path}" stroke="{paint(color)}" stroke-width="1.2"/>')
        self.text(((start + end) / 2, y - 2 * tick), text, color=color, size=0.9 * self.size)

    def svg(self) -> str:
        """The drawing as a file. It names all its colours, and a page may override them."""
        groups = "".join(f'<g data-step="{i}">{"".join(inside)}</g>' for i, (_, inside) in enumerate(self.groups))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" aria-label="{html.escape(self.alt)}"><style>{STYLE}</style>'
            f'<rect width="100%" height="100%" fill="{paint("paper")}"/><g fill="none">{groups}</g></svg>'
        )


def signed(value: float, form: str) -> str:
    """A number as it is printed: with a true minus sign, and none before a zero.

    >>> signed(-0.126, ".2f"), signed(-0.001, ".2f")
    ('−0.13', '0.00')
    """
    text = format(value, form)
    return (text if any(digit in text for digit in "123456789") else text.lstrip("-")).replace("-", "−")


def subscript(text: str, size: float) -> str:
    """Letters below the line, and a zero-width space that leads back to it."""
    down = f'<tspan dy="{short(0.25 * size)}" font-size="{short(0.72 * size)}">{text}</tspan>'
    return f'{down}<tspan dy="{short(-0.25 * size)}">&#8203;</tspan>'


def in_both_widths(draw: Callable[..., Schematic], *parts) -> Schematic:
    """A drawing for a page's column, with its narrow form for a phone.

    Args:
        draw: draws the parts in a width in pixels, its last argument.
        parts: its other arguments.

    >>> in_both_widths(lambda words, width: Schematic(width, 40, words), "An empty page.").narrow.width
    360
    """
    wide, narrow = (draw(*parts, width) for width in (WIDE, NARROW))
    wide.narrow = narrow
    return wide


def shaded(array: np.ndarray, limit: float, color: str, strongest: float) -> str:
    """Paths of strokes, one stroke per cell of 1 × 1 and one path per shade."""
    strokes: dict[tuple[str, int], list[str]] = {}
    for (row, column), value in np.ndenumerate(array):
        role = color or ("plus" if value > 0 else "minus")
        shade = round(min(1.0, abs(value) / limit) * SHADES)
        if shade and not (color and value < 0):
            strokes.setdefault((role, shade), []).append(f"M{column} {row}h1")
    faintest = 0.07
    opacity = [short(faintest + (strongest - faintest) * shade / SHADES) for shade in range(SHADES + 1)]
    return "".join(
        f'<path stroke="{paint(role)}" opacity="{opacity[shade]}" d="{"".join(path)}"/>'
        for (role, shade), path in sorted(strokes.items())
    )


def curved(start: Point, end: Point, curve: str) -> tuple[str, float]:
    """An S between two points, and the angle at which it arrives."""
    middle_x, middle_y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    pulls = {"down": ((start[0], middle_y), (end[0], middle_y)), "across": ((middle_x, start[1]), (middle_x, end[1]))}
    first, second = pulls[curve]
    path = " ".join(f"{short(x)} {short(y)}" for x, y in (first, second, end))
    angle = math.atan2(end[1] - second[1], end[0] - second[0])
    return f"M{short(start[0])} {short(start[1])}C{path}", angle


def straight(points: Sequence[Point], corner: float) -> tuple[str, float]:
    """Lines through the points, rounded at the corners, and the angle of the last."""
    path = f"M{short(points[0][0])} {short(points[0][1])}"
    for before, turn, after in zip(points, points[1:], points[2:]):
        near = []
        for end in (before, after):
            way = np.subtract(end, turn)
            length = float(np.hypot(*way)) or 1.0
            near.append(turn + way / length * min(corner, length / 2))
        (a, b), (c, d) = near
        path += f"L{short(a)} {short(b)}Q{short(turn[0])} {short(turn[1])} {short(c)} {short(d)}"
    (x1, y1), (x2, y2) = points[-2], points[-1]
    return f"{path}L{short(x2)} {short(y2)}", math.atan2(y2 - y1, x2 - x1)
