"""Every figure that moves, operated in a browser by slider, click and key: what is drawn is what torch computes."""

from pathlib import Path

import pytest
import torch

from bertcourse.self_attention import causal_mask, scaled_dot_product_attention
from bertcourse_figures.heads import explore_heads, habit_shares
from bertcourse_figures.hover import hover_scatter
from bertcourse_figures.interactive import Figure, show_steps
from bertcourse_figures.layers import explore_layers
from bertcourse_figures.mask import explore_mask
from bertcourse_figures.plane import explore_plane
from bertcourse_figures.scaling import explore_scaling
from bertcourse_figures.schematic import Schematic
from live_figures import NARROW, OUTSIDE, PAGES, WIDE, WIDTHS, close, last_numbers, numbers

SITE = Path(__file__).parents[2] / "tools" / "site"


def steps() -> Figure:
    """Three steps in two forms."""
    forms = []
    for width in (700, 350):
        figure = Schematic(width, 80, "Three boxes.")
        for number, word in enumerate(("one", "two", "three")):
            figure.step(f"Box {word}.")
            figure.box(10 + number * width / 4, 20, width / 5, 40, word)
        forms.append(figure)
    forms[0].narrow = forms[1]
    return show_steps(forms[0])


def scaling() -> tuple[Figure, torch.Tensor, torch.Tensor]:
    queries, keys = torch.randn(20, 256), torch.randn(20, 8, 256)
    return explore_scaling(queries, keys, (1, 4, 16, 64, 256)), queries.double(), keys.double()


def mask(size: int = 3) -> tuple[Figure, tuple[torch.Tensor, ...]]:
    vectors = torch.randn(4, 6), torch.randn(4, 6), torch.randn(4, size)
    return explore_mask(*vectors, ["it", "rains", "<now>", "[PAD]"], row=1), vectors


def plane() -> tuple[Figure, torch.Tensor]:
    vectors = torch.tensor([[0.1, 0.1], [1.3, 1.3], [1.9, 0.0], [2.2, 0.1]])
    return explore_plane("the bank lends money".split(), vectors, 1, ("money", "water")), vectors.double()


def heads() -> tuple[Figure, list[torch.Tensor]]:
    weights = [torch.softmax(2 * torch.randn(3, 4, length, length), dim=-1) for length in (6, 5)]
    first, second = "[CLS] the bank is steep [SEP]".split(), "[CLS] the bank lends [SEP]".split()
    return explore_heads(first, list(weights[0]), (second, list(weights[1]))), weights


def points() -> Figure:
    texts = ["first & <b>", "second", "third"]
    return hover_scatter([[0, 0], [1, 1], [2, 0]], ["a", "b", "a"], texts, "three", "One is higher.")


def long_words() -> Figure:
    vectors = torch.randn(12, 4)
    return explore_mask(vectors, vectors, vectors, [*"the bank is".split(), *["considerably"] * 9])


def layers() -> Figure:
    states = torch.randn(4, 5, 12)
    states[0] = states[0, 0]
    texts = [f"They {verb} to the bank." for verb in ("swam", "rowed", "paid", "lied", "walked")]
    return explore_layers(texts, states, "bank", ["river", "river", "money", "money", ""])


def everything() -> list[Figure]:
    return [steps(), layers(), plane()[0], scaling()[0], mask()[0], mask(40)[0], long_words(), heads()[0], points()]


def test_steps_are_walked_by_button_dot_and_key(shown):
    tab = shown(steps())
    groups = "[...document.querySelector('[data-live]').shadowRoot.querySelectorAll('[data-step]')]"
    # step 0, which is always there, does not count
    visible = f"{groups}.filter((group) => getComputedStyle(group).opacity === '1').length - 1"
    assert tab.evaluate(visible) == 3  # all, until the first step
    tab.get_by_role("button", name="next step").click()
    assert tab.evaluate(visible) == 1 and "1/3 Box one." in tab.locator(".say").inner_text()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate(visible) == 2 and "2/3 Box two." in tab.locator(".say").inner_text()
    tab.get_by_role("button", name="step 3", exact=True).click()
    assert tab.evaluate(visible) == 3
    tab.keyboard.press("ArrowLeft")
    tab.get_by_role("button", name="previous step").click()
    assert tab.evaluate(visible) == 1
    tab.locator(".stage svg").first.click()  # a click on the picture gives it the keys
    tab.keyboard.press("PageDown")
    assert tab.evaluate(visible) == 2


