"""Three families, T5's spans and cross-attention: what is drawn, said and asked is what was given."""

import re

import pytest
import torch
from test_generation_figures import cache, sampling
from test_writing_figure import ORDERS

from bertcourse_figures.decoders import SENTINELS, corrupt, show_cross_attention, show_families, show_span_corruption
from bertcourse_figures.interactive import Figure
from bertcourse_figures.writing import explore_writing_order
from browsers import serious_findings
from live_figures import OUTSIDE, PAGES, WIDTHS, close, numbers

WORDS = "the boatman <rowed> to the bank".split()
PLACES = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)"')


def families(**predictions) -> Figure:
    return show_families(WORDS, [(1, 2), (4, 5)], {name.replace("_", "-"): said for name, said in predictions.items()})


def spans() -> Figure:
    return show_span_corruption(WORDS, [(1, 3), (5, 6)])


def cross(source: int = 5, target: int = 3) -> tuple[Figure, torch.Tensor]:
    weights = torch.softmax(2 * torch.randn(target, source), dim=-1)
    figure = show_cross_attention([f"s<{j}>" for j in range(source)], [f"t{i}" for i in range(target)], weights)
    return figure, weights


def step_texts(figure: Figure, step: int) -> list[list[str]]:
    """What is written at a step, in both forms."""
    parts = [drawing.svg().split('<g data-step="')[step + 1] for drawing in (figure.still, figure.still.narrow)]
    return [re.findall(r">([^<>]+)</text>", part) for part in parts]


def test_corrupted_text_and_target_make_the_text_again():
    tokens = [f"t{i}" for i in range(12)]
    cut = [(0, 2), (3, 4), (7, 12)]
    source, target = corrupt(tokens, cut)
    assert source == ["<X>", "t2", "<Y>", "t4", "t5", "t6", "<Z>"]
    pieces, sentinel = {}, ""
    for token in target:
        if token in SENTINELS:
            sentinel = token
        pieces.setdefault(sentinel, []).extend([token] * (token not in SENTINELS))
    assert [word for token in source for word in pieces.get(token, [token])] == tokens and sentinel == "<W>"


def test_each_family_is_asked_its_own_questions():
    figure = families()
    for texts in step_texts(figure, 3):
        assert texts == ["→ boatman", "→ the", "2 questions, 6 words read"]
    for texts in step_texts(figure, 5):
        assert texts[:-1] == [f"→ {word}" for word in ("boatman", "&lt;rowed&gt;", "to", "the", "bank")]
    for texts in step_texts(figure, 7):
        target = ("&lt;X&gt;", "boatman", "&lt;Y&gt;", "the", "&lt;Z&gt;")
        assert texts == [*(f"→ {token}" for token in target), "5 questions, 6 words read"]
    for texts in step_texts(figure, 2):
        assert texts[2:] == ["the", "[MASK]", "&lt;rowed&gt;", "to", "[MASK]", "bank"]


def masks(figure: Figure, step: int) -> set[tuple[str, int, int]]:
    """The cells that a step fills: colour, row and column of the whole mask."""
    found, (svg,) = set(), [figure.still.svg().split('<g data-step="')[step + 1]]
    groups = re.findall(r'translate\(([\d.]+) ([\d.]+)\)scale\(([\d.]+) ([\d.]+)\)">(.*?)</g>', svg)
    left, top = min(float(group[0]) for group in groups), min(float(group[1]) for group in groups)
    for x, y, wide, tall, paths in groups:
        across, down = round((float(x) - left) / float(wide)), round((float(y) - top) / float(tall))
        for role, path in re.findall(r'stroke="var\(--(\w+),[^"]*" opacity="[\d.]+" d="([^"]+)"', paths):
            found |= {(role, int(i) + down, int(j) + across) for j, i in re.findall(r"M(\d+) (\d+)h1", path)}
    return found


