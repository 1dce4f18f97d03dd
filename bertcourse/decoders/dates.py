"""Chapter 12: a task for an encoder-decoder: turn dates, as people write them, into ISO 8601.

    the twelfth of March, nineteen eighty-seven    1987-03-12
    Thursday, 12 Mar 1987                          1987-03-12
    12.III.1987                                    1987-03-12

Some digits are copied, but to another place; months are looked up, whether words, abbreviations or Roman numerals; days
and years may be words. The weekday says nothing new. A held-out date is held out in every form: a right answer to it
cannot have been remembered.
"""

import datetime
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from bertcourse.decoders.encoder_decoder import EncoderDecoder, translate
from bertcourse.decoders.language_model import pad_texts, shuffled

FIRST_DAY, LAST_DAY = datetime.date(1800, 1, 1), datetime.date(2099, 12, 31)
MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ROMAN = "I II III IV V VI VII VIII IX X XI XII".split()
UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = ". . twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def number_words(number: int) -> str:
    """A number below a hundred in words.

    >>> number_words(7), number_words(40), number_words(87)
    ('seven', 'forty', 'eighty-seven')
    """
    if number < 20:
        return UNITS[number]
    tens, unit = divmod(number, 10)
    return TENS[tens] + (f"-{UNITS[unit]}" if unit else "")


def ordinal_words(number: int) -> str:
    """The ordinal of a number below a hundred, in words.

    >>> ordinal_words(3), ordinal_words(20), ordinal_words(31)
    ('third', 'twentieth', 'thirty-first')
    """
    *before, last = number_words(number).split("-")
    last = ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return "-".join([*before, last])


def ordinal(number: int) -> str:
    """The ordinal of a number, in digits.

    >>> ordinal(1), ordinal(12), ordinal(23)
    ('1st', '12th', '23rd')
    """
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def year_words(year: int) -> str:
    """A year, from 1100 on, as it is read aloud.

    >>> year_words(1987), year_words(1905), year_words(1900), year_words(2000), year_words(2007), year_words(2031)
    ('nineteen eighty-seven', 'nineteen oh five', 'nineteen hundred', 'two thousand', 'two thousand seven',
     'twenty thirty-one')
    """
    century, rest = divmod(year, 100)
    if century % 10 == 0 and rest < 10:
        return f"{UNITS[century // 10]} thousand" + (f" {UNITS[rest]}" if rest else "")
    if rest < 10:
        return f"{number_words(century)} {f'oh {UNITS[rest]}' if rest else 'hundred'}"
    return f"{number_words(century)} {number_words(rest)}"


# How a date is written. Each form gives the whole date; days come before months if both are digits.
FORMS: dict[str, Callable[[datetime.date], str]] = {
    "British": lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    "American": lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    "ordinal": lambda d: f"the {ordinal(d.day)} of {MONTHS[d.month - 1]} {d.year}",
    "short": lambda d: f"{MONTHS[d.month - 1][:3]} {d.day} {d.year}",
    "weekday": lambda d: f"{WEEKDAYS[d.weekday()]}, {d.day} {MONTHS[d.month - 1][:3]} {d.year}",
    "dots": lambda d: f"{d.day}.{d.month}.{d.year}",
    "Roman": lambda d: f"{d.day}.{ROMAN[d.month - 1]}.{d.year}",
    "year first": lambda d: f"{d.year}, {MONTHS[d.month - 1]} {ordinal(d.day)}",
    "day in words": lambda d: f"the {ordinal_words(d.day)} of {MONTHS[d.month - 1]}, {d.year}",
    "all in words": lambda d: f"the {ordinal_words(d.day)} of {MONTHS[d.month - 1]}, {year_words(d.year)}",
}


class DateExample(NamedTuple):
    """The same date in two notations.

    Attributes:
        written: such as "12 March 1987".
        iso: "1987-03-12".
        form: how it is written, a key of ``FORMS``.
    """

    written: str
    iso: str
    form: str


