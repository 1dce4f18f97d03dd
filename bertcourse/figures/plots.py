"""Figures of the lectures: one look, and colours that colour-blind readers can tell apart.

Images are not compared when a notebook is validated. So the notebook prints the numbers under each figure:
``attention_map`` returns them in words, the other functions return the axes.
"""

import base64
import html
import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from IPython.core.pylabtools import print_figure
from IPython.display import HTML, display
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Arc, Rectangle
from torch import Tensor

from bertcourse.tokenization import Edge

# Okabe & Ito 2008, "Color Universal Design", without its yellow, which is too pale for lines.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


def use_course_style() -> None:
    """Set matplotlib's defaults to the look of the course.

    Source: the palette of Okabe & Ito 2008.
    """
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.4),
            "figure.dpi": 90,
            "figure.constrained_layout.use": True,
            "axes.prop_cycle": plt.cycler(color=COLORS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "image.cmap": "viridis",
            "legend.frameon": False,
        }
    )


def show(alt: str) -> None:
    """Show the current figure, with a sentence for those who cannot see it; the last line of a cell that draws.

    Strict validation does not compare images, but it does compare this sentence.

    Args:
        alt: what the figure shows, in words: kind, axes, and what one sees.

    Raises:
        ValueError: if it says nothing.
    """
    if not alt.strip():
        raise ValueError('alt must say in words what the figure shows, such as "Bar chart of …"; got nothing.')
    figure = plt.gcf()
    png = print_figure(figure, fmt="png", base64=True, bbox_inches="tight")
    display({"image/png": png, "text/plain": alt}, raw=True)
    plt.close(figure)


