"""From cells to slides of 1280 × 720 that nothing overflows.

A cell becomes blocks: sentences, lists, formulas, code, output, figures. The room a block needs is estimated from its
lines and the width of the shipped fonts. Blocks go onto a slide while they fit at the smallest size; then the slide
takes the largest size at which they still fit. A block that would not fit alone is divided; nothing is cut off.
"""

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bertcourse_slides import markup
from bertcourse_slides.argument import LONGEST_TITLE, only_shows, without_drawing
from bertcourse_slides.outline import Cell

WIDTH, ROOM = 1160, 616  # pixels for heading and body, with some to spare for what the estimate misses
HEADING_SIZES = {1: 60, 2: 46, 3: 38, 4: 24}
TITLE_SIZE = 34  # of the sentence above a slide that goes on
# Sizes of text and code in pixels, largest first; 26 and 20 of 720 can still be read from the back row.
SIZES = [(38, 28), (34, 28), (32, 26), (32, 24), (30, 22), (28, 20), (26, 20)]
COMFORTABLE, SMALLEST = SIZES[4], SIZES[6]  # blocks share a slide at the first; a block alone may need the second
BESIDE, CAPTION = (
    32,
    28,
)  # the largest text beside code, formulas or pictures, and above a figure, which takes what is left
LETTER, CODE_LETTER, LINE = 0.47, 0.6, 1.35  # widths, and height of a line, as multiples of the size
GAP, BOX, SIDES = 18, 28, 38  # between blocks; what a box of code adds to the height and the width
TALL_CODE = 15  # lines of code and its output beyond which they are divided, where a blank line allows it
SHORT_CALL = 5  # lines of a figure's call up to which it is left out; unmarked, longer drawing code is, too
WHOLE, ANSWER = 260, 700  # characters up to which a paragraph, or one in an answer, is shown whole; else its beginning
WIDE_FORMULA = 80  # characters of LaTeX
LOOKS = {"picture", "figure"}
READ = {"text", "question", "list", "formula", "table"}
HEADLINE = re.compile(r"<p><strong>(.*?)</strong></p>")
QUESTION = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One thing on a slide.

    Attributes:
        kind: heading, text, list, formula, table, code, output, picture, figure, question, or notes only.
        html: what is shown; for a list, code or output it is made from ``parts``.
        parts: the items of a list, the lines of code or output, which can be divided among slides.
        needs: height where there are no lines to count: in pixels, or in text sizes for a formula or table.
        lengths: how many characters each line or item has.
        fragment: the number of the cell with which it appears at a key press; 0 if it is there at once.
        notes: what the speaker reads when it is shown.
        source: of a text, or a figure's headline: what may be the title of its slide, as Markdown.
    """

    kind: str
    html: str = ""
    parts: tuple[str, ...] = ()
    needs: float = 0.0
    lengths: tuple[int, ...] = ()
    fragment: int = 0
    notes: str = ""
    source: str = ""

    def height(self, sizes: tuple[int, int]) -> float:
        """The height in pixels that it takes up at these sizes of text and code."""
        text, code = sizes
        if self.kind in ("code", "output"):
            columns = (WIDTH - SIDES) // (CODE_LETTER * code)
            words = columns - 8  # lines are broken between words
            rows = sum(1 if length <= columns else math.ceil(length / words) for length in self.lengths)
            return LINE * code * rows + BOX
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
    """What is projected at one time.

    Attributes:
        heading: of its section, as Markdown.
        level: 1 for the title, 2 where a section begins, 3 where a part of one does, 4 where the heading is repeated.
        sizes: of text and code, in pixels.
        section: the heading of its section, as Markdown.
        title: the sentence above a slide that goes on, as Markdown; empty where it has none.
    """

    heading: str
    level: int
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sizes: tuple[int, int] = SMALLEST
    section: str = ""
    title: str = ""

    @property
    def says(self) -> bool:
        """Whether a sentence or a question stands at its top, if only below the heading with which a section begins."""
        is_sentence = self.level == 3 and len(self.heading.split()) > 3
        begins = bool(self.blocks) and self.blocks[0].kind in ("text", "question", *["list"] * (self.level == 2))
        return self.level == 1 or bool(self.title) or is_sentence or begins

    @property
    def is_orphan(self) -> bool:
        """Whether it holds only output, which belongs to the code or the picture of the slide before."""
        return not self.says and {block.kind for block in self.blocks} <= {"output"}

    def room(self) -> float:
        """Pixels below the title or the heading, which may take two lines."""
        size = TITLE_SIZE if self.title else HEADING_SIZES[self.level]
        lines = math.ceil(markup.visible_length(self.title or self.heading) * LETTER * size / WIDTH)
        return ROOM - 1.2 * size * lines

    def height(self, sizes: tuple[int, int]) -> float:
        """The height in pixels that its blocks take up at these sizes of text and code."""
        return sum(block.height(sizes) for block in self.blocks) + GAP * max(0, len(self.blocks) - 1)

    def take(self, number: int) -> "Slide":
        """A slide that continues with this one's last blocks, which are moved there; turning the page reveals them."""
        at = len(self.blocks) - number
        moved, self.blocks = [replace(block, fragment=0) for block in self.blocks[at:]], self.blocks[:at]
        notes = [block.notes for block in moved if block.notes]
        for note in notes:
            self.notes.remove(note)
        return Slide(self.heading, 4, moved, notes, section=self.section)


