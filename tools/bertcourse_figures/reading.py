"""A reader at work: two scores per token, all spans from them, a question without a word, and when to keep silent."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded, show_steps
from bertcourse_figures.schematic import WIDE, Schematic, as_numbers, in_both_widths, signed

MOST_TOKENS, MOST_WORDS, MOST_GROUPS = 10, 20, 4
COLUMNS, LETTER, LINE = 96, 7.4, 24  # of the still picture of a text


def span_steps(tokens: Sequence[str], start: ArrayLike, end: ArrayLike, longest: int) -> Figure:
    """Step through it: two rows of scores become a matrix of spans, some are not allowed, and the best is taken.

    Args:
        tokens: L of them, 2 to 10.
        start, end: (L,), how well each token begins an answer, and how well it ends one.
        longest: how many tokens an answer may have.

    Raises:
        ValueError: shapes that do not fit, or too many tokens.

    Source: Devlin et al. 2019, "BERT", section 4.2.
    """
    start, end = as_numbers(start, "start"), as_numbers(end, "end")
    if not 2 <= len(tokens) <= MOST_TOKENS or not start.shape == end.shape == (len(tokens),):
        raise ValueError(
            f"there is room for 2 to {MOST_TOKENS} tokens, with two scores each; got {len(tokens)} tokens and scores "
            f"of shapes {start.shape} and {end.shape}."
        )
    spans = start[:, None] + end
    first, last = np.indices(spans.shape)
    is_backward, is_long = last < first, last >= first + longest
    best = np.unravel_index(np.where(is_backward | is_long, -np.inf, spans).argmax(), spans.shape)
    alone = int(start.argmax()), int(end.argmax())
    captions = [
        f"S·T says how well each token begins the answer; the best is {tokens[alone[0]]!r}.",
        f"E·T says how well it ends one; the best is {tokens[alone[1]]!r}.",
        "A cell is a span: from its row's token to its column's. Its score is the sum of the two: "
        f"2 · {len(tokens)} numbers give {len(tokens) ** 2} scores.",
        f"No answer ends before it begins: {int(is_backward.sum())} cells go.",
        f"And none has more than {longest} tokens: {int((is_long & ~is_backward).sum())} more go.",
        f"The best cell that is left: {' '.join(tokens[best[0] : best[1] + 1])!r}, {signed(spans[best], '.1f')}.",
    ]
    alt = f"Scores of {len(tokens)} tokens as starts and as ends, and the matrix of their sums, one cell for each span."
    schematic = in_both_widths(
        draw_spans, tokens, start, end, (is_backward, is_long & ~is_backward), best, captions, alt
    )
    return show_steps(schematic, " ".join(captions[3:]))


def draw_spans(tokens, start, end, forbidden, best, captions, alt: str, width: int) -> Schematic:
    """Draw both rows of scores, the matrix, crosses on what is not allowed, and a frame around the best cell."""
    is_wide = width == WIDE
    left, column = (110, 60) if is_wide else (56, 34)
    cell = (width - left - column - 6) / len(tokens)
    longest = 0.6 * max(map(len, tokens)) * (13 if is_wide else 11)
    turn = -45 if longest > cell else 0  # names that have no room beside each other lean
    top, tall = 84 + (0.7 * longest - 10 if turn else 0), min(cell, 32.0)
    figure = Schematic(width, round(top + tall * len(tokens) + 6), alt, size=13 if is_wide else 10)
    corner = left + column
    limit = float(np.abs(np.concatenate([start, end])).max())
    size = 13 if is_wide else 9.5
    form = ".1f" if is_wide else ".0f"

    def fitting(token: str, room: float) -> float:
        return min(13 if is_wide else 11, room / (0.6 * max(2, len(token))))

    figure.step(captions[0])
    figure.text((left + column / 2 - 4, top - 16), "start", color="soft")
    for row, token in enumerate(tokens):
        figure.text((left - 8, top + tall * (row + 0.5)), token, anchor="end", size=fitting(token, left - 10))
    figure.matrix(left, top, start[:, None], column - 8, tall, limit=limit, numbers=form, size=size)
    figure.step(captions[1])
    figure.text((corner - 8, top - 40), "end", color="soft", anchor="end")
    for place, token in enumerate(tokens):
        x, anchor = corner + cell * (place + (0.4 if turn else 0.5)), "start" if turn else "middle"
        figure.text((x, top - 64 if turn else 14), token, anchor=anchor, size=13 if is_wide else 11, turn=turn)
    figure.matrix(corner, top - 54, end, cell, 28, limit=limit, numbers=form, size=size)
    figure.step(captions[2])
    spans = start[:, None] + end
    figure.matrix(corner, top, spans, cell, tall, limit=float(np.abs(spans).max()), numbers=form, size=size)
    for caption, cells in zip(captions[3:5], forbidden):
        figure.step(caption)
        for row, place in np.argwhere(cells):
            x, y = corner + cell * place, top + tall * row
            for ends in (
                ((x + 3, y + 3), (x + cell - 3, y + tall - 3)),
                ((x + 3, y + tall - 3), (x + cell - 3, y + 3)),
            ):
                figure.arrow(*ends, color="soft", width=1.6, head=False)
    figure.step(captions[5])
    figure.box(corner + cell * best[1], top + tall * best[0], cell, tall, "", "hot", "none", corner=3, line=3)
    return figure


def show_pointing(
    tokens: Sequence[str],
    segments: Sequence[int],
    start: ArrayLike,
    end: ArrayLike,
    span: tuple[int, int],
    right: tuple[int, int],
) -> Figure:
    """Step through it: a question and a text in one row, two scores for each token, and the span with the best sum.

    Args:
        tokens: L of them, [CLS] and [SEP] included.
        segments: 0 for each token of the question, 1 for those of the text.
        start, end: (L,), how well each token begins an answer, and how well it ends one.
        span: the first and last token of the best legal span.
        right: those of the right answer.

    Raises:
        ValueError: shapes that do not fit.

    Source: Devlin et al. 2019, "BERT", figure 4 (c).
    """
    start, end = as_numbers(start, "start"), as_numbers(end, "end")
    if not len(tokens) == len(segments) or not start.shape == end.shape == (len(tokens),):
        raise ValueError(
            f"each token needs a segment and two scores; got {len(tokens)} tokens, {len(segments)} segments and "
            f"scores of shapes {start.shape} and {end.shape}."
        )

    def sum_of(first: int, last: int) -> str:
        text = " ".join(tokens[first : last + 1]).replace(" ##", "")
        a, b, both = (signed(each, ".1f") for each in (start[first], end[last], start[first] + end[last]))
        return f"{text!r} {a} + {b} = {both}"

    asked = list(segments).count(0)
    captions = [
        f"One row of {len(tokens)} tokens: the first {asked} are the question with [CLS] and [SEP], segment A.",
        f"The other {len(tokens) - asked} are the text and a last [SEP], segment B.",
        f"S·T says how well each token begins the answer. The best is {tokens[start.argmax()]!r}, number "
        f"{start.argmax()}.",
        f"E·T says how well it ends one. The best is {tokens[end.argmax()]!r}, number {end.argmax()}.",
        f"The best span in the text: {sum_of(*span)}."
        + (f" The right answer: {sum_of(*right)}." if tuple(right) != tuple(span) else ""),
    ]
    alt = f"{len(tokens)} tokens in a row, question first, with two scores under each, and a frame around the answer."
    parts = tokens, list(segments), start, end, span, right, captions, alt
    return show_steps(in_both_widths(draw_pointing, *parts), " ".join(captions))


def draw_pointing(tokens, segments, start, end, span, right, captions, alt: str, width: int) -> Schematic:
    """Draw the tokens in lines, with their numbers, their segments and both scores."""
    columns, left = (8, 52) if width == WIDE else (4, 40)
    cell, tall, line = (width - left - 4) / columns, 24, 104
    rows = -(-len(tokens) // columns)
    figure = Schematic(width, line * rows + 2, alt, size=13 if width == WIDE else 11.5)
    limit = float(np.abs(np.concatenate([start, end])).max())

    def place(number: int) -> tuple[float, float]:
        row, column = divmod(number, columns)
        return left + cell * column, 8 + line * row

    for segment, role in ((0, "minus"), (1, "plus")):
        figure.step(captions[segment])
        for number, token in enumerate(tokens):
            if segments[number] == segment:
                x, y = place(number)
                size = min(figure.size, (cell - 10) / (0.6 * max(2, len(token))))
                figure.box(x + 2, y, cell - 4, tall, token, role, role, corner=4, size=size)
                figure.text((x + cell / 2, y + tall + 9), str(number), color="soft", size=11)
    for step, (name, scores) in enumerate((("start", start), ("end", end)), start=2):
        figure.step(captions[step])
        for row in range(rows):
            x, y = place(row * columns)
            part, down = scores[row * columns : (row + 1) * columns], y + tall + 18 + 22 * (step - 2)
            figure.text((left - 6, down + 11), name, color="soft", anchor="end", size=12 if width == WIDE else 11)
            figure.matrix(x, down, part[None], cell, 22, limit=limit, numbers=".1f", size=12.5)
    figure.step(captions[4])
    for (first, last), role in ((right, "ink"), (span, "hot")) if tuple(right) != tuple(span) else ((span, "hot"),):
        for number in range(first, last + 1):
            x, y = place(number)
            figure.box(x + 1, y - 3, cell - 2, tall + 6, "", role, "none", corner=6, line=3)
    return figure


def explore_question(
    words: Sequence[str],
    context: str,
    places: Sequence[tuple[int, int]],
    probabilities: ArrayLike,
    answer: tuple[int, int],
    longest: int = 30,
    start: int | None = None,
) -> Figure:
    """Leave out one word of a question: where does the reader look for the answer now?

    Args:
        words: W words of the question, at most 20.
        context: the text that holds the answer.
        places: for each of T tokens its characters in the text (start, end).
        probabilities: (W + 1, 2, T), how probable it is that the answer begins, and that it ends, at each token: with
            the whole question, and then without each of its words.
        answer: the characters (start, end) that people marked; they are underlined.
        longest: how many tokens an answer may have.
        start: the place of the word that is left out at first; None for none.

    Raises:
        ValueError: shapes that do not fit.
    """
    array = as_numbers(probabilities, "probabilities")
    if not 1 <= len(words) <= MOST_WORDS or array.shape != (len(words) + 1, 2, len(places)):
        raise ValueError(
            f"probabilities must be of shape ({len(words) + 1}, 2, {len(places)}), for 1 to {MOST_WORDS} words; got "
            f"{array.shape}."
        )
    found = [best_of(start, end, longest) for start, end in array]
    texts = [context[places[first][0] : places[last][1]] for first, last in found]
    data = {
        "words": list(words),
        "context": context,
        "places": [list(place) for place in places],
        "start": rounded(array[:, 0], 3),
        "end": rounded(array[:, 1], 3),
        "found": [list(span) for span in found],
        "answer": list(answer),
        "without": place_of(start, [None, *range(len(words))], "start"),
    }
    others = [f"without {word}: {text}" for word, text in zip(words, texts[1:]) if text != texts[0]]
    changed = "; ".join(others) or "the same without any one of its words"
    told = f"{' '.join(words)} Whole question: {texts[0]}; {changed}."
    return Figure(draw_text(data, told), told, "question", data)


def best_of(start: np.ndarray, end: np.ndarray, longest: int) -> tuple[int, int]:
    """The span with the largest product of probabilities, of at most ``longest`` tokens.

    >>> best_of(np.array([0.1, 0.2, 0.7]), np.array([0.2, 0.7, 0.1]), 2)
    (1, 1)
    """
    products = np.tril(np.triu(np.outer(start, end)), longest - 1)
    first, last = np.unravel_index(products.argmax(), products.shape)
    return int(first), int(last)


def draw_text(data: dict, told: str) -> Schematic:
    """The still picture: the question, and the text with what the reader thinks of each token."""
    places, height = laid_out(data["context"], top=44)
    figure = Schematic(740, round(height), told, size=12.3)
    figure.text((10, 14), " ".join(data["words"]), "bold", anchor="start", size=14)
    for (first, last), start, end in zip(data["places"], data["start"][0], data["end"][0]):
        x, y = places[first]
        for share, role, down in ((start, "plus", -10), (end, "hot", 0)):
            if share >= 0.02:
                how = {"color": "none", "fill": role, "corner": 1, "opacity": 0.15 + 0.75 * share}
                figure.box(x, y + down, LETTER * (last - first), 10, **how)
    write_text(figure, data["context"], places)
    (x, y), (x2, _) = places[data["answer"][0]], places[data["answer"][1] - 1]
    if x2 >= x:
        figure.arrow((x, y + 11), (x2 + LETTER, y + 11), head=False, width=1.4, color="ink")
    return figure


def laid_out(text: str, top: float) -> tuple[list[tuple[float, float]], float]:
    """Where each character of a text stands, in lines of at most ``COLUMNS``, and how tall the drawing must be.

    >>> laid_out("to be", top=20)[0][:2]
    [(10.0, 20), (17.4, 20)]
    """
    places: list[tuple[float, float]] = []
    row = column = 0
    for word in text.split(" "):
        if column + len(word) > COLUMNS:
            row, column = row + 1, 0
        places += [(10 + LETTER * (column + offset), top + LINE * row) for offset in range(len(word) + 1)]
        column += len(word) + 1
    return places, top + LINE * row + 24


def write_text(figure: Schematic, text: str, places: Sequence[tuple[float, float]]) -> None:
    """Write a text word by word, where its characters stand."""
    at = 0
    for word in text.split(" "):
        figure.text(places[at], word, "code", anchor="start")
        at += len(word) + 1


def explore_margin(groups: Mapping[str, ArrayLike], f1: ArrayLike, start: float = 0.0) -> Figure:
    """Move the margin above which a reader keeps silent: who is refused, and what is left of F1?

    Args:
        groups: for each kind of question, at most four, the score of [CLS] minus that of the best span; the first kind
            has answers.
        f1: for each question of the first kind, the F1 of the best span, 0 to 1.
        start: the margin that is shown at first.

    Raises:
        ValueError: too many groups, or marks that are not one for each question.

    Source: Devlin et al. 2019, "BERT", section 4.3.
    """
    values = {name: as_numbers(each, name) for name, each in groups.items()}
    marks = as_numbers(f1, "f1")
    first = next(iter(values), "")
    if not 2 <= len(values) <= MOST_GROUPS or marks.shape != values[first].shape:
        raise ValueError(
            f"there is room for 2 to {MOST_GROUPS} groups, with a mark for each question of the first; got "
            f"{list(values)} and marks of shape {marks.shape}."
        )
    data = {
        "names": list(values),
        "values": [rounded(each, 2) for each in values.values()],
        "f1": rounded(marks, 3),
        "start": round(float(start), 1),
    }
    shares = "; ".join(f"{name} {100 * (each > start).mean():.0f} %" for name, each in values.items())
    left = 100 * float(np.mean(marks * (values[first] <= start)))
    whole = 100 * float(marks.mean())
    kept = f"F1 of {first}: {left:.0f} %, of {whole:.0f} % without silence"
    told = f"Margin {signed(start, '.1f')}, refused: {shares}. {kept}."
    return Figure(draw_margin(data, told), told, "margin", data)


def draw_margin(data: dict, told: str) -> Schematic:
    """The still picture: a row of dots for each group, and a line at the margin."""
    everything = np.concatenate([np.asarray(each) for each in data["values"]])
    low, high = np.floor(everything.min()), np.ceil(everything.max())
    figure = Schematic(740, 62 * len(data["names"]) + 44, told, size=13)

    def across(value: float) -> float:
        return 176 + (value - low) / (high - low or 1) * 548

    for row, (name, values) in enumerate(zip(data["names"], data["values"])):
        figure.text((166, 34 + 62 * row), name, anchor="end")
        dots = "".join(
            f'<circle cx="{across(value):.1f}" cy="{34 + 62 * row + 22 * jitter(number):.1f}" r="3"/>'
            for number, value in enumerate(values)
        )
        figure.put(f'<g fill="{("#0072b2", "#d55e00", "#009e73", "#cc79a7")[row]}" fill-opacity=".45">{dots}</g>')
    bottom = 62 * len(data["names"]) + 10
    figure.arrow((across(data["start"]), 6), (across(data["start"]), bottom), color="ink", width=1.6, head=False)
    figure.text((450, bottom + 16), "score of [CLS] minus score of the best span", color="soft")
    return figure


def jitter(number: int) -> float:
    """A number between −1 and 1 that scatters dots evenly: multiples of the golden ratio.

    >>> round(jitter(0), 3), round(jitter(1), 3)
    (-1.0, 0.236)
    """
    return 2 * ((number * 0.6180339887) % 1) - 1
