"""Figures whose points show a text when the mouse, or a finger, is on them."""

import base64
import html
from collections.abc import Sequence

import numpy as np
from IPython.display import HTML

from bertcourse.figures.colors import COLORS


class HoverFigure(HTML):
    """A figure of SVG that shows texts under the mouse; its ``repr`` is its sentence, which validation compares.

    Where scripts do not run (an untrusted notebook, print) it is a picture: its points' texts are nowhere on the page.

    Args:
        svg: with an element ``title`` in each element that has a text.
        alt: what the figure shows, in words.
    """

    # Each script brings all pictures to life that are not alive yet, so none needs an id. A touch is a pointer, too.
    SCRIPT = """
for (const image of document.querySelectorAll("img.bertcourse-hover")) {
  const source = new TextDecoder().decode(Uint8Array.from(atob(image.src.split(",")[1]), (c) => c.charCodeAt(0)));
  const figure = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  const text = document.createElement("p");
  text.textContent = "Point at a dot to read what it stands for.";
  text.style.minHeight = "3em";
  figure.setAttribute("aria-label", image.alt);
  figure.addEventListener("pointerover", ({target}) => {
    const title = target.querySelector(":scope > title");
    if (title) text.textContent = title.textContent;
  });
  image.replaceWith(figure, text);
}
"""

    def __init__(self, svg: str, alt: str):
        picture = base64.b64encode(svg.encode()).decode()
        super().__init__(
            f'<div class="bertcourse-figure"><img class="bertcourse-hover" src="data:image/svg+xml;base64,{picture}" '
            f'alt="{html.escape(alt)}" style="max-width:100%;height:auto"></div><script>{self.SCRIPT}</script>'
        )
        self.alt = alt

    def __repr__(self) -> str:
        return self.alt


def hover_scatter(
    points: np.ndarray, groups: Sequence[str], texts: Sequence[str], title: str = "", alt: str = ""
) -> HoverFigure:
    """Points on a plane that show a text when the mouse, or a finger, is on them.

    Args:
        points: (n, 2).
        groups: n names, a colour each.
        texts: n texts.
        title: above the figure.
        alt: what one sees, in words, added to a sentence that counts the points of each group.

    Returns:
        What a notebook shows as the last line of a cell. GitHub shows nothing there, so draw the points in another
        figure, too.

    Source: the element ``title`` of SVG 2, which browsers show as a tooltip.
    """
    points = np.asarray(points, dtype=float)
    names = list(dict.fromkeys(groups))
    if points.shape != (len(texts), 2) or len(groups) != len(texts):
        raise ValueError(
            f"points must be of shape (n, 2), with n groups and n texts; got {points.shape}, {len(groups)} and "
            f"{len(texts)}."
        )
    if len(names) > len(COLORS):
        raise ValueError(f"at most {len(COLORS)} groups can be told apart; got {len(names)}.")
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    places = (points - low) / np.where(span > 0, span, 1) * (600, -300) + (20, 350)
    color = dict(zip(names, COLORS))
    circles = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{color[group]}" fill-opacity="0.7">'
        f"<title>{html.escape(group)}: {html.escape(text)}</title></circle>"
        for (x, y), group, text in zip(places, groups, texts)
    ]
    legend = "".join(f'<tspan fill="{color[name]}" dx="14">● {html.escape(name)}</tspan>' for name in names)
    counts = ", ".join(f"{list(groups).count(name)} {name}" for name in names)
    sentence = f"Scatter plot{f', {title}' if title else ''}: {len(texts)} points on a plane ({counts})."
    return HoverFigure(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 370" width="640" style="max-width:100%;height:auto" '
        f'role="img" font-family="sans-serif" font-size="13"><rect width="640" height="370" fill="white"/>'
        f'<text x="20" y="20">{html.escape(title)}{legend}</text>{"".join(circles)}</svg>',
        f"{sentence} {alt}".strip(),
    )
