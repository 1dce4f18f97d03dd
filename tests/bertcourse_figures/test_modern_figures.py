"""Beyond BERT: four objectives, rotary positions and local attention; what is drawn and said is what was given."""

import re

import numpy as np
import pytest
import torch
from test_decoder_figures import PLACES, masks, step_texts

from bertcourse.beyond_bert.encoder import local_mask, turn
from bertcourse_figures.interactive import Figure
from bertcourse_figures.objectives import show_objectives
from bertcourse_figures.rotary import axis, explore_rotary, scores_at
from bertcourse_figures.sight import scores_of, show_sight
from browsers import serious_findings
from live_figures import OUTSIDE, PAGES, WIDTHS, numbers

WORDS = "the old boatman rowed <two> strangers across the river".split()
HIDDEN, AGAIN, SPAN, GUESSES = [2, 8], [1, 5, 8], (4, 6), ["fisherman", "river"]


def objectives(**other) -> Figure:
    given = dict(words=WORDS, hidden=HIDDEN, span=SPAN, guesses=GUESSES, again=AGAIN) | other
    return show_objectives(**given)


def sentence(special: dict[int, str]) -> list[str]:
    """What is written in the boxes, with the SVG's escapes."""
    words = [special.get(place, word) for place, word in enumerate(WORDS)]
    return [word.replace("<", "&lt;").replace(">", "&gt;") for word in words]


def test_each_model_hides_and_asks_for_its_own_words():
    figure = objectives()
    for step, hidden in ((2, HIDDEN), (3, AGAIN)):
        for texts in step_texts(figure, step):
            assert texts[2:] == [*sentence(dict.fromkeys(hidden, "[MASK]")), *(WORDS[place] for place in hidden)]
            assert texts[1].startswith(f"a question at {len(hidden)} of 9")
    for texts in step_texts(figure, 4):
        assert texts[2:] == [*sentence({4: "[MASK]", 5: "[MASK]"}), "&lt;two&gt;", "strangers"]
    for texts in step_texts(figure, 5):
        assert texts == ["&lt;two&gt;", "place 1", "strangers", "place 2"]
    for texts in step_texts(figure, 6):
        assert texts[1].startswith("a question at 9 of 9") and texts[2:] == sentence({2: "fisherman"})


def test_electra_asks_at_every_word_and_a_right_guess_is_original():
    for texts in step_texts(objectives(), 7):
        assert texts == ["original"] * 2 + ["replaced"] + ["original"] * 6
    assert "“fisherman” replaced, 8 original. “river” was guessed right" in repr(objectives())
    both = repr(objectives(guesses=["boatman", "river"]))
    assert "none replaced, 9 original. “boatman” and “river” were guessed right, and so count as original." in both
    assert "guessed right" not in repr(objectives(guesses=["fisherman", "lake"]))


def test_captions_and_words_count_the_questions():
    figure = objectives()
    _, bert, roberta, own, border, generator, electra = figure.data["captions"]
    assert "2 of 9 words and asks for them: 2 questions" in bert and "3 of 9 words at other places" in roberta
    assert "here 2 of 9" in own and "“rowed” and “across”" in border and "4 questions at 2 of 9 words" in border
    assert (
        "“fisherman” for “boatman” and “river” for “river”" in generator and "9 questions at 9 of 9" in electra.lower()
    )
    for told in ("BERT: 2 of 9", "RoBERTa, the next time: 3 of 9", "SpanBERT: 2 of 9", "ELECTRA: 9 of 9"):
        assert told in repr(figure)


