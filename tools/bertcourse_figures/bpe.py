"""Byte-pair encoding, merge by merge: what it learns from, what it counts, and how it reads what the reader types."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bertcourse.tokenization.bpe import BPETokenizer, Merge, count_pairs, merge_pair
from bertcourse.tokenization.words import MARKER
from bertcourse_figures.interactive import Figure, place_of
from bertcourse_figures.schematic import Schematic

MOST_WORDS, MOST_STEPS = 12, 60  # of a training text that is shown while it is merged
PAIRS_SHOWN = 6
ROWS_DRAWN = 9


def explore_bpe(
    merges: Sequence[Merge],
    text: str,
    word_counts: Mapping[str, int] | None = None,
    stops: Sequence[int] | None = None,
    alphabet: Iterable[str] = "",
    marker: str = MARKER,
    mark_first: bool = True,
    start: int | None = None,
) -> Figure:
    """Go forwards and backwards through the merges; type a text and see how the merges so far read it.

    Args:
        merges: in the order in which they were learned.
        text: what is read at first.
        word_counts: what the merges were learned from; if given, its spelling and the counts of its pairs are shown
            at each step. At most 12 words and 60 merges.
        stops: the numbers of merges at which one can stop, increasing; None for all.
        alphabet: known characters other than those in ``merges``.
        marker, mark_first: as for ``BPETokenizer``.
        start: the number of merges at first, one of ``stops``; None for the first of them.

    Raises:
        ValueError: a merge is not the most frequent pair or contains white space, a stop does not exist, or there is
            too much to show.

    Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2.
    """
    merges = [tuple(pair) for pair in merges]
    stops = list(range(len(merges) + 1) if stops is None else stops)
    if stops != sorted(set(stops)) or not stops or not 0 <= stops[0] <= stops[-1] <= len(merges):
        raise ValueError(f"stops must rise from 0 or more to at most {len(merges)} merges; got {stops}.")
    if any(len(f"{left} {right}".split()) != 2 for left, right in merges):
        raise ValueError("merges must be of symbols without white space, as those of words are.")
    corpus = None if word_counts is None else training(merges, word_counts, stops)
    letters = {letter for word in word_counts or () for letter in word} | set(alphabet)
    reader = BPETokenizer(merges, letters, marker=marker, mark_first=mark_first)
    data = {
        "merges": "\n".join(f"{left} {right}" for left, right in merges),
        "stops": stops,
        "alphabet": "".join(sorted({token for token in reader.tokens if len(token) == 1})),
        "marker": marker,
        "markFirst": mark_first,
        "text": text,
        "corpus": corpus,
        "start": 0 if start is None else place_of(start, stops, "start"),
    }
    few = min(len(stops), ROWS_DRAWN)
    shown = [stops[i * (len(stops) - 1) // max(few - 1, 1)] for i in range(few)]
    rows = {}
    for number in shown:
        earlier = BPETokenizer(merges[:number], reader.tokens[1:], marker=marker, mark_first=mark_first)
        rows[number] = earlier.tokenize(text)
    lengths = [f"{len(tokens)} tokens after {number} merge{'s' * (number != 1)}" for number, tokens in rows.items()]
    told = f"Byte-pair encoding reads “{text}”: {', '.join(lengths)}."
    if corpus:
        told += " Merges: " + ", ".join(
            f"{a}+{b} ({corpus['pairs'][i][0][2]})" for i, (a, b) in enumerate(merges) if corpus["pairs"][i]
        )
    return Figure(draw(rows, told), told, "bpe", data)


def training(merges: list[Merge], word_counts: Mapping[str, int], stops: list[int]) -> dict:
    """The words' counts, their spelling at each stop, and the most frequent pairs there, the next to merge first."""
    if len(word_counts) > MOST_WORDS or len(merges) > MOST_STEPS or stops != list(range(len(merges) + 1)):
        raise ValueError(
            f"a text that is shown as it is merged may have {MOST_WORDS} words and {MOST_STEPS} merges, with a stop at "
            f"each; got {len(word_counts)} words, {len(merges)} merges and {len(stops)} stops."
        )
    words = dict(Counter(word_counts).most_common())  # ties: the one met first
    spelling = {word: list(word) for word in words}
    spellings, pairs = [], []
    for number in range(len(merges) + 1):
        spellings.append(list(spelling.values()))
        counts = count_pairs(spelling, words)
        ranked = [pair for pair, _ in counts.most_common()]
        if number < len(merges):
            pair = merges[number]
            if counts[pair] != max(counts.values(), default=0) or not counts[pair]:
                raise ValueError(
                    f"merge {number + 1} must be the most frequent pair of these words, which is {ranked[:1]}; got "
                    f"{pair}, which occurs {counts[pair]} times."
                )
            ranked = [pair, *(other for other in ranked if other != pair)]
            spelling = {word: merge_pair(symbols, pair, "".join(pair)) for word, symbols in spelling.items()}
        pairs.append([[*pair, counts[pair]] for pair in ranked[:PAIRS_SHOWN]])
    return {"counts": list(words.values()), "spellings": spellings, "pairs": pairs}


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
