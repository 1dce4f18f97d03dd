"""A browser for the tests that look at pages, and what they do where there is none."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest


def absent(what: str) -> NoReturn:
    """In CI all tests run; elsewhere those that need a browser are left out where there is none."""
    advice = f"{what} is needed to look at pages: python -m pip install playwright, and Chromium or Chrome"
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(advice)


@contextmanager
def chromium() -> Iterator:
    """Chromium or Chrome, without a window."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        absent("playwright")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    which = {"executable_path": found} if found else {"channel": "chrome"}
    options = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(args=options, **which)
        except Error:
            absent("Chromium or Chrome")
        yield started
        started.close()