def make_slides(cells: list[Cell]) -> list[Slide]:
    """The slides of a lecture, in order."""
    slides: list[Slide] = []
    heading = section = ""
    for group in grouped(cells):
        blocks = [block for cell in group for block in blocks_of(cell)]
        level = 4
        if blocks and blocks[0].kind == "heading":
            hashes, heading = re.match(r"(#+) *(.*)", blocks.pop(0).html).groups()
            level = len(hashes)
        elif group[0].title:
            heading, level = group[0].title, 3
        section = heading if level < 3 else section
        slides += divided(Slide(heading, level, section=section), blocks)
    slides = introduced(slides)
    for slide in slides:
        name(slide)
        fitting = [sizes for sizes in SIZES if slide.height(sizes) <= slide.room() and is_narrow(slide, sizes, "code")]
        unbroken = [sizes for sizes in fitting if is_narrow(slide, sizes, "output")]
        slide.sizes = (unbroken or fitting[-1:] or [SMALLEST])[0]
        kinds = {block.kind for block in slide.blocks}
        largest = CAPTION if "figure" in kinds else SIZES[0][0] if kinds <= READ - {"formula"} else BESIDE
        slide.sizes = (min(largest, slide.sizes[0]), slide.sizes[1])
    return slides


def name(slide: Slide) -> None:
    """Give a slide that goes on a title: its figure's headline, or the sentence with which it begins."""
    figure = next((block for block in slide.blocks if block.kind == "figure" and block.source), None)
    if slide.level < 4:
        return
    if figure:
        slide.title = figure.source
    elif len(slide.blocks) > 1 and slide.blocks[0].kind == "text":
        text = slide.blocks[0].source
        sentence = markup.first_sentence(text)
        if sentence and markup.visible_length(sentence) <= LONGEST_TITLE:
            rest = text.removeprefix(sentence).strip()
            others = [text_block(rest, fragment=slide.blocks[0].fragment)] if rest else []
            named = replace(slide, title=sentence, blocks=others + slide.blocks[1:])
            if named.height(SMALLEST) <= named.room():
                slide.title, slide.blocks = named.title, named.blocks


def grouped(cells: list[Cell]) -> Iterator[list[Cell]]:
    """The cells that belong together: each group begins where the notebook, or the rule, begins a slide."""
    group: list[Cell] = []
    for cell in cells:
        is_prose = cell.cell.cell_type == "markdown"
        begins = cell.kind in ("slide", "subslide") or (is_prose and (cell.may_shorten or cell.cell.source[:1] == "#"))
        if group and begins:
            yield group
            group = []
        group.append(cell)
    if group:
        yield group


def is_narrow(slide: Slide, sizes: tuple[int, int], kind: str) -> bool:
    """Whether no line of code, or of output, has to be broken."""
    columns = (WIDTH - SIDES) // (CODE_LETTER * sizes[1])
    return all(length <= columns for block in slide.blocks if block.kind == kind for length in block.lengths)


