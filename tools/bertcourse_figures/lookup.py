"""A one-hot vector times a table of vectors is one row of the table, step by step."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.schematic import NARROW, WIDE, Schematic, as_numbers, in_both_widths, signed

COLUMNS = {WIDE: 8, NARROW: 5}  # of the table; more do not fit with their numbers written out
MOST_ROWS, TALL = 7, 28


def show_lookup(words: Sequence[str], table: ArrayLike, word: str) -> Figure:
    """Step through x W, where x is a word's one-hot vector and W the table: what comes out is the word's row.

    Args:
        words: V different words, in the order of the table's rows.
        table: (V, D).
        word: the word to look up.

    Raises:
        ValueError: the table has another number of rows, the word is not in it, or a word occurs twice.

    Source: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space", whose projection
    layer this is.

    >>> show_lookup(["river", "bank", "money"], [[0.5, 1.0], [-0.25, 2.0], [0.0, 0.125]], "bank")
    “bank” is word 1 of 3, counted from 0. Its one-hot vector, 1 × 3, times the table, 3 × 2, is 1 × 2: −0.25 2.00.
    """
    words, table = list(words), as_numbers(table, "table")
    if table.ndim != 2 or len(table) != len(words) or words.count(word) != 1:
        raise ValueError(
            f"table must be of shape (V, D) with a row for each of {len(words)} words, among which {word!r} is once; "
            f"got {table.shape} and {words.count(word)} of it."
        )
    one_hot = np.array([float(other == word) for other in words])
    product = one_hot @ table
    (count, size), row = table.shape, words.index(word)
    shown = " ".join(signed(value, ".2f") for value in product[: COLUMNS[WIDE]])
    told = (
        f"“{word}” is word {row} of {count:,}, counted from 0. Its one-hot vector, 1 × {count:,}, times the table, "
        f"{count:,} × {size}, is 1 × {size}: {shown}{' …' if size > COLUMNS[WIDE] else ''}."
    )
    return show_steps(in_both_widths(draw, words, table, one_hot, product, told), told)


def rows_around(row: int, count: int) -> list[int | None]:
    """The rows of a table to draw: all if it is short, else the first, those around ``row``, the last; None is a gap.

    >>> rows_around(1, 4), rows_around(40, 100)
    ([0, 1, 2, 3], [0, None, 39, 40, 41, None, 99])
    """
    if count <= MOST_ROWS:
        return list(range(count))
    middle = min(max(row, 2), count - 3)
    kept = sorted({0, count - 1, *range(max(0, middle - 1), min(count, middle + 2))})
    gaps = [[None] if below - above > 1 else [] for above, below in zip(kept, [*kept[1:], count])]
    return [place for above, gap in zip(kept, gaps) for place in (above, *gap)]


def draw(
    words: list[str], table: np.ndarray, one_hot: np.ndarray, product: np.ndarray, told: str, width: int
) -> Schematic:
    """One form of the drawing: words, the one-hot vector upright beside the table's rows, and the product below them.

    Args:
        words: V.
        table: (V, D).
        one_hot: (V,).
        product: (D,).
        told: what is drawn, in words.
        width: of the drawing.
    """
    small, (count, size) = width == NARROW, table.shape
    row = int(one_hot.argmax())
    places, columns = rows_around(row, count), min(size, COLUMNS[width])
    kept = [place for place in places if place is not None]
    top, font = 62, 11.5 if small else 13
    bottom = top + len(places) * TALL
    figure = Schematic(width, bottom + 104, told, size=12.5 if small else 14)
    ids = 0.62 * (font - 2) * len(f"{kept[-1]}") + 8
    names = min(max(len(words[place]) for place in kept) * font * 0.6 + ids, 0.3 * width)
    letters = min(font, (names - ids) / (0.6 * max(len(words[place]) for place in kept)))
    left, hot = names + 10, 30 if small else 36  # where the one-hot vector begins, and how wide it is
    table_left = left + hot + (34 if small else 64)
    cell = min(76.0, (width - table_left - (26 if size > columns else 6)) / columns)
    table_right = table_left + columns * cell
    limit = float(np.abs(table[kept, :columns]).max())
    y_of = {place: top + number * TALL for number, place in enumerate(places) if place is not None}
    gaps = [top + (number + 0.5) * TALL for number, place in enumerate(places) if place is None]
    digits = ".1f" if small or cell < 44 else ".2f"

    figure.step(f"Each of the {count:,} words has a number, its id. “{words[row]}” is number {row}.")
    for place, y in y_of.items():
        style, color = ("bold", "hot") if place == row else ("", "ink")
        figure.text((names - ids, y + TALL / 2), words[place], style, color, "end", letters)
        figure.text((names, y + TALL / 2), f"{place}", "code", "soft", "end", font - 2)
    for y in gaps:
        figure.text((names - ids - 8, y), "⋮", color="soft", anchor="end")

    figure.step(f"Its one-hot vector: {count:,} numbers, a 1 in place {row}, 0 elsewhere. It stands upright here.")
    figure.text((left + hot / 2, 17), "one-hot x", "formula", size=font + 2)
    figure.text((left + hot / 2, 38), f"1 × {count:,}", color="soft", size=font - 1)
    for place, y in y_of.items():
        frame = "hot" if place == row else "line"
        figure.vector(left, y, one_hot[[place]], hot, TALL, limit=1.0, numbers=".0f", frame=frame, size=font)
    for y in gaps:
        figure.text((left + hot / 2, y), "⋮", color="soft")

    figure.step(f"The table W of word vectors: a row of {size} numbers for each word. Training changes these.")
    figure.text(((table_left + table_right) / 2, 17), "table W", "formula", size=font + 2)
    more = f", {columns} columns drawn" if size > columns else ""
    figure.text(((table_left + table_right) / 2, 38), f"{count:,} × {size}{more}", color="soft", size=font - 1)
    for place, y in y_of.items():
        how = {"limit": limit, "numbers": digits, "size": font - 0.5}
        figure.vector(table_left, y, table[place, :columns], cell, TALL, **how)
        if size > columns:
            figure.text((table_right + 13, y + TALL / 2), "…", color="soft")
    for y in gaps:
        figure.text(((table_left + table_right) / 2, y), "⋮", color="soft")

    figure.step("The product multiplies each row by the number beside it: times 0, a row vanishes. One row is left.")
    for place, y in y_of.items():
        ends = (left + hot + 4, y + TALL / 2), (table_left - 5, y + TALL / 2)
        figure.arrow(*ends, **({"color": "hot", "width": 2.4} if place == row else {"color": "line", "width": 1.1}))
        if not small:
            color = "hot" if place == row else "soft"
            over = (ends[0][0] + ends[1][0]) / 2 - 4, y + TALL / 2 - 8
            figure.text(over, f"× {one_hot[place]:.0f}", color=color, size=11)
    frame = table_left - 2, y_of[row] - 2, table_right - table_left + 4, TALL + 4
    figure.box(*frame, color="hot", fill="none", corner=3, line=2.4)

    figure.step(
        f"1 × {count:,} times {count:,} × {size} is 1 × {size}: the word's row. A program need not multiply, "
        f"it takes row {row}."
    )
    how = {"limit": limit, "numbers": digits, "size": font - 0.5, "frame": "hot"}
    box = figure.vector(table_left, bottom + 48, product[:columns], cell, TALL, **how)
    if size > columns:
        figure.text((table_right + 13, bottom + 48 + TALL / 2), "…", color="soft")
    figure.arrow((box.x + box.width / 2, bottom + 6), box.at(0.5, 0, dy=-5), color="hot", width=2.4)
    figure.text((table_left - 12, bottom + 48 + TALL / 2), f"x W = W[{row}]", "formula", "hot", "end", font + 2)
    figure.text(box.at(0.5, 1, dy=15), f"1 × {size}", color="soft", size=font - 1)
    return figure
