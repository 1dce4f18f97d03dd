"""Sphinx: the site is the lectures, already executed, with a title page."""

from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

project = "bertcourse"
author = "the bertcourse authors"
copyright = "2026, the bertcourse authors; text CC BY 4.0, code MIT"

extensions = ["myst_nb"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # `bertcourse run` has executed them
nb_merge_streams = True

html_theme = "sphinx_book_theme"
html_title = "bertcourse"
html_theme_options = {"show_toc_level": 2}
html_static_path = ["static"]
html_css_files = ["course.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"  # formulas that browsers draw themselves: MathJax would be fetched from the network


def write_index(app):
    """A title page with the lectures in order, made from what was executed."""
    lectures = "\n".join(path.stem for path in sorted(Path(app.srcdir).glob("*.ipynb")))
    Path(app.srcdir, "index.md").write_text(
        "# bertcourse\n\nA course in notebooks that builds, measures and explains BERT. Every number in it was "
        f"computed when "
        f"this site was built, or is read from the stored tables of longer runs.\n\n```{{toctree}}\n:maxdepth: "
        f"2\n\n{lectures}\n```\n",
        encoding="utf-8",
    )


def write_inline(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def write_display(translator, node):
    translator.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (write_inline, None), (write_display, None))
    app.connect("builder-inited", write_index)
