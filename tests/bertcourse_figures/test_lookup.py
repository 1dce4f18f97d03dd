"""A lookup is drawn with the product's own numbers, the same in both forms, and only the word's row is left."""

import re
from xml.etree import ElementTree

import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.lookup import COLUMNS, NARROW, WIDE, rows_around, show_lookup
from bertcourse_figures.schematic import signed

SVG = "{http://www.w3.org/2000/svg}"
WORDS = [f"w{number}" for number in range(2000)]


def texts(figure: Figure, step: int | None = None, narrow: bool = False) -> list[str]:
    """What is written, at one step or at all of them."""
    drawing = ElementTree.fromstring((figure.still.narrow if narrow else figure.still).svg())
    groups = [group for group in drawing.iter(SVG + "g") if group.get("data-step")]
    kept = groups if step is None else [group for group in groups if group.get("data-step") == str(step)]
    return ["".join(text.itertext()).replace("\u200b", "") for group in kept for text in group.iter(SVG + "text")]


@pytest.mark.parametrize("row", [0, 1, 1000, 1998, 1999])
def test_the_last_step_is_the_product_of_the_one_hot_vector_and_the_table(row):
    table = torch.randn(2000, 50)
    figure = show_lookup(WORDS, table, WORDS[row])
    product = torch.nn.functional.one_hot(torch.tensor(row), 2000).float() @ table
    assert torch.equal(product, table[row])
    for narrow, width, digits in ((False, WIDE, 2), (True, NARROW, 1)):
        written = texts(figure, 5, narrow)
        drawn = product[: COLUMNS[width]].tolist()
        assert written[: len(drawn)] == [signed(value, f".{digits}f") for value in drawn]
        assert f"x W = W[{row}]" in written and "1 × 50" in written
        hot = [text for text in texts(figure, 2, narrow) if text in ("0", "1")]
        assert hot.count("1") == 1 and len(hot) >= 5
    said = [float(number.replace("−", "-")) for number in re.findall(r"[−\d]+\.\d\d", repr(figure))]
    assert said == pytest.approx(product[:8].tolist(), abs=0.0051)
    assert repr(figure).startswith(f"“w{row}” is word {row} of 2,000, counted from 0.")


def test_both_forms_have_five_steps_and_stay_inside():
    for size in (2, 50):
        figure = show_lookup(["the", "governess", "bank"], torch.randn(3, size), "governess")
        assert figure.still.captions == figure.still.narrow.captions and len(figure.still.captions) == 5
        for drawing in (figure.still, figure.still.narrow):
            for x, y in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"', drawing.svg()):
                assert 0 <= float(x) <= drawing.width and 0 <= float(y) <= drawing.height


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 10, 50])
def test_the_rows_that_are_drawn_rise_have_the_word_and_name_each_gap(count):
    for row in range(count):
        places = rows_around(row, count)
        kept = [place for place in places if place is not None]
        assert row in kept and kept[0] == 0 and kept[-1] == count - 1 and kept == sorted(set(kept))
        filled = [place if place is not None else "gap" for place in places]
        for before, after in zip(filled, filled[1:]):
            assert "gap" in (before, after) or after == before + 1
        assert len(places) <= 7


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="each of 3 words"):
        show_lookup(["a", "b", "c"], torch.ones(2, 4), "a")
    with pytest.raises(ValueError, match="once; got .* 2 of it"):
        show_lookup(["a", "a"], torch.ones(2, 4), "a")
    with pytest.raises(ValueError, match="finite"):
        show_lookup(["a", "b"], [[1.0, float("nan")], [0.0, 1.0]], "a")
