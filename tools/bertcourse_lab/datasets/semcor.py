"""From SemCor 3.0's tag files to the WSD Evaluation Framework's format: XML with the words, a file with the senses.

A tag file is SGML with one element per line: ``<s snum=1>``, ``<punc>.</punc>``,
``<wf cmd=done pos=NN lemma=jury wnsn=1 lexsn=1:14:00::>jury</wf>``. The result has a known SHA-256 (``registry``),
so that no rule here can be changed unnoticed.
"""

import html
import lzma
import re
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape, quoteattr

PARTS = ("brown1", "brown2", "brownv")
TOKEN = re.compile(r"<(wf|punc)([^>]*)>(.*?)</(?:wf|punc)>")
ATTRIBUTE = re.compile(r"(\w+)=(\S+)")
PARTS_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}


def make_semcor(archive: Path, folder: Path) -> None:
    """Write SemCor in the framework's format, compressed with xz, from the archive of its repository."""
    tag_files = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                _, _, path = member.name.partition("/data/semcor3.0/")
                if member.isfile() and "/tagfiles/" in path:
                    tag_files[path] = tar.extractfile(member).read().decode("latin-1")
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise ValueError(f"{archive.name} must be the archive of a repository; it is damaged ({error}).") from error
    for name, text in zip(("semcor.data.xml.xz", "semcor.gold.key.txt.xz"), framework_files(tag_files)):
        (folder / name).write_bytes(lzma.compress(text.encode()))


def framework_files(tag_files: Mapping[str, str]) -> tuple[str, str]:
    """All of SemCor as NAME.data.xml and NAME.gold.key.txt.

    Args:
        tag_files: path, such as brown1/tagfiles/br-a01, to content.

    Returns:
        The text of both files.

    Source: Miller et al. 1993, semcor(5WN); Raganato et al. 2017 for the format.
    """
    xml = ['<?xml version="1.0" encoding="UTF-8" ?>', '<corpus lang="en" source="semcor">']
    keys: list[str] = []
    paths = [path for part in PARTS for path in sorted(tag_files) if path.startswith(f"{part}/tagfiles/")]
    for document, path in enumerate(paths):
        source = f"{PurePosixPath(path).parts[0]}/{PurePosixPath(path).name}"
        xml.append(f'<text id="d{document:03d}" source="{source}">')
        lines, senses = document_lines(tag_files[path], f"d{document:03d}")
        xml += [*lines, "</text>"]
        keys += senses
    return "\n".join([*xml, "</corpus>", ""]), "\n".join([*keys, ""])


def document_lines(text: str, document: str) -> tuple[list[str], list[str]]:
    """The lines of one document in each of the two files, from its tag file and its id."""
    xml: list[str] = []
    keys: list[str] = []
    words, sentence_keys, number, open_ = [], [], 0, False
    for line in text.splitlines():
        if line.startswith("<s "):
            words, sentence_keys, open_ = [], [], True
        elif line.startswith("</s>"):
            if open_ and words:
                xml += [f'<sentence id="{document}.s{number:03d}">', *words, "</sentence>"]
                keys += sentence_keys
                number += 1
            open_ = False
        elif open_ and (match := TOKEN.match(line.strip())):
            token_id = f"{document}.s{number:03d}.t{len(sentence_keys):03d}"
            word, senses = word_line(*match.groups(), token_id)
            words.append(word)
            if senses:
                sentence_keys.append(" ".join([token_id, *senses]))
    return xml, keys


def word_line(tag: str, attributes: str, text: str, token_id: str) -> tuple[str, list[str]]:
    """A word as a line of XML, and its sense keys.

    >>> word_line("wf", " cmd=done pos=NN lemma=jury wnsn=1 lexsn=1:14:00::", "jury", "d0.s0.t0")
    ('<instance id="d0.s0.t0" lemma="jury" pos="NOUN">jury</instance>', ['jury%1:14:00::'])
    """
    found, word = dict(ATTRIBUTE.findall(attributes)), html.unescape(text)
    lemma = found.get("lemma", word).lower()
    surface = escape(word.replace("_", " ") if len(word) > 1 else word)
    senses = []
    if found.get("cmd") == "done" and "lexsn" in found and "lemma" in found:
        numbered = zip(found["lexsn"].split(";"), found.get("wnsn", "").split(";"))
        senses = [f"{lemma}%{sense}" for sense, number in numbered if number.isdigit() and int(number) > 0]
    if senses:
        part = PARTS_OF_SPEECH[senses[0].split("%")[1][0]]
        return f'<instance id="{token_id}" lemma={quoteattr(lemma)} pos="{part}">{surface}</instance>', senses
    part = found.get("pos", ".") if tag == "wf" else "."
    return f"<wf lemma={quoteattr(lemma)} pos={quoteattr(part)}>{surface}</wf>", []