def test_the_three_masks_are_full_causal_and_both_with_cross_attention():
    figure = families()
    assert masks(figure, 2) == {("plus", i, j) for i in range(6) for j in range(6)}
    assert masks(figure, 4) == {("plus", i, j) for i in range(5) for j in range(i + 1)}
    full = {("plus", i, j) for i in range(6) for j in range(6)}
    causal = {("plus", 6 + i, 6 + j) for i in range(5) for j in range(i + 1)}
    over = {("value", 6 + i, j) for i in range(5) for j in range(6)}
    assert masks(figure, 6) == full | causal | over


def test_predictions_are_marked_and_counted():
    said = families(encoder=["man", "the"], decoder="boatman was to the end".split())
    for texts in step_texts(said, 3):
        assert texts == ["→ man ✗", "→ the ✓", "2 questions, 6 words read, 1 right"]
    for texts in step_texts(said, 5):
        assert [text[-1] for text in texts[:-1]] == list("✓✗✓✓✗") and texts[-1].endswith("3 right")
    assert "Said: boatman, was, to, the, end; 3 of 5 right." in repr(said)
    assert "✓" not in "".join(step_texts(said, 7)[0])


def test_spans_are_cut_out_and_joined_again():
    figure = spans()
    assert repr(figure).startswith(
        "Text of 6 tokens, 3 of them hidden (50%) in 2 spans. Input, 5 tokens: the <X> to the "
    )
    assert "Target, 6 tokens: <X> boatman <rowed> <Y> bank <Z>." in repr(figure)
    escaped = [word.replace("<", "&lt;").replace(">", "&gt;") for word in WORDS]
    for step, name in ((1, "text"), (5, "joined again")):
        for texts in step_texts(figure, step):
            assert texts == [name, "6 tokens", *escaped]
    for texts in step_texts(figure, 3):
        assert texts == ["input", "5 tokens", "the", "&lt;X&gt;", "to", "the", "&lt;Y&gt;"]
    joined = figure.still.svg().split('data-step="5"')[1]
    colors = re.findall(r'<rect[^>]*stroke="var\(--(\w+)', joined)
    assert colors == ["line", "group0", "group0", "line", "line", "group1"]


@pytest.mark.parametrize("make", [families, spans])
def test_both_forms_have_the_same_steps_and_stay_inside(make):
    figure = make()
    for drawing in (figure.still, figure.still.narrow):
        for x, y in PLACES.findall(drawing.svg()):
            assert 0 <= float(x) <= drawing.width and 0 <= float(y) <= drawing.height
    assert figure.still.width == 740 and figure.still.narrow.width == 360


def test_what_does_not_fit_is_refused():
    for wrong in ([(2, 2)], [(1, 2), (2, 3)], [(3, 4), (1, 2)], [(4, 7)], [(-1, 1)]):
        with pytest.raises(ValueError, match="spans must be"):
            show_span_corruption(WORDS, wrong)
    with pytest.raises(ValueError, match="1 to 5 spans; got 6 and 0"):
        show_families(WORDS, [])
    with pytest.raises(ValueError, match="2 to 10 tokens"):
        show_families(WORDS * 2, [(1, 2)])
    with pytest.raises(ValueError, match="predictions of the decoder must be 5; got 1"):
        families(decoder=["a"])
    with pytest.raises(ValueError, match=r"must be named .*got \['GPT'\]"):
        families(GPT=["a"])
    with pytest.raises(ValueError, match=r"shape \(T, S\).*\(2, 3\) for 3 target and 2 source"):
        show_cross_attention(["a", "b"], ["c", "d", "e"], torch.full((2, 3), 1 / 3))
    with pytest.raises(ValueError, match="sum to 1"):
        show_cross_attention(["a", "b"], ["c"], [[0.5, 0.6]])
    with pytest.raises(ValueError, match="finite"):
        show_cross_attention(["a", "b"], ["c"], [[float("nan"), 0.6]])


def test_cross_attention_says_where_most_of_each_row_lies():
    figure, weights = cross()
    most = "; ".join(f"t{i} ← s<{int(row.argmax())}> {row.max():.2f}" for i, row in enumerate(weights))
    assert repr(figure).endswith(f"most of each: {most}.")
    torch.testing.assert_close(torch.tensor(figure.data["weights"]), weights, atol=6e-5, rtol=0)