def test_a_phone_gets_the_narrow_form_and_keeps_the_step_when_it_is_turned(shown):
    tab = shown(steps(), width=NARROW)
    assert tab.locator(".stage > svg").get_attribute("width") == "350"
    tab.get_by_role("button", name="next step").click()
    tab.set_viewport_size({"width": WIDE, "height": 400})
    tab.wait_for_selector('.stage > svg[width="700"]')
    assert "1/3" in tab.locator(".say").inner_text()


def test_scaling_draws_scores_and_weights(shown):
    figure, queries, keys = scaling()
    tab = shown(figure)
    slider = tab.get_by_role("slider", name="dimension d")
    first = keys[:, :, 0] * queries[:, :1]  # the scores where d is 1
    typical = next(  # comes first
        draw for draw in range(20) if torch.allclose(torch.tensor(figure.data["scores"][0][0]).double(), first[draw])
    )
    draw, divided = typical, False
    for move, d in ((None, 64), ("End", 256), ("divide", 256), ("ArrowLeft", 64), ("other", 64), ("Home", 1)):
        if move == "divide":
            tab.get_by_role("button", name="divide by √d").click()
            divided = True
        elif move == "other":
            tab.get_by_role("button", name="other vectors").click()
            draw = 1 if typical == 0 else 0
        elif move:
            slider.press(move)
        scale = d**-0.5 if divided else 1.0
        scores = keys[draw, :, :d] @ queries[draw, :d] * scale
        weights = torch.softmax(scores, dim=-1)
        assert slider.get_attribute("aria-valuetext") == f"d = {d}"
        assert close(last_numbers(tab, ".score title"), scores)
        assert close(last_numbers(tab, ".weight title"), weights)
        heights = [float(bar.get_attribute("height")) for bar in tab.locator("rect.weight").all()]
        assert max(range(8), key=heights.__getitem__) == int(weights.argmax())
        said = tab.locator(".say").inner_text()
        assert f"largest of 8 weights is {weights.max():.3f}" in said
        every = torch.softmax((keys[:, :, :d] @ queries[:, :d, None])[..., 0] * scale, dim=-1).amax(dim=-1)
        assert abs(numbers(said)[-1] - every.mean()) <= 0.0051
        assert said.startswith("Divided by √d" if divided else "Not divided")
        assert tab.get_by_role("button", name=f"divide by √d: {'on' if divided else 'off'}").count() == 1


def test_a_words_vectors_part_layer_by_layer(shown):
    figure = layers()
    tab, data = shown(figure), figure.data
    slider, said = tab.get_by_role("slider", name="layer"), tab.locator(".say")

    def places() -> list[list[float]]:
        drawn = [numbers(dot.get_attribute("style")) for dot in tab.locator("g.dot").all()]
        middle = [float(side) / 2 for side in tab.locator(".both > svg").get_attribute("viewBox").split()[2:]]
        return [[x - middle[0], middle[1] - y] for x, y in drawn]

    for move, layer in ((None, 3), ("ArrowLeft", 2), ("Home", 0), ("End", 3)):
        if move:
            slider.press(move)
        drawn, points = torch.tensor(places()), torch.tensor(data["points"][layer])
        assert slider.get_attribute("aria-valuetext") == f"layer {layer}"
        assert torch.allclose(drawn * points.abs().max(), points * drawn.abs().max(), atol=0.3)  # of a pixel
        if layer == 0:
            assert "one point" in said.inner_text()
            continue
        for chosen in (4, 1):
            tab.locator("button.row").nth(chosen).press("Enter")
            nearest = data["sentences"][data["nearest"][layer][chosen]]
            assert f"“{data['sentences'][chosen]}” lies nearest to “{nearest}”" in said.inner_text()
            assert f"{data['own'][layer]} of 4" in said.inner_text()


def test_layers_are_played_one_after_the_other_until_the_reader_stops_it(shown):
    tab = shown(layers())
    tab.clock.install()
    tab.get_by_role("button", name="play").click()
    slider = tab.get_by_role("slider", name="layer")
    for layer in (0, 1, 2):
        assert slider.get_attribute("aria-valuetext") == f"layer {layer}"
        tab.clock.run_for(900)
    assert slider.get_attribute("aria-valuetext") == "layer 3"
    tab.get_by_role("button", name="play").click()
    tab.clock.run_for(900)
    slider.press("ArrowRight")
    tab.clock.run_for(5000)
    assert slider.get_attribute("aria-valuetext") == "layer 2"


