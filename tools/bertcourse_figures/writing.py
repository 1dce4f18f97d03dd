"""BERT made to write: masks are filled one by one, and the order of filling changes the text."""

import math
from collections.abc import Mapping, Sequence

from bertcourse_figures.interactive import Figure, place_of, rounded
from bertcourse_figures.schematic import Schematic

MASK = "[MASK]"
LEAST = 1e-9  # a lower probability counts as this
Step = tuple[Sequence[str], int, float]  # the tokens after it, the place that was filled, the probability of its token


def explore_writing_order(orders: Mapping[str, Sequence[Step]], mask: str = MASK, start: int = 0) -> Figure:
    """Move through the steps in which a masked text was filled, and choose the order of filling.

    Args:
        orders: the steps of each order, by its name; a step is the tokens after it, the place that was filled, and
            the probability of its token. A place may be filled again, as Gibbs sampling does.
        mask: what stands where nothing has been written.
        start: how many steps are done at first, in the first order.

    Raises:
        ValueError: there are no steps, a step changes a place other than its own, or a number is not a probability.

    Source: Wang and Cho 2019, "BERT has a Mouth, and It Must Speak"; Ghazvininejad et al. 2019, "Mask-Predict".

    >>> forward = [(["it", "[MASK]"], 0, 0.5), (["it", "rains"], 1, 0.25)]
    >>> explore_writing_order({"left to right": forward, "backward": [(["[MASK]", "now"], 1, 0.1)]})
    A text of 2 masks, filled. left to right: it rains (1.04 nats per step). backward: [MASK] now (2.30 nats per step).
    """
    if not orders or not all(orders.values()):
        raise ValueError(f"orders must hold at least one order, each with steps; got {[*orders]}.")
    data = {"mask": mask, "orders": [[name, *checked(name, steps, mask)] for name, steps in orders.items()]}
    if len({len(before) for _, before, _ in data["orders"]}) > 1:
        raise ValueError("all orders must write texts of one length.")
    masks = max(before.count(mask) for _, before, _ in data["orders"])
    data["start"] = place_of(start, range(1 + max(map(len, orders.values()))), "start")
    ends = [f"{name}: {' '.join(steps[-1][0])} ({surprise(steps):.2f} nats per step)" for name, steps in orders.items()]
    told = f"A text of {masks} masks, filled. {'. '.join(ends)}."
    return Figure(draw(orders, told), told, "writing", data)


def checked(name: str, steps: Sequence[Step], mask: str) -> tuple[list[str], list]:
    """The tokens before the first step, and for each step its place, its token and the probability."""
    tokens, place, _ = steps[0]
    before = [mask if i == place else token for i, token in enumerate(tokens)]
    start, given = before, []
    for number, (after, place, probability) in enumerate(steps):
        place = int(place)
        changed = [i for i, (old, new) in enumerate(zip(before, after)) if old != new]
        if len(after) != len(before) or not 0 <= place < len(after) or not set(changed) <= {place}:
            raise ValueError(
                f"each step must change the place that it names and no other; step {number} of {name!r} names {place} "
                f"of {len(after)} and changes {changed}."
            )
        if not 0 <= probability <= 1:
            raise ValueError(f"a probability must lie between 0 and 1; step {number} of {name!r} has {probability}.")
        given.append([place, after[place], rounded(probability, 6)])
        before = list(after)
    return start, given


def surprise(steps: Sequence[Step]) -> float:
    """How surprised the model was by what it wrote, in nats per step: the mean of -ln p."""
    return sum(-math.log(max(float(probability), LEAST)) for _, _, probability in steps) / len(steps)


def draw(orders: Mapping[str, Sequence[Step]], told: str) -> Schematic:
    """The still picture: the finished text of each order, with the step that last wrote each token below it.

    Args:
        orders: as for ``explore_writing_order``.
        told: what the picture shows.
    """
    boxes, y = [], 8.0
    for name, steps in orders.items():
        when = {int(place): (number + 1, float(probability)) for number, (_, place, probability) in enumerate(steps)}
        boxes.append((name, 8.0, y, 0.0, None))
        x, y = 8.0, y + 24
        for place, token in enumerate(steps[-1][0]):
            width = max(8.6 * len(token) + 14, 44)
            if x + width > 732 and x > 8:
                x, y = 8.0, y + 52
            boxes.append((token, x, y, width, when.get(place)))
            x += width + 4
        y += 62
    figure = Schematic(740, round(y), told, size=14)
    for text, x, top, width, written in boxes:
        if not width:
            figure.text((x, top + 8), text, "bold", anchor="start")
            continue
        figure.box(x, top, width, 26, text, style="code", corner=4, fill="panel" if written else "none")
        if written:
            figure.box(x, top + 28, max(width * written[1], 1), 4, color="none", fill="plus", corner=1, opacity=0.8)
            figure.text((x + width / 2, top + 41), f"{written[0]}: {written[1]:.2f}", color="soft", size=11)
    return figure
