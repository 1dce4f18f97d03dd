"""The site: built from the stored lectures without a warning, no dead link, formulas and figures that can be read."""

import importlib
import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from bertcourse_lab.lectures import KERNEL
from browsers import chromium, pages
from built import build_site

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
WIDTHS = (1400, 390)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
# What a page looks like at one width: by how many pixels it is wider than the screen; what sticks out of the text's
# column and cannot be scrolled to; how many search boxes can be seen; whether the font of formulas has come; how many
# times as tall as the lowest parenthesis the tallest is.
LOOK = """async () => {
  await document.fonts.ready;
  const all = (what) => [...document.querySelectorAll(what)], box = (e) => e.getBoundingClientRect();
  const column = document.querySelector("article") ?? document.body;
  const scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflowX);
  const held = (e) => e !== column && (scrolls(e) || held(e.parentElement));
  const out = (e) => box(e).right > box(column).right + 1 && !held(e.parentElement);
  const visible = (e) => e.checkVisibility() && box(e).right > 0 && box(e).left < innerWidth;
  const heights = all("math mo").filter((e) => e.textContent === "(").map((e) => box(e).height);
  return {
    wider: document.documentElement.scrollWidth - innerWidth,
    outside: [...column.querySelectorAll("*")].filter(out).map((e) => e.outerHTML.slice(0, 100)),
    searches: all(".search-button__button, input[type=search]").filter(visible).length,
    font: [...document.fonts].some((font) => font.family.includes("STIX Two Math") && font.status === "loaded"),
    growth: Math.max(...heights) / Math.min(...heights),
  };
}"""


def dead_links(folder: Path) -> list[str]:
    """Every link of a page to a file that is not there or to an anchor that no element has."""
    anchors = {
        page: {e.get("id") or e["name"] for e in soup.select("[id], a[name]")} for page, soup in pages(folder).items()
    }
    dead = []
    for page, soup in pages(folder).items():
        for link in [e.get("href") or e.get("src") or "" for e in soup.select("[href], [src]")]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = os.path.normpath(Path(page).parent / unquote(parts.path)) if parts.path else page
            anchor, found = unquote(parts.fragment), anchors.get(Path(path).as_posix(), ())
            if not (folder / path).is_file() or (anchor and anchor not in found):
                dead.append(f"{page} → {link}")
    return dead


def broken_formulas(folder: Path) -> list[str]:
    """Formulas that hold an error or a LaTeX command, and commands in the text, where a formula was not seen as one."""
    broken = []
    for page, soup in pages(folder).items():
        wrong = [formula.get_text() for formula in soup.find_all("math") if formula.find("merror")]
        for text in soup.find_all(string=re.compile(r"\\[a-zA-Z]")):
            if not text.find_parent(["pre", "code", "script", "style"]):
                wrong.append(str(text))
        broken += [f"{page}: {text.strip()}" for text in wrong]
    return broken


def figures_without_words(folder: Path) -> list[str]:
    """Figures of notebooks whose alternative text is missing, or is only the name of a Python object."""
    wordless = []
    for page, soup in pages(folder).items():
        for figure in soup.select(".cell_output img, .cell_output svg"):
            words = figure.get("alt") or figure.get("aria-label") or ""
            if len(words.split()) < 4 or re.search(r"<[A-Z]\w+|\bat 0x", words):
                wordless.append(f"{page}: {words!r}")
    return wordless


def looks(folder: Path, chosen: dict[int, list[str]]) -> dict[tuple[str, int], dict]:
    """What LOOK finds on pages that are chosen for each width of a screen."""
    found = {}
    with chromium() as browser:
        for width, names in chosen.items():
            tab = browser.new_page(viewport={"width": width, "height": 900})
            for page in names:
                tab.goto((folder / page).as_uri())
                found[page, width] = tab.evaluate(LOOK)
    return found


