"""A word's senses: one word in two sentences, the nearest sense step by step, and a sentence that can be moved."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.cosines import paired_cosines, unit
from bertcourse_figures.interactive import Figure, rounded, show_steps
from bertcourse_figures.layers import MARKS, SAME
from bertcourse_figures.schematic import WIDE, Box, Schematic, as_numbers, in_both_widths, signed

SENSES, MOST_SENTENCES, MOST_LETTERS = 3, 8, 34
MOST_LAYERS, MOST_EXAMPLES = 13, 40


def word_in_layers(sentences: Sequence[str], states: ArrayLike, word: str) -> Figure:
    """Step through the layers of a model: a word's vector in two sentences, and the difference between them.

    Args:
        sentences: two, each containing the word and at most 34 characters long.
        states: (layers, 2, D), the word's vectors; layer 0 is the embeddings; 3 to 13 layers.
        word: what is printed in bold.

    Raises:
        ValueError: shapes that do not fit, a zero vector, or sentences without the word, which is one, or too long.
    """
    states = as_numbers(states, "states")
    if states.ndim != 3 or states.shape[1] != 2 or not 3 <= len(states) <= MOST_LAYERS:
        raise ValueError(f"states must be of shape (layers, 2, D), with 3 to {MOST_LAYERS} layers; got {states.shape}.")
    if len(sentences) != 2 or any(
        not any(word in text for text in each.split()) or len(each) > MOST_LETTERS for each in sentences
    ):
        raise ValueError(
            f"there must be two sentences of at most {MOST_LETTERS} characters, each with the one word {word!r}; got "
            f"{list(sentences)}."
        )
    cosines = paired_cosines(states[:, 0], states[:, 1]).tolist()
    last = len(states) - 1
    is_one = np.linalg.norm(states[0, 0] - states[0, 1]) < SAME * np.linalg.norm(states[0, 0])
    beginning = (
        "the same row of the table, at the same place in the sentence. There is only one vector"
        if is_one
        else "the same row of the table, at another place in the sentence"
    )
    between = ", ".join(signed(value, ".2f") for value in cosines[2:last])
    captions = [
        f"Layer 0: {beginning}. Cosine {signed(cosines[0], '.2f')}.",
        "Layer 1: the word looks at the others, which differ. So do its vectors now. "
        f"Cosine {signed(cosines[1], '.2f')}.",
        *([f"Each layer looks again, at words that have also changed. Cosines {between}."] if last > 2 else []),
        f"Layer {last}: the difference on the right is what the sentences have made of the word. "
        f"Cosine {signed(cosines[last], '.2f')}.",
    ]
    told = "; ".join(f"layer {layer} {signed(value, '.2f')}" for layer, value in enumerate(cosines))
    alt = f"The vector of {word} in “{sentences[0]}” and in “{sentences[1]}”, layer by layer. Cosines: {told}."
    schematic = in_both_widths(draw_layers, sentences, states, word, cosines, captions, alt)
    return show_steps(schematic, alt)


def draw_layers(sentences, states, word: str, cosines, captions, alt: str, width: int) -> Schematic:
    """Draw the layers from the bottom up: a strip for each sentence, one for their difference, and the cosine."""
    is_wide = width == WIDE
    left, gap, right, row, shown = (62, 22, 56, 34, 16) if is_wide else (26, 10, 36, 32, 8)
    strip = (width - left - right - 2 * gap) / 3
    cell, tall = strip / shown, 20
    top, count = 26, len(states)
    base = top + row * count  # where the sentences begin
    figure = Schematic(width, base + 46, alt, size=13 if is_wide else 10.5)
    limit = float(np.quantile(np.abs(states[:, :, :shown]), 0.98))
    x = [left + (strip + gap) * column for column in range(3)]

    def place(layer: int) -> float:
        return top + row * (last - layer)

    def draw_layer(layer: int) -> None:
        first, second = states[layer][:, :shown]
        for column, values in enumerate((first, second, first - second)):
            clipped = np.clip(values, -limit, limit)
            figure.vector(x[column], place(layer), clipped, cell, tall, limit=limit)
        if layer:
            for column in (0, 1):
                middle = x[column] + strip / 2
                figure.arrow((middle, place(layer - 1) - 1), (middle, place(layer) + tall + 2), width=1.1)
        figure.text((left - 8, place(layer) + tall / 2), f"layer {layer}" if is_wide else str(layer), anchor="end")
        figure.text((width - right / 2 + 2, place(layer) + tall / 2), signed(cosines[layer], ".2f"), "bold")

    last = count - 1
    half = (width - 28) / 2
    lefts = x[:2] if is_wide else [4, 24 + half]
    letter = min(8.2, (strip if is_wide else half) / max(map(len, sentences)))
    starts = [
        write_sentence(figure, sentence, word, start, letter, base + 26) for sentence, start in zip(sentences, lefts)
    ]
    figure.text((x[2] + strip / 2, 10), "difference", color="soft")
    figure.text((width - right / 2 + 2, 10), "cosine" if is_wide else "cos", color="soft")
    figure.text((left + strip + gap / 2, 10), f"first {shown} of {states.shape[2]} numbers", color="soft")
    figure.step(captions[0])
    for column, words in enumerate(starts):
        own = next(box for text, box in words if word in text)
        figure.arrow(own.at(0.5, 0), (x[column] + strip / 2, place(0) + tall + 2), color="plus")
    draw_layer(0)
    figure.step(captions[1])
    for column, words in enumerate(starts):
        for text, box in words:
            if word not in text:
                end = (x[column] + strip / 2, place(1) + tall + 2)
                figure.arrow(box.at(0.5, 0), end, color="hot", width=1, head=False, opacity=0.55)
    draw_layer(1)
    groups = [range(2, last)] * (last > 2) + [range(last, count)]
    for caption, layers in zip(captions[2:], groups):
        figure.step(caption)
        for layer in layers:
            draw_layer(layer)
    return figure


def write_sentence(
    figure: Schematic, sentence: str, word: str, left: float, letter: float, y: float
) -> list[tuple[str, Box]]:
    """Write a sentence word by word, ``letter`` for each character, and say where each word stands."""
    found = []
    for text in sentence.split():
        box = Box(left, y - 10, letter * len(text), 20)
        figure.text(box.at(), text, "bold" if word in text else "", size=1.6 * letter)
        found.append((text, box))
        left += letter * (len(text) + 1)
    return found


def nearest_sense_steps(sentence: str, vector: ArrayLike, examples: Mapping[str, ArrayLike]) -> Figure:
    """Step through the method: a sentence's vector, the examples of each sense, their means, and the largest cosine.

    What is drawn are those of the D numbers in which the means differ most; the cosines are those of all D.

    Args:
        sentence: whose word is asked about.
        vector: (D,), of the word in that sentence.
        examples: by sense, (n, D), the vectors of its examples, at most 40; two or three senses.

    Raises:
        ValueError: shapes that do not fit, a zero vector, or too many senses or examples.

    Source: Jurafsky & Martin, "Speech and Language Processing", the chapter on word senses.
    """
    vector = as_numbers(vector, "vector")
    arrays = check_examples(examples, vector.shape)
    if not 2 <= len(arrays) <= SENSES:
        raise ValueError(f"there must be two or three senses; got {list(arrays)}.")
    means = {name: each.mean(axis=0) for name, each in arrays.items()}
    table = np.array(list(means.values()))
    cosines = dict(zip(means, paired_cosines(np.broadcast_to(vector, table.shape), table).tolist()))
    best = max(cosines, key=cosines.get)
    numbers = ", ".join(f"{name} {signed(value, '.3f')}" for name, value in cosines.items())
    counts = ", ".join(f"{name} {len(each)}" for name, each in arrays.items())
    captions = [
        f"“{sentence}” Its word has a vector. Which sense is it?",
        f"These are the vectors of the examples, one a row: {counts}.",
        "The mean of a sense's rows is its embedding. What only one sentence brings along fades.",
        f"The cosine of the vector with each mean: {numbers}.",
        f"The largest wins: {best}.",
    ]
    alt = f"The nearest sense of “{sentence}”: a heap of examples for each sense, its mean, and a cosine."
    schematic = in_both_widths(draw_method, vector, arrays, means, cosines, captions, alt)
    return show_steps(schematic, f"“{sentence}” {numbers}. Nearest: {best}.")


def check_examples(examples: Mapping[str, ArrayLike], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The examples as arrays (n, D), for vectors of a given shape (D,)."""
    arrays = {name: as_numbers(each, name) for name, each in examples.items()}
    shapes = {name: each.shape for name, each in arrays.items()}
    if len(shape) != 1 or any(
        len(each) != 2 or each[1:] != shape or not 1 <= each[0] <= MOST_EXAMPLES for each in shapes.values()
    ):
        raise ValueError(
            f"each sense must have 1 to {MOST_EXAMPLES} examples, (n, D), for a vector of shape (D,); got {shapes} and "
            f"{shape}."
        )
    return arrays


