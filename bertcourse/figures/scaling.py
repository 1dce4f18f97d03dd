"""Why scores are divided by √d: the dimension and the division against scores, weights and gradient."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bertcourse.figures.interactive import Figure, significant
from bertcourse.figures.schematic import Schematic

MOST_DRAWS = 8  # sets of vectors that a reader can look at; the bands are of all
FORMULAS = ("softmax(q·k)", "softmax(q·k/√d)")


def softmax_gradient(query: Tensor, keys: Tensor, scale: float) -> Tensor:
    """‖∂a/∂q‖: how strongly the weights a = softmax(scale · q·k) answer to a change of the query.

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

    For each d the first d numbers of the vectors are taken. The first 8 draws can be looked at; the bands, from the
    lowest to the highest tenth, are of all.

    Args:
        queries: (R, D), one query for each of R draws.
        keys: (R, n, D), the keys that it meets.
        dimensions: where the slider stops, rising, from 1 to D.

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
    data = {
        "dimensions": dimensions,
        "scores": significant(all_scores[:MOST_DRAWS], 7, "queries and keys"),
        "gradients": significant(all_gradients[:MOST_DRAWS]),
    }
    bands = all_gradients.quantile(torch.tensor([0.1, 0.5, 0.9], dtype=torch.double), dim=0)  # (3, dimensions, 2)
    data["bands"] = significant(bands.permute(2, 1, 0))  # undivided and divided: (dimensions, 3)
    chosen = sorted({0, len(dimensions) // 2, len(dimensions) - 1})
    still, words = draw(all_scores[0, chosen], bands[1, chosen], [dimensions[place] for place in chosen])
    return Figure(still, words, "scaling", data)


def draw(scores: Tensor, gradients: Tensor, dimensions: list[int]) -> tuple[Schematic, str]:
    """The still picture, weights for some dimensions, and its words.

    Args:
        scores: (dimensions, n).
        gradients: (dimensions, 2), undivided and divided.
        dimensions: a column each.
    """
    scales = torch.tensor(dimensions).double() ** -0.5
    rows = [torch.softmax(scores, dim=-1), torch.softmax(scores * scales[:, None], dim=-1)]
    count = scores.shape[1]
    largest = [
        f"{formula}: " + ", ".join(f"d = {d}: {top:.2f}" for d, top in zip(dimensions, row.amax(-1).tolist()))
        for formula, row in zip(FORMULAS, rows)
    ]
    words = f"Largest of {count} weights. {'. '.join(largest)}."
    figure = Schematic(740, 296, f"Bars: the softmax weights of one query over {count} keys. {words}")
    for number, (formula, row, role) in enumerate(zip(FORMULAS, rows, ("minus", "plus"))):
        floor = 120 + 140 * number
        figure.text((116, floor - 40), formula, "formula", anchor="end", size=15)
        for column, weights in enumerate(row.tolist()):
            left, step = 138 + 204 * column, 184 / count
            if number == 0:
                figure.text((left + 92, 14), f"d = {dimensions[column]}", "bold")
            for i, weight in enumerate(weights):
                tall = max(92 * weight, 0.6)
                place = (left + step * i, floor - tall, 0.74 * step, tall)
                figure.box(*place, color="none", fill=role, corner=1, opacity=0.85)
            figure.arrow((left - 4, floor), (left + 188, floor), head=False, color="line", width=1)
            below = f"largest {max(weights):.2f}\nmedian gradient {gradients[column, number]:.2g}"
            figure.text((left + 92, floor + 20), below, color="soft", size=11.5)
    return figure, words
