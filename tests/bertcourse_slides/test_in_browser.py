"""Every deck, opened from the disk in a browser: nothing sticks out, nothing is fetched, figures live, it prints."""

import re
from pathlib import Path

import pytest

from bertcourse_slides import write_deck
from live_figures import SMALLEST

pytestmark = pytest.mark.slow
LECTURES = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9][0-9]_*.ipynb"))
NAMES = [path.stem for path in LECTURES]
# What sticks out of the slide that is shown, in its own pixels: height, what its body lacks, and its right edge.
LOOK = (
    f"const SMALLEST = {SMALLEST};"
    """deck.getSlides().map((slide, number) => {
  const { h, v } = deck.getIndices(slide);
  deck.slide(h, v);
  const body = slide.querySelector(".body"), left = slide.getBoundingClientRect().left;
  const seen = [...slide.querySelectorAll(".body *")].filter((e) => e.getClientRects().length);
  const right = Math.max(0, ...seen.map((e) => (e.getBoundingClientRect().right - left) / deck.getScale()));
  const codes = [...slide.querySelectorAll("pre")].map((e) => parseFloat(getComputedStyle(e).fontSize));
  return {
    number: number + 1, height: slide.scrollHeight, lacks: body.scrollHeight - body.clientHeight, right,
    code: Math.min(99, ...codes), text: parseFloat(getComputedStyle(body).fontSize),
    dead: slide.querySelectorAll("[data-figure]:not([data-live])").length,
    alive: slide.querySelectorAll("[data-live]").length,
    smallest: Math.min(99, ...[...slide.querySelectorAll("[data-live]")].map(SMALLEST)),
    picture: Math.min(...[...slide.querySelectorAll(".picture")].map((e) => e.clientHeight), 720),
  };
})"""
)  # of 1280 × 720


