"""What the tests of figures in a browser share: widths, the wide one for every week, colours of pages, how they read
numbers, and how small a text is."""

import re

import pytest

SMALLEST = """(host) => {
  const stage = host.shadowRoot.querySelector(".stage"), sizes = [];
  const scale = stage.getBoundingClientRect().width / stage.offsetWidth;
  const walker = document.createTreeWalker(stage, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement, own = parseFloat(getComputedStyle(node).fontSize);
    if (!walker.currentNode.textContent.trim() || node.closest("style, title, option, tspan, .unseen")) continue;
    const svg = node.closest("svg");
    if (node.closest("text")) sizes.push((own * svg.getBoundingClientRect().width) / svg.viewBox.baseVal.width);
    else if (node.getClientRects().length) sizes.push(own * scale);
  }
  return Math.min(...sizes);
}"""  # pixels on the screen: the smallest text of a figure, but for subscripts
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[-−+]\d+)?")
WIDE, NARROW = 1000, 390
WIDTHS = [pytest.param(WIDE, marks=pytest.mark.weekly), NARROW]
PAGES = [("white", "rgb(20, 20, 20)"), ("rgb(18, 18, 18)", "rgb(230, 230, 230)")]  # the page's colour and its text's
OUTSIDE = """() => [...document.querySelectorAll('[data-live]')].flatMap((host) =>
    [...host.shadowRoot.querySelectorAll('text, button, .say, rect, svg')].filter((node) => {
        const box = node.getBoundingClientRect();
        return box.left < -1 || box.right > innerWidth + 1;
    }).map((node) => node.outerHTML.slice(0, 90)))"""  # what of the figures lies beyond the screen


def numbers(text: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in NUMBER.findall(text)]


def last_numbers(tab, selector: str) -> list[float]:
    """The number that ends each text that matches."""
    return [numbers(text)[-1] for text in tab.locator(selector).all_text_contents()]


def close(drawn: list[float], expected, digits: int = 3) -> bool:
    """To the digits that are written."""
    expected = [float(value) for value in expected]
    assert len(drawn) == len(expected)
    return all(abs(a - b) <= 0.5 * 10**-digits + 1e-5 for a, b in zip(drawn, expected))
