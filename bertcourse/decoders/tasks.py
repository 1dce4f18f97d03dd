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

import numpy as np
import torch
from torch import Tensor

from bertcourse.decoders.encoder_decoder import EncoderDecoder, translate
from bertcourse.decoders.language_model import SmallModel, pad_texts

# Gets more than 98 of 100 held-out dates entirely right.
DATE_MODEL = SmallModel(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
    initializer_range=0.05,
    batch_size=64,
    steps=1000,
    learning_rate=4e-3,
)

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


class PairBatch(NamedTuple):
    """Sources and targets: ``teacher_forcing_loss(model, *batch)``.

    Attributes:
        source_ids, source_mask: (B, S).
        target_ids, target_mask: (B, T).
    """

    source_ids: Tensor
    source_mask: Tensor
    target_ids: Tensor
    target_mask: Tensor


def collate_pairs(examples: Sequence[DateExample], vocabulary: CharacterVocabulary) -> PairBatch:
    """B examples as tensors.

    Args:
        examples: dates as written, and in ISO 8601.
        vocabulary: of both sides.
    """
    sides = [[vocabulary.encode(example[side]) for example in examples] for side in (0, 1)]
    return PairBatch(*pad_texts(sides[0], vocabulary.pad_id), *pad_texts(sides[1], vocabulary.pad_id))


def pair_batches(
    examples: Sequence[DateExample],
    vocabulary: CharacterVocabulary,
    batch_size: int,
    generator: torch.Generator | None = None,
) -> Iterator[PairBatch]:
    """Endless batches, in a new order on every pass.

    Args:
        examples: at least ``batch_size`` of them.
        vocabulary: of both sides.
        batch_size: B.
        generator: source of randomness.
    """
    if not 1 <= batch_size <= len(examples):
        raise ValueError(f"batch_size must be between 1 and the number of examples, {len(examples)}; got {batch_size}.")
    while True:
        order = torch.randperm(len(examples), generator=generator).tolist()
        for start in range(0, len(order) - batch_size + 1, batch_size):
            yield collate_pairs([examples[i] for i in order[start : start + batch_size]], vocabulary)


def translations(
    model: EncoderDecoder, vocabulary: CharacterVocabulary, texts: Sequence[str], batch_size: int = 256
) -> list[str]:
    """What the model writes for each text if it takes the most likely character each time.

    Args:
        model: a trained model.
        vocabulary: its characters.
        texts: the sources.
        batch_size: how many at a time.
    """
    found = []
    for start in range(0, len(texts), batch_size):
        batch = pad_texts([vocabulary.encode(text) for text in texts[start : start + batch_size]], vocabulary.pad_id)
        written = translate(model, *batch, vocabulary.start_id, vocabulary.stop_id, max_new_tokens=12)
        found += [vocabulary.decode(row) for row in written.tolist()]
    return found


def sequence_accuracy(written: Sequence[str], examples: Sequence[DateExample]) -> float:
    """The share of dates that are right in every character.

    >>> sequence_accuracy(["1987-03-12", "1987-03-21"], [DateExample("", "1987-03-12", "")] * 2)
    0.5
    """
    return sum(text == example.iso for text, example in zip(written, examples, strict=True)) / len(examples)


def character_accuracy(written: Sequence[str], examples: Sequence[DateExample]) -> float:
    """The share of the dates' ten characters that are right, place by place.

    >>> character_accuracy(["1987-03-12", "1987-03-21"], [DateExample("", "1987-03-12", "")] * 2)
    0.9
    """
    pairs = [(text, example.iso) for text, example in zip(written, examples, strict=True)]
    return sum(a == b for text, iso in pairs for a, b in zip(text, iso)) / sum(len(iso) for _, iso in pairs)


def nearest_examples(texts: Sequence[str], train: Sequence[DateExample], block_size: int = 1000) -> list[DateExample]:
    """For each text the training example that is written most similarly, by edit distance: a baseline by memory alone.

    Args:
        texts: the texts to look up.
        train: the examples to search; of equally near ones, the first is taken.
        block_size: how many, of similar length, are searched together; the result does not depend on it.
    """
    lengths = np.array([len(example.written) for example in train])
    order = np.argsort(lengths, kind="stable")
    blocks = []
    for start in range(0, len(train), block_size):
        some = order[start : start + block_size]
        codes = np.zeros((lengths[some[-1]], len(some)), np.int16)
        for column, number in enumerate(some):
            codes[: lengths[number], column] = [ord(character) for character in train[number].written]
        blocks.append((codes, lengths[some]))
    found, distances = [], np.empty(len(train), np.int16)
    for text in texts:
        distances[order] = np.concatenate([edit_distances(text, *block) for block in blocks])
        found.append(train[int(distances.argmin())])
    return found


def edit_distances(text: str, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many characters to insert, delete or replace to turn a text into each of N others (Levenshtein 1966).

    Args:
        text: the one text.
        codes: (L, N), the others' characters as numbers, one column per text, with 0 after its end.
        lengths: (N,), how long they are.

    Returns:
        (N,).

    >>> edit_distances("cat", np.array([[ord(c)] for c in "cart"]), np.array([4])).tolist()
    [1]
    """
    rows = np.arange(len(codes) + 1, dtype=codes.dtype)[:, None]
    distances = np.repeat(rows, codes.shape[1], axis=1)  # (L + 1, N): from the text so far to each prefix
    for i, character in enumerate(text, 1):
        best = np.empty_like(distances)
        best[0] = i
        np.minimum(distances[1:] + 1, distances[:-1] + (codes != ord(character)), out=best[1:])
        distances = np.minimum.accumulate(best - rows, axis=0) + rows  # insertions, from first to last
    return distances[lengths, np.arange(codes.shape[1])]
