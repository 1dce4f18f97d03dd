"""The views of views.js, given numbers from Python: what they draw, say and pass on is what they were given."""

import json
import re
from collections.abc import Callable
from importlib.resources import files

import pytest
import torch

from bertcourse_figures.heads import habit_shares
from browsers import drawn_map, same_map

NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")
SCRIPTS = files("bertcourse_figures") / "js"
WORDS = "[CLS] the bank is steep [SEP]".split()
START = """<!doctype html><html lang=en><meta charset=utf-8><title>views</title>
<meta name=viewport content="width=device-width"><body><div id=host></div>"""


@pytest.fixture
def shown(browser, tmp_path) -> Callable:
    """``shown("pairView()", pairs)`` is a tab in which this view draws these numbers; no error comes of it.

    In the tab, ``told`` is what the view's last ``show`` returned, ``heard`` what its reader did.
    """
    tabs, errors = [], []

    def show(view: str, *numbers):
        code = "\n".join(
            (SCRIPTS / f"{name}.js").read_text(encoding="utf-8") for name in ("kit", "views", "attention_views")
        )
        use = f"""
            window.heard = [];
            const root = document.getElementById("host").attachShadow({{ mode: "open" }}), view = {view};
            root.append(h("style", {{}}, STYLE, VIEW_STYLE), h("div", {{ class: "stage" }}, view.node));
            window.show = (numbers) => {{ window.told = view.show(numbers); }};
            for (const numbers of {json.dumps(numbers)}) window.show(numbers);"""
        page = tmp_path / f"{len(tabs)}.html"
        page.write_text(f"{START}<script>(() => {{{code}\n{use}}})()</script>", encoding="utf-8")
        tab = browser.new_page(viewport={"width": 1000, "height": 900})
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(page.as_uri())
        tabs.append(tab)
        return tab

    yield show
    for tab in tabs:
        tab.close()
    assert errors == []


def last_numbers(texts: list[str]) -> list[float]:
    return [float(NUMBER.findall(text)[-1].replace("−", "-")) for text in texts]


def tokens(text: str) -> list[dict]:
    """Tokens of BERT's form: "##" goes on with a word, and [CLS] and [SEP] are of none."""
    result, word = [], -1
    for token in text.split():
        word += not token.startswith(("##", "["))
        result.append({"token": token, "word": None if token.startswith("[") else word})
    return result


TOKEN_VIEW = "tokenView({ label: 'words', choose: (word) => window.heard.push(word) })"


def test_a_word_is_chosen_with_all_its_pieces_and_special_tokens_are_not_to_be_pressed(shown):
    tab = shown(TOKEN_VIEW, {"tokens": tokens("[CLS] the mud ##dy bank [SEP]"), "word": 1})
    pressed = tab.locator("button[aria-pressed=true]").all_inner_texts()
    assert pressed == ["mud", "##dy"]
    assert tab.locator("button").count() == 4
    tab.get_by_role("button", name="bank").click()
    assert tab.evaluate("heard") == [2]


def test_one_tab_stop_and_arrows_lead_through_the_words(shown):
    tab = shown(TOKEN_VIEW, {"tokens": tokens("[CLS] the old bank [SEP]"), "word": 1})
    tab.keyboard.press("Tab")
    assert tab.evaluate("host.shadowRoot.activeElement.textContent") == "old"  # the chosen one
    for key in ("ArrowRight", "ArrowRight", "Enter", "Home", "Enter"):  # the second arrow is at the end
        tab.keyboard.press(key)
    assert tab.evaluate("heard") == [2, 0]
    tab.keyboard.press("Tab")
    assert tab.evaluate("host.shadowRoot.activeElement") is None


def test_the_keyboard_keeps_its_place_while_another_word_is_chosen(shown):
    sentence = tokens("[CLS] the old bank [SEP]")
    tab = shown(TOKEN_VIEW, {"tokens": sentence, "word": 0})
    tab.get_by_role("button", name="bank").focus()
    tab.evaluate("(numbers) => show(numbers)", {"tokens": sentence, "word": 2})
    assert tab.evaluate("host.shadowRoot.activeElement.ariaPressed") == "true"


