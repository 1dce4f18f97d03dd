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
    section: list[Question] | None = None
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        words = line.lower().split()
        if words[:1] == [":"] and len(words) > 1:
            section = sections.setdefault(" ".join(words[1:]), [])
        elif len(words) == 4 and section is not None:
            section.append(Question(*words))
        elif words:
            raise ValueError(f"{path}, line {number}: expected four words, in a section; got {line!r:.80}.")
    return sections