def draw_method(vector, arrays, means, cosines, captions, alt: str, width: int) -> Schematic:
    """Draw the vector above, and below it for each sense its examples, an arrow, its mean, and a bar for the cosine."""
    is_wide = width == WIDE
    shown, gap, room = (24, 34, 168) if is_wide else (10, 18, 92)
    strip = (width - 2 * gap - room - 12) / 2
    cell, thin = strip / shown, 5
    x = 6, 6 + strip + gap, 6 + 2 * (strip + gap)
    block = max(len(each) for each in arrays.values()) * thin
    top, row = 62, block + 42
    figure = Schematic(width, top + row * len(arrays) + 2, alt, size=13 if is_wide else 11)
    table = np.array(list(means.values()))
    columns = np.sort(np.argsort(-table.var(axis=0), kind="stable")[:shown])
    limit = float(np.quantile(np.abs(np.concatenate([each[:, columns] for each in arrays.values()])), 0.97))

    def strips(values: np.ndarray) -> np.ndarray:
        return np.clip(values[..., columns], -limit, limit)

    best, low = max(cosines, key=cosines.get), min(cosines.values()) - 0.02
    figure.step(captions[0])
    note = f"{shown} of its {len(vector)} numbers" if is_wide else f"{shown} of {len(vector)}"
    figure.text((x[1] + strip / 2, 10), note, color="soft")
    figure.vector(x[1], 22, strips(vector), cell, 16, limit=limit, frame="query")
    figure.text((x[1] - 8, 30), "asked", "bold", anchor="end")
    figure.step(captions[1])
    for number, (name, each) in enumerate(arrays.items()):
        y = top + row * number
        figure.text((x[0], y + 10), f"{MARKS[number]} {name}", color=f"group{number}", anchor="start")
        figure.matrix(x[0], y + 24, strips(each), cell, thin, limit=limit, frame=f"group{number}")
    figure.step(captions[2])
    for number, (each, mean) in enumerate(zip(arrays.values(), means.values())):
        middle = top + row * number + 24 + len(each) * thin / 2
        figure.arrow((x[0] + strip + 4, middle), (x[1] - 5, middle))
        figure.vector(x[1], middle - 8, strips(mean), cell, 16, limit=limit, frame=f"group{number}")
        figure.text((x[1] + strip / 2, middle - 18), "mean", color="soft", size=11)
    figure.step(captions[3])
    figure.text((x[2], 30), "cosine", color="soft", anchor="start")
    for number, (name, value) in enumerate(cosines.items()):
        middle = top + row * number + 24 + len(arrays[name]) * thin / 2
        long = (room - 56) * (value - low) / (1 - low)
        how = {"color": "none", "fill": f"group{number}", "corner": 2, "opacity": 0.75}
        figure.box(x[2], middle - 8, max(1.5, long), 16, **how)
        figure.text((x[2] + long + 6, middle), signed(value, ".3f"), anchor="start")
    figure.step(captions[4])
    number = list(cosines).index(best)
    middle = top + row * number + 24 + len(arrays[best]) * thin / 2
    figure.box(x[2] - 5, middle - 14, room, 28, color="hot", fill="none", line=2.4)
    return figure