@pytest.mark.parametrize("number", [0, 1])
def test_the_borders_are_joined_to_both_words_beside_the_span(number):
    """The line that leads to the second questions begins at one word beside the span and ends at the other."""
    drawing = (objectives().still, objectives().still.narrow)[number]
    part = drawing.svg().split('<g data-step="5"')[1].split("<g data-step=")[0]
    framed = [tuple(map(float, found)) for found in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', part)]
    (line,) = re.findall(r'<path d="(M[^"]*)" stroke="var\(--key', part)
    points = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", line)]
    along = number  # words run to the right, or down
    for (frame, point), other in zip(((framed[0], points[0]), (framed[1], points[-1])), (framed[1], framed[0])):
        assert abs(point[along] - frame[along]) < abs(point[along] - other[along])


def test_objectives_that_do_not_fit_are_refused():
    for name, given, message in (
        ("words", ["a"] * 13, "3 to 12 words; got 13"),
        ("words", ["Schifffahrtsgesellschaft"] * 9, "short enough"),
        ("hidden", [], "hidden must hold"),
        ("hidden", [8, 2], "hidden must hold"),
        ("hidden", [2, 9], "from 0 to 8"),
        ("again", [-1], "again must hold"),
        ("again", HIDDEN, "other places"),
        ("span", (0, 2), "word on either side"),
        ("span", (6, 9), "word on either side"),
        ("span", (4, 4), "word on either side"),
        ("guesses", ["lake"], "one for each of 2"),
    ):
        with pytest.raises(ValueError, match=message):
            objectives(**{name: given})


def long_objectives() -> Figure:
    words = ["riverbanks"] * 12
    return show_objectives(words, [0, 11], (1, 11), ["boats", "riverbanks"], [5])


def rotary(d: int = 12, **other) -> tuple[Figure, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    query, key = torch.randn(2, d, generator=generator)
    return explore_rotary(query, key, turn, **other), query, key


def as_complex(vector: torch.Tensor) -> np.ndarray:
    """Each pair of columns (i, i + d/2) as a complex number."""
    first, second = vector.double().numpy().reshape(2, -1)
    return first + 1j * second


def turns(vector: torch.Tensor, position: int, theta: float = 10_000.0) -> np.ndarray:
    """The pairs, turned as complex numbers: RoFormer's equations 13 and 15."""
    pairs = as_complex(vector)
    return pairs * np.exp(1j * position * theta ** (-np.arange(len(pairs)) / len(pairs)))


def score_of(query: torch.Tensor, key: torch.Tensor, m: int, n: int, theta: float = 10_000.0) -> float:
    return float((turns(query, m, theta) * turns(key, n, theta).conj()).real.sum() / len(query) ** 0.5)


@pytest.mark.parametrize("theta", [10_000.0, 160_000.0])
def test_the_curve_is_the_score_at_each_distance(theta):
    figure, query, key = rotary(d=32, theta=theta)
    expected = [score_of(query, key, 30, 30 + distance, theta) for distance in range(-24, 25)]
    np.testing.assert_allclose(figure.data["scores"], expected, atol=1e-5)
    assert f"−8: {expected[16]:.2f}".replace("-", "−") in repr(figure)
    assert f"Query at 32, key at 29: score {expected[21]:.2f}".replace(" -", " −") in repr(figure)


def test_moving_the_pair_leaves_the_score_as_it_is():
    figure, query, key = rotary()
    for distance in (-9, 0, 20):
        scores = scores_at(query, key, turn, 10_000.0, 64, distance)
        assert len(scores) == 65 - abs(distance) and float(scores.max() - scores.min()) < 1e-5
    assert re.search(r"differs by less than 1e-0[56]\.$", repr(figure))
    assert "12 columns in 6 pairs; a full turn takes 6.3 places in the fastest pair, 13,537 places" in repr(figure)


def test_the_axis_holds_all_scores_and_zero():
    for scores in ([0.0, 0.0], [-3.2, -1.1], [0.0004, 0.0021], [-17.0, 260.0]):
        low, high, ticks = axis(np.array(scores))
        assert low <= min(*scores, 0) and max(*scores, 0) <= high and 2 <= len(ticks) <= 7 and 0.0 in ticks
        np.testing.assert_allclose(np.diff(ticks), ticks[1] - ticks[0])


def test_rotary_settings_that_do_not_fit_are_refused():
    vector = torch.ones(4)
    for query, key, other, message in (
        (torch.ones(5), torch.ones(5), {}, "d even"),
        (vector, torch.ones(6), {}, r"\(4,\) and \(6,\)"),
        (vector[None], vector[None], {}, "same shape"),
        (vector, vector, {"theta": 1.0}, "theta must be above 1"),
        (vector, vector, {"most": 0}, "most from 1 to 512"),
        (vector, torch.tensor([1.0, 2.0, float("nan"), 0.0]), {}, "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            explore_rotary(query, key, turn, **other)


@pytest.mark.parametrize("width", WIDTHS)
def test_hands_and_score_follow_both_sliders(shown, width):  # noqa: F811
    figure, query, key = rotary()
    tab = shown(figure, width=width)
    pair, distance = (tab.get_by_role("slider", name=name) for name in ("where the pair stands", "distance"))

    def drag(slider, to: int) -> None:
        slider.evaluate("(node, to) => { node.value = to; node.dispatchEvent(new Event('input')); }", to)

    def agrees(m: int, n: int) -> tuple[list[str], str]:
        for role, vector, place in (("query", query, m), ("key", key, n)):
            lines = tab.locator(f"line.hand.{role}").all()
            ends = [[float(line.get_attribute(side)) for side in ("x1", "y1", "x2", "y2")] for line in lines]
            drawn = [np.angle((x2 - x1) + 1j * (y1 - y2)) for x1, y1, x2, y2 in ends]
            expected = np.angle(turns(vector, place))
            assert np.abs(np.angle(np.exp(1j * (np.array(drawn) - expected)))).max() < 0.001
        apart = np.degrees(np.abs(np.angle(turns(query, m) * turns(key, n).conj())))
        written = tab.locator("text.apart").all_text_contents()
        np.testing.assert_allclose([numbers(text)[0] for text in written], apart, atol=0.51)
        score = score_of(query, key, m, n)
        said = tab.locator(".say").inner_text()
        assert said.startswith(f"Query at {m}, key at {n}: score {score:.2f}.".replace(" -", " −"))
        assert numbers(tab.locator("text.number").text_content()) == [pytest.approx(score, abs=0.006)]
        # the dot lies on the curve
        points = re.findall(r"([\d.]+) ([\d.]+)", tab.locator("path.curve").get_attribute("d"))
        dot = tab.locator("circle.score")
        on = points[n - m + 24]
        assert [float(dot.get_attribute(side)) for side in ("cx", "cy")] == pytest.approx([*map(float, on)], abs=0.1)
        return written, dot.get_attribute("cy")

    before = agrees(32, 29)
    assert "Move the pair" in tab.locator(".say").inner_text()
    drag(pair, 40)
    assert agrees(40, 37) == before
    assert "from 32 to 40: every hand turned, the fastest by 458°" in tab.locator(".say").inner_text()
    drag(distance, 10)
    agrees(40, 50)
    assert f"the score was {score_of(query, key, 40, 37):.2f} at −3" in tab.locator(".say").inner_text().replace(
        "-", "−"
    )
    drag(pair, 64)  # the key would leave the row
    agrees(54, 64)
    assert pair.input_value() == "54" and "Both must stand between 0 and 64" in tab.locator(".say").inner_text()
    drag(distance, 24)
    assert distance.input_value() == "10" and distance.get_attribute("aria-valuetext") == "distance 10"
    distance.press("ArrowLeft")
    agrees(54, 63)
    assert "Both must" not in tab.locator(".say").inner_text()
    titles = tab.locator(".face title").all_text_contents()
    adds = [numbers(title)[-1] for title in titles]
    assert sum(adds) == pytest.approx(score_of(query, key, 54, 63), abs=0.004)


def sight() -> Figure:
    return show_sight()


def big_sight() -> Figure:
    return show_sight(length=24, reach=3, layers=6, global_every=4)


def within(reach: int, length: int) -> set[tuple[int, int]]:
    return {(i, j) for i in range(length) for j in range(length) if abs(i - j) <= reach}


def test_masks_are_full_and_a_band():
    figure = sight()
    assert masks(figure, 1) == {("plus", *place) for place in within(16, 16)}
    assert masks(figure, 2) == {("value", *place) for place in within(2, 16)}
    for step, texts in ((1, ["global layer", "256 scores"]), (2, ["local layer", f"{len(within(2, 16))} scores"])):
        assert step_texts(figure, step) == [texts, texts]


@pytest.mark.parametrize(("length", "reach"), [(5, 1), (16, 2), (24, 11), (1024, 64)])
def test_scores_are_the_places_that_the_mask_allows(length, reach):
    assert scores_of(length, reach) == int(local_mask(length, reach).sum()) and scores_of(length) == length**2


def seen_words(figure: Figure, step: int, role: str) -> list[list[int]]:
    """Which words of a row stand out at a step, in both forms, by their place in the row of all words."""
    found = []
    for drawing in (figure.still, figure.still.narrow):
        parts = drawing.svg().split('<g data-step="')
        boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*stroke="var\(--line', parts[4])
        columns = sorted({float(x) for x, _ in boxes})
        marked = re.findall(rf'<rect x="([\d.]+)" y="[\d.]+"[^>]*stroke="var\(--{role}', parts[step + 1])
        found.append([columns.index(float(x)) for x in marked])
    return found


def test_the_view_grows_layer_by_layer_from_the_top():
    figure = sight()
    for step, role, words in ((3, "query", [8]), (4, "value", range(6, 11)), (5, "value", range(4, 13))):
        assert seen_words(figure, step, role) == [[*words], [*words]]
    assert seen_words(figure, 6, "plus") == [[*range(16)]] * 2
    assert "From the top, the layers are local, local, global; through them word 9 sees 5, 9, 16 words." in repr(figure)
    captions = figure.data["captions"]
    assert "5 of 16 words" in captions[3] and "9 of 16 words" in captions[4] and "all 16 words" in captions[5]
    assert "sees 7, 24, 24, 24, 24, 24 words" in repr(big_sight())
    assert captions[6].startswith("A text of 8,192 tokens")
    assert "Everything is seen already" in big_sight().data["captions"][5]


def test_a_long_text_costs_a_global_layer_many_times_more():
    """8,192 tokens and a reach of 64: the square, and a band of 129 without its two corners."""
    far = 8192**2, 129 * 8192 - 64 * 65
    last = sight().data["captions"][-1]
    assert numbers(last.replace(",", ""))[2:5] == [*far, round(far[0] / far[1])]
    assert f"{(far[0] + 2 * far[1]) / 3 / far[0]:.0%} of what 3 global layers" in last
    drawing = sight().still.svg().split('data-step="7"')[1]
    bars = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', drawing)]
    assert bars[1] / bars[0] == pytest.approx(far[1] / far[0], rel=0.001)


def test_sight_that_does_not_fit_is_refused():
    for given, message in (
        ({"length": 25}, "5 to 24 words"),
        ({"layers": 7}, "2 to 6 layers"),
        ({"layers": 1}, "2 to 6 layers"),
        ({"reach": 0}, "reach must be from 1 to 7"),
        ({"reach": 8}, "reach must be from 1 to 7"),
        ({"global_every": 1}, "global_every at least 2"),
    ):
        with pytest.raises(ValueError, match=message):
            show_sight(**given)


def everything() -> list[Figure]:
    small = explore_rotary(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0]), turn, most=1)
    vectors = 30 * torch.randn(2, 64, generator=torch.Generator().manual_seed(3))
    large = explore_rotary(*vectors, turn, theta=160_000.0, most=512)
    return [objectives(), long_objectives(), rotary()[0], small, large, sight(), big_sight()]


@pytest.mark.parametrize("make", [objectives, long_objectives, sight, big_sight])
def test_both_forms_have_the_same_steps_and_stay_inside(make):
    figure = make()
    for drawing in (figure.still, figure.still.narrow):
        for x, y in PLACES.findall(drawing.svg()):
            assert 0 <= float(x) <= drawing.width and 0 <= float(y) <= drawing.height
    assert figure.still.width == 740 and figure.still.narrow.width == 360


def test_what_is_written_on_the_circles_stays_inside():
    still = rotary()[0].still
    assert all(0 <= float(x) <= 740 and 0 <= float(y) <= still.height for x, y in PLACES.findall(still.svg()))


@pytest.mark.parametrize("width", WIDTHS)
def test_they_fit_the_screen_and_no_text_covers_another(shown, width):  # noqa: F811
    figures = everything()
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(OUTSIDE) == []
    covered = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) => {
        const texts = [...host.shadowRoot.querySelectorAll('text')].filter((node) => node.textContent.trim());
        const boxes = texts.map((node) => node.getBoundingClientRect());
        return texts.flatMap((node, i) => texts.slice(i + 1).filter((_, k) => {
            const [a, b] = [boxes[i], boxes[i + 1 + k]];
            return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
                && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
        }).map((other) => `${node.textContent} | ${other.textContent}`));
    })"""
    assert tab.evaluate(covered) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [objectives, sight])
def test_they_are_stepped_through_by_button_and_key(shown, make, width):  # noqa: F811
    figure = make()
    tab = shown(figure, width=width)
    for step, caption in enumerate(figure.data["captions"], start=1):
        tab.get_by_role("button", name="next step").click() if step == 1 else tab.keyboard.press("ArrowRight")
        assert tab.locator(".say").inner_text() == f"{step}/7 {caption}"
        assert tab.locator("[data-step].later").count() == 7 - step


@pytest.mark.parametrize("page, ink", PAGES)
def test_they_take_the_colours_of_the_page_and_have_no_serious_finding(shown, page, ink):  # noqa: F811
    figures = everything()
    tab = shown(*figures, style=f"body {{ background: {page}; color: {ink} }}")
    colors = """() => [...document.querySelectorAll('[data-live]')].map((host) => getComputedStyle(host).color)"""
    assert tab.evaluate(colors) == [ink] * len(figures)
    assert serious_findings(tab, ".bertcourse-figure") == []
