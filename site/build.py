"""Build the site: ``python site/build.py NOTEBOOKS OUTPUT`` turns a folder of executed lectures into pages.

`make course` builds it from the lectures that it has just executed, the tests from the stored ones.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import playground
from sphinx.cmd.build import main as sphinx

SITE = Path(__file__).resolve().parent
PACKAGE = SITE.parent / "bertcourse"


# The pages of the API reference: chapters in the order of the lectures, then the rooms that they share.
ROOMS = {
    "Chapters": [
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
    ],
    "Shared": ["bert", "training", "datasets", "figures.plots", "bootstrap", "files", "checks"],
}


def write_reference(folder: Path) -> None:
    """A page for each module, of what it exports, by its docstrings."""
    folder.mkdir()
    for module in sum(ROOMS.values(), []):
        page = f"{module}\n{'=' * len(module)}\n\n.. automodule:: bertcourse.{module}\n   :members:\n"
        if (PACKAGE / module / "__init__.py").is_file():
            page += "   :imported-members:\n"  # those in __all__
        (folder / f"{module}.rst").write_text(page, encoding="utf-8")


def lay_out(notebooks: Path, data: Path, source: Path) -> None:
    """Put lectures, data and guide as they lie in the repository, so that links between their files lead to pages."""
    for notebook in sorted([*notebooks.glob("*.ipynb"), *notebooks.glob("solutions/*.ipynb")]):
        place = source / "notebooks" / notebook.relative_to(notebooks)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(notebook, place)
    shutil.copytree(data, source / "data", ignore=shutil.ignore_patterns("*.safetensors", "__pycache__"))
    shutil.copytree(SITE / "guide", source / "site" / "guide")
    shutil.copy(SITE.parent / "CONTRIBUTING.md", source)
    shutil.copy(SITE.parent / "CHANGELOG.md", source)
    shutil.copy(SITE / "index.md", source)
    (source / "playground.md").write_text(playground.page(playground.models_at_hand()), encoding="utf-8")
    write_reference(source / "api")


def build(notebooks: Path, output: Path) -> int:
    """Sphinx's exit status: not 0 after any warning, such as of a link that leads nowhere or a formula that fails."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        lay_out(notebooks, SITE.parent / "data", source)
        trees = ["-d", f"{scratch}/doctrees"]
        status = sphinx(["-q", "-W", "--keep-going", "-b", "html", *trees, "-c", str(SITE), str(source), str(output)])
        if status == 0:
            playground.write_models(playground.models_at_hand(), output / "playground")
        return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site from a folder of executed lectures.")
    parser.add_argument("notebooks", type=Path)
    parser.add_argument("output", type=Path)
    sys.exit(build(**vars(parser.parse_args())))
