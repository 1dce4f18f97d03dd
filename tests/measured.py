"""Prose that states what was measured, held against what the notebook printed.

The mark is ``<!-- measured -->``, which no reader sees: directly after a sentence it speaks of that sentence, on a line
of its own of the paragraph, list or table above. Each number there must stand in an output before it, in its section.
"""

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from nbformat import NotebookNode

from bertcourse_lab.validation import tolerance_of

MARK = re.compile(r"<!-- measured -->")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
NUMBER = re.compile(
    r"(?<![\w.@^])(?<![A-Za-z]-)([-−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?)(?![\w^]|\.\d)"
    r"(?:\s?(thousand|million|billion)\b)?(\s?%|\s(?:percent|per cent|(?:percentage )?points?)\b)?"
)
TIMES = {"thousand": Decimal(10**3), "million": Decimal(10**6), "billion": Decimal(10**9)}
# What looks like a number of a result and is none: code, formulas, the targets of links, the numbers of lists, the
# places that a reader is sent to, and years.
ASIDE = re.compile(
    r"`[^`]*`|\$\$?[^$]*\$\$?|\]\([^)]*\)|^\s*\d+\. |\b(?:19[5-9]|20[0-2])\d\b"
    r"|\b(?:section|lecture|exercise|homework|chapter|equation|figure)s?\s\d[\d.]*"
    r"(?:(?:, | and | or | to |–|-)\d[\d.]*)*",
    re.IGNORECASE | re.MULTILINE,
)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)*_]*\s+(?=[^\s\da-z])|\n\s*(?:[-*]|\d+\.) ")


@dataclass(frozen=True)
class Number:
    """A number as it is written.

    Attributes:
        text: what is written.
        value: what it says, of 44 % 44.
        unit: that of its last digit, of 0.42 a hundredth.
        percent: whether it is one of percent, or of points.
        slack: how far from it another machine may print it.
    """

    text: str
    value: Decimal
    unit: Decimal
    percent: bool
    slack: Decimal = Decimal(0)

    def stands_for(self, printed: "Number") -> bool:
        """Whether this is a printed number, or what it is rounded to the digits that are written here.

        A number that may be off by its slack is written with no digit that is smaller.

        >>> prose, output = numbers("44 %, 1,728 words, 3 layers"), numbers("0.442 1728 2.9")
        >>> [number.stands_for(other) for number, other in zip(prose, output)]
        [True, True, False]
        """
        if self.unit >= 1 and abs(self.value) < 10 and printed.unit < 1 and not self.percent:
            return False  # nearly everything is a small integer when rounded
        if self.text.endswith("%") and printed.unit >= 1 and not printed.percent:
            return False  # and many a bare integer is no share
        scales = [Decimal(1)]
        if self.percent != printed.percent:
            scales.append(Decimal(100) if self.percent else Decimal("0.01"))
        unit = self.unit
        if printed.slack and self.value:  # 1,200 may then be in hundreds
            unit = max(unit, Decimal(1).scaleb(self.value.normalize().as_tuple().exponent))
        return any(
            abs(sign * scale * printed.value - self.value) <= unit / 2 and scale * printed.slack <= unit
            for scale in scales
            for sign in ((1, -1) if self.value >= 0 else (1,))  # "falls by 0.1"
        )


def numbers(text: str) -> list[Number]:
    """The numbers in a text.

    >>> [(number.text, number.percent) for number in numbers("MiniLM-L6 reaches 68.1 % of 7,253 words")]
    [('68.1 %', True), ('7,253', False)]
    """
    found = []
    for match in NUMBER.finditer(text):
        digits, scale, percent = match.groups()
        value, times = Decimal(digits.replace(",", "").replace("−", "-")), TIMES.get(scale, Decimal(1))
        exponent = value.as_tuple().exponent
        if exponent == 0:  # 106,000 may be 105,991, rounded, as three digits stay
            exponent = max(0, min(value.normalize().as_tuple().exponent, value.adjusted() - 2))
        unit = Decimal(1).scaleb(exponent)
        found.append(Number(match[0].strip(), value * times, unit * times, percent is not None))
    return found


def printed_numbers(cell: NotebookNode) -> list[Number]:
    """The numbers in what a code cell printed, and in the texts of its figures, with what its tolerance allows."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    absolute, relative = map(Decimal, map(str, tolerance_of(cell.metadata.get("tags", [])) or (0, 0)))
    found = [number for text in texts for number in numbers(text)]
    return [replace(number, slack=absolute + relative * abs(number.value)) for number in found]


def measured_passages(block: str) -> list[str]:
    """What the marks in a paragraph, list or table speak of.

    >>> measured_passages("In 1992 it was 98 %. Here it is 74 %.<!-- measured --> Why?")
    ['Here it is 74 %.']
    >>> measured_passages("It was 74 %. By chance, 52 %.\\n<!-- measured -->")
    ['It was 74 %. By chance, 52 %.\\n']
    """
    *passages, _ = MARK.split(block)
    return [
        passage if not passage.strip(" ") or passage.endswith("\n") else last_sentence(passage) for passage in passages
    ]


def last_sentence(text: str) -> str:
    """A text's last sentence, or the last item of a list."""
    text = text.rstrip()
    starts = [0, *(match.end() for match in SENTENCE_END.finditer(text) if match.end() < len(text))]
    return text[starts[-1] :]


def misstated(notebook: NotebookNode) -> list[str]:
    """Each number that prose marks as measured and that no output before it, in its section, has; and idle marks.

    A section begins with "## 5.1 …". Under a heading without a number, such as Summary, prose speaks of the whole
    notebook.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    everything = [number for cell in code for number in printed_numbers(cell)]
    found, section, is_numbered = [], [], False
    for place, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "code":
            section += printed_numbers(cell)
        if cell.cell_type != "markdown":
            continue
        for block in re.split(r"\n\s*\n", FENCE.sub("", cell.source)):
            for heading in re.findall(r"^##? .*", block, re.MULTILINE):
                section, is_numbered = [], heading.startswith("## ") and heading[3:4].isdigit()
            for comment in COMMENT.findall(block):
                if not MARK.fullmatch(comment):
                    found.append(f"cell {place} has the comment {comment}, which marks nothing: <!-- measured --> does")
            for passage in measured_passages(block):
                stated = numbers(ASIDE.sub(" ", passage))
                says = f"cell {place} marks as measured: {' '.join(passage.split())!r}"
                if not stated:
                    found.append(f"{says}, which states no number. Put the mark behind one that does")
                for number in stated:
                    if not any(number.stands_for(other) for other in (section if is_numbered else everything)):
                        where = "no output before it in its section" if is_numbered else "no output"
                        found.append(
                            f"{says}, but {where} has {number.text}. Print it, correct it, or mark less of the sentence"
                        )
    return found
