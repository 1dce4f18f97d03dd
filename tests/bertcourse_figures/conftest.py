"""A page with live figures on it."""

from collections.abc import Callable

import pytest

from bertcourse_figures.interactive import Figure
from live_figures import WIDE


@pytest.fixture
def shown(browser, tmp_path) -> Callable:
    """A page with figures on it, as a tab; that it asked for nothing and reported no error is checked at the end."""
    tabs, requests, errors = [], [], []

    def show(*figures: Figure, width: int = WIDE, head: str = "", style: str = "", media=None, around=("", "")):
        start = "<!doctype html><meta charset=utf-8><meta name=viewport content=width=device-width>"
        page = tmp_path / f"page{len(tabs)}.html"
        body = around[0] + "".join(figure.html() for figure in figures) + around[1]
        page.write_text(f"{start}{head}<style>{style}</style><body>{body}", encoding="utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.emulate_media(**(media or {"reduced_motion": "reduce"}))  # nothing has to be waited for
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda message: errors.append(message.text) if message.type == "error" and not head else None)
        tab.goto(page.as_uri())
        tabs.append(tab)
        return tab

    yield show
    for tab in tabs:
        tab.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert errors == []
