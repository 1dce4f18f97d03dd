"""The chain that one stretches: what is drawn as left at each distance is the gradient that autograd computes."""

import numpy as np
import pytest
import torch

from bertcourse_figures.interactive import Figure
from bertcourse_figures.recurrence import explore_recurrence, percent
from live_figures import NARROW, WIDE, WIDTHS, numbers

TOKENS = [f"w{number}" for number in range(23)]
LENGTH, RUNS = len(TOKENS), 3


def gradient_of_rnn(run: int) -> list[float]:
    """Size of the gradient of the last state's sum with respect to the input at each distance."""
    torch.manual_seed(run)
    rnn, x = torch.nn.RNN(6, 6, batch_first=True), torch.randn(1, LENGTH, 6, requires_grad=True)
    rnn(x)[0][0, -1].sum().backward()
    return x.grad[0].norm(dim=-1).flip(0).tolist()


def gradients() -> dict[str, np.ndarray]:
    rnn = np.array([gradient_of_rnn(run) for run in range(RUNS)])
    generator = np.random.default_rng(0)
    return {"RNN": rnn, "LSTM": rnn**0.3, "attention": generator.uniform(0.2, 1.5, (RUNS, LENGTH))}


def shares(name: str, reference: int = 0) -> np.ndarray:
    """(R, L), as a reader would divide them."""
    given = gradients()[name]
    return given / given[:, [reference]]


def figure(**change) -> Figure:
    return explore_recurrence(TOKENS, gradients(), **{"start": 4} | change)


def test_what_is_left_is_divided_by_what_is_there_at_the_reference():
    for reference in (0, 1):
        data = figure(reference=reference).data
        assert data["names"] == ["RNN", "LSTM", "attention"] and data["direct"] == [False, False, True]
        for name, powers in zip(data["names"], data["powers"]):
            np.testing.assert_allclose(10 ** np.array(powers), shares(name, reference), rtol=2e-3)
    assert shares("RNN")[:, 15:].max() < 0.05  # a network of torch does forget


def test_one_model_may_be_the_measure_of_all():
    given = gradients()
    unit = np.median(given["RNN"][:, 1])
    drawn = figure(reference=1, of="RNN")
    for name, powers in zip(drawn.data["names"], drawn.data["powers"]):
        np.testing.assert_allclose(10 ** np.array(powers), given[name] / unit, rtol=2e-3)
    assert "of what RNN’s is 1 back" in repr(drawn) and drawn.data["of"] == "RNN"


def test_no_gradient_counts_as_next_to_nothing():
    data = explore_recurrence(list("abcd"), {"RNN": [1.0, 0.5, 0.0, 0.0]}).data
    assert data["powers"][0][0][2:] == [-12.0, -12.0] and data["start"] == 3


def test_words_tell_the_medians_where_it_opens_and_at_the_end():
    said = repr(figure())
    for name in gradients():
        middle = np.median(shares(name), axis=0)
        assert f"{name}, 4 words back at “w18” {percent(middle[4])}, 22 back {percent(middle[-1])}" in said


def test_what_does_not_fit_is_refused():
    for wrong, message in (
        ({"RNN": np.ones((3, 22))}, "runs of 23 sizes"),
        ({"RNN": -np.ones(23)}, "at least 0"),
        ({"RNN": np.zeros(23)}, "more than 0 at distance 0"),
        ({}, "3 models"),
    ):
        with pytest.raises(ValueError, match=message):
            explore_recurrence(TOKENS, wrong)
    with pytest.raises(ValueError, match="4 to 48 tokens"):
        explore_recurrence(["a"] * 49, {"RNN": np.ones(49)})
    with pytest.raises(ValueError, match="start must be at least the reference"):
        figure(start=0, reference=1)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_chain_is_stretched_by_slider_key_and_click_for_each_model(shown, width):  # noqa: F811
    tab = shown(figure(), width=width)
    slider, names = tab.get_by_role("slider", name="distance"), list(gradients())

    def agrees(model: str, distance: int) -> None:
        assert slider.get_attribute("aria-valuetext") == f"{distance} back"
        middle = {name: np.median(shares(name), axis=0) for name in names}
        said = tab.locator(".say").inner_text().replace("\u00a0", " ")
        left = percent(middle[model][distance])
        words = "1 word" if distance == 1 else f"{distance} words"
        assert said.startswith(f"{model}: {left} of the gradient arrives {words} back, at “w{22 - distance}”.")
        runs = shares(model)[:, distance]
        least, most = percent(runs.min()), percent(runs.max())
        assert (f"From {least} to {most} in 3 runs." in said) == (least != most)
        for other in set(names) - {model}:
            assert f"{other}: {percent(middle[other][distance])}" in said
        dots = [numbers(text)[-1] for text in tab.locator(".left title").all_text_contents()]
        np.testing.assert_allclose(dots, [middle[name][distance] for name in names], rtol=0.008)
        ways = tab.locator("path.way")
        drawn = {int(way.get_attribute("data-distance")): way for way in ways.all()}
        assert sorted(drawn) == ([distance] if model == "attention" else list(range(1, distance + 1)))
        for own, way in drawn.items():
            wide = 0.7 + 9 * min(1, middle[model][own])
            assert float(way.get_attribute("stroke-width")) == pytest.approx(wide, abs=0.03)
        cells = [numbers(title.split(": ")[1])[-1] for title in tab.locator(".cell title").all_text_contents()]
        expected = [max(0.01, 100 * share) for share in middle[model][::-1]]
        np.testing.assert_allclose(cells, expected, rtol=0.06)

    agrees("RNN", 4)
    slider.press("ArrowRight")
    agrees("RNN", 5)
    tab.get_by_role("button", name="attention").click()
    agrees("attention", 5)
    tab.locator(".chain").focus()
    tab.keyboard.press("ArrowLeft")  # on the chain, to the left is further back
    agrees("attention", 6)
    tab.get_by_role("button", name="LSTM").press("Enter")
    tab.locator(".cell").nth(2).click()
    agrees("LSTM", 20)
    slider.press("End")
    agrees("LSTM", 22)
    slider.press("Home")
    assert "0 words back, at “w22”" in tab.locator(".say").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_chain_that_is_wider_than_a_phone_wraps(shown):  # noqa: F811
    rows = []
    for width in (WIDE, NARROW):
        tab = shown(figure(), width=width)
        rows.append(len({cell.get_attribute("y") for cell in tab.locator(".cell rect").all()}))
    assert rows == [2, 4]