def explore_nearest_sense(
    sentences: Sequence[str], vectors: ArrayLike, examples: Mapping[str, ArrayLike], start: int = 0
) -> Figure:
    """Choose a sentence, or drag its point: the nearest of three senses changes where a border is crossed.

    The cosines of a vector with three sense embeddings differ only by its products with their differences, once each
    embedding has length 1. These differences span a plane. In it each sense has a sector, and the sector in which a
    vector's projection lies says which sense is nearest in all D dimensions.

    Args:
        sentences: N, at most 8.
        vectors: (N, D), of the word in each sentence.
        examples: by sense, exactly three, (n, D), the vectors of its examples, at most 40; their means are its
            embedding.
        start: the sentence that is shown at first.

    Raises:
        ValueError: shapes that do not fit, a zero vector, or another number of senses.
    """
    vectors = as_numbers(vectors, "vectors")
    if vectors.ndim != 2 or len(vectors) != len(sentences) or not 0 <= start < len(sentences) <= MOST_SENTENCES:
        raise ValueError(
            f"vectors must be of shape (N, D), one for each of 1 to {MOST_SENTENCES} sentences, of which one is the "
            f"start; got {vectors.shape}, {len(sentences)} sentences and {start}."
        )
    arrays = check_examples(examples, vectors.shape[1:])
    if len(arrays) != SENSES:
        raise ValueError(f"only three senses span a plane; got {list(arrays)}.")
    means = unit(np.array([each.mean(axis=0) for each in arrays.values()]))
    vectors, axes = unit(vectors), plane_of(means)
    cosines = vectors @ means.T
    points, corners = vectors @ axes, means @ axes
    nearest = cosines.argmax(axis=1)
    data = {
        "sentences": list(sentences),
        "senses": list(arrays),
        "means": rounded(corners, 5),
        "points": rounded(points, 5),
        "rest": rounded((cosines - points @ corners.T).mean(axis=1), 5),  # what all three cosines have in common
        "examples": [rounded(unit(each) @ axes, 4) for each in arrays.values()],
        "start": start,
    }
    names = list(arrays)
    told = " ".join(
        f"“{text}” {', '.join(f'{name} {value:.3f}' for name, value in zip(names, row))}: {names[best]}."
        for text, row, best in zip(sentences, cosines, nearest)
    )
    return Figure(draw_sectors(data, nearest, told), told, "senses", data)