def divided(slide: Slide, blocks: list[Block]) -> list[Slide]:
    """The blocks of one group on as many slides as they need, starting with the given slide."""
    slides = [slide]
    followers = [block.kind for block in blocks[1:]] + [""]
    for whole, follower in zip(blocks, followers):
        for block in split(whole, slide.room()):
            page = slides[-1]
            if block.kind == "notes" or is_comment(page, block, follower):
                page.notes.append(block.notes)
                continue
            before = page.blocks[-1].kind if page.blocks else ""
            is_printed = block.kind == "output" and before in ("code", "picture")
            is_said_of_it = block.kind == "text" and (before == "output" or not follower)
            sizes = SMALLEST if is_printed or is_said_of_it else COMFORTABLE  # better small than alone
            is_full = page.height(sizes) + GAP + block.height(sizes) > page.room()
            if page.blocks and (is_full or introduces(page, block, follower) or not belongs(page, block)):
                page = page.take(companions(page, block) if is_printed else 0)
                slides.append(page)
            if not page.blocks:
                block = replace(block, fragment=0)  # turning the page reveals it
            page.blocks.append(block)
            page.notes += [block.notes] if block.notes else []
    return slides


def introduced(slides: list[Slide]) -> list[Slide]:
    """The slides, after moving closing sentences above the code or picture they introduce, so that few stand alone."""
    found: list[Slide] = []
    for slide in slides:
        before = found[-1] if found else Slide("", 1)
        if may_move(before, slide):
            taken = before.take(1)
            slide.blocks, slide.notes = taken.blocks + slide.blocks, taken.notes + slide.notes
            if not before.blocks:
                slide.notes = before.notes + slide.notes
                found.pop()
        if may_join(before, slide):
            before.blocks, before.notes = before.blocks + slide.blocks, before.notes + slide.notes
        else:
            found.append(slide)
    return found


def may_join(before: Slide, slide: Slide) -> bool:
    """Whether a slide of sentences can join the slide before it, which has little on it."""
    are_few = before.level == slide.level == 4 and len(before.blocks) + len(slide.blocks) <= 3
    is_short = before.height(COMFORTABLE) + GAP + slide.height(COMFORTABLE) <= slide.room()
    return are_few and is_short and is_text(slide) and {block.kind for block in before.blocks} <= {"text", "output"}


def may_move(before: Slide, slide: Slide) -> bool:
    """Whether the last sentence of a slide would better introduce the next slide, and has room there."""
    if slide.level < 4 or not before.blocks or before.blocks[-1].kind != "text":
        return False
    *others, sentence = before.blocks
    is_alone = not others and before.level == 4
    is_second = bool(others) and (others[-1].kind in ("text", "code") or sentence.html.endswith(("?", ":")))
    has_room = slide.height(COMFORTABLE) + GAP + sentence.height(COMFORTABLE) <= slide.room()
    can_take = {"code", "picture"} | ({"figure"} if is_alone else set())  # a figure would become smaller
    return (is_alone or is_second) and has_room and slide.blocks[0].kind in can_take


def companions(slide: Slide, output: Block) -> int:
    """How many of the last blocks move along with an output that has no room: its code, and a sentence before that."""
    for number in (2, 1):
        rest, moved = slide.blocks[:-number], slide.blocks[-number:]
        is_whole = [block.kind for block in moved] in (["text", "code"], ["code"])
        is_left_alone = not rest or (slide.level == 4 and [block.kind for block in rest] == ["text"])
        together = Slide(slide.heading, 4, [*moved, output])
        if is_whole and not is_left_alone and together.height(SMALLEST) <= together.room():
            return number
    return 0


def is_comment(slide: Slide, block: Block, follower: str) -> bool:
    """Whether a sentence is best spoken over a figure, which needs the room and has a caption of its own."""
    is_below = bool(slide.blocks) and slide.blocks[-1].kind == "figure"
    return is_below and block.kind == "text" and follower in ("", "text", "notes", "question")


