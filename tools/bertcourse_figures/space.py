"""The shape of a space of vectors: where the origin lies, what a cosine is made of, and what becomes of neighbours."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded, show_steps
from bertcourse_figures.schematic import WIDE, Schematic, as_numbers, in_both_widths, short, signed

MOST_POINTS, MOST_DOTS, MOST_GROUPS, MOST_KINDS, MOST_QUERIES = 60, 240, 3, 5, 10
BINS = 20  # of a histogram of cosines from −1 to 1
SHARES = 21  # of the mean that are taken away, from 0 to all of it


def cone_steps(points: ArrayLike, shift: Sequence[float], pair: tuple[int, int]) -> Figure:
    """Step through it: a cloud around the origin, the same cloud farther away, and what that does to all cosines.

    Args:
        points: (n, 2), at most 60 of them, around (0, 0).
        shift: how far the second cloud has moved in both directions.
        pair: two of the points, whose cosine is compared with that of all pairs.

    Raises:
        ValueError: another shape, too many points, or a pair that is not two of them.
    """
    points, shift = as_numbers(points, "points"), as_numbers(shift, "shift")
    if points.ndim != 2 or points.shape[1:] != (2,) or not 3 <= len(points) <= MOST_POINTS or shift.shape != (2,):
        raise ValueError(
            f"points must be of shape (n, 2), 3 to {MOST_POINTS} of them, and shift of shape (2,); got {points.shape} "
            f"and {shift.shape}."
        )
    if not (len(set(pair)) == 2 and all(0 <= each < len(points) for each in pair)):
        raise ValueError(f"pair must be two of the {len(points)} points, by number from 0; got {tuple(pair)}.")
    clouds = points, points + shift
    cosines = [pair_cosines(cloud) for cloud in clouds]
    means = [float(each.mean()) for each in cosines]
    own = [float(pair_cosines(cloud[list(pair)])[0]) for cloud in clouds]
    above = [float((each >= value).mean()) for each, value in zip(cosines, own)]
    captions = [
        f"{len(points)} points around the origin. Seen from it, they lie in all directions: two of them have a cosine "
        f"of {signed(means[0], '.2f')} on average.",
        "The same points, moved to the right. Every distance between two of them is what it was.",
        "Only the origin, from which we look, is now somewhere else. Seen from there, all points lie in nearly the "
        f"same direction: on average, two have a cosine of {signed(means[1], '.2f')}.",
        f"Take one pair. Around the origin, its cosine is {signed(own[0], '.2f')}; moved, it is "
        f"{signed(own[1], '.2f')}. Is that a lot?",
        f"Compare it with all pairs. Moved, {100 * above[1]:.0f} % of them have a cosine at least as large; around the "
        f"origin, {100 * above[0]:.0f} %. A cosine needs a baseline.",
    ]
    alt = (
        "Two drawings of the same cloud of points, with lines from the origin to each. Around the origin the lines "
        "run in all directions; from an origin far to the left of the cloud they form a narrow bundle. Below each, "
        "the cosines of all pairs from −1 to 1."
    )
    schematic = in_both_widths(draw_clouds, clouds, cosines, own, means, pair, captions, alt)
    words = f"Mean cosine {signed(means[0], '.2f')}, then {signed(means[1], '.2f')}. {captions[3]}"
    return show_steps(schematic, words)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, D), each divided by its length."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def pair_cosines(vectors: np.ndarray) -> np.ndarray:
    """The cosines of all pairs of different vectors (n, D).

    >>> pair_cosines(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])).tolist()
    [0.0, 1.0, 0.0]
    """
    units = unit(vectors)
    return (units @ units.T)[np.triu_indices(len(units), 1)]


def draw_clouds(clouds, cosines, own, means, pair, captions, alt: str, width: int) -> Schematic:
    """Draw both clouds side by side, or on a phone one above the other, each with the cosines of its pairs below it."""
    is_wide = width == WIDE
    both = np.concatenate([*clouds, np.zeros((1, 2))])
    (left, low), (right, high) = both.min(axis=0) - 0.35, both.max(axis=0) + 0.35
    across, head, bars = 350 if is_wide else 340, 28, 66  # of a cloud, above it, and of the bars below
    scale = across / (right - left)
    tall = scale * (high - low)
    row = head + tall + bars + 60
    figure = Schematic(width, round(row if is_wide else 2 * row), alt, size=13 if is_wide else 11.5)
    corner = [(10 + (across + 20) * number * is_wide, head + row * number * (not is_wide)) for number in (0, 1)]

    def place(point, number: int) -> tuple[float, float]:
        x, y = corner[number]
        return x + scale * (point[0] - left), y + scale * (high - point[1])

    def frame(number: int) -> None:
        x, y = corner[number]
        figure.box(x, y, across, tall, fill="none", corner=2)
        figure.text((x, y - 13), ("around the origin", "moved")[number], color="soft", anchor="start")

    def dots(number: int) -> None:
        for x, y in (place(point, number) for point in clouds[number]):
            figure.box(x - 3, y - 3, 6, 6, color="none", fill="plus", corner=3, opacity=0.85)
        x, y = place((0, 0), number)
        for ends in (((x - 7, y), (x + 7, y)), ((x, y - 7), (x, y + 7))):
            figure.arrow(*ends, color="ink", width=2, head=False)
        figure.text((x, y + 17), "origin", size=0.9 * figure.size, color="soft")

    def lines(number: int) -> None:
        for point in clouds[number]:
            figure.arrow(place((0, 0), number), place(point, number), color="soft", width=0.9, head=False, opacity=0.5)

    def chosen(number: int) -> None:
        for which in pair:
            figure.arrow(place((0, 0), number), place(clouds[number][which], number), color="hot", width=2.4)

    def histogram(number: int) -> None:
        (x, y), wide = corner[number], across - 10
        bottom = y + tall + bars + 18
        counts, _ = np.histogram(cosines[number], bins=BINS, range=(-1, 1))
        for place_of_bin, count in enumerate(counts):
            if count:
                size = bars * count / counts.max()
                step = wide / BINS
                figure.box(x + step * place_of_bin + 0.5, bottom - size, step - 1, size, color="none", fill="plus",
                           corner=0, opacity=0.6)  # fmt: skip
        figure.arrow((x, bottom), (x + wide, bottom), color="soft", width=1, head=False)
        for tick in (-1, 0, 1):
            figure.text((x + wide * (tick + 1) / 2, bottom + 11), signed(tick, "d"), color="soft", size=11)
        mark = x + wide * (own[number] + 1) / 2
        figure.arrow((mark, bottom - bars - 8), (mark, bottom - 2), color="hot", width=2.2)
        figure.text((x + wide / 2, bottom + 27), "cosines of all pairs (arrow: ours)", color="soft", size=11.5)

    def tell(number: int) -> None:
        text = f"mean cosine {signed(means[number], '.2f')}"
        figure.text((corner[number][0] + across, corner[number][1] - 13), text, "bold", anchor="end")

    for number, caption in ((0, captions[0]), (1, captions[1])):
        figure.step(caption)
        frame(number)
        if number == 0:
            lines(number)
            tell(number)
        dots(number)
    figure.step(captions[2])
    lines(1)
    tell(1)
    for step, draw in ((3, chosen), (4, histogram)):
        figure.step(captions[step])
        draw(0)
        draw(1)
    return figure


def cosine_steps(
    names: tuple[str, str], first: ArrayLike, second: ArrayLike, average: ArrayLike, shown: int = 7
) -> Figure:
    """Step through it: a cosine as a sum of products, one for each dimension, and the same for all pairs on average.

    Args:
        names: what the two vectors belong to.
        first, second: (D,), neither of them zero.
        average: (D,), what each dimension adds to the mean cosine of all pairs.
        shown: for how many dimensions, those with the largest products, a bar is drawn; the others are added up.

    Raises:
        ValueError: shapes that differ, or fewer dimensions than bars.

    Source: Timkey & van Schijndel 2021, "All Bark and No Bite", equations 2-4.
    """
    first, second = as_numbers(first, names[0]), as_numbers(second, names[1])
    average = as_numbers(average, "average")
    if not first.shape == second.shape == average.shape or first.ndim != 1 or len(first) <= shown:
        raise ValueError(
            f"vectors and average must be of one shape, (D,), with D above {shown}; got {first.shape}, {second.shape} "
            f"and {average.shape}."
        )
    u, v = (unit(vector[None])[0] for vector in (first, second))
    products = u * v
    largest = np.argsort(-np.abs(products))[:shown]
    top, cosine, mean = int(largest[0]), float(products.sum()), float(average.sum())
    rest, rest_of_all = cosine - products[top], mean - average[top]
    captions = [
        f"“{names[0]}” and “{names[1]}”: two vectors of {len(u)} numbers, each divided by its length.",
        "Multiply them number by number. Blue is above 0, orange below.",
        f"Add up all {len(u)} products: that is the cosine, {signed(cosine, '.2f')}.",
        f"The largest products, one by one. Dimension {top} alone adds {signed(products[top], '.2f')}; the other "
        f"{len(u) - 1} together add {signed(rest, '.2f')}.",
        f"Is that this pair's secret? No: over all pairs, dimension {top} adds {signed(average[top], '.2f')} on "
        f"average, the others {signed(rest_of_all, '.2f')}.",
    ]
    alt = (
        f"The vectors of {names[0]} and {names[1]} as strips of coloured cells, their products below, and bars for "
        f"the largest products and the sum of the rest. The bar of dimension {top} is the longest."
    )
    schematic = in_both_widths(draw_cosine, names, u, v, average, largest, captions, alt, cosine, mean)
    return show_steps(schematic, " ".join(captions[2:]))


def draw_cosine(names, u, v, average, largest, captions, alt: str, cosine: float, mean: float, width: int) -> Schematic:
    """Draw the strips of two vectors and of their products, and bars for the largest products."""
    is_wide = width == WIDE
    left, gap = (104, 34) if is_wide else (8, 44)
    right = width - (76 if is_wide else 8)
    cell, tall = (right - left) / len(u), 22
    top = 14 if is_wide else 26
    bars_top = top + 3 * gap + tall + 34
    rows = len(largest) + 1
    step = 21
    figure = Schematic(width, round(bars_top + step * rows + 30), alt, size=13 if is_wide else 11.5)
    products = u * v

    def strip(number: int, name: str, values: np.ndarray) -> None:
        y = top + gap * number
        if is_wide:
            figure.text((left - 8, y + tall / 2), name, anchor="end")
        else:
            figure.text((left, y - 9), name, anchor="start")
        limit = float(np.quantile(np.abs(values), 0.99))
        figure.matrix(left, y, values, cell, tall, limit=limit)

    figure.step(captions[0])
    strip(0, names[0], u)
    strip(1, names[1], v)
    figure.step(captions[1])
    strip(2, "products", products)
    figure.step(captions[2])
    y = top + 2 * gap + tall
    figure.bracket(left, right, y + 10, f"their sum, the cosine: {signed(cosine, '.2f')}")

    names_at, zero = (150, 200) if is_wide else (74, 96)
    rest = float(products.sum() - products[largest].sum()), float(average.sum() - average[largest].sum())
    values = [(float(products[d]), float(average[d])) for d in largest] + [rest]
    limit = max(max(abs(value) for value in pair) for pair in values)
    room = (right - zero - 60) / limit
    labels = [f"dimension {d}" if is_wide else f"{d}" for d in largest] + [f"{len(u) - len(largest)} others"]

    def bar(row: int, value: float, role: str, down: float, thick: float, opacity: float) -> None:
        y, size = bars_top + step * row + down, max(1.0, abs(value) * room)
        start = zero if value >= 0 else zero - size
        figure.box(start, y, size, thick, color="none", fill=role, corner=1, opacity=opacity)

    figure.step(captions[3])
    for row, (label, (value, _)) in enumerate(zip(labels, values)):
        figure.text((names_at, bars_top + step * (row + 0.5)), label, anchor="end", color="soft", size=figure.size - 1)
        bar(row, value, "plus" if value >= 0 else "minus", 2, 9, 0.8)
        end = zero + max(0.0, value) * room
        figure.text((end + 6, bars_top + step * row + 7), signed(value, ".3f"), anchor="start", size=10.5)
    figure.step(captions[4])
    for row, (_, value) in enumerate(values):
        bar(row, value, "ink", 12, 5, 0.5)
    note = f"grey: on average over all pairs, {signed(mean, '.2f')} in all"
    figure.text((zero, bars_top + step * rows + 14), note, color="soft", anchor="start", size=figure.size - 1)
    return figure


def shifted_cosines(vectors: np.ndarray, mean: np.ndarray, shares: Sequence[float]) -> list[float]:
    """The expected cosine of vectors (n, D) from which a share of ``mean`` is taken away, for each of the shares.

    In closed form: with w = 1/|x − tμ|, the unit vectors add up to Σ w x − tμ Σ w.

    >>> np.round(shifted_cosines(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.0]), [0, 1]), 6).tolist()
    [0.0, -1.0]
    """
    squares, along, found = (vectors**2).sum(axis=1), vectors @ mean, []
    for share in shares:
        weights = (squares - 2 * share * along + share**2 * (mean @ mean)) ** -0.5
        total = weights @ vectors - share * weights.sum() * mean
        found.append(float((total @ total - len(vectors)) / (len(vectors) * (len(vectors) - 1))))
    return found


def explore_mean(
    vectors: ArrayLike,
    groups: Sequence[str],
    largest: Sequence[int],
    counts: Sequence[int] = (0, 1, 2, 3, 5, 10, 20),
    start: tuple[float, int] = (0.0, 0),
) -> Figure:
    """Drag the mean of a cloud to the origin, or leave out its loudest dimensions: what becomes of the mean cosine?

    One axis of the plane is the direction of the mean; the other is that in which the vectors differ most at right
    angles to it.

    Args:
        vectors: (n, D), none of them zero; at most 240 are drawn, all are counted.
        groups: n names, at most 3 different ones, which are drawn in different colours.
        largest: dimensions, those that add most to the expected cosine first.
        counts: how many of them are left out; the first is 0, and they rise.
        start: the share of the mean that is taken away at first, and how many dimensions are left out.

    Raises:
        ValueError: names that do not fit, too many groups, too few dimensions or none such, or counts that do not rise
            from 0.
    """
    vectors = as_numbers(vectors, "vectors")
    names = list(dict.fromkeys(groups))
    if vectors.ndim != 2 or len(groups) != len(vectors) or len(names) > MOST_GROUPS or len(largest) < max(counts):
        raise ValueError(
            f"expected a name for each of the vectors (n, D), at most {MOST_GROUPS} different ones, and at least "
            f"{max(counts)} dimensions; got {vectors.shape}, {len(groups)} names of {len(names)} groups and "
            f"{len(largest)} dimensions."
        )
    if list(counts) != sorted({0, *counts}):
        raise ValueError(f"counts must rise from 0; got {list(counts)}.")
    if strange := [d for d in largest if not 0 <= d < vectors.shape[1]]:
        raise ValueError(f"largest must be dimensions from 0 to {vectors.shape[1] - 1}; got {strange[:3]}.")
    mean = vectors.mean(axis=0)
    along = mean / np.linalg.norm(mean)
    spread = vectors - mean
    spread = spread - np.outer(spread @ along, along)
    _, axes = np.linalg.eigh(spread.T @ spread)
    other = axes[:, -1] * (1 if axes[np.abs(axes[:, -1]).argmax(), -1] > 0 else -1)
    plane = np.stack([along, other], axis=1)  # (D, 2)
    drawn = np.linspace(0, len(vectors) - 1, min(MOST_DOTS, len(vectors))).round().astype(int)
    shares = np.linspace(0, 1, SHARES)
    points, means, cosines, kept = [], [], [], vectors.copy()
    for before, count in zip([0, *counts], counts):
        kept[:, list(largest[before:count])] = 0
        here = kept.mean(axis=0)
        points.append(kept[drawn] @ plane)
        means.append(here @ plane)
        cosines.append(shifted_cosines(kept, here, shares))
    data = {
        "counts": list(counts),
        "largest": [int(d) for d in largest[: max(counts)]],
        "names": names,
        "group": [names.index(groups[i]) for i in drawn],
        "points": rounded(points, 2),
        "means": rounded(means, 3),
        "cosines": rounded(cosines, 3),
        "start": [round(start[0] * (SHARES - 1)), place_of(start[1], counts, "start")],
    }
    cut = ", ".join(f"{count}: {signed(row[0], '.2f')}" for count, row in zip(counts, cosines))
    told = (
        f"Expected cosine {signed(cosines[0][0], '.2f')}; with half of the mean taken away "
        f"{signed(cosines[0][SHARES // 2], '.2f')}, with all of it {signed(cosines[0][-1], '.2f')}. "
        f"With so many of the largest dimensions left out ({cut})."
    )
    return Figure(draw_mean(data, told), told, "mean", data)


def draw_mean(data: dict, told: str) -> Schematic:
    """The still picture: the cloud as it is, its mean, and the curve of the expected cosine."""
    figure = Schematic(740, 330, f"A cloud of words, its mean and the origin. {told}", size=13)
    points, (mean_x, mean_y) = np.array(data["points"][0]), data["means"][0]
    everything = np.concatenate([points, points - data["means"][0], [[0, 0]]])
    low, high = everything.min(axis=0), everything.max(axis=0)
    scale = min(390 / (high[0] - low[0]), 300 / (high[1] - low[1]))

    def at(x: float, y: float) -> tuple[float, float]:
        return 14 + scale * (x - low[0]), 14 + scale * (high[1] - y)

    circles = "".join(
        f'<circle cx="{short(at(x, y)[0])}" cy="{short(at(x, y)[1])}" r="2.6" '
        f'fill="{("#0072b2", "#d55e00", "#009e73")[group]}"/>'
        for (x, y), group in zip(points.tolist(), data["group"])
    )
    figure.put(f'<g fill-opacity=".5">{circles}</g>')
    figure.arrow(at(0, 0), at(mean_x, mean_y), color="ink", width=2.2)
    figure.text((at(0, 0)[0], at(0, 0)[1] + 14), "origin", color="soft")
    figure.text((at(mean_x, mean_y)[0], at(mean_x, mean_y)[1] - 14), "mean", "bold")
    curve, top = data["cosines"][0], max(data["cosines"][0][0], 0.05)
    path = [(470 + 240 * i / (SHARES - 1), 250 - 190 * value / top) for i, value in enumerate(curve)]
    figure.arrow(*path, color="hot", width=2.2, head=False, corner=0)
    figure.arrow((470, 250), (710, 250), color="soft", width=1, head=False)
    figure.text((590, 282), "share of the mean that is taken away", color="soft")
    figure.text((590, 36), f"expected cosine: {curve[0]:.2f} to {curve[-1]:.2f}", "bold")
    for at_x, name in ((470, "0"), (710, "all")):
        figure.text((at_x, 264), name, color="soft")
    for group, name in enumerate(data["names"]):
        figure.text((470 + 125 * group, 312), name, anchor="start", color=f"group{group}", size=12)
    return figure


def explore_neighbours(
    words: Sequence[str],
    kinds: Mapping[str, ArrayLike],
    baselines: Mapping[str, float] | None,
    queries: Sequence[str],
    most: int = 8,
    start: str = "",
) -> Figure:
    """Choose a word and what is done to the vectors: who are its nearest neighbours, and how large is a cosine?

    Args:
        words: n different words.
        kinds: for each repair or model, at most 5, the vectors (n, D); the first is what the others are compared with.
        baselines: for each of them what two random words get; None draws no line.
        queries: words that the reader can choose, at most 10; it opens with the first.
        most: how many neighbours are shown.
        start: which of ``kinds`` it opens with; the first if "".

    Raises:
        ValueError: shapes that do not fit, a zero vector, an unknown word, or too many of something.
    """
    arrays = {kind: as_numbers(each, kind) for kind, each in kinds.items()}
    if zero := [kind for kind, each in arrays.items() if not each.any(axis=-1).all()]:
        raise ValueError(f"kinds must not have a zero vector, which has no direction; {zero} have one.")
    arrays = {kind: unit(each) for kind, each in arrays.items()}
    strange = [word for word in queries if word not in words]
    if not arrays or len(arrays) > MOST_KINDS or any(len(each) != len(words) for each in arrays.values()):
        raise ValueError(
            f"kinds must be 1 to {MOST_KINDS}, with a vector for each of {len(words)} words; got "
            f"{ {kind: each.shape for kind, each in arrays.items()} }."
        )
    if strange or not 1 <= len(queries) <= MOST_QUERIES or (baselines is not None and set(baselines) != set(arrays)):
        raise ValueError(
            f"queries must be 1 to {MOST_QUERIES} of the words, and baselines one per kind; got {len(queries)} "
            f"queries, {strange[:3]} unknown, and baselines of {list(baselines or ())}."
        )
    if not 1 <= most < len(words):
        raise ValueError(f"most must be from 1 to {len(words) - 1}, the number of other words; got {most}.")
    found, told = [], []
    for query in queries:
        row, rows = list(words).index(query), []
        for each in arrays.values():
            cosines = each @ each[row]
            cosines[row] = -2
            nearest = np.argsort(-cosines, kind="stable")[:most]
            rows.append([[words[i], round(float(cosines[i]), 2)] for i in nearest])
        found.append(rows)
        before = {word for word, _ in rows[0]}
        stay = ", ".join(
            f"{kind} {sum(word in before for word, _ in row)}" for kind, row in zip(list(arrays)[1:], rows[1:])
        )
        names = " ".join(word for word, _ in rows[0])
        told.append(f"{query}: {names} (of these stay: {stay})" if stay else f"{query}: {names}")
    data = {
        "kinds": list(arrays),
        "baselines": baselines and [round(float(baselines[kind]), 3) for kind in arrays],
        "queries": list(queries),
        "found": found,
        "start": place_of(start or next(iter(arrays)), arrays, "start"),
    }
    words_told = f"Nearest to {'; '.join(told)}."
    if baselines is not None:
        random = ", ".join(f"{kind} {signed(baselines[kind], '.2f')}" for kind in arrays)
        words_told = f"Two random words: {random}. {words_told}"
    return Figure(draw_neighbours(data, words_told), words_told, "neighbours", data)


def draw_neighbours(data: dict, told: str) -> Schematic:
    """The still picture: the first word's neighbours, one column for each repair."""
    kinds, rows = data["kinds"], data["found"][0]
    figure = Schematic(
        740, 62 + 24 * len(rows[0]), f"Nearest neighbours of some words, after each repair. {told}", size=13
    )
    figure.text((12, 14), f"nearest to “{data['queries'][0]}”", "bold", anchor="start")
    wide, before = 728 / len(kinds), {word for word, _ in rows[0]}
    for column, (kind, row) in enumerate(zip(kinds, rows)):
        x = 12 + wide * column
        baseline = f" (baseline {signed(data['baselines'][column], '.2f')})" if data["baselines"] else ""
        figure.text((x, 40), f"{kind}{baseline}", color="soft", anchor="start", size=12)
        for place, (word, cosine) in enumerate(row):
            y = 64 + 24 * place
            figure.box(x, y - 9, max(1, 0.5 * wide * max(0, cosine)), 18, color="none", fill="plus", corner=2,
                       opacity=0.25)  # fmt: skip
            figure.text((x + 4, y), word, "" if word in before else "bold", anchor="start")
            figure.text((x + 0.62 * wide, y), signed(cosine, ".2f"), anchor="start", color="soft", size=12)
    return figure
