"""Why scores are divided by √d: what the dimension and the division do to scores, weights and gradient."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bertcourse_figures.interactive import Figure, significant
from bertcourse_figures.schematic import Schematic, paint, short

MOST_DRAWS = 8  # sets of vectors that a reader can look at; the bands cover all of them
HEADS = 64  # size of a query in BERT's heads; the figure opens there, and a line marks it
FORMULAS = ("softmax(q·k)", "softmax(q·k/√d)")
NAMES, COLORS = ("q·k", "q·k/√d"), ("minus", "plus")
MOST_POWERS = 12  # powers of ten that the gradient's axis spans; anything smaller is drawn at the bottom


def softmax_gradient(query: Tensor, keys: Tensor, scale: float) -> Tensor:
    """‖∂a/∂q‖: how strongly the weights a = softmax(scale · q·k) respond to a change of the query.

    By ∂a_i/∂q = scale · a_i (k_i − Σ_j a_j k_j).

    Args:
        query: (..., d).
        keys: (..., n, d).
        scale: 1, or 1/√d.

    Returns:
        (...), the Frobenius norm of each (n, d) Jacobian.
    """
    weights = torch.softmax((keys @ query[..., None])[..., 0] * scale, dim=-1)
    mean = weights[..., None, :] @ keys
    return scale * (weights[..., None] * (keys - mean)).flatten(-2).norm(dim=-1)


def explore_scaling(
    queries: Tensor, keys: Tensor, dimensions: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
) -> Figure:
    """Move d, switch the division on and off; scores, weights and gradient follow.

    For each d, the first d numbers of the vectors are taken. The reader can look at 8 of the draws: first the most
    typical, whose undivided gradients and largest weights are nearest to the medians, then others in order. The bands
    cover all draws, from the 10th percentile to the 90th.

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
    scores, gradients = [], []
    for d in dimensions:
        query, key = queries[:, :d], keys[:, :, :d]
        scores.append((key @ query[..., None])[..., 0])
        gradients.append(torch.stack([softmax_gradient(query, key, scale) for scale in (1.0, d**-0.5)], dim=-1))
    all_scores = torch.stack(scores, dim=1)  # (R, dimensions, n)
    all_gradients = torch.stack(gradients, dim=1)  # (R, dimensions, 2)
    percentiles = torch.tensor([0.1, 0.5, 0.9], dtype=torch.double)
    bands = all_gradients.quantile(percentiles, dim=0).permute(2, 1, 0)  # (2, dimensions, 3)
    largest = torch.softmax(all_scores, dim=-1).amax(dim=-1)  # (R, dimensions), undivided
    typical = most_typical(torch.cat([all_gradients[..., 0], largest], dim=1))
    shown = [typical, *(draw for draw in range(len(queries)) if draw != typical)][:MOST_DRAWS]
    start = dimensions.index(HEADS) if HEADS in dimensions else len(dimensions) // 2
    data = {
        "dimensions": dimensions,
        "scores": significant(all_scores[shown], 7, "queries and keys"),
        "gradients": significant(all_gradients[shown]),
        "bands": significant(bands),  # undivided and divided: (dimensions, 3)
        "start": start,
        "heads": HEADS,
        "powers": MOST_POWERS,
    }
    still, words = draw(all_scores[typical, start], bands, dimensions, start)
    return Figure(still, words, "scaling", data)


def most_typical(traits: Tensor) -> int:
    """The draw that is nearest to the median in all traits together, by its rank in each.

    Args:
        traits: (R, T), a row for each draw.

    >>> most_typical(torch.tensor([[1e-9, 1.0], [1.0, 3.0], [0.5, 2.0]]))
    2
    """
    ranks = traits.argsort(dim=0, stable=True).argsort(dim=0).double()
    return int((ranks - (len(traits) - 1) / 2).abs().sum(dim=1).argmin())


