"""What BERT, RoBERTa, SpanBERT and ELECTRA ask about one and the same sentence, and at how many of its words."""

from collections.abc import Sequence
from typing import NamedTuple

from bertcourse_figures.decoders import flow
from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.schematic import NARROW, WIDE, Box, Point, Schematic, in_both_widths

LEAST_WORDS, MOST_WORDS = 3, 12
MASK = "[MASK]"
LETTER = 0.61  # width of a letter, in heights
LARGEST, SMALLEST = 13.0, 6.0  # heights of letters
VERDICTS = {True: "original", False: "replaced"}


class Objectives(NamedTuple):
    """A sentence and what is hidden of it.

    Attributes:
        words: of the sentence.
        hidden: places where BERT reads [MASK], and ELECTRA a guess.
        again: places where RoBERTa reads [MASK] when it meets the sentence again.
        span: SpanBERT's run of words, as (first, after the last).
        guesses: of ELECTRA's generator, by place.
    """

    words: list[str]
    hidden: list[int]
    again: list[int]
    span: tuple[int, int]
    guesses: dict[int, str]


def show_objectives(
    words: Sequence[str],
    hidden: Sequence[int],
    span: tuple[int, int],
    guesses: Sequence[str],
    again: Sequence[int],
) -> Figure:
    """One sentence, four objectives: which words are hidden, and where is a question asked?

    Args:
        words: of the sentence, 3 to 12.
        hidden: places that BERT and ELECTRA's generator are asked for, rising.
        span: the run of words that SpanBERT hides, as (first, after the last), with a word on either side.
        guesses: what ELECTRA's generator says at each hidden place; a guess may be the word itself.
        again: places that RoBERTa hides when it reads the sentence the next time, rising; not those of ``hidden``.

    Raises:
        ValueError: too many or too long words, places that do not fit, or not one guess for each hidden place.

    Sources: Devlin et al. 2019, section 3.1; Liu et al. 2019, "RoBERTa", section 4.1; Joshi et al. 2020, "SpanBERT",
    figure 1; Clark et al. 2020, "ELECTRA", figure 2.
    """
    words, guesses, (first, end) = list(words), list(guesses), span
    if not LEAST_WORDS <= len(words) <= MOST_WORDS:
        raise ValueError(f"there is room for {LEAST_WORDS} to {MOST_WORDS} words; got {len(words)}.")
    hidden, again = (checked(name, places, len(words)) for name, places in (("hidden", hidden), ("again", again)))
    if hidden == again:
        raise ValueError(f"again must be other places than hidden; got {again} for both.")
    if not 1 <= first < end <= len(words) - 1:
        raise ValueError(
            f"span must be (first, after the last), with a word on either side, within {len(words)} words; got {span}."
        )
    if len(guesses) != len(hidden):
        raise ValueError(f"guesses must be one for each of {len(hidden)} hidden places; got {len(guesses)}.")
    asked = Objectives(words, hidden, again, (first, end), dict(zip(hidden, guesses)))
    captions, told = describe(asked)
    schematic = in_both_widths(draw_objectives, asked, captions, told)
    return show_steps(schematic, told)


def checked(name: str, places: Sequence[int], length: int) -> list[int]:
    """The places, if there are any, they rise, and lie in the sentence."""
    places = [int(place) for place in places]
    if not places or places != sorted(set(places)) or not 0 <= places[0] <= places[-1] < length:
        raise ValueError(f"{name} must hold rising places from 0 to {length - 1}; got {places}.")
    return places


