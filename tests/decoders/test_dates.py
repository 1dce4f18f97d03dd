"""Dates into ISO 8601: writings that can be read one way only, held-out dates, the vocabulary, batches."""

import datetime
from itertools import islice

import pytest
import torch

from bertcourse.decoders import EncoderDecoder, small_config
from bertcourse.decoders.dates import (
    FORMS,
    CharacterVocabulary,
    date_examples,
    number_words,
    ordinal,
    ordinal_words,
    pair_batches,
    translations,
    year_words,
)


def test_a_date_in_all_forms():
    found = {name: form(datetime.date(1987, 3, 12)) for name, form in FORMS.items()}
    assert found == {
        "British": "12 March 1987",
        "American": "March 12, 1987",
        "ordinal": "the 12th of March 1987",
        "short": "Mar 12 1987",
        "weekday": "Thursday, 12 Mar 1987",
        "dots": "12.3.1987",
        "Roman": "12.III.1987",
        "year first": "1987, March 12th",
        "day in words": "the twelfth of March, 1987",
        "all in words": "the twelfth of March, nineteen eighty-seven",
    }


def test_no_two_dates_are_written_alike():
    """So that each writing has one right answer; every day of years of all kinds."""
    seen: dict[str, datetime.date] = {}
    for year in (1800, 1801, 1810, 1811, 1900, 1909, 1990, 1999, 2000, 2001, 2009, 2010, 2011, 2020, 2099):
        day = datetime.date(year, 1, 1)
        while day.year == year:
            for form in FORMS.values():
                assert seen.setdefault(form(day), day) == day
            day += datetime.timedelta(days=1)
    assert len(seen) == 10 * 15 * 365 + 10 * 2  # 2000 and 2020 have a day more, 1800 and 1900 do not


def test_numbers_are_written_as_they_are_read():
    assert [number_words(n) for n in (0, 13, 20, 99)] == ["zero", "thirteen", "twenty", "ninety-nine"]
    assert [ordinal_words(n) for n in (1, 2, 5, 9, 12, 13, 21, 30)] == (
        ["first", "second", "fifth", "ninth", "twelfth", "thirteenth", "twenty-first", "thirtieth"]
    )
    assert [ordinal(n) for n in (2, 3, 11, 13, 21, 22, 30)] == ["2nd", "3rd", "11th", "13th", "21st", "22nd", "30th"]
    assert year_words(1800) == "eighteen hundred" and year_words(2099) == "twenty ninety-nine"
    assert len({year_words(year) for year in range(1800, 2100)}) == 300


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_held_out_date_is_among_those_to_learn_from_however_written(seed):
    train, test = date_examples(seed=seed)
    assert len(train) == 20_000 and len(test) == 500
    assert not {example.iso for example in train} & {example.iso for example in test}
    assert len({example.iso for example in test}) == 500
    assert {example.form for example in train} == {example.form for example in test} == set(FORMS)


def test_a_seed_makes_the_examples():
    assert date_examples(50, 5, seed=3) == date_examples(50, 5, seed=3) != date_examples(50, 5, seed=4)


def test_text_comes_back_from_the_vocabulary():
    vocabulary = CharacterVocabulary(["12 March", "1987-03"])
    ids = vocabulary.encode("3 March 1987")
    assert ids[0] == vocabulary.start_id and ids[-1] == vocabulary.stop_id
    assert vocabulary.decode(ids) == vocabulary.decode([*ids, 5, 6]) == "3 March 1987"
    assert len(vocabulary) == len(set("12 March1987-03")) + 3
    with pytest.raises(ValueError, match="character"):
        vocabulary.encode("May")


def test_fewer_examples_than_a_batch_are_refused():
    train, _ = date_examples(4, 1)
    vocabulary = CharacterVocabulary([text for example in train for text in example[:2]])
    with pytest.raises(ValueError, match="batch_size"):
        next(pair_batches(train, vocabulary, 5))


def test_batches_hold_both_sides():
    train, _ = date_examples(40, 5)
    vocabulary = CharacterVocabulary([text for example in train for text in example[:2]])
    several = list(islice(pair_batches(train, vocabulary, 8, torch.Generator().manual_seed(0)), 5))
    found = [
        tuple(vocabulary.decode(row) for row in pair)
        for source_ids, target_ids in several
        for pair in zip(source_ids.tolist(), target_ids.tolist())
    ]
    assert sorted(found) == sorted(example[:2] for example in train)
    assert several[0][1].shape == (8, 12)


def test_a_new_model_writes_something_and_is_not_exact():
    train, test = date_examples(500, 10)
    vocabulary = CharacterVocabulary([text for example in train for text in example[:2]])
    model = EncoderDecoder(small_config(len(vocabulary), 16, 64, layers=1, heads=2)).eval()
    written = translations(model, vocabulary, [example.written for example in test])
    assert len(written) == 10 and not {example.iso for example in test} & {*written}


def test_every_writing_fits_into_the_lectures_model():
    assert len(FORMS["all in words"](datetime.date(1877, 9, 27))) + 2 <= 64
