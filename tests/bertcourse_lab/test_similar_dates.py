"""A memory of written dates: the nearest by edit distance, and what it gets right."""

from hypothesis import given
from hypothesis import strategies as st

from bertcourse.decoders.dates import DateExample, date_examples
from bertcourse_lab.similar_dates import character_accuracy, nearest_examples

words = st.text(alphabet="abcd", max_size=7)


def plain_edit_distance(a: str, b: str) -> int:
    """Wagner & Fischer 1974, one cell after the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


@given(words, st.lists(words, min_size=1, max_size=5))
def test_the_nearest_example_is_nearest_by_plain_edit_distance(text, others):
    train = [DateExample(other, str(number), "") for number, other in enumerate(others)]
    (found,) = nearest_examples([text], train, block_size=2)
    distances = [plain_edit_distance(text, other) for other in others]
    assert int(found.iso) == distances.index(min(distances))


def test_memory_alone_does_not_solve_it():
    train, test = date_examples(3000, 60)
    found = nearest_examples([example.written for example in test], train)
    assert all(near.iso != example.iso for near, example in zip(found, test))
    same = nearest_examples([train[7].written], train)
    assert same[0].iso == train[7].iso


def test_characters_are_right_in_their_places():
    examples = [DateExample("", "1987-03-12", ""), DateExample("", "2001-01-01", "")]
    assert character_accuracy(["1987-03-12", "2001-01-01"], examples) == 1
    assert character_accuracy(["1987-03-21", ""], examples) == 8 / 20
    assert character_accuracy(["987-03-121", "2001-01-01"], examples) == 10 / 20