class DateExamples(NamedTuple):
    """Examples to learn from and examples held out, which have no date in common.

    Attributes:
        train, test: lists of ``DateExample``.
    """

    train: list[DateExample]
    test: list[DateExample]


def date_examples(num_train: int = 20_000, num_test: int = 500, seed: int = 0) -> DateExamples:
    """Dates from three centuries, each written in a random form.

    Args:
        num_train: how many to learn from; a date may come more than once.
        num_test: how many dates are held out, each once.
        seed: of dates and forms.

    >>> date_examples(seed=1).test[0]
    DateExample(written='17.I.1834', iso='1834-01-17', form='Roman')
    """
    rng = random.Random(seed)
    days = list(range((LAST_DAY - FIRST_DAY).days + 1))
    if not 0 <= num_test < len(days):
        raise ValueError(f"num_test must leave some of the {len(days):,} days to learn from; got {num_test}.")
    rng.shuffle(days)
    held_out, others = days[:num_test], days[num_test:]

    def example(day: int) -> DateExample:
        date, form = FIRST_DAY + datetime.timedelta(days=day), rng.choice(list(FORMS))
        return DateExample(FORMS[form](date), date.isoformat(), form)

    return DateExamples([example(rng.choice(others)) for _ in range(num_train)], [example(day) for day in held_out])


class CharacterVocabulary:
    """Characters as tokens, after three special ones: padding, start and stop.

    Args:
        texts: the texts whose characters are numbered.

    >>> CharacterVocabulary(["abba"]).encode("ab")
    [1, 3, 4, 2]
    """

    pad_id, start_id, stop_id = 0, 1, 2

    def __init__(self, texts: Sequence[str]):
        self.tokens = ["[PAD]", "[START]", "[STOP]", *sorted(set("".join(texts)))]
        self.token_ids = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """A text's ids, from start to stop; a character that the vocabulary lacks is refused."""
        if unknown := sorted(set(text) - set(self.tokens)):
            raise ValueError(f"each character must be one of {''.join(self.tokens[3:])!r}; got {unknown[0]!r}.")
        return [self.start_id, *(self.token_ids[character] for character in text), self.stop_id]

    def decode(self, ids: Sequence[int]) -> str:
        """The characters up to stop; start and padding are left out."""
        characters = []
        for number in ids:
            if number == self.stop_id:
                break
            if number > self.stop_id:
                characters.append(self.tokens[number])
        return "".join(characters)


def pair_batches(
    examples: Sequence[DateExample],
    vocabulary: CharacterVocabulary,
    batch_size: int,
    generator: torch.Generator | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches of sources and targets, (B, S) and (B, T): ``translation_loss(model, *batch)``.

    Args:
        examples: at least ``batch_size`` of them.
        vocabulary: of both sides.
        batch_size: B.
        generator: source of randomness.
    """
    if not 1 <= batch_size <= len(examples):
        raise ValueError(f"batch_size must be between 1 and the number of examples, {len(examples)}; got {batch_size}.")
    sides = [[vocabulary.encode(example[side]) for example in examples] for side in (0, 1)]
    for some in shuffled(len(examples), batch_size, generator):
        source_ids, target_ids = (pad_texts([side[i] for i in some]) for side in sides)
        yield source_ids, target_ids


def translations(model: EncoderDecoder, vocabulary: CharacterVocabulary, texts: Sequence[str]) -> list[str]:
    """What the model writes for each text if it takes the most likely character each time.

    Args:
        model: a trained model.
        vocabulary: its characters.
        texts: the sources.
    """
    found = []
    for start in range(0, len(texts), 256):
        source_ids = pad_texts([vocabulary.encode(text) for text in texts[start : start + 256]])
        written = translate(model, source_ids, vocabulary.start_id, max_new_tokens=11)
        found += [vocabulary.decode(row) for row in written.tolist()]
    return found
