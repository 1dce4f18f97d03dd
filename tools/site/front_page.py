"""What the front page says of the lectures: made from the notebooks and the README, so that they cannot disagree.

``index.md`` includes the marked parts of the README, and the files that ``write_front_page`` makes.
"""

import html
import re
from pathlib import Path

from nbformat import NotebookNode

from bertcourse_lab.lectures import human_minutes, read_notebook, stated_cost, stated_minutes

SLIDES = "slides/{lecture}.html"  # where the site has the slides of a lecture
NARROW = "\u202f"  # between a number and its unit, which stay on one line


def write_front_page(source: Path, notebooks: Path, root: Path) -> None:
    """Write links, facts and table for ``index.md`` into its folder ``generated``.

    Args:
        source: what Sphinx reads.
        notebooks: executed lectures.
        root: the repository: its README and the homework.
    """
    folder = source / "generated"
    folder.mkdir()
    lectures = {path: read_notebook(path) for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))}
    parts = {
        "links": links("First steps", "first-links", first_steps(list(lectures))),
        "facts": facts(list(lectures.values()), root),
        "more_links": links("More", "more-links", more_steps(list(lectures))),
        "lectures": lecture_table(lectures, root),
    }
    for name, text in parts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def first_steps(lectures: list[Path]) -> dict[str, str]:
    """The two buttons: name to target."""
    return {"Read in the browser": f"notebooks/{lectures[0].stem}.html", "Play": "playground.html"}


def more_steps(lectures: list[Path]) -> dict[str, str]:
    """What else people come for; beside lecture 0, where there is one, the lecture to begin with in a hurry."""
    hurry = {}
    if lectures[0].name.startswith("00") and len(lectures) > 1:
        hurry = {f"In a hurry: lecture {int(lectures[1].stem[:2])}": f"notebooks/{lectures[1].stem}.html"}
    return {
        **hurry,
        "For lecturers": "tools/site/guide/teaching.html",
        "Slides": "tools/site/guide/lecturing.html",
        "Homework": "tools/site/guide/homework.html",
        "API": "api/index.html",
    }


def links(label: str, kind: str, targets: dict[str, str]) -> str:
    """Links in a row, for keyboard and screen reader a place of their own."""
    row = [f'<a href="{target}">{html.escape(name)}</a>' for name, target in targets.items()]
    return f'<nav class="{kind}" aria-label="{label}">{" ".join(row)}</nav>\n'


def facts(lectures: list[NotebookNode], root: Path) -> str:
    """What it takes, in five numbers."""
    hours = sum(map(minutes_of, lectures)) / 60
    cpu = sum(stated_cost(notebook).cpu_seconds for notebook in lectures if stated_cost(notebook)) / 60
    sheets = sorted((root / "notebooks" / "homework").glob("hw*/hw*.ipynb"))
    points = [points_of(read_notebook(sheet)) for sheet in sheets]
    graded = {f"{by_machine} of {whole}" for by_machine, whole in points}
    said = {
        f"{len(lectures)} lectures": f"{hours:.0f} hours to read and try",
        f"{len(sheets)} sheets": f"of homework, {' or '.join(sorted(graded))} points graded by machine",
        f"{cpu:.0f} minutes": "of CPU time for all lectures",
        "2 cores": "and no GPU",
        "No network": "once it is installed",
    }
    items = "".join(f"<li><b>{fact}</b> {rest}</li>" for fact, rest in said.items() if fact[0] != "0")
    return f'<ul class="facts">{items}</ul>\n'


def points_of(sheet: NotebookNode) -> tuple[int, int]:
    """How many points of a homework a machine gives, and how many there are."""
    cells = [cell.metadata["nbgrader"] for cell in sheet.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    return sum(cell["points"] for cell in cells if not cell["solution"]), sum(cell["points"] for cell in cells)


def minutes_of(notebook: NotebookNode) -> int:
    """Of a reader: as the lecture states them, else as they are counted."""
    return stated_minutes(notebook) or human_minutes(notebook)


def lecture_table(lectures: dict[Path, NotebookNode], root: Path) -> str:
    """A row for each lecture: what it builds, the time that it takes of a reader, its homework and slides.

    Raises:
        ValueError: if the README's table has no row for a lecture.
    """
    readme = (root / "README.md").read_text(encoding="utf-8")
    homework = homework_of(root / "notebooks" / "homework")
    heads = ["lecture", "your time", "homework", "slides"]
    rows = [heads, ["---"] * len(heads)]
    for path, notebook in lectures.items():
        row = re.search(rf"^\| \[(.*?)\]\(notebooks/{path.name}\) \| (.*?) \|", readme, re.MULTILINE)
        if not row:
            raise ValueError(f"README.md needs a row in its table that links to notebooks/{path.name}; there is none.")
        cells = [
            f"[{row[1]}](notebooks/{path.name}) <br> {row[2]}",
            f"{minutes_of(notebook)}{NARROW}min",
            homework.get(path.name, "–"),
            f'<a href="{SLIDES.format(lecture=path.stem)}">slides</a>',
        ]
        rows.append(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def homework_of(folder: Path) -> dict[str, str]:
    """For each lecture's file the homework after it and its minutes, such as "hw01, 95 min"; from their openings."""
    found = {}
    for path in sorted(folder.glob("hw*/hw*.ipynb")):
        opening = read_notebook(path).cells[0].source
        minutes = re.search(r"\*\*Takes\*\* (\d+) minutes", opening)
        for lecture in re.findall(r"\]\(\.\./\.\./(\w+\.ipynb)\)", opening):
            found[lecture] = f"{path.stem}, {minutes[1]}{NARROW}min" if minutes else path.stem
    return found