@pytest.mark.parametrize("size", [3, 40])
def test_a_click_on_the_mask_softmaxes_its_row_again(shown, size):
    figure, (query, key, value) = mask(size)
    tab = shown(figure)
    allowed = torch.ones(4, 4, dtype=torch.bool)

    def agrees(row: int) -> bool:
        output, weights = scaled_dot_product_attention(query.double(), key.double(), value.double(), allowed)
        scores = (query.double() @ key.double().T * 6**-0.5)[row]
        cells = tab.locator(".cell title").all_text_contents()
        assert [cell.endswith("masked") for cell in cells] == (~allowed).flatten().tolist()
        drawn = [0.0 if cell.endswith("masked") else numbers(cell)[-1] for cell in cells]
        assert close(drawn, weights.nan_to_num(0.0).flatten())
        written = tab.locator("text.weight").all_text_contents()
        assert close([numbers(text)[0] for text in written if text != "masked"], weights[row][allowed[row]])
        shown_scores = tab.locator("text.score").all_text_contents()
        assert [text == "−∞" for text in shown_scores] == (~allowed[row]).tolist()
        for text, score in zip(shown_scores, scores):
            assert text == "−∞" or abs(numbers(text)[0] - score) < 0.0051
        if allowed[row].any():
            assert close(last_numbers(tab, ".output title"), output[row][:24])
        else:
            assert all(title.endswith("NaN") for title in tab.locator(".output title").all_text_contents())
        return f"may attend to {int(allowed[row].sum())} of 4" in tab.locator(".say").inner_text()

    assert agrees(row=1)
    tab.locator(".cell").nth(4 * 2 + 3).click()
    allowed[2, 3] = False
    assert agrees(row=2)
    tab.get_by_role("button", name="causal").click()
    allowed = causal_mask(4)
    assert agrees(row=2)
    tab.locator(".cell").nth(4 * 2 + 3).focus()
    for _ in range(2):
        tab.keyboard.press("ArrowUp")
    for _ in range(3):
        tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Space")
    allowed[0, 0] = False  # the first word may now attend to nothing
    assert agrees(row=0)
    assert "softmax of nothing" in tab.locator(".say").inner_text()
    tab.get_by_role("button", name="padding").click()
    allowed = torch.tensor([True, True, True, False]).expand(4, 4)
    assert agrees(row=0)


@pytest.mark.parametrize("scale", [1.0, 0.7])  # a slide is scaled to its window
def test_a_word_that_is_dragged_or_moved_by_keys_changes_the_weights(shown, scale):
    figure, vectors = plane()
    tab = shown(figure)
    tab.evaluate(
        "scale => { document.body.style.cssText += `transform: scale(${scale}); transform-origin: 0 0` }", scale
    )

    def agrees(asking: int) -> bool:
        places = [node.get_attribute("aria-label") for node in tab.locator(".point").all()]
        assert [numbers(place) for place in places] == [pytest.approx(vector) for vector in vectors.tolist()]
        scores = vectors @ vectors[asking]
        weights = torch.softmax(scores, dim=-1)
        assert close([numbers(text)[0] for text in tab.locator("text.weight").all_text_contents()], weights)
        written = [numbers(text)[0] for text in tab.locator("text.score").all_text_contents()]
        assert written == pytest.approx(scores.tolist(), abs=0.0051)
        return close(numbers(tab.locator(".say").inner_text())[-2:], weights @ vectors)

    assert agrees(asking=1)

    def middle() -> tuple[float, float]:
        dot = tab.locator(".point circle:nth-of-type(2)").nth(3).bounding_box()
        return dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2

    x, y = middle()
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 40 * scale, y - 90 * scale, steps=3)
    tab.mouse.up()
    assert middle() == pytest.approx((x - 40 * scale, y - 90 * scale), abs=1)  # where it was let go
    tab.mouse.move(x, y)  # it has been let go
    dragged = numbers(tab.locator(".point").nth(3).get_attribute("aria-label"))
    assert dragged[0] < 2.1 and dragged[1] > 0.5
    vectors[3] = torch.tensor(dragged)
    assert agrees(asking=1)
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowUp")
    vectors[3] += torch.tensor([-0.1, 0.1])
    assert agrees(asking=1)
    tab.get_by_role("button", name="lends", exact=True).click()
    assert agrees(asking=2)
    tab.locator(".point").nth(0).focus()
    for _ in range(15):
        tab.keyboard.press("ArrowDown")
    vectors[0, 1] = -1.0  # the edge
    assert agrees(asking=2)
    tab.get_by_role("button", name="start again").click()
    vectors[:] = plane()[1]
    assert agrees(asking=1)


