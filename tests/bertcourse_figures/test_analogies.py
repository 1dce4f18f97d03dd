"""Analogies: what is listed as near is what torch finds, the plane is true for a, b, c and the tip, names hide none."""

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from bertcourse_figures.analogies import STOPS, explore_analogies, show_axis
from bertcourse_figures.interactive import Figure
from live_figures import WIDTHS, numbers

SVG = "{http://www.w3.org/2000/svg}"
WORDS = "man king woman queen boy girl he she lord lady river tea clerk governess".split()
ASKED = [("man", "king", "woman", "queen"), ("boy", "girl", "lord", "lady"), ("he", "clerk", "she", "")]
COUNT = 4


def table() -> torch.Tensor:
    """Vectors in which who is a woman, and who rules, are directions among others."""
    generator = torch.Generator().manual_seed(5)
    vectors = 0.5 * torch.randn(len(WORDS), 12, generator=generator, dtype=torch.double)
    woman, rules = 2 * torch.nn.functional.normalize(torch.randn(2, 12, generator=generator, dtype=torch.double), dim=1)
    for word in ("woman", "queen", "girl", "she", "lady", "governess"):
        vectors[WORDS.index(word)] += woman
    for word in ("king", "queen", "lord", "lady"):
        vectors[WORDS.index(word)] += rules
    return 3 * vectors


def figure(**change) -> Figure:
    return explore_analogies(WORDS, table(), change.pop("analogies", ASKED), COUNT, **change)


def cosines(a: str, b: str, c: str, part: float = 1.0) -> torch.Tensor:
    """Of all words with c + part · (b − a), all of length 1."""
    unit = torch.nn.functional.normalize(table(), dim=1)
    one, other, third = (unit[WORDS.index(word)] for word in (a, b, c))
    return torch.nn.functional.cosine_similarity(unit, (third + part * (other - one))[None])


def ranked(a: str, b: str, c: str, part: float = 1.0) -> list[tuple[str, float]]:
    """All words, the nearest first."""
    near = cosines(a, b, c, part)
    return [(WORDS[i], float(near[i])) for i in near.argsort(descending=True)]


def listed(a: str, b: str, c: str, part: float = 1.0) -> list[tuple[str, float]]:
    """The nearest words until there are four that are none of the three, which may stand among them."""
    result: list[tuple[str, float]] = []
    for word, cosine in ranked(a, b, c, part):
        if sum(other not in (a, b, c) for other, _ in result) < COUNT or word in (a, b, c):
            result.append((word, cosine))
        else:
            break
    return result[: COUNT + 3]


def test_the_nearest_words_at_each_part_of_the_step_are_those_that_torch_finds():
    for item, (a, b, c, expected) in zip(figure().data["analogies"], ASKED, strict=True):
        assert item["words"][:3] == [a, b, c] and (item["words"][3] == expected) == (item["expected"] == 3)
        for stop, nearest in zip(STOPS, item["nearest"], strict=True):
            given = [(item["words"][place], cosine) for place, cosine in nearest]
            truth = listed(a, b, c, stop)
            shorter = min(len(given), len(truth))
            assert [word for word, _ in given][:shorter] == [word for word, _ in truth][:shorter]
            assert sum(word not in (a, b, c) for word, _ in given) == COUNT
            np.testing.assert_allclose([n for _, n in given], [dict(truth)[w] for w, _ in given], atol=6e-5)


def test_the_plane_keeps_all_distances_between_a_b_c_and_shortens_the_others():
    unit = torch.nn.functional.normalize(table(), dim=1)
    for item in figure().data["analogies"]:
        points = torch.tensor(item["points"], dtype=torch.double)
        truth = torch.cdist(*[unit[[WORDS.index(word) for word in item["words"]]]] * 2)
        drawn = torch.cdist(points, points)
        assert torch.allclose(drawn[:3, :3], truth[:3, :3], atol=3e-4)
        assert (drawn <= truth + 3e-4).all() and (drawn[3:, 3:] < truth[3:, 3:] - 0.01).any()


def test_words_tell_what_comes_out_with_the_three_left_out_and_allowed():
    said, right = repr(figure()), [0, 0]
    for a, b, c, expected in ASKED:
        everything = ranked(a, b, c)
        others = [pair for pair in everything if pair[0] not in (a, b, c)]
        (best, cosine), (first, higher) = others[0], everything[0]
        right = [right[0] + (best == expected), right[1] + (first == expected)]
        told = f"{b} − {a} + {c} is nearest to {best} {cosine:.2f}, with all words allowed to {first} {higher:.2f}"
        assert told in said
    assert said.endswith(f"As expected: {right[0]} of 2; with all words allowed, {right[1]}.")
    assert right[0] > right[1]  # the trick is seen in these vectors


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="V different words"):
        explore_analogies(WORDS[1:], table(), ASKED)
    with pytest.raises(ValueError, match="none for .*programmer"):
        figure(analogies=[("man", "programmer", "woman", "")])
    with pytest.raises(ValueError, match=r"1 to 10 of \(a, b, c, expected\)"):
        figure(analogies=[("man", "king", "woman")])
    with pytest.raises(ValueError, match="span a plane"):
        figure(analogies=[("man", "king", "man", "")])


