"""How far back an error is felt: a chain of words to stretch, and the gradient that is left at its end."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, rounded
from bertcourse_figures.schematic import Schematic, as_numbers, paint, short

MOST_TOKENS, MOST_KINDS = 48, 3
LEAST = 1e-12  # of the gradient that is left; anything smaller, including 0, counts as this
POWERS = 10  # powers of ten that the axis spans at most
PER_ROW = 10  # cells in a row of the still picture
ROLES = ("minus", "plus", "value")
DASHES = ("", ' stroke-dasharray="8 4"', ' stroke-dasharray="2 4"')


def explore_recurrence(
    tokens: Sequence[str],
    gradients: Mapping[str, ArrayLike],
    direct: Sequence[str] = ("attention",),
    start: int = 10,
    reference: int = 0,
    of: str | None = None,
) -> Figure:
    """Stretch the distance: how much of the gradient of a loss at the last word arrives that many words back?

    Everything is relative to the gradient at the reference distance in the same run, or to the median of a model's
    runs there; the median sums up the runs.

    Args:
        tokens: the L tokens of a sentence, 4 to 48; the loss is at the last one.
        gradients: (R, L) by name of a model, at most three: for each of R runs, the size of the gradient with respect
            to the input at distance 0, 1, …, L − 1 from the last word. (L,) is one run.
        direct: names of the models in which every word is one step away, rather than a chain of steps.
        start: the distance at first, or L − 1 if that is less.
        reference: the distance whose gradient counts as 100 %.
        of: the model whose gradient there counts as 100 % for all; None for each run's own.

    Raises:
        ValueError: shapes that do not fit, negative sizes, or no gradient at the reference.

    Source: Bengio et al. 1994, "Learning Long-Term Dependencies with Gradient Descent is Difficult"; Hochreiter &
    Schmidhuber 1997, "Long Short-Term Memory", section 3.

    >>> explore_recurrence("it will rain now".split(), {"RNN": [8.0, 4.0, 2.0, 0.5]}, start=2)
    Gradient of a loss at “now” in 4 words, of what it is there: RNN, 2 words back at “will” 25 %, 3 back 6.2 %.
    """
    tokens = list(tokens)
    sizes = {name: np.atleast_2d(as_numbers(values, name)) for name, values in gradients.items()}
    if not 4 <= len(tokens) <= MOST_TOKENS or not 1 <= len(sizes) <= MOST_KINDS:
        raise ValueError(
            f"there is room for 4 to {MOST_TOKENS} tokens and {MOST_KINDS} models; got {len(tokens)} and {list(sizes)}."
        )
    last = len(tokens) - 1
    start = min(start, last)
    if not 0 <= reference <= start:
        raise ValueError(f"start must be at least the reference, and that at least 0; got {start} and {reference}.")
    whole = {name: float(np.median(sizes[of][:, reference])) for name in sizes} if of else dict.fromkeys(sizes)
    powers = {name: left_over(values, name, len(tokens), reference, whole[name]) for name, values in sizes.items()}
    data = {
        "tokens": tokens,
        "names": list(powers),
        "direct": [name in direct for name in powers],
        "powers": [rounded(runs, 3) for runs in powers.values()],
        "start": start,
        "reference": reference,
        "least": POWERS,
        **({"of": of} if of else {}),
    }
    ends = [(start, f"{start} words back at “{tokens[last - start]}”"), (last, f"{last} back")]
    medians = {name: 10 ** np.median(runs, axis=0) for name, runs in powers.items()}
    each = "; ".join(
        f"{name}, {', '.join(f'{where} {percent(shares[distance])}' for distance, where in dict(ends).items())}"
        for name, shares in medians.items()
    )
    share = "of what it is there" if not reference else f"of what {f'{of}’s' if of else 'it'} is {reference} back"
    told = f"Gradient of a loss at “{tokens[-1]}” in {len(tokens)} words, {share}: {each}."
    return Figure(draw(data, told), told, "recurrence", data)


def left_over(sizes: np.ndarray, name: str, length: int, reference: int, whole: float | None = None) -> np.ndarray:
    """The power of ten of each run's gradient after division by that at the reference distance, or by another one.

    Args:
        sizes: (R, L).
        name: of the model.
        length: L.
        reference: the distance that counts as 1.
        whole: the size that counts as 1 in its stead.

    Returns:
        (R, L).
    """
    if sizes.ndim != 2 or sizes.shape[1] != length or (sizes < 0).any() or (sizes[:, reference] == 0).any():
        raise ValueError(
            f"{name} must be runs of {length} sizes of at least 0, and more than 0 at distance {reference}; got shape "
            f"{sizes.shape}."
        )
    return np.log10(np.maximum(sizes / (whole or sizes[:, [reference]]), LEAST))


def percent(share: float) -> str:
    """A share in percent to two digits, or the statement that there is next to nothing.

    >>> [percent(share) for share in (1.304, 0.0312, 0.00031, 2e-7)]
    ['130 %', '3.1 %', '0.031 %', 'less than 0.01 %']
    """
    if share < 0.0001:
        return "less than 0.01 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def share_of(power: int) -> str:
    """A power of ten in percent.

    >>> share_of(0), share_of(-4), share_of(-7)
    ('100 %', '0.01 %', '10⁻⁵ %')
    """
    if power < -5:
        return f"10{str(power + 2).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))} %"
    return f"{10.0 ** (power + 2):.{max(0, -power - 2)}f} %"


def draw(data: dict, told: str) -> Schematic:
    """The still picture: the chain of the first model, and for all models what is left at each distance."""
    tokens, start = data["tokens"], data["start"]
    rows = -(-len(tokens) // PER_ROW)
    figure = Schematic(740, 54 * rows + 236, told, size=12.5)
    last, shares = len(tokens) - 1, 10 ** np.median(data["powers"][0], axis=0)
    step = 734 / min(len(tokens), PER_ROW)
    for place, token in enumerate(tokens):
        distance, (row, column) = last - place, divmod(place, PER_ROW)
        x, y, share = 3 + step * column, 8 + 54 * row, min(1.0, shares[last - place])
        role = "hot" if distance == start else "line"
        figure.box(x + 12, y, step - 14, 34, "", role, "plus", corner=5, line=2 if role == "hot" else 1,
                   opacity=0.55 * share)  # fmt: skip
        figure.text((x + step / 2 + 5, y + 17), token, size=min(12.5, (step - 18) / (0.58 * len(token))))
        if place:
            near = shares[last - place + 1] if last - place + 1 <= start else 0.0
            color, wide = ("hot", min(1.0, near)) if last - place + 1 <= start else ("line", 0.0)
            ends = (x + 11, y + 17), (x - 2 if column else x + 1, y + 17)
            how = {"color": color, "opacity": 0.25 + 0.75 * wide, "head": False}
            figure.arrow(*ends, width=1 + 7 * wide, **how)
    draw_chart(figure, data, (66, 54 * rows + 40, 660, 140))
    return figure


def draw_chart(figure: Schematic, data: dict, place: tuple[float, float, float, float]) -> None:
    """Draw what is left at each distance, on an axis of powers of ten, with a line for each model's median.

    Args:
        figure: the drawing to add to.
        data: as the scene receives it.
        place: left, top, width and height.
    """
    left, top, width, height = place
    last = len(data["tokens"]) - 1
    medians = [np.median(runs, axis=0) for runs in data["powers"]]
    high = max(0.0, max(line.max() for line in medians))
    low = max(min(-1, int(np.floor(min(line.min() for line in medians)))), int(high) - POWERS)
    figure.text((left + width / 2, top - 16), "gradient that is left", "bold")
    for power in range(int(high), low - 1, -1 if high - low < 5 else -2):
        y = top + (high - power) / (high - low) * height
        figure.arrow((left, y), (left + width, y), head=False, color="line", width=0.7)
        figure.text((left - 6, y), share_of(power), color="soft", anchor="end", size=11)
    for number, (name, line) in enumerate(zip(data["names"], medians)):
        x = left + np.arange(last + 1) / last * width
        y = top + (high - np.clip(line, low, high)) / (high - low) * height
        path = "L".join(f"{short(a)} {short(b)}" for a, b in zip(x, y))
        stroke = f'stroke="{paint(ROLES[number])}" stroke-width="2.2"{DASHES[number]}'
        figure.put(f'<path d="M{path}" {stroke}/>')
        key, y = left + 10 + 160 * number, top + height + 32
        figure.put(f'<path d="M{short(key)} {short(y)}h28" {stroke}/>')
        figure.text((key + 36, y), name, anchor="start")
    for distance in range(0, last + 1, 5 if last > 12 else 2):
        figure.text((left + distance / last * width, top + height + 14), str(distance), color="soft", size=11)
    figure.text((left + width, top + height + 32), "words back", color="soft", anchor="end")