def test_a_screen_reader_hears_once_what_many_steps_of_a_slider_lead_to(shown):
    tab = shown(layers())
    heard, said, slider = tab.locator("[aria-live]"), tab.locator(".say"), tab.get_by_role("slider", name="layer")
    assert heard.text_content() == said.text_content() and said.get_attribute("aria-hidden") == "true"
    heard.evaluate("""node => {
      window.changes = 0;
      new MutationObserver(() => { window.changes += 1 }).observe(node, { childList: true });
    }""")
    slider.evaluate("""node => {
      for (const layer of [2, 1, 0]) {
        node.value = layer;
        node.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }""")
    tab.wait_for_function("window.changes > 0")
    assert "one point" in heard.text_content() == said.text_content()
    assert tab.evaluate("window.changes") == 1


def test_heads_are_chosen_by_click_and_keys_and_words_show_their_weights(shown):
    figure, weights = heads()
    tab = shown(figure)
    layer = head = 0

    def agrees(sentence: int, side: int, place: int) -> bool:
        matrix = weights[sentence][layer, head]
        expected = matrix[:, place] if side else matrix[place]
        drawn = last_numbers(tab.locator(".sentence").nth(sentence), ".numbers text")
        assert close(drawn, [weight for weight in expected if weight.item() >= 0.005], digits=2)
        return f"Layer {layer}, head {head}." in tab.locator(".say").inner_text()

    tab.get_by_role("button", name="bank: whom it attends to").first.hover()
    assert agrees(0, 0, 2) and agrees(1, 0, 2)  # the other sentence lights up its own bank
    tab.get_by_role("button", name="layer 1, head 2").click()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    layer, head = 2, 3
    tab.get_by_role("button", name="steep: who attends to it").focus()
    assert agrees(0, 1, 4)
    assert tab.locator(".sentence").nth(1).locator(".numbers text").count() == 0  # it has no such word
    shares = sum(habit_shares(both.numpy()) for both in weights) / 2
    assert close(last_numbers(tab, ".habit .soft"), shares[:, 2, 3])
    tab.get_by_role("button", name="word after").click()
    best = int(shares[2].argmax())
    layer, head = best // 4, best % 4
    tab.get_by_role("button", name="lends: whom it attends to").click()
    assert agrees(1, 0, 3)


def test_a_word_that_is_given_is_pointed_at_whenever_no_other_is(shown):
    weights = torch.softmax(2 * torch.randn(2, 3, 5, 5), dim=-1)
    tab = shown(explore_heads("[CLS] the bank lends [SEP]".split(), list(weights), start=(1, 2), word=2))

    def agrees(layer: int, head: int, place: int) -> bool:
        expected = [weight for weight in weights[layer, head, place] if weight.item() >= 0.005]
        return close(last_numbers(tab, ".numbers text"), expected, digits=2)

    assert agrees(1, 2, 2)
    tab.get_by_role("button", name="lends: whom it attends to").hover()
    assert agrees(1, 2, 3)
    tab.get_by_role("button", name="layer 0, head 1").click()
    assert agrees(0, 1, 2)


def test_points_are_read_by_pointing_and_by_key(shown):
    tab = shown(points())
    second = tab.locator("[data-point]").nth(1).bounding_box()
    tab.mouse.move(second["x"] + 5, second["y"] + 14)  # near is enough: a finger is thicker than a dot
    assert tab.locator(".say").inner_text() == "b: second"
    tab.get_by_role("button", name="next point").click()
    assert tab.locator(".say").inner_text() == "a: third"
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".say").inner_text() == "a: first & <b>"


