"""How a decoder writes: what the next word is drawn from, and what a cache of keys and values saves it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded
from bertcourse_figures.schematic import Schematic, as_numbers, paint, short

TEMPERATURES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0)
TOP_KS, TOP_PS = (1, 2, 3, 5, 10, 20, 40, 100), (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
BARS = 12  # words with a bar of their own; the others share one
NAMED = 1000  # words that are known by name; rarer ones are merged into at most this many groups of neighbours
DRAWN, SETS = 20, 25  # words drawn at each press of the button, and presses before the draws repeat
MOST_TOKENS = 16


def explore_sampling(
    words: Sequence[str],
    logits: ArrayLike,
    before: str = "",
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int = 0,
) -> Figure:
    """Change the temperature and what is cut off: which words are left, how open is the choice, what is drawn?

    Logits are divided by the temperature; the ``top_k`` likeliest words stay, and of these the fewest likeliest ones
    that together have at least ``top_p`` of the probability; a word is drawn from what is left, which sums to 1 again.

    Args:
        words: V names, such as a whole vocabulary.
        logits: (V,), a model's scores for the next word.
        before: the text that the word continues.
        temperature: at first; more than 0.
        top_k: at first; None for no limit.
        top_p: at first; more than 0, and 1 for no limit.
        seed: for the random numbers that the button draws with.

    Raises:
        ValueError: shapes that do not fit, numbers that are not finite, or settings out of range.

    Sources: Fan et al. 2018, "Hierarchical Neural Story Generation" (top-k); Holtzman et al. 2020, "The Curious Case of
    Neural Text Degeneration" (top-p).

    >>> explore_sampling(["cat", "dog", "end"], np.log([6.0, 3.0, 1.0]), "the", top_k=2)
    After “the”, temperature 1, top-k 2, top-p 1: 2 of 3 words are left, entropy 0.64 nats: cat 0.667, dog 0.333.
    """
    scores = as_numbers(logits, "logits")
    if scores.shape != (len(words),) or len(words) < 2:
        raise ValueError(
            f"logits must be of shape (V,), for V words, at least two; got {scores.shape} and {len(words)} words."
        )
    limit = len(words) if top_k is None else top_k
    if not (temperature > 0 and limit >= 1 and 0 < top_p <= 1):
        raise ValueError(
            f"temperature must be above 0, top_k at least 1 and top_p above 0 and at most 1; got {temperature}, "
            f"{top_k} and {top_p}."
        )
    order = np.argsort(-scores, kind="stable")
    names, scores = [visible(words[i]) for i in order], scores[order] - scores[order[0]]
    softened = np.exp(scores / temperature)
    softened /= softened.sum()
    kept = count_kept(softened, limit, top_p)
    left = softened[:kept] / softened[:kept].sum()
    entropy = float(-(left * np.log(np.maximum(left, 1e-300))).sum()) + 0.0
    ks = sorted({k for k in (*TOP_KS, limit) if k < len(words)})
    settings = [sorted({*TEMPERATURES, temperature}), [*ks, 0], sorted({*TOP_PS, top_p})]  # a top-k of 0: no limit
    start = temperature, limit if limit < len(words) else 0, top_p
    tail, counts = in_groups(scores[NAMED:], NAMED)
    data = {
        "before": before,
        "words": names[:NAMED],
        "logits": rounded([*scores[:NAMED], *tail], 5),
        "counts": counts,
        "settings": settings,
        "start": [values.index(value) for values, value in zip(settings, start)],
        "uniforms": rounded(np.random.default_rng(seed).random((SETS, DRAWN)), 6),
        "bars": min(BARS, len(words)),
    }
    said = f"temperature {temperature:g}, top-k {'off' if limit >= len(words) else limit}, top-p {top_p:g}"
    few = ", ".join(f"{name} {share:.3f}" for name, share in zip(names[:6], left))
    context = f"After “{before}”, {said}" if before else f"Next word, {said}"
    told = f"{context}: {kept} of {len(words)} words are left, entropy {entropy:.2f} nats: {few}."
    return Figure(draw_sampling(names, softened, kept, before, told), told, "sampling", data)


def count_kept(probabilities: np.ndarray, top_k: int, top_p: float) -> int:
    """How many of the likeliest words are left: at most ``top_k``, and as few as have ``top_p`` of their sum.

    Args:
        probabilities: in decreasing order.

    >>> shares = np.array([0.5, 0.25, 0.15, 0.1])
    >>> count_kept(shares, 4, 0.8), count_kept(shares, 3, 0.8), count_kept(shares, 4, 0.5), count_kept(shares, 3, 1.0)
    (3, 2, 1, 3)
    """
    some = probabilities[:top_k]
    if top_p >= 1:
        return len(some)
    before = np.cumsum(some) - some  # the sum over all likelier words
    return max(1, int((before < top_p * some.sum() - 1e-9).sum()))


def in_groups(logits: np.ndarray, most: int) -> tuple[list[float], list[int]]:
    """Decreasing logits in at most ``most`` groups of neighbours: the mean of each, and its size."""
    size = max(1, -(-len(logits) // most))
    groups = [logits[i : i + size] for i in range(0, len(logits), size)]
    return [float(group.mean()) for group in groups], [len(group) for group in groups]


def visible(word: str) -> str:
    """A word's name, made visible if it is a line break or a space.

    >>> visible("a"), visible("\\n"), visible(" ")
    ('a', '↵', '␣')
    """
    return word.replace("\n", "↵").replace("\t", "⇥") if word.strip() else word.replace("\n", "↵").replace(" ", "␣")


def draw_sampling(names: list[str], softened: np.ndarray, kept: int, before: str, told: str) -> Schematic:
    """The still picture: a bar for each of the likeliest words; those that are cut off are hatched.

    Args:
        names: V, the likeliest first.
        softened: (V,), after the temperature, before anything is cut off.
        kept: how many words are left.
        before: the text that is continued.
        told: what the picture shows.
    """
    count = min(BARS, len(names))
    rows = [(names[i], softened[i] * (i < kept), softened[i] * (i >= kept)) for i in range(count)]
    if others := len(names) - count:
        rest = softened[count:]
        rows.append((f"{others:,} others", rest[: max(0, kept - count)].sum(), rest[max(0, kept - count) :].sum()))
    whole, left, full = softened[:kept].sum(), 190.0, 440.0
    figure = Schematic(740, 72 + 25 * len(rows), told, size=14)
    context = before if len(before) <= 80 else "… " + before[-80:].partition(" ")[2]
    figure.text((8, 14), f"{context} ____".lstrip(), "bold", anchor="start")
    figure.text((left, 40), "probability; hatched: cut off", color="soft", anchor="start", size=13)
    for number, (name, share, cut) in enumerate(rows):
        y = 56 + 25 * number
        figure.text((left - 12, y + 9), name, color="ink" if share else "soft", anchor="end")
        figure.put(f'<path d="M{short(left)} {y}v18" stroke="{paint("line")}"/>')
        wide = full * share / whole
        if share:
            figure.box(left, y, max(wide, 0.8), 18, color="none", fill="plus", corner=2, opacity=0.8)
        reach = min(full * cut, full - wide)
        if cut:
            hatched(figure, left + wide, y, max(reach, 1.5), 18)
        end = left + wide + reach + 8
        figure.text((end, y + 9), f"{share / whole:.3f}" if share else "cut off", color="soft", anchor="start", size=13)
    return figure


def hatched(figure: Schematic, x: float, y: float, width: float, height: float) -> None:
    """Draw a box with slanted lines in it."""
    figure.box(x, y, width, height, color="soft", fill="none", corner=1, line=0.8)
    lines = []
    for start in np.arange(5 - height, width, 5):  # where a line would meet the lower edge
        first, last = max(start, 0), min(start + height, width)
        if last > first:
            ends = [f"{short(x + a)} {short(y + height - (a - start))}" for a in (first, last)]
            lines.append(f"M{ends[0]}L{ends[1]}")
    figure.put(f'<path d="{"".join(lines)}" stroke="{paint("soft")}" stroke-width=".8"/>')


def explore_cache(
    tokens: Sequence[str],
    weights: ArrayLike,
    hidden_size: int,
    prompt: int = 1,
    inner_size: int | None = None,
    start: int = 1,
) -> Figure:
    """Write token by token, with a cache of keys and values or without: what is computed, what is only read?

    Multiplications are those of one block: 4 D² for each token whose query, key, value and output are computed, 2 D F
    for its feed-forward network, and 2 D for each pair of a query and a key that are compared.

    Args:
        tokens: L tokens, the prompt and then what was written; at most 16.
        weights: (L, L), causal attention weights of one head; the last row belongs to the token written last, which
            is never read, and is not drawn.
        hidden_size: D.
        prompt: how many of the tokens were given; at least 1.
        inner_size: F; 4 D if None.
        start: the step at which it opens; the first is 1.

    Raises:
        ValueError: shapes that do not fit, too many tokens, weights that are not causal, or nothing written.

    Source: Shazeer 2019, "Fast Transformer Decoding: One Write-Head is All You Need", section 2.4.

    >>> explore_cache("the cat sat".split(), [[1, 0, 0], [0.25, 0.75, 0], [0, 0, 1]], 8)
    2 tokens written after “the”, with a cache: the → cat; cat → sat. Last row: the 0.25, cat 0.75. Multiplications in \
