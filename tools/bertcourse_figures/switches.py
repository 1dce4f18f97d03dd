"""Switch parts of a model on and off: what becomes of a signal, layer by layer?"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from bertcourse_figures.interactive import Figure, rounded
from bertcourse_figures.schematic import Schematic, as_numbers, paint, short

LEAST = 1e-8  # anything smaller, including 0, is drawn as this: rounding alone turns an exact 0 into about 1e-16


def explore_switches(
    switches: Mapping[str, Sequence[str]],
    lines: Mapping[tuple[str, ...], Mapping[str, Sequence[Sequence[float]]]],
    start: tuple[str, ...],
) -> Figure:
    """Set each switch, and up to three measurements of the model's layers follow, on axes of powers of ten.

    Args:
        switches: the settings of each, by its name.
        lines: for every choice of settings and every measurement, the runs: a number of at least 0 per layer.
        start: the choice that is shown at first.

    Raises:
        ValueError: a choice without lines, measurements that differ, or numbers that are negative or not finite.
    """
    choices = list(product(*switches.values()))
    if set(lines) != set(choices) or start not in lines:
        missing = sorted(set(choices) ^ set(lines))[:3] or [start]
        raise ValueError(
            f"lines must have every choice of settings, start among them; got too few or too many: {missing}."
        )
    measures = list(lines[start])
    powers = {choice: [log10(lines[choice][name], f"{choice}, {name}") for name in measures] for choice in choices}
    if any(list(lines[choice]) != measures for choice in choices) or len({p.shape for p in powers[start]}) > 1:
        raise ValueError("every choice must have the same measurements, and all of them as many runs and layers.")
    place = {name: [list(settings).index(s) for s in settings] for name, settings in switches.items()}
    keys = dict(zip(choices, (".".join(map(str, at)) for at in product(*place.values()))))
    data = {
        "switches": [[name, list(settings)] for name, settings in switches.items()],
        "measures": measures,
        "lines": {keys[choice]: [rounded(runs, 3) for runs in powers[choice]] for choice in choices},
        "least": round(np.log10(LEAST)),
        "start": [int(number) for number in keys[start].split(".")],
    }
    ends = [
        f"{name}: {short_number(runs[:, 0])} at the bottom, {short_number(runs[:, -1])} at the top"
        for name, runs in zip(measures, powers[start])
    ]
    set_to = ", ".join(f"{name} {setting}" for name, setting in zip(switches, start))
    layers = powers[start][0].shape[1] - 1
    told = f"{len(choices)} stacks of {layers} layers. Shown: {set_to}, medians of its runs. {'; '.join(ends)}."
    return Figure(draw(measures, powers, start, told), told, "switches", data)


def short_number(powers: np.ndarray) -> str:
    """The median of runs, to two digits.

    >>> short_number(np.log10([0.6, 0.63, 700]))
    '0.63'
    """
    return f"{10 ** np.median(powers):.2g}"


def log10(runs: Sequence[Sequence[float]], name: str) -> np.ndarray:
    """(runs, layers + 1), the powers of ten of numbers of at least 0."""
    array = as_numbers(np.asarray(runs, dtype=float), name)
    if array.ndim != 2 or array.shape[1] < 2 or (array < 0).any():
        raise ValueError(f"{name} must be runs of two or more numbers of at least 0; got shape {array.shape}.")
    return np.log10(np.maximum(array, LEAST))


def draw(measures: list[str], powers: Mapping, start: tuple[str, ...], told: str) -> Schematic:
    """The still picture: a panel for each measurement, with the chosen stack bold and the others faint."""
    figure = Schematic(740, 238, told, size=12)
    width = 740 / len(measures)
    for number, name in enumerate(measures):
        left, right, top, bottom = number * width + 48, (number + 1) * width - 14, 34, 176
        everything = np.concatenate([runs[number] for runs in powers.values()])
        low, high = np.floor(everything.min()), np.ceil(everything.max())
        figure.text(((left + right) / 2, 14), name, "bold", size=13)
        step = max(1, np.ceil((high - low) / 4))
        for power in np.arange(np.ceil(low / step) * step, high + 1, step):
            y = bottom - (power - low) / (high - low or 1) * (bottom - top)
            figure.arrow((left, y), (right, y), head=False, color="line", width=0.7)
            figure.text((left - 6, y), f"1e{power:.0f}", color="soft", anchor="end", size=12)
        figure.text(((left + right) / 2, 200), "blocks passed", color="soft", size=12)
        for choice in sorted(powers, key=lambda choice: choice == start):
            runs = powers[choice][number]
            look = ("hot", 2, 1) if choice == start else ("soft", 1, 0.3)
            for run in runs if choice == start else runs[:1]:
                x = np.linspace(left, right, len(run))
                y = bottom - (run - low) / (high - low or 1) * (bottom - top)
                path = "L".join(f"{short(a)} {short(b)}" for a, b in zip(x, y))
                stroke = f'stroke="{paint(look[0])}" stroke-width="{look[1]}" opacity="{look[2]}"'
                figure.put(f'<path d="M{path}" {stroke}/>')
    least = f"1e{np.log10(LEAST):.0f}"
    legend = f"Orange: this setting. Grey: other settings. Values below {least} are drawn at {least}."
    figure.text((370, 224), legend, color="soft", size=12)
    return figure
