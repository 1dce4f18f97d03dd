"""The steps of one query's attention and the moved words: what is written is what torch computes, and no name hides."""

import re
from itertools import combinations
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest
import torch

from bertcourse.self_attention import scaled_dot_product_attention
from bertcourse_figures.attention import attention_steps, projection_steps, shift_map
from bertcourse_figures.interactive import Figure

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["the", "bank", "lends", "money"]


def texts(figure: Figure) -> list[str]:
    drawing = ElementTree.fromstring(figure.still.svg())
    return ["".join(text.itertext()).replace("\u200b", "").replace("−", "-") for text in drawing.iter(SVG + "text")]


def test_the_steps_of_attention_are_what_torch_computes():
    query, keys, values = torch.randn(2), torch.randn(4, 2), torch.randn(4, 2)
    output, weights = scaled_dot_product_attention(query[None], keys, values)
    figure = attention_steps(WORDS, query, keys, values, row=1, scale=2**-0.5)
    told = [float(number) for number in re.findall(r"-?\d+\.\d\d", repr(figure).replace("−", "-"))]
    scores = keys @ query * 2**-0.5
    expected = [*torch.stack([scores, weights[0]], dim=-1).flatten().tolist(), *output[0].tolist()]
    assert told == pytest.approx(expected, abs=0.006)
    drawn = texts(figure)
    for part in (scores, weights[0], weights[0, :, None] * values, output):
        assert {f"{number:.2f}".replace("-0.00", "0.00") for number in part.flatten().tolist()} <= set(drawn)
    assert len(figure.data["captions"]) == 7 and figure.data["narrow"]


def test_a_score_is_written_as_its_sum_of_products():
    drawn = texts(attention_steps(WORDS, [1.0, -2.0], torch.ones(4, 2), torch.ones(4, 2), row=0))
    assert drawn.count("1.0·1.0") == drawn.count("+ -2.0·1.0") == drawn.count("-1.00") == 4


@pytest.mark.parametrize(
    ("words", "query", "shape", "message"),
    [(WORDS, 2, (3, 2), "with L words"), (WORDS, 4, (4, 4), "at most 3"), (["a"] * 7, 2, (7, 2), "at most 6")],
)
def test_attention_that_does_not_fit_is_refused(words, query, shape, message):
    with pytest.raises(ValueError, match=message):
        attention_steps(words, torch.ones(query), torch.ones(shape), torch.ones(shape), row=0)


def test_projections_are_products():
    x, matrix = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, 20.0]])
    figure = projection_steps(["cat"], x, {"query": matrix, "key": 2 * matrix, "value": 3 * matrix})
    assert {"3", "40", "6", "80", "9", "120"} <= set(texts(figure))
    assert "key [[ 6. 80.]]" in repr(figure)
    with pytest.raises(ValueError, match="named query, key and value"):
        projection_steps(["cat"], x, {"key": matrix})


def test_moved_words_are_told_and_no_name_covers_another():
    before = torch.tensor([[0.1, 0.1], [1.3, 1.3], [1.9, 0.0], [2.2, 0.1]])
    after = torch.tensor([[1.4, 0.4], [1.7, 0.6], [2.0, 0.2], [2.0, 0.2]])
    told = shift_map({"the bank lends money": (before, after)}, ("money", "water"), marked="bank")
    assert told == "the bank lends money: (1.3, 1.3) → (1.7, 0.6)"
    (ax,) = plt.gcf().axes
    names = [text for text in ax.texts if text.get_text()]
    assert [text.get_text() for text in names] == WORDS
    boxes = [text.get_window_extent() for text in names]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    plt.close()


def test_a_name_without_room_is_written_all_the_same():
    crowd = torch.zeros(30, 2)
    shift_map({" ".join(map(str, range(30))): (crowd, crowd)}, ("money", "water"))
    assert len([text for text in plt.gca().texts if text.get_text()]) == 30
    plt.close()
    with pytest.raises(ValueError, match="vectors"):
        shift_map({"a b": (crowd, crowd)}, ("money", "water"))
    plt.close()