def test_predictions_are_bars_with_their_shares_and_the_hidden_word_is_marked(shown):
    top = [("side", 0.31, 1), ("bank", 0.0123, 2), ("<b>", 0.00004, 9)]
    places = [{"original": "bank", "top": [dict(zip(("token", "probability", "rank"), row)) for row in top]}]
    tab = shown("predictionView({ choose: (...given) => window.heard.push(given) })", places)
    assert tab.locator(".name").all_inner_texts() == ["side", "bank", "9. <b>"]
    assert tab.locator(".value").all_inner_texts() == ["31\u00a0%", "1.2\u00a0%", "<\u00a00.01\u00a0%"]
    assert tab.locator(".marked .name").all_inner_texts() == ["bank"]
    widths = tab.locator(".track i").evaluate_all("(bars) => bars.map((bar) => parseFloat(bar.style.width))")
    assert widths == pytest.approx([31, 1.23, 0.004])
    told = tab.evaluate("told").replace("\u00a0", " ")
    assert told == "In place of “bank”: side 31 %, bank 1.2 %, <b> < 0.01 %. “bank” itself is number 2."
    tab.locator("button").nth(2).press("Enter")
    assert tab.evaluate("heard") == [[0, "<b>"]]


def attention() -> tuple[torch.Tensor, dict]:
    weights = torch.softmax(2 * torch.randn(2, 3, 6, 6, dtype=torch.float64), dim=-1)
    layers = [layer.flatten().tolist() for layer in weights]
    return weights, {"tokens": WORDS, "attentions": layers, "heads": 3}


ATTENTION_VIEW = "attentionView({ changed: (text) => window.heard.push(text) })"


def test_the_chosen_head_is_a_map_and_lines(shown):
    weights, numbers = attention()
    tab = shown(ATTENTION_VIEW, numbers)

    def agrees(layer: int, head: int) -> bool:
        assert same_map(drawn_map(tab), weights[layer, head])
        strong = int((weights[layer, head] > 0.03).sum())
        assert tab.locator(".sentence path").count() == strong
        return tab.locator(".view-title").inner_text() == f"Layer {layer}, head {head}"

    assert agrees(0, 0)
    tab.get_by_role("button", name="layer 1, head 1").click()
    assert agrees(1, 1)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowUp")
    assert agrees(0, 2)
    tab.get_by_role("button", name="bank: whom it attends to").hover()
    largest = weights[0, 2, 2].topk(3)
    expected = [f"{WORDS[place]} {value:.3f}" for value, place in zip(largest.values, largest.indices)]
    assert tab.evaluate("heard.at(-1)") == f"Layer 0, head 2: bank attends to {', '.join(expected)}."


def test_a_head_with_a_habit_is_said_to_have_it(shown):
    weights, numbers = attention()
    weights[1, 2] = 0.02 + 0.88 * torch.eye(6).roll(1, dims=1)  # mostly one token ahead
    tab = shown(ATTENTION_VIEW, {**numbers, "attentions": [layer.flatten().tolist() for layer in weights]})
    assert "no place gets half" in tab.evaluate("told")
    tab.get_by_role("button", name="layer 1, head 2").click()
    _, _, after, _, _ = habit_shares(weights.numpy())[:, 1, 2]
    assert f"{100 * after:.0f}\u00a0% of a token's attention goes to the token after." in tab.evaluate("heard.at(-1)")


def test_without_cls_and_sep_each_row_sums_to_one_again(shown):
    weights, numbers = attention()
    tab = shown(ATTENTION_VIEW, numbers)
    tab.get_by_role("checkbox").press("Space")
    inner = weights[0, 0, 1:-1, 1:-1]
    assert same_map(drawn_map(tab), inner / inner.sum(dim=-1, keepdim=True))
    assert not [label for label in tab.locator("svg text").all_text_contents() if label.startswith("[")]
    tab.evaluate("(numbers) => show(numbers)", {**numbers, "tokens": ["[CLS]", "[SEP]"]})
    assert "Nothing is left" in tab.locator(".attention").inner_text()