def test_two_figures_of_a_kind_and_two_copies_of_one_live_on_one_page(shown):
    one, (other, _) = steps(), mask()
    tab = shown(one, other, one)
    assert tab.locator("[data-live]").count() == 3
    tab.get_by_role("button", name="next step").first.click()
    says = tab.locator(".bar .say").all_inner_texts()
    assert says[0].startswith("1/3") and says[1].startswith("Press ›")


def test_keys_are_kept_from_the_page_but_only_those_that_a_figure_knows(shown):
    tab = shown(steps())
    tab.evaluate("document.body.addEventListener('keydown', (event) => { (window.keys ??= []).push(event.key); })")
    tab.get_by_role("button", name="next step").focus()
    for key in ("ArrowRight", "x", "f"):
        tab.keyboard.press(key)
    assert tab.evaluate("window.keys") == ["x"]
    assert tab.evaluate("document.fullscreenElement !== null")
    assert tab.locator("[data-lm-suppress-shortcuts]").count() == 1  # or JupyterLab would take them first


def test_a_page_that_forbids_inline_scripts_shows_pictures_and_notes(shown):
    policy = "script-src 'none'; default-src 'unsafe-inline' data:"
    forbid = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    figures = everything()
    tab = shown(*figures, head=forbid)
    assert tab.locator("[data-live]").count() == 0
    for image, figure in zip(tab.locator("img").all(), figures, strict=True):
        assert image.is_visible() and image.get_attribute("alt") == figure.still.alt
        assert image.evaluate("(image) => image.naturalWidth") == 740 or figure.scene == "steps"
    assert tab.get_by_text("This figure moves where scripts run").count() == len(figures)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(shown, width):
    figures = everything()
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("page, ink", PAGES)
def test_text_takes_the_colour_of_the_page_light_and_dark(shown, page, ink):
    tab = shown(*everything(), style=f"body {{ background: {page}; color: {ink} }}")
    fills = """() => [...document.querySelectorAll('[data-live]')].map((host) =>
        getComputedStyle(host.shadowRoot.querySelector('svg text')).fill)"""
    assert len(drawn := tab.evaluate(fills)) == len(everything())
    assert [color for color in drawn if color != ink and not color.startswith("oklab")] == []
    papers = "() => [...document.querySelectorAll('[data-live]')].map((host) => getComputedStyle(host).backgroundColor)"
    assert set(tab.evaluate(papers)) == {"rgba(0, 0, 0, 0)"}


def test_on_the_dark_site_figures_stand_on_the_page_itself(shown):
    theme = Path(pytest.importorskip("pydata_sphinx_theme").__file__).parent / "theme/pydata_sphinx_theme/static"
    sheets = (theme / "styles" / "pydata-sphinx-theme.css", SITE / "static" / "course.css")
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    site = '<div class="bd-content"><div class="cell_output"><div class="output text_html">', "</div></div></div>"
    tab = shown(steps(), style=style, around=site)
    look = "(output) => [getComputedStyle(output).backgroundColor, getComputedStyle(output).color]"
    page_ink = tab.evaluate("document.documentElement.dataset.theme = 'dark'; getComputedStyle(document.body).color")
    assert tab.locator(".output").evaluate(look) == ["rgba(0, 0, 0, 0)", page_ink]
    tab.evaluate("document.querySelector('.output').innerHTML = '<b>other HTML</b>'")
    assert tab.locator(".output").evaluate(look)[0] == "rgb(255, 255, 255)"  # keeps its light card


def test_on_paper_all_is_drawn_and_nothing_is_to_be_pressed(shown):
    tab = shown(steps())
    tab.get_by_role("button", name="next step").click()
    tab.emulate_media(media="print")
    assert not tab.locator(".bar").is_visible()
    groups = "[...document.querySelector('[data-live]').shadowRoot.querySelectorAll('[data-step]')]"
    assert set(tab.evaluate(f"{groups}.map((group) => getComputedStyle(group).opacity)")) == {"1"}


@pytest.mark.parametrize(("reduced", "running"), [("no-preference", "flow"), ("reduce", "none")])
def test_nothing_moves_by_itself_for_those_who_do_not_want_it(shown, reduced, running):
    figure = Schematic(200, 50, "An arrow.")
    figure.arrow((0, 20), (100, 20), flow=True)
    tab = shown(show_steps(figure), media={"reduced_motion": reduced})
    assert tab.locator(".flow").evaluate("(path) => getComputedStyle(path).animationName") == running
