"""word2vec's window moves over a sentence: the pairs that it makes, and the words that are drawn against them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, rounded
from bertcourse_figures.schematic import Schematic, as_numbers, signed

MOST_WORDS, MOST_WINDOW, MOST_DRAWN = 24, 5, 6  # what can be read at a glance, on a phone too


def explore_window(
    words: Sequence[str],
    negatives: Sequence[Sequence[Sequence[str]]],
    tables: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    vocabulary: Sequence[str] = (),
    start: tuple[int, int] = (0, 2),
    neighbour: int = 1,
) -> Figure:
    """Move the window's centre, and widen it: the pairs that occur are shown, and the words drawn against each.

    With tables, each pair has its p = σ(u·v), the probability that it comes from the text, according to two states
    of the model. A pair that occurs is pulled together by 1 − p; one with a drawn word is pushed apart by p.

    Args:
        words: the L words of a sentence, at most 24.
        negatives: (L, 2 W, k) words drawn from the noise distribution: k, at most 6, for each centre and each of the
            places −W … −1, 1 … W around it, W at most 5. Places outside the sentence are skipped.
        tables: under two names, such as "untrained" and "trained", the vectors (V, D) of centres and of contexts.
        vocabulary: V words, in the order of the tables' rows.
        start: the centre, counted from 0, and the size of the window at first.
        neighbour: the pair that is chosen at first, by its place around the centre: −1 is the word before it.

    Raises:
        ValueError: shapes that do not fit, more than there is room for, or a word that is not in the vocabulary.

    Source: Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality",
    equation 4.

    >>> explore_window(["old", "bank"], [[["sea"], ["elm"]], [["tea"], ["day"]]], start=(1, 1))
    Window of 1 around “bank” in a sentence of 2 words: 1 pair, each with 1 drawn word. old; drawn against old: tea.
    """
    words, drawn = list(words), np.array(negatives, dtype=object)
    shape = drawn.shape
    if drawn.ndim != 3 or shape[0] != len(words) or shape[1] % 2 or not 1 <= shape[1] // 2 <= MOST_WINDOW:
        raise ValueError(
            f"negatives must be of shape (L, 2 W, k) for {len(words)} words and W at most {MOST_WINDOW}; got {shape}."
        )
    if not 2 <= len(words) <= MOST_WORDS or not 1 <= shape[2] <= MOST_DRAWN:
        raise ValueError(
            f"there is room for 2 to {MOST_WORDS} words, and {MOST_DRAWN} that are drawn; got {len(words)}, {shape[2]}."
        )
    window = shape[1] // 2
    if not 0 <= start[0] < len(words) or not 1 <= start[1] <= window:
        raise ValueError(f"start must be a centre below {len(words)} and a window of 1 to {window}; got {start}.")
    probabilities = []
    if tables is not None:
        if len(tables) != 2:
            raise ValueError(f"tables must name two states of the model, before and after; got {list(tables)}.")
        ids = {word: number for number, word in enumerate(vocabulary)}
        if missing := sorted({*words, *drawn.ravel()} - set(ids)):
            raise ValueError(f"all words must be in the vocabulary; got {missing[:5]}, which are not.")
        probabilities = [probability(words, drawn, pair, ids, name) for name, pair in tables.items()]
    data = {
        "words": words,
        "negatives": drawn.tolist(),
        "window": window,
        "names": list(tables or ()),
        "probabilities": [rounded(each) for each in probabilities],
        "start": list(start),
        "neighbour": neighbour,
    }
    still, told = draw(data)
    return Figure(still, told, "window", data)


def probability(
    words: list[str], drawn: np.ndarray, tables: tuple[ArrayLike, ArrayLike], ids: Mapping[str, int], name: str
) -> np.ndarray:
    """σ(u·v) of each centre with its neighbour and the words drawn against it; 0 outside the sentence.

    Args:
        words: L.
        drawn: (L, 2 W, k).
        tables: the vectors of the centres and of the contexts, (V, D) each.
        ids: from words to rows.
        name: of the tables.

    Returns:
        (L, 2 W, 1 + k).
    """
    centres, contexts = (as_numbers(table, name) for table in tables)
    if centres.ndim != 2 or centres.shape != contexts.shape or len(centres) != len(ids):
        raise ValueError(
            f"{name} must be two tables with a row for each of {len(ids)} words; got {centres.shape} and "
            f"{contexts.shape}."
        )
    result = np.zeros((*drawn.shape[:2], 1 + drawn.shape[2]))
    for centre, slot in np.ndindex(drawn.shape[:2]):
        place = centre + offset_of(slot, drawn.shape[1] // 2)
        if 0 <= place < len(words):
            rows = [ids[word] for word in (words[place], *drawn[centre, slot])]
            result[centre, slot] = 1 / (1 + np.exp(-contexts[rows] @ centres[ids[words[centre]]]))
    return result


def offset_of(slot: int, window: int) -> int:
    """How far from the centre a slot lies.

    >>> [offset_of(slot, 2) for slot in range(4)]
    [-2, -1, 1, 2]
    """
    return slot - window + (slot >= window)


def draw(data: dict) -> tuple[Schematic, str]:
    """The still picture and its words: the sentence, the pairs of a centre, and what is drawn against one of them."""
    words, window, (centre, size) = data["words"], data["window"], data["start"]
    slots = [slot for slot in range(2 * window) if 1 <= abs(offset_of(slot, window)) <= size]
    slots = [slot for slot in slots if 0 <= centre + offset_of(slot, window) < len(words)]
    neighbours = [words[centre + offset_of(slot, window)] for slot in slots]
    wanted = [slot for slot in slots if offset_of(slot, window) == data["neighbour"]]
    chosen = next((slot for slot in [*wanted, *slots] if wanted or slot >= window), slots[-1])
    drawn = data["negatives"][centre][chosen]
    told_of = words[centre + offset_of(chosen, window)]

    def account(word: str, slot: int, which: int) -> str:
        pair = [each[centre][slot][which] for each in data["probabilities"]]
        return f"{word} {signed(pair[0], '.2f')} → {signed(pair[1], '.2f')}" if pair else word

    positive = [account(word, slot, 0) for word, slot in zip(neighbours, slots)]
    negative = [account(word, chosen, 1 + number) for number, word in enumerate(drawn)]
    plural = "pair" if len(slots) == 1 else "pairs"
    told = (
        f"Window of {size} around “{words[centre]}” in a sentence of {len(words)} words: {len(slots)} {plural}, each "
    )
    told += f"with {len(drawn)} drawn word{'s' if len(drawn) > 1 else ''}. "
    told += f"p {' → '.join(data['names'])}: " if data["names"] else ""
    told += f"{', '.join(positive)}; drawn against {told_of}: {', '.join(negative)}."

    rows = max(len(positive), len(negative))
    figure = Schematic(740, 10, told)
    x, y = 6.0, 8.0
    for place, word in enumerate(words):
        wide = 8.2 * len(word) + 18
        if x + wide > 734:
            x, y = 6.0, y + 38
        is_near = 1 <= abs(place - centre) <= size
        role = "hot" if place == centre else "plus" if is_near else "line"
        fill = role if role != "line" else "panel"
        figure.box(
            x, y, wide, 30, word, role, fill, "bold" if place == centre else "", line=2 if role == "hot" else 1.3
        )
        x += wide + 7
    top = y + 66
    titles = f"pairs that occur with “{words[centre]}”: pull", f"words drawn against “{told_of}”: push"
    for column, (title, lines, role) in enumerate(zip(titles, (positive, negative), ("plus", "minus"))):
        left = 10 + 370 * column
        figure.text((left, top), title, "bold", role, "start")
        for number, line in enumerate(lines):
            figure.text((left + 14, top + 28 + 24 * number), line, anchor="start")
    figure.height = round(top + 28 + 24 * rows)
    return figure, told
