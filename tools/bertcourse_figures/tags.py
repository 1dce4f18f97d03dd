"""Tags on words: what a wrong one costs, which subword gets it, and the best path through a table of scores."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bertcourse_figures.interactive import Figure, place_of, rounded, show_steps
from bertcourse_figures.schematic import Schematic, as_numbers, signed

MOST_WORDS, MOST_PLACES, MOST_LABELS = 24, 8, 6
LETTER = 7.6  # width of one at size 13


def explore_tags(
    words: Sequence[str],
    there: Sequence[str],
    attempts: Mapping[str, Sequence[str]],
    read_tags: Callable[[Sequence[str]], Sequence],
) -> Figure:
    """Change the tag of any word: how many words are right, and what is the F1 of entities?

    Args:
        words: of a sentence, at most 24.
        there: the right tags, in BIO, with an entity among them.
        attempts: taggings to begin from, by name; the first is shown at first.
        read_tags: the entities that tags stand for.

    Raises:
        ValueError: too many words, a tag too few, or no entity.

    Source: Tjong Kim Sang & De Meulder 2003, "Introduction to the CoNLL-2003 Shared Task", for the score.
    """
    lengths = {len(tags) for tags in (there, *attempts.values())}
    if not 1 <= len(words) <= MOST_WORDS or lengths != {len(words)} or not attempts:
        raise ValueError(
            f"there is room for 1 to {MOST_WORDS} words, with a tag for each in one or more attempts; got "
            f"{len(words)} words and rows of {sorted(lengths)} tags."
        )
    if set(there) == {"O"}:
        raise ValueError("the right tags must have an entity, without which F1 says nothing; got none.")
    used = dict.fromkeys(tag[2:] for tags in (there, *attempts.values()) for tag in tags if tag != "O")
    data = {
        "words": list(words),
        "there": list(there),
        "choices": ["O", *(f"{prefix}-{kind}" for kind in used for prefix in "BI")],
        "attempts": [[name, list(tags)] for name, tags in attempts.items()],
    }
    said = [f"{name}: {scored(there, tags, read_tags)}" for name, tags in attempts.items()]
    told = f"Tags of {len(words)} words. {'; '.join(said)}."
    return Figure(draw_tags(data, told, said[0]), told, "tags", data)


def scored(there: Sequence[str], found: Sequence[str], read_tags: Callable[[Sequence[str]], Sequence]) -> str:
    """Accuracy of words and F1 of entities, with what they are made of."""
    same = sum(a == b for a, b in zip(there, found, strict=True))
    gold, ours = set(read_tags(there)), set(read_tags(found))
    right = len(gold & ours)
    f1 = 200 * right / (len(gold) + len(ours))
    share = f"{same} of {len(there)} words right ({100 * same / len(there):.0f} %)"
    return f"{share}, {right} entities right, {len(ours)} found, {len(gold)} there, F1 {f1:.0f} %"


def draw_tags(data: dict, told: str, score: str) -> Schematic:
    """The still picture: rows of words with the right tag and that of the first attempt, wrong ones in orange."""
    _, found = data["attempts"][0]
    wide = [LETTER * max(4, *map(len, column)) + 14 for column in zip(data["words"], data["there"], found)]
    rows: list[list[int]] = [[]]
    for number in range(len(wide)):
        if sum(wide[i] for i in rows[-1]) + wide[number] > 650:
            rows.append([])
        rows[-1].append(number)
    figure = Schematic(740, 92 * len(rows) + 34, told, size=13)
    for row, numbers in enumerate(rows):
        x, top = 86.0, 6 + 92 * row
        for line, label in enumerate(("right", "tagger")):
            figure.text((78, top + 38 + 28 * line), label, color="soft", anchor="end")
        for number in numbers:
            figure.text((x + wide[number] / 2, top + 12), data["words"][number], "bold")
            for line, tag in enumerate((data["there"][number], found[number])):
                wrong = line == 1 and tag != data["there"][number]
                look = ("hot", "hot") if wrong else ("line", "panel" if tag == "O" else "plus")
                figure.box(x + 2, top + 26 + 28 * line, wide[number] - 4, 24, tag, *look, corner=5)
            x += wide[number]
    figure.text((370, 92 * len(rows) + 16), score, color="soft")
    return figure


def show_subwords(
    words: Sequence[str],
    tags: Sequence[str],
    tokens: Sequence[str],
    word_ids: Sequence[int | None],
    rules: Mapping[str, Sequence[str | None]],
) -> Figure:
    """Step through it: words have tags, a tokenizer cuts the words, and a rule says which token gets the tag.

    Args:
        words: L words, at most 8.
        tags: one per word.
        tokens: T tokens, [CLS] and [SEP] included.
        word_ids: for each token, the number of its word, or None.
        rules: for each rule, a tag per token, or None where nothing is learned.

    Raises:
        ValueError: shapes that do not fit, or too many words.

    Source: Devlin et al. 2019, "BERT", section 5.3; Jurafsky & Martin, "Speech and Language Processing", 11.5.3.
    """
    if len(words) != len(tags) or {len(word_ids), *map(len, rules.values())} != {len(tokens)}:
        raise ValueError(
            f"each word and each token must have its tag; got {len(words)} words, {len(tags)} tags, {len(tokens)} "
            f"tokens, and rules for {[len(row) for row in rules.values()]}."
        )
    if not 1 <= len(words) <= MOST_PLACES:
        raise ValueError(f"there is room for 1 to {MOST_PLACES} words; got {len(words)}.")
    learned = {name: sum(tag is not None for tag in row) for name, row in rules.items()}
    captions = [
        f"People tag words: {len(words)} words, a tag for each.",
        f"The tokenizer makes {len(tokens)} tokens of them, [CLS] and [SEP] included.",
        *(f"{name}: {count} tokens have a tag. Nothing is asked of the others." for name, count in learned.items()),
        "The way back is the same for all: a word gets the tag of its first token (framed).",
    ]
    alt = f"The words {' '.join(words)}, their tokens, and a row of tags for each rule: {', '.join(rules)}."
    wide = draw_subwords(words, tags, tokens, word_ids, rules, captions, alt, narrow=False)
    wide.narrow = draw_subwords(words, tags, tokens, word_ids, rules, captions, alt, narrow=True)
    each = "; ".join(f"{name}: {' '.join(tag or '-' for tag in row)}" for name, row in rules.items())
    return show_steps(wide, f"{' '.join(tokens)} with tags, {each}.")


def draw_subwords(words, tags, tokens, word_ids, rules, captions, alt: str, narrow: bool) -> Schematic:
    """Draw words, tokens and the rows of tags; from left to right, or on a phone from top to bottom."""
    across = len(rules) + 3  # word, token, rules, way back
    cell = (72, 36) if narrow else (min(82.0, 664 / len(tokens)), 38)
    figure = Schematic(
        360 if narrow else 740, round(30 + cell[1] * len(tokens)) if narrow else 58 * across - 14, alt, size=13
    )
    size = 10.5 if narrow else min(13, cell[0] / 6.2)

    def place(number: float, line: int) -> tuple[float, float]:
        """Upper left corner of a token's box in one of the lines."""
        return (2 + cell[0] * line * 0.99, 24 + cell[1] * number) if narrow else (72 + cell[0] * number, 58 * line + 4)

    def box(number: float, line: int, text: str, color: str = "line", fill: str = "panel", cells: int = 1) -> None:
        x, y = place(number, line)
        width, height = (cell[0] - 6, cell[1] * cells - 6) if narrow else (cell[0] * cells - 5, 32)
        figure.box(x, y, width, height, text, color, fill, size=size)

    def label(line: int, text: str) -> None:
        if narrow:
            figure.text((2 + cell[0] * (line * 0.99 + 0.46), 10), text, color="soft", size=11)
        else:
            figure.text((66, 58 * line + 20), text, color="soft", anchor="end")

    def arrow(number: int, before: int) -> None:
        (x, y), (x2, y2) = place(number, before), place(number, before + 1)
        if narrow:
            figure.arrow((x + cell[0] - 6, y + 15), (x2 - 1, y2 + 15), width=1, head=False)
        else:
            figure.arrow((x + cell[0] / 2 - 3, y + 32), (x2 + cell[0] / 2 - 3, y2), width=1, head=False)

    spans = [[i for i, word in enumerate(word_ids) if word == number] for number in range(len(words))]
    figure.step(captions[0])
    label(0, "words")
    for word, tag, span in zip(words, tags, spans):
        box(span[0], 0, f"{word}\n{tag}", fill="panel" if tag == "O" else "plus", cells=len(span))
    figure.step(captions[1])
    label(1, "tokens")
    for number, token in enumerate(tokens):
        box(number, 1, token)
        if word_ids[number] is not None:
            arrow(number, 0)
    for line, (name, row) in enumerate(rules.items(), start=2):
        figure.step(captions[line])
        label(line, name)
        for number, tag in enumerate(row):
            fill = "none" if tag is None else "panel" if tag == "O" else "plus"
            box(number, line, tag or "", "none" if tag is None else "line", fill)
    figure.step(captions[-1])
    firsts = [span[0] for span in spans]
    if narrow:
        for first in firsts:
            x, y = place(first, 1)
            figure.box(x - 2, y - 2, 360 - x, cell[1] - 2, "", "hot", "none", line=1.6)
    else:
        for first in firsts:
            x, y = place(first, 1)
            figure.box(x - 2, y - 3, cell[0] - 1, 58 * (len(rules) + 1) - 20, "", "hot", "none", line=1.6)
        label(across - 1, "back")
        for first, tag in zip(firsts, tags):
            box(first, across - 1, tag, "hot", "panel" if tag == "O" else "plus")
    return figure


