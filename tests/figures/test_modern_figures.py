"""Beyond BERT: four objectives, rotary positions and local attention; what is drawn and said is what was given."""

import re

import pytest
from browsers import serious_findings
from figures.test_decoder_figures import PLACES, step_texts
from figures.test_in_browser import NARROW, WIDE, shown  # noqa: F401

from bertcourse.figures.interactive import Figure
from bertcourse.figures.objectives import show_objectives

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


def everything() -> list[Figure]:
    return [objectives(), long_objectives()]


@pytest.mark.parametrize("make", [objectives, long_objectives])
def test_both_forms_have_the_same_steps_and_stay_inside(make):
    figure = make()
    for drawing in (figure.still, figure.still.narrow):
        for x, y in PLACES.findall(drawing.svg()):
            assert 0 <= float(x) <= drawing.width and 0 <= float(y) <= drawing.height
    assert figure.still.width == 740 and figure.still.narrow.width == 360


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_they_fit_the_screen_and_no_text_covers_another(shown, width):  # noqa: F811
    figures = everything()
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
        [...host.shadowRoot.querySelectorAll('text, button, .say, rect, svg')].filter((node) => {
            const box = node.getBoundingClientRect();
            return box.left < -1 || box.right > innerWidth + 1;
        }).map((node) => node.outerHTML.slice(0, 90)))"""
    assert tab.evaluate(outside) == []
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


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_objectives_are_stepped_through_by_button_and_key(shown, width):  # noqa: F811
    figure = objectives()
    tab = shown(figure, width=width)
    for step, caption in enumerate(figure.data["captions"], start=1):
        tab.get_by_role("button", name="next step").click() if step == 1 else tab.keyboard.press("ArrowRight")
        assert tab.locator(".say").inner_text() == f"{step}/7 {caption}"
        assert tab.locator("[data-step].later").count() == 7 - step


@pytest.mark.parametrize(("page", "ink"), [("white", "rgb(20, 20, 20)"), ("rgb(18, 18, 18)", "rgb(230, 230, 230)")])
def test_they_take_the_colours_of_the_page_and_have_no_serious_finding(shown, page, ink):  # noqa: F811
    figures = everything()
    tab = shown(*figures, style=f"body {{ background: {page}; color: {ink} }}")
    colors = """() => [...document.querySelectorAll('[data-live]')].map((host) => getComputedStyle(host).color)"""
    assert tab.evaluate(colors) == [ink] * len(figures)
    assert serious_findings(tab, ".bertcourse-figure") == []