one block: 1,584 with the cache, 2,384 without: 1.5 times as many.
    """
    rows, length = as_numbers(weights, "weights"), len(tokens)
    if rows.shape != (length, length) or not 1 <= prompt < length <= MOST_TOKENS:
        raise ValueError(
            f"weights must be of shape (L, L), for L tokens, at most {MOST_TOKENS}, more than the prompt has; got "
            f"{rows.shape}, {length} tokens and a prompt of {prompt}."
        )
    if np.abs(np.triu(rows, 1)).max() > 1e-6:
        raise ValueError("weights must be causal: 0 where a token would attend to a later one.")
    rows, written = rows[:-1, :-1], list(range(prompt, length))  # the place of each token that is written
    inner = 4 * hidden_size if inner_size is None else inner_size
    plain = [multiplications(place, place, hidden_size, inner) for place in written]
    cached = [plain[0], *(multiplications(1, place, hidden_size, inner) for place in written[1:])]
    names = [visible(token) for token in tokens]
    data = {
        "tokens": names,
        "weights": rounded(rows, 6),
        "prompt": prompt,
        "plain": plain,
        "cached": cached,
        "start": place_of(start, range(1, len(written) + 1), "start"),
    }
    steps = "; ".join(f"{names[place - 1]} → {names[place]}" for place in written)
    last = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(names, rows[-1]))
    told = (
        f"{len(written)} tokens written after “{' '.join(names[:prompt])}”, with a cache: {steps}. Last row: {last}. "
        f"Multiplications in one block: {large(sum(cached))} with the cache, {large(sum(plain))} without: "
        f"{sum(plain) / sum(cached):.1f} times as many."
    )
    return Figure(draw_cache(names, rows, sum(cached), sum(plain), told), told, "cache", data)


def multiplications(computed: int, keys: int, hidden_size: int, inner_size: int) -> int:
    """The multiplications of one block for ``computed`` tokens, each of which compares its query with ``keys`` keys.

    >>> multiplications(10, 10, 768, 3072) // 10 // 768**2
    12
    """
    projections = 4 * hidden_size**2 + 2 * hidden_size * inner_size
    return computed * (projections + 2 * keys * hidden_size)


def large(number: int) -> str:
    """A count in readable form.

    >>> large(1584), large(2_384_000), large(7_077_888_000)
    ('1,584', '2.38 million', '7.08 billion')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.2f} {name}"
    return f"{number:,}"


