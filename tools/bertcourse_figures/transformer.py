"""A transformer with what really runs through it, step by step: its input, its heads, a block, the stack."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.schematic import NARROW, WIDE, Box, Point, Schematic, as_numbers


def show_input(
    tokens: Sequence[str],
    segments: Sequence[int],
    vectors: Mapping[str, ArrayLike],
    total: ArrayLike,
    tables: Mapping[str, int],
    count: int = 8,
) -> Figure:
    """BERT's input: the vectors of the token, its segment and its position are added and normalized.

    Args:
        tokens: L names, at most 16 to be legible.
        segments: L numbers, 0 and then 1, or only 0.
        vectors: "token", "segment" and "position", each (L, D), in the order in which they are added.
        total: (L, D), the sum after layer normalization.
        tables: for each of the three, how many rows its table has.
        count: how many of the D numbers are drawn.

    Source: Devlin et al. 2019, figure 2.
    """
    arrays = {name: sized(values, name, len(tokens)) for name, values in vectors.items()}
    result = sized(total, "total", len(tokens))
    if set(arrays) != {"token", "segment", "position"} or set(tables) != set(arrays):
        raise ValueError(f"vectors and tables must name token, segment and position; got {[*arrays]} and {[*tables]}.")
    length, size = result.shape
    alt = (
        f"BERT's input for {' '.join(tokens)}: for each of {length} tokens the vectors of the token (a table of "
        f"{tables['token']:,} × {size}), of its segment ({tables['segment']} × {size}) and of its position "
        f"({tables['position']} × {size}) are added and normalized; {length} × {size} numbers come out."
    )
    added = sum(arrays.values())
    captions = {
        "tokens": "The text, cut into tokens. [CLS] begins it, and [SEP] ends each segment.",
        "token": f"Each token looks up its row in a table. The first {count} of its {size} numbers are drawn.",
        "segment": "Which of two texts is it in? One of two vectors is added.",
        "position": "Which place is it in? A vector for each place is added.",
        "sum": "The three are added, number by number.",
        "total": "The sum, brought to one scale by layer norm, is what the first block receives.",
    }
    limits = {name: np.quantile(np.abs(values[:, :count]), 0.98) for name, values in arrays.items()}
    limits |= {name: np.quantile(np.abs(m[:, :count]), 0.98) for name, m in (("sum", added), ("total", result))}
    rows = [*arrays.items(), ("sum", added), ("total", result)]

    wide = Schematic(WIDE, 430, alt)
    step, cell = 590 / length, 5.0
    width, gap = min(30.0, step - 10), 30
    longest = max(map(len, tokens))
    wide.step(captions["tokens"])
    for i, token in enumerate(tokens):
        fill, size_of_text = "none" if token.startswith("[") else "panel", min(14, (step - 4) / (0.55 * longest))
        wide.box(150 + step * i + 1, 8, step - 2, 26, token, fill=fill, size=size_of_text)
    wide.text((138, 21), "tokens", "bold", anchor="end")
    for number, (name, values) in enumerate(rows):
        top = 64 + number * (count * cell + gap)
        wide.step(captions[name])
        is_total = name == "total"
        for i, vector in enumerate(values[:, :count]):
            left = 150 + step * (i + 0.5) - width / 2
            frame = "hot" if is_total else "line"
            wide.vector(left, top, vector, width, cell, vertical=True, limit=limits[name], frame=frame)
            if name == "position":
                wide.text((left + width / 2, top - 9), str(i), color="soft", size=11)
            elif is_total:
                wide.arrow((left + width / 2, top - 24), (left + width / 2, top - 4), width=1.2)
        if name == "segment":
            for segment in sorted(set(segments)):
                inside = [i for i, own in enumerate(segments) if own == segment]
                ends = 150 + step * inside[0] + 4, 150 + step * (inside[-1] + 1) - 4
                wide.bracket(*ends, top - 7, f"segment {'AB'[segment]}", over=True)
        middle = top + count * cell / 2
        below = f"{tables[name]:,} × {size}" if name in tables else f"{length} × {size}"
        wide.text((138, middle - 9), "layer norm" if is_total else name, "bold", anchor="end")
        wide.text((138, middle + 10), below, color="soft", anchor="end", size=13)
        if number and not is_total:
            wide.text((12, middle), "=" if name == "sum" else "+", "bold", "soft", size=20)
    foot = 64 + 4 * (count * cell + gap) + count * cell + 22
    legend = f"{count} of {size} numbers are drawn. Blue is above 0, orange below; the stronger, the larger."
    wide.text((738, foot), legend, color="soft", anchor="end", size=12)
    wide.height = round(foot + 16)

    narrow = Schematic(NARROW, 80 + 30 * length, alt, size=12)
    columns, cell = (56, 118, 180, 242, 304), 52 / count
    narrow.step(captions["tokens"])
    for i, token in enumerate(tokens):
        narrow.text((2, 58 + 30 * i), token, "code", anchor="start", size=11)
    for (name, values), left in zip(rows, columns):
        narrow.step(captions[name])
        narrow.text((left + 26, 14), "norm" if name == "total" else name, "bold", size=11)
        below = f"{tables[name]:,} × {size}" if name in tables else f"{length} × {size}"
        narrow.text((left + 26, 31), below, color="soft", size=9)
        for i, vector in enumerate(values[:, :count]):
            frame = "hot" if name == "total" else "line"
            narrow.vector(left, 48 + 30 * i, vector, cell, 20, limit=limits[name], frame=frame)
            sign = {"segment": "+", "position": "+", "sum": "=", "total": "→"}.get(name)
            narrow.text((left - 5, 58 + 30 * i), sign, color="soft", size=10) if sign else None
    narrow.text((2, 60 + 30 * length), f"{count} of {size} numbers; blue: above 0, orange: below", color="soft",
                anchor="start", size=11)  # fmt: skip
    wide.narrow = narrow
    return show_steps(wide, alt)


def show_heads(
    tokens: Sequence[str],
    x: ArrayLike,
    projected: Mapping[str, ArrayLike],
    weights: ArrayLike,
    joined: ArrayLike,
    output: ArrayLike,
    head: int = 0,
) -> Figure:
    """D dimensions are cut into H heads, each attends by itself, and the results are joined; one head is highlighted.

    Args:
        tokens: L names.
        x: (L, D), what comes in.
        projected: "query", "key" and "value", each (L, D).
        weights: (H, L, L).
        joined: (L, D), the heads' results side by side.
        output: (L, D), joined and mixed by the last matrix.
        head: which head is highlighted.

    Source: Vaswani et al. 2017, figure 2.
    """
    attention = as_numbers(weights, "weights")
    heads, length = attention.shape[:2]
    first, last, merged = (
        sized(values, name, length) for values, name in ((x, "x"), (output, "output"), (joined, "joined"))
    )
    parts = {name: sized(projected[name], name, length) for name in ("query", "key", "value")}
    size = first.shape[1]
    if len(tokens) != length or size % heads or not 0 <= head < heads:
        raise ValueError(
            f"{len(tokens)} tokens, {size} dimensions and head {head} do not fit weights {attention.shape}."
        )
    share, per_head = size // heads, max(1, 48 // heads)
    strongest = ", ".join(f"{token} → {tokens[row.argmax()]}" for token, row in zip(tokens, attention[head]))
    alt = (
        f"X, {length} × {size}, is projected to queries, keys and values, each {length} × {size}. They are cut into "
        f"{heads} heads of {share} columns. Each head makes its own {length} × {length} map of attention; side by side "
        f"their results are {length} × {size} again, and a last matrix mixes them. Head {head} attends: {strongest}."
    )
    captions = [
        f"A row for each of {length} tokens comes in: {size} numbers, squeezed to {heads * per_head} columns.",
        f"Three matrices of {size} × {size} make queries, keys and values, for all heads at once.",
        f"Cut the columns into {heads} heads of {share}: head {head} gets the framed ones.",
        f"Each head compares its own queries with its own keys: {heads} maps of who attends to whom.",
        f"Each map averages its own slice of the values. Side by side, {heads} × {share} = {size} columns again.",
        f"A last matrix, {size} × {size}, lets the heads' results mix.",
    ]
    count = heads * per_head

    def draw(
        width: int, height: int, places: Mapping[str, Point], cell: tuple[float, float], side: float, columns: int
    ):
        figure, boxes = Schematic(width, height, alt, size=14 if width == WIDE else 12), {}
        small = 12 if width == WIDE else 10.5

        def matrix(name: str, values: np.ndarray, title: str, frame: str = "line") -> Box:
            drawn = every(values, count)
            tall = labelled if name == "x" and width == WIDE else cell[1]
            box = figure.matrix(*places[name], drawn, cell[0], tall, limit=strong(drawn), frame=frame)
            figure.text(box.at(0.5, 0, dy=-12), title, "bold" if len(title) > 1 else "formula", size=13)
            figure.text(box.at(0.5, 1, dy=12), f"{length} × {size}", color="soft", size=small)
            return box

        def slice_of(box: Box) -> Box:
            wide = per_head * cell[0]
            return figure.box(box.x + head * wide, box.y, wide, box.height, color="hot", fill="none", corner=1, line=2)

        figure.step(captions[0])
        boxes["x"] = matrix("x", first, "X")
        longest = max(map(len, tokens))
        for i, token in enumerate(tokens) if width == WIDE else ():
            place = boxes["x"].x - 5, boxes["x"].y + (i + 0.5) * labelled
            figure.text(place, token, anchor="end", size=min(14, 0.9 * labelled, 160 / longest))
        if width == WIDE:
            figure.text(boxes["x"].at(0.5, 1, dy=28), f"drawn: {count} columns", color="soft", size=small)
        figure.step(captions[1])
        for name, values in parts.items():
            boxes[name] = matrix(
                name, values, name if width <= 400 else {"query": "queries"}.get(name, name + "s"), name
            )
            link(figure, boxes["x"], boxes[name], width, color=name)
        figure.step(captions[2])
        slices = [slice_of(boxes[name]) for name in parts]
        figure.step(captions[3])
        left, top = places["maps"]
        pitch = side * length + 8
        rows = -(-heads // columns)
        area = Box(left - 6, top - 6, columns * pitch + 4, rows * pitch + 4)
        for number, own in enumerate(attention):
            across, down = left + number % columns * pitch, top + number // columns * pitch
            figure.matrix(across, down, own, side, limit=1, color="plus", frame="hot" if number == head else "line")
        figure.text(area.at(0.5, 0, dy=-8), f"{heads} maps", "bold", size=13)
        figure.text(area.at(0.5, 1, dy=10), f"{heads} × {length} × {length}", color="soft", size=small)
        for name, part in zip(parts, slices[:2]):
            link(figure, boxes[name] if width == WIDE else part, area, width, color=name)
        figure.step(captions[4])
        boxes["joined"] = matrix("joined", merged, "joined" if width <= 400 else "side by side")
        slice_of(boxes["joined"])
        if width == WIDE:
            figure.arrow(area.at(1, 0.3), boxes["joined"].at(0, 0.4, dx=-4), curve="across")
        else:
            link(figure, area, boxes["joined"], width)
        start, end = boxes["value"], boxes["joined"]
        if width == WIDE:
            turn = area.x + area.width + 16
            route = start.at(1, 0.5, dx=4), (turn, start.at()[1]), (turn, end.at(0, 0.8)[1])
            figure.arrow(*route, end.at(0, 0.8, dx=-4), color="value")
        else:
            route = start.at(1, 0.5, dx=3), (353, start.at()[1]), (353, end.at()[1])
            figure.arrow(*route, end.at(1, 0.5, dx=4), color="value")
        figure.step(captions[5])
        boxes["output"] = matrix("output", last, "output")
        if width == WIDE:
            figure.arrow(boxes["joined"].at(0.7, 1, dy=22), boxes["output"].at(0.7, 0, dy=-22))
        else:
            link(figure, boxes["joined"], boxes["output"], width)
        return figure

    tall, thin = min(10.5, 84 / length), 2.15
    high, mid, labelled = tall * length, 198, min(18.0, 260 / length)  # the rows that have names are higher
    right, column = 740 - thin * count - 4, 206
    side = min(5.2, 40 / length)
    maps = 4 if heads > 4 else 2
    area_top = mid - (side * length + 8) * -(-heads // maps) / 2 + 4
    wide_places = {
        "x": (90, mid - labelled * length / 2),
        "query": (column + 14, mid - 1.5 * high - 46),
        "key": (column + 14, mid - high / 2),
        "value": (column + 14, mid + high / 2 + 46),
        "maps": (376, area_top),
        "joined": (right, mid - high - 18),
        "output": (right, mid + 46),
    }
    wide = draw(WIDE, round(mid + 1.5 * high + 72), wide_places, (thin, tall), side, maps)
    small_cell, gap = 104 / count, 3.2 * length
    rows = -(-heads // 6) * (gap + 8)
    after = 76 + 5 * length
    narrow_places = {
        "x": (128, 26),
        "query": (6, after + 26),
        "key": (122, after + 26),
        "value": (238, after + 26),
        "maps": ((360 - min(heads, 6) * (gap + 8)) / 2, 2 * after + 36),
        "joined": (128, 2 * after + rows + 86),
        "output": (128, 3 * after + rows + 90),
    }
    height = round(3 * after + rows + 5 * length + 116)
    wide.narrow = draw(NARROW, height, narrow_places, (small_cell, 5), 3.2, min(heads, 6))
    return show_steps(wide, alt)


def show_block(
    x: ArrayLike,
    weights: ArrayLike,
    normed: ArrayLike,
    inner: ArrayLike,
    output: ArrayLike,
    blocks: int,
) -> Figure:
    """One encoder block in post-LN order, with the matrices that run through it.

    Args:
        x: (L, D), what comes in.
        weights: (H, L, L).
        normed: (L, D), the attention's result, added to x and normalized.
        inner: (L, F), the inside of the feed-forward network, after its activation.
        output: (L, D), what comes out.
        blocks: how many such blocks the model stacks.

    Source: Vaswani et al. 2017, figure 1, left.
    """
    attention = as_numbers(weights, "weights")
    heads, length = attention.shape[:2]
    first, second, third = (sized(m, name, length) for m, name in ((x, "x"), (normed, "normed"), (output, "output")))
    wide_inside = sized(inner, "inner", length)
    (_, size), width = first.shape, wide_inside.shape[1]
    alt = (
        f"One of {blocks} encoder blocks: X, {length} × {size}, goes through attention with {heads} heads, is added to "
        f"the result and normalized, goes through a feed-forward network of {size} → {width} → {size}, is added and "
        f"normalized again; {length} × {size} come out. Of the {width} inner numbers, {(wide_inside > 0.1).mean():.0%} "
        "are above 0.1."
    )
    captions = [
        f"A row for each token comes in: X, {length} × {size}.",
        f"Attention with {heads} heads: the only place where a token hears of the others.",
        "The residual: X goes around attention and is added to its result A. Then layer norm (LN).",
        f"Feed-forward, each token by itself: {size} → {width}, GELU, {width} → {size}.",
        "M goes around it and is added to its result F. Layer norm follows.",
        f"Out comes the same shape, {length} × {size}, so blocks can be stacked: {blocks}, each with its own weights.",
    ]

    def matrix(
        figure: Schematic, place: Point, values: np.ndarray, cell: float, tall: float, frame: str = "line"
    ) -> Box:
        drawn = every(values, 20)
        return figure.matrix(*place, drawn, cell, tall, limit=strong(drawn), frame=frame)

    def plus(figure: Schematic, place: Point) -> Box:
        return figure.box(place[0] - 12, place[1] - 12, 24, 24, "+", "ink", "paper", "bold", size=18, corner=12)

    def norm(figure: Schematic, place: Point, height: float, text: str = "LN") -> Box:
        return figure.box(*place, 34, height, text, "key", "key", "bold", size=13)

    cell = 2.9
    wide, middle, tall = Schematic(WIDE, 306, alt), 158, min(8.0, 80 / length)
    side = min(3.9, 34 / length)
    columns = 4 if heads > 4 else 2
    pitch, rows = side * length + 6, -(-heads // columns)

    def named(box: Box, title: str, below: str) -> Box:
        is_long = len(title) > 1  # then it leans to the left, away from the next box
        end, anchor = (1, "end") if is_long else (0.5, "middle")
        wide.text(box.at(end, 0, dy=-13), title, "formula", anchor=anchor, size=15)
        wide.text(box.at(0.5, 1, dy=13), below, color="soft", size=12)
        return box

    def around(start: Box, end: Box) -> None:
        over = (start.at()[0], 34), (end.at()[0], 34)
        wide.arrow(start.at(0.5, 0, dy=-26), *over, end.at(0.5, 0, dy=-3), color="hot", width=2.4, flow=True)
        wide.text(((start.at()[0] + end.at()[0]) / 2, 20), "residual", color="hot", size=13)

    def add_and_norm(start: Box, sublayer: Box, result: str) -> Box:
        """Draw how a sublayer's output and input are added and normalized; returns where the result comes out."""
        add = plus(wide, (sublayer.at(1)[0] + 27, middle))
        wide.arrow(sublayer.at(1, 0.5, dx=3), add.at(0, 0.5, dx=-3))
        around(start, add)
        wide.text((sublayer.at(1)[0] + 8, middle - 12), result, "formula", size=14)
        level = norm(wide, (add.at(1)[0] + 14, middle - 20), 40)
        wide.arrow(add.at(1, 0.5, dx=2), level.at(0, 0.5, dx=-1))
        return level

    shape, top = f"{length} × {size}", middle - length * tall / 2
    wide.step(captions[0])
    one = named(matrix(wide, (6, top), first, cell, tall), "X", shape)
    wide.step(captions[1])
    maps = wide.box(
        84, middle - rows * pitch / 2 - 4, columns * pitch + 12, rows * pitch + 8, color="query", fill="query"
    )
    for number, own in enumerate(attention):
        place = maps.x + 9 + number % columns * pitch, maps.y + 7 + number // columns * pitch
        wide.matrix(*place, own, side, limit=1, color="plus")
    wide.text(maps.at(0.5, 0, dy=-14), "attention", "bold", size=13)
    wide.text(maps.at(0.5, 1, dy=13), f"{heads} heads of {size // heads}", color="soft", size=12)
    wide.arrow(one.at(1, 0.5, dx=4), maps.at(0, 0.5, dx=-3))
    wide.step(captions[2])
    level = add_and_norm(one, maps, "A")
    two = named(matrix(wide, (level.at(1)[0] + 18, top), second, cell, tall), "M = LN(X + A)", shape)
    wide.arrow(level.at(1, 0.5, dx=2), two.at(0, 0.5, dx=-2))
    wide.step(captions[3])
    left = two.at(1)[0] + 20
    inside = wide.box(left, top - 11, 740 - 172 - left, length * tall + 22, color="value", fill="value")
    drawn = every(wide_inside, 48)
    wide.matrix(left + 9, top, drawn, (inside.width - 18) / 48, tall, limit=0.6 * np.abs(drawn).max())
    wide.text(inside.at(0.5, 0, dy=-14), "feed-forward", "bold", size=13)
    wide.text(inside.at(0.5, 1, dy=13), f"{size} → {width} → {size}", color="soft", size=12)
    wide.arrow(two.at(1, 0.5, dx=3), inside.at(0, 0.5, dx=-3))
    wide.step(captions[4])
    level = add_and_norm(two, inside, "F")
    wide.step(captions[5])
    three = named(matrix(wide, (level.at(1)[0] + 18, top), third, cell, tall), "LN(M + F)", shape)
    wide.arrow(level.at(1, 0.5, dx=2), three.at(0, 0.5, dx=-2))
    wide.bracket(6, 734, 266)
    wide.text((370, 286), f"× {blocks}, each with weights of its own", "bold", size=14)

    narrow, tall = Schematic(NARROW, 700, alt, size=12), min(6.0, 48 / length)
    side = min(3.4, 34 / length)
    columns = min(heads, 6)
    pitch, rows = side * length + 6, -(-heads // columns)

    def beside(box: Box, title: str) -> Box:
        narrow.text(box.at(1, 0.5, dx=12, dy=-8), title, "formula", anchor="start", size=15)
        narrow.text(box.at(1, 0.5, dx=12, dy=9), shape, color="soft", anchor="start", size=11)
        return box

    def down(upper: Box, lower: Box) -> None:
        narrow.arrow(upper.at(0.5, 1, dy=3), lower.at(0.5, 0, dy=-3))

    def past(start: Box, end: Box) -> None:
        route = start.at(0, 0.5, dx=-4), (20, start.at()[1]), (20, end.at()[1]), end.at(0, 0.5, dx=-3)
        narrow.arrow(*route, color="hot", width=2.2, flow=True)

    narrow.step(captions[0])
    one = beside(matrix(narrow, (130, 6), first, 4, tall), "X")
    narrow.step(captions[1])
    maps = narrow.box(170 - columns * pitch / 2 - 6, one.at(0, 1)[1] + 24, columns * pitch + 12, rows * pitch + 46,
                      color="query", fill="query")  # fmt: skip
    for number, own in enumerate(attention):
        place = maps.x + 9 + number % columns * pitch, maps.y + 25 + number // columns * pitch
        narrow.matrix(*place, own, side, limit=1, color="plus")
    narrow.text(maps.at(0.5, 0, dy=13), "attention", "bold")
    narrow.text(maps.at(0.5, 1, dy=-12), f"{heads} heads of {size // heads}", color="soft", size=11)
    down(one, maps)
    narrow.step(captions[2])
    add = plus(narrow, (170, maps.at(0, 1)[1] + 34))
    down(maps, add)
    past(one, add)
    level = norm(narrow, (153, add.at(0, 1)[1] + 16), 26)
    down(add, level)
    two = beside(matrix(narrow, (130, level.at(0, 1)[1] + 20), second, 4, tall), "M = LN(X + A)")
    down(level, two)
    narrow.step(captions[3])
    inside = narrow.box(62, two.at(0, 1)[1] + 24, 216, length * tall + 52, color="value", fill="value")
    narrow.matrix(71, inside.y + 26, drawn, 198 / 48, tall, limit=0.6 * np.abs(drawn).max())
    narrow.text(inside.at(0.5, 0, dy=13), "feed-forward", "bold")
    narrow.text(inside.at(0.5, 1, dy=-12), f"{size} → {width} → {size}", color="soft", size=11)
    down(two, inside)
    narrow.step(captions[4])
    add = plus(narrow, (170, inside.at(0, 1)[1] + 34))
    down(inside, add)
    past(two, add)
    level = norm(narrow, (153, add.at(0, 1)[1] + 16), 26)
    down(add, level)
    narrow.step(captions[5])
    three = beside(matrix(narrow, (130, level.at(0, 1)[1] + 20), third, 4, tall), "LN(M + F)")
    down(level, three)
    narrow.text((180, three.at(0, 1)[1] + 24), f"× {blocks}, each with weights of its own", "bold", size=13)
    narrow.height = round(three.at(0, 1)[1] + 40)
    wide.narrow = narrow
    return show_steps(wide, alt)


def show_stack(tokens: Sequence[str], states: Sequence[ArrayLike], pooled: ArrayLike) -> Figure:
    """The whole encoder: the embeddings, what comes out of each block, and the pooler.

    Args:
        tokens: L names.
        states: the embeddings, then each block's result, each (L, D).
        pooled: (D,), what the pooler makes of the first token.
    """
    layers = [sized(state, "states", len(tokens)) for state in states]
    top = as_numbers(pooled, "pooled").ravel()
    (length, size), blocks = layers[0].shape, len(layers) - 1
    turned = [float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in zip(layers, layers[1:])]
    alt = (
        f"{length} × {size} numbers go through {blocks} blocks and keep their shape; the pooler makes {size} numbers "
        f"of the row of {tokens[0]}. Cosine of each block's output with its input: "
        f"{', '.join(f'{cosine:.2f}' for cosine in turned)}."
    )
    captions = [f"The embeddings: {length} tokens, {size} numbers each (every {size // 16}th is drawn)."]
    captions += [f"Block {i} changes the rows and keeps the shape (cosine with its input {c:.2f})."
                 for i, c in enumerate(turned)]  # fmt: skip
    captions += [f"The pooler: a {size} × {size} map and tanh, of the row of {tokens[0]} alone."]

    def draw(width: int, per_row: int, cell: float, tall: float) -> Schematic:
        left, high = 78 if width == WIDE else 70, length * tall
        pitch, size_of_text = (width - left - 16 * cell - 18) / (per_row - 1), 12 if width == WIDE else 10.5
        rows = -(-len(layers) // per_row)
        figure = Schematic(width, round(rows * (high + 78) + 52), alt, size=12)
        boxes: list[Box] = []
        for number, (state, caption) in enumerate(zip(layers, captions)):
            figure.step(caption)
            row, column = divmod(number, per_row)
            drawn = every(state, 16)
            place = left + column * pitch, 34 + row * (high + 78)
            box = figure.matrix(*place, drawn, cell, tall, limit=strong(drawn))
            figure.text(
                box.at(0.5, 0, dy=-13), f"block {number - 1}" if number else "input", "bold", size=size_of_text + 0.5
            )
            figure.text(box.at(0.5, 1, dy=12), f"{length} × {size}", color="soft", size=size_of_text)
            if number:
                figure.text(box.at(0.5, 1, dy=29), f"cos {turned[number - 1]:.2f}", size=size_of_text)
            if not column:
                for i, token in enumerate(tokens):
                    figure.text((left - 5, box.y + (i + 0.5) * tall), token, "code", anchor="end", size=min(11.5, tall))
            else:
                figure.arrow(boxes[-1].at(1, 0.5, dx=3), box.at(0, 0.5, dx=-3))
            boxes.append(box)
        figure.step(captions[-1])
        last, drawn = boxes[-1], every(top[None], 16)
        figure.box(last.x, last.y, last.width, tall, color="hot", fill="none", corner=1, line=2)
        y, out = figure.height - 24, last.x + last.width + 13
        wide_cell = 1.5 * cell
        result = figure.vector(out - 22 - 16 * wide_cell, y - 8, drawn, wide_cell, 16, limit=strong(drawn), frame="hot")
        row = last.y + tall / 2
        route = (last.x + last.width + 2, row), (out, row), (out, y), result.at(1, 0.5, dx=4)
        figure.arrow(*route, color="hot")
        text = f"pooler: {size} × {size} map and tanh" if width == WIDE else "pooler"
        figure.text(result.at(0, 0.5, dx=-8), f"{text} → {size} numbers", anchor="end", size=size_of_text + 0.5)
        return figure

    wide = draw(WIDE, len(layers), 3.6, min(14.0, 130 / length))
    wide.narrow = draw(NARROW, min(4, len(layers)), 2.6, min(11.0, 96 / length))
    return show_steps(wide, alt)


def sized(values: ArrayLike, name: str, length: int) -> np.ndarray:
    """The values as a matrix, if it has a row for each of ``length`` tokens."""
    array = as_numbers(values, name)
    if array.ndim != 2 or len(array) != length:
        raise ValueError(f"{name} must be a matrix with a row for each of {length} tokens; got shape {array.shape}.")
    return array


def every(values: np.ndarray, count: int) -> np.ndarray:
    """``count`` evenly spaced columns of a matrix; all if it has fewer."""
    return values[:, :: max(1, values.shape[1] // count)][:, :count]


def strong(values: np.ndarray) -> float:
    """The absolute value that gets the full colour: only the largest fiftieth of the numbers exceeds it."""
    return float(np.quantile(np.abs(values), 0.98)) or 1.0


def link(figure: Schematic, start: Box, end: Box, width: int, color: str = "soft") -> None:
    """Draw an arrow from a box to the next: to the right on a wide drawing, down on a narrow one."""
    if width == WIDE:
        figure.arrow(start.at(1, 0.5, dx=4), end.at(0, 0.5, dx=-4), curve="across", color=color)
    else:
        figure.arrow(start.at(0.5, 1, dy=20), end.at(0.5, 0, dy=-20), curve="down", color=color)