def explore_viterbi(
    words: Sequence[str],
    labels: Sequence[str],
    scores: ArrayLike,
    start: ArrayLike,
    step: ArrayLike,
    best: Sequence[int],
    chosen: tuple[int, int] = (1, 0),
) -> Figure:
    """Change any score: the tags that win word by word follow, and so does the best path that the rules allow.

    Args:
        words: L words, 2 to 8.
        labels: K tags, 2 to 6.
        scores: (L, K), a score for each tag at each word.
        start: (K,), 0 for tags that may come first, minus infinity for the others.
        step: (K, K), the same for the column's tag after the row's.
        best: the best path that is allowed: L indices of tags.
        chosen: the word and the tag whose score the slider changes at first.

    Raises:
        ValueError: shapes that do not fit, steps with scores of their own, or a path that is not allowed.

    Source: Viterbi 1967; Forney 1973, "The Viterbi Algorithm", figure 8, for the drawing.
    """
    array, best = as_numbers(scores, "scores"), [int(tag) for tag in best]
    first, pair = np.asarray(start) == 0, np.asarray(step) == 0
    sizes = (len(words), len(labels))
    if not 2 <= sizes[0] <= MOST_PLACES or not 2 <= sizes[1] <= MOST_LABELS:
        raise ValueError(f"there is room for 2 to {MOST_PLACES} words and 2 to {MOST_LABELS} tags; got {sizes}.")
    if (array.shape, first.shape, pair.shape) != (sizes, sizes[1:], 2 * sizes[1:]):
        raise ValueError(
            f"scores, start and step must have the shapes {sizes}, {sizes[1:]} and {2 * sizes[1:]}; got {array.shape}, "
            f"{first.shape} and {pair.shape}."
        )
    if not np.isneginf(np.asarray(start)[~first]).all() or not np.isneginf(np.asarray(step)[~pair]).all():
        raise ValueError("start and step must be 0 where a step is allowed and minus infinity elsewhere.")
    if len(best) != len(words) or broken_step(best, first, pair) is not None:
        raise ValueError(f"best must be {len(words)} tags, each allowed after the one before; got {best}.")
    by_word = array.argmax(axis=1).tolist()
    broken = broken_step(by_word, first, pair)
    data = {
        "words": list(words),
        "labels": list(labels),
        "scores": rounded(array, 1, "scores"),
        "start": first.tolist(),
        "pair": pair.tolist(),
        "chosen": [place_of(at, range(count), "chosen") for at, count in zip(chosen, sizes)],
    }

    def read(path: list[int]) -> str:
        score = array[range(len(path)), path].sum()
        return f"{' '.join(labels[tag] for tag in path)}, {signed(score, '.1f')}"

    where = "valid" if broken is None else f"not valid at {words[broken]}"
    both = f"Word by word: {read(by_word)}, {where}. Best valid: {read(best)}."
    told = f"{len(labels)} tags at {len(words)} words. {both}"
    return Figure(draw_trellis(data, by_word, best, told), told, "viterbi", data)


