"""Words as points in a plane: drag one, and a word's weights and its new vector follow."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bertcourse_figures.interactive import Figure, significant
from bertcourse_figures.schematic import Schematic, signed

MOST_WORDS = 8


def explore_plane(
    words: Sequence[str], vectors: Tensor, row: int, axes: tuple[str, str] = ("x", "y"), limits=(-1.0, 3.0)
) -> Figure:
    """Drag a word, or move it with the arrow keys: the chosen word's softmax is taken again, and its new vector moves.

    The weights are those of ``self_attention.simple_self_attention``: a softmax of undivided dot products.

    Args:
        words: L names, at most 8.
        vectors: (L, 2), within the limits.
        row: the word whose weights are drawn at first, counted from 0; the reader can choose another.
        axes: what the two numbers mean.
        limits: of both axes.

    Raises:
        ValueError: other shapes, too many words, or a vector outside the limits.
    """
    vectors, (low, high) = vectors.detach().double(), limits
    if vectors.shape != (len(words), 2) or len(words) > MOST_WORDS or not 0 <= row < len(words):
        raise ValueError(
            f"vectors must be of shape (L, 2) for L words, at most {MOST_WORDS}, one of which is the row; got "
            f"{tuple(vectors.shape)}, {len(words)} words and {row}."
        )
    if not ((vectors >= low) & (vectors <= high)).all():
        raise ValueError(f"vectors must lie from {low} to {high} to be drawn; got {vectors.tolist()}.")
    weights = torch.softmax(vectors @ vectors[row], dim=-1)
    output = weights @ vectors
    shares = ", ".join(f"{word} {weight:.3f}" for word, weight in zip(words, weights.tolist()))
    moved = ", ".join(signed(value, ".3f") for value in output.tolist())
    told = f"{words[row]} attends to: {shares}. Its new vector ({', '.join(axes)}): {moved}."
    data = {
        "words": list(words),
        "vectors": significant(vectors, 6, "vectors"),
        "row": row,
        "axes": list(axes),
        "limits": [low, high],
    }
    return Figure(draw(list(words), vectors, row, weights, output, data, told), told, "plane", data)


def draw(
    words: list[str], vectors: Tensor, row: int, weights: Tensor, output: Tensor, data: dict, told: str
) -> Schematic:
    """The still picture: the points, lines as wide as the weights, and where the chosen word moves."""
    figure = Schematic(740, 400, f"Words as points of a plane. {told}")
    low, high = data["limits"]
    left, top, side = 40, 12, 350

    def at(vector) -> tuple[float, float]:
        x, y = ((float(value) - low) / (high - low) for value in vector)
        return left + x * side, top + (1 - y) * side

    figure.box(left, top, side, side, fill="none", corner=2)
    figure.text((left + side / 2, top + side + 18), data["axes"][0], color="soft", size=13.5)
    figure.text((left - 18, top + side / 2), data["axes"][1], color="soft", size=13.5, turn=-90)
    for number, (vector, weight) in enumerate(zip(vectors, weights.tolist())):
        if number == row:  # no line can lead from a word to itself: a ring of that width surrounds it
            wide, (x, y) = 1 + 9 * weight, at(vector)
            inner = 7 + wide / 2
            place = (x - inner, y - inner, 2 * inner, 2 * inner)
            figure.put('<g opacity=".5">')
            figure.box(*place, fill="none", color="plus", corner=inner, line=wide)
            figure.put("</g>")
            continue
        figure.arrow(at(vectors[row]), at(vector), head=False, color="plus", width=1 + 9 * weight, opacity=0.5)
    figure.arrow(at(vectors[row]), at(output), color="hot", width=2.2)
    for number, (word, vector, weight) in enumerate(zip(words, vectors, weights.tolist())):
        x, y = at(vector)
        figure.box(x - 5, y - 5, 10, 10, fill="plus", color="plus", corner=5, opacity=0.9)
        off = (-16 if vector[1] > 0.05 else 17) * (1.4 if number == row else 1)
        figure.text((x, y + off), word, "bold" if number == row else "", size=13)
        y = 60 + 30 * number
        figure.text((500, y), word, "bold" if number == row else "", anchor="end", size=13)
        figure.box(510, y - 9, max(0.6, 150 * weight), 18, color="none", fill="plus", corner=2, opacity=0.8)
        figure.text((516 + 150 * weight, y), f"{weight:.3f}", anchor="start", color="soft", size=12)
    figure.text((510, 28), f"{words[row]} attends to", "bold", anchor="start")
    return figure