def describe(asked: Objectives) -> tuple[list[str], str]:
    """A caption for each step, and the whole in words."""
    words, (first, end), length = asked.words, asked.span, len(asked.words)
    count, run = len(asked.hidden), end - first

    def quoted(places) -> str:
        return listed([f"“{words[place]}”" for place in places])

    guessed = listed([f"“{guess}” for “{words[place]}”" for place, guess in asked.guesses.items()])
    right = [place for place, guess in asked.guesses.items() if guess == words[place]]
    was, counts = ("was", "counts") if len(right) == 1 else ("were", "count")
    lucky = f" {quoted(right)} {was} guessed right, and so {counts} as original." if right else ""
    changed = [f"“{asked.guesses[place]}”" for place in asked.hidden if place not in right]
    captions = [
        f"One sentence of {length} words. Nobody has labelled it: the questions must come from the text itself.",
        f"BERT hides {count} of {length} words and asks for them: {questions(count)}. About the other "
        f"{length - count}, nothing is asked.",
        f"RoBERTa asks the same, but draws the places anew each time the sentence is read: the next time, "
        f"{len(asked.again)} of {length} words at other places.",
        f"SpanBERT hides a run of words, here {run} of {length}. Each is asked for from its own vector, as in BERT.",
        f"And each is asked for once more, from the two words at the border, {quoted((first - 1, end))}, and its place "
        f"in the run: {questions(2 * run)} at {run} of {length} words.",
        f"ELECTRA: a small generator, trained as BERT is, fills {count} of {length} places with guesses: {guessed}.",
        f"The model itself gets a question at every word: original or replaced? {questions(length).capitalize()} at "
        f"{length} of {length} words.{lucky}",
    ]
    told = (
        f"“{' '.join(words)}”, {length} words, asked about in four ways. "
        f"BERT: {count} of {length} words, {quoted(asked.hidden)}. "
        f"RoBERTa, the next time: {len(asked.again)} of {length}, {quoted(asked.again)}. "
        f"SpanBERT: {run} of {length}, {quoted(range(first, end))}, each twice, the second time from "
        f"{quoted((first - 1, end))}. "
        f"ELECTRA: {length} of {length}, after the guesses {guessed}: "
        f"{listed(changed) if changed else 'none'} replaced, "
        f"{length - len(changed)} original.{lucky}"
    )
    return captions, told


def listed(parts: Sequence[str]) -> str:
    """
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def questions(count: int) -> str:
    """
    >>> questions(1), questions(2)
    ('1 question', '2 questions')
    """
    return f"{count} question{'s' * (count != 1)}"


class Line(NamedTuple):
    """A sentence as it is read by one model: its words stand side by side, or one below the other on a phone.

    Attributes:
        figure: the drawing to add to.
        starts, sizes: where each word begins and how much room it has, from left to right or downwards.
        origin, depth: where the boxes begin in the other direction, and how much room they take.
        size: height of the letters.
        down: whether the words stand one below the other.
    """

    figure: Schematic
    starts: list[float]
    sizes: list[float]
    origin: float
    depth: float
    size: float
    down: bool

    def box(self, place: int, text: str = "", role: str = "", **how) -> Box:
        """Draw a word; a role of its own makes it stand out."""
        along, other = (self.starts[place], self.sizes[place]), (self.origin, self.depth)
        (x, width), (y, height) = (other, along) if self.down else (along, other)
        look = dict(color=role or "line", fill=role or "panel", opacity=0.2) | how
        return self.figure.box(x, y, width, height, text, size=self.size, corner=4, **look)

    def at(self, place: int, beyond: float) -> Point:
        """The point so many pixels beyond the middle of a word's box, where its question is."""
        middle, away = self.starts[place] + self.sizes[place] / 2, self.origin + self.depth + beyond
        return (away, middle) if self.down else (middle, away)

    def ask(self, place: int, text: str, beyond: float = 2, role: str = "ink", style: str = "bold") -> None:
        """An arrow and the answer to a question, beyond a word."""
        self.figure.arrow(self.at(place, beyond), self.at(place, beyond + 13), width=1.2)
        anchor, gap = ("start", 17) if self.down else ("middle", 22)
        self.figure.text(self.at(place, beyond + gap), text, style, role, anchor, size=self.size)

    def sentence(self, words: Sequence[str], special: dict[int, str]) -> None:
        """Draw all words; those at special places are other words, and stand out."""
        for place, word in enumerate(words):
            self.box(place, special.get(place, word), "hot" if place in special else "")


