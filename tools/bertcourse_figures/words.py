"""Figures of texts: tokens, tags, and where an answer begins and ends."""

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from bertcourse_figures.colors import COLORS


def tag_table(
    words: Sequence[str], rows: Mapping[str, Sequence[str | None]], ax: Axes | None = None, marked: Sequence[int] = ()
) -> Axes:
    """Draw words, or tokens, above rows of tags, with a colour for each type of entity, and none for O or no tag.

    Args:
        words: one per column.
        rows: the tags of each row, by its name, such as "B-PER", or None where there is none.
        ax: where to draw; a new figure if None.
        marked: columns with a frame around them.

    Source: Jurafsky & Martin, "Speech and Language Processing", for its tables of tags.
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
    """Draw a text whose tokens are coloured by how probable it is that the answer begins there, or ends there.

    Args:
        text: the context.
        places: for each token, its characters (start, end) in the text; None for a token that is not part of the text.
        start, end: the tokens' probabilities. The start colours the upper half of a token blue, the end the lower half
            orange.
        title: above the figure.
        answer: the characters (start, end) that people marked; a line is drawn under them.
        columns: characters per line.
        ax: where to draw; a new figure if None.
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
