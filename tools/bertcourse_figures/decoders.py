"""Encoders, decoders and both together: what each may see, what is asked of it, and where cross-attention looks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.generation import visible
from bertcourse_figures.interactive import Figure, place_of, rounded, show_steps
from bertcourse_figures.schematic import NARROW, Schematic, as_numbers, in_both_widths

SENTINELS = ("<X>", "<Y>", "<Z>", "<W>", "<V>", "<U>")
START = "‹start›"  # what a decoder reads before it has written anything
FAMILIES = ("encoder", "decoder", "encoder-decoder")
MOST_WORDS, MOST_TOKENS, MOST_SOURCE, MOST_TARGET = 10, 30, 32, 24
Span = tuple[int, int]  # its first place, and the one after its last


class Family(NamedTuple):
    """A way to learn from a sentence: who may see whom, and what is asked where.

    Attributes:
        name: the family's, with a model that belongs to it.
        task: in a few words.
        rows: what is read, one token per row.
        blocks: for each, its first row and column, who may see whom, and a colour.
        asked: the word that is asked for, by row.
        answers: what a model said, by row.
    """

    name: str
    task: str
    rows: list[str]
    blocks: list[tuple[int, int, np.ndarray, str]]
    asked: dict[int, str]
    answers: dict[int, str]


def show_families(
    words: Sequence[str],
    hidden: Sequence[Span],
    predictions: Mapping[str, Sequence[str]] | None = None,
    mask: str = "[MASK]",
) -> Figure:
    """One sentence, three families: an encoder fills gaps, a decoder continues, both together write what is missing.

    Args:
        words: of the sentence, at most 10.
        hidden: spans of words that the encoder and the encoder-decoder are asked for, as (first, after the last).
        predictions: what a model says, under "encoder", "decoder" or "encoder-decoder", in order: a word for each
            hidden place; one after each word but the last; one for each token of the target, including sentinels.
        mask: what the encoder reads in a gap.

    Raises:
        ValueError: too many words, spans that do not fit, or not as many predictions as questions.

    Sources: Devlin et al. 2019; Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training";
    Raffel et al. 2020, "Exploring the Limits of Transfer Learning", figures 3 and 4.
    """
    words, spans = list(words), checked(words, hidden, MOST_WORDS)
    predictions = dict(predictions or {})
    families = families_of(words, spans, mask)
    for name, family in zip(FAMILIES, families):
        answers = predictions.pop(name, None)
        if answers is not None and len(answers) != len(family.asked):
            raise ValueError(f"predictions of the {name} must be {len(family.asked)}; got {len(answers)}.")
        family.answers.update(zip(family.asked, answers or ()))
    if predictions:
        raise ValueError(f"predictions must be named {', '.join(FAMILIES)}; got {[*predictions]}.")
    told = f"“{' '.join(words)}”, learned from in three ways. " + " ".join(account(family) for family in families)
    schematic = in_both_widths(draw_families, words, spans, families, told)
    return show_steps(schematic, told)


def families_of(words: list[str], spans: list[Span], mask: str) -> tuple[Family, Family, Family]:
    """What each family reads, may see and is asked."""
    gaps = [place for first, end in spans for place in range(first, end)]
    filled = [mask if place in gaps else word for place, word in enumerate(words)]
    source, target = corrupt(words, spans)
    length, s, t = len(words), len(source), len(target)
    encoder = Family(
        "encoder · BERT", "fill the gaps", filled, [(0, 0, np.ones((length, length)), "plus")],
        {place: words[place] for place in gaps}, {},
    )  # fmt: skip
    decoder = Family(
        "decoder · GPT", "predict the next word", words[:-1], [(0, 0, np.tri(length - 1), "plus")],
        {place: words[place + 1] for place in range(length - 1)}, {},
    )  # fmt: skip
    both = Family(
        "encoder-decoder · T5", "write what is missing", [*source, START, *target[:-1]],
        [(0, 0, np.ones((s, s)), "plus"), (s, s, np.tri(t), "plus"), (s, 0, np.ones((t, s)), "value")],
        {s + place: token for place, token in enumerate(target)}, {},
    )  # fmt: skip
    return encoder, decoder, both


def account(family: Family) -> str:
    """What is asked, and how much of it was answered correctly, in words."""
    asked = ", ".join(f"{family.rows[row]} → {word}" for row, word in family.asked.items())
    count = len(family.asked)
    told = f"{family.name[0].upper()}{family.name[1:]}: {count} question{'s' * (count > 1)} ({asked})."
    if family.answers:
        right = sum(family.answers[row] == word for row, word in family.asked.items())
        told += f" Said: {', '.join(family.answers.values())}; {right} of {count} right."
    return told


def draw_families(words: list[str], spans: list[Span], families: Sequence[Family], told: str, width: int) -> Schematic:
    """Three masks with their questions: side by side, or one below the other on a phone."""
    small = width == NARROW
    figure = Schematic(width, 400, told, size=12)
    gaps = [place for first, end in spans for place in range(first, end)]
    count = len(gaps)
    figure.step(f"One sentence. {count} word{'s' * (count > 1)} will be hidden from two of the three.")
    looks = [(word, "hot" if place in gaps else "") for place, word in enumerate(words)]
    top = flow(figure, looks, 6, 6)[1] + 8
    captions = (
        ("Encoder: every word sees every other, before and after. Asked for the next word, it would only have to look.",
         "So some words are hidden, and it is asked for these alone."),
        ("Decoder: each word sees itself and those before it.",
         "So at every word it is asked for the next one: more questions per sentence, and a model that can write."),
        ("Encoder-decoder: the source sees all of itself. The target sees its own past, and through cross-attention "
         "(green) all of the source.",
         "It reads the text with its gaps and writes what was in them, word by word."),
    )  # fmt: skip
    bottoms = []
    for number, (family, (sees, asks)) in enumerate(zip(families, captions)):
        place = (6.0, top if number == 0 else bottoms[-1] + 22) if small else (6.0 + 222 * number, top)
        room = 348 if small else (208, 208, 290)[number]
        bottoms.append(draw_family(figure, family, place, room, sees, asks))
    figure.height = round(max(bottoms) + 6)
    return figure


def draw_family(
    figure: Schematic, family: Family, place: tuple[float, float], room: float, sees: str, asks: str
) -> float:
    """A mask with what is read on its left and what is asked on its right; returns its lower edge.

    Args:
        figure: the drawing to add to.
        family: what is drawn.
        place: left and top.
        room: its width.
        sees, asks: captions of its two steps.
    """
    (x, y), rows = place, family.rows
    said = [family.answers.get(row, word) for row, word in family.asked.items()]
    longest = max(map(len, rows)), max(map(len, said)) + (3 if family.answers else 0)
    for size in (11.5, 10.5, 9.5, 8.5):  # smaller letters leave more room for the mask
        left, right = 0.58 * size * longest[0] + 8, 0.58 * size * longest[1] + 22
        cell = min(17.0, (room - left - right) / len(rows))
        if cell >= 7:
            break
    tall = 18.0
    top = y + 62
    figure.step(sees)
    figure.text((x, y + 10), family.name, "bold", anchor="start", size=14)
    figure.text((x, y + 29), family.task, color="soft", anchor="start", size=12)
    side = len(rows) * cell
    figure.box(x + left, top, side, len(rows) * tall, color="line", fill="none", corner=0, line=1)
    if len(family.blocks) > 1:  # the second belongs to the target
        split = x + left + family.blocks[1][1] * cell
        figure.bracket(x + left, split - 2, top - 5, "source", over=True)
        figure.bracket(split + 2, x + left + side, top - 5, "target", over=True)
    for first, column, allowed, role in family.blocks:
        figure.matrix(x + left + column * cell, top + first * tall, 0.6 * allowed, cell, tall, limit=1, color=role)
    for row, name in enumerate(rows):
        stands_out = row in family.asked and len(family.asked) < len(rows) and name != START and len(family.blocks) == 1
        color = "hot" if stands_out or name in SENTINELS else "ink"
        figure.text((x + left - 5, top + (row + 0.5) * tall), name, color=color, anchor="end", size=size)
    figure.step(asks)
    for row, word in family.asked.items():
        answer = family.answers.get(row)
        mark = "" if answer is None else " ✓" if answer == word else " ✗"
        color = "value" if mark == " ✓" else "hot" if mark else "ink"
        at = x + left + side + 5, top + (row + 0.5) * tall
        figure.text(at, f"→ {word if answer is None else answer}{mark}", color=color, anchor="start", size=size)
    bottom = top + len(rows) * tall
    read = len(rows) - (len(family.asked) if len(family.blocks) > 1 else 0)
    count = len(family.asked)
    asked = f"{count} question{'s' * (count > 1)}, {read} words read"
    if family.answers:
        right = sum(family.answers[row] == word for row, word in family.asked.items())
        asked += f", {right} right"
    figure.text((x, bottom + 16), asked, color="soft", anchor="start", size=11.5)
    return bottom + 26


def checked(tokens: Sequence[str], spans: Sequence[Span], most: int) -> list[Span]:
    """The spans, if they are in order, within the tokens, with a token between any two and a sentinel for each."""
    spans = [(int(first), int(end)) for first, end in spans]
    if not 2 <= len(tokens) <= most or not 1 <= len(spans) < len(SENTINELS):
        raise ValueError(
            f"there may be 2 to {most} tokens and 1 to {len(SENTINELS) - 1} spans; got {len(tokens)} and {len(spans)}."
        )
    edges = [-1, *(edge for span in spans for edge in span)]
    lies = all(a < b for a, b in zip(edges, edges[1:])) and edges[-1] <= len(tokens)
    if not lies or any(first == end for (_, end), (first, _) in zip(spans, spans[1:])):
        raise ValueError(
            f"spans must be (first, after the last), in order, with a token between any two, within {len(tokens)} "
            f"tokens; got {spans}."
        )
    return spans


def corrupt(tokens: Sequence[str], spans: Sequence[Span]) -> tuple[list[str], list[str]]:
    """The text with a sentinel for each span, and the target: each sentinel with its span, and a final sentinel.

    >>> corrupt("thank you for inviting me".split(), [(2, 3), (4, 5)])
    (['thank', 'you', '<X>', 'inviting', '<Y>'], ['<X>', 'for', '<Y>', 'me', '<Z>'])
    """
    source, target, place = [], [], 0
    for sentinel, (first, end) in zip(SENTINELS, spans):
        source += [*tokens[place:first], sentinel]
        target += [sentinel, *tokens[first:end]]
        place = end
    return [*source, *tokens[place:]], [*target, SENTINELS[len(spans)]]


def show_span_corruption(tokens: Sequence[str], spans: Sequence[Span]) -> Figure:
    """T5's pretraining: spans of a text are cut out, sentinels mark the places, and the target is what was cut out.

    Args:
        tokens: of the text, at most 30.
        spans: what is cut out, as (first, after the last), in order, with a token between any two; at most 5.

    Raises:
        ValueError: too many tokens, or spans that do not fit.

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
    figure 2.
    """
    tokens, spans = list(tokens), checked(tokens, spans, MOST_TOKENS)
    source, target = corrupt(tokens, spans)
    gone = sum(end - first for first, end in spans)
    told = (
        f"Text of {len(tokens)} tokens, {gone} of them hidden ({gone / len(tokens):.0%}) in {len(spans)} "
        f"span{'s' * (len(spans) > 1)}. Input, {len(source)} tokens: {' '.join(source)}. Target, {len(target)} tokens: "
        f"{' '.join(target)}. Joined: {' '.join(tokens)}."
    )
    schematic = in_both_widths(draw_spans, tokens, spans, source, target, told)
    return show_steps(schematic, told)


def draw_spans(
    tokens: list[str], spans: list[Span], source: list[str], target: list[str], told: str, width: int
) -> Schematic:
    """Text, spans, input, target and text again, one below the other."""
    figure = Schematic(width, 400, told, size=13)
    gone = sum(end - first for first, end in spans)
    owner = {place: number for number, (first, end) in enumerate(spans) for place in range(first, end)}
    sign = {name: f"group{number}" for number, name in enumerate(SENTINELS)}

    def heading(text: str, count: int, y: float) -> float:
        figure.text((6, y + 9), text, "bold", anchor="start", size=13)
        figure.text((WIDE_TEXT * len(text) + 14, y + 9), f"{count} tokens", color="soft", anchor="start", size=12)
        return y + 22

    figure.step("A text, without labels: all that is needed.")
    places, y = flow(figure, [(token, "") for token in tokens], 6, heading("text", len(tokens), 4))
    figure.step(f"{len(spans)} span{'s' * (len(spans) > 1)} of it, {gone} of {len(tokens)} tokens, will be cut out.")
    for place, number in owner.items():
        box = places[place]
        figure.box(*box, color=sign[SENTINELS[number]], fill=sign[SENTINELS[number]], corner=4, line=2, opacity=0.22)
    figure.step("The input: for each span a sentinel, a token that occurs nowhere else.")
    _, y = flow(figure, [(token, sign.get(token, "")) for token in source], 6, heading("input", len(source), y + 10))
    figure.step(
        f"The target: each sentinel and what it stands for, and one more to end it. The decoder writes {len(target)} "
        f"tokens, not {len(tokens)}."
    )
    looks, role = [], ""
    for token in target:
        role = sign.get(token, role)
        looks.append((token, role))
    _, y = flow(figure, looks, 6, heading("target", len(target), y + 10))
    figure.step("Joined: put each piece of the target where its sentinel stands, and the text is back.")
    looks = [(token, sign[SENTINELS[owner[place]]] if place in owner else "") for place, token in enumerate(tokens)]
    _, y = flow(figure, looks, 6, heading("joined again", len(tokens), y + 10))
    figure.height = round(y + 4)
    return figure


WIDE_TEXT = 8.2  # pixels per letter of a heading


def flow(figure: Schematic, looks: Sequence[tuple[str, str]], left: float, top: float) -> tuple[list[tuple], float]:
    """Tokens in boxes, from left to right, in as many lines as they need.

    Args:
        figure: the drawing to add to.
        looks: the tokens, each with the role of its colour, or "".
        left, top: where they begin.

    Returns:
        The boxes as (x, y, width, height), and their lower edge.
    """
    x, y, boxes = left, top, []
    for token, role in looks:
        width = 8.0 * len(token) + 13
        if x + width > figure.width - 4 and x > left:
            x, y = left, y + 31
        box = figure.box(x, y, width, 26, token, role or "line", role or "panel", "code", corner=4, opacity=0.22)
        boxes.append(tuple(box))
        x += width + 4
    return boxes, y + 26


def show_cross_attention(source: Sequence[str], target: Sequence[str], weights: ArrayLike, start: int = 1) -> Figure:
    """Token by token of the target: where in the source did the decoder look when it wrote it?

    Args:
        source: S tokens that the encoder read, at most 32.
        target: T tokens that were written, at most 24.
        weights: (T, S), the cross-attention of one head, or the average of several; each row is that of the position
            that wrote the target's token, and sums to 1.
        start: the step at which it opens; step 1 writes the first token of the target.

    Raises:
        ValueError: shapes that do not fit, too many tokens, or numbers that are not weights.

    Source: Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", figure 3.

    >>> show_cross_attention(["drei", "Boote"], ["three", "boats"], [[0.875, 0.125], [0.25, 0.75]])
    Cross-attention of 2 written tokens over 2 of the source, most of each: three ← drei 0.88; boats ← Boote 0.75.
    """
    rows = as_numbers(weights, "weights")
    if rows.shape != (len(target), len(source)) or not 0 < len(source) <= MOST_SOURCE or len(target) > MOST_TARGET:
        raise ValueError(
            f"weights must be of shape (T, S), with T of at most {MOST_TARGET} and S of at most {MOST_SOURCE}; got "
            f"{rows.shape} for {len(target)} target and {len(source)} source tokens."
        )
    if rows.min() < 0 or np.abs(rows.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError(f"each row of weights must be at least 0 and sum to 1; got sums {rows.sum(axis=1).round(3)}.")
    source, target = [visible(token) for token in source], [visible(token) for token in target]
    most = "; ".join(f"{word} ← {source[row.argmax()]} {row.max():.2f}" for word, row in zip(target, rows))
    told = f"Cross-attention of {len(target)} written tokens over {len(source)} of the source, most of each: {most}."
    first = place_of(start, range(1, len(target) + 1), "start")
    data = {"source": source, "target": target, "weights": rounded(rows, 6), "start": first}
    return Figure(draw_cross(source, target, rows, told), told, "cross", data)


def draw_cross(source: list[str], target: list[str], rows: np.ndarray, told: str) -> Schematic:
    """The still picture: lines from the source to everything that was written, and the matrix."""
    step = min(26.0, 440 / max(len(source), len(target)))
    size = min(13.0, 0.78 * step + 2)
    height = max(len(source), len(target)) * step
    longest = [0.6 * size * max(map(len, tokens)) for tokens in (source, target)]
    cell = min(26.0, 300 / len(source), 0.9 * height / len(target))
    top = 40 + 0.75 * longest[0]
    figure = Schematic(740, round(max(46 + height, top + cell * len(target)) + 12), told, size=size)
    ends = 12 + longest[0], 330 - longest[1]
    figure.text((8, 14), "source", "bold", anchor="start", size=13)
    figure.text((ends[1] + 6, 14), "written", "bold", anchor="start", size=13)
    down = [34 + (height - len(tokens) * step) / 2 + step / 2 for tokens in (source, target)]
    for j, token in enumerate(source):
        figure.text((ends[0], down[0] + j * step), token, anchor="end")
    for i, token in enumerate(target):
        figure.text((ends[1] + 6, down[1] + i * step), token, anchor="start")
        for j in np.flatnonzero(rows[i] > 0.08):
            start, end = (ends[0] + 6, down[0] + j * step), (ends[1], down[1] + i * step)
            weight = float(rows[i, j])
            figure.arrow(start, end, head=False, color="plus", width=0.6 + 4 * weight, opacity=0.15 + 0.7 * weight)
    left = 372 + longest[1]
    figure.matrix(left, top, rows, cell, limit=1, color="plus")
    for j, token in enumerate(source):
        figure.text((left + (j + 0.5) * cell, top - 6), token, anchor="start", size=min(12, size), turn=-50)
    for i, token in enumerate(target):
        figure.text((left - 6, top + (i + 0.5) * cell), token, anchor="end", size=min(12, cell))
    return figure
