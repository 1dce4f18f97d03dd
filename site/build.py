"""Build the site: ``python site/build.py NOTEBOOKS OUTPUT`` turns a folder of executed lectures into pages.

`make course` builds it from the lectures that it has just executed, the tests from the stored ones.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

SITE = Path(__file__).resolve().parent


def lay_out(notebooks: Path, data: Path, source: Path) -> None:
    """Put lectures and data as they lie in the repository, so that links between their files lead to pages."""
    (source / "notebooks").mkdir(parents=True)
    for notebook in sorted(notebooks.glob("*.ipynb")):
        shutil.copy(notebook, source / "notebooks")
    shutil.copytree(data, source / "data", ignore=shutil.ignore_patterns("*.safetensors", "__pycache__"))
    shutil.copy(SITE / "index.md", source)


def build(notebooks: Path, output: Path) -> int:
    """Sphinx's exit status: not 0 after any warning, such as of a link that leads nowhere or a formula that fails."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        lay_out(notebooks, SITE.parent / "data", source)
        trees = ["-d", f"{scratch}/doctrees"]
        return sphinx(["-q", "-W", "--keep-going", "-b", "html", *trees, "-c", str(SITE), str(source), str(output)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site from a folder of executed lectures.")
    parser.add_argument("notebooks", type=Path)
    parser.add_argument("output", type=Path)
    sys.exit(build(**vars(parser.parse_args())))
