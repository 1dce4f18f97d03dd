"""Byte-pair encoding, merge by merge: what it learns from, what it counts, and how it reads what the reader types."""

from collections.abc import Iterable, Mapping, Sequence

from bertcourse_figures.interactive import Figure, place_of
from bertcourse_figures.schematic import Schematic

MARKER = "▁"
PAIRS_SHOWN = 6
ROWS_DRAWN = 9

Pair = tuple[str, str]


def explore_bpe(
    merges: Sequence[Pair],
    text: str,
    readings: Mapping[int, Sequence[str]],
    word_counts: Mapping[str, int] | None = None,
    steps: Sequence[tuple[Mapping[str, Sequence[str]], Mapping[Pair, int]]] = (),
    alphabet: Iterable[str] = "",
    start: int | None = None,
) -> Figure:
    """Go forwards and backwards through the merges; type a text and see how the merges so far read it.

    Args:
        merges: in the order in which they were learned.
        text: what is read at first.
        readings: the tokens of the text after each number of merges at which one can stop, in rising order.
        word_counts: what the merges were learned from, if that is shown; then one can stop after each merge.
        steps: if so, for each number of merges the spelling of these words, and the counts of their pairs.
        alphabet: known characters other than those in ``merges``.
        start: the number of merges at first, one of those in ``readings``; None for the first of them.

    Raises:
        ValueError: a merge contains white space, or there is no such start.

    Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2.
    """
    if any(len(f"{left} {right}".split()) != 2 for left, right in merges):
        raise ValueError("merges must be of symbols without white space, as those of words are.")
    stops = list(readings)
    letters = {letter for word in word_counts or () for letter in word} | set(alphabet)
    corpus = None
    if word_counts is not None:
        pairs = [most_frequent(counts, merges[number : number + 1]) for number, (_, counts) in enumerate(steps)]
        spellings = [[list(spelling[word]) for word in word_counts] for spelling, _ in steps]
        corpus = {"counts": list(word_counts.values()), "spellings": spellings, "pairs": pairs}
    data = {
        "merges": "\n".join(f"{left} {right}" for left, right in merges),
        "stops": stops,
        "alphabet": "".join(sorted({part for pair in merges for part in pair if len(part) == 1} | letters)),
        "marker": MARKER,
        "markFirst": True,
        "text": text,
        "corpus": corpus,
        "start": 0 if start is None else place_of(start, stops, "start"),
    }
    few = min(len(stops), ROWS_DRAWN)
    rows = {number: readings[number] for number in (stops[i * (len(stops) - 1) // max(few - 1, 1)] for i in range(few))}
    lengths = [f"{len(tokens)} tokens after {number} merge{'s' * (number != 1)}" for number, tokens in rows.items()]
    told = f"Byte-pair encoding reads “{text}”: {', '.join(lengths)}."
    if corpus:
        told += " Merges: " + ", ".join(f"{a}+{b} ({counts[a, b]})" for (a, b), (_, counts) in zip(merges, steps))
    return Figure(draw(rows, told), told, "bpe", data)


def most_frequent(counts: Mapping[Pair, int], first: Sequence[Pair]) -> list[list]:
    """The most frequent pairs with their counts, with the one to be merged next, if there is one, at the top.

    >>> most_frequent({("a", "b"): 2, ("b", "c"): 3, ("c", "a"): 3}, [("c", "a")])
    [['c', 'a', 3], ['b', 'c', 3], ['a', 'b', 2]]
    """
    ranked = sorted(counts, key=lambda pair: (pair not in first, -counts[pair]))
    return [[*pair, counts[pair]] for pair in ranked[:PAIRS_SHOWN]]


def draw(rows: Mapping[int, Sequence[str]], told: str) -> Schematic:
    """The still picture: the text after more and more merges, one row each; tokens that are new in a row are orange.

    Args:
        rows: the tokens of the text after each number of merges.
        told: what the picture shows.
    """
    most = max((sum(len(token) for token in tokens) + len(tokens) for tokens in rows.values()), default=1)
    unit = min(11.0, 600 / max(most, 1))
    figure = Schematic(740, 34 + 30 * len(rows), told, size=min(13.0, 1.55 * unit))
    figure.text((92, 14), "merges", color="soft", anchor="end", size=12)
    earlier = set(next(iter(rows.values()), ()))
    for y, (number, tokens) in enumerate(rows.items()):
        top, x = 30 + 30 * y, 110.0
        figure.text((92, top + 12), f"{number:,}", "bold", anchor="end", size=13)
        for token in tokens:
            is_new = token not in earlier
            wide = (len(token) + 1) * unit
            color, fill = ("hot", "hot") if is_new else ("line", "panel")
            figure.box(x + 1, top, wide - 2, 24, token, color, fill, "code", corner=4, opacity=0.22)
            x += wide
        earlier = set(tokens)
    return figure
