"""The figure with switches: what is given to it and said is what was measured, and the browser follows each switch."""

from itertools import product

import numpy as np
import pytest

from bertcourse_figures.interactive import Figure
from bertcourse_figures.switches import LEAST, explore_switches
from live_figures import NARROW, WIDE, numbers

SWITCHES = {"residual": ["on", "off"], "norm": ["post", "pre", "off"]}
START = ("on", "pre")


def lines(runs: int = 2, layers: int = 5) -> dict:
    generator = np.random.default_rng(0)
    return {
        choice: {name: 10 ** generator.normal(0, 2, (runs, layers)) for name in ("size", "slope")}
        for choice in product(*SWITCHES.values())
    }


def figure() -> Figure:
    return explore_switches(SWITCHES, lines(), START)


def test_lines_are_powers_of_ten_and_zero_is_the_least():
    given = lines()
    given["on", "post"]["size"][0, 1] = 0.0
    data = explore_switches(SWITCHES, given, START).data
    assert data["start"] == [0, 1] and data["measures"] == ["size", "slope"]
    assert list(data["lines"]) == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    np.testing.assert_allclose(data["lines"]["1.2"][1], np.log10(given["off", "off"]["slope"]), atol=6e-4)
    assert data["lines"]["0.0"][0][0][1] == np.log10(LEAST)


def test_words_say_what_is_shown_and_its_ends():
    powers = np.log10(lines(runs=3)[START]["size"])
    said = repr(explore_switches(SWITCHES, lines(runs=3), START))
    assert said.startswith("6 stacks of 4 layers. Shown: residual on, norm pre, medians of its runs.")
    bottom, top = 10 ** np.median(powers, axis=0)[[0, -1]]
    assert f"size: {bottom:.2g} at the bottom, {top:.2g} at the top" in said


def test_what_does_not_fit_is_refused():
    given = lines()
    given.pop(("off", "off"))
    with pytest.raises(ValueError, match="every choice of settings.*off"):
        explore_switches(SWITCHES, given, START)
    given = lines()
    given["on", "off"]["size"][0, 0] = -1.0
    with pytest.raises(ValueError, match="at least 0"):
        explore_switches(SWITCHES, given, START)
    with pytest.raises(ValueError, match="start among them"):
        explore_switches(SWITCHES, lines(), ("on", "on"))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_each_switch_changes_the_lines(shown, width):  # noqa: F811
    given = lines(runs=3)
    tab = shown(explore_switches(SWITCHES, given, START), width=width)

    def agrees(*choice: str) -> None:
        pressed = tab.locator('.switch [aria-pressed="true"]').all_inner_texts()
        assert pressed == list(choice)
        assert tab.locator(".panels svg").first.locator(".chosen path").count() == 3
        for said, runs in zip(tab.locator(".ends").all_inner_texts(), given[choice].values(), strict=True):
            ends = 10 ** np.median(np.log10(runs)[:, [0, -1]], axis=0)
            np.testing.assert_allclose(numbers(said), ends, rtol=0.01)

    agrees("on", "pre")
    assert "values below 1e−8 are drawn at 1e−8" in tab.locator(".legend").inner_text()
    tab.get_by_role("button", name="residual off").click()
    agrees("off", "pre")
    tab.get_by_role("button", name="norm off").focus()
    tab.keyboard.press("Enter")
    agrees("off", "off")
    tab.get_by_role("button", name="residual on").click()
    agrees("on", "off")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
