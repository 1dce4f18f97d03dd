"""One HTML file for a lecture: slides, notes, live figures, reveal.js and its fonts."""

import base64
import html
import json
import re
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from nbformat import NotebookNode

from bertcourse.files import replace_files
from bertcourse_lab.lectures import read_notebook, section_minutes
from bertcourse_slides import markup
from bertcourse_slides.argument import complaints
from bertcourse_slides.layout import READ, Block, Slide, make_slides
from bertcourse_slides.outline import shown_cells

ROOT = Path(__file__).parents[2]
SITE = ROOT / "tools" / "site"
ASSETS = files("bertcourse_slides")
FONTS = {  # family, weight, style
    "source-sans-3-latin-400-normal": ("Source Sans 3", 400, "normal"),
    "source-sans-3-latin-400-italic": ("Source Sans 3", 400, "italic"),
    "source-sans-3-latin-600-normal": ("Source Sans 3", 600, "normal"),
    "source-code-pro-latin-400-normal": ("Source Code Pro", 400, "normal"),
}
MATH_FONT = SITE / "static" / "fonts" / "STIXTwoMath.woff2"  # the site's; if missing, the system's
SETTINGS = {
    "width": 1280,
    "height": 720,
    "margin": 0.02,
    "center": False,
    "display": "flex",
    "hash": True,
    "slideNumber": "c/t",
    "navigationMode": "linear",  # a clicker has a single key for going on
    "transition": "none",
    "backgroundTransition": "none",
    "pdfSeparateFragments": False,
    "pdfMaxPagesPerSlide": 1,
}
PAGE = """<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · slides</title>
<style>{styles}</style>
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script>{reveal}</script>
<script>{notes}</script>
<script>{script}
present({settings});</script>
</body>
</html>
"""


def find_lecture(name: str, folder: Path = ROOT / "notebooks") -> Path:
    """The notebook of a lecture, by its number or its path.

    Raises:
        FileNotFoundError: there is none; the message lists those that exist.
    """
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    lectures = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    found = [each for each in lectures if name in (each.stem, each.stem[:2], str(int(each.stem[:2])))]
    if not found:
        there = ", ".join(each.stem[:2] for each in lectures) or f"none in {folder}"
        raise FileNotFoundError(
            f"expected the number of a lecture or the path of its notebook; got {name!r}. Lectures: {there}."
        )
    return found[0]


def write_deck(path: Path, folder: Path) -> Path:
    """Write the slides of a lecture into a folder, named after its notebook, and return the path of the file."""
    page = deck(read_notebook(path))
    target = folder / f"{path.stem}.html"
    with replace_files(folder, [target.name]) as draft:
        (draft / target.name).write_text(page, encoding="utf-8")
    return target


def review(path: Path) -> list[str]:
    """What keeps the deck of a lecture from being an argument, a line for each; see ``complaints``."""
    return complaints(make_slides(shown_cells(read_notebook(path))))


def deck(notebook: NotebookNode) -> str:
    """The page with all slides of a lecture."""
    slides = make_slides(shown_cells(notebook))
    if not slides or slides[0].level != 1:
        raise ValueError('a lecture must begin with a title, such as "# 1 · Self-attention"; this notebook does not.')
    minutes = section_minutes(notebook)
    sections = [section(group, minutes) for group in by_section(slides)]
    return PAGE.format(
        title=html.escape(plain(slides[0].heading)),
        styles=styles(has_formulas="<math" in "".join(sections)),
        slides="\n".join(sections),
        reveal=script("vendor/reveal.js"),
        notes=script("vendor/notes.js"),
        script=script("deck.js"),
        settings=json.dumps(SETTINGS),
    )


def by_section(slides: list[Slide]) -> list[list[Slide]]:
    """The slides of each section; a slide of level 1 or 2 begins one."""
    sections: list[list[Slide]] = []
    for slide in slides:
        if slide.level < 3 or not sections:
            sections.append([])
        sections[-1].append(slide)
    return sections


