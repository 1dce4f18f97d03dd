"""From cells to slides of 1280 × 720 that nothing sticks out of.

A cell becomes blocks: sentences, lists, formulas, code, output, figures. What a block needs is estimated from its lines
and the width of the shipped fonts. Blocks go onto a slide while they fit at the smallest size; then the slide takes the
largest size at which they still do. What would not fit alone is divided; nothing is cut off.
"""

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bertcourse.slides import markup
from bertcourse.slides.outline import Cell

WIDTH, ROOM = 1160, 628  # pixels for heading and body, some left over for what the estimate does not see
HEADING_SIZES = {1: 60, 2: 46, 3: 38, 4: 24}
# Sizes of text and code in pixels, largest first; 26 and 18 of 720 can still be read from the back row.
SIZES = [(38, 24), (34, 24), (32, 22), (30, 22), (28, 20), (26, 18)]
COMFORTABLE, SMALLEST = SIZES[4], SIZES[5]  # things share a slide at the first; what is alone may need the second
LETTER, CODE_LETTER, LINE = 0.47, 0.6, 1.35  # widths and height of a line, in sizes
GAP, BOX = 18, 28  # between blocks; what a box of code adds
LONG_CODE, WIDE_CODE, SHORT_CALL = 12, 104, 5  # lines and columns beyond which unmarked code is left out
WIDE_FORMULA = 80  # characters of LaTeX
LOOKS = {"picture", "figure"}
QUESTION = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One thing on a slide.

    Attributes:
        kind: heading, text, list, formula, table, code, output, picture, figure, question or pointer.
        html: what is shown; of a list, code and output it is made from ``parts``.
        parts: the items of a list, the lines of code or output, which can be divided among slides.
        needs: pixels in height, of what has no lines to count.
        lengths: how many characters each line or item has.
        fragment: the number of the cell with which it appears, at a key; 0 if it is there at once.
        notes: what the speaker reads when it is shown.
    """

    kind: str
    html: str = ""
    parts: tuple[str, ...] = ()
    needs: float = 0.0
    lengths: tuple[int, ...] = ()
    fragment: int = 0
    notes: str = ""

    def height(self, sizes: tuple[int, int]) -> float:
        """Pixels that it takes where text and code have these sizes."""
        text, code = sizes
        if self.kind in ("code", "output"):
            columns = (WIDTH - BOX) // (CODE_LETTER * code)
            return LINE * code * sum(max(1, math.ceil(length / columns)) for length in self.lengths) + BOX
        if self.kind in ("text", "list", "question"):
            indent, between = (text, 0.35 * text) if self.kind == "list" else (0, 0)
            columns = (WIDTH - indent) // (LETTER * text)
            lines = sum(max(1, math.ceil(length / columns)) for length in self.lengths)
            return LINE * text * lines + between * len(self.lengths)
        if self.kind in ("formula", "table"):
            return self.needs * text
        return self.needs


@dataclass
class Slide:
    """What is projected at a time.

    Attributes:
        heading: of its section, as Markdown.
        level: 1 for the title, 2 where a section begins, 3 where a part of it does, 4 where the heading is repeated.
        sizes: of text and code, in pixels.
        goes_on: whether it holds what did not fit on the one before.
    """

    heading: str
    level: int
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sizes: tuple[int, int] = SMALLEST
    goes_on: bool = False

    def room(self) -> float:
        """Pixels below the heading, which may take two lines where a section begins."""
        size = HEADING_SIZES[self.level]
        lines = math.ceil(markup.visible_length(self.heading) * LETTER * size / WIDTH)
        return ROOM - 1.2 * size * lines

    def height(self, sizes: tuple[int, int]) -> float:
        return sum(block.height(sizes) for block in self.blocks) + GAP * max(0, len(self.blocks) - 1)


def make_slides(cells: list[Cell]) -> list[Slide]:
    """The slides of a lecture, in order."""
    slides: list[Slide] = []
    heading = ""
    for group in grouped(cells):
        blocks = [block for cell in group for block in blocks_of(cell)]
        level = 4
        if blocks and blocks[0].kind == "heading":
            hashes, heading = re.match(r"(#+) *(.*)", blocks.pop(0).html).groups()
            level = len(hashes)
        slides += divided(Slide(heading, level), blocks)
    slides = introduced(slides)
    for slide in slides:
        fitting = [sizes for sizes in SIZES if slide.height(sizes) <= slide.room() and is_narrow(slide, sizes)]
        slide.sizes = fitting[0] if fitting else SMALLEST
        if slide.sizes[0] > 32 and any(block.kind not in ("text", "question", "list") for block in slide.blocks):
            slide.sizes = (32, slide.sizes[1])  # text beside something to look at
    return slides


def grouped(cells: list[Cell]) -> Iterator[list[Cell]]:
    """The cells that belong together: each group begins where the notebook, or the rule, begins a slide."""
    group: list[Cell] = []
    for cell in cells:
        begins = cell.kind in ("slide", "subslide") or (cell.may_shorten and cell.cell.cell_type == "markdown")
        if group and begins:
            yield group
            group = []
        group.append(cell)
    if group:
        yield group


def is_narrow(slide: Slide, sizes: tuple[int, int]) -> bool:
    """Whether no line of code has to be broken; at the smallest size it may be."""
    columns = (WIDTH - BOX) // (CODE_LETTER * sizes[1])
    return all(length <= columns for block in slide.blocks if block.kind == "code" for length in block.lengths)


def divided(slide: Slide, blocks: list[Block]) -> list[Slide]:
    """The blocks of one group on as many slides as they need, the first of which is given."""
    slides = [slide]
    followers = [block.kind for block in blocks[1:]] + [""]
    for whole, follower in zip(blocks, followers):
        for block in split(whole, slide.room()):
            page = slides[-1]
            page.notes += [block.notes] if block.kind == "notes" else []
            if block.kind == "notes":
                continue
            is_printed = block.kind == "output" and page.blocks and page.blocks[-1].kind == "code"
            sizes = SMALLEST if is_printed else COMFORTABLE
            is_full = page.height(sizes) + GAP + block.height(sizes) > page.room()
            introduces = block.kind == "text" and follower in LOOKS and not is_text(page) and not is_answer(page)
            if page.blocks and (is_full or introduces or not belongs(page, block)):
                page = Slide(slide.heading, 4, goes_on=True)
                slides.append(page)
            if not page.blocks:
                block = replace(block, fragment=0)  # turning the page reveals it
            page.blocks.append(block)
            page.notes += [block.notes] if block.notes else []
    return slides


def introduced(slides: list[Slide]) -> list[Slide]:
    """The slides, a sentence that the division left alone, or that ends in a colon, now above what it introduces."""
    found: list[Slide] = []
    for slide in slides:
        before = found[-1] if found else Slide("", 1)
        is_alone = before.level == 4 and is_text(before) and len(before.blocks) == 1
        if is_alone and slide.level == 4 and (before.goes_on or before.blocks[0].html.endswith(":")):
            together = slide.height(COMFORTABLE) + GAP + before.height(COMFORTABLE)
            if together <= slide.room() and slide.blocks[0].kind in LOOKS | {"code"}:
                slide.blocks, slide.notes = before.blocks + slide.blocks, before.notes + slide.notes
                found.pop()
        found.append(slide)
    return found


def is_answer(slide: Slide) -> bool:
    """Whether a question has been asked on a slide."""
    return any(block.kind == "question" for block in slide.blocks)


def is_text(slide: Slide) -> bool:
    """Whether nothing but sentences stands on a slide."""
    return all(block.kind == "text" for block in slide.blocks)


def belongs(slide: Slide, block: Block) -> bool:
    """Whether a block may follow on a slide: a figure has it to itself, but for a sentence before and after."""
    before = slide.blocks[-1]
    others = [each for each in slide.blocks if each.kind in ("code", "list", "formula", "table", "question")]
    if block.kind in LOOKS:
        has_look = any(each.kind in LOOKS for each in slide.blocks)
        return not others and not has_look and slide.height(SIZES[3]) < 130
    if before.kind in LOOKS:
        return block.kind in ("text", "output", "pointer")
    return block.kind != "question" and not (slide.level == 1 and block.html.startswith("<strong>You will"))


def split(block: Block, room: float) -> list[Block]:
    """A list, code or output in parts that fit on a slide at the smallest size."""
    if not block.parts or block.height(SMALLEST) <= room:
        return [block]
    found: list[Block] = []
    for part, length in zip(block.parts, block.lengths):
        if found:
            longer = replace(found[-1], parts=(*found[-1].parts, part), lengths=(*found[-1].lengths, length))
            if longer.height(SMALLEST) <= room:
                found[-1] = longer
                continue
        found.append(replace(block, parts=(part,), lengths=(length,), notes="" if found else block.notes))
    return found


def blocks_of(cell: Cell) -> list[Block]:
    """What a cell puts on slides."""
    if cell.cell.cell_type == "markdown":
        return list(prose_blocks(cell))
    return list(code_blocks(cell))


def prose_blocks(cell: Cell) -> Iterator[Block]:
    """Prose becomes notes, and its first sentences stand on the slide; formulas and questions stand there whole."""
    source, fragment = cell.cell.source, cell.number if cell.kind == "fragment" else 0
    if cell.kind == "notes":
        inside = QUESTION.search(source)
        yield Block("notes", notes=markup.rendered(inside[2] if inside else source))
        return
    question, answer = "", source
    if found := QUESTION.search(source):
        before, question, answer = source[: found.start()], found[1], found[2] + source[found.end() :]
        yield from text_blocks(before, fragment)
        question = re.sub(r"<b>.*?</b>\s*", "", question, count=1)
        question = question[:1].upper() + question[1:]
        notes = f"<p><strong>Ask:</strong> {question}</p>"
        yield Block("question", question, lengths=(len(question),), fragment=fragment, notes=notes)
        fragment = cell.number
    yield from text_blocks(answer, fragment)


def text_blocks(source: str, fragment: int) -> Iterator[Block]:
    """A piece of Markdown: each part short on the slide, and whole in the notes."""
    for kind, text in markup.top_blocks(source):
        notes = markup.rendered(text) if kind not in ("heading", "math_block") else ""
        common = dict(fragment=fragment, notes=notes)
        if kind == "heading":
            yield Block("heading", text)
        elif kind == "paragraph" and text.startswith("**Takes**"):
            yield Block("notes", notes=notes)
        elif kind == "paragraph":
            yield from sentence_blocks(text, common)
        elif kind in ("bullet_list", "ordered_list"):
            shown = [item if len(item) <= 180 else markup.first_sentence(item) for item in markup.items(text)]
            tag = "ol" if kind == "ordered_list" else "ul"
            parts, lengths = map(markup.rendered_line, shown), map(markup.visible_length, shown)
            yield Block("list", tag, parts=tuple(parts), lengths=tuple(lengths), **common)
        elif kind == "math_block":
            yield formula_block(text, fragment)
        elif kind == "table":
            yield Block("table", markup.rendered(text), needs=1.7 * (text.count("\n") + 1), **common)
        elif kind in ("fence", "code_block"):
            lines = tuple(re.sub(r"^```.*$", "", text, flags=re.MULTILINE).strip("\n").splitlines())
            yield Block("output", parts=lines, lengths=tuple(map(len, lines)), **common)
        elif kind != "html_block":
            yield from sentence_blocks(text, common)


def sentence_blocks(text: str, common: dict) -> Iterator[Block]:
    """The first sentence of a paragraph, and the formulas that stand in it."""
    before, *formulas = re.split(r"\$\$(.*?)\$\$", text, flags=re.DOTALL)
    sentence = markup.first_sentence(before)
    if sentence:
        length = markup.visible_length(sentence)
        yield Block("text", markup.rendered_line(sentence), lengths=(length,), **common)
    for latex in formulas[::2]:
        yield formula_block(f"$${latex}$$", common["fragment"])


def formula_block(text: str, fragment: int) -> Block:
    """A formula by itself; its parts stand below each other where they are too wide for a line."""
    parts = markup.divided_formula(text.strip("$ \n"))
    is_wide = len(parts) > 1 and len(text) > WIDE_FORMULA
    rows = 1 + text.count(r"\\") if "begin{" in text else len(parts) if is_wide else 1
    shown = "".join(f"<div>{markup.rendered(f'$${part}$$')}</div>" for part in parts)
    return Block("formula", shown, needs=2.6 * rows, fragment=fragment)


def code_blocks(cell: Cell) -> Iterator[Block]:
    """Code that fits and is not folded, then what it printed or drew."""
    code, outputs = cell.cell.source, cell.cell.outputs
    fragment = cell.number if cell.kind == "fragment" else 0
    lines = tuple(code.splitlines())
    drawn = [block for output in outputs for block in output_blocks(output, fragment)]
    looks = [block for block in drawn if block.kind in LOOKS]
    is_folded = "hide-input" in cell.cell.metadata.get("tags", [])
    is_call = any(block.kind == "figure" for block in looks) and len(lines) <= SHORT_CALL
    is_long = len(lines) > (SHORT_CALL if looks else LONG_CODE) or max(map(len, lines), default=0) > WIDE_CODE
    where = f"cell [{cell.cell.execution_count}] of the notebook"
    if is_folded or is_call or (cell.may_shorten and is_long and looks):
        drawn = [replace(block, notes=f"{block.notes}<p>Made by {where}.</p>") for block in drawn]
    elif cell.may_shorten and is_long:
        yield Block("pointer", f"The code, {len(lines)} lines: {where}", needs=36, fragment=fragment)
    else:
        yield Block("code", parts=lines, lengths=tuple(map(len, lines)), fragment=fragment)
    yield from sorted(drawn, key=lambda block: block.kind not in LOOKS)  # what was printed stands below


def output_blocks(output: dict, fragment: int) -> Iterator[Block]:
    """What a cell printed or drew, as the notebook stores it."""
    data = output.get("data", {})
    words = data.get("text/plain", "")
    if "bertcourse-figure" in data.get("text/html", ""):
        yield Block("figure", data["text/html"], needs=460, fragment=fragment, notes=f"<p>{html.escape(words)}</p>")
    elif "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        shown = f'<img src="data:image/png;base64,{picture}" alt="{html.escape(" ".join(words.split()))}">'
        yield Block("picture", shown, needs=380, fragment=fragment)
    elif "text/html" in data:
        rows = data["text/html"].count("<tr") + 1
        yield Block("table", data["text/html"], needs=1.4 * rows, fragment=fragment)
    elif text := (output.get("text") or words).rstrip("\n"):
        lines = tuple(text.expandtabs().splitlines())
        yield Block("output", parts=lines, lengths=tuple(map(len, lines)), fragment=fragment)