@pytest.mark.parametrize("width", WIDTHS)
def test_an_analogy_is_picked_stepped_and_tried_with_all_words(shown, width):  # noqa: F811
    tab = shown(figure(), width=width)
    slider, leave = tab.get_by_role("slider"), tab.get_by_role("button", name="leave out")

    def agrees(which: int, part: float, left_out: bool) -> None:
        a, b, c, _ = ASKED[which]
        everything = ranked(a, b, c, part)
        best, cosine = next(pair for pair in everything if not left_out or pair[0] not in (a, b, c))
        said = tab.locator(".say").inner_text()
        formula = f"{b} − {a} + {c}" if part == 1 else f"{c} + {part:.2f} · ({b} − {a})"
        assert said.startswith(f"{formula} is nearest to “{best}” (cosine {cosine:.3f})")
        hidden = f"Nearer still is “{everything[0][0]}” ({everything[0][1]:.3f})"
        assert (hidden in said) == (everything[0][0] != best)
        rows = [row.split(" ")[0] for row in tab.locator(".row .word").all_inner_texts()]
        written = [numbers(text)[0] for text in tab.locator(".row .cosine").all_inner_texts()]
        assert rows == [word for word, _ in everything][: len(rows)]
        np.testing.assert_allclose(written, [cosine for _, cosine in everything][: len(rows)], atol=5.6e-4)
        out = {text.split(" ")[0] for text in tab.locator(".row.out .word").all_inner_texts()}
        assert out == ({a, b, c} & set(rows) if left_out else set())
        assert [text.split(" ")[0] for text in tab.locator(".row.best .word").all_inner_texts()] == [best]
        # The tip lies where the same step as from a to b leads from c.
        marks = {mark.text_content(): mark for mark in tab.locator("circle.mark").all()}
        at = {w: np.array([float(marks[w].get_attribute(k)) for k in ("cx", "cy")]) for w in (a, b, c)}
        tip = np.array([float(tab.locator(".tip").get_attribute(key)) for key in ("cx", "cy")])
        np.testing.assert_allclose(tip, at[c] + part * (at[b] - at[a]), atol=0.35)

    agrees(0, 1.0, True)
    leave.click()
    agrees(0, 1.0, False)
    slider.press("ArrowLeft")
    agrees(0, 0.75, False)
    tab.get_by_role("button", name="boy → girl, lord → ?").press("Enter")
    agrees(1, 0.75, False)
    slider.press("Home")
    agrees(1, 0.0, False)  # the tip is c itself
    leave.click()
    slider.press("End")
    agrees(1, 1.5, True)
    tab.get_by_role("button", name="he → clerk, she → ?").click()
    agrees(2, 1.5, True)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = [name.bounding_box() for name in tab.locator("text.name").all()]
    for one, other in combinations(boxes, 2):
        apart = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        above = one["y"] + one["height"] <= other["y"] + 4 or other["y"] + other["height"] <= one["y"] + 4
        assert apart or above


def rows_of_axis(figure: Figure, narrow: bool) -> list[tuple[str, float, float, str]]:
    """Each word that is written, with its place and which of its ends that is."""
    drawing = ElementTree.fromstring((figure.still.narrow if narrow else figure.still).svg())
    found = []
    for text in drawing.iter(SVG + "text"):
        anchor = re.search(r"text-anchor:(\w+)", text.get("style") or "")
        found.append((text.text, float(text.get("x")), float(text.get("y")), anchor[1] if anchor else "middle"))
    return found


@pytest.mark.parametrize("narrow", [False, True])
def test_words_on_the_axis_are_sorted_and_none_covers_another(narrow):
    words, positions = WORDS, torch.linspace(-1, 1, len(WORDS))[torch.randperm(len(WORDS))]
    drawn = show_axis(words, positions, ("he", "she"), marked=["clerk"])
    rows = [row for row in rows_of_axis(drawn, narrow) if row[2] > 40 and row[0] in words]
    assert [row[0] for row in rows] == [words[i] for i in positions.argsort()]
    assert all(after[2] - before[2] >= 20 for before, after in zip(rows, rows[1:]))
    svg = (drawn.still.narrow if narrow else drawn.still).svg()
    middle = (360 if narrow else 740) / 2
    dots = [float(x) + 4.5 for x in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="9" height="9"', svg)]
    np.testing.assert_allclose([dot - middle for dot in dots], (middle - 14) * positions.sort().values, atol=0.02)
    names = ", ".join(f"{words[i]} {positions[i]:.2f}".replace("-", "−") for i in positions.argsort())
    assert repr(drawn) == f"14 words from he (−) to she (+): {names}."


def test_runs_are_summed_up_by_their_median_and_their_ends():
    drawn = show_axis(["a", "b"], [[0.5, -1.0], [0.25, -0.5], [1.0, -0.75]], ("he", "she"))
    assert repr(drawn).startswith("2 words from he (−) to she (+): b −0.75 (−1.00 to −0.50), a 0.50 (0.25 to 1.00). M")
    lines = re.findall(r'<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+" stroke="[^"]+" stroke-width="3"', drawn.still.svg())
    ends = [[(float(x) - 370) / 356 for x in line] for line in lines]
    np.testing.assert_allclose(ends, [[-1.0, -0.5], [0.25, 1.0]], atol=1e-3)


def test_an_axis_that_cannot_be_drawn_is_refused():
    for words, positions in ((["a", "b"], [1.0]), (["a", "a"], [1.0, 2.0])):
        with pytest.raises(ValueError, match="N different words"):
            show_axis(words, positions, ("he", "she"))
    with pytest.raises(ValueError, match="1 to 40 words"):
        show_axis([str(i) for i in range(41)], torch.zeros(41), ("he", "she"))
    with pytest.raises(ValueError, match="marked must be of them"):
        show_axis(["a"], [1.0], ("he", "she"), marked=["b"])