def draw_cache(names: list[str], rows: np.ndarray, cached: int, plain: int, told: str) -> Schematic:
    """The still picture: the last step with a cache, and how much was multiplied up to then.

    Args:
        names: L tokens.
        rows: (L - 1, L - 1).
        cached, plain: multiplications with the cache, and without.
        told: what the picture shows.
    """
    count = len(rows)
    cell, longest = min(30.0, 300 / count), 7.4 * max(map(len, names))
    left, top = max(longest, 50.0) + 14, 0.71 * longest + 22
    begin = top + 2 * cell + 14  # where the queries begin
    figure = Schematic(740, round(max(begin + count * cell + 14, 250)), told, size=13)
    for number, name in enumerate(names[:-1]):
        middle = left + (number + 0.4) * cell
        figure.text((middle, top - 10), name, anchor="start", turn=-45)
        is_new = number == count - 1
        for row in range(2):
            place = left + number * cell + 1, top + row * cell + 1
            sign, role = ("●", "hot") if is_new else ("○", "plus")
            figure.box(*place, cell - 2, cell - 2, sign, role, role, corner=3, opacity=0.3 if is_new else 0.08)
        figure.text((left - 8, begin + (number + 0.5) * cell), name, "bold" if is_new else "", anchor="end")
    for row, name in enumerate(("keys", "values")):
        figure.text((left - 8, top + (row + 0.5) * cell), name, "bold", anchor="end")
    figure.matrix(left, begin, rows, cell, limit=1, color="plus")
    last = begin + (count - 1) * cell
    figure.box(left, last, count * cell, cell, color="hot", fill="none", corner=2, line=2)
    figure.text((left + count * cell + 8, last + cell / 2), f"→ {names[-1]}", "bold", "hot", "start")
    right = max(left + count * cell + longest + 40, 440.0)
    figure.text((right, top + 10), "multiplications in one block", "bold", anchor="start")
    for number, (name, value, role) in enumerate((("with the cache", cached, "plus"), ("without", plain, "minus"))):
        y = top + 38 + 52 * number
        figure.text((right, y), f"{name}: {large(value)}", anchor="start")
        figure.box(right, y + 12, (730 - right) * value / plain, 16, color="none", fill=role, corner=2, opacity=0.8)
    figure.text((right, top + 156), "● computed now\n○ read from the cache", color="soft", anchor="start")
    return figure
