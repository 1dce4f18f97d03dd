"""Who may attend to whom: a mask with cells to click, and the weights and the output that follow from it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bertcourse_figures.interactive import Figure, significant
from bertcourse_figures.schematic import Schematic, signed

MOST_WORDS = 16


def explore_mask(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    words: Sequence[str] | None = None,
    mask: Tensor | None = None,
    row: int | None = None,
) -> Figure:
    """Click a cell of the mask: the softmax of its row is taken again, and the row's output moves.

    The reader can go back to no mask, the causal mask, the padding mask if a word is "[PAD]", and ``mask``.

    Args:
        query, key: (L, d), of one head; L is at most 16.
        value: (L, D).
        words: L names; numbers if None.
        mask: boolean (L, L), True means "may attend"; None lets every word attend to all.
        row: the query that is followed at first; the last if None.

    Raises:
        ValueError: shapes that do not fit, too many words, or numbers that are not finite.
    """
    query, key, value = (part.detach().double() for part in (query, key, value))
    length = len(query)
    words = [str(i) for i in range(length)] if words is None else list(words)
    if query.dim() != 2 or key.shape != query.shape or value.dim() != 2 or not len(value) == len(words) == length:
        raise ValueError(
            f"query and key must be of shape (L, d), value (L, D), with L words; got {tuple(query.shape)}, "
            f"{tuple(key.shape)}, {tuple(value.shape)} and {len(words)} words."
        )
    everyone = torch.ones(length, length, dtype=torch.bool)
    allowed = everyone if mask is None else mask
    if tuple(allowed.shape) != (length, length) or length > MOST_WORDS:
        raise ValueError(
            f"mask must be of shape (L, L), with L of at most {MOST_WORDS}; got {tuple(allowed.shape)} for "
            f"{length} words."
        )
    row = range(length)[-1 if row is None else row]
    scores = query @ key.T * query.shape[1] ** -0.5
    data = {
        "words": words,
        "scores": significant(scores, 7, "query and key"),
        "values": significant(value, 7, "value"),
        "masks": [[name, known.int().tolist()] for name, known in known_masks(words, allowed).items()],
        "start": allowed.int().tolist(),
        "row": row,
    }
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1)
    output = weights @ value
    shares = ", ".join(f"{word} {weight:.3f}" for word, weight in zip(words, weights[row].tolist()))
    told = f"Mask that allows {int(allowed.sum())} of {length} × {length} cells. {words[row]} attends to: {shares}."
    if value.shape[1] <= 4:
        told += f" Its output: {', '.join(signed(number, '.3f') for number in output[row].tolist())}."
    return Figure(draw(weights, allowed, output[row], words, row, told), told, "mask", data)


def known_masks(words: list[str], given: Tensor) -> dict[str, Tensor]:
    """The masks that a reader can go back to, by name."""
    length = len(words)
    masks = {
        "no mask": torch.ones(length, length, dtype=torch.bool),
        "causal": torch.ones(length, length, dtype=torch.bool).tril(),
    }
    if "[PAD]" in words:
        masks["padding"] = torch.tensor([word != "[PAD]" for word in words]).expand(length, length)
    if not any(torch.equal(given, known) for known in masks.values()):
        masks["as given"] = given
    return masks


def draw(weights: Tensor, allowed: Tensor, output: Tensor, words: list[str], row: int, told: str) -> Schematic:
    """The still picture: the weights under the mask, and the row that is followed.

    Args:
        weights, allowed: (L, L).
        output: (D,), of the row.
        words, row: as in ``explore_mask``.
        told: what the picture shows.
    """
    length = len(words)
    cell = min(46.0, 300 / length)
    longest = 7.2 * max(map(len, words))  # about the width of the longest name
    left, top = longest + 42, 0.71 * longest + 44
    figure = Schematic(740, round(top + length * cell + 16), f"Attention weights under a mask. {told}", size=13)
    figure.matrix(left, top, weights, cell, limit=1.5, color="plus")  # pale, so that numbers on it are legible
    for i, j in torch.cartesian_prod(torch.arange(length), torch.arange(length)).tolist():
        center = (left + (j + 0.5) * cell, top + (i + 0.5) * cell)
        if not allowed[i, j]:
            figure.text(center, "×", color="soft", size=0.4 * cell)
        elif cell > 28:
            figure.text(center, f"{weights[i, j]:.2f}", size=min(13, 0.42 * cell))
    for i, word in enumerate(words):
        figure.text((left - 8, top + (i + 0.5) * cell), word, "bold" if i == row else "", anchor="end", size=13)
        figure.text((left + (i + 0.4) * cell, top - 10), word, anchor="start", size=13, turn=-45)
    figure.text((10, top + length * cell / 2), "attends from", color="soft", size=13, turn=-90)
    figure.text((left + length * cell / 2, 9), "to", color="soft", size=13)
    figure.box(left, top + row * cell, length * cell, cell, color="hot", fill="none", corner=2, line=2)

    right = left + length * cell + longest + 50
    wide, step = 740 - right - 60, length * cell / (length + 1.5)
    figure.text((right, top - 18), f"{words[row]} attends to", "bold")
    for j, word in enumerate(words):
        y, share = top + (j + 0.5) * step, float(weights[row, j])
        figure.text((right - 10, y), word, anchor="end", size=13)
        place = (right, y - 0.3 * step, max(wide * share, 0.6), 0.6 * step)
        figure.box(*place, color="none", fill="plus", corner=2, opacity=0.8)
        text = f"{share:.3f}" if allowed[row, j] else "masked"
        figure.text((right + 6 + wide * share, y), text, color="soft", anchor="start", size=12)
    y, few = top + (length + 0.4) * step, output[:32]
    figure.text((right - 10, y + 11), "output", "bold", "hot", "end")
    numbers = ".2f" if len(few) <= 4 else ""
    figure.vector(right, y, few, min(46.0, (736 - right) / len(few)), 22, frame="hot", numbers=numbers, size=11.5)
    return figure
