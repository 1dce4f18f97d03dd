"""A pretrained model gets a new task: its body and its head, a pair of texts in one row, a change of low rank, what
labels are worth, and how many layers have to learn."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded, show_steps
from bertcourse_figures.schematic import WIDE, Schematic, as_numbers, in_both_widths

MOST_TOKENS, MOST_CLASSES, DRAWN = 12, 4, 8
SEEN = ("fine-tuned", "from scratch")  # the methods whose difference is what pretraining buys


def show_classifier(
    tokens: Sequence[str],
    hidden: ArrayLike,
    pooled: ArrayLike,
    weight: ArrayLike,
    probabilities: ArrayLike,
    labels: Sequence[str],
    sizes: tuple[int, int],
    num_blocks: int,
) -> Figure:
    """Step through it: a pretrained body, a new head on it, and what learns if the body is frozen, or is not.

    Args:
        tokens: L of them, at most 12; the first is [CLS].
        hidden: (L, D), the body's last hidden states.
        pooled: (D,), the mean of these, the vector h that the head reads.
        weight: (K, D), the head's matrix, at most four classes.
        probabilities: (K,), what the head says.
        labels: K names.
        sizes: how many numbers the body has, and the head.
        num_blocks: how many blocks the body has.

    Raises:
        ValueError: shapes that do not fit, or too many tokens.

    Source: Devlin et al. 2019, "BERT", figure 4 (b).
    """
    states, h, w, p = (
        as_numbers(values, name)
        for values, name in (
            (hidden, "hidden"), (pooled, "pooled"), (weight, "weight"), (probabilities, "probabilities"),
        )
    )  # fmt: skip
    length, size, count = len(tokens), h.size, len(labels)
    if not 2 <= length <= MOST_TOKENS or states.shape != (length, size):
        raise ValueError(
            f"hidden must be (L, D) for 2 to {MOST_TOKENS} tokens; got {states.shape} for {length} tokens."
        )
    if not 2 <= count <= MOST_CLASSES or w.shape != (count, size) or p.shape != (count,):
        raise ValueError(f"weight and probabilities must be (K, D) and (K,) for K labels; got {w.shape} and {p.shape}.")
    if size < DRAWN:
        raise ValueError(f"the body must have {DRAWN} dimensions or more, which are drawn; got {size}.")
    body, head = sizes
    captions = [
        f"The text, cut into {length} tokens.",
        f"The pretrained body, embeddings and {num_blocks} blocks, reads it: {body:,} numbers that know something.",
        f"A vector comes out for each token; {DRAWN} of its {size} numbers are drawn.",
        f"Their mean is h: {size} numbers for the whole text.",
        f"The new head is a matrix W of {count} × {size} and {count} biases: {head:,} numbers of noise.",
        f"W h + b and a softmax: {', '.join(f'{name} {share:.2f}' for name, share in zip(labels, p))}.",
        "Frozen body: only the head learns.",
        "Fine-tuning: p − t runs back through all of it, and every number learns.",
    ]
    alt = (
        f"From bottom to top: {length} tokens, a body of {num_blocks} blocks, a vector for each token, h, a head of "
        f"{count} rows and a probability for each class. On the right, what learns: the head alone, or everything."
    )
    schematic = in_both_widths(draw_classifier, tokens, states, h, w, p, labels, num_blocks, captions, alt)
    return show_steps(schematic, " ".join(captions[i] for i in (1, 4, 5)))


def draw_classifier(tokens, states, h, w, p, labels, num_blocks, captions, alt: str, width: int) -> Schematic:
    """Draw the body from the bottom up, the head on it, and two columns that say what learns."""
    is_wide = width == WIDE
    size, small = (13, 12) if is_wide else (10.5, 9)
    right = 500 if is_wide else 232  # where the columns begin
    block, strip = 22, (5 if is_wide else 4)
    rows_top = 34
    pooled_top = rows_top + 24 * len(labels) + 34
    states_top = pooled_top + 58
    body_top = states_top + DRAWN * strip + 22
    body_bottom = body_top + block * (num_blocks + 1)
    figure = Schematic(width, body_bottom + 58, alt, size=size)
    column = right / len(tokens)
    middles = [column * (i + 0.5) for i in range(len(tokens))]

    figure.step(captions[0])
    for x, token in zip(middles, tokens):
        how = {"size": min(size, (column - 6) / (0.62 * max(3, len(token)))), "style": "code"}
        figure.box(x - column / 2 + 2, body_bottom + 26, column - 4, 26, token, **how)
    figure.step(captions[1])
    for number in range(num_blocks + 1):
        text = "embeddings" if number == 0 else f"block {number}"
        figure.box(2, body_bottom - block * (number + 1), right - 6, block - 4, text, "plus", "plus", size=small)
    for x in middles:
        figure.arrow((x, body_bottom + 24), (x, body_bottom + 3), width=1.1)
    figure.step(captions[2])
    limit = float(np.quantile(np.abs(states[:, :DRAWN]), 0.98))
    cell = min(24.0, column - 6)
    for number, x in enumerate(middles):
        figure.arrow((x, body_top - 4), (x, body_top - 18), width=1.1)
        figure.vector(x - cell / 2, states_top, states[number, :DRAWN], cell, strip, vertical=True, limit=limit,
                      frame="hot")  # fmt: skip
    figure.step(captions[3])
    left = 92 if is_wide else 62
    wide_cell = (right - left - (150 if is_wide else 72)) / DRAWN
    top_h = float(np.abs(h[:DRAWN]).max())
    drawn = figure.vector(left, pooled_top, h[:DRAWN], wide_cell, 18, limit=top_h, frame="hot")
    gathered = states_top - 14
    for x in middles:
        figure.arrow((x, states_top - 3), (x, gathered), color="hot", width=1.1, head=False)
    ends = min(middles[0], left + 20), max(middles[-1], left + 20)
    figure.arrow((ends[0], gathered), (ends[1], gathered), color="hot", width=1.4, head=False)
    figure.arrow((left + 20, gathered), (left + 20, pooled_top + 22), color="hot")
    figure.text(drawn.at(1, 0.5, dx=8), f"h: {h.size}" if is_wide else "h", "bold", anchor="start")
    figure.text((left + 30, pooled_top + 31), "mean over the tokens", color="soft", anchor="start", size=small)
    figure.step(captions[4])
    strongest = float(np.abs(w[:, :DRAWN]).max())
    figure.matrix(left, rows_top, w[:, :DRAWN], wide_cell, 24, limit=strongest, frame="value")
    for row, name in enumerate(labels):
        figure.text((left - 6, rows_top + 24 * (row + 0.5)), name, anchor="end", size=small)
    figure.text((left + wide_cell * DRAWN / 2, 16), f"W: {len(labels)} × {h.size}", "bold")
    figure.arrow(drawn.at(0.5, 0, dy=-2), (drawn.at()[0], rows_top + 24 * len(labels) + 3), color="soft")
    figure.step(captions[5])
    edge = left + wide_cell * DRAWN
    room = right - edge - (62 if is_wide else 38)
    for row, share in enumerate(p):
        y = rows_top + 24 * (row + 0.5)
        figure.box(edge + 14, y - 7, max(1.0, room * share), 14, "", "none", "value", corner=2, opacity=0.6)
        figure.text((edge + 18 + room * share, y), f"{share:.2f}", anchor="start", size=small)
    head_bottom = pooled_top - 8
    wide_column = (width - right - 14) / 2
    for number, (caption, name) in enumerate(zip(captions[6:], ("frozen", "fine-tuned"))):
        figure.step(caption)
        x = right + 10 + number * (wide_column + 4)
        figure.text((x + wide_column / 2, 16), name, "bold", size=size if is_wide else 9.5)
        figure.box(x, rows_top - 6, wide_column, head_bottom - rows_top + 6, "learns", "hot", "hot", size=small)
        learns = number == 1
        how = {"color": "hot" if learns else "line", "fill": "hot" if learns else "panel", "size": small}
        text = "learns" if learns else "stays as\nit is"
        figure.box(x, head_bottom + 8, wide_column, body_bottom - head_bottom - 12, text, **how)
        if learns:
            middle = x + wide_column * 0.2
            figure.arrow((middle, rows_top), (middle, body_bottom - 14), color="hot", width=2, flow=True)
            figure.text((middle + 4, body_bottom - 24), "p − t", "formula", anchor="start", size=small)
    return figure


def show_pair(
    tokens: Sequence[str], segments: Sequence[int], attention: ArrayLike, asking: int, labels: Sequence[str]
) -> Figure:
    """Step through it: two texts become one row with segments, every token sees both, and [CLS] answers.

    Args:
        tokens: L of them, at most 12, from [CLS] to the second [SEP].
        segments: L times 0 or 1.
        attention: (L,), what one token of the second text attends to; the sum is 1.
        asking: which token that is.
        labels: the classes of the head.

    Raises:
        ValueError: shapes that do not fit, or too many tokens.

    Source: Devlin et al. 2019, "BERT", figure 4 (a).
    """
    weights = as_numbers(attention, "attention")
    if not 5 <= len(tokens) <= MOST_TOKENS or len(segments) != len(tokens) or weights.shape != (len(tokens),):
        raise ValueError(
            f"there is room for 5 to {MOST_TOKENS} tokens, each with a segment and a weight; got {len(tokens)} tokens, "
            f"{len(segments)} segments and weights of shape {weights.shape}."
        )
    in_second = 0 <= asking < len(tokens) and segments[asking] == 1
    if sorted(set(segments)) != [0, 1] or list(segments) != sorted(segments) or not in_second:
        raise ValueError(f"segments must be 0 and then 1, and token {asking} in the second; got {list(segments)}.")
    border = list(segments).index(1)
    if len(labels) < 2 or all(token.startswith("[") for token in tokens[:border]):
        raise ValueError(f"the first text needs a word, and the head two classes; got {tokens[:border]}, {labels}.")
    words = [place for place, token in enumerate(tokens) if not token.startswith("[") and place != asking]
    across = float(sum(weights[place] for place in words if place < border))
    most = max((place for place in words if place < border), key=weights.__getitem__)
    captions = [
        "Two texts, each cut into tokens.",
        f"One row of {len(tokens)}: [CLS] begins it, [SEP] ends each text.",
        f"Segments: {border} tokens get the vector of segment 0, {len(tokens) - border} that of segment 1.",
        f"Attention crosses [SEP]: {tokens[asking]!r} gives {across:.2f} of its attention to the first text's words, "
        f"most to {tokens[most]!r}.",
        f"[CLS] has seen both; the head on it says {', '.join(labels[:-1])} or {labels[-1]}.",
    ]
    alt = (
        f"A pair of texts as one row of tokens: {' '.join(tokens)}. Under it the segments, over it attention and head."
    )
    schematic = in_both_widths(draw_pair, tokens, border, weights, asking, labels, captions, alt)
    return show_steps(schematic, " ".join(captions[1:4]))


def draw_pair(tokens, border: int, weights, asking: int, labels, captions, alt: str, width: int) -> Schematic:
    """Draw the row, its segments under it, and what crosses from one text to the other over it."""
    is_wide = width == WIDE
    size, top = (13, 158) if is_wide else (10, 132)
    figure = Schematic(width, top + 118, alt, size=size)
    column = (width - 4) / len(tokens)

    def middle(place: int) -> float:
        return 2 + column * (place + 0.5)

    def token(place: int, **how) -> None:
        text = tokens[place]
        fitting = min(size, (column - 5) / (0.62 * max(3, len(text))))
        figure.box(middle(place) - column / 2 + 1.5, top, column - 3, 28, text, style="code", size=fitting, **how)

    special = [place for place, text in enumerate(tokens) if text.startswith("[")]
    figure.step(captions[0])
    for place in range(len(tokens)):
        if place not in special:
            token(place, fill=("group0", "group1")[place >= border], color="none")
    figure.step(captions[1])
    for place in special:
        token(place, fill="none")
    figure.step(captions[2])
    for place in range(len(tokens)):
        segment = int(place >= border)
        role = ("group0", "group1")[segment]
        figure.box(middle(place) - column / 2 + 1.5, top + 40, column - 3, 24, str(segment), role, role, size=size)
        figure.text((middle(place), top + 34), "+", color="soft", size=size)
    for number, (start, end) in enumerate(((0, border), (border, len(tokens)))):
        ends = middle(start) - column / 2 + 4, middle(end - 1) + column / 2 - 4
        figure.bracket(*ends, top + 74, f"segment {number}")
    figure.step(captions[3])
    words = [place for place in range(len(tokens)) if place not in (*special, asking)]
    limit = float(weights[words].max())
    for place, share in zip(words, weights[words]):
        if share > 0.02 * limit:
            high = top - 14 - (26 + 6 * abs(place - asking)) * (1 if is_wide else 0.85)
            points = (middle(asking), top - 4), (middle(asking), high), (middle(place), high), (middle(place), top - 5)
            figure.arrow(*points, color="query", width=1.2 + 2.6 * share / limit, opacity=0.25 + 0.75 * share / limit,
                         corner=14)  # fmt: skip
    figure.box(middle(asking) - column / 2 + 1, top - 1, column - 2, 30, "", "query", "none", line=2.2)
    figure.step(captions[4])
    figure.box(middle(0) - column / 2 + 1, top - 1, column - 2, 30, "", "hot", "none", line=2.2)
    wide_head = 236 if is_wide else 232
    head = figure.box(2, 6, wide_head, 30, " · ".join(labels), "hot", "hot", size=size if is_wide else 9.5)
    figure.arrow((middle(0) - 7, top - 4), (middle(0) - 7, 40), color="hot", width=2.2)
    figure.text(head.at(1, 0.5, dx=8), "head", "bold", anchor="start")
    return figure


def show_low_rank(before: ArrayLike, change: ArrayLike, left: ArrayLike, right: ArrayLike, count: int = 12) -> Figure:
    """Step through it: a weight matrix stays as it is, and its change is the product of two thin matrices.

    Args:
        before: (M, N), W as it came.
        change: (M, N), how fine-tuning changed it.
        left: (M, r), B.
        right: (r, N), A.
        count: how many rows and columns are drawn.

    Raises:
        ValueError: shapes that do not fit, matrices smaller than what is drawn, or a change of zero.

    Source: Hu et al. 2022, "LoRA", equation 3.
    """
    w, moved, b, a = (
        as_numbers(values, name)
        for values, name in ((before, "before"), (change, "change"), (left, "left"), (right, "right"))
    )
    if w.ndim != 2 or w.shape != moved.shape or b.shape != (len(w), len(a)) or a.shape[1:] != w.shape[1:]:
        raise ValueError(
            f"before and change must be (M, N), left (M, r) and right (r, N); got {w.shape}, {moved.shape}, {b.shape} "
            f"and {a.shape}."
        )
    if not 1 <= count <= min(w.shape):
        raise ValueError(f"count must be from 1 to {min(w.shape)}, the rows and columns there are; got {count}.")
    if not moved.any() or not w.any():
        raise ValueError("before and change must not be all zeros, as a share of one is told.")
    (rows, columns), rank = w.shape, len(a)
    thin = rank * (rows + columns)
    kept = 1 - float(np.square(moved - b @ a).sum() / np.square(moved).sum())
    size = 100 * np.linalg.norm(moved) / np.linalg.norm(w)
    captions = [
        f"W: {rows} × {columns} = {rows * columns:,} numbers, of which {count} × {count} are drawn. It stays as it is.",
        f"Fine-tuning added ΔW, of the same shape, {size:.1f} % of its size.",
        f"B is {rows} × {rank}, A is {rank} × {columns}: together {thin:,} numbers, "
        f"{100 * thin / (rows * columns):.0f} % of them.",
        f"B A has the shape of ΔW again. Of the squares of this ΔW, rank {rank} holds {100 * kept:.0f} %.",
    ]
    alt = f"A matrix W of {rows} × {columns}, its change, and that change as a product B A of rank {rank}."
    schematic = in_both_widths(draw_low_rank, w, moved, b, a, captions, alt, count)
    return show_steps(schematic, " ".join(captions[1:]))


def draw_low_rank(w, moved, b, a, captions, alt: str, count: int, width: int) -> Schematic:
    """Draw W, its change, the two thin matrices and their product; in two rows on a phone."""
    is_wide = width == WIDE
    cell = min(11.0, 584 / (4 * count + len(a))) if is_wide else min(10.0, 276 / (2 * count + len(a)))
    side, thin = cell * count, cell * len(a)
    top, size = 40, 13 if is_wide else 11
    gap = 42
    second = (2 * (side + gap), top) if is_wide else (12, top + side + 62)
    figure = Schematic(width, round(second[1] + side + 34), alt, size=size)
    shape = f"{w.shape[0]} × {w.shape[1]}"

    def labelled(x, y, values, name, below, role="line", limit=None):
        box = figure.matrix(x, y, values, cell, limit=limit or float(np.abs(values).max()), frame=role)
        figure.text(box.at(0.5, 0, dy=-14), name, "bold")
        figure.text(box.at(0.5, 1, dy=14), below, color="soft", size=size - 1)
        return box

    start = 12
    figure.step(captions[0])
    labelled(start, top, w[:count, :count], "W", f"{shape}, frozen")
    figure.step(captions[1])
    limit = float(np.abs(moved[:count, :count]).max())
    figure.text((start + side + gap / 2, top + side / 2), "+", "bold", size=18)
    labelled(start + side + gap, top, moved[:count, :count], "ΔW", shape, "hot", limit)
    figure.step(captions[2])
    x, y = second[0] + (start if is_wide else 0), second[1]
    figure.text((x - gap / 2 if is_wide else x + 2, y + side / 2), "≈", "bold", size=18)
    x += 0 if is_wide else 16
    labelled(x, y, b[:count], "B", f"{w.shape[0]} × {len(a)}", "value")
    labelled(x + thin + 14, y, a[:, :count], "A", f"{len(a)} × {w.shape[1]}", "value")
    figure.step(captions[3])
    far = x + thin + 14 + side
    if is_wide:
        figure.text((far + 20, y + side / 2), "=", "bold", size=18)
        labelled(far + 40, y, (b @ a)[:count, :count], "B A", shape, "value", limit)
    else:
        figure.text((far + 14, y + side / 2), "=", "bold", size=16)
        labelled(far + 28, y, (b @ a)[:count, :count], "B A", shape, "value", limit)
    return figure


def explore_labels(
    scores: Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]], chance: float, start: int = 16
) -> Figure:
    """Choose a data set and how many examples are labelled: what is pretraining worth?

    Args:
        scores: for each set, for each method, for each number of labelled examples per class the accuracy of each
            seed, in percent. "fine-tuned" and "from scratch" must be among the methods.
        chance: the accuracy of guessing, in percent.
        start: the number of examples that is shown at first.

    Raises:
        ValueError: a method is missing, or a set has fewer than two numbers of examples, or not the one to start with.
    """
    sets, methods = list(scores), list(next(iter(scores.values()), {}))
    sizes = {name: sorted({size for found in each.values() for size in found}) for name, each in scores.items()}
    if not set(SEEN) <= set(methods) or any(list(each) != methods for each in scores.values()):
        raise ValueError(f"each set needs the same methods, {' and '.join(SEEN)} among them; got {methods}.")
    if any(len(found) < 2 for found in sizes.values()):
        raise ValueError(f"each set needs two numbers of examples or more, for a line; got {sizes}.")
    if any(start not in found for found in sizes.values()):
        raise ValueError(f"start must be a number of examples of every set; got {start}, and {sizes}.")
    table = {
        name: [[rounded(each[method].get(size, []), 2) for size in sizes[name]] for method in methods]
        for name, each in scores.items()
    }
    data = {"sets": sets, "methods": methods, "sizes": sizes, "scores": table, "chance": round(chance, 2)}
    data |= {"start": start, "seen": [methods.index(name) for name in SEEN]}
    told = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{method} {' '.join(f'{np.mean(found):.0f}' if found else '–' for found in table[name][row])}"
            for row, method in enumerate(methods)
        )
        + f" % with {' '.join(map(str, sizes[name]))} per class"
        for name in sets
    )
    return Figure(draw_labels(data, f"{told}."), f"{told}.", "labels", data)


def draw_labels(data: dict, told: str) -> Schematic:
    """The still picture: accuracy by the number of labelled examples, a panel for each set."""
    figure = Schematic(740, 290, told, size=13)
    panel = 740 / len(data["sets"])
    for number, name in enumerate(data["sets"]):
        left, sizes = 44 + panel * number, data["sizes"][name]
        step = (panel - 90) / (len(sizes) - 1)
        figure.text((left + step * (len(sizes) - 1) / 2, 14), name, "bold")
        for percent in (40, 60, 80, 100):
            figure.arrow((left - 8, height(percent)), (left + panel - 70, height(percent)), color="line", head=False)
            figure.text((left - 12, height(percent)), str(percent), color="soft", anchor="end", size=11)
        for place, size in enumerate(sizes):
            figure.text((left + step * place, 222), str(size), color="soft", size=11)
        for row, role in enumerate(f"group{i}" for i in range(len(data["methods"]))):
            means = [(left + step * i, np.mean(each)) for i, each in enumerate(data["scores"][name][row]) if each]
            points = [(x, height(mean)) for x, mean in means]
            for ends in zip(points, points[1:]):
                figure.arrow(*ends, color=role, width=2.2, head=False)
    for row, method in enumerate(data["methods"]):
        x = 44 + 170 * row
        figure.arrow((x, 268), (x + 24, 268), color=f"group{row}", width=3, head=False)
        figure.text((x + 30, 268), method, anchor="start")
    figure.text((370, 244), "labelled examples per class", color="soft", size=12)
    return figure


def height(percent: float) -> float:
    """Where a percentage is drawn: 100 at the top.

    >>> height(100), height(25)
    (34.0, 208.0)
    """
    return 34 + (100 - percent) / 75 * 174.0


def explore_freezing(
    blocks: Sequence[int],
    learning: Sequence[int],
    operations: ArrayLike,
    accuracy: ArrayLike,
    num_blocks: int,
    start: int | None = None,
) -> Figure:
    """Let more and more layers learn: what does it cost, and what is it worth?

    Args:
        blocks: for each level how many of the last blocks learn with the head, rising: 0 for the head alone, N for all
            blocks, N + 1 for the embeddings too.
        learning: for each level how many numbers learn.
        operations: for each the operations of a training step, as a share of those where everything learns.
        accuracy: (levels, seeds), in percent.
        num_blocks: N.
        start: the level with which it opens, one of ``blocks``; None for the third.

    Raises:
        ValueError: not one of each for each level, or levels that do not rise from 0 to N + 1 at most.
    """
    shares, marks = as_numbers(operations, "operations"), as_numbers(accuracy, "accuracy")
    count = len(blocks)
    if not len(learning) == len(shares) == count or marks.ndim != 2 or len(marks) != count or not marks.size:
        raise ValueError(
            f"each of {count} levels must have its numbers, operations and accuracies; got {len(learning)} numbers, "
            f"{len(shares)} shares and accuracies of shape {marks.shape}."
        )
    if count < 2 or list(blocks) != sorted(set(blocks)) or blocks[0] < 0 or blocks[-1] > num_blocks + 1:
        raise ValueError(f"blocks must rise, from 0 up to at most {num_blocks + 1}; got {list(blocks)}.")
    names = ["head" if n == 0 else "all" if n > num_blocks else f"+{n}" for n in blocks]
    data = {
        "levels": names,
        "learn": list(blocks),
        "learning": [int(each) for each in learning],
        "operations": rounded(shares, 4),
        "accuracy": rounded(marks, 2),
        "blocks": num_blocks,
        "start": min(2, count - 1) if start is None else place_of(start, blocks, "start"),
    }
    told = "; ".join(
        f"{name}: {number:,} numbers learn, {100 * share:.0f} % of the operations, {each.mean():.0f} % right"
        for name, number, share, each in zip(names, learning, shares, marks)
    )
    return Figure(draw_freezing(data, f"{told}."), f"{told}.", "freezing", data)


def draw_freezing(data: dict, told: str) -> Schematic:
    """The still picture: accuracy, a dot for each seed, over the share of operations."""
    figure = Schematic(740, 260, told, size=13)
    marks = np.asarray(data["accuracy"])
    low, high = 10 * np.floor(marks.min() / 10), 10 * np.ceil(marks.max() / 10)
    step = 660 / (len(data["levels"]) - 1)
    for percent in np.linspace(low, high, 3):
        y = 190 - 170 * (percent - low) / (high - low or 1)
        figure.arrow((40, y), (736, y), color="line", head=False)
        figure.text((34, y), f"{percent:.0f}", color="soft", anchor="end")
    for place, (name, share) in enumerate(zip(data["levels"], data["operations"])):
        x = 58 + step * place
        for mark in marks[place]:
            y = 190 - 170 * (mark - low) / (high - low or 1)
            figure.put(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#0072b2" fill-opacity=".6"/>')
        figure.text((x, 212), name, size=12)
        figure.text((x, 230), f"{100 * share:.0f} %", color="soft", size=12)
    figure.text(
        (380, 250), "what learns (the head, + the last blocks, all), and the cost of a step", color="soft", size=12
    )
    return figure