def plane_of(means: np.ndarray) -> np.ndarray:
    """(D, 2), two directions that span the differences of three vectors; the first vector lies to the left, above.

    >>> means = np.eye(3)
    >>> axes = plane_of(means)
    >>> differences = means[1:] - means[0]
    >>> np.allclose(differences @ axes @ axes.T, differences)
    True
    """
    _, _, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    axes = directions[:2].T
    signs = np.sign(means[0] @ axes) * [-1, 1]
    return axes * np.where(signs == 0, 1, signs)


def borders(corners: Sequence[Sequence[float]]) -> list[tuple[int, int, np.ndarray]]:
    """For each pair of senses, the direction from the origin along which both are equally near, and nearest."""
    corners, found = np.asarray(corners), []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        across = corners[i] - corners[j]
        way = np.array([-across[1], across[0]]) / (np.linalg.norm(across) or 1.0)
        other = 3 - i - j
        found.append((i, j, way if way @ corners[i] > way @ corners[other] else -way))
    return found


def view_of(data: dict) -> tuple[float, float, float]:
    """The least x and y that are drawn, and the side of the square, with the origin, all points and a margin in it."""
    everything = np.concatenate([[[0.0, 0.0]], data["means"], data["points"], *data["examples"]])
    low, high = everything.min(axis=0), everything.max(axis=0)
    side = 1.16 * float((high - low).max()) or 1.0
    return (*((low + high - side) / 2), side)


def draw_sectors(data: dict, nearest: np.ndarray, told: str) -> Schematic:
    """The still picture: the borders, examples and means of three senses, and the sentences by number."""
    figure = Schematic(
        740, 400, f"A plane with a sector for each sense, and sentences in it by number. {told}", size=13
    )
    x0, y0, side = view_of(data)
    left, top, wide = 8, 8, 384

    def at(point) -> tuple[float, float]:
        return left + (point[0] - x0) / side * wide, top + wide - (point[1] - y0) / side * wide

    figure.box(left, top, wide, wide, fill="none", corner=4)
    for _, _, way in borders(data["means"]):
        ends = [((x0 + side if part > 0 else x0), (y0 + side if part > 0 else y0))[n] for n, part in enumerate(way)]
        far = min(end / part for end, part in zip(ends, way) if abs(part) > 1e-9)
        figure.arrow(at((0, 0)), at(way * far), color="soft", width=1.4, head=False)
    for number, points in enumerate(data["examples"]):
        for point in points:
            figure.text(at(point), MARKS[number], color=f"group{number}", size=8)
    for number, point in enumerate(data["means"]):
        figure.text(at(point), MARKS[number], color=f"group{number}", size=24)
    for number, point in enumerate(data["points"]):
        figure.box(
            *(value - 9 for value in at(point)), 18, 18, str(number + 1), color="ink", fill="paper", corner=9, size=12
        )
    for number, name in enumerate(data["senses"]):
        figure.text((410, 24 + 24 * number), f"{MARKS[number]} {name}", color=f"group{number}", anchor="start")
    for number, (text, best) in enumerate(zip(data["sentences"], nearest)):
        figure.text((410, 116 + 30 * number), f"{number + 1} {MARKS[best]} {text}", anchor="start", size=12.5)
    return figure
