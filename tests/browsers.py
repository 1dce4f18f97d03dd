"""A browser for the tests that look at pages, what they do where there is none, and how they read pages and maps."""

import functools
import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup


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


@functools.cache
def pages(folder: Path) -> dict[str, BeautifulSoup]:
    """Each page's path and what it holds: not the theme's own files, nor slides, which have tests of their own."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.html"))}
    return {
        name: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for name, path in paths.items()
        if not name.startswith(("_static/", "slides/"))
    }


def serious_findings(tab, within: str | None = None) -> list[tuple[str, list[str]]]:
    """What axe-core finds serious or critical in an open page, or within an element of it: rules, and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab, context=within).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in serious]


def script_of_the_site(name: str) -> ModuleType:
    """tools/site/``name``.py, as the site's build imports it."""
    path = Path(__file__).parents[1] / "tools" / "site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn_map(panel) -> np.ndarray:
    """The weights that a map's cells state; 0 where it has none."""
    length = panel.locator(".map text").count() // 2
    weights = np.zeros((length, length))
    read = "(cells) => cells.map((cell) => [cell.dataset.row, cell.dataset.column, cell.textContent.split(' ').pop()])"
    for row, column, weight in panel.locator(".cell").evaluate_all(read):
        weights[int(row), int(column)] = float(weight)
    return weights


def same_map(drawn: np.ndarray, weights: torch.Tensor, tolerance: float = 0.00051) -> bool:
    """Whether all cells state the right weight, and none is missing but those below 0.005."""
    weights = weights.numpy()
    assert drawn.shape == weights.shape
    off = np.where(drawn == 0, np.maximum(weights - 0.005, 0), np.abs(drawn - weights))
    return bool(off.max() < tolerance)
