"""What the tests of figures in a browser share: two widths, and how they read numbers off a page."""

import re

NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[-−+]\d+)?")
WIDE, NARROW = 1000, 390
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


def close(drawn: list[float], expected) -> bool:
    """To the three digits that are written."""
    expected = [float(value) for value in expected]
    assert len(drawn) == len(expected)
    return all(abs(a - b) <= 0.0005 + 1e-5 for a, b in zip(drawn, expected))
