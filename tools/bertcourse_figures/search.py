"""A search at work: what k1 and b do to BM25's ranking, and which token of a passage each token of a question finds."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, rounded
from bertcourse_figures.reading import LETTER, laid_out, write_text
from bertcourse_figures.schematic import Schematic, as_numbers

MOST_TERMS, MOST_PASSAGES, MOST_TOKENS = 7, 10, 24
ROLES = ("plus", "minus", "value", "query", "key", "soft", "ink")


def explore_bm25(
    passages: Sequence[str],
    lengths: ArrayLike,
    idf: Mapping[str, float],
    counts: Mapping[str, ArrayLike],
    right: int,
    k1: float = 1.2,
    b: float = 0.75,
) -> Figure:
    """Move k1 and b: what each word of a question adds to a passage's score, and how the passages are ranked.

    Args:
        passages: names of P passages, at most 10.
        lengths: (P,), in words, divided by the mean length of all passages.
        idf: how rare each word of the question is, for at most 7 words.
        counts: by word, (P,): how often it occurs in each passage.
        right: the number of the passage that answers the question.
        k1, b: the parameters at first.

    Raises:
        ValueError: shapes that do not fit, or too many words or passages.

    Source: Robertson et al. 1994, "Okapi at TREC-3".
    """
    relative = as_numbers(lengths, "lengths")
    occurrences = np.array([as_numbers(counts.get(word, []), f"counts of {word!r}") for word in idf])
    if not 2 <= len(passages) <= MOST_PASSAGES or not 1 <= len(idf) <= MOST_TERMS:
        raise ValueError(
            f"there is room for 2 to {MOST_PASSAGES} passages and 1 to {MOST_TERMS} words; got {len(passages)} and "
            f"{len(idf)}."
        )
    if relative.shape != (len(passages),) or occurrences.shape != (len(idf), len(passages)):
        raise ValueError(
            f"each of {len(passages)} passages must have a length and a count for each word; got shapes "
            f"{relative.shape} and {occurrences.shape}."
        )
    data = {
        "passages": list(passages),
        "lengths": rounded(relative, 3, "lengths"),
        "words": list(idf),
        "idf": rounded(list(idf.values()), 3, "idf"),
        "counts": occurrences.astype(int).tolist(),
        "right": right,
        "k1": k1,
        "b": b,
    }
    parts = bm25_parts(data, k1, b)
    totals = parts.sum(axis=0)
    order = np.argsort(-totals, kind="stable")
    place = int(np.flatnonzero(order == right)[0]) + 1
    best = ", ".join(f"{passages[i]} {totals[i]:.2f}" for i in order[:3])
    told = (
        f"BM25 of {', '.join(idf)} in {len(passages)} passages, k1 {k1}, b {b}: {best}; {passages[right]} at {place}."
    )
    return Figure(draw_ranking(data, parts, order, told), told, "bm25", data)


def bm25_parts(data: dict, k1: float, b: float) -> np.ndarray:
    """(words, P): what each word adds to the score of each passage."""
    times, lengths = np.array(data["counts"], float), np.array(data["lengths"])
    rare = np.array(data["idf"])[:, None]
    with np.errstate(invalid="ignore"):
        return rare * np.nan_to_num(times / (times + k1 * (1 - b + b * lengths)))


def draw_ranking(data: dict, parts: np.ndarray, order: np.ndarray, told: str) -> Schematic:
    """The still picture: a bar for each passage, in the order of their scores, cut into what each word adds."""
    figure = Schematic(740, 30 * len(order) + 44, told, size=13)
    scale = 440 / (parts.sum(axis=0).max() or 1)
    for row, number in enumerate(order):
        y, x = 8 + 30 * row, 236.0
        name = data["passages"][number]
        figure.text((228, y + 12), name, "bold" if number == data["right"] else "", anchor="end")
        for word, part in enumerate(parts[:, number]):
            if part > 0:
                figure.box(x, y, scale * part, 24, "", ROLES[word], ROLES[word], corner=2, line=1, opacity=0.4)
                x += scale * part
        figure.text((x + 8, y + 12), f"{parts[:, number].sum():.2f}", color="soft", anchor="start")
    x = 20.0
    for word, role in zip(data["words"], ROLES):
        figure.box(x, 30 * len(order) + 18, 14, 14, "", role, role, corner=2, line=1, opacity=0.4)
        figure.text((x + 20, 30 * len(order) + 25), word, anchor="start", color="soft")
        x += 36 + 7.6 * len(word)
    return figure


def explore_late(
    question: Sequence[str], context: str, places: Sequence[tuple[int, int]], cosines: ArrayLike, start: int = 0
) -> Figure:
    """Choose a token of a question: which token of the passage is most like it, and what does that add to the score?

    Args:
        question: T tokens, at most 24.
        context: the passage.
        places: for each of its L tokens the characters (start, end).
        cosines: (T, L).
        start: the token that is chosen at first.

    Raises:
        ValueError: shapes that do not fit.

    Source: Khattab & Zaharia 2020, "ColBERT".
    """
    array = as_numbers(cosines, "cosines")
    if not 1 <= len(question) <= MOST_TOKENS or array.shape != (len(question), len(places)):
        raise ValueError(
            f"cosines must be of shape ({len(question)}, {len(places)}), for 1 to {MOST_TOKENS} tokens; got "
            f"{array.shape}."
        )
    best = array.argmax(axis=1)
    data = {
        "question": list(question),
        "context": context,
        "places": [list(place) for place in places],
        "cosines": rounded(array, 2, "cosines"),
        "best": best.tolist(),
        "largest": rounded(array.max(axis=1), 3, "cosines"),
        "start": start,
    }
    found = ", ".join(
        f"{token} → {context[slice(*places[j])]} {array[i, j]:.2f}" for i, (token, j) in enumerate(zip(question, best))
    )
    told = f"Best matches: {found}. Sum {array.max(axis=1).sum():.2f}."
    return Figure(draw_matches(data, told), told, "late", data)


def draw_matches(data: dict, told: str) -> Schematic:
    """The still picture: the tokens of the question, and the passage with the best match of each in a frame."""
    places, height = laid_out(data["context"], top=62)
    figure = Schematic(740, round(height), told, size=12.3)
    x = 10.0
    for number, token in enumerate(data["question"]):
        width = 9 * len(token) + 14
        figure.box(x, 6, width, 26, token, "hot" if number == data["start"] else "line")
        x += width + 5
    for number, (first, last) in enumerate(data["places"]):
        x, y = places[first]
        width = LETTER * (last - first)
        share = max(0.0, data["cosines"][data["start"]][number])
        figure.box(x, y - 10, width, 20, color="none", fill="plus", corner=2, opacity=0.75 * share**2)
        if number in data["best"]:
            figure.box(x - 1, y - 11, width + 2, 22, color="hot", fill="none", corner=3, line=1.4)
    write_text(figure, data["context"], places)
    return figure
