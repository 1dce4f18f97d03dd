"""Filling in blanks: 80/10/10, two heads on one encoder, a training's snapshots, and how many blanks a text bears."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded, show_steps
from bertcourse_figures.schematic import WIDE, Schematic, as_numbers, in_both_widths

MOST_TOKENS, MOST_WORDS, MOST_BLANKS, BEST = 24, 60, 6, 5
MASK = "[MASK]"


def show_masking(tokens: Sequence[str], shown: Sequence[str], chosen: Sequence[int]) -> Figure:
    """80/10/10, step by step: which tokens are chosen, what the model reads in their place, what it is asked.

    Args:
        tokens: L tokens of a text, at most 24.
        shown: (L,), what the model reads.
        chosen: the places that were chosen.

    Raises:
        ValueError: too many tokens, lengths that differ, no place chosen or one that is not there, or a token that
            changed although it was not chosen.

    Source: Devlin et al. 2019, "BERT", section 3.1, task 1.
    """
    changed = {i for i, (was, now) in enumerate(zip(tokens, shown)) if was != now}
    if len(tokens) > MOST_TOKENS or len(shown) != len(tokens) or not changed <= set(chosen):
        raise ValueError(
            f"there is room for {MOST_TOKENS} tokens, and only chosen ones may change; got {len(tokens)} and "
            f"{len(shown)} tokens, chosen {sorted(chosen)}, changed {sorted(changed)}."
        )
    places = sorted(set(chosen))
    if not places or not 0 <= places[0] <= places[-1] < len(tokens):
        raise ValueError(f"chosen must be places of the {len(tokens)} tokens, one or more; got {sorted(chosen)}.")
    masked = [i for i in places if shown[i] == MASK]
    other = [i for i in places if i in changed and shown[i] != MASK]
    same = [i for i in places if i not in changed]
    pairs = ", ".join(f"{tokens[i]} → {shown[i]}" for i in other) or "none this time"
    kept = ", ".join(tokens[i] for i in same) or "none this time"
    captions = [
        f"The text: {len(tokens)} tokens.",
        f"{len(places)} of them are chosen: {', '.join(tokens[i] for i in places)}. These are the questions.",
        f"Most of the chosen, 80 % on average, become [MASK]: {len(masked)} here.",
        f"10 % become some other word: {pairs}.",
        f"10 % stay as they are: {kept}. Now nothing shows that they are questions.",
        f"The model reads the second row. The loss asks for the {len(places)} words of the third, and for no others.",
    ]
    alt = f"What the model reads, {' '.join(shown)}, under the text, {' '.join(tokens)}; below, what it has to guess."
    schematic = in_both_widths(draw_masking, tokens, shown, (masked, other, same), captions, alt)
    return show_steps(schematic, " ".join(captions[1:5]))


def draw_masking(tokens, shown, kinds, captions, alt: str, width: int) -> Schematic:
    """Draw the three rows, the tokens in as many lines as the width asks for."""
    masked, other, same = kinds
    chosen = [*masked, *other, *same]
    size = 13 if width == WIDE else 12
    wide = [0.61 * size * max(len(was), len(now), 2) + 9 for was, now in zip(tokens, shown)]
    left, lines, x = (70 if width == WIDE else 54), [[]], 0.0
    for place, each in enumerate(wide):
        if lines[-1] and x + each > width - left - 4:
            lines.append([])
            x = 0.0
        lines[-1].append((place, left + x))
        x += each + 4
    at = {place: (x, 14 + 132 * row) for row, line in enumerate(lines) for place, x in line}
    ends_early = not any(place in chosen for place, _ in lines[-1])  # nothing is asked in the last line
    figure = Schematic(width, 132 * len(lines) - 10 - 36 * ends_early, alt, size=size)

    def put(place: int, row: int, text: str, color: str, fill: str = "panel") -> None:
        x, y = at[place]
        how = {"opacity": 0.2, "style": "code", "size": size}
        figure.box(x, y + 40 * row, wide[place], 28, text, color, fill, **how)

    figure.step(captions[0])
    for row in range(len(lines)):
        figure.text((left - 8, 28 + 132 * row), "text", color="soft", anchor="end")
    for place, token in enumerate(tokens):
        put(place, 0, token, "line", "none" if token.startswith("[") else "panel")
    figure.step(captions[1])
    for place in chosen:
        put(place, 0, "", "hot", "none")
    figure.step(captions[2])
    for row in range(len(lines)):
        figure.text((left - 8, 68 + 132 * row), "reads", color="soft", anchor="end")
    for place, token in enumerate(tokens):
        if place not in chosen:
            put(place, 1, token, "line", "none")
    for place in masked:
        put(place, 1, shown[place], "plus", "plus")
    for caption, places, role in ((captions[3], other, "minus"), (captions[4], same, "value")):
        figure.step(caption)
        for place in places:
            put(place, 1, shown[place], role, role)
    figure.step(captions[5])
    for row, line in enumerate(lines):
        if any(place in chosen for place, _ in line):
            figure.text((left - 8, 108 + 132 * row), "asked", color="soft", anchor="end")
    for place in chosen:
        put(place, 2, tokens[place], "hot", "none")
    return figure


def show_pretraining_heads(
    tokens: Sequence[str],
    hidden: ArrayLike,
    place: int,
    guesses: Mapping[str, float],
    answer: tuple[str, float],
    follows: float,
    is_next: bool,
    count: int = 6,
) -> Figure:
    """One encoder, two heads: a hidden token's vector is asked for a word, [CLS]'s whether B follows A.

    Args:
        tokens: L tokens that the model reads, [CLS] A [SEP] B [SEP]; at most 24.
        hidden: (L, D), the encoder's last hidden states.
        place: of the token that is asked for.
        guesses: the best words for it, with their probabilities.
        answer: the word that stood there, and its probability.
        follows: the probability that B follows A.
        is_next: whether it does.
        count: how many of the D numbers are drawn.

    Raises:
        ValueError: too many tokens, vectors that are not one for each, or an answer of probability 0, whose loss would
            be infinite.

    Source: Devlin et al. 2019, "BERT", figure 1 and section 3.1.
    """
    states = as_numbers(hidden, "hidden")
    if len(tokens) > MOST_TOKENS or states.shape[:-1] != (len(tokens),) or not 0 < place < len(tokens):
        raise ValueError(
            f"hidden must be of shape (L, D) for L tokens, at most {MOST_TOKENS}, and place one of them after [CLS]; "
            f"got {states.shape}, {len(tokens)} tokens and {place}."
        )
    right = follows if is_next else 1 - follows
    if not (0 < answer[1] <= 1 and 0 < right <= 1):
        raise ValueError(
            f"both right answers must have a probability above 0, at most 1; got {answer[1]} for {answer[0]!r} and "
            f"{right} for {'next' if is_next else 'not next'}."
        )
    losses = -np.log(answer[1]), -np.log(right)
    best = ", ".join(f"{word} {share:.2f}" for word, share in guesses.items())
    size = states.shape[1]
    captions = [
        "One row: [CLS], segment A, [SEP], segment B, [SEP]. One word is hidden.",
        f"The encoder, one for both tasks, turns every token into a vector of {size} numbers; {count} are drawn.",
        f"The MLM head takes the vector at the hole alone, and compares it with every word: {best}.",
        f"“{answer[0]}” stood there. P = {answer[1]:.2f}, so the loss is −log P = {losses[0]:.2f} nats.",
        f"The NSP head takes the vector of [CLS] alone: B follows A with P = {follows:.2f}.",
        f"It {'does' if is_next else 'does not'}, so this loss is {losses[1]:.2f} nats.",
        f"Their sum is {sum(losses):.2f}. Training lowers it, by changing both heads and the encoder below.",
    ]
    alt = f"An encoder that reads {' '.join(tokens)}; above it an MLM head at {tokens[place]} and an NSP head at [CLS]."
    drawn = states[:, :count]
    parts = tokens, drawn, place, guesses, answer, follows, is_next, losses, captions, alt
    schematic = in_both_widths(draw_heads, *parts)
    return show_steps(schematic, " ".join(captions[2:]))


def draw_heads(
    tokens, states, place, guesses, answer, follows, is_next, losses, captions, alt: str, width: int
) -> Schematic:
    """Draw tokens at the bottom, the encoder, a vector for each token, and above them both heads."""
    is_wide = width == WIDE
    length, count = states.shape
    step, cell = (width - 8) / length, 9.0
    low = 330 + 110 * (not is_wide)  # where the tokens stand
    figure = Schematic(width, round(low + 40), alt, size=14 if is_wide else 12.5)
    top = low - 68 - cell * count - 12
    middle = [4 + step * (i + 0.5) for i in range(length)]
    figure.step(captions[0])
    for i, token in enumerate(tokens):
        # slanted where there is no room beside the neighbours
        if is_wide:
            look = "none" if token.startswith("[") and token != MASK else "panel"
            fit, role = min(13.0, (step - 4) / (0.58 * max(2, len(token)))), "hot" if i == place else "line"
            figure.box(4 + step * i + 1, low, step - 2, 28, token, role, look, size=fit)
        else:
            color = "hot" if i == place else "ink"
            figure.text((middle[i] + 3, low - 4), token, "code", color, "start", size=11, turn=50)
    if not is_wide:
        figure.height += 46
    figure.step(captions[1])
    body = figure.box(4, low - 60, width - 8, 38, "encoder (lecture 2)", "line", "panel", "bold")
    limit = float(np.quantile(np.abs(states), 0.98))
    for i, vector in enumerate(states):
        figure.arrow((middle[i], low - 4), (middle[i], low - 21), width=1)
        figure.vector(middle[i] - 7, top, vector, 14, cell, vertical=True, limit=limit)
        figure.arrow((middle[i], body.y - 1), (middle[i], top + cell * count + 2), width=1)
    # The heads: side by side, or one above the other.
    nsp_x, nsp_y = (4, 96) if is_wide else (4, 214)
    mlm_x = 250 if is_wide else 110
    figure.step(captions[2])
    across = min(max(middle[place], mlm_x + 30), mlm_x + 190)
    box = figure.box(mlm_x, nsp_y - 2 if is_wide else 130, 226, 42, "MLM head\n× all V word vectors", "plus", "plus")
    figure.arrow((middle[place], top - 2), (across, box.y + 43), color="plus", curve="down", width=2)
    figure.box(middle[place] - 9, top - 2, 18, cell * count + 4, "", "plus", "none", corner=2, line=2)
    most = max([*guesses.values(), answer[1]])
    names = dict(guesses) | {answer[0]: answer[1]}
    for number, (word, share) in enumerate(names.items()):
        y = box.y - 18 - 19 * number
        figure.text((mlm_x + 92, y), word, "bold" if word == answer[0] else "", anchor="end", size=12.5)
        figure.box(
            mlm_x + 100, y - 6, max(1.0, 80 * share / most), 12, color="none", fill="plus", corner=1, opacity=0.8
        )
        figure.text((mlm_x + 188, y), f"{share:.2f}", color="soft", anchor="start", size=12.5)
    figure.step(captions[3])
    at = (mlm_x + 240, box.y - 18) if is_wide else (mlm_x, 12)
    figure.text(at, f"loss of “{answer[0]}”: {losses[0]:.2f}", "bold", "hot", "start")
    figure.step(captions[4])
    second = figure.box(nsp_x, nsp_y - 2, 190 if is_wide else 100, 42, "NSP head\nD → 2", "value", "value")
    figure.arrow((middle[0], top - 2), (middle[0] + 14, second.y + 43), color="value", curve="down", width=2)
    figure.box(middle[0] - 9, top - 2, 18, cell * count + 4, "", "value", "none", corner=2, line=2)
    told = f"follows {follows:.2f}\ndoes not {1 - follows:.2f}"
    figure.text((nsp_x + 4, nsp_y - 34), told, anchor="start", size=12.5)
    figure.step(captions[5])
    figure.text((nsp_x + 4, nsp_y - 66), f"loss: {losses[1]:.2f}", "bold", "hot", "start")
    figure.step(captions[6])
    at = (mlm_x + 240, box.y + 8) if is_wide else (nsp_x, nsp_y - 96)
    figure.text(at, f"sum: {sum(losses):.2f}" + (" nats" if is_wide else ""), "bold", "hot", "start")
    return figure


def explore_snapshots(
    text: Sequence[str],
    places: Sequence[int],
    probabilities: ArrayLike,
    vocabulary: Sequence[str],
    read: ArrayLike,
    losses: ArrayLike,
    start: tuple[int, int] = (0, 0),
) -> Figure:
    """Scrub through a training: what did the model put into the blanks of one text, after so many tokens?

    Args:
        text: W words, at most 60.
        places: K of them, at most 6; each was hidden by itself.
        probabilities: (S, K, V), for each of S snapshots, in order.
        vocabulary: V words.
        read: (S,), how many tokens the training had read, in millions.
        losses: (S,), the MLM loss on held-out text, in nats.
        start: the snapshot and the blank with which it opens.

    Raises:
        ValueError: shapes that do not fit, or too many words or blanks.
    """
    array, seen, loss = (
        as_numbers(values, name)
        for values, name in ((probabilities, "probabilities"), (read, "read"), (losses, "losses"))
    )
    shape = len(seen), len(places), len(vocabulary)
    if (
        not 1 <= len(places) <= MOST_BLANKS
        or len(text) > MOST_WORDS
        or array.shape != shape
        or loss.shape != seen.shape
    ):
        raise ValueError(
            f"probabilities must be of shape (S, K, V), {shape}, with 1 to {MOST_BLANKS} blanks in at most "
            f"{MOST_WORDS} words, and a loss for each snapshot; got {array.shape}, {len(text)} words and {loss.shape}."
        )
    number_of = {word: number for number, word in enumerate(vocabulary)}
    hidden = [text[place] if 0 <= place < len(text) else f"place {place}" for place in places]
    if missing := [word for word in hidden if word not in number_of]:
        raise ValueError(f"the vocabulary must have every hidden word; it lacks {', '.join(missing)}.")
    if len(seen) < 2:
        raise ValueError(f"there must be two snapshots or more; got {len(seen)}.")
    truth = [array[:, blank, number_of[text[place]]] for blank, place in enumerate(places)]
    best = np.argsort(-array, axis=-1)[..., :BEST]
    data = {
        "text": list(text),
        "places": list(places),
        "words": [[[vocabulary[i] for i in row] for row in snapshot] for snapshot in best],
        "shares": rounded(np.take_along_axis(array, best, axis=-1), 3),
        "truth": rounded(np.array(truth).T, 3),
        "read": rounded(seen, 2),
        "loss": rounded(loss, 2),
        "start": [place_of(at, range(count), "start") for at, count in zip(start, shape)],
    }
    told = "; ".join(f"{text[place]} {each[0]:.2f} and {each[-1]:.2f}" for place, each in zip(places, truth))
    told = f"Probability of the hidden word before the training and at its end: {told}."
    return Figure(draw_snapshots(data, told), told, "snapshots", data)


def draw_snapshots(data: dict, told: str) -> Schematic:
    """The still picture: the text with its blanks, and how probable the model found each hidden word as it read on."""
    lines, x = [[]], 10.0
    for place, word in enumerate(data["text"]):
        wide = 8.2 * max(2, len(word)) + 4
        if x + wide > 730:
            lines.append([])
            x = 10.0
        lines[-1].append((place, x, wide))
        x += wide + 4
    start = 26 * len(lines) + 30
    figure = Schematic(740, start + 190, told, size=13.5)
    for row, line in enumerate(lines):
        for place, x, wide in line:
            if place in data["places"]:
                role = f"group{data['places'].index(place)}"
                figure.box(x, 4 + 26 * row, wide, 22, "", role, role, corner=3)
            figure.text((x + wide / 2, 15 + 26 * row), data["text"][place], "code")
    left, right, low, high = 60, 600, start + 150, start
    most = data["read"][-1] or 1
    figure.text((left - 8, high), "1", color="soft", anchor="end")
    figure.text((left - 8, low), "0", color="soft", anchor="end")
    figure.arrow((left, high), (left, low), (right, low), color="line", head=False, corner=0)
    ends = []
    for blank, place in enumerate(data["places"]):
        points = [
            (left + (right - left) * read / most, low - (low - high) * truth[blank])
            for read, truth in zip(data["read"], data["truth"])
        ]
        figure.arrow(*points, color=f"group{blank}", width=2, head=False, corner=0)
        ends.append([points[-1][1], data["text"][place], blank])
    lowest = np.inf  # from the bottom up, so that no name leaves the picture
    for y, word, blank in sorted(ends, reverse=True):
        lowest = min(y, lowest - 16)
        figure.text((right + 8, lowest), word, "bold", f"group{blank}", "start")
    figure.text(((left + right) / 2, low + 22), "tokens read", color="soft")
    figure.text((left + 8, high - 10), "probability of the hidden word", color="soft", anchor="start")
    figure.text((right, low + 22), f"{most:g} million", color="soft", anchor="end")
    return figure


def explore_masking_rate(
    tokens: Sequence[str], order: Sequence[int], measured: Mapping[int, tuple[float, float]], start: int = 15
) -> Figure:
    """Move the masking rate: how many questions does a text ask, and how much of it is left to answer them from?

    Args:
        tokens: L tokens that may be hidden, at most 60.
        order: the order in which they are hidden, all of range(L).
        measured: the lowest and the highest loss of trained models, in nats, by the rate in percent.
        start: the rate that is shown at first, in percent.

    Raises:
        ValueError: too many tokens, an order that is not one, or a rate that is not from 1 to 99.

    Source: Wettig et al. 2023, "Should You Mask 15 % in Masked Language Modeling?"
    """
    length = len(tokens)
    if not 2 <= length <= MOST_WORDS or sorted(order) != list(range(length)) or start not in measured:
        raise ValueError(
            f"order must hold each of 2 to {MOST_WORDS} places once, and start must be measured; got {length} tokens, "
            f"an order of {len(order)}, start {start}."
        )
    if strange := [rate for rate in measured if not 1 <= rate <= 99]:
        raise ValueError(f"rates must be from 1 to 99 percent; got {strange[0]}.")
    data = {
        "tokens": list(tokens),
        "order": list(order),
        "measured": [[rate, *rounded(band, 2)] for rate, band in sorted(measured.items())],
        "start": start,
    }
    parts = []
    for rate, (low, high) in sorted(measured.items()):
        count = hidden_at(rate, length)
        parts.append(f"{rate} %: {count} questions, {length - count} words left, loss {low:.2f} to {high:.2f}")
    told = f"A text of {length} tokens. {'; '.join(parts)}."
    return Figure(draw_rate(data, told), told, "rate", data)


def hidden_at(rate: int, length: int) -> int:
    """How many of ``length`` tokens are hidden at a rate in percent; at least one, and one is left.

    >>> hidden_at(15, 40), hidden_at(1, 40), hidden_at(99, 40)
    (6, 1, 39)
    """
    return min(length - 1, max(1, int(rate * length / 100 + 0.5)))


def draw_rate(data: dict, told: str) -> Schematic:
    """The still picture: the text at each rate that was measured."""
    wide = [8.2 * max(2, len(token)) + 6 for token in data["tokens"]]
    lines = 1 + int(sum(each + 3 for each in wide) // 700)
    tall = 26 * (lines + 1) + 34
    figure = Schematic(740, tall * len(data["measured"]), told, size=13.5)
    for row, (rate, low, high) in enumerate(data["measured"]):
        hidden = set(data["order"][: hidden_at(rate, len(wide))])
        x, y = 10.0, tall * row + 32
        told = f"{rate} %: {len(hidden)} questions, {len(wide) - len(hidden)} words left; loss {low:.2f} to {high:.2f}"
        figure.text((10, tall * row + 14), told, "bold", anchor="start")
        for place, token in enumerate(data["tokens"]):
            if x + wide[place] > 732:
                x, y = 10.0, y + 26
            if place in hidden:
                figure.box(x, y, wide[place], 21, "", "plus", "plus", corner=3, opacity=0.75)
            else:
                figure.text((x + wide[place] / 2, y + 11), token, "code")
            x += wide[place] + 3
    return figure