def draw(scores: Tensor, bands: Tensor, dimensions: list[int], start: int) -> tuple[Schematic, str]:
    """The still picture, with the weights at one d and the gradient over all d, and its words.

    Args:
        scores: (n,), of the typical draw at that d.
        bands: (2, dimensions, 3), undivided and divided: 10th percentile, median, 90th percentile.
        dimensions: all d.
        start: the index of the d whose weights are drawn.
    """
    d = dimensions[start]
    rows = [torch.softmax(scores * scale, dim=-1).tolist() for scale in (1.0, d**-0.5)]
    count = len(scores)
    largest = " and ".join(f"{max(row):.2f} for {formula}" for formula, row in zip(FORMULAS, rows))
    words = f"d = {d}: the largest of {count} weights of a typical query is {largest}."
    for place in sorted({start, len(dimensions) - 1}):
        size = "; ".join(
            f"{name} {median:.2g} ({low:.0e} to {high:.0e})"
            for name, (low, median, high) in zip(NAMES, bands[:, place].tolist())
        )
        words += f" Median gradient (10th to 90th percentile) at d = {dimensions[place]}: {size}."
    figure = Schematic(740, 380, f"Softmax weights of one query over {count} keys, and how gradients spread. {words}")
    for number, (formula, row, role) in enumerate(zip(FORMULAS, rows, COLORS)):
        left, floor, step = 20, 160 + 175 * number, 210 / count
        figure.text((left + 105, floor - 132), f"{formula}, d = {d}", "formula", role, size=16)
        for i, weight in enumerate(row):
            tall = max(105 * weight, 0.6)
            place = (left + step * i, floor - tall, 0.74 * step, tall)
            figure.box(*place, color="none", fill=role, corner=1, opacity=0.85)
        figure.arrow((left - 4, floor), (left + 214, floor), head=False, color="line", width=1)
        figure.text((left + 105, floor + 15), f"weights of {count} keys; the largest is {max(row):.2f}", size=13)
    draw_bands(figure, bands, dimensions, (310, 40, 420, 295))
    return figure, words


def draw_bands(figure: Schematic, bands: Tensor, dimensions: list[int], place: tuple[float, float, float, float]):
    """Draw the gradient over d, both on logarithmic scales: medians as lines, percentiles 10 to 90 as bands.

    Args:
        figure: the drawing to add to.
        bands: (2, dimensions, 3).
        dimensions: all d.
        place: left, top, width and height.
    """
    left, top, width, height = place
    sizes = bands[bands > 0]
    highest = math.ceil(math.log10(max(1.0, float(sizes.max()) if len(sizes) else 1.0)))
    lowest = math.floor(math.log10(min(0.1, float(sizes.min()) if len(sizes) else 0.1)))
    lowest = max(lowest, highest - MOST_POWERS)
    first, last = math.log2(dimensions[0]), math.log2(dimensions[-1])

    def x(d: int) -> float:
        return left + 8 + (math.log2(d) - first) / ((last - first) or 1) * (width - 16)

    def y(size: float) -> float:
        power = min(max(math.log10(size), lowest), highest) if size > 0 else lowest
        return top + (highest - power) / (highest - lowest) * height

    figure.text((left + width / 2, top - 16), "gradient ‖∂a/∂q‖: median, 10th to 90th percentile", "bold")
    figure.arrow((left, top), (left, top + height), (left + width, top + height), head=False, color="line", corner=0)
    for power in range(highest, lowest - 1, -2):
        raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        figure.text((left - 6, y(10.0**power)), f"10{raised}", color="soft", anchor="end", size=13)
    for d in dimensions[:: 3 if len(dimensions) > 5 else 1]:
        figure.text((x(d), top + height + 14), str(d), color="soft", size=13)
    figure.text((left + width / 2, top + height + 34), "d", "formula", "soft", size=16)
    for role, name, rows in zip(COLORS, NAMES, bands.tolist()):
        edges = [[(x(d), y(row[which])) for d, row in zip(dimensions, rows)] for which in range(3)]
        outline = "L".join(f"{short(a)} {short(b)}" for a, b in edges[0] + edges[2][::-1])
        figure.put(f'<path d="M{outline}z" fill="{paint(role)}" fill-opacity=".22"/>')
        figure.arrow(*edges[1], head=False, color=role, width=2.2, corner=0)
        below = top + height - (36 if role == "minus" else 14)
        figure.text((left + 12, below), name, color=role, anchor="start", size=13)
    if dimensions[0] <= HEADS <= dimensions[-1]:
        line = f"M{short(x(HEADS))} {short(top)}V{short(top + height)}"
        figure.put(f'<path d="{line}" stroke="{paint("soft")}" stroke-width="1.3" stroke-dasharray="2 4"/>')
        figure.text((x(HEADS) - 6, top + 0.62 * height), f"BERT: d = {HEADS}", color="soft", anchor="end", size=13)