def introduces(slide: Slide, block: Block, follower: str) -> bool:
    """Whether a sentence belongs to the code or figure after it, rather than to what is already on the slide."""
    if block.kind != "text" or follower not in LOOKS | {"code"} or is_text(slide):
        return False
    before = slide.blocks[-1]
    is_answer = before.kind == "question" or (before.fragment and before.fragment == block.fragment)
    return not is_answer and before.kind != "formula"  # the sentence explains its letters


def is_text(slide: Slide) -> bool:
    """Whether there is nothing but sentences on a slide."""
    return all(block.kind == "text" for block in slide.blocks)


def belongs(slide: Slide, block: Block) -> bool:
    """Whether a block may be added to a slide: a figure has one to itself, except for a sentence before and after."""
    before = slide.blocks[-1]
    others = [each for each in slide.blocks if each.kind in ("code", "list", "formula", "table", "question")]
    if block.kind in LOOKS:
        has_look = any(each.kind in LOOKS for each in slide.blocks)
        return not others and not has_look and slide.height(COMFORTABLE) < (90 if block.kind == "figure" else 130)
    if before.kind in LOOKS:
        return before.kind == "picture" and block.kind in ("text", "output")
    if before.kind == block.kind == "code":
        return len(before.parts) + len(block.parts) <= TALL_CODE
    return block.kind != "question" and not (slide.level == 1 and block.html.startswith("<strong>You will"))


def split(block: Block, room: float) -> list[Block]:
    """A list, code or output, divided into parts that fit on a slide at the smallest size."""
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
    """Prose becomes notes, with its first sentences on the slide; formulas and questions are shown whole."""
    source, fragment = cell.cell.source, cell.number if cell.kind == "fragment" else 0
    if cell.kind == "notes":
        inside = QUESTION.search(source)
        yield Block("notes", notes=markup.rendered(inside[2] if inside else source))
        return
    question, answer, whole = "", source, WHOLE
    if found := QUESTION.search(source):
        before, question, answer = source[: found.start()], found[1], found[2] + source[found.end() :]
        yield from text_blocks(before, fragment, WHOLE)
        question = re.sub(r"<b>.*?</b>\s*", "", question, count=1)
        question = question[:1].upper() + question[1:]
        notes = f"<p><strong>Ask:</strong> {question}</p>"
        yield Block("question", question, lengths=(len(question),), fragment=fragment, notes=notes)
        fragment, whole = cell.number, ANSWER
    yield from text_blocks(answer, fragment, whole)


def text_blocks(source: str, fragment: int, whole: int) -> Iterator[Block]:
    """A piece of Markdown: paragraphs of up to ``whole`` characters as they are, longer ones cut, all in the notes."""
    for kind, text in markup.top_blocks(source):
        notes = markup.rendered(text) if kind not in ("heading", "math_block") else ""
        common = dict(fragment=fragment, notes=notes)
        if kind == "heading":
            yield Block("heading", text)
        elif kind == "paragraph" and text.startswith("**Takes**"):
            yield Block("notes", notes=notes)
        elif kind == "paragraph":
            yield from sentence_blocks(text, common, whole)
        elif kind in ("bullet_list", "ordered_list"):
            shown = [item if len(item) <= 180 else markup.first_sentence(item) for item in markup.items(text)]
            tag = "ol" if kind == "ordered_list" else "ul"
            parts, lengths = map(markup.rendered_line, shown), map(markup.visible_length, shown)
            yield Block("list", tag, parts=tuple(parts), lengths=tuple(lengths), **common)
        elif kind == "math_block":
            yield formula_block(text, fragment)
        elif kind == "table":
            yield Block("table", markup.rendered(text), needs=table_height(text), **common)
        elif kind in ("fence", "code_block"):
            lines = tuple(re.sub(r"^```.*$", "", text, flags=re.MULTILINE).strip("\n").splitlines())
            yield Block("output", parts=lines, lengths=tuple(map(len, lines)), **common)
        elif kind != "html_block":
            yield from sentence_blocks(text, common, whole)


def sentence_blocks(text: str, common: dict, whole: int) -> Iterator[Block]:
    """A short paragraph, or the first sentence of a long one, and the formulas in it."""
    before, *formulas = re.split(r"\$\$(.*?)\$\$", text, flags=re.DOTALL)
    is_short = markup.visible_length(before) <= whole
    sentence = " ".join(before.split()) if is_short else markup.first_sentence(before)
    if sentence:
        yield text_block(sentence, **common)
    for latex in formulas[::2]:
        yield formula_block(f"$${latex}$$", common["fragment"])


