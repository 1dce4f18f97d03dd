"""Sampling and the cache: what the figures are given, say and draw is what torch, or another library, computes."""

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bertcourse.bert import BertConfig
from bertcourse.multi_head_attention import EncoderBlock
from bertcourse.self_attention import causal_mask
from bertcourse_figures.generation import (
    DRAWN,
    NAMED,
    SETS,
    count_kept,
    explore_cache,
    explore_sampling,
    multiplications,
)
from bertcourse_figures.interactive import Figure
from live_figures import WIDTHS, close, numbers


def sampling(size: int = 40, **how) -> tuple[Figure, torch.Tensor]:
    """Random scores of so many words."""
    logits = 2.5 * torch.randn(size, dtype=torch.double)
    return explore_sampling([f"w{i}" for i in range(size)], logits, "the boatman", **how), logits


def left_of(logits: torch.Tensor, temperature: float, top_k: int, top_p: float) -> torch.Tensor:
    """The shares that are drawn from, by sorting, adding up and cutting off; the likeliest first."""
    shares = torch.softmax(logits / temperature, dim=-1).sort(descending=True).values
    shares[top_k or len(shares) :] = 0
    shares = shares / shares.sum()
    if top_p < 1:
        shares[shares.cumsum(0) - shares >= top_p] = 0
    return shares / shares.sum()


@pytest.mark.parametrize(("top_k", "top_p"), [(40, 0.9), (7, 0.6), (3, 1.0), (40, 0.01)])
def test_what_is_cut_off_is_what_transformers_cuts_off(top_k, top_p):
    generation = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(1, 40)
    kept = generation.TopKLogitsWarper(top_k)(None, logits / 0.7)
    kept = generation.TopPLogitsWarper(top_p)(None, kept) if top_p < 1 else kept
    softened = torch.softmax(logits[0] / 0.7, dim=-1).sort(descending=True).values.double().numpy()
    assert count_kept(softened, top_k, top_p) == int(kept.isfinite().sum())


def test_sampling_says_what_is_left():
    figure, logits = sampling(temperature=1.7, top_k=9, top_p=0.85)
    left = left_of(logits, 1.7, 9, 0.85)
    kept, order = int((left > 0).sum()), logits.argsort(descending=True)
    assert 2 < kept < 9
    said = repr(figure)
    assert said.startswith(f"After “the boatman”, temperature 1.7, top-k 9, top-p 0.85: {kept} of 40 words are left")
    assert (
        f"entropy {torch.special.entr(left).sum():.2f} nats: w{order[0]} {left[0]:.3f}, w{order[1]} {left[1]:.3f}"
        in said
    )
    assert said.count("cut") == 0 and figure.still.svg().count("cut off</text>") == 12 - kept + 1 + 1  # the heading
    assert repr(sampling()[0]).startswith("After “the boatman”, temperature 1, top-k off, top-p 1: 40 of 40")


def test_of_a_large_vocabulary_rare_words_are_given_in_groups_of_equals():
    figure, logits = sampling(size=30_000)
    data = figure.data
    assert len(data["words"]) == NAMED and len(data["logits"]) <= 2 * NAMED
    assert sum(data["counts"]) == 30_000 - NAMED and len(figure.html()) < 80_000
    for temperature in (0.3, 1.0, 2.0):
        counts = np.array([1] * NAMED + data["counts"])
        grouped = np.exp(np.array(data["logits"]) / temperature) * counts
        exact = torch.softmax(logits / temperature, dim=-1).sort(descending=True).values
        np.testing.assert_allclose((grouped / grouped.sum())[:50], exact[:50], rtol=1e-4)