@pytest.mark.parametrize("width", WIDTHS)
def test_cross_attention_is_walked_token_by_token(shown, width):  # noqa: F811
    figure, weights = cross()
    tab = shown(figure, width=width)

    def agrees(step: int) -> None:
        row = weights[step]
        written = tab.locator("text.weight").all_text_contents()
        assert close(
            [round(numbers(text)[0], 2) if text else 0.0 for text in written],
            [round(float(weight), 2) if weight >= 0.005 else 0.0 for weight in row],
        )
        thick = [float(line.get_attribute("stroke-width")) for line in tab.locator("path.line").all()]
        assert thick == [pytest.approx(0.8 + 7 * float(weight), abs=0.006) for weight in row]
        later = ["later" in node.get_attribute("class") for node in tab.locator(".token").all()]
        assert later == [i > step for i in range(3)]
        assert ["later" in node.get_attribute("class") for node in tab.locator(".row").all()] == later
        first, second = row.argsort(descending=True)[:2].tolist()
        said = tab.locator(".say").inner_text()
        assert said.startswith(f"Step {step + 1}. Writing “t{step}”, it looked most at “s<{first}>” ({row[first]:.2f})")
        assert f"then at “s<{second}>” ({row[second]:.2f})" in said
        most = int((row.sort(descending=True).values.cumsum(0) < 0.8).sum()) + 1
        assert f"{most} of 5 source tokens" in said

    titles = tab.locator(".cell title").all_text_contents()
    assert close([numbers(title)[-1] for title in titles], weights.flatten())
    agrees(0)
    tab.get_by_role("button", name="next step").click()
    agrees(1)
    tab.keyboard.press("ArrowRight")
    agrees(2)
    tab.keyboard.press("PageUp")
    agrees(1)
    tab.locator(".row").first.locator(".cell").first.click()  # a row that has been written leads back to it
    agrees(0)
    tab.get_by_role("slider", name="step").press("End")
    agrees(2)


def everything() -> list[Figure]:
    long = show_span_corruption(["considerably"] * 30, [(2, 5), (7, 8), (28, 30)])
    ten = show_families(["riverbanks"] * 10, [(2, 3), (5, 6), (8, 9)], {"decoder": ["riverboats"] * 9})
    many = torch.full((24, 32), 1 / 32)
    letters = show_cross_attention(["m"] * 32, ["w"] * 24, many)
    names = show_cross_attention(["considerably"] * 12, ["Schifffahrtsgesellschaft"] * 3, torch.full((3, 12), 1 / 12))
    return [families(), spans(), cross()[0], long, ten, letters, names]


@pytest.mark.parametrize("width", WIDTHS)
def test_they_fit_the_screen(shown, width):  # noqa: F811
    figures = everything()
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    for slider in tab.get_by_role("slider").all():
        slider.press("End")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(OUTSIDE) == []


def six() -> list[Figure]:
    """All figures of the lecture."""
    return [
        sampling()[0],
        cache()[0],
        explore_writing_order(ORDERS),
        families(encoder=["man", "the"]),
        spans(),
        cross()[0],
    ]


@pytest.mark.parametrize("page, ink", PAGES)
def test_they_take_the_colours_of_the_page_and_have_no_serious_finding(shown, page, ink):  # noqa: F811
    tab = shown(*six(), style=f"body {{ background: {page}; color: {ink} }}")
    for name in ("draw 20 words", "next step"):
        for button in tab.get_by_role("button", name=name).all():
            button.click()
    colors = """() => [...document.querySelectorAll('[data-live]')].map((host) => getComputedStyle(host).color)"""
    assert tab.evaluate(colors) == [ink] * 6
    fills = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
        [...host.shadowRoot.querySelectorAll('text')].map((text) => getComputedStyle(text).fill))"""
    assert [color for color in set(tab.evaluate(fills)) if color != ink and not color.startswith("oklab")] == []
    assert serious_findings(tab, ".bertcourse-figure") == []


def test_what_is_written_in_a_still_picture_stays_inside():
    for figure in six():
        for x, y in PLACES.findall(figure.still.svg()):
            assert 0 <= float(x) <= 740 and 0 <= float(y) <= figure.still.height