@pytest.fixture(scope="module")
def seen(site, weekly) -> dict[tuple[str, int], dict]:
    """Weekly, all pages on both screens; at every change lectures and guides on a phone, and some of the others."""
    every = list(pages(site))
    if weekly:
        return looks(site, dict.fromkeys(WIDTHS, every))
    made = [page for page in every if page.startswith(("api/", "data/", "notebooks/solutions/"))]
    return looks(site, {max(WIDTHS): every[::20], min(WIDTHS): [p for p in every if p not in made] + made[::8]})


@pytest.fixture(scope="module")
def faulty(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess]:
    """A site with a lecture that has a bit of everything, and what its build said."""
    folder = tmp_path_factory.mktemp("faulty")
    text = [
        "# A lecture",
        "[a card](../data/entities/README.md), [a file](../data/entities/make.py), [nothing](../data/nowhere.md)",
        r"$$\arg\max_x f(x)\qquad y=\Bigl(\frac{1}{2}\Bigr)$$",
        r"$$\nosuchcommand$$",
        r"Not a formula: \alpha",
    ]
    figures = [
        nbformat.v4.new_output("display_data", {"image/png": PIXEL, "text/plain": words})
        for words in ("Line plot of the loss: it falls.", "<Figure size 576x306 with 1 Axes>")
    ]
    figures.append(nbformat.v4.new_output("display_data", {"image/png": PIXEL}))
    cells = [nbformat.v4.new_markdown_cell("\n\n".join(text)), nbformat.v4.new_code_cell("draw()", outputs=figures)]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, folder / "lecture.ipynb")
    shutil.copy(ROOT / "notebooks" / "01_self_attention.ipynb", folder)  # where the front page's button leads
    (folder / "solutions").mkdir()
    solved = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Solutions")], metadata=notebook.metadata)
    nbformat.write(solved, folder / "solutions" / "lecture.ipynb")
    return folder / "html", build_site(folder, folder / "html")


def test_lectures_and_their_slides_are_under_3_mb_and_linked(site):
    for lecture in sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        page, deck = (site / folder / f"{lecture}.html" for folder in ("notebooks", "slides"))
        assert page.stat().st_size < 3e6 and deck.stat().st_size < 3e6
        buttons = pages(site)[f"notebooks/{lecture}.html"].select("article a, .article-header-buttons a, header a")
        assert f"../slides/{lecture}.html" in {link.get("href") for link in buttons}


def test_every_lecture_card_and_guide_is_a_page_that_the_sidebar_names(site):
    """That of the front page, or for data and results, which are many, that of their own part."""
    named = set()
    for page in ("index.html", "tools/site/guide/data.html", "data/results/README.html"):
        links = [link["href"] for link in pages(site)[page].select(".bd-links a.reference")]
        named |= {os.path.normpath(Path(page).parent / link) for link in links}
    sources = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "notebooks" / "solutions").glob("*.ipynb")]
    sources += [*(ROOT / "data").rglob("README.md"), *(ROOT / "data" / "results").glob("*.md")]
    sources += [*(ROOT / "tools" / "site" / "guide").glob("*.md"), ROOT / "CONTRIBUTING.md"]
    wanted = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in sources}
    assert len(wanted) > 20
    assert wanted <= named


def test_every_name_that_a_chapter_exports_is_in_the_reference(site):
    for notebook in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        chapter = notebook.stem[3:]
        module = importlib.import_module(f"bertcourse.{chapter}")
        exported = {name: getattr(module, name) for name in getattr(module, "__all__", [])}
        if wanted := {name for name, value in exported.items() if inspect.isfunction(value) or inspect.isclass(value)}:
            described = {e["id"].rpartition(".")[2] for e in pages(site)[f"api/{chapter}.html"].select("dt[id]")}
            assert wanted <= described, chapter


def test_no_link_of_the_site_is_dead(site):
    assert dead_links(site) == []


@pytest.mark.parametrize("link", ["nowhere.html", "page.html#nowhere", "#nowhere", "folder/../../page.html"])
def test_a_dead_link_would_be_noticed(tmp_path, link):
    (tmp_path / "page.html").write_text('<p id="part">', encoding="utf-8")
    good = '<a href="page.html#part"></a><a href="folder/../page.html"></a><a href="#here" id="here"></a>'
    (tmp_path / "index.html").write_text(f'{good}<a href="{link}">', encoding="utf-8")
    assert dead_links(tmp_path) == [f"index.html → {link}"]


