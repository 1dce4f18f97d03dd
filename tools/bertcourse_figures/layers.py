"""A word in several sentences, layer by layer: one point that divides as the sentences make themselves felt."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded
from bertcourse_figures.schematic import Schematic, as_numbers, signed

SAME = 1e-3  # vectors closer together than this share of their length count as equal
MARKS, OPEN = "●◆▲", "could be either"  # for the senses; ○ for a sentence that leaves it open


def explore_layers(
    sentences: Sequence[str],
    states: ArrayLike,
    word: str,
    senses: Sequence[str],
    start: int | None = None,
    layer: int | None = None,
) -> Figure:
    """Move through the layers: the word's vectors drift apart, and each sentence shows which other one is nearest.

    All layers are drawn in the same plane, the one in which the last layer's vectors differ most (its first two
    principal directions), each centred on its own mean. The nearest sentence is found in all D dimensions, among those
    whose sense is clear.

    Args:
        sentences: N sentences, each containing the word.
        states: (layers, N, D), the word's vectors; layer 0 is the embeddings.
        word: what is printed in bold.
        senses: N names, at most three of them different; "" for a sentence that leaves the sense open.
        start: the sentence that is chosen at first; None for the last one that leaves the sense open.
        layer: the layer at which it opens; None for the last.

    Raises:
        ValueError: shapes that do not fit, a sentence without the word, or too many senses.

    >>> swum, paid = [[0.0, 1.0], [-3.0, 1.0]], [[0.0, 1.0], [3.0, 1.0]]
    >>> states = np.transpose([swum, paid], (1, 0, 2))
    >>> explore_layers(["They swam to the bank.", "They paid the bank."], states, "bank", ["river", "money"])
    bank in 2 sentences, layer 1: swam (river) −3.00 0.00; paid (money) 3.00 0.00. Nearest to its own sense: 0 of 2.
    """
    states = as_numbers(states, "states")
    if states.ndim != 3 or states.shape[1] != len(sentences) or len(senses) != len(sentences) or len(sentences) < 2:
        raise ValueError(
            f"states must be of shape (layers, N, D), with a sense for each of N sentences, at least two; got "
            f"{states.shape}, {len(sentences)} sentences and {len(senses)} senses."
        )
    if missing := [sentence for sentence in sentences if word not in sentence]:
        raise ValueError(f"each sentence must have the word {word!r}; got {missing}.")
    if len(names := [sense for sense in dict.fromkeys(senses) if sense]) > len(MARKS):
        raise ValueError(f"at most {len(MARKS)} senses can be told apart; got {names}.")
    points, labels = project(states), telling_words(sentences)
    nearest = nearest_rows(states, np.array([bool(sense) for sense in senses]))
    own = [sum(j >= 0 and senses[i] == senses[j] != "" for i, j in enumerate(row)) for row in nearest]
    data = {
        "word": word,
        "sentences": list(sentences),
        "labels": labels,
        "senses": names,
        "sense": [names.index(sense) if sense else -1 for sense in senses],
        "points": rounded(points, 3),
        "nearest": nearest,
        "own": own,
        "start": max((i for i, sense in enumerate(senses) if not sense), default=0)
        if start is None
        else place_of(start, range(len(sentences)), "start"),
        "layer": place_of(len(states) - 1 if layer is None else layer, range(len(states)), "layer"),
    }
    places = "; ".join(
        f"{label} ({sense or OPEN}) {signed(x, '.2f')} {signed(y, '.2f')}"
        for label, sense, (x, y) in zip(labels, senses, points[-1])
    )
    told = f"{word} in {len(sentences)} sentences, layer {len(states) - 1}: {places}. "
    told += f"Nearest to its own sense: {own[-1]} of {sum(map(bool, senses))}."
    return Figure(draw(points, data, told), told, "layers", data)


def project(states: np.ndarray) -> np.ndarray:
    """(layers, N, 2), each layer around its own mean, projected onto the last layer's first two principal directions.

    A direction's sign means nothing; here it puts the point farthest out on the left, or below.
    """
    centred = states - states.mean(axis=1, keepdims=True)
    _, _, directions = np.linalg.svd(centred[-1], full_matrices=False)
    points = centred @ directions[:2].T
    farthest = np.abs(points[-1]).argmax(axis=0)
    return points * -np.sign(np.take_along_axis(points[-1], farthest[None], axis=0)[0])


def nearest_rows(states: np.ndarray, candidates: np.ndarray) -> list[list[int]]:
    """For each layer and row, the nearest other row among the candidates; −1 where all vectors of the layer are equal.

    >>> states = np.array([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 2.0], [0.0, 5.0]]])
    >>> nearest_rows(states, np.array([True, True, True])), nearest_rows(states, np.array([True, False, True]))
    ([[-1, -1, -1], [1, 0, 1]], [[-1, -1, -1], [2, 0, 0]])
    """
    found = []
    for layer in states:
        distances = np.linalg.norm(layer[:, None] - layer[None], axis=-1)
        if distances.max() < SAME * np.linalg.norm(layer, axis=-1).mean():
            found.append([-1] * len(layer))
            continue
        np.fill_diagonal(distances, np.inf)
        distances[:, ~candidates] = np.inf
        found.append(distances.argmin(axis=1).tolist())
    return found


def telling_words(sentences: Sequence[str]) -> list[str]:
    """The longest word of each sentence that no other sentence has; the whole sentence if there is none.

    >>> telling_words(["They swam to the bank.", "They walked to the bank.", "They swam."])
    ['They swam to the bank.', 'walked', 'They swam.']
    """
    words = [re.findall(r"\w+", sentence) for sentence in sentences]
    labels = []
    for number, own in enumerate(words):
        others = {word.lower() for i, rest in enumerate(words) if i != number for word in rest}
        labels.append(max((word for word in own if word.lower() not in others), key=len, default=sentences[number]))
    return labels


def draw(points: np.ndarray, data: dict, told: str) -> Schematic:
    """The still picture: the first layer, one in the middle and, in large, the last."""
    figure = Schematic(740, 372, f"A word's vectors in several sentences, in three layers. {told}")
    last, limit = len(points) - 1, float(np.abs(points).max()) * 1.12 or 1.0
    for layer, left, top, side in ((0, 10, 30, 150), (last // 2, 10, 206, 150), (last, 190, 30, 326)):
        figure.box(left, top, side, side, fill="none", color="line", corner=4)
        figure.text((left + side / 2, top - 12), f"layer {layer}", "bold", size=13)
        named: list[tuple[float, float]] = []  # a name goes below its mark where above it would cover another
        for label, sense, (x, y) in zip(data["labels"], data["sense"], points[layer].tolist()):
            at = left + (1 + x / limit) * side / 2, top + (1 - y / limit) * side / 2
            mark, color = (MARKS[sense], f"group{sense}") if sense >= 0 else ("○", "ink")
            figure.text(at, mark, color=color, size=15 if layer == last else 11)
            if layer == last:
                above = (at[0], at[1] - 14)
                covers = any(abs(above[0] - x) < 50 and abs(above[1] - y) < 16 for x, y in named)
                named.append((at[0], at[1] + 15) if covers else above)
                figure.text(named[-1], label, size=12)
    for number, sense in enumerate([*data["senses"], *([OPEN] if -1 in data["sense"] else [])]):
        mark, color = (MARKS[number], f"group{number}") if sense in data["senses"] else ("○", "ink")
        figure.text((540, 40 + 24 * number), mark, color=color, size=15)
        figure.text((556, 40 + 24 * number), sense, anchor="start")
    return figure
