"""Sphinx: the site is the lectures, already executed, and a page for each set of data."""

import html
import re
import sys
import textwrap
import tomllib
from pathlib import Path

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(SITE)]  # the reference is of this checkout

from address import find_address  # noqa: E402

from bertcourse_slides.markup import divided_formula  # noqa: E402

project = "bertcourse"
author = "the bertcourse authors"
copyright = "2026, the bertcourse authors; text CC BY 4.0, code MIT"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False
autodoc_default_options = {  # which scikit-learn gives every estimator
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, set_transform_request"
}
napoleon_custom_sections = ["Source"]
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # a word in a type that several classes have, such as ``id``
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # `bertcourse run` has executed them
nb_merge_streams = True
exclude_patterns = ["README.md", "generated/*"]  # the front page includes them

html_scaled_image_link = False  # course.js enlarges figures
html_theme = "sphinx_book_theme"
html_title = "bertcourse"
html_theme_options = {
    "show_toc_level": 2,
    "collapse_navbar": True,  # a part's pages are listed beside that part alone
    "navbar_persistent": [],  # the sidebar has a search button already
}
html_static_path = ["static", "../../.github/bank.png"]
html_css_files = ["course.css"]
html_js_files = ["course.js"]
html_favicon = "static/favicon.svg"
html_show_sourcelink = False
html_use_index = False
html_math_renderer = "mathml"  # formulas that browsers draw themselves: MathJax would be fetched from the network

# What only works in public: buttons to Colab and Binder on each lecture, and the page's own address.
address = find_address(ROOT)
html_baseurl = address.site
if address.repository:
    html_theme_options |= {
        "repository_url": address.repository,
        "repository_branch": address.edition,
        "use_repository_button": True,
        "launch_buttons": {
            "colab_url": "https://colab.research.google.com",
            "binderhub_url": "https://mybinder.org",
            "notebook_interface": "jupyterlab",
        },
    }
DESCRIPTION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["description"]

logger = logging.getLogger(__name__)
formulas = LatexToMathML(fancy_error=False)


def plain_docstring(app, what, name, obj, options, lines):
    """Docstrings are text in which only ``code`` is marked: |x|, x* and x_ mean themselves, "D." starts no list."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(``.*?``)", line)
            parts[::2] = [re.sub(r"([|*]|_\b)", r"\\\1", text) for text in parts[::2]]
            lines[number] = re.sub(r"((?:^|:)\s*\w)\.(?=\s|$)", r"\1\\.", "".join(parts))


def is_described_above(app, what, name, obj, skip, options):
    """The fields of a named tuple, which its own docstring lists."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def describe_figures(app, doctree):
    """Give each figure of a notebook its words, which `plots.show` stored beside it, as alternative text."""
    for bundle in doctree.findall(nodes.container):
        if bundle.get("nb_element") != "mime_bundle":
            continue
        words = [part.astext() for part in bundle if part["mime_type"] == "text/plain"]
        for image in list(bundle.findall(nodes.image)):
            image["alt"] = " ".join("".join(words).split())
            box = nodes.container(classes=["plot"])  # what scrolls where the figure is too wide
            image.replace_self(box)
            box += image


def first_paragraph(doctree: nodes.document | None) -> str:
    """How a page begins, in at most 200 characters; the course's description for a page without text."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        if len(text := " ".join(paragraph.astext().split())) > 40:
            return textwrap.shorten(text, 200, placeholder=" …")
    return DESCRIPTION


def describe_page(app, pagename, templatename, context, doctree):
    """What search engines and messengers show of a page."""
    title = html.unescape(re.sub(r"<[^>]+>", "", context.get("title", project)))
    description = first_paragraph(doctree)
    values = {
        "og:site_name": project,
        "og:type": "website",
        "og:title": title,
        "og:description": description,
    }
    if address.site:
        picture = "Arcs from the word bank: the thickest leads to tied in one sentence, to loan in another."
        values["og:url"] = f"{address.site}{pagename}.html"
        values |= {"og:image": f"{address.site}_static/bank.png", "og:image:alt": picture}
    tags = [f'<meta name="description" content="{html.escape(description)}">']
    tags += [f'<meta property="{name}" content="{html.escape(value)}">' for name, value in values.items()]
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def formula(latex: str, display: bool, node: nodes.Node) -> str:
    """A formula in MathML. What the converter does not know is a warning, and so stops the build."""
    try:
        return formulas.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        logger.warning("formula %s: %s", latex, error, location=node)
        return ""


def write_inline(translator, node):
    translator.body.append(formula(node.astext(), display=False, node=node))
    raise nodes.SkipNode


def write_display(translator, node):
    parts = [f"<div>{formula(part, display=True, node=node)}</div>" for part in divided_formula(node.astext())]
    translator.body.append(f'<div class="formula">{"".join(parts)}</div>')
    raise nodes.SkipNode


def link_slides(app, pagename, templatename, context, doctree):
    """A lecture's page has a button that leads to its slides."""
    lecture = re.fullmatch(r"notebooks/(\d\d_\w+)", pagename)
    if lecture:
        link = {"type": "link", "url": f"../slides/{lecture[1]}.html", "text": "", "icon": "fas fa-display"}
        context["header_buttons"].append({**link, "tooltip": "Slides", "label": "slides"})


def setup(app):
    app.connect("html-page-context", link_slides, priority=600)  # after the theme, which makes the list of buttons
    app.add_html_math_renderer("mathml", (write_inline, None), (write_display, None))
    app.connect("doctree-read", describe_figures)
    app.connect("html-page-context", describe_page)
    app.connect("autodoc-skip-member", is_described_above)
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)  # before napoleon, which writes markup
