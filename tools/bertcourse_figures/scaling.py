"""Why scores are divided by √d: what the dimension and the division do to scores and weights."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bertcourse_figures.interactive import Figure, significant
from bertcourse_figures.schematic import Schematic

MOST_DRAWS = 8  # sets of vectors that a reader can look at; the averages cover all of them
HEADS = 64  # size of a query in BERT's heads, where the figure opens
FORMULAS, COLORS = ("softmax(q·k)", "softmax(q·k/√d)"), ("minus", "plus")


def explore_scaling(
    queries: Tensor, keys: Tensor, dimensions: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
) -> Figure:
    """Move d, switch the division on and off; scores and weights follow.

    For each d, the first d numbers of the vectors are taken. The reader can look at 8 of the draws: first the most
    typical, whose largest weights are nearest to the medians, then others in order. The averages cover all draws.

    Args:
        queries: (R, D), one query for each of R draws.
        keys: (R, n, D), the keys that it meets.
        dimensions: where the slider stops, increasing, from 1 to D. It opens at 64, or in the middle if that is absent.

    Raises:
        ValueError: shapes that do not fit, or numbers that are not finite.

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    if queries.dim() != 2 or keys.dim() != 3 or (keys.shape[0], keys.shape[2]) != queries.shape:
        raise ValueError(
            f"queries must be of shape (R, D) and keys (R, n, D); got {tuple(queries.shape)} and {tuple(keys.shape)}."
        )
    dimensions = list(dimensions)
    if dimensions != sorted(set(dimensions)) or not 1 <= dimensions[0] <= dimensions[-1] <= queries.shape[1]:
        raise ValueError(f"dimensions must rise from 1 or more to at most {queries.shape[1]}; got {dimensions}.")
    queries, keys = queries.detach().double(), keys.detach().double()
    scores = torch.stack([(keys[:, :, :d] @ queries[:, :d, None])[..., 0] for d in dimensions], dim=1)
    roots = torch.tensor(dimensions).sqrt()[:, None]
    largest = torch.stack([torch.softmax(part, dim=-1).amax(dim=-1) for part in (scores, scores / roots)], dim=-1)
    typical = most_typical(largest[..., 0])
    shown = [typical, *(draw for draw in range(len(queries)) if draw != typical)][:MOST_DRAWS]
    start = dimensions.index(HEADS) if HEADS in dimensions else len(dimensions) // 2
    data = {
        "dimensions": dimensions,
        "scores": significant(scores[shown], 7, "queries and keys"),
        "means": significant(largest.mean(dim=0)),  # (dimensions, 2)
        "draws": len(queries),
        "start": start,
    }
    rows = [
        torch.softmax(scores[typical, start] * scale, dim=-1).tolist() for scale in (1.0, dimensions[start] ** -0.5)
    ]
    words = told(rows, data)
    return Figure(draw(rows, dimensions[start], words), words, "scaling", data)


def most_typical(traits: Tensor) -> int:
    """The draw that is nearest to the median in all traits together, by its rank in each.

    Args:
        traits: (R, T), a row for each draw.

    >>> most_typical(torch.tensor([[1e-9, 1.0], [1.0, 3.0], [0.5, 2.0]]))
    2
    """
    ranks = traits.argsort(dim=0, stable=True).argsort(dim=0).double()
    return int((ranks - (len(traits) - 1) / 2).abs().sum(dim=1).argmin())


def told(rows: list[list[float]], data: dict) -> str:
    """What is drawn, in words and numbers: the largest weight where the figure opens, and averages over all draws."""
    dimensions, start = data["dimensions"], data["start"]
    largest = " and ".join(f"{max(row):.2f} for {formula}" for formula, row in zip(FORMULAS, rows))
    places = sorted({0, start, len(dimensions) - 1})
    means = ", ".join(
        f"d = {dimensions[place]}: {plain:.2f} and {divided:.2f}"
        for place, (plain, divided) in ((place, data["means"][place]) for place in places)
    )
    return (
        f"d = {dimensions[start]}: the largest of {len(rows[0])} weights of a typical query is {largest}. "
        f"Mean over {data['draws']} queries: {means}."
    )


def draw(rows: list[list[float]], d: int, words: str) -> Schematic:
    """The still picture: the weights of the typical draw at one d, undivided and divided.

    Args:
        rows: undivided and divided weights, (n,) each.
        d: the dimension.
        words: what the picture shows.
    """
    count = len(rows[0])
    figure = Schematic(740, 240, f"Bars: the weights of one query over {count} keys. {words}")
    for number, (formula, row, role) in enumerate(zip(FORMULAS, rows, COLORS)):
        left, floor, step = 20 + 370 * number, 200, 330 / count
        figure.text((left + 165, 16), f"{formula}, d = {d}", "formula", role, size=17)
        for i, weight in enumerate(row):
            tall = max(160 * weight, 0.6)
            place = (left + step * i, floor - tall, 0.74 * step, tall)
            figure.box(*place, color="none", fill=role, corner=1, opacity=0.85)
        figure.arrow((left - 4, floor), (left + 334, floor), head=False, color="line", width=1)
        figure.text((left + 165, floor + 17), f"weights of {count} keys; the largest is {max(row):.2f}", size=14)
    return figure