def section(slides: list[Slide], minutes: dict[str, int]) -> str:
    """The slides of a section, one below the other; the notes of the first say how long the section takes."""
    first = slides[0]
    spent = minutes.get("Opening" if first.level == 1 else first.heading, 0)
    if spent:
        first.notes.insert(0, f"<p><em>About {spent} minute{'s' * (spent != 1)} for this section.</em></p>")
    shown = "\n".join(map(slide_html, slides))
    return f"<section>\n{shown}\n</section>"


def slide_html(slide: Slide) -> str:
    """One slide."""
    kinds = {block.kind for block in slide.blocks}
    classes = ["slide", {1: "title", 2: "section", 3: "part", 4: "goes-on"}[slide.level]]
    classes += ["opener"] if kinds <= {"text"} and slide.level in (2, 3) else []
    classes += ["statement"] if kinds <= READ | {"output"} and slide.level == 4 else []
    text, code = slide.sizes
    title = slide.title or slide.heading
    tag, kind = f"h{min(slide.level, 2)}", " class=sentence" if slide.title else ""
    heading = f"<{tag}{kind}>{markup.rendered_line(title)}</{tag}>"
    is_told = slide.level > 2 and slide.section not in ("", title)
    where = f'<p class="where">{markup.rendered_line(slide.section)}</p>' if is_told else ""
    body = []
    for fragment, blocks in groupby(slide.blocks, lambda block: block.fragment):
        shown = "\n".join(map(block_html, blocks))
        body.append(f'<div class="fragment">{shown}</div>' if fragment else shown)
    notes = f'<aside class="notes">{"".join(slide.notes)}</aside>' if slide.notes else ""
    return (
        f'<section class="{" ".join(classes)}" style="--text: {text}px; --code: {code}px">{heading}\n'
        f'<div class="body">{"".join(body)}</div>{where}{notes}</section>'
    )


def block_html(block: Block) -> str:
    """One block."""
    if block.kind == "list":
        items = "".join(f"<li>{item}</li>" for item in block.parts)
        return f"<{block.html}>{items}</{block.html}>"
    lines = "\n".join(block.parts)
    if block.kind == "code":
        return f'<pre class="code">{markup.colored(lines)}</pre>'
    if block.kind == "output":
        return f'<pre class="printed">{html.escape(lines)}</pre>'
    if block.kind == "text":
        return f'<p class="text">{block.html}</p>'
    if block.kind == "question":
        return f'<p class="question"><span>Before you read on</span>{block.html}</p>'
    return f'<div class="{block.kind}">{block.html}</div>'


def plain(heading: str) -> str:
    """A heading without its Markdown marks."""
    return re.sub(r"[*`$]", "", heading)


def styles(has_formulas: bool) -> str:
    """All style sheets, with the fonts inside them."""
    faces = [font_face((ASSETS / "vendor" / "fonts" / f"{name}.woff2").read_bytes(), *of) for name, of in FONTS.items()]
    if has_formulas and MATH_FONT.is_file():
        faces.append(font_face(MATH_FONT.read_bytes(), "STIX Two Math", 400, "normal"))
    sheets = [(ASSETS / name).read_text(encoding="utf-8") for name in ("vendor/reveal.css", "deck.css")]
    return "\n".join([*faces, *sheets, markup.code_styles()])


def font_face(font: bytes, family: str, weight: int, style: str) -> str:
    """A font inside the style sheet: browsers do not load separate font files for a page opened from disk."""
    address = "data:font/woff2;base64," + base64.b64encode(font).decode()
    return (
        f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-style: {style}; '
        f'src: url("{address}") format("woff2"); }}'
    )


def script(name: str) -> str:
    """A script to put inside the page, where ``<!--`` would begin a comment."""
    return (ASSETS / name).read_text(encoding="utf-8").replace("<!--", "<\\!--")
