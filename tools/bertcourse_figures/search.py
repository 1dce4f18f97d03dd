"""A search at work: what k1 and b do to BM25's ranking, which token of a passage each token of a question finds, and
three ways to compare the two."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, rounded, show_steps
from bertcourse_figures.reading import LETTER, laid_out, write_text
from bertcourse_figures.schematic import WIDE, Point, Schematic, as_numbers, in_both_widths

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


def show_three_ways(
    question: Sequence[str], passage: Sequence[str], best: ArrayLike, captions: Sequence[str]
) -> Figure:
    """Step through three ways to compare two texts: where does the question meet the passage?

    Args:
        question: T of its tokens, at most 4.
        passage: L of the passage's, at most 6.
        best: (T,), for each token of the question the number of the passage's token that is most like it.
        captions: of bi-encoder, late interaction and cross-encoder.

    Raises:
        ValueError: shapes that do not fit, or too many tokens.

    Source: Khattab & Zaharia 2020, "ColBERT", figure 2.
    """
    found = as_numbers(best, "best").astype(int)
    if not (1 <= len(question) <= 4 and 1 <= len(passage) <= 6 and found.shape == (len(question),)):
        raise ValueError(
            f"there is room for 4 and 6 tokens, and each of the question has a best; got {len(question)} and "
            f"{len(passage)} tokens, and best of shape {found.shape}."
        )
    alt = (
        "Three panels. Bi-encoder: two encoders, a vector from each, and their cosine. Late interaction: two encoders, "
        "a vector for each token, and a line from each token of the question to one of the passage. Cross-encoder: one "
        "encoder that reads both, and a single number."
    )
    schematic = in_both_widths(draw_three_ways, question, passage, found.tolist(), captions, alt)
    return show_steps(schematic, f"{alt} {' '.join(captions)}")


def draw_three_ways(question, passage, best, captions, alt: str, width: int) -> Schematic:
    """The panels side by side, or one below the other on a phone; in each, texts go in at the bottom."""
    is_wide, tall = width == WIDE, 236
    figure = Schematic(width, tall if is_wide else 3 * tall, alt, size=12.5 if is_wide else 12)
    room = width / 3 if is_wide else width
    names = "bi-encoder", "late interaction", "cross-encoder"
    for number, (name, caption) in enumerate(zip(names, captions)):
        left, top = (number * room, 0) if is_wide else (0, number * tall)
        figure.step(caption)
        figure.text((left + room / 2, top + 14), name, "bold")
        draw_way(figure, number, question, passage, best, left + 8, top, room - 16)
    return figure


def draw_way(figure: Schematic, number: int, question, passage, best, left: float, top: float, width: float) -> None:
    """One panel: tokens below, an encoder over each text or over both, and what is compared above."""
    gap, tokens = 12.0, [*question, *passage]
    letter = (width - gap) / sum(max(2, len(token)) + 1 for token in tokens)
    size, x, middles = min(11.5, letter / 0.6), left, []
    for place, token in enumerate(tokens):
        x += gap if place == len(question) else 0
        wide, role = letter * (max(2, len(token)) + 1), "query" if place < len(question) else "key"
        figure.box(x + 1, top + 204, wide - 2, 22, token, role, role, "code", size=size, corner=3)
        middles.append(x + wide / 2)
        x += wide
    split = left + letter * sum(max(2, len(token)) + 1 for token in question)
    ends = [(left, split), (split + gap, left + width)] if number < 2 else [(left, left + width)]
    for start, end in ends:
        figure.box(start, top + 152, end - start, 34, "BERT", "plus", "plus", "bold")
    for x in middles:
        figure.arrow((x, top + 202), (x, top + 189), width=1)
    sides = [(middles[: len(question)], "query"), (middles[len(question) :], "key")]
    peak: Point = (left + width / 2, top + 40)
    if number == 1:
        for xs, role in sides:
            for x in xs:
                figure.box(x - 4, top + 116, 8, 30, color=role, fill=role, corner=2, opacity=0.5)
        for rung, (x, target) in enumerate(zip(middles, best)):
            y, end = top + 60 + 13 * rung, middles[len(question) + target]
            figure.arrow((x, top + 114), (x, y), (end, y), (end, top + 112), color="hot", corner=6)
        figure.text(peak, "Σ of each one's best cosine")
        return
    if number == 0:
        for xs, role in sides:
            x = sum(xs) / len(xs)
            figure.arrow((x, top + 150), (x, top + 138), width=1)
            figure.box(x - 5, top + 102, 10, 34, color=role, fill=role, corner=2, opacity=0.5)
            figure.arrow((x, top + 100), (peak[0], top + 52), color="hot")
        figure.text(peak, "one cosine")
        return
    figure.arrow((peak[0], top + 150), (peak[0], top + 138), width=1)
    figure.box(peak[0] - 5, top + 102, 10, 34, color="plus", fill="plus", corner=2, opacity=0.5)
    figure.arrow((peak[0], top + 100), (peak[0], top + 52), color="hot")
    figure.text(peak, "one number: w · mean")