def draw_objectives(asked: Objectives, captions: Sequence[str], told: str, width: int) -> Schematic:
    """The four models one below the other; on a phone, BERT and RoBERTa side by side."""
    words, (first, end), down = asked.words, asked.span, width == NARROW
    figure = Schematic(width, 400, told, size=13)
    steps, (starts, sizes, size) = iter(captions), room(asked, down)
    pitch = 22.0  # from word to word on a phone
    deep = 26.0 if not down else LETTER * size * longest(asked) + 9
    tall = len(words) * pitch if down else 0.0  # what a model's words add to its height on a phone

    def line(name: str, count: str, x: float, y: float) -> Line:
        figure.text((x, y + 9), name, "bold", anchor="start", size=14)
        at, anchor = ((x, y + 26), "start") if down else ((starts[-1] + sizes[-1], y + 9), "end")
        figure.text(at, count, color="soft", anchor=anchor, size=12)
        if down:
            rows = [y + 38 + pitch * place for place in range(len(words))]
            return Line(figure, rows, [pitch - 3] * len(words), x, deep, size, True)
        return Line(figure, starts, sizes, y + 22, deep, size, False)

    def of(count: int) -> str:
        return f"a question at {count} of {len(words)}" + (" words" if not down else "")

    figure.step(next(steps))
    if down:
        _, y = flow(figure, [(word, "") for word in words], 6, 4)
    else:
        Line(figure, starts, sizes, 4, deep, size, False).sentence(words, {})
        y = 24.0
    below = tall + 54 if down else 84.0  # from one model's heading to the next
    y += 16
    for name, hidden, place in (
        ("BERT", asked.hidden, (6.0, y)),
        ("RoBERTa, next time", asked.again, (188.0, y) if down else (6.0, y + below)),
    ):
        figure.step(next(steps))
        read = line(name, of(len(hidden)), *place)
        read.sentence(words, dict.fromkeys(hidden, MASK))
        for where in hidden:
            read.ask(where, words[where])
    y += below if down else 2 * below

    figure.step(next(steps))
    read = line("SpanBERT", f"{of(end - first)}, each asked for twice", 6, y)
    read.sentence(words, dict.fromkeys(range(first, end), MASK))
    for place in range(first, end):
        read.ask(place, words[place])
    figure.step(next(steps))
    text = LETTER * size * max(len(word) for word in words[first:end])  # width of an answer
    way = 19 + text + 12 if down else 38.0  # how far from the boxes the line between the borders runs
    for border in (first - 1, end):
        read.box(border, role="key", fill="none", line=2.4)
    ends = [read.at(border, away) for border, away in ((first - 1, 2), (first - 1, way), (end, way), (end, 2))]
    figure.arrow(*ends, head=False, color="key", width=1.8, corner=8)
    for number, place in enumerate(range(first, end), start=1):
        read.ask(place, words[place], way)
        away = (way + 17 + text + 8) if down else (way + 37)
        anchor = "start" if down else "middle"
        figure.text(read.at(place, away), f"place {number}", color="soft", anchor=anchor, size=min(11, size))
    y += below if down else below + 50

    figure.step(next(steps))
    read = line("ELECTRA", of(len(words)), 6, y)
    read.sentence(words, asked.guesses)
    figure.step(next(steps))
    for place, word in enumerate(words):
        is_original = asked.guesses.get(place, word) == word
        verdict, style = VERDICTS[is_original], "" if is_original else "bold"
        read.ask(place, verdict, role="value" if is_original else "hot", style=style)
    figure.height = round(y + (tall + 40 if down else 78))
    return figure


def longest(asked: Objectives) -> int:
    """Letters of the longest text that stands in a box or beside it."""
    return max(map(len, (*asked.words, *asked.guesses.values(), MASK, *VERDICTS.values())))


def room(asked: Objectives, down: bool) -> tuple[list[float], list[float], float]:
    """Where the words begin, how wide they are, and the height of letters with which they fit side by side; on a phone
    only the last counts."""
    letters = [len(word) for word in asked.words]
    for place in {*asked.hidden, *asked.again, *range(*asked.span)}:
        letters[place] = max(letters[place], len(MASK), len(asked.guesses.get(place, "")))
    size = LARGEST
    while size >= SMALLEST:
        # an answer beneath a box is in narrower letters
        sizes = [max(LETTER * size * count + 9, 0.56 * size * len(VERDICTS[True])) for count in letters]
        if down and 2 * LETTER * size * longest(asked) + 9 + 19 <= NARROW / 2 - 8:
            break
        if not down and sum(sizes) + 4 * (len(sizes) - 1) <= WIDE - 12:
            break
        size -= 0.5
    else:
        raise ValueError(f"words must be short enough to stand side by side; got {sum(letters)} letters in all.")
    starts = [6 + sum(sizes[:place]) + 4 * place for place in range(len(sizes))]
    return starts, sizes, size