def text_block(text: str, **common) -> Block:
    """A sentence, or a few."""
    length = markup.visible_length(text)
    return Block("text", markup.rendered_line(text), lengths=(length,), source=text, **common)


def table_height(text: str) -> float:
    """About how high a table of Markdown is, in text sizes; its columns share the slide's width."""
    rows = [[markup.visible_length(cell) for cell in line.strip("| ").split("|")] for line in text.splitlines()]
    return sum(0.55 + 1.15 * math.ceil(max(row) * len(row) / 105) for row in rows)


def formula_block(text: str, fragment: int) -> Block:
    """A formula by itself; its parts go below each other if they are too wide for one line."""
    parts = markup.divided_formula(text.strip("$ \n"))
    is_wide = len(parts) > 1 and len(text) > WIDE_FORMULA
    rows = 1 + text.count(r"\\") if "begin{" in text else len(parts) if is_wide else 1
    shown = "".join(f"<div>{markup.rendered(f'$${part}$$')}</div>" for part in parts)
    return Block("formula", shown, needs=2.6 * rows, fragment=fragment)


def code_blocks(cell: Cell) -> Iterator[Block]:
    """Code that is not folded, without what only draws, then what it printed or drew."""
    code, outputs = cell.cell.source, cell.cell.outputs
    fragment = cell.number if cell.kind == "fragment" else 0
    drawn = [block for output in outputs for block in output_blocks(output, fragment)]
    looks = [block for block in drawn if block.kind in LOOKS]
    printed = sum(len(block.parts) for block in drawn)
    is_folded = "hide-input" in cell.cell.metadata.get("tags", [])
    is_call = any(block.kind == "figure" for block in looks) and len(code.splitlines()) <= SHORT_CALL
    only_draws = cell.may_shorten and bool(looks) and len(code.splitlines()) > SHORT_CALL
    lines = tuple((without_drawing(code) if looks else code).splitlines())
    is_plain = bool(drawn) and len(lines) + printed > TALL_CODE and only_shows(code)
    is_shown = bool(lines) and not (is_folded or is_call or only_draws or is_plain)
    if is_shown:
        for part in halves(lines) if len(lines) + printed > TALL_CODE else [lines]:
            yield Block("code", parts=part, lengths=tuple(map(len, part)), fragment=fragment)
    yield from sorted(drawn, key=lambda block: block.kind not in LOOKS)  # printed output goes below
    if not is_shown or "\n".join(lines) != code:
        yield Block("notes", notes=f"<p>The code is in cell [{cell.cell.execution_count}] of the notebook.</p>")


def halves(lines: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Code in two parts, divided at the blank line nearest its middle that is not inside a block."""
    blanks = [at for at, line in enumerate(lines[:-1]) if not line and not lines[at + 1].startswith((" ", ")"))]
    if not blanks:
        return [lines]
    middle = min(blanks, key=lambda at: abs(2 * at + 1 - len(lines)))
    return [lines[:middle], lines[middle + 1 :]]


def output_blocks(output: dict, fragment: int) -> Iterator[Block]:
    """What a cell printed or drew, as the notebook stores it."""
    data = output.get("data", {})
    words = data.get("text/plain", "")
    if "bertcourse-figure" in data.get("text/html", ""):
        headline = HEADLINE.search(data["text/html"])
        source = headline[1] if headline else ""
        yield Block("figure", data["text/html"], needs=460, fragment=fragment, source=source)
    elif "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        shown = f'<img src="data:image/png;base64,{picture}" alt="{html.escape(" ".join(words.split()))}">'
        yield Block("picture", shown, needs=400, fragment=fragment)
    elif "text/html" in data:
        rows = data["text/html"].count("<tr") + 1
        yield Block("table", data["text/html"], needs=1.4 * rows, fragment=fragment)
    elif text := (output.get("text") or words).rstrip("\n"):
        lines = tuple(text.expandtabs().splitlines())
        yield Block("output", parts=lines, lengths=tuple(map(len, lines)), fragment=fragment)
