"""From a book of Standard Ebooks to plain text: one paragraph per line, an empty line between documents.

A book is a repository with an EPUB's source: ``content.opf`` names the files in reading order, and each file is XHTML,
where ``epub:type`` says what an element is. Running text in English is kept; titles, notes, tables and pictures are
not. Typography is made plain (straight quotes, hyphens for dashes), since that is what people type. The text of each
book has a known SHA-256 (``data``), so that no rule here can be changed unnoticed.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
LEAST_WORDS = 20  # a document with fewer is a fragment

DROPPED_TYPES = set(
    "titlepage imprint colophon copyright-page halftitlepage dedication epigraph endnotes toc loi landmarks "
    "z3998:frontispiece bibliography index z3998:dramatis-personae title subtitle fulltitle ordinal z3998:ordinal "
    "bridgehead se:bridgehead".split()
)
DROPPED_FILES = re.compile(
    "(titlepage|imprint|colophon|uncopyright|toc|loi|endnotes|dedication|halftitlepage|epigraph|frontispiece|bibliography"
    "|index|dramatis-personae)(-[0-9]+)*"
)
DROPPED_TAGS = set("h1 h2 h3 h4 h5 h6 hgroup hr img nav head script style figcaption caption colgroup".split())
BLOCK_TAGS = DROPPED_TAGS | set(
    "p div blockquote section article header footer ol ul li dl dt dd table figure aside main body address "
    "details".split()
)
# Sections that belong to the document around them.
PARTS_OF_A_DOCUMENT = set(
    "z3998:subchapter z3998:letter z3998:diary z3998:diary-entry z3998:poem z3998:song z3998:verse z3998:postscript "
    "z3998:editorial-note".split()
)

INVISIBLE = dict.fromkeys(
    [0x00AD, 0xFEFF, 0x030D, 0x0311, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)
PLAIN = {
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‘’‚‛′ʼ", "'"),
    **dict.fromkeys("—―⸺⸻", "--"),
    **dict.fromkeys("–‒‐‑−", "-"),
    **dict.fromkeys("…⋮", "..."),
    "∶": ":",
    "￡": "£",
    "⁄": "/",
}
PLAIN_TYPOGRAPHY = {ord(character): plain for character, plain in PLAIN.items()} | INVISIBLE
QUOTES, THIN_SPACES = "“”‘’‚„", "\u200a\u202f\u2009"
SUPERSCRIPTS, SUBSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"
TO_DIGITS = str.maketrans(SUPERSCRIPTS + SUBSCRIPTS, "0123456789" * 2)


def book_text(files: Mapping[str, bytes], only: set[str] = frozenset()) -> str:
    """The text of a book.

    Args:
        files: the files under src/epub in its repository, path to content.
        only: the stems of the files to take, such as "chapter-1"; empty for all.

    Returns:
        One paragraph per line, an empty line between documents, a newline at the end.

    Raises:
        KeyError, SyntaxError, ValueError: if a file is missing, is not XML, or lacks a part.

    Source: the Standard Ebooks Manual of Style, chapters 4 and 7, for the structure.
    """
    package = ElementTree.fromstring(files["content.opf"])
    paths = {item.get("id"): item.get("href", "") for item in part(package, f"{OPF}manifest")}
    texts = []
    for reference in part(package, f"{OPF}spine").findall(f"{OPF}itemref"):
        path = paths[reference.get("idref")]
        stem = PurePosixPath(path).stem
        if path.startswith("text/") and not DROPPED_FILES.fullmatch(stem) and (not only or stem in only):
            body = part(ElementTree.fromstring(files[path]), f"{XHTML}body")
            texts += ["\n".join(document) for document in documents(body)]
    return "\n\n".join(text for text in texts if len(text.split()) >= LEAST_WORDS) + "\n"


def part(element: Element, name: str) -> Element:
    """A part that an XML element must have."""
    if (found := element.find(name)) is None:
        raise ValueError(f"expected <{name}> in <{element.tag}>; there is none.")
    return found


def documents(element: Element) -> list[list[str]]:
    """The documents of a body or section, as lists of paragraphs: one per division, if there are several, else one."""
    if is_dropped(element):
        return []
    divisions = [
        child
        for child in element
        if tag(child) in ("section", "article") and not is_dropped(child) and not types(child) & PARTS_OF_A_DOCUMENT
    ]
    if tag(element) == "body" and len(divisions) == 1:
        return documents(divisions[0])
    if len(divisions) < 2:
        return [block_paragraphs(element)]
    found, loose = [], []  # loose: paragraphs between divisions
    for child in element:
        if child in divisions:
            found += [loose] if loose else []
            loose = []
            found += documents(child)
        elif tag(child) in BLOCK_TAGS:
            loose += block_paragraphs(child)
    return found + ([loose] if loose else [])


def block_paragraphs(element: Element, is_cell: bool = False) -> list[str]:
    """The paragraphs of a block, in order, in plain typography.

    ``is_cell``: the element is a cell in the table of a play, which is read whatever its type.
    """
    if not is_cell and is_dropped(element):
        return []
    if tag(element) == "table":
        return list(speeches(element)) if is_drama(element) else []
    is_glossary = tag(element) == "dl" or tag(element) == "div" and element.find(f"{XHTML}dt") is not None
    found, line, term = [], [element.text or ""], ""

    def end_line() -> None:
        text = plain("".join(line))
        line.clear()
        if re.search(r"\w", text):
            found.append(text)

    for child in element:
        if tag(child) == "header" and not is_cell:
            end_line()
            found += header_paragraphs(child, in_letter="z3998:letter" in types(element))
        elif tag(child) in BLOCK_TAGS:
            end_line()
            if is_glossary and tag(child) == "dt":
                term = " ".join(block_paragraphs(child))
            elif is_glossary and tag(child) == "dd":
                found += label(term, block_paragraphs(child))
                term = ""
            else:
                found += block_paragraphs(child)
        else:
            line.append(inline_text(child))
        line.append(child.tail or "")
    end_line()
    return found


def header_paragraphs(header: Element, in_letter: bool) -> list[str]:
    """What a header has besides headings: in a letter, address, date and salutation."""
    return [
        paragraph
        for child in header
        if tag(child) in BLOCK_TAGS and (in_letter or types(child))
        for paragraph in block_paragraphs(child)
    ]


def speeches(table: Element) -> Iterator[str]:
    """The speeches in the table of a play, one per row: one cell has the speaker, another what is said."""
    for row in table.iter(f"{XHTML}tr"):
        speaker, said = "", []
        for cell in row:
            if "z3998:persona" in types(cell):
                speaker = plain(inline_text(cell))
            else:
                said += block_paragraphs(cell, is_cell=True)
        yield from label(speaker.rstrip(":."), said) if speaker else said


def label(name: str, said: list[str]) -> list[str]:
    """Put "name: " before the first paragraph, if there are both."""
    return [f"{name}: {said[0]}", *said[1:]] if name and said else said


def inline_text(element: Element) -> str:
    """The text of an element inside a line, without note marks."""
    name = tag(element)
    if name == "br":
        return " "
    if not name or name == "img" or types(element) & {"noteref", "backlink"}:
        return ""
    if element.get("class") == "timeline":  # dates in Gibbon's margins
        return ""
    text = [element.text or ""]
    for child in element:
        is_block = tag(child) in BLOCK_TAGS
        text += [f" {' '.join(block_paragraphs(child))} " if is_block else inline_text(child), child.tail or ""]
    return "".join(text)


def is_dropped(element: Element) -> bool:
    """Whether an element is something other than running text in English."""
    name, language = tag(element), element.get(LANGUAGE, "")
    if not name or name in DROPPED_TAGS:
        return True
    if name in BLOCK_TAGS and (types(element) & DROPPED_TYPES or language and not language.startswith("en")):
        return True
    return name == "figure" and element.find(f".//{XHTML}img") is not None


def is_drama(table: Element) -> bool:
    """Whether a table holds speeches or verse rather than data."""
    return bool(types(table) & {"z3998:drama", "z3998:scene", "z3998:verse"}) or any(
        types(cell) & {"z3998:persona", "z3998:verse"} for cell in table.iter(f"{XHTML}td")
    )


def tag(element: Element) -> str:
    """The name of an XHTML element; empty for comments and for elements of other vocabularies."""
    name = element.tag if isinstance(element.tag, str) else ""
    return name.removeprefix(XHTML) if name.startswith(XHTML) else ""


def types(element: Element) -> set[str]:
    """What an element is, according to its ``epub:type``."""
    return set(element.get(EPUB_TYPE, "").split())


def plain(text: str) -> str:
    """A line in characters that a keyboard has, with all white space reduced to single spaces.

    >>> plain("“It’s\u200a—\u2009½\u2060…”")
    '"It\\'s -- 1/2..."'
    """
    text = unicodedata.normalize("NFC", text).translate(INVISIBLE)
    text = plain_fractions(text)
    text = re.sub(f"(?<=[{QUOTES}])[{THIN_SPACES}]+(?=[{QUOTES}])", "", text)  # between two quotation marks
    text = re.sub(f"[{THIN_SPACES}]+(?=…)", "", text)
    return " ".join(text.translate(PLAIN_TYPOGRAPHY).split())


def plain_fractions(text: str) -> str:
    """Fractions in digits: 3½ becomes 3 1/2, ¹⁰⁄₁₁ becomes 10/11.

    >>> plain_fractions("3½ and ¹⁰⁄₁₁")
    '3 1/2 and 10/11'
    """

    def after(digit: str) -> str:
        return f"{digit} " if digit else ""

    text = re.sub(
        "([0-9]?)([¼-¾⅐-⅞])", lambda m: after(m[1]) + unicodedata.normalize("NFKC", m[2]).replace("⁄", "/"), text
    )
    return re.sub(
        f"([0-9]?)([{SUPERSCRIPTS}]+)⁄([{SUBSCRIPTS}]+)",
        lambda m: f"{after(m[1])}{m[2].translate(TO_DIGITS)}/{m[3].translate(TO_DIGITS)}",
        text,
    )