def test_lines_over_layers_carry_their_numbers_and_labels_do_not_lie_on_one_another(shown):
    lines = [("raw", [0.9, 0.513, 0.5]), ("standardized", [0.8, -0.31, 0.499]), ("random words", [0.2, 0.1, 0.498])]
    data = [{"name": name, "values": values, "color": "currentColor"} for name, values in lines]
    tab = shown("layerChart()", {"title": "Cosine", "lines": data})
    titles = tab.locator("circle title").all_text_contents()
    assert last_numbers(titles) == [value for _, values in lines for value in values]
    assert "standardized: 0.80, −0.31, 0.50" in tab.get_by_role("img").get_attribute("aria-label")
    heights = sorted(
        float(y) for y in tab.locator(".line text").evaluate_all("(t) => t.map((e) => e.getAttribute('y'))")
    )
    assert min(b - a for a, b in zip(heights, heights[1:])) > 15


def test_senses_stand_in_their_order_with_their_cosines(shown):
    rows = [("bank", "side of a river", 0.81, True), ("run", "flow", 0.6042, False), ("seal", "stamp", -0.1, False)]
    senses = [dict(zip(("word", "label", "cosine", "own"), row)) for row in rows]
    tab = shown("senseView()", senses)
    assert last_numbers(tab.locator(".value").all_inner_texts()) == [0.81, 0.604, -0.1]
    assert tab.locator(".marked .name").all_inner_texts() == ["bank side of a river"]
    assert tab.locator("button").count() == 0  # nothing happens when they are pressed
    assert tab.evaluate("told") == "bank (side of a river) 0.81, run (flow) 0.60, seal (stamp) −0.10"


def test_pairs_say_who_wins_by_how_much_and_which_are_yet_to_come(shown):
    scores = [[-8.0, -9.5], [-7.0, -6.25], [-3.0, -3.0], None]
    pairs = [{"good": f"good {i}", "bad": f"bad {i}", "scores": each} for i, each in enumerate(scores)]
    tab = shown("pairView()", pairs)
    verdicts = tab.locator(".verdict").all_inner_texts()
    assert verdicts == ["✓ right, by 1.50", "✗ wrong, by 0.75", "a tie", "being read"]
    better = [" ".join(text.split()) for text in tab.locator(".better").all_inner_texts()]
    assert better == ["−8.00 good 0", "−6.25 * bad 1"]
    assert tab.evaluate("told") == "1 of 3 right so far"


def test_no_view_is_wider_than_the_screen(shown):
    _, numbers = attention()
    long = "considerably"
    views = [
        (TOKEN_VIEW, {"tokens": tokens(f"[CLS] {' '.join([long] * 12)} [SEP]"), "word": 0}),
        ("predictionView()", [{"original": long, "top": [{"token": long, "probability": 1, "rank": 1000}]}]),
        (ATTENTION_VIEW, {**numbers, "tokens": ["[CLS]", *[long] * 4, "[SEP]"]}),
        ("senseView()", [{"word": long, "label": f"{long} {long}", "cosine": 1, "own": True}]),
        ("pairView()", [{"good": f"{long} " * 9, "bad": long, "scores": [-1000.5, -1.0]}]),
        ("layerChart()", {"title": "", "lines": [{"name": "random words", "values": [1, 0.1], "color": "red"}]}),
    ]
    sticks_out = """() => [...host.shadowRoot.querySelectorAll(".stage *")].filter((node) => {
        const box = node.getBoundingClientRect();
        return box.left < 0 || box.right > innerWidth + 1;
    }).map((node) => node.outerHTML.slice(0, 90))"""
    for view, data in views:
        tab = shown(view, data)
        for width in (1000, 390, 320):
            tab.set_viewport_size({"width": width, "height": 900})
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (view, width)
            assert tab.evaluate(sticks_out) == [], (view, width)