def test_sampling_refuses_what_it_cannot_draw():
    with pytest.raises(ValueError, match=r"shape \(V,\).*\(3,\) and 2 words"):
        explore_sampling(["a", "b"], torch.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        explore_sampling(["a", "b"], torch.tensor([0.0, -torch.inf]))
    for wrong in ({"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}):
        with pytest.raises(ValueError, match="temperature must be above 0"):
            explore_sampling(["a", "b"], torch.zeros(2), **wrong)


@pytest.mark.parametrize("size", [40, 3000])
def test_the_sliders_cut_and_the_button_draws(shown, size):  # noqa: F811
    figure, logits = sampling(size)
    tab, data = shown(figure), figure.data
    order = logits.argsort(descending=True).tolist()
    names = ["temperature", "top-k", "top-p"]
    places, pressed = list(data["start"]), 0

    def agrees() -> None:
        temperature, top_k, top_p = (values[place] for values, place in zip(data["settings"], places))
        left = left_of(logits, temperature, top_k, top_p)
        kept = int((left > 0).sum())
        expected = [*left[:12].tolist(), float(left[12:].sum())]
        written = tab.locator(".share").all_text_contents()
        assert [text == "cut off" for text in written] == [share == 0 for share in expected]
        assert close([numbers(text)[0] for text in written if text != "cut off"], [s for s in expected if s])
        said = tab.locator(".say").inner_text()
        assert said.startswith(f"{kept:,} of {size:,} words")
        entropy = float(torch.special.entr(left).sum())
        assert numbers(said.split("Entropy")[1])[0] == pytest.approx(entropy, abs=0.006)
        if pressed:
            drawn = torch.searchsorted(left.cumsum(0), torch.tensor(data["uniforms"][pressed - 1]).double(), right=True)
            hits = torch.bincount(drawn.clamp(max=12), minlength=13).tolist()
            often = tab.locator(".often").all_text_contents()
            assert [numbers(text)[0] if text else 0 for text in often] == hits and sum(hits) == DRAWN
            first = order[int(drawn.mode().values)]
            assert f"w{first} {int((drawn == drawn.mode().values).sum())}" in tab.locator(".tally").inner_text()

    agrees()
    assert tab.locator(".tally").count() == 0
    tab.get_by_role("button", name="draw 20 words").click()
    pressed = 1
    agrees()
    for which, key, step in ((0, "Home", None), (0, "ArrowRight", 1), (1, "ArrowLeft", -1), (2, "ArrowLeft", -1),
                             (0, "End", None), (2, "Home", None), (1, "Home", None)):  # fmt: skip
        tab.get_by_role("slider", name=names[which], exact=True).press(key)
        last = len(data["settings"][which]) - 1
        places[which] = {"Home": 0, "End": last}.get(key, places[which] + (step or 0))
        agrees()
    tab.get_by_role("button", name="draw 20 others").press("Enter")
    pressed = 2
    agrees()
    assert len(data["uniforms"]) == SETS


def cache(prompt: int = 2) -> tuple[Figure, torch.Tensor]:
    """Six tokens, the last of which is written and never read."""
    scores = torch.randn(6, 6).masked_fill(~causal_mask(6), -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return explore_cache("the boatman <rowed> to a bank".split(), weights, 32, prompt), weights


def long_cache() -> Figure:
    """As many tokens as there is room for, with long names."""
    weights = torch.softmax(torch.randn(16, 16).masked_fill(~causal_mask(16), -torch.inf), dim=-1)
    return explore_cache(["[CLS]", *["considerably"] * 15], weights, 1024, 4)


def test_multiplications_are_those_that_torch_counts():
    block = EncoderBlock(BertConfig(hidden_size=32, num_attention_heads=4, intermediate_size=96)).eval()
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        block(torch.randn(1, 7, 32))
    assert counter.get_total_flops() == 2 * multiplications(7, 7, 32, 96)  # a multiplication and an addition


def test_the_cache_computes_one_token_at_each_step_and_the_prompt_at_once():
    figure, weights = cache()
    data = figure.data
    assert data["plain"] == [multiplications(n, n, 32, 128) for n in (2, 3, 4, 5)]
    assert data["cached"] == [multiplications(*n, 32, 128) for n in ((2, 2), (1, 3), (1, 4), (1, 5))]
    np.testing.assert_allclose(data["weights"], weights[:5, :5], atol=6e-5)
    said, times = repr(figure), sum(data["plain"]) / sum(data["cached"])
    assert said.startswith("4 tokens written after “the boatman”, with a cache: boatman → <rowed>; <rowed> → to; ")
    assert f"Last row: the {weights[4, 0]:.2f}, boatman {weights[4, 1]:.2f}" in said
    assert said.endswith(f"{times:.1f} times as many.") and "a → bank." in said


def test_the_cache_refuses_what_it_cannot_draw():
    tokens, weights = ["a", "b", "c"], torch.eye(3)
    with pytest.raises(ValueError, match=r"shape \(L, L\).*\(2, 2\)"):
        explore_cache(tokens, weights[:2, :2], 8)
    with pytest.raises(ValueError, match="a prompt of 3"):
        explore_cache(tokens, weights, 8, prompt=3)
    with pytest.raises(ValueError, match="at most 16"):
        explore_cache(["a"] * 17, torch.eye(17), 8)
    with pytest.raises(ValueError, match="causal"):
        explore_cache(tokens, torch.full((3, 3), 1 / 3), 8)


def large(number: int) -> str:
    return f"{number:,}" if number < 1e6 else f"{number / 1e6:.2f} million"


@pytest.mark.parametrize("width", WIDTHS)
def test_token_by_token_rows_are_computed_or_read(shown, width):  # noqa: F811
    figure, weights = cache()
    tab, data = shown(figure, width=width), figure.data
    tokens, step, is_cached = data["tokens"], 0, True

    def agrees() -> None:
        read = 2 + step
        new = [j for j in range(read) if not is_cached or step == 0 or j == read - 1]
        for what in ("key", "value"):
            told = [
                f"{what} of {tokens[j]}: {'computed now' if j in new else 'read from the cache'}" for j in range(read)
            ]
            titles = tab.locator(f".{what} title").all_text_contents()
            assert titles == told + [""] * (5 - read)
            signs = tab.locator(f".{what} text").all_text_contents()
            assert signs == ["●" if j in new else "○" for j in range(read)] + [""] * (5 - read)
        kinds = [node.get_attribute("class").split()[1] for node in tab.locator(".row").all()]
        assert kinds == ["now" if j in new else "past" if j < read else "absent" for j in range(5)]
        assert tab.locator(".row text").nth(4).is_visible() == (read == 5)  # what is not written yet cannot be read
        assert tab.locator(".writes").text_content() == f"→ {tokens[read]}"
        assert f"Step {step + 1}." in tab.locator(".say").inner_text()
        sums = [sum(data[name][: step + 1]) for name in ("cached", "plain")]
        expected = [large(data[name][step]) for name in ("cached", "plain")] + [large(total) for total in sums]
        assert tab.locator(".count .number").all_text_contents() == expected
        assert f"so far {sums[1] / sums[0]:.1f} times" in tab.locator(".times").inner_text()

    cells = tab.locator(".row title").all_text_contents()
    assert close([numbers(cell)[-1] for cell in cells], [weights[i, j] for i in range(5) for j in range(i + 1)])
    agrees()
    tab.get_by_role("button", name="next step").click()
    step = 1
    agrees()
    tab.keyboard.press("ArrowRight")
    step = 2
    agrees()
    tab.get_by_role("button", name="cache: on").click()
    is_cached = False
    agrees()
    tab.get_by_role("slider", name="step").press("End")
    step = 3
    agrees()
    tab.get_by_role("button", name="next step").click()  # there is none
    tab.get_by_role("button", name="cache: off").press("Enter")
    is_cached = True
    agrees()
    tab.get_by_role("slider", name="step").press("ArrowLeft")
    step = 2
    agrees()


def everything() -> list[Figure]:
    return [sampling()[0], sampling(3000, top_k=9, top_p=0.9)[0], cache()[0], long_cache()]


@pytest.mark.parametrize("width", WIDTHS)
def test_they_fit_the_screen(shown, width):  # noqa: F811
    figures = everything()
    tab = shown(*figures, width=width)
    assert tab.locator("[data-live]").count() == len(figures)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
        [...host.shadowRoot.querySelectorAll('text, button, span, rect, svg')].filter((node) => {
            const box = node.getBoundingClientRect();
            return box.width && (box.left < -1 || box.right > innerWidth + 1);
        }).map((node) => node.outerHTML.slice(0, 90)))"""
    assert tab.evaluate(outside) == []
