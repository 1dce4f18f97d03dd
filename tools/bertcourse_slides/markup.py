"""From a notebook's Markdown, code and outputs to HTML that needs no script and no network."""

import html
import re

from markdown_it import MarkdownIt
from math_core import LatexError, LatexToMathML
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

# Where a sentence may end: a punctuation mark, what closes with it, a space, and the beginning of another.
END = re.compile(r"[.?!…][\"”’)*_]*(?=\s+(?:[A-Z0-9\"“(\[`$]|[*_]+\w))")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|al|Fig|Eq|pp?|St|Mt|Mrs?|Dr)|\b[A-Z])\.$")
LABEL = re.compile(r"\*\*[^*]+\*\*[.?!:]?|.{1,24}")  # too short to stand alone
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
STYLES = {"light": "a11y-high-contrast-light", "dark": "a11y-high-contrast-dark"}

formulas = LatexToMathML(fancy_error=False)


def formula(latex: str, options: dict) -> str:
    """A formula in MathML, which browsers draw themselves."""
    try:
        return formulas.convert_with_local_state(latex, displaystyle=options["display_mode"])
    except LatexError as error:
        raise ValueError(f"a slide's formula must be LaTeX that MathML can show; got {latex!r}: {error}") from error


def divided_formula(latex: str) -> list[str]:
    r"""The parts between \\qquad, which may go below each other, if each is a complete formula.

    >>> divided_formula(r"q=xW_Q\qquad k=xW_K")
    ['q=xW_Q', 'k=xW_K']
    """
    pairs = (("{", "}"), (r"\begin", r"\end"), (r"\left", r"\right"))
    parts = [part.strip() for part in latex.split(r"\qquad")]
    return parts if all(part.count(a) == part.count(b) for part in parts for a, b in pairs) else [latex]


def open_link(renderer, tokens, index, options, env) -> str:
    """Links to other hosts stay; those to other files of the course are dropped, as they lead nowhere from a deck."""
    href = tokens[index].attrGet("href") or ""
    return f'<a href="{html.escape(href)}">' if re.match(r"https?://", href) else "<a>"


markdown = MarkdownIt("commonmark", {"html": True}).enable("table").use(dollarmath_plugin, renderer=formula)
markdown.add_render_rule("link_open", open_link)


def rendered(text: str) -> str:
    """Markdown as HTML."""
    return markdown.render(COMMENT.sub("", text)).strip()


def rendered_line(text: str) -> str:
    """A line of Markdown as HTML, without a paragraph around it."""
    return markdown.renderInline(COMMENT.sub("", text)).strip()


def top_blocks(text: str) -> list[tuple[str, str]]:
    """The parts of a Markdown text, each with its kind: heading, paragraph, bullet_list, math_block, table, …

    >>> top_blocks("# Words\\n\\nTwo things:\\n\\n- one\\n- two")
    [('heading', '# Words'), ('paragraph', 'Two things:'), ('bullet_list', '- one\\n- two')]
    """
    lines = COMMENT.sub("", text).splitlines()
    tokens = [
        token for token in markdown.parse("\n".join(lines)) if token.level == 0 and token.map and token.nesting >= 0
    ]
    return [(token.type.removesuffix("_open"), "\n".join(lines[slice(*token.map)]).strip()) for token in tokens]


def items(text: str) -> list[str]:
    """The items of a list, each without its bullet or number.

    >>> items("1. one\\n   and a half\\n2. two")
    ['one\\nand a half', 'two']
    """
    lines = text.splitlines()
    found = [token for token in markdown.parse(text) if token.type == "list_item_open" and token.level == 1]
    texts = ["\n".join(line.strip() for line in lines[slice(*token.map)]) for token in found]
    return [re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", item).strip() for item in texts]


def first_sentence(text: str) -> str:
    """The first sentence of a paragraph, with the next one if the first is only a label.

    >>> first_sentence("*Call me Ishmael. Or not.* So it begins (cf. BERT. Or not). More.")
    '*Call me Ishmael. Or not.*'
    >>> first_sentence("**Why?** Because it helps a lot in practice. More.")
    '**Why?** Because it helps a lot in practice.'
    """
    text = " ".join(COMMENT.sub("", text).split())
    for end in END.finditer(text):
        sentence = text[: end.end()]
        is_whole = is_balanced(sentence) and not ABBREVIATION.search(sentence)
        if is_whole and not LABEL.fullmatch(sentence):
            return sentence
    return text


def is_balanced(text: str) -> bool:
    """Whether everything that was opened is closed: emphasis, code, a formula, a bracket, a quotation."""
    pairs = text.count("(") == text.count(")") and text.count("[") == text.count("]")
    return pairs and text.count("“") == text.count("”") and not any(text.count(mark) % 2 for mark in '*`$"')


def visible_length(text: str) -> int:
    """About how many characters of a Markdown line are visible."""
    text = re.sub(r"\]\([^)]*\)|[*`\[$]|<[^>]+>", "", text)
    return len(re.sub(r"\\[a-zA-Z]+", "x", text))


def colored(code: str) -> str:
    """Python code, with its parts marked up for ``code_styles``."""
    return highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n")


def code_styles() -> str:
    """The colours of code, on light and on dark slides."""
    return "\n".join(
        HtmlFormatter(style=style).get_style_defs(f'[data-theme="{theme}"] .code') for theme, style in STYLES.items()
    )
