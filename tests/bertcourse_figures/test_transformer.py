"""A transformer's figures show what runs through it, in both forms, and refuse what does not fit."""

import re

import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.transformer import show_block, show_heads, show_input, show_stack

TOKENS = "[CLS] it rains [SEP]".split()
X_OF_TEXT = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)"')


def parts(heads: int = 12) -> dict:
    """Four tokens of 48 numbers, with random heads; head 1 looks at the word before."""
    weights = torch.softmax(torch.randn(heads, 4, 4), dim=-1)
    weights[1] = torch.tensor([[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    projected = {name: torch.randn(4, 48) for name in ("query", "key", "value")}
    return {"x": torch.randn(4, 48), "projected": projected, "weights": weights}


def inputs() -> Figure:
    vectors = {name: torch.randn(4, 48) for name in ("token", "segment", "position")}
    rows = {"token": 1000, "segment": 2, "position": 64}
    return show_input(TOKENS, [0, 0, 1, 1], vectors, sum(vectors.values()), rows)


def heads(number: int = 12) -> Figure:
    given = parts(number)
    return show_heads(TOKENS, **given, joined=torch.randn(4, 48), output=torch.randn(4, 48), head=1)


def block() -> Figure:
    given = parts()
    inner = torch.zeros(4, 192)
    inner[:, :48] = 1.0
    return show_block(given["x"], given["weights"], torch.randn(4, 48), inner, torch.randn(4, 48), 6)


def stack() -> Figure:
    states = [torch.eye(4, 48), torch.eye(4, 48), -torch.eye(4, 48)]
    return show_stack(TOKENS, states, torch.randn(48).tanh())


ALL = {"input": inputs, "heads": heads, "two heads": lambda: heads(2), "block": block, "stack": stack}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_both_forms_have_the_same_steps_and_stay_inside(make):
    figure = make()
    assert figure.still.captions == figure.still.narrow.captions and len(figure.still.captions) >= 4
    for drawing in (figure.still, figure.still.narrow):
        for x, y in X_OF_TEXT.findall(drawing.svg()):
            assert 0 <= float(x) <= drawing.width and 0 <= float(y) <= drawing.height
    assert figure.still.narrow.width == 360


def test_words_say_shapes_and_what_was_computed():
    assert "a table of 1,000 × 48" in repr(inputs()) and "4 × 48 numbers come out" in repr(inputs())
    said = repr(heads())
    assert "12 heads of 4 columns" in said
    assert "Head 1 attends: [CLS] → [CLS], it → [CLS], rains → it, [SEP] → rains." in said
    assert "48 → 192 → 48" in repr(block()) and "Of the 192 inner numbers, 25% are above 0.1" in repr(block())
    assert "Cosine of each block's output with its input: 1.00, -1.00." in repr(stack())


def drawn_texts(figure: Figure) -> list[list[str]]:
    """What is written in both forms."""
    return [re.findall(r">([^<>]+)<", drawing.svg()) for drawing in (figure.still, figure.still.narrow)]


def test_both_forms_show_the_sum_both_norms_and_the_cosines():
    for texts in drawn_texts(inputs()):
        assert "sum" in texts and any("8 of 48 numbers" in text for text in texts)
    for texts in drawn_texts(block()):
        assert texts.count("LN") == texts.count("+") == 2
        assert "M = LN(X + A)" in texts and "LN(M + F)" in texts and "× 6, each with weights of its own" in texts
    for texts in drawn_texts(stack()):
        assert [text for text in texts if text.startswith(("block", "cos"))] == [
            "block 0", "cos 1.00", "block 1", "cos -1.00"
        ]  # fmt: skip
    for texts in drawn_texts(heads()):
        assert "queries" in texts or "query" in texts
    assert "drawn: 48 columns" in drawn_texts(heads())[0]


def test_the_sum_is_that_of_the_three_vectors():
    vectors = {name: torch.full((4, 48), size) for name, size in (("token", 1.0), ("segment", 1.0), ("position", -2.0))}
    rows = {"token": 1000, "segment": 2, "position": 64}
    svg = show_input(TOKENS, [0] * 4, vectors, torch.ones(4, 48), rows).still.svg()
    drawn = svg.split('data-step="5"')[1].split('data-step="6"')[0]
    assert ">sum<" in drawn and "var(--plus" not in drawn and "var(--minus" not in drawn  # 1 + 1 - 2 is no colour


def test_what_does_not_fit_is_refused():
    given = parts()
    with pytest.raises(ValueError, match=r"joined must be a matrix with a row for each of 4 tokens.*\(3, 48\)"):
        show_heads(TOKENS, **given, joined=torch.randn(3, 48), output=torch.randn(4, 48))
    with pytest.raises(ValueError, match="head 12 do not fit"):
        show_heads(TOKENS, **given, joined=given["x"], output=given["x"], head=12)
    with pytest.raises(ValueError, match="must name token, segment and position"):
        show_input(TOKENS, [0] * 4, {"token": torch.randn(4, 8)}, torch.randn(4, 8), {"token": 9})
    with pytest.raises(ValueError, match="finite"):
        show_stack(TOKENS, [given["x"], given["x"] * float("nan")], torch.zeros(48))