def broken_step(path: Sequence[int], start: np.ndarray, pair: np.ndarray) -> int | None:
    """The first place in a path of tags that the rules do not allow; None if they allow it all."""
    steps = [start[path[0]], *(pair[a, b] for a, b in zip(path, path[1:]))]
    return next((place for place, allowed in enumerate(steps) if not allowed), None)


def draw_trellis(data: dict, by_word: Sequence[int], best: Sequence[int], told: str) -> Schematic:
    """The still picture: a box for each tag at each word, a line for each step that is allowed, and both paths."""
    words, labels = data["words"], data["labels"]
    step, tall = 626 / len(words), 58
    figure = Schematic(740, 62 + tall * len(labels), told, size=13)

    def at(place: int, label: int) -> tuple[float, float]:
        return 108 + step * (place + 0.5), 44 + tall * (label + 0.5)

    for place in range(len(words) - 1):
        for before, after in np.argwhere(data["pair"]):
            figure.arrow(at(place, before), at(place + 1, after), color="line", width=1, head=False)
    for path, look in ((best, ("plus", 6, 0.55)), (by_word, ("hot", 2.6, 1))):
        for place, (before, after) in enumerate(zip(path, path[1:])):
            color, width, opacity = look
            figure.arrow(at(place, before), at(place + 1, after), color=color, width=width, opacity=opacity, head=False)
    for place, word in enumerate(words):
        figure.text((at(place, 0)[0], 20), word, "bold")
        for label in range(len(labels)):
            x, y = at(place, label)
            figure.box(x - 27, y - 15, 54, 30, color="line", fill="paper")
            ours = {best[place]: "plus", by_word[place]: "hot"}.get(label, "line")
            text = signed(data["scores"][place][label], ".1f")
            figure.box(x - 27, y - 15, 54, 30, text, ours, "panel", line=1.3 if ours == "line" else 2.4)
    for label, name in enumerate(labels):
        figure.text((100, at(0, label)[1]), "O (outside)" if name == "O" else name, anchor="end")
    legend = "thick blue: the best valid path. Thin orange: the best tag of each word. No line: not allowed."
    figure.text((370, 54 + tall * len(labels)), legend, color="soft", size=12)
    return figure