def heatmap(
    matrix: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    ax: Axes | None = None,
    values: bool = False,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw a matrix with a name for each row and column.

    Args:
        matrix: (R, C).
        rows, columns: R and C names.
        title: above the figure.
        ax: where to draw; a new figure if None.
        values: write each number, to two digits, into its cell.
        limits: values at the ends of the colour scale; the smallest and largest of the matrix if None.

    Returns:
        The axes.

    Raises:
        ValueError: if there are more or fewer names than rows and columns.

    Source: the attention maps of Bahdanau et al. 2015, figure 3.
    """
    array = np.asarray(matrix.detach().float().cpu() if isinstance(matrix, Tensor) else matrix)
    if array.shape != (len(rows), len(columns)):
        raise ValueError(
            f"matrix must have a row for each of {len(rows)} names and a column for each of {len(columns)}; "
            f"got shape {array.shape}."
        )
    if ax is None:
        side = 0.42 if not values else 0.62
        _, ax = plt.subplots(figsize=(1.6 + side * len(columns), 1.2 + side * len(rows)))
    low, high = limits or (array.min(), array.max())
    image = ax.imshow(array, vmin=low, vmax=high, aspect="equal")
    ax.set_xticks(
        range(len(columns)),
        columns,
        rotation=45 if max(map(len, columns)) > 3 else 0,
        ha="right" if max(map(len, columns)) > 3 else "center",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(len(rows)), rows)
    ax.spines[:].set_visible(False)
    ax.set_title(title)
    if values:
        for (i, j), value in np.ndenumerate(array):
            ax.text(
                j,
                i,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize="small",
                color="black" if image.norm(value) > 0.6 else "white",
            )
    return ax


def attention_map(
    weights: Tensor, tokens: Sequence[str], title: str = "", ax: Axes | None = None, values: bool = False
) -> str:
    """Draw one head's weights: a row for each token that asks, a column for each that answers.

    Args:
        weights: (L, L), rows sum to 1.
        tokens: L names.
        title: above the figure.
        ax: where to draw; a new figure if None.
        values: write each weight into its cell.

    Returns:
        For each token, the one it attends to most and how much: "it → animal 0.42, …".

    Raises:
        ValueError: if there are more or fewer names than rows.

    Source: Vaswani et al. 2017, figures 3 to 5; Clark et al. 2019, "What Does BERT Look At?".

    >>> import torch
    >>> attention_map(torch.tensor([[0.2, 0.8], [0.5, 0.5]]), ["it", "rains"])
    'it → rains 0.80, rains → it 0.50'
    """
    ax = heatmap(weights, tokens, tokens, title, ax, values, limits=(0, 1))
    ax.set_xlabel("attends to")
    ax.set_ylabel("token")
    strongest, where = weights.max(dim=-1)
    return ", ".join(
        f"{token} → {tokens[j]} {w:.2f}" for token, j, w in zip(tokens, where.tolist(), strongest.tolist())
    )


def seeded_lines(lines: dict[str, Sequence[Sequence[float]]], ax: Axes | None = None) -> Axes:
    """Draw a line for each run, runs of one kind in one colour, so that the spread over seeds is seen.

    Args:
        lines: for each kind, its runs; each run is a list of numbers, one a layer or step from 0.
        ax: where to draw; a new figure if None.

    Returns:
        The axes, with a legend beside them.

    Raises:
        ValueError: if there are more kinds than colours.

    Source: the course's rule that a random result is shown for three seeds or more.
    """
    if len(lines) > len(COLORS):
        raise ValueError(f"at most {len(COLORS)} kinds of line can be told apart; got {len(lines)}.")
    if ax is None:
        _, ax = plt.subplots()
    for color, (name, runs) in zip(COLORS, lines.items()):
        for number, run in enumerate(runs):
            ax.plot(run, color=color, label=name if number == 0 else None)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def token_boxes(
    rows: Mapping[str, Sequence[str]], ax: Axes | None = None, highlight: Mapping[str, str] | None = None
) -> Axes:
    """Draw tokenized texts: a row for each, a box for each token, as wide as it has characters.

    Args:
        rows: name of the row to its tokens.
        ax: where to draw; a new figure if None.
        highlight: name of the row to the token that stands out in it; None colours every other box.

    Returns:
        The axes.

    Raises:
        ValueError: if there are no rows.
    """
    if not rows:
        raise ValueError("rows must hold at least one row of tokens; got none.")
    widths = {name: sum(len(token) + 1 for token in tokens) for name, tokens in rows.items()}
    if ax is None:
        _, ax = plt.subplots(figsize=(min(11.0, 1.5 + 0.12 * max(widths.values())), 0.3 + 0.32 * len(rows)))
    for y, (name, tokens) in enumerate(rows.items()):
        x = 0
        for number, token in enumerate(tokens):
            stands_out = number % 2 == 1 if highlight is None else highlight.get(name) == token
            face = to_rgba(COLORS[stands_out], 0.25 if highlight is None or not stands_out else 0.6)
            ax.add_patch(Rectangle((x, y - 0.4), len(token) + 1, 0.8, facecolor=face, edgecolor="white"))
            ax.text(x + (len(token) + 1) / 2, y, token, ha="center", va="center", family="monospace", fontsize="small")
            x += len(token) + 1
    ax.set(xlim=(0, max(widths.values())), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    ax.set_yticks(range(len(rows)), rows)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def lattice(word: str, edges: Sequence[Edge], best: Sequence[Edge], ax: Axes | None = None) -> Axes:
    """Draw the segmentations of a word: a dot between any two characters, an arc for each token, the best path thick.

    Args:
        word: its characters.
        edges: the tokens that fit, from ``start`` to ``end``, with ``log_prob``.
        best: those of the best segmentation.
        ax: where to draw; a new figure if None.

    Returns:
        The axes.

    Source: Kudo 2018, "Subword Regularization", section 3.2.
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(1 + 1.1 * len(word), 3.4))
    for edge in edges:
        reach = edge.end - edge.start
        color, width = (COLORS[1], 2.5) if edge in best else (COLORS[0], 1.0)
        ax.add_patch(Arc(((edge.start + edge.end) / 2, 0), reach, 0.9 * reach, theta2=180, color=color, lw=width))
        label = f"{edge.token or '?'}\n{edge.log_prob:.1f}"
        ax.text(
            (edge.start + edge.end) / 2,
            0.45 * reach,
            label,
            ha="center",
            va="center",
            fontsize="small",
            color=color,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    ax.plot(range(len(word) + 1), [0] * (len(word) + 1), "o", color="black")
    for place, character in enumerate(word):
        ax.text(place + 0.5, -0.22, character, ha="center", va="center", family="monospace")
    highest = max((edge.end - edge.start for edge in edges), default=1)
    ax.set(xlim=(-0.3, len(word) + 0.3), ylim=(-0.4, 0.45 * highest + 0.3))
    ax.axis("off")
    return ax


def tag_table(
    words: Sequence[str], rows: Mapping[str, Sequence[str | None]], ax: Axes | None = None, marked: Sequence[int] = ()
) -> Axes:
    """Draw words, or tokens, over rows of tags; a colour for each type of entity, none for O and for no tag.

    Args:
        words: a column each.
        rows: name of the row to its tags, such as "B-PER", or None where there is none.
        ax: where to draw; a new figure if None.
        marked: columns with a frame around them.

    Returns:
        The axes.

    Raises:
        ValueError: if a row has not one tag a word, or there are more types than colours.

    Source: Jurafsky & Martin, "Speech and Language Processing", whose tables of tags it draws.
    """
    types = list(dict.fromkeys(tag[2:] for tags in rows.values() for tag in tags if tag and tag != "O"))
    if any(len(tags) != len(words) for tags in rows.values()) or len(types) > len(COLORS) - 1:
        raise ValueError(
            f"each row must have a tag for each of {len(words)} words, of at most {len(COLORS) - 1} types."
        )
    widths = [
        2 + max(map(len, [word, *(str(tags[i] or "") for tags in rows.values())])) for i, word in enumerate(words)
    ]
    if ax is None:
        _, ax = plt.subplots(figsize=(min(13.0, 1 + 0.095 * sum(widths)), 0.4 + 0.32 * len(rows)))
    left = 0
    for column, (word, width) in enumerate(zip(words, widths)):
        ax.text(left + width / 2, -1, word, ha="center", va="center", fontweight="bold", fontsize="small")
        for y, tags in enumerate(rows.values()):
            tag = tags[column]
            color = (
                to_rgba(COLORS[types.index(tag[2:])], 0.35)
                if tag and tag != "O"
                else to_rgba("grey", 0.1 if tag else 0)
            )
            ax.add_patch(Rectangle((left, y - 0.45), width, 0.9, facecolor=color, edgecolor="white"))
            ax.text(left + width / 2, y, tag or "", ha="center", va="center", fontsize="small")
        if column in marked:
            ax.add_patch(Rectangle((left, -1.5), width, len(rows) + 1, fill=False, edgecolor=COLORS[1], lw=1.5))
        left += width
    ax.set(xlim=(-0.2, left + 0.2), ylim=(len(rows) - 0.4, -1.6), xticks=[])
    ax.set_yticks(range(len(rows)), rows)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def trellis(
    words: Sequence[str],
    labels: Sequence[str],
    scores: Tensor,
    forbidden: Tensor,
    paths: Mapping[str, Sequence[int]],
    ax: Axes | None = None,
) -> Axes:
    """Draw all sequences of tags at once: a dot for each tag at each word, a line for each step that is allowed.

    Args:
        words: L of them, from left to right.
        labels: K tags, from top to bottom.
        scores: (L, K), written at the dots.
        forbidden: (K, K), True where the tag of the column must not follow that of the row.
        paths: name to L tag indices: sequences that are drawn thick.
        ax: where to draw; a new figure if None.

    Returns:
        The axes.

    Raises:
        ValueError: if ``scores`` has another shape.

    Source: Forney 1973, "The Viterbi Algorithm", figure 8.
    """
    if tuple(scores.shape) != (len(words), len(labels)):
        raise ValueError(f"scores must be of shape ({len(words)}, {len(labels)}); got {tuple(scores.shape)}.")
    if ax is None:
        _, ax = plt.subplots(figsize=(1.5 + 1.7 * len(words), 0.9 + 0.6 * len(labels)))
    for t in range(len(words) - 1):
        for before, after in np.argwhere(~np.asarray(forbidden)):
            ax.plot((t, t + 1), (before, after), color="grey", lw=0.7, alpha=0.5, zorder=1)
    for number, (name, path) in enumerate(paths.items()):
        style = {"color": COLORS[number], "lw": 3, "linestyle": ["-", "--", ":"][number % 3]}
        ax.plot(range(len(words)), np.asarray(path), label=name, zorder=2, **style)
    for (t, tag), score in np.ndenumerate(np.asarray(scores)):
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "grey"}
        ax.text(t, tag, f"{score:.1f}", ha="center", va="center", fontsize="small", bbox=box, zorder=3)
    ax.set_xticks(range(len(words)), words)
    ax.set_yticks(range(len(labels)), labels)
    ax.set(xlim=(-0.4, len(words) - 0.6), ylim=(len(labels) - 0.6, -0.6), xlabel="word", ylabel="tag")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def answer_map(
    text: str,
    places: Sequence[tuple[int, int] | None],
    start: Sequence[float],
    end: Sequence[float],
    title: str = "",
    answer: tuple[int, int] | None = None,
    columns: int = 96,
    ax: Axes | None = None,
) -> Axes:
    """Draw a text whose tokens are coloured by how probable it is that the answer begins, and that it ends there.

    Args:
        text: the context.
        places: for each token its characters (start, end) in the text; None for a token that is not of the text.
        start, end: the tokens' probabilities. The start colours the upper half of a token, blue; the end the lower,
            orange.
        title: above the figure.
        answer: characters (start, end) that people marked; a line is drawn under them.
        columns: characters a line.
        ax: where to draw; a new figure if None.

    Returns:
        The axes.

    Raises:
        ValueError: if there are more or fewer probabilities than tokens.
    """
    if not len(places) == len(start) == len(end):
        raise ValueError(
            f"start and end must be one for each of {len(places)} tokens; got {len(start)} and {len(end)}."
        )
    lines = textwrap.wrap(text, columns, break_on_hyphens=False, replace_whitespace=False, expand_tabs=False)
    cell: dict[int, tuple[int, int]] = {}  # from a character to its line and column; a space at a line's end has none
    at = 0
    for row, line in enumerate(lines):
        at = text.index(line, at)
        cell |= {at + column: (row, column) for column in range(len(line))}
        at += len(line)
    if ax is None:
        _, ax = plt.subplots(figsize=(0.2 + 0.078 * columns, 0.45 + 0.24 * len(lines)))
    for place, *shares in zip(places, start, end):
        for character in range(*place) if place else ():
            if character not in cell:
                continue
            row, column = cell[character]
            for half, share in enumerate(shares):
                face = to_rgba(COLORS[half], min(1.0, float(share)) * 0.9)
                ax.add_patch(Rectangle((column, row + half * 0.5 - 0.5), 1, 0.5, facecolor=face, linewidth=0))
    for character in range(*answer) if answer else ():
        if character not in cell:
            continue
        row, column = cell[character]
        ax.plot([column, column + 1], [row + 0.42] * 2, color="black", linewidth=1.2)
    for character, (row, column) in cell.items():
        ax.text(column + 0.5, row, text[character], ha="center", va="center", family="monospace", fontsize=8)
    ax.set(xlim=(0, columns), ylim=(len(lines) - 0.4, -0.6))
    ax.axis("off")
    ax.set_title(title, loc="left")
    return ax


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

    Raises:
        ValueError: if there are more or fewer names or texts than points, or more groups than colours.

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
