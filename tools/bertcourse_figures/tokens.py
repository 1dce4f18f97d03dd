"""Tokenized texts, side by side: a row for each, a box for each token, and how many there are.

On a page, the boxes are part of its text: a letter of any script is drawn if the reader has a font for it.
"""

from collections.abc import Mapping, Sequence

from bertcourse_figures.interactive import NOTE, Figure
from bertcourse_figures.schematic import Schematic

LETTER, GAP, LINE = 9.4, 16, 32  # pixels: a letter's width, what a box adds to it, a line's height


def show_tokens(rows: Mapping[str, Sequence[str]], groups: Mapping[str, Sequence[str]] | None = None) -> Figure:
    """Show how texts are cut, a row for each, with its number of tokens.

    Args:
        rows: the tokens of each row, by its name.
        groups: the names of the rows below each heading; None for no headings.

    Raises:
        ValueError: there are no rows, or a group names one that does not exist.
    """
    if not rows:
        raise ValueError("rows must hold at least one row of tokens; got none.")
    groups = {"": list(rows)} if groups is None else groups
    if unknown := [name for names in groups.values() for name in names if name not in rows]:
        raise ValueError(f"groups must name rows, which are {list(rows)}; got {unknown[0]!r}.")
    said = [
        f"{f'{heading}, ' * bool(heading)}{name}: {len(rows[name])} {'·'.join(rows[name])}"
        for heading, names in groups.items()
        for name in names
    ]
    told = f"Tokens in rows, each with its number of them. {'; '.join(said)}."
    named = min(26, max(len(name) for name in rows) + 1)
    data = {
        "named": named,
        "groups": [[heading, [[name, list(rows[name])] for name in names]] for heading, names in groups.items()],
    }
    still = draw(rows, groups, told)
    return Figure(still, told, "tokens", data, NOTE.replace("moves", "wraps its lines"))


def draw(rows: Mapping[str, Sequence[str]], groups: Mapping[str, Sequence[str]], told: str) -> Schematic:
    """The still picture: lines of boxes, wrapped where they are full.

    Args:
        rows, groups: as for ``show_tokens``.
        told: what the picture shows.
    """
    named = max(len(name) for name in rows)
    left = min(250.0, 24 + 8.2 * named)
    placed, boxes, counts, y = [], [], [], 8.0
    for heading, names in groups.items():
        if heading:
            placed.append((heading, "bold", 8.0, y + 12))
            y += 28
        for name in names:
            placed.append((name, "", 8.0, y + 13))
            x = left
            for token in rows[name]:
                width = LETTER * len(token) + GAP
                if x + width > 690 and x > left:
                    x, y = left, y + LINE
                boxes.append((token, x, y, width))
                x += width + 3
            counts.append((len(rows[name]), y + 13))
            y += LINE + 4
        y += 6
    figure = Schematic(740, round(y + 2), told, size=15)
    for text, style, x, middle in placed:
        figure.text((x, middle), text, style, anchor="start", size=15)
    for token, x, top, width in boxes:
        figure.box(x, top, width, 26, token, style="code", corner=4)
    for number, middle in counts:
        figure.text((730, middle), str(number), "bold", anchor="end", size=15)
    return figure
