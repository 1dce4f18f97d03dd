"""Public questions on words: analogies (Mikolov et al. 2013)."""

from pathlib import Path

from bertcourse.static_embeddings import Question
from bertcourse_lab.datasets.registry import fetch


def google_analogies() -> dict[str, list[Question]]:
    """The 19,544 questions of Mikolov et al. 2013 by section, in lower case; fetched if they are not here."""
    return read_analogies(*fetch("analogies"))


def read_analogies(path: Path) -> dict[str, list[Question]]:
    """Questions from a file in which a line ": name" begins a section and every other line has four words.

    Args:
        path: the file.
    """
    sections: dict[str, list[Question]] = {}
    for words in (line.lower().split() for line in path.read_text(encoding="utf-8").splitlines()):
        if words[0] == ":":
            section = sections.setdefault(" ".join(words[1:]), [])
        else:
            section.append(Question(*words))
    return sections
