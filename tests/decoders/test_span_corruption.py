"""Span corruption: the paper's example, a text that comes back from its two parts, counts that T5's code has."""

from collections import Counter

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertcourse.decoders.span_corruption import corrupt, fill, random_parts, random_spans
from bertcourse_figures import decoders as figures

WORDS = "Thank you for inviting me to your party last week .".split()
settings_of_spans = st.tuples(st.integers(2, 200), st.floats(0.01, 0.99), st.floats(1.0, 10.0), st.integers(0, 2**32))


def test_the_papers_example():
    """Raffel et al. 2020, figure 2."""
    inputs, targets = corrupt(WORDS, [(2, 4), (8, 9)], ["<X>", "<Y>", "<Z>"])
    assert " ".join(inputs) == "Thank you <X> me to your party <Y> week ."
    assert " ".join(targets) == "<X> for inviting <Y> last <Z>"
    assert fill(inputs, targets, ["<X>", "<Y>", "<Z>"]) == WORDS


@given(settings_of_spans)
@settings(max_examples=200)
def test_a_text_comes_back_from_its_two_parts(drawn):
    length, rate, mean_length, seed = drawn
    generator, sentinels = torch.Generator().manual_seed(seed), list(range(-300, 0))
    inputs, targets = corrupt(range(length), random_spans(length, rate, mean_length, generator), sentinels)
    assert fill(inputs, targets, sentinels) == list(range(length))
    count = len(targets) - (length - (len(inputs) - sum(token < 0 for token in inputs)))
    assert [token for token in inputs if token < 0] == sentinels[: count - 1]
    assert [token for token in targets if token < 0] == sentinels[:count] and targets[-1] == sentinels[count - 1]


@given(settings_of_spans)
@settings(max_examples=200)
def test_spans_have_the_share_and_the_mean_length_that_were_asked_for(drawn):
    length, rate, mean_length, seed = drawn
    spans = random_spans(length, rate, mean_length, torch.Generator().manual_seed(seed))
    hidden = sum(stop - start for start, stop in spans)
    assert hidden == min(max(round(length * rate), 1), length - 1)
    assert len(spans) == min(max(round(hidden / mean_length), 1), hidden, length - hidden)
    edges = [-1, *(place for span in spans for place in span)]
    assert all(before < after for before, after in zip(edges, edges[1:])) and edges[-1] <= length


def test_the_papers_defaults_hide_fifteen_percent_in_spans_of_three():
    """Of 512 tokens 77, in 26 spans: a sentinel for each, and one for the end."""
    inputs, targets = corrupt(range(512), random_spans(512), range(-100, 0))
    assert (len(inputs), len(targets)) == (512 - 77 + 26, 77 + 26 + 1)


def test_every_token_is_hidden_as_often_as_any_other_and_the_ends_less():
    generator, counts = torch.Generator().manual_seed(0), torch.zeros(20)
    for _ in range(4000):
        for start, stop in random_spans(20, generator=generator):
            counts[start:stop] += 1
    expected = torch.tensor([1, 2, *[3] * 16, 2, 1]) * 4000 / 18  # one span of three tokens has 18 places
    assert ((counts - expected).abs() < 5 * expected.sqrt()).all()


def test_every_way_to_share_out_is_equally_likely():
    generator = torch.Generator().manual_seed(0)
    counts = Counter(tuple(random_parts(5, 3, generator)) for _ in range(6000))
    assert len(counts) == 6  # 1+1+3 in three orders, 1+2+2 in three
    assert all(abs(count - 1000) < 5 * (6000 / 6 * 5 / 6) ** 0.5 for count in counts.values())


def test_what_a_model_leaves_out_stands_for_nothing():
    first, second, third = "<X>", "<Y>", "<Z>"
    assert fill(["a", first, "b", second], [first, "x"], [first, second, third]) == ["a", "x", "b"]
    assert fill(["a", first], ["stray", third, "y", first, "x"], [first, second, third]) == ["a", "x"]
    assert fill(["a"], [], [first]) == ["a"]


def test_a_seed_makes_the_spans():
    one, two = (random_spans(100, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1))
    assert one == two != random_spans(100, generator=torch.Generator().manual_seed(2))


@given(st.integers(2, 30), st.floats(0.01, 0.6), st.floats(1.0, 4.0), st.integers(0, 2**32))
def test_the_figure_cuts_as_the_chapter_does(length, rate, mean_length, seed):
    words = [f"word{number}" for number in range(length)]
    spans = random_spans(length, rate, mean_length, torch.Generator().manual_seed(seed))
    spans = spans[: len(figures.SENTINELS) - 1]
    assert figures.corrupt(words, spans) == corrupt(words, spans, figures.SENTINELS)