@pytest.fixture(scope="module")
def decks(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("slides")
    return {path.stem: write_deck(path, folder) for path in LECTURES}


@pytest.fixture
def opened(browser, decks):
    """Open a deck; that it asked no other host for anything and reported no error is checked at the end."""
    troubles, contexts = [], []

    def open_deck(name: str, query: str = "", **of):
        contexts.append(browser.new_context(viewport=of.pop("viewport", {"width": 1280, "height": 720}), **of))
        tab = contexts[-1].new_page()
        tab.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:", "about:")) or troubles.append(r.url))
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.goto(decks[name].as_uri() + query)
        tab.wait_for_function("window.deck?.isReady()")
        return tab

    yield open_deck
    for context in contexts:
        context.close()
    assert troubles == []


def sticking_out(seen: list[dict]) -> list[dict]:
    return [slide for slide in seen if slide["height"] > 720 or slide["lacks"] > 2 or slide["right"] > 1240]


@pytest.mark.parametrize("name", NAMES)
def test_slides_fit_can_be_read_and_their_figures_live(opened, name):
    seen = opened(name).evaluate(LOOK)
    assert len(seen) > 20
    assert sticking_out(seen) == []
    assert min(slide["code"] for slide in seen) >= 20 and min(slide["text"] for slide in seen) >= 26
    assert min(slide["picture"] for slide in seen) >= 300  # large enough to be seen
    assert min(slide["smallest"] for slide in seen) >= 18  # the text of figures
    assert [slide["number"] for slide in seen if slide["dead"]] == []
    marked = {"01_self_attention": 5, "02_multi_head_attention": 5, "03_tokenization": 4}
    assert sum(slide["alive"] for slide in seen) >= marked.get(name, 0)


def test_a_slide_that_is_too_tall_or_too_wide_would_be_noticed(opened):
    tab = opened(NAMES[-1])
    for style in ("height: 700px; flex: none", "width: 1300px"):
        planted = tab.evaluate_handle(
            "(style) => { const box = document.createElement('div'); box.style = style;"
            "document.querySelectorAll('.slide')[4].querySelector('.body').append(box); return box; }",
            style,
        )
        assert [slide["number"] for slide in sticking_out(tab.evaluate(LOOK))] == [5]
        planted.evaluate("(box) => box.remove()")


def show_steps(tab) -> tuple:
    """Go to the first slide with a schematic that has steps; how it says where it is, and how many there are."""
    tab.evaluate(
        "() => { const has = (s) => s.querySelector('[data-live]')?.steps;"
        "const { h, v } = deck.getIndices(deck.getSlides().find(has)); deck.slide(h, v); }"
    )
    return tab.locator(".present [data-live] .say").first, tab.evaluate(
        "deck.getCurrentSlide().querySelector('[data-live]').steps"
    )


def test_a_figure_is_operated_by_keys_and_gives_them_back(opened):
    tab = opened(NAMES[1])
    said, steps = show_steps(tab)
    place = tab.evaluate("(({ h, v }) => [h, v])(deck.getIndices())")
    tab.locator(".present [data-live] [aria-label='next step']").focus()
    for _ in range(2):
        tab.keyboard.press("ArrowRight")
    assert f"3/{steps}" in said.inner_text()
    assert tab.evaluate("(({ h, v }) => [h, v])(deck.getIndices())") == place
    tab.keyboard.press("Escape")
    assert not tab.evaluate("deck.isOverview()")
    tab.keyboard.press("ArrowRight")  # the slide goes on where the figure has been left
    assert f"4/{steps}" in said.inner_text()


def test_a_clicker_and_the_speaker_view_go_through_the_steps_of_a_figure(opened):
    tab = opened(NAMES[1])
    said, steps = show_steps(tab)
    with tab.context.expect_page() as popup:
        tab.keyboard.press("s")
    view = popup.value
    view.wait_for_function("document.querySelectorAll('iframe').length === 2")
    now, coming = (view.frame_locator(f"#{name}-slide iframe") for name in ("current", "upcoming"))
    place = tab.evaluate("(({ h, v }) => [h, v])(deck.getIndices())")
    assert f"1/{steps}" in said.inner_text()  # the first, not all
    now.locator(".present [data-live] .say", has_text=f"1/{steps}").first.wait_for()
    for step in range(2, steps + 1):
        tab.keyboard.press("PageDown")
        assert f"{step}/{steps}" in said.inner_text()
        now.locator(".present [data-live] .say", has_text=f"{step}/{steps}").first.wait_for()
        if step < steps:
            coming.locator(".present [data-live] .say", has_text=f"{step + 1}/{steps}").first.wait_for()
    tab.keyboard.press("PageUp")
    assert f"{steps - 1}/{steps}" in said.inner_text()
    assert tab.evaluate("(({ h, v }) => [h, v])(deck.getIndices())") == place
    for _ in range(2):
        tab.keyboard.press("PageDown")
    assert tab.evaluate("(({ h, v }) => [h, v])(deck.getIndices())") != place


def test_a_slider_moves_and_the_slide_stays(opened):
    tab = opened(NAMES[1])
    tab.evaluate(LOOK)
    tab.evaluate(
        "() => { const has = (s) => s.querySelector('[data-live]')?.shadowRoot.querySelector('input[type=range]');"
        "const { h, v } = deck.getIndices(deck.getSlides().find(has)); deck.slide(h, v); }"
    )
    place, slider = tab.evaluate("deck.getIndices()"), tab.locator(".present input[type=range]").first
    before = slider.input_value()
    slider.focus()
    tab.keyboard.press("ArrowLeft")
    assert slider.input_value() != before and tab.evaluate("deck.getIndices()") == place


def test_speaker_view_shows_notes_and_follows(opened):
    tab = opened(NAMES[1])
    with tab.context.expect_page() as popup:
        tab.keyboard.press("s")
    view = popup.value
    view.wait_for_function("document.querySelectorAll('iframe').length === 2")
    for _ in range(2):
        tab.keyboard.press("ArrowRight")
    notes = view.locator(".speaker-controls-notes .value")
    notes.get_by_text(re.compile(r"About \d+ minutes for this section\.")).wait_for()
    assert "nobody labels them" in notes.inner_text()  # the last words of the paragraph
    before = tab.evaluate("deck.getSlidePastCount()")
    view.locator("body").press("ArrowRight")  # leads on in the hall, too
    tab.wait_for_function("(before) => deck.getSlidePastCount() === before + 1", arg=before)


@pytest.mark.parametrize("name", [NAMES[1], pytest.param(NAMES[4], marks=pytest.mark.weekly)])
def test_it_prints_a_page_for_each_slide(opened, name):
    slides = opened(name).evaluate("deck.getTotalSlides()")
    tab = opened(name, "?print-pdf", color_scheme="dark")
    tab.wait_for_function("document.querySelectorAll('.pdf-page').length")
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"  # paper
    tab.emulate_media(media="print")
    lacking = (
        "[...document.querySelectorAll('.pdf-page .body')].filter((b) => b.scrollHeight > b.clientHeight + 2).length"
    )
    assert tab.evaluate(lacking) == 0
    pdf = tab.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == slides


def test_dark_and_light_by_the_system_and_by_key(opened):
    tab = opened(NAMES[0], color_scheme="dark")
    color = "getComputedStyle(document.querySelector('.reveal-viewport')).backgroundColor"
    assert tab.evaluate(color) == "rgb(18, 22, 28)"
    tab.keyboard.press("d")
    assert tab.evaluate(color) == "rgb(255, 255, 255)"


def test_a_phone_does_not_scroll_sideways(opened):
    tab = opened(NAMES[0], viewport={"width": 390, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_deck_is_one_file(decks):
    folder = next(iter(decks.values())).parent
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.html" for name in NAMES)
    for path in decks.values():
        page = re.sub(r"data:[\w/+-]+;base64,[\w+/=]+", "", path.read_text(encoding="utf-8"))
        assert not re.search(r"""<(?:script|img|iframe|link)[^>]*\b(?:src|href)=["']?(?!data:)\w""", page)
        assert path.stat().st_size < 3e6
