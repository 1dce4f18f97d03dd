"""Build the site: ``python tools/site/build.py NOTEBOOKS OUTPUT`` turns a folder of executed lectures into pages.

`make course` builds it from the lectures that it has just executed, the tests from the stored ones.
"""

import argparse
import html
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # this checkout's packages, whichever are installed

import playground  # noqa: E402
from front_page import write_front_page  # noqa: E402

from bertcourse_lab.lectures import read_notebook  # noqa: E402
from bertcourse_slides import write_deck  # noqa: E402

# The pages of the API reference: chapters in the order of the lectures, then the rooms that they share.
ROOMS = {
    "Chapters": [
        "static_embeddings",
        "self_attention",
        "multi_head_attention",
        "tokenization",
        "pretraining",
        "word_senses",
        "anisotropy",
        "fine_tuning",
        "named_entities",
        "question_answering",
        "retrieval",
        "beyond_bert",
        "decoders",
    ],
    "Shared": ["bert", "datasets", "bootstrap", "files"],
    "Tools": ["bertcourse_figures.plots", "bertcourse_homework"],
}


def write_reference(folder: Path) -> None:
    """A page for each module, of what it exports, by its docstrings; and one that lists them. The search finds names in
    them, and not every word: its index comes with each page of the site."""
    folder.mkdir()
    for module in sum(ROOMS.values(), []):
        name = module if module in ROOMS["Tools"] else f"bertcourse.{module}"
        page = f":no-search:\n\n{module}\n{'=' * len(module)}\n\n.. automodule:: {name}\n   :members:\n"
        if importlib.util.find_spec(name).submodule_search_locations:  # a package
            page += "   :imported-members:\n"  # those in __all__
        (folder / f"{module}.rst").write_text(page, encoding="utf-8")
    index = "API reference\n=============\n"
    for name, modules in ROOMS.items():
        index += f"\n.. toctree::\n   :caption: {name}\n   :maxdepth: 1\n\n" + "".join(f"   {one}\n" for one in modules)
    (folder / "index.rst").write_text(index, encoding="utf-8")


def lay_out(notebooks: Path, data: Path, source: Path) -> None:
    """Put lectures, data and guide as they lie in the repository, so that links between their files lead to pages, and
    what the site adds: a front page, the playground, the reference, lists of data and of results."""
    solutions = notebooks / "solutions"
    if not solutions.is_dir():  # `make course` runs the lectures only
        solutions = ROOT / "notebooks" / "solutions"
    (source / "notebooks" / "solutions").mkdir(parents=True)
    for notebook in notebooks.glob("*.ipynb"):
        shutil.copy(notebook, source / "notebooks")
    for notebook in solutions.glob("*.ipynb"):
        shutil.copy(notebook, source / "notebooks" / "solutions")
    shutil.copytree(data, source / "data", ignore=shutil.ignore_patterns("*.safetensors", "__pycache__"))
    shutil.copytree(SITE / "guide", source / "tools" / "site" / "guide")
    (source / "notebooks" / "homework").mkdir(parents=True)
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "notebooks/homework/INSTRUCTORS.md"):
        shutil.copy(ROOT / name, source / name)
    for name in ("index.md", "bank.svg"):
        shutil.copy(SITE / name, source)
    write_front_page(source, notebooks, ROOT)
    (source / "playground.md").write_text(playground.page(playground.models_at_hand()), encoding="utf-8")
    write_reference(source / "api")
    list_pages(source / "tools" / "site" / "guide" / "data.md", "All cards", "../../../data/**/README")
    list_pages(source / "data" / "results" / "README.md", "All tables", "[!R]*")


def list_pages(page: Path, heading: str, which: str) -> None:
    """End a page with links to its parts, which the sidebar lists beside it, too."""
    with page.open("a", encoding="utf-8") as text:
        text.write(f"\n## {heading}\n\n```{{toctree}}\n:maxdepth: 1\n:glob:\n\n{which}\n```\n")


def lectures(notebooks: Path) -> list[Path]:
    """The lectures among the notebooks of a folder."""
    return sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))


def title(lecture: Path) -> str:
    """The heading of a lecture."""
    return read_notebook(lecture).cells[0].source.splitlines()[0].removeprefix("# ")


def list_slides(notebooks: Path, page: Path) -> None:
    """Put links to all decks where the lecturers' page has a place for them; they are written after the pages."""
    links = [
        f'<li><a href="../../../slides/{path.stem}.html">{html.escape(title(path))}</a></li>'
        for path in lectures(notebooks)
    ]
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<!-- slides -->", f"<ul>{''.join(links)}</ul>"), encoding="utf-8")


def build(notebooks: Path, output: Path) -> int:
    """Sphinx's exit status: not 0 after any warning, such as of a link that leads nowhere or a formula that fails."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        lay_out(notebooks, ROOT / "data", source)
        list_slides(notebooks, source / "tools" / "site" / "guide" / "lecturing.md")
        trees = ["-d", f"{scratch}/doctrees"]
        status = sphinx(["-q", "-W", "--keep-going", "-b", "html", *trees, "-c", str(SITE), str(source), str(output)])
    if status == 0:
        for notebook in lectures(notebooks):
            write_deck(notebook, output / "slides")
        playground.write_models(playground.models_at_hand(), output / "playground")
    return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site from a folder of executed lectures.")
    parser.add_argument("notebooks", type=Path)
    parser.add_argument("output", type=Path)
    sys.exit(build(**vars(parser.parse_args())))