def test_nothing_comes_from_the_network(site):
    for page, soup in pages(site).items():
        for element in soup.select("script[src], img[src], link[rel=stylesheet]"):
            assert not urlsplit(element.get("src") or element["href"]).netloc, page
    styles = (site / "_static" / "course.css").read_text(encoding="utf-8")
    fonts = re.findall(r'url\("(.*?)"\)', styles)
    assert fonts and all((site / "_static" / font).is_file() for font in fonts)


def test_no_formula_is_broken(site):
    assert broken_formulas(site) == []


def test_every_figure_has_words(site):
    assert figures_without_words(site) == []


@pytest.mark.weekly
def test_a_lecture_with_faults_stops_the_build(faulty):
    _, result = faulty
    assert result.returncode != 0
    assert "nowhere.md" in result.stderr
    assert "nosuchcommand" in result.stderr
    ours = [line for line in result.stderr.splitlines() if "WARNING" in line and "notebooks/lecture.ipynb" in line]
    assert len(ours) == 2  # the guide misses the lectures that are not there


@pytest.mark.weekly
def test_faults_of_formulas_are_found_and_operators_are_words(faulty):
    folder, _ = faulty
    assert broken_formulas(folder) == [r"notebooks/lecture.html: Not a formula: \alpha"]
    page = pages(folder)["notebooks/lecture.html"]
    first, second, _ = page.select("div.formula > div")  # what \qquad divides may stand on two lines
    assert [element.get_text() for element in first.find_all("mi")][:2] == ["arg", "max"]
    assert second.find("mfrac")


@pytest.mark.weekly
def test_figures_without_words_are_found(faulty):
    folder, _ = faulty
    without = ["notebooks/lecture.html: '<Figure size 576x306 with 1 Axes>'", "notebooks/lecture.html: ''"]
    assert figures_without_words(folder) == without
    page = pages(folder)["notebooks/lecture.html"]
    assert page.select_one(".cell_output img")["alt"] == "Line plot of the loss: it falls."


@pytest.mark.weekly
def test_links_to_cards_lead_to_pages_and_links_to_files_to_downloads(faulty):
    folder, _ = faulty
    links = {a.get_text(): a.get("href") for a in pages(folder)["notebooks/lecture.html"].select("article a")}
    assert links["a card"] == "../data/entities/README.html"
    assert (folder / "notebooks" / links["a file"]).read_text() == (ROOT / "data/entities/make.py").read_text()


def test_no_page_is_wider_than_the_screen_and_what_is_scrolls_in_its_column(seen):
    assert {where: look["wider"] for where, look in seen.items() if look["wider"] > 0} == {}
    assert {where: look["outside"] for where, look in seen.items() if look["outside"]} == {}


def test_each_page_shows_one_search_box(seen):
    assert {where: look["searches"] for where, look in seen.items() if look["searches"] != 1} == {}


def test_parentheses_grow_with_what_they_hold(seen):
    look = seen["notebooks/01_self_attention.html", min(WIDTHS)]
    assert look["font"]
    assert look["growth"] > 2  # softmax(QKᵀ/√d)


def test_a_page_that_is_too_wide_would_be_noticed(tmp_path):
    wide = '<div style="width: 800px">wide</div>'
    held = f'<div style="overflow-x: auto">{wide}</div>'
    for name, content in {"wide": wide, "held": held}.items():
        page = f"<meta name=viewport content=width=device-width><article>{content}</article>"
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
    found = looks(tmp_path, {width: ["wide.html", "held.html"] for width in WIDTHS})
    assert [bool(found["wide.html", width]["outside"]) for width in WIDTHS] == [False, True]
    assert [found["wide.html", width]["wider"] > 0 for width in WIDTHS] == [False, True]
    assert not any(found["held.html", width]["outside"] or found["held.html", width]["wider"] for width in WIDTHS)
