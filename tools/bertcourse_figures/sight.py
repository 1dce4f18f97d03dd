"""Local and global attention: what each layer sees, what that costs, and how far the view reaches through a stack."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.schematic import NARROW, Schematic, in_both_widths, paint, short

MOST_WORDS, MOST_LAYERS = 24, 6
LONG, FAR = 8192, 64  # the longest text that ModernBERT reads, and the reach of its local layers
KINDS = {True: "local", False: "global"}


class Sight(NamedTuple):
    """What a stack sees.

    Attributes:
        length: of the sentence, in words.
        reach: words that a local layer sees on each side.
        local: for each layer, from the bottom, whether it is local.
        views: the places that the middle word sees: itself, and through one layer after the other from the top.
    """

    length: int
    reach: int
    local: list[bool]
    views: list[list[int]]

    def mask(self, layer: int) -> np.ndarray:
        """(L, L), who may attend to whom in a layer."""
        return mask_of(self.length, self.reach, self.local[layer])


def show_sight(length: int = 16, reach: int = 2, layers: int = 3, global_every: int = 3) -> Figure:
    """Masks of a global and a local layer, and what one word sees through a stack of both, as in ModernBERT.

    Args:
        length: of the sentence, in words, at most 24.
        reach: words that a local layer sees on each side.
        layers: of the stack, at most 6.
        global_every: every how many layers one is global, starting with the first, at the bottom.

    Raises:
        ValueError: numbers out of range, or a stack in which all layers are global.

    Source: Warner et al. 2024, "Smarter, Better, Faster, Longer", section 2.1.2.
    """
    if not (5 <= length <= MOST_WORDS and 2 <= layers <= MOST_LAYERS):
        raise ValueError(
            f"there is room for 5 to {MOST_WORDS} words and 2 to {MOST_LAYERS} layers; got {length} and {layers}."
        )
    if not (1 <= reach < length // 2 and global_every >= 2):
        raise ValueError(
            f"reach must be from 1 to {length // 2 - 1}, so that a local layer does not see everything, and "
            f"global_every at least 2; got {reach} and {global_every}."
        )
    local = [layer % global_every > 0 for layer in range(layers)]
    views = [[length // 2]]
    for is_local in reversed(local):
        seen = mask_of(length, reach, is_local)[views[-1]].any(axis=0)
        views.append([int(place) for place in np.flatnonzero(seen)])
    sight = Sight(length, reach, local, views)
    captions, told = describe(sight, global_every)
    schematic = in_both_widths(draw_sight, sight, captions, told)
    return show_steps(schematic, told)


def mask_of(length: int, reach: int, is_local: bool) -> np.ndarray:
    """(L, L), who may attend to whom."""
    places = np.arange(length)
    return np.abs(places[:, None] - places) <= (reach if is_local else length)


def scores_of(length: int, reach: int | None = None) -> int:
    """How many scores a layer computes: one for each word that each word sees.

    Args:
        length: L.
        reach: of a local layer, less than L; None for a global one.

    >>> scores_of(4), scores_of(4, 1)
    (16, 10)
    """
    return length**2 if reach is None else length * (2 * reach + 1) - reach * (reach + 1)


def describe(sight: Sight, global_every: int) -> tuple[list[str], str]:
    """A caption for each step, and the whole in words."""
    length, reach, views, layers = sight.length, sight.reach, sight.views, len(sight.local)
    both = [scores_of(length), scores_of(length, reach)]
    captions = [
        f"A global layer: each of {length} words sees all. {length} · {length} = {both[0]} scores.",
        f"A local layer: each word sees itself and up to {reach} on either side: {both[1]} scores, not {both[0]}.",
        f"{layers} layers on top of each other, {few(sight.local.count(False))} of them global. What does the word in "
        f"the middle, number {views[0][0] + 1}, see of the sentence?",
    ]
    for number, view in enumerate(views[1:]):
        layer = layers - number
        is_local = sight.local[layer - 1]
        seen = f"all {length}" if len(view) == length else f"{len(view)} of {length}"
        if len(views[number]) == length:
            captions.append(f"Layer {layer} is {KINDS[is_local]}. Everything is seen already.")
        elif is_local:
            captions.append(f"Layer {layer} is local, up to {reach} more on either side. So far it sees {seen} words.")
        else:
            captions.append(f"Layer {layer} is global: all that the others read. Now it sees {seen} words.")
    far = [scores_of(LONG), scores_of(LONG, FAR)]
    group = far[0] + (global_every - 1) * far[1]
    captions.append(
        f"A text of {LONG:,} tokens and a reach of {FAR}: {far[0]:,} scores in a global layer, {far[1]:,} in a local "
        f"one, {far[0] / far[1]:.0f} times fewer. Over {global_every} layers, one of them global: "
        f"{group / (global_every * far[0]):.0%} of what {global_every} global layers compute."
    )
    kinds = ", ".join(KINDS[is_local] for is_local in reversed(sight.local))
    told = (
        f"{length} words: a global layer computes {both[0]} scores; a local one, which sees {reach} words on either "
        f"side, {both[1]}. "
        f"From the top, the layers are {kinds}; through them word {views[0][0] + 1} sees "
        f"{', '.join(str(len(view)) for view in views[1:])} words. {captions[-1]}"
    )
    return captions, told


def few(count: int) -> str:
    """
    >>> few(1), few(2)
    ('one', '2')
    """
    return "one" if count == 1 else str(count)


def draw_sight(sight: Sight, captions: Sequence[str], told: str, width: int) -> Schematic:
    """Two masks, the stack beside them or below, and two bars."""
    figure, steps, small = Schematic(width, 400, told, size=13), iter(captions), width == NARROW
    cell = min(158 / sight.length, 14.0) if small else min(146 / sight.length, 14.0)
    side = cell * sight.length
    for number, is_local in enumerate((False, True)):
        x, y = (6 + 178 * number, 26.0) if small else (6.0, 26 + (side + 54) * number)
        figure.step(next(steps))
        count = scores_of(sight.length, sight.reach if is_local else None)
        figure.text((x, y - 14), f"{KINDS[is_local]} layer", "bold", anchor="start", size=14)
        mask = mask_of(sight.length, sight.reach, is_local)
        figure.matrix(x, y, 0.75 * mask, cell, limit=1, color=role_of(is_local))
        figure.text((x, y + side + 13), f"{count} scores", color="soft", anchor="start", size=12)
    below = 26 + side + 24 if small else 2 * side + 54 + 26 + 20
    place = (6.0, below + 28, 348.0) if small else (250.0, 26.0, 484.0)
    apart = 62.0 if small else min(110.0, (below - 132) / len(sight.local))
    under = draw_stack(figure, sight, steps, place, apart)
    figure.step(next(steps))
    figure.height = round(draw_costs(figure, max(under, below) + 8, width) + 4)
    return figure


def role_of(is_local: bool) -> str:
    """The colour of a layer."""
    return "value" if is_local else "plus"


def draw_stack(
    figure: Schematic, sight: Sight, steps: Iterator[str], place: tuple[float, float, float], apart: float
) -> float:
    """A row of words for each layer's output, the sentence at the bottom, and lines to what is seen; returns its edge.

    Args:
        figure: the drawing to add to.
        sight: what is seen.
        steps: the captions.
        place: left, top and width.
        apart: from row to row.
    """
    (left, top, width), layers, small = place, len(sight.local), figure.width == NARROW
    pitch = (width - (62 if small else 92)) / sight.length  # what is left is for the names of the layers
    box = 0.78 * pitch, 15.0

    def center(word: int, row: int) -> tuple[float, float]:
        return left + (word + 0.5) * pitch, top + 38 + row * apart

    def see(row: int, words: Sequence[int], role: str) -> None:
        for word in words:
            x, y = center(word, row)
            figure.box(x - box[0] / 2, y - box[1] / 2, *box, color=role, fill=role, corner=3, line=2, opacity=0.35)

    figure.step(next(steps))
    figure.text((left, top - 14), "what one word sees", "bold", anchor="start", size=14)
    for row in range(layers + 1):
        for word in range(sight.length):
            x, y = center(word, row)
            figure.box(x - box[0] / 2, y - box[1] / 2, *box, corner=3)
    figure.text((left, top + 14), f"output of layer {layers}", color="soft", anchor="start", size=12)
    figure.text((left, center(0, layers)[1] + 19), "the sentence", color="soft", anchor="start", size=12)
    see(0, sight.views[0], "query")
    for row, (seers, seen) in enumerate(zip(sight.views, sight.views[1:])):
        layer = layers - 1 - row
        is_local = sight.local[layer]
        role, mask = role_of(is_local), sight.mask(layer)
        figure.step(next(steps))
        lines = []
        for word in seers:
            for other in np.flatnonzero(mask[word]):
                (x, y), (u, v) = center(word, row), center(int(other), row + 1)
                lines.append(f"M{short(x)} {short(y + box[1] / 2 + 1)}L{short(u)} {short(v - box[1] / 2 - 1)}")
        faint = 0.75 if len(lines) < 60 else 0.4
        dashed = "" if is_local else ' stroke-dasharray="5 3"'
        figure.put(f'<path d="{"".join(lines)}" stroke="{paint(role)}" stroke-width="1" opacity="{faint}"{dashed}/>')
        see(row + 1, seen, role)
        name = KINDS[is_local] if small else f"layer {layer + 1}: {KINDS[is_local]}"
        at = left + sight.length * pitch + 6, center(0, row)[1] + apart / 2
        figure.text(at, f"{name}\nsees {len(seen)}", color=role, anchor="start", size=12)
    return center(0, layers)[1] + 30


def draw_costs(figure: Schematic, y: float, width: int) -> float:
    """Two bars, as long as the numbers of scores at 8,192 tokens; returns the lower edge."""
    full = width - 12
    figure.text((6, y + 8), f"{LONG:,} tokens, reach {FAR}", "bold", anchor="start", size=14)
    for number, reach in enumerate((None, FAR)):
        count, top = scores_of(LONG, reach), y + 24 + 38 * number
        figure.text((6, top + 7), f"{KINDS[reach is not None]} layer: {count:,} scores", anchor="start", size=12)
        role = role_of(reach is not None)
        figure.box(6, top + 18, full * count / scores_of(LONG), 14, color=role, fill=role, corner=2, opacity=0.6)
    return y + 24 + 74
